//! Extensions: their own resources, and their additions to the standard's resources under `_ext`.

use http::Method;
use serde_json::{Value, json};

use crate::app::documents::{on_each_store, school, serving, student, with};
use crate::app::{Client, Standard};

const EXTENDED: Standard =
    Standard { version: "5.2.0", extensions: &["tpdm", "sample", "homograph"] };

async fn extended() -> Vec<Client> {
    serving(EXTENDED).await
}

/// Returns a school that owns buses.
fn school_with(buses: &[&str]) -> Value {
    let buses: Vec<Value> =
        buses.iter().map(|bus| json!({"directlyOwnedBusReference": {"busId": bus}})).collect();
    with(school(1), "_ext", json!({"sample": {"directlyOwnedBuses": buses, "isExemplary": true}}))
}

/// Returns the message of a violation at a path.
fn said(problem: &Value, path: &str) -> String {
    problem["validationErrors"][path].to_string()
}

#[tokio::test]
async fn a_resource_of_an_extension_has_its_own_paths() {
    for client in extended().await {
        let location = client.create("/sample/buses", &json!({"busId": "602"})).await;

        let found = client.get(&location).await;

        assert!(location.starts_with("/sample/buses/"), "{location}");
        assert_eq!(found.json()["busId"], "602");
        assert_eq!(client.get("/ed-fi/buses").await.status, 404);
        assert_eq!(client.ids("/sample/buses?busId=602").await.len(), 1);
        assert_eq!(client.delete(&location).await.status, 204);
    }
}

#[tokio::test]
async fn extension_members_are_kept_and_their_references_have_links() {
    for client in extended().await {
        let bus = client.create("/sample/buses", &json!({"busId": "602"})).await;

        let location = client.create("/ed-fi/schools", &school_with(&["602"])).await;

        let found = client.get(&location).await.json();
        let reference = &found["_ext"]["sample"]["directlyOwnedBuses"][0];
        assert_eq!(
            reference["directlyOwnedBusReference"],
            json!({"busId": "602", "link": {"rel": "Bus", "href": bus}})
        );
        assert_eq!(found["_ext"]["sample"]["isExemplary"], true);
        let problem = client.delete(&bus).await.problem(409, "data-conflict:dependent-item-exists");
        assert!(problem["detail"].as_str().unwrap().contains("School"), "{problem}");
    }
}

#[tokio::test]
async fn a_reference_of_an_extension_needs_its_target() {
    for client in extended().await {
        let answer = client.post("/ed-fi/schools", &school_with(&["603"])).await;

        let problem = answer.problem(409, "data-conflict:unresolved-reference");
        let path = "$._ext.sample.directlyOwnedBuses[0].directlyOwnedBusReference";
        assert!(problem["validationErrors"][path].is_array(), "{problem}");
    }
}

#[tokio::test]
async fn the_rules_of_an_extension_hold_inside_collections_too() {
    for client in extended().await {
        let body = json!({
            "contactUniqueId": "7", "firstName": "Ada", "lastSurname": "Byron",
            "addresses": [{
                "addressTypeDescriptor": "uri://a#Home", "city": "Austin", "postalCode": "1",
                "stateAbbreviationDescriptor": "uri://a#TX", "streetNumberName": "1 A St",
                "_ext": {"sample": {"schoolDistricts": [
                    {"schoolDistrict": "North"}, {"schoolDistrict": "North"}
                ]}},
            }],
            "_ext": {"sample": {"isSportsFan": "perhaps"}},
        });

        let answer = client.post("/ed-fi/contacts", &body).await;

        let problem = answer.problem(400, "bad-request:data-validation-failed");
        let inside = "$.addresses[0]._ext.sample";
        for (path, part) in [
            (format!("{inside}.onBusRoute"), "required"),
            (format!("{inside}.schoolDistricts"), "same identity"),
            ("$._ext.sample.isSportsFan".into(), "true or false"),
            ("$._ext.sample.teacherConference".into(), "required"),
        ] {
            assert!(said(&problem, &path).contains(part), "{path}: {problem}");
        }
    }
}

#[tokio::test]
async fn an_extension_unknown_to_the_object_is_dropped_and_refused_where_handling_is_strict() {
    for client in extended().await {
        let body = with(school(1), "_ext", json!({"samples": {"isExemplary": true}}));
        let location = client.create("/ed-fi/schools", &body).await;
        assert!(client.get(&location).await.json()["_ext"].is_null());
        let strict = [("prefer", "handling=strict")];
        let refused = client.send(Method::POST, "/ed-fi/schools", &strict, body.to_string()).await;
        let problem = refused.problem(400, "bad-request:data-validation-failed");
        assert!(said(&problem, "$._ext.samples").contains("no such member"), "{problem}");

        let body = json!({"busId": "1", "_ext": {"tpdm": {"a": 1}}});
        let location = client.create("/sample/buses", &body).await;
        assert!(client.get(&location).await.json()["_ext"].is_null());
        let refused = client.send(Method::POST, "/sample/buses", &strict, body.to_string()).await;
        let problem = refused.problem(400, "bad-request:data-validation-failed");
        assert!(said(&problem, "$._ext").contains("no such member"), "{problem}");
    }
}

#[tokio::test]
async fn a_server_without_extensions_drops_them_like_any_unknown_member() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/schools", &school_with(&["602"])).await;

        let found = client.get(&location).await;

        assert!(found.json()["_ext"].is_null());
    }
}

#[tokio::test]
async fn an_empty_extension_counts_as_absent() {
    for client in extended().await {
        let plain = client.create("/ed-fi/schools", &school(1)).await;
        let etag = client.get(&plain).await.etag().to_owned();

        for nothing in [json!({}), json!(null), json!({"sample": {}}), json!({"other": {}})] {
            let body = with(school(1), "_ext", nothing);
            assert_eq!(client.post("/ed-fi/schools", &body).await.status, 200);
        }

        let found = client.get(&plain).await;
        assert_eq!(found.etag(), etag);
        assert!(found.json()["_ext"].is_null());
    }
}

#[tokio::test]
async fn resources_of_the_same_name_in_two_projects_are_distinct() {
    for client in extended().await {
        let name = json!({"firstName": "Ada", "lastSurname": "Byron"});
        client.create("/homograph/names", &name).await;
        client.create("/homograph/schoolYearTypes", &json!({"schoolYear": "2026"})).await;
        let theirs = json!({
            "studentNameReference": name, "address": {"city": "Austin"},
            "schoolYearTypeReference": {"schoolYear": "2026"},
        });

        let ours = client.create("/ed-fi/students", &student("1")).await;
        let theirs = client.create("/homograph/students", &theirs).await;

        assert_eq!(client.ids("/ed-fi/students").await.len(), 1);
        assert_eq!(client.ids("/homograph/students?studentFirstName=Ada").await.len(), 1);
        let other = theirs.replace("/homograph/", "/ed-fi/");
        assert_eq!(client.get(&other).await.status, 404);
        assert_eq!(client.delete(&ours).await.status, 204);
        assert_eq!(client.get(&theirs).await.status, 200);
    }
}

#[tokio::test]
async fn a_key_value_shared_by_standard_and_extension_must_agree() {
    for client in extended().await {
        let body = json!({
            "educationOrganizationReference": {"educationOrganizationId": 1},
            "studentReference": {"studentUniqueId": "1"},
            "_ext": {"sample": {"favoriteProgramReference": {
                "educationOrganizationId": 2, "programName": "A",
                "programTypeDescriptor": "uri://a#B",
            }}},
        });

        let answer = client.post("/ed-fi/studentEducationOrganizationAssociations", &body).await;

        let problem = answer.problem(400, "bad-request:data-validation-failed");
        let path = "$._ext.sample.favoriteProgramReference.educationOrganizationId";
        assert!(said(&problem, path).contains("must be the same"), "{problem}");
    }
}
