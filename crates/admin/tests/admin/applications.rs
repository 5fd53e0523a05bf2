//! Applications and their keys: one registry, shared with the commands and effective at once.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::support::{
    Client, DATA, application, assert_invalid, client_of, id_of, manager, vendor,
};
use homeroom_access::{Access, AccessConfig, ApiClient, Manage};
use homeroom_http::Timestamp;
use homeroom_store::{Answer, Decision, Plan, Sql, Write};
use homeroom_testkit::{TestApp, USUAL, model};
use serde_json::{Value, json};

/// Returns the client that the server recognizes by a token.
fn behind(client: &Client) -> Arc<ApiClient> {
    let now = Timestamp::now();
    client.app.access.recognize(Some(&client.authorization), "data", now).unwrap()
}

/// Writes rows that Homeroom itself would never write.
async fn write(app: &TestApp, statements: &[(&'static str, Vec<homeroom_store::Value>)]) {
    let mut writes: Vec<Write> = statements
        .iter()
        .map(|(text, arguments)| Write::Sql(Sql::new(text, arguments.clone())))
        .collect();
    writes.push(Write::Sql(Sql::new("UPDATE access_version SET version = version + 1", vec![])));
    let mut writes = Some(writes);
    let plan = Plan {
        ask: vec![],
        decide: move |_: Vec<Answer>| -> Decision<(), String> {
            Decision::Write(writes.take().unwrap_or_default(), ())
        },
    };
    app.data.store.run(plan).await.map(|_| ()).unwrap();
}

#[tokio::test]
async fn an_applications_key_has_its_claim_set_organizations_and_the_vendors_namespaces() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, secret) = admin.application("sis vendor").await;

        let client = behind(&client_of(&app, &key, &secret).await);

        assert_eq!(client.claim_set.as_deref(), Some("SISVendor"), "{app}");
        assert_eq!(*client.education_organizations, [255_901, 255_902]);
        assert_eq!(*client.namespace_prefixes, ["uri://acme.org", "uri://acme.example"]);
        let shown = admin.read(&format!("/applications/{id}")).await;
        let expected = json!({
            "id": id,
            "applicationName": "Gradebook",
            "vendorId": 1,
            "claimSetName": "SISVendor",
            "profileIds": [],
            "educationOrganizationIds": [255_901, 255_902],
            "odsInstanceIds": [1],
            "enabled": true,
        });
        assert_eq!(shown, expected);
        for path in ["/vendors/1/applications", "/odsInstances/1/applications"] {
            assert_eq!(admin.read(path).await, json!([expected]), "{app} {path}");
        }
        assert_eq!(admin.get("/vendors/2/applications").await.status, 404);
        assert_eq!(admin.get("/odsInstances/2/applications").await.status, 404);
    }
}

#[tokio::test]
async fn a_change_of_an_application_or_its_vendor_applies_to_the_next_request() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, secret) = admin.application("SISVendor").await;
        let caller = client_of(&app, &key, &secret).await;
        behind(&caller);

        let mut changed = application(1, "FullAccess");
        changed["educationOrganizationIds"] = json!([7]);
        let put = admin.put(&format!("/applications/{id}"), &changed).await;

        assert_eq!(put.status, 200, "{put:?}");
        let client = behind(&caller);
        assert_eq!(client.claim_set.as_deref(), Some("FullAccess"), "{app}");
        assert_eq!(*client.education_organizations, [7]);

        let mut changed = vendor();
        changed["namespacePrefixes"] = json!(" uri://new , uri://new,, ");
        assert_eq!(admin.put("/vendors/1", &changed).await.status, 200);

        assert_eq!(*behind(&caller).namespace_prefixes, ["uri://new"], "{app}");
        assert_eq!(admin.read("/vendors/1").await["namespacePrefixes"], "uri://new");
    }
}

#[tokio::test]
async fn a_disabled_application_may_not_call_until_it_is_enabled_again() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, secret) = admin.application("FullAccess").await;
        let caller = client_of(&app, &key, &secret).await;
        let one = format!("/applications/{id}");
        let mut asked = application(1, "FullAccess");
        asked["enabled"] = json!(false);

        assert_eq!(admin.put(&one, &asked).await.status, 200);

        assert_eq!(caller.get(DATA).await.status, 401, "{app}");
        assert_eq!(app.ask_token("/oauth/token", &key, &secret, "").await.status, 401);
        assert_eq!(admin.read(&one).await["enabled"], false);
        asked["enabled"] = json!(true);
        assert_eq!(admin.put(&one, &asked).await.status, 200);
        assert_eq!(caller.get(DATA).await.status, 200, "{app}");
    }
}

#[tokio::test]
async fn resetting_a_credential_ends_the_old_secret_and_its_tokens_at_once() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, mut secret) = admin.application("FullAccess").await;
        let clients = admin.read(&format!("/apiclients?applicationid={id}")).await;
        let of_client = format!("/apiclients/{}/reset-credential", clients[0]["id"]);
        for path in [format!("/applications/{id}/reset-credential"), of_client] {
            let old = client_of(&app, &key, &secret).await;

            let reset = admin.put(&path, &json!({})).await;

            assert_eq!(reset.status, 200, "{app} {path}: {reset:?}");
            let reset = reset.json();
            assert_eq!(reset["key"], *key);
            assert_eq!(old.get(DATA).await.status, 401, "{app} {path}");
            assert_eq!(app.ask_token("/oauth/token", &key, &secret, "").await.status, 401);
            reset["secret"].as_str().unwrap().clone_into(&mut secret);
            assert_eq!(client_of(&app, &key, &secret).await.get(DATA).await.status, 200);
        }
    }
}

#[tokio::test]
async fn an_application_can_have_several_keys() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, first, _) = admin.application("FullAccess").await;
        let asked = json!({"name": "night run", "isApproved": true, "applicationId": id,
            "odsInstanceIds": [1]});

        let made = admin.post("/apiclients", &asked).await;

        let number = id_of(&made);
        let made = made.json();
        let (key, secret) = (made["key"].as_str().unwrap(), made["secret"].as_str().unwrap());
        assert_eq!((&made["name"], &made["applicationId"]), (&json!("night run"), &json!(id)));
        let caller = client_of(&app, key, secret).await;
        assert_eq!(*behind(&caller).education_organizations, [255_901, 255_902], "{app}");
        let listed = admin.read(&format!("/apiclients?applicationid={id}")).await;
        let keys: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["key"]).collect();
        assert_eq!(keys, [&json!(first), &json!(key)]);
        let expected = json!({
            "id": number, "key": key, "name": "night run", "isApproved": true,
            "useSandbox": false, "sandboxType": 0, "applicationId": id, "keyStatus": "Active",
            "educationOrganizationIds": [255_901, 255_902], "odsInstanceIds": [1],
        });
        assert_eq!(admin.read(&format!("/apiclients/{number}")).await, expected);

        let one = format!("/apiclients/{number}");
        let mut changed = asked.clone();
        changed["isApproved"] = json!(false);
        assert_eq!(admin.put(&one, &changed).await.status, 200);
        assert_eq!(caller.get(DATA).await.status, 401, "{app}");
        assert_eq!(admin.read(&one).await["keyStatus"], "Suspended");
        assert_eq!(admin.read(&format!("/applications/{id}")).await["enabled"], false);
        assert_eq!(admin.put(&one, &asked).await.status, 200);
        assert_eq!(caller.get(DATA).await.status, 200, "{app}");
        assert_eq!(admin.delete(&one).await.status, 200);
        assert_eq!(caller.get(DATA).await.status, 401, "{app}");
        assert_eq!(admin.get(&one).await.status, 404);
        assert_eq!(admin.get("/apiclients").await.status, 400);
    }
}

#[tokio::test]
async fn a_key_moved_to_another_application_gets_its_rights() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (from, key, secret) = admin.application("FullAccess").await;
        let mut other = application(1, "SISVendor");
        other["educationOrganizationIds"] = json!([9]);
        let to = id_of(&admin.post("/applications", &other).await);
        let caller = client_of(&app, &key, &secret).await;
        let listed = admin.read(&format!("/apiclients?applicationid={from}")).await;
        let one = format!("/apiclients/{}", listed[0]["id"]);

        let moved = json!({"name": "moved", "applicationId": to});
        assert_eq!(admin.put(&one, &moved).await.status, 200);

        let client = behind(&caller);
        assert_eq!(client.claim_set.as_deref(), Some("SISVendor"), "{app}");
        assert_eq!(*client.education_organizations, [9]);
        assert_eq!(admin.read(&format!("/apiclients?applicationid={from}")).await, json!([]));
        let reset = admin.put(&format!("/applications/{from}/reset-credential"), &json!({})).await;
        assert_invalid(&reset, &["Id"]);
    }
}

#[tokio::test]
async fn deleting_an_application_deletes_its_keys() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, secret) = admin.application("FullAccess").await;
        let caller = client_of(&app, &key, &secret).await;

        assert_eq!(admin.delete(&format!("/applications/{id}")).await.status, 200);

        assert_eq!(caller.get(DATA).await.status, 401, "{app}");
        assert_eq!(app.ask_token("/oauth/token", &key, &secret, "").await.status, 401);
        let listed = app.access.manage(Manage::ListKeys {}, Timestamp::now()).await.unwrap();
        assert!(!listed.to_string().contains(&key), "{app}: {listed}");
        let reopened = TestApp::on("again", USUAL, app.data.store.clone()).await;
        assert_eq!(reopened.ask_token("/oauth/token", &key, &secret, "").await.status, 401);
    }
}

#[tokio::test]
async fn commands_and_the_api_show_the_same_keys() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (_, own, _) = admin.application("SISVendor").await;
        let (other, _) = app.key_for(Some("RosterVendor"), &[]).await;
        let now = Timestamp::now();

        let listed = app.access.manage(Manage::ListKeys {}, now).await.unwrap();
        let applications = admin.read("/applications?applicationName=by+command").await;

        let key = |name: &str| {
            let keys = listed["keys"].as_array().unwrap().iter();
            keys.clone().find(|key| key["key"] == *name).cloned().unwrap_or_default()
        };
        assert_eq!(key(&own)["claimSet"], "SISVendor", "{app}");
        assert_eq!(applications.as_array().unwrap().len(), 1, "{app}: {applications}");
        let one = &applications[0];
        assert_eq!(one["claimSetName"], "RosterVendor");
        assert_eq!((&one["vendorId"], &one["enabled"]), (&Value::Null, &json!(true)));
        let clients = admin.read(&format!("/apiclients?applicationid={}", one["id"])).await;
        assert_eq!(clients[0]["key"], *other);
        let more = json!({"name": "second", "applicationId": one["id"]});
        let more = admin.post("/apiclients", &more).await.json();
        let second =
            client_of(&app, more["key"].as_str().unwrap(), more["secret"].as_str().unwrap()).await;
        assert_eq!(*behind(&second).namespace_prefixes, ["uri://command"], "{app}");

        let revoke = Manage::RevokeKey { key: other, old_secrets_only: false };
        app.access.manage(revoke, now).await.unwrap();
        let number = &clients[0]["id"];
        assert_eq!(admin.read(&format!("/apiclients/{number}")).await["keyStatus"], "Revoked");
        let reset = admin.put(&format!("/apiclients/{number}/reset-credential"), &json!({})).await;
        assert_invalid(&reset, &["Id"]);
    }
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, _, secret) = admin.application("FullAccess").await;

        for path in [
            "/applications",
            "/vendors/1/applications",
            "/claimSets",
            &format!("/applications/{id}"),
            &format!("/apiclients?applicationid={id}"),
        ] {
            let answer = admin.get(path).await;
            assert!(answer.status == 200 && !answer.text().contains(&secret), "{app} {path}");
        }
    }
}

#[tokio::test]
async fn applications_are_listed_by_their_published_parameters() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (first, ..) = admin.application("SISVendor").await;
        let mut other = application(1, "FullAccess");
        other["applicationName"] = json!("Attendance");
        let second = admin.create("/applications", &other).await;
        for (query, expected) in [
            ("", vec![first, second]),
            ("?applicationName=attendance", vec![second]),
            ("?claimsetName=SISVendor", vec![first]),
            (&format!("?id={second}"), vec![second]),
            (&format!("?ids={second},{first},77"), vec![first, second]),
            ("?orderBy=applicationName", vec![second, first]),
            ("?orderBy=claimSetName&direction=desc", vec![first, second]),
        ] {
            let listed = admin.read(&format!("/applications{query}")).await;
            let ids = listed.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap());
            assert_eq!(ids.collect::<Vec<_>>(), expected, "{app} {query}");
        }
    }
}

#[tokio::test]
async fn the_same_application_twice_is_a_conflict() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, ..) = admin.application("FullAccess").await;

        let twice = admin.post("/applications", &application(1, "full access")).await;
        let same = admin.put(&format!("/applications/{id}"), &application(1, "FullAccess")).await;

        assert_eq!(twice.status, 409, "{app}: {twice:?}");
        assert_eq!(same.status, 200, "{app}: {same:?}");
    }
}

#[tokio::test]
async fn no_application_can_have_a_profile_and_a_key_that_has_one_is_refused() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let definition = "<Profile name=\"P\"><Resource name=\"School\"/></Profile>";
        let profile = json!({"name": "P", "definition": definition});
        let profile = admin.create("/profiles", &profile).await;
        let (id, key, secret) = admin.application("FullAccess").await;
        let caller = client_of(&app, &key, &secret).await;
        let mut asked = application(1, "FullAccess");
        asked["profileIds"] = json!([profile]);
        asked["applicationName"] = json!("With a profile");

        let made = admin.post("/applications", &asked).await;
        let changed = admin.put(&format!("/applications/{id}"), &asked).await;

        assert_eq!((made.status, changed.status), (501, 501), "{app}: {made:?} {changed:?}");
        assert_eq!(caller.get(DATA).await.status, 200);

        let mut forged = admin.read(&format!("/applications/{id}")).await;
        forged["profileIds"] = json!([profile]);
        let forged = vec![id.into(), forged.to_string().into()];
        let statement = "UPDATE managed SET definition = ?2 WHERE kind = 'application' AND id = ?1";
        write(&app, &[(statement, forged)]).await;
        app.access.refresh().await.unwrap();

        let refused = caller.get(DATA).await;
        assert_eq!(refused.status, 501, "{app}: {refused:?}");
        assert!(refused.json()["detail"].as_str().unwrap().contains("profile"), "{refused:?}");
        assert_invalid(&admin.delete(&format!("/profiles/{profile}")).await, &["Id"]);
    }
}

#[tokio::test]
async fn another_process_applies_a_change_after_a_refresh() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let config = AccessConfig::default();
        let now = Timestamp::now();
        let other = Access::open(app.data.store.clone(), model(), config, now).await.unwrap();
        let (id, key, secret) = admin.application("SISVendor").await;
        let caller = client_of(&app, &key, &secret).await;
        let authorization = Some(caller.authorization.as_str());
        assert!(other.recognize(authorization, "data", now).is_err(), "{app}");

        other.refresh().await.unwrap();
        let before = other.recognize(authorization, "data", now).unwrap();
        let changed = application(1, "FullAccess");
        assert_eq!(admin.put(&format!("/applications/{id}"), &changed).await.status, 200);
        other.refresh().await.unwrap();
        let after = other.recognize(authorization, "data", now).unwrap();

        assert_eq!(before.claim_set.as_deref(), Some("SISVendor"), "{app}");
        assert_eq!(after.claim_set.as_deref(), Some("FullAccess"), "{app}");
    }
}

#[tokio::test]
async fn keys_of_an_earlier_version_become_applications_when_the_store_is_opened() {
    for app in TestApp::empty_on_each_store().await {
        let (key, secret) = app.key_for(Some("FullAccess"), &[]).await;
        app.key_for(None, &["learning"]).await;
        let as_it_was = [
            "DELETE FROM application_client",
            "DELETE FROM managed",
            // No key gets this scope any more, but earlier versions gave it.
            "UPDATE api_client SET scopes = 'xapi' WHERE scopes = 'learning'",
        ];
        write(&app, &as_it_was.map(|statement| (statement, vec![]))).await;

        let reopened = TestApp::on("reopened", USUAL, app.data.store.clone()).await;

        let admin = manager(&reopened).await;
        let applications = admin.read("/applications").await;
        assert_eq!(applications.as_array().unwrap().len(), 1, "{app}: {applications}");
        let one = &applications[0];
        assert_eq!(
            (&one["applicationName"], &one["claimSetName"]),
            (&json!("by command"), &json!("FullAccess"))
        );
        let clients = admin.read(&format!("/apiclients?applicationid={}", one["id"])).await;
        assert_eq!(clients[0]["key"], *key);
        assert_eq!(client_of(&reopened, &key, &secret).await.get(DATA).await.status, 200);
        assert_eq!(admin.read("/odsInstances").await[0]["name"], "Homeroom");
    }
}

#[tokio::test]
async fn a_change_takes_effect_even_if_its_caller_hangs_up() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, key, secret) = admin.application("FullAccess").await;
        let caller = client_of(&app, &key, &secret).await;
        assert_eq!(caller.get(DATA).await.status, 200, "{app}");
        let path = format!("/applications/{id}");

        let mut request = Box::pin(admin.delete(&path));
        let begun = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
        drop(request);

        assert!(begun.is_pending(), "{app}: the answer was there at once");
        let mut looks = 0;
        while caller.get(DATA).await.status != 401 {
            looks += 1;
            assert!(looks < 6_000, "{app}: the key may still call");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn a_vendor_with_many_keys_changes_all_of_them_at_once() {
    for app in TestApp::empty_on_each_store().await {
        let admin = manager(&app).await;
        let (id, ..) = admin.application("FullAccess").await;
        let mut callers = vec![];
        for number in 0..40 {
            let asked = json!({"name": format!("key {number}"), "applicationId": id});
            let made = admin.post("/apiclients", &asked).await.json();
            let text = |name: &str| made[name].as_str().unwrap().to_owned();
            callers.push(client_of(&app, &text("key"), &text("secret")).await);
        }
        let mut changed = vendor();
        changed["namespacePrefixes"] = json!("uri://all");

        assert_eq!(admin.put("/vendors/1", &changed).await.status, 200);

        for caller in callers {
            assert_eq!(*behind(&caller).namespace_prefixes, ["uri://all"], "{app}");
        }
    }
}
