//! The Ed-Fi Admin API of the real program: from a vendor to data.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Place, STUDENTS, Server, student};

const BASE: &str = "/adminapi/v2";

/// Returns a client that may manage, with a key made by a command and a token from the Admin API.
fn admin(place: &Place, server: &Server) -> Client {
    let made = place.json(&["keys", "create", "--scope", "admin", "--json"]);
    let mut client = server.client();
    let form = format!(
        "client_id={}&client_secret={}&grant_type=client_credentials\
         &scope=edfi_admin_api/full_access",
        made["key"].as_str().unwrap(),
        made["secret"].as_str().unwrap()
    );
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer = client.send("POST", "/adminapi/connect/token", &headers, Some(form.as_bytes()));
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    client.token = Some(answer.json()["access_token"].as_str().unwrap().to_owned());
    client
}

fn made(answer: &Answer) -> i64 {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.location().rsplit('/').next().unwrap().parse().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_vendors_application_reads_data_until_its_claim_set_forbids_it() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut admin = admin(&place, &server);

    let vendor = made(&admin.post(
        &format!("{BASE}/vendors"),
        &json!({
            "company": "Acme", "namespacePrefixes": "uri://acme.org",
            "contactName": "Ada", "contactEmailAddress": "ada@acme.org",
        }),
    ));
    let mut asked = json!({
        "applicationName": "Gradebook", "vendorId": vendor, "claimSetName": "FullAccess",
        "educationOrganizationIds": [255_901], "odsInstanceIds": [1],
    });
    let application = admin.post(&format!("{BASE}/applications"), &asked);
    let one = format!("{BASE}/applications/{}", made(&application));
    let (key, secret) = (application.json()["key"].clone(), application.json()["secret"].clone());
    let mut caller = server.client_of(&(text(&key).to_owned(), text(&secret).to_owned()));
    assert_eq!(caller.post(STUDENTS, &student("s-1", "Ada")).status, 201);
    assert_eq!(caller.get(STUDENTS).json().as_array().unwrap().len(), 1);

    let set = made(&admin.post(&format!("{BASE}/claimSets"), &json!({"name": "Nothing yet"})));
    asked["claimSetName"] = json!("Nothing yet");
    assert_eq!(admin.try_json("PUT", &one, &asked).unwrap().status, 200);
    assert_eq!(caller.get(STUDENTS).status, 403, "the same token, the next request");

    let student = admin.get(&format!("{BASE}/resourceClaims?name=student")).json();
    let id = &student[0]["id"];
    let claims = format!("{BASE}/claimSets/{set}/resourceClaimActions");
    let read =
        json!({"resourceClaimId": id, "resourceClaimActions": [{"name": "Read", "enabled": true}]});
    assert_eq!(admin.post(&claims, &read).status, 201);
    let open = json!({
        "actionName": "Read", "authorizationStrategies": ["NoFurtherAuthorizationRequired"]
    });
    let strategies = format!("{claims}/{id}/overrideAuthorizationStrategy");
    assert_eq!(admin.post(&strategies, &open).status, 200);
    assert_eq!(caller.get(STUDENTS).status, 200, "the same token, the next request");
    assert_eq!(caller.post(STUDENTS, &self::student("s-2", "Bo")).status, 403);

    let listed = place.json(&["keys", "list", "--json"]);
    let keys = listed["keys"].as_array().unwrap();
    assert!(keys.iter().any(|listed| listed["key"] == key), "{listed}");
    let by_command = place.key("SISVendor").0;
    let applications = admin.get(&format!("{BASE}/applications?applicationName={by_command}"));
    assert_eq!(applications.json()[0]["claimSetName"], "SISVendor", "{applications:?}");

    server.stop();
    let server = Server::start(&place);
    let mut again = server.client_of(&(text(&key).to_owned(), text(&secret).to_owned()));
    assert_eq!(again.get(STUDENTS).status, 200, "what was managed is there after a restart");
}

#[test]
fn management_tokens_and_data_tokens_are_not_interchangeable() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut admin = admin(&place, &server);
    let mut caller = server.client_of(&place.key("FullAccess"));

    assert_eq!(admin.get(STUDENTS).status, 403);
    assert_eq!(caller.get(&format!("{BASE}/vendors")).status, 403);
    assert_eq!(server.client().get(&format!("{BASE}/vendors")).status, 401);
    assert_eq!(server.client().get("/adminapi").json()["version"], "2.3");
}
