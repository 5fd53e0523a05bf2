//! Grants of claim sets, seen from outside: the vendors' sets on resources of each domain.

use http::Method;
use serde_json::json;

use crate::app::documents::{on_each_store, school, student};
use crate::app::failures::Failures;
use crate::app::{Client, TestApp};

const RESOURCE: &str = "security:authorization:access-denied:resource";
const ACTION: &str = "security:authorization:access-denied:action";
const NO_NAMESPACES: &str = "security:authorization:namespace:invalid-client:no-namespaces";

const ID: &str = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";

/// Requests an action on a resource, with an invalid document and an unknown id.
async fn ask(client: &Client, action: &str, endpoint: &str) -> crate::app::Answer {
    let (many, one) = (format!("/ed-fi/{endpoint}"), format!("/ed-fi/{endpoint}/{ID}"));
    let (method, path, body) = match action {
        "Create" => (Method::POST, many, "{}"),
        "List" => (Method::GET, many, ""),
        "Partition" => (Method::GET, format!("{many}/partitions"), ""),
        "Read" => (Method::GET, one, ""),
        "Update" => (Method::PUT, one, "{}"),
        "Delete" => (Method::DELETE, one, ""),
        "Deletes" => (Method::GET, format!("{many}/deletes"), ""),
        "KeyChanges" => (Method::GET, format!("{many}/keyChanges"), ""),
        other => panic!("{other} is not an action"),
    };
    client.send(method, &path, &[], body).await
}

#[tokio::test]
async fn a_vendor_is_granted_exactly_the_actions_of_its_set() {
    for app in TestApp::on_each_store().await {
        let client = app.client("SISVendor").await;
        let mut failures = Failures::of("SISVendor is granted what the published set says");
        for (endpoint, actions, expected) in [
            // Read only.
            ("schools", &["List", "Partition"][..], Ok(200)),
            ("schools", &["Read"], Ok(404)),
            (
                "schools",
                &["Create", "Update", "Delete", "Deletes", "KeyChanges"],
                Err((403, ACTION)),
            ),
            ("schoolYearTypes", &["List"], Ok(200)),
            ("schoolYearTypes", &["Create", "Update", "Delete"], Err((403, ACTION))),
            ("crisisEvents", &["List", "Deletes", "KeyChanges"], Ok(200)),
            ("crisisEvents", &["Create", "Delete"], Err((403, ACTION))),
            // The set does not contain these resources.
            (
                "balanceSheetDimensions",
                &["List", "Read", "Create", "Update", "Delete", "Deletes"],
                Err((403, RESOURCE)),
            ),
            ("localBudgets", &["List", "Create", "Delete"], Err((403, RESOURCE))),
            // They may be created freely, but are read by relationships, and the key has no
            // organizations.
            ("students", &["Create"], Ok(400)),
            ("students", &["Delete"], Ok(404)),
            ("students", &["List", "Partition"], Ok(200)),
            ("students", &["Read"], Ok(404)),
            ("students", &["Update"], Ok(400)),
            ("studentSchoolAssociations", &["List"], Ok(200)),
            ("studentSchoolAssociations", &["Read", "Delete"], Ok(404)),
            ("studentSchoolAssociations", &["Create", "Update"], Ok(400)),
            // They are read by namespace, and the key has none.
            (
                "assessments",
                &["List", "Read", "Create", "Update", "Delete"],
                Err((403, NO_NAMESPACES)),
            ),
            ("surveys", &["List", "Create", "Delete"], Err((403, RESOURCE))),
            ("performanceLevelDescriptors", &["List"], Ok(200)),
        ] {
            for action in actions {
                let answer = ask(&client, action, endpoint).await;
                let outcome = match expected {
                    Ok(status) => answer.expect(status).map(|_| ()),
                    Err((status, kind)) => answer.try_problem(status, kind).map(|_| ()),
                };
                failures.check(format!("{action} {endpoint}"), outcome);
            }
        }
        failures.assert_none(46);
    }
}

#[tokio::test]
async fn a_refusal_comes_before_the_body_is_read_and_writes_nothing() {
    for client in on_each_store().await {
        let vendor = client.app.client("SISVendor").await;
        let location = client.create("/ed-fi/schools", &school(1)).await;
        let before = client.newest().await;

        for body in ["", "no json", "{}", &school(2).to_string()] {
            for (method, path) in [
                (Method::POST, "/ed-fi/schools"),
                (Method::PUT, &location),
                (Method::DELETE, &location),
            ] {
                let headers = [("content-type", "text/plain")];
                vendor.send(method, path, &headers, body.to_owned()).await.problem(403, ACTION);
            }
        }

        assert_eq!(client.newest().await, before);
    }
}

#[tokio::test]
async fn a_key_without_update_cannot_change_a_document_by_posting_again() {
    for client in on_each_store().await {
        let vendor = client.app.client("SISVendor").await;
        let created = vendor.post("/ed-fi/students", &student("1")).await;
        assert_eq!(created.status, 201, "{created:?}");

        let mut changed = student("1");
        changed["firstName"] = json!("Eve");
        let again = vendor.post("/ed-fi/students", &changed).await;

        again.problem(403, "security:authorization");
        let found = client.get(&created.location()).await.json();
        assert_eq!(found["firstName"], "Ada");
    }
}

#[tokio::test]
async fn a_set_that_grants_only_create_grants_nothing_else() {
    for app in TestApp::on_each_store().await {
        let client = app.client("SeedLoader").await;
        for action in ["List", "Read", "Update", "Delete", "Deletes"] {
            ask(&client, action, "schools").await.problem(403, ACTION);
        }
        assert_eq!(ask(&client, "Create", "schools").await.status, 400);
    }
}

#[tokio::test]
async fn full_access_grants_every_action() {
    for app in TestApp::on_each_store().await {
        let client = app.client(crate::app::FULL_ACCESS).await;
        let mut failures = Failures::of("FullAccess may do everything to everything");
        for resource in &app.model().resources {
            for (action, status) in [
                ("List", 200),
                ("Partition", 200),
                ("Read", 404),
                ("Create", 400),
                ("Update", 400),
                ("Delete", 404),
                ("Deletes", if resource.endpoint == "schoolYearTypes" { 404 } else { 200 }),
            ] {
                let answer = ask(&client, action, &resource.endpoint).await;
                let case = format!("{action} {}", resource.endpoint);
                failures.check(case, answer.expect(status).map(|_| ()));
            }
        }
        failures.assert_none(349 * 7);
    }
}

#[tokio::test]
async fn a_changed_claim_set_applies_from_the_next_request_on() {
    for app in TestApp::on_each_store().await {
        let grant = |actions: &[&str]| {
            let actions: Vec<_> = actions
                .iter()
                .map(|name| {
                    let open = ["NoFurtherAuthorizationRequired"];
                    json!({"name": name, "authorizationStrategies": open})
                })
                .collect();
            homeroom_access::Manage::PutClaimSet {
                name: "Registrar".into(),
                definition: json!({"resourceClaims": [
                    {"claim": "http://ed-fi.org/identity/claims/ed-fi/student", "actions": actions},
                ]}),
            }
        };
        let now = homeroom_http::Timestamp::now();
        app.access.manage(grant(&["Read"]), now).await.unwrap();
        let client = app.client("Registrar").await;
        assert_eq!(ask(&client, "List", "students").await.status, 200);
        ask(&client, "Create", "students").await.problem(403, ACTION);

        app.access.manage(grant(&["Create"]), now).await.unwrap();

        ask(&client, "List", "students").await.problem(403, ACTION);
        assert_eq!(ask(&client, "Create", "students").await.status, 400);
    }
}
