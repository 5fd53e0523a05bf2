//! Vulnerabilities that other servers have had, each with a test: actions that granted other
//! actions, keys whose case mattered in one database and not in another, scripts in a page.
//! `disguises.rs` has those by disguise, `profiles.rs` those by profile.

use homeroom_access::Manage;
use homeroom_http::Timestamp;
use http::Method;
use serde_json::{Value, json};

use super::strangers::paths;
use crate::app::documents::{course, descriptor_path, on_each_store, school, student, with};
use crate::app::failures::Failures;
use crate::app::{Client, TestApp, encoded};

const ACTION: &str = "security:authorization:access-denied:action";
const OURS: &str = "uri://ours.example";

/// Makes a client whose key has a set that grants actions on a resource, within a strategy.
pub async fn granted(
    app: &TestApp,
    name: &str,
    claim: &str,
    actions: &[&str],
    asked: Manage,
) -> Client {
    let strategy = match &asked {
        Manage::CreateKey { education_organizations, .. }
            if !education_organizations.is_empty() =>
        {
            "RelationshipsWithEdOrgsOnly"
        }
        Manage::CreateKey { namespace_prefixes, .. } if !namespace_prefixes.is_empty() => {
            "NamespaceBased"
        }
        _ => "NoFurtherAuthorizationRequired",
    };
    let grants = actions.iter().map(|a| json!({"name": a, "authorizationStrategies": [strategy]}));
    let claim = format!("http://ed-fi.org/identity/claims/ed-fi/{claim}");
    let actions: Vec<Value> = grants.collect();
    let definition = json!({"resourceClaims": [{"claim": claim, "actions": actions}]});
    let put = Manage::PutClaimSet { name: name.into(), definition };
    app.access.manage(put, Timestamp::now()).await.unwrap();
    app.client_with(asked).await
}

/// Returns the request for a key with a claim set, organizations and prefixes.
pub fn key(claim_set: &str, organizations: &[i64], prefixes: &[&str]) -> Manage {
    Manage::CreateKey {
        claim_set: Some(claim_set.into()),
        name: None,
        scopes: vec![],
        education_organizations: organizations.to_vec(),
        namespace_prefixes: prefixes.iter().map(|prefix| (*prefix).into()).collect(),
        ownership_tokens: vec![],
        creator_token: None,
    }
}

#[tokio::test]
async fn a_granted_action_permits_no_other_action() {
    const ACTIONS: [&str; 5] = ["Create", "Read", "Update", "Delete", "ReadChanges"];
    for owner in on_each_store().await {
        let stored = owner.create("/ed-fi/students", &student("1")).await;
        let changed = with(student("1"), "firstName", "Augusta").to_string();
        for action in ACTIONS {
            let client =
                granted(&owner.app, action, "student", &[action], key(action, &[], &[])).await;
            let before = owner.newest().await;
            let all = "/ed-fi/students";
            for (method, path, body, needed) in [
                (Method::GET, all.to_owned(), "", "Read"),
                (Method::HEAD, all.to_owned(), "", "Read"),
                (Method::GET, format!("{all}?totalCount=true&studentUniqueId=1"), "", "Read"),
                (Method::GET, format!("{all}?minChangeVersion=0"), "", "Read"),
                (Method::GET, format!("{all}/partitions"), "", "Read"),
                (Method::GET, stored.clone(), "", "Read"),
                (Method::HEAD, stored.clone(), "", "Read"),
                (Method::GET, format!("{all}/deletes"), "", "ReadChanges"),
                (Method::GET, format!("{all}/keyChanges"), "", "ReadChanges"),
                (Method::HEAD, format!("{all}/deletes"), "", "ReadChanges"),
                (Method::PUT, stored.clone(), &changed, "Update"),
                (Method::POST, all.to_owned(), &changed, "Update"),
                (Method::DELETE, stored.clone(), "", "Delete"),
            ] {
                if needed == action {
                    continue;
                }
                let answer = client.send(method.clone(), &path, &[], body.to_owned()).await;

                assert_eq!(answer.status, 403, "{action}: {method} {path} {answer:?}");
                if method != Method::HEAD {
                    answer.problem(403, ACTION);
                }
            }
            if action != "Create" {
                client.post(all, &student("2")).await.problem(403, ACTION);
            }
            assert_eq!(owner.newest().await, before, "{action}");
        }
    }
}

#[tokio::test]
async fn keys_that_differ_in_case_are_different_keys_on_each_store() {
    for owner in on_each_store().await {
        let app = &owner.app;
        let spellings = ["ab-é", "AB-é", "ab-É", "ab-e\u{301}"];
        for spelling in spellings {
            owner.create("/ed-fi/students", &student(spelling)).await;
        }
        owner.create("/ed-fi/schools", &school(11)).await;
        owner.create("/ed-fi/courses", &course(11, "Alg")).await;

        for spelling in spellings {
            let found = owner
                .get(&format!("/ed-fi/students?studentUniqueId={}", encoded(spelling)))
                .await
                .json();
            assert_eq!(found.as_array().unwrap().len(), 1, "{app} {spelling}");
            assert_eq!(found[0]["studentUniqueId"], spelling);
        }
        for filter in ["studentUniqueId=Ab-%C3%A9", "firstName=ada", "lastSurname=BYRON"] {
            assert!(owner.ids(&format!("/ed-fi/students?{filter}")).await.is_empty(), "{filter}");
        }
        let reference = json!({
            "courseReference": {"courseCode": "ALG", "educationOrganizationId": 11},
            "schoolReference": {"schoolId": 11},
            "sessionReference": {"schoolId": 11, "schoolYear": 2026, "sessionName": "Fall"},
            "localCourseCode": "1",
        });
        let answer = owner.post("/ed-fi/courseOfferings", &reference).await;
        let problem = answer.problem(409, "data-conflict:unresolved-reference");
        assert!(problem["detail"].to_string().contains("Course"), "{problem}");
        assert_eq!(owner.ids("/ed-fi/courses?courseCode=ALG").await.len(), 0, "{app}");
    }
}

#[tokio::test]
async fn descriptors_are_the_same_in_any_case_on_each_store() {
    for owner in on_each_store().await {
        let path = descriptor_path("GradeLevelDescriptor");
        let of =
            |code: &str| json!({"namespace": OURS, "codeValue": code, "shortDescription": "x"});
        let location = owner.create(&path, &of("École")).await;

        let again = owner.post(&path, &of("ÉCOLE")).await;

        assert_eq!((again.status, again.location()), (200, location.clone()), "{}", owner.app);
        let id = location.rsplit('/').next().unwrap();
        for filter in [
            format!("codeValue={}&namespace={}", encoded("éCOLE"), encoded(&OURS.to_uppercase())),
            format!("namespace={}", encoded(&OURS.to_uppercase())),
        ] {
            assert_eq!(owner.ids(&format!("{path}?{filter}")).await, [id], "{filter}");
        }
        // A prefix is compared case-sensitively.
        for (prefix, status) in [(OURS, 204), ("URI://ours.example", 403)] {
            let vendor = granted(
                &owner.app,
                "Levels",
                "gradeLevelDescriptor",
                &["Read", "Update"],
                key("Levels", &[], &[prefix]),
            );
            let vendor = vendor.await;
            assert_eq!(vendor.put(&location, &of("ÉCOLE")).await.status, status, "{prefix}");
        }
    }
}

#[tokio::test]
async fn no_answer_carries_script_from_a_request_or_from_a_document() {
    const SCRIPT: &str = "<script>alert(1)</script>";
    for owner in on_each_store().await {
        let named = with(student("1"), "firstName", SCRIPT);
        let stored = owner.create("/ed-fi/students", &named).await;
        let mut asked: Vec<(Method, String)> = vec![];
        for (method, route) in owner.app.front_door.routes() {
            let path = &paths(&owner.app, &route.template)[0];
            asked.push((method.clone(), path.clone()));
            let query = format!("{path}?{}={}", encoded(SCRIPT), encoded(SCRIPT));
            asked.push((method.clone(), query));
            asked.push((Method::PATCH, path.clone()));
            let odd = route.template.replace('{', "%3Cscript%3E").replace('}', "%3C/script%3E");
            asked.push((method.clone(), odd));
        }
        for path in [
            format!("/data/v3{stored}"),
            "/data/v3/ed-fi/students".into(),
            format!("/data/v3/ed-fi/students?limit={}", encoded(SCRIPT)),
            format!(
                "/data/v3/ed-fi/students?pageToken={}&birthDate={}",
                encoded(SCRIPT),
                encoded(SCRIPT)
            ),
            format!("/{}", encoded(SCRIPT)),
        ] {
            asked.push((Method::GET, path));
        }
        let mut failures = Failures::of("no answer carries script");
        for (method, path) in asked {
            for authorization in [owner.authorization.as_str(), SCRIPT] {
                let headers = [
                    ("authorization", authorization),
                    ("accept", "text/html, image/svg+xml;q=0.9, application/xml;q=0.8"),
                    ("host", SCRIPT),
                    ("x-forwarded-host", SCRIPT),
                    ("correlationid", SCRIPT),
                    ("content-type", "application/json"),
                ];
                let body = format!(r#"{{"{SCRIPT}": "{SCRIPT}", "firstName": 1, "company": 1}}"#);
                let answer = owner.app.send(method.clone(), &path, &headers, body).await;
                let media = answer.headers.get("content-type").map_or("", |v| v.to_str().unwrap());
                let text = String::from_utf8_lossy(&answer.body);
                let is_page = media.starts_with("text/html");
                let page = path.split('?').next().unwrap_or_default();
                // The reference has a script in a file of its own, which no request changes.
                let has_script = match page {
                    "/docs" => {
                        text.replace("<script src=\"docs/reference.js\"", "").contains("<script")
                    }
                    _ => text.contains("<script"),
                };
                let is_own_file = match page {
                    "/docs/reference.js" => media.starts_with("text/javascript"),
                    "/docs/reference.css" => media.starts_with("text/css"),
                    _ => false,
                };
                let outcome = if answer
                    .headers
                    .get("x-content-type-options")
                    .is_none_or(|v| v != "nosniff")
                {
                    Err("a browser may guess what it is".to_owned())
                } else if is_page && (!["/", "/docs"].contains(&page) || has_script) {
                    Err(format!("{media}: {answer:?}"))
                } else if is_page
                    && !answer.header("content-security-policy").contains("default-src 'none'")
                {
                    Err("the page may load script".to_owned())
                } else if ["json", "xml", "html"].iter().any(|kind| media.contains(kind))
                    || answer.body.is_empty()
                    || is_own_file && !text.contains(SCRIPT)
                {
                    Ok(())
                } else {
                    Err(format!("a body of the type {media:?}"))
                };
                failures.check(format!("{method} {path}"), outcome);
            }
        }
        failures.assert_none(500);
    }
}
