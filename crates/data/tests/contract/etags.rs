//! `ETag`, `If-Match`, `If-None-Match`.

use http::Method;
use serde_json::json;

use crate::app::documents::{on_each_store, student, with};

const STALE: &str = "optimistic-lock-failed";

/// Returns the forms in which clients send the tag `"7"`.
fn forms(etag: &str) -> [String; 5] {
    let bare = etag.trim_matches('"');
    [
        etag.to_owned(),
        bare.to_owned(),
        format!("\"a,b\" ,,{etag},"),
        format!("\"1\", {etag}"),
        format!(" {etag} "),
    ]
}

/// Values that are neither a star nor a list of tags.
const NOT_UNDERSTOOD: [&str; 11] =
    ["", " ", ",", ", ,", "\"", "\"7", "7\"", "\"7\"\"8\"", "7 8", "*, \"7\"", "W/"];

const MISSING: &str = "/ed-fi/students/0197d8f1b4347f0b8a3e7b2c5d6e7f80";

/// Returns every request that may have a precondition, for an existing and a missing document.
fn conditional(location: &str) -> Vec<(Method, String, String)> {
    let body = with(student("1"), "firstName", "Eve").to_string();
    let mut all = vec![(Method::POST, "/ed-fi/students".to_owned(), body.clone())];
    for path in [location, MISSING] {
        all.push((Method::GET, path.to_owned(), String::new()));
        all.push((Method::PUT, path.to_owned(), body.clone()));
        all.push((Method::DELETE, path.to_owned(), String::new()));
    }
    all
}

#[tokio::test]
async fn a_change_of_the_current_version_succeeds() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        for at in 0..5 {
            let etag = client.get(&location).await.etag().to_owned();
            let tag = &forms(&etag)[at];
            let renamed = with(student("1"), "firstName", format!("Ada {at}")).to_string();
            let headers = [("if-match", tag.as_str())];

            let put = client.send(Method::PUT, &location, &headers, renamed).await;

            assert_eq!(put.status, 204, "{tag}: {put:?}");
            assert_ne!(put.etag(), etag);
        }
    }
}

#[tokio::test]
async fn a_change_of_another_version_is_refused_for_every_method() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let first = client.get(&location).await.etag().to_owned();
        let renamed = with(student("1"), "firstName", "Eve");
        assert_eq!(client.put(&location, &renamed).await.status, 204);

        let weak = format!("W/{first}");
        for tag in forms(&first).iter().chain(&["x".into(), "\"\"".into(), weak]) {
            let headers = [("if-match", tag.as_str())];
            let body = student("1").to_string();
            for (method, path, body) in [
                (Method::PUT, location.as_str(), body.clone()),
                (Method::POST, "/ed-fi/students", body),
                (Method::DELETE, location.as_str(), String::new()),
            ] {
                let answer = client.send(method.clone(), path, &headers, body).await;
                answer.problem(412, STALE);
            }
        }
        assert_eq!(client.get(&location).await.json()["firstName"], "Eve");
    }
}

#[tokio::test]
async fn if_match_star_accepts_any_version_of_an_existing_document() {
    for client in on_each_store().await {
        let headers = [("if-match", "*")];
        let body = student("1").to_string();
        let missing = "/ed-fi/students/0197d8f1b4347f0b8a3e7b2c5d6e7f80";
        let post = client.send(Method::POST, "/ed-fi/students", &headers, body.clone()).await;
        let problem = post.problem(412, STALE);
        assert_eq!(problem["errors"].as_array().unwrap().len(), 1, "{problem}");
        // A missing document is 404, whatever the precondition.
        for tag in ["*", "\"1\"", "1", "W/\"1\""] {
            for method in [Method::PUT, Method::DELETE] {
                let headers = [("if-match", tag)];
                let answer = client.send(method, missing, &headers, body.clone()).await;
                answer.problem(404, "not-found");
            }
        }
        assert!(client.ids("/ed-fi/students").await.is_empty());

        let location = client.create("/ed-fi/students", &student("1")).await;

        let renamed = with(student("1"), "firstName", "Eve").to_string();
        let put = client.send(Method::PUT, &location, &headers, renamed).await;
        let post = client.send(Method::POST, "/ed-fi/students", &headers, body).await;
        let delete = client.send(Method::DELETE, &location, &headers, "").await;
        assert_eq!((put.status, post.status, delete.status), (204, 200, 204));
    }
}

#[tokio::test]
async fn a_version_that_the_caller_already_has_gets_304() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let etag = client.get(&location).await.etag().to_owned();

        let weak = format!("W/{etag}");
        for tag in forms(&etag).iter().chain(&["*".to_owned(), weak]) {
            let headers = [("if-none-match", tag.as_str())];
            let answer = client.send(Method::GET, &location, &headers, "").await;

            assert_eq!((answer.status, answer.body.len()), (304, 0), "{tag}");
            assert_eq!(answer.etag(), etag);
        }
        client.put(&location, &with(student("1"), "firstName", "Eve")).await;
        let headers = [("if-none-match", etag.as_str())];
        let changed = client.send(Method::GET, &location, &headers, "").await;
        assert_eq!(changed.status, 200);
        assert_eq!(changed.json()["firstName"], "Eve");
    }
}

#[tokio::test]
async fn if_none_match_star_allows_creation_only() {
    for client in on_each_store().await {
        let headers = [("if-none-match", "*")];
        let body = student("1").to_string();

        let first = client.send(Method::POST, "/ed-fi/students", &headers, body.clone()).await;
        let second = client.send(Method::POST, "/ed-fi/students", &headers, body.clone()).await;
        let put = client.send(Method::PUT, &first.location(), &headers, body).await;

        assert_eq!(first.status, 201);
        second.problem(412, STALE);
        put.problem(412, STALE);
    }
}

#[tokio::test]
async fn if_none_match_refuses_a_change_of_the_named_version() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let etag = client.get(&location).await.etag().to_owned();
        let renamed = with(student("1"), "firstName", "Eve").to_string();

        let same = [("if-none-match", etag.as_str())];
        let refused = client.send(Method::PUT, &location, &same, renamed.clone()).await;
        let other = [("if-none-match", "\"1\"")];
        let done = client.send(Method::PUT, &location, &other, renamed).await;

        refused.problem(412, STALE);
        assert_eq!(done.status, 204);
    }
}

#[tokio::test]
async fn an_invalid_precondition_on_an_existing_document_is_refused() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let before = (client.get(&location).await.json(), client.newest().await);

        for name in ["if-match", "if-none-match"] {
            for sent in NOT_UNDERSTOOD {
                for (method, path, body) in conditional(&location) {
                    let headers = [(name, sent)];
                    let answer = client.send(method.clone(), &path, &headers, body).await;

                    let what = format!("{method} {path} {name}: {sent:?}: {answer:?}");
                    if path == MISSING {
                        assert_eq!(answer.status, 404, "{what}");
                        continue;
                    }
                    assert_eq!(answer.status, 400, "{what}");
                    let said = answer.json()["errors"][0].as_str().unwrap().to_lowercase();
                    assert!(said.starts_with(name), "{what}");
                }
            }
        }

        assert_eq!((client.get(&location).await.json(), client.newest().await), before);
    }
}

#[tokio::test]
async fn a_weakened_tag_names_the_version_that_it_was_made_from() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let first = format!("W/{}", client.get(&location).await.etag());
        let renamed = with(student("1"), "firstName", "Eve").to_string();
        let headers = [("if-match", first.as_str())];

        let put = client.send(Method::PUT, &location, &headers, renamed.clone()).await;
        let again = client.send(Method::PUT, &location, &headers, student("1").to_string()).await;
        let second = format!("W/{}", client.get(&location).await.etag());
        let headers = [("if-match", second.as_str())];
        let deleted = client.send(Method::DELETE, &location, &headers, "").await;

        assert_eq!((put.status, deleted.status), (204, 204));
        again.problem(412, STALE);
    }
}

#[tokio::test]
async fn a_failed_condition_is_told_as_it_is() {
    for client in on_each_store().await {
        let body = student("1").to_string();
        let send = async |condition: (&str, &str)| {
            let headers = [condition];
            let answer = client.send(Method::POST, "/ed-fi/students", &headers, body.clone()).await;
            let problem = answer.problem(412, STALE);
            problem["detail"].as_str().unwrap().to_owned()
        };

        let missing = send(("if-match", "\"1\"")).await;
        client.create("/ed-fi/students", &student("1")).await;
        let changed = send(("if-match", "\"1\"")).await;
        let known = send(("if-none-match", "*")).await;

        assert!(missing.contains("there is none"), "{missing}");
        assert!(changed.contains("has changed since it was read"), "{changed}");
        assert!(known.contains("If-None-Match") && !known.contains("If-Match"), "{known}");
    }
}

#[tokio::test]
async fn several_header_lines_of_a_precondition_form_one_list() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let etag = client.get(&location).await.etag().to_owned();
        let renamed = with(student("1"), "firstName", "Eve").to_string();

        let lines = [("if-match", "\"1\""), ("if-match", etag.as_str())];
        let done = client.send(Method::PUT, &location, &lines, renamed.clone()).await;
        let lines = [("if-match", "*"), ("if-match", "")];
        let doubtful = client.send(Method::PUT, &location, &lines, renamed.clone()).await;
        let lines = [("if-match", "*"), ("if-match", "\"1\"")];
        let refused = client.send(Method::PUT, &location, &lines, renamed).await;

        assert_eq!((done.status, doubtful.status, refused.status), (204, 400, 400));
    }
}

#[tokio::test]
async fn two_preconditions_must_both_hold() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let etag = client.get(&location).await.etag().to_owned();
        let renamed = with(student("1"), "firstName", "Eve").to_string();
        let send = async |is: &str, is_not: &str| {
            let headers = [("if-match", is), ("if-none-match", is_not)];
            let put = client.send(Method::PUT, &location, &headers, renamed.clone()).await;
            let post = client.send(Method::POST, "/ed-fi/students", &headers, renamed.clone());
            (put.status, post.await.status)
        };

        let (wanted, named) = (send(&etag, "*").await, send("*", &etag).await);
        let stale = send("\"1\"", "\"1\"").await;

        assert_eq!((wanted, named, stale), ((412, 412), (412, 412), (412, 412)));
        let read = [("if-match", "\"1\""), ("if-none-match", etag.as_str())];
        let read = client.send(Method::GET, &location, &read, "").await;
        assert_eq!(read.status, 412, "{read:?}");
        assert_eq!(client.get(&location).await.json()["firstName"], "Ada");
    }
}

#[tokio::test]
async fn a_condition_on_metadata_that_is_not_understood_is_refused() {
    for client in on_each_store().await {
        for path in ["/", "/metadata", "/metadata/changequeries/v1/swagger.json"] {
            let etag = client.get(path).await.etag().to_owned();
            for sent in NOT_UNDERSTOOD {
                let headers = [("if-none-match", sent)];
                let answer = client.send(Method::GET, path, &headers, "").await;
                assert_eq!(answer.status, 400, "{path} {sent:?}");
            }
            let lines = [("if-none-match", "\"1\""), ("if-none-match", etag.as_str())];
            assert_eq!(client.send(Method::GET, path, &lines, "").await.status, 304, "{path}");
        }
    }
}

#[tokio::test]
async fn the_etag_in_a_list_is_that_of_the_document() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;

        let listed = client.get("/ed-fi/students").await.json();

        let one = client.get(&location).await;
        assert_eq!(json!([one.json()]), listed);
        assert_eq!(one.etag(), format!("\"{}\"", listed[0]["_etag"].as_str().unwrap()));
    }
}
