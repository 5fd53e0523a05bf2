//! The order of refusals: by the caller, by what exists, by what may be done.

use std::collections::BTreeMap;

use homeroom_http::{Guard, Timestamp, other_methods};
use homeroom_model::ResourceKind;
use http::Method;

use super::strangers::{paths, token_of_scope};
use crate::app::documents::{on_each_store, student};
use crate::app::failures::Failures;
use crate::app::{Answer, TestApp};

/// All methods that clients may use, and one that does not exist.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "REPORT"];

/// Returns the methods of each guarded template, and the scope that it requires.
fn guarded(app: &TestApp) -> BTreeMap<String, (&'static str, Vec<String>)> {
    let mut all: BTreeMap<String, (&'static str, Vec<String>)> = BTreeMap::new();
    for (method, route) in app.front_door.routes() {
        let Guard::Token { scope } = route.guard else { continue };
        let (_, methods) = all.entry(route.template.to_string()).or_insert((scope, vec![]));
        if *method == Method::GET {
            methods.push("HEAD".into());
        }
        if *method != other_methods() {
            methods.push(method.to_string());
        }
    }
    for (_, methods) in all.values_mut() {
        methods.sort_unstable();
    }
    all
}

/// Whether a path is of the changes of a resource.
fn is_of_changes(path: &str) -> bool {
    path.ends_with("/deletes") || path.ends_with("/keyChanges")
}

/// Whether a path is of one of the standard's enumerations, whose changes are not tracked.
fn is_enumeration(app: &TestApp, path: &str) -> bool {
    let mut parts = path.split('/').skip(3);
    let (schema, endpoint) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let resource = app.model().by_endpoint(schema, endpoint);
    resource.is_some_and(|resource| resource.kind == ResourceKind::Enumeration)
}

/// The answer as a problem; what is answered to HEAD has no body.
fn is_problem(method: &str, answer: &Answer, status: u16, kind: &str) -> Result<(), String> {
    match method {
        "HEAD" if answer.status == status => Ok(()),
        "HEAD" => Err(format!("expected {status}, got {answer:?}")),
        _ => answer.try_problem(status, kind).map(|_| ()),
    }
}

#[tokio::test]
async fn every_method_of_every_route_is_refused_by_401_then_404_then_405() {
    for app in TestApp::on_each_store().await {
        let mut failures = Failures::of("401 comes before 404, and 404 before 405");
        for (template, (scope, allowed)) in guarded(&app) {
            let scope = if scope == homeroom_access::ANY_SCOPE { "data" } else { scope };
            let token = token_of_scope(&app, scope, Timestamp::now()).await;
            let token = format!("Bearer {token}");
            for path in paths(&app, &template) {
                for name in METHODS {
                    let method = Method::from_bytes(name.as_bytes()).unwrap();
                    let stranger = app.send(method.clone(), &path, &[], "").await;
                    let kind = "security:authentication";
                    let outcome = is_problem(name, &stranger, 401, kind);
                    failures.check(format!("{name} {path} of a stranger"), outcome);

                    let headers = [("authorization", token.as_str())];
                    let known = app.send(method.clone(), &path, &headers, "").await;
                    let is_tracked = !is_enumeration(&app, &path) || !is_of_changes(&path);
                    let is_there = !path.contains("thereIsNoSuchThing") && is_tracked;
                    let is_allowed = allowed.iter().any(|allowed| allowed == name);
                    let outcome = match (is_there, is_allowed) {
                        (false, _) => is_problem(name, &known, 404, "not-found"),
                        (true, true) if known.status == 401 || known.status == 405 => {
                            Err(format!("it is allowed: {known:?}"))
                        }
                        (true, true) => Ok(()),
                        (true, false) => is_problem(name, &known, 405, "method-not-allowed")
                            .and_then(|()| {
                                let named = known.header("allow");
                                // An answer to HEAD has no body.
                                let says_one = |answer: &Answer| {
                                    answer.json()["errors"].as_array().map(Vec::len) == Some(1)
                                };
                                let as_expected = named == allowed.join(", ")
                                    && (*name == *"HEAD" || says_one(&known));
                                let wrong = || format!("expected {allowed:?}: {named} {known:?}");
                                as_expected.then_some(()).ok_or_else(wrong)
                            }),
                    };
                    failures.check(format!("{name} {path}"), outcome);
                }
            }
        }
        failures.assert_none(app.resources() * METHODS.len() * 10);
    }
}

#[tokio::test]
async fn an_unknown_namespace_or_resource_is_not_found_by_any_method_once_the_caller_is_known() {
    for client in on_each_store().await {
        for place in ["ed-fi/pupils", "tpdm/students", "none/none", "ed-fi/Students%20"] {
            for below in ["", "/0197d8f1b4347f0b8a3e7b2c5d6e7f80", "/deletes", "/partitions"] {
                let path = format!("/data/v3/{place}{below}");
                for name in METHODS {
                    let method = Method::from_bytes(name.as_bytes()).unwrap();
                    let snapshot = [("use-snapshot", "true")];
                    let profile = [("accept", "application/vnd.ed-fi.a.b.readable+json")];
                    for headers in [&[][..], &snapshot, &profile] {
                        let answer = client.send(method.clone(), &path, headers, "").await;
                        let outcome = is_problem(name, &answer, 404, "not-found");
                        assert_eq!(outcome, Ok(()), "{name} {path}");
                    }
                    let stranger = client.app.send(method, &path, &snapshot, "").await;
                    assert_eq!(stranger.status, 401, "{name} {path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_write_to_a_snapshot_is_refused_with_the_reason() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let header = [("use-snapshot", "true")];
        for (method, path) in [
            (Method::POST, "/ed-fi/students"),
            (Method::PUT, location.as_str()),
            (Method::DELETE, &location),
        ] {
            let answer = client.send(method, path, &header, student("1").to_string()).await;

            let problem = answer.problem(405, "snapshots:method-not-allowed");
            assert_eq!(problem["errors"].as_array().unwrap().len(), 1, "{problem}");
            assert_eq!(answer.header("allow"), "GET, HEAD");
        }
        assert_eq!(client.get(&location).await.status, 200);
    }
}

#[tokio::test]
async fn a_request_that_names_a_profile_is_refused() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let kind = "profile:invalid-profile-usage";
        let before = client.newest().await;
        for (accept, status) in [
            ("application/vnd.ed-fi.student.some-profile.readable+json", 406),
            ("APPLICATION/VND.ED-FI.Student.Some-Profile.READABLE+JSON", 406),
            ("application/json, application/vnd.ed-fi.student.p.readable+json;q=0.5", 406),
            ("application/vnd.ed-fi.student.p.readable+json; charset=utf-8", 406),
            ("application/vnd.ed-fi.student.p.writable+json", 400),
            ("application/vnd.ed-fi.student.p+json", 400),
            ("application/vnd.ed-fi.student.p.other+json", 400),
            ("application/vnd.ed-fi.", 400),
            ("application/json", 200),
            ("*/*", 200),
            ("", 200),
        ] {
            for path in [location.as_str(), "/ed-fi/students", "/ed-fi/students?limit=0"] {
                let answer = client.send(Method::GET, path, &[("accept", accept)], "").await;
                assert_eq!(answer.status, status, "{accept}: {answer:?}");
                if status != 200 {
                    let problem = answer.problem(status, kind);
                    assert_eq!(problem["errors"].as_array().unwrap().len(), 1, "{problem}");
                }
            }
        }
        for (media, status) in [
            ("application/vnd.ed-fi.student.some-profile.writable+json", 415),
            ("Application/vnd.Ed-Fi.student.some-profile.Writable+json; charset=utf-8", 415),
            ("application/vnd.ed-fi.student.some-profile.readable+json", 400),
            ("application/vnd.ed-fi.student+json", 400),
        ] {
            let body = student("2").to_string();
            for (method, path) in [(Method::POST, "/ed-fi/students"), (Method::PUT, &location)] {
                let headers = [("content-type", media)];
                let answer = client.send(method, path, &headers, body.clone()).await;
                answer.problem(status, kind);
            }
        }
        assert_eq!(client.newest().await, before);
    }
}
