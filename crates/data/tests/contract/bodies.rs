//! Requirements on a request's body before the document is validated.

use http::Method;
use serde_json::json;

use crate::app::answer::violated;
use crate::app::documents::{on_each_store, student};

/// Most bytes in a document.
const LIMIT: usize = 10 << 20;

#[tokio::test]
async fn an_empty_body_is_refused() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        for body in ["", "  \r\n\t "] {
            let headers = [("content-type", "application/json")];
            let post = client.send(Method::POST, "/ed-fi/students", &headers, body).await;
            let put = client.send(Method::PUT, &location, &headers, body).await;

            let problem = post.problem(400, "bad-request");
            assert_eq!(problem["errors"].as_array().unwrap().len(), 1, "{problem}");
            let problem = put.problem(400, "bad-request:data-validation-failed");
            assert_eq!(violated(&problem), ["$"], "{problem}");
            assert!(problem.get("errors").is_none(), "{problem}");
            let both = client.send(Method::PUT, "/ed-fi/students/x", &headers, body).await;
            let problem = both.problem(400, "bad-request:data-validation-failed");
            assert_eq!(violated(&problem), ["$", "$.id"], "{problem}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_with_line_and_column() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        // The path names the last value that had begun, by its canonical name; the whole body has
        // none.
        for (body, path, place) in [
            ("<student/>", None, "line 1, column 1"),
            ("{} {}", None, "line 1, column 4"),
            ("{oops", None, "line 1, column 2"),
            (
                "{\n  \"studentUniqueId\": 1,\n  oops\n}",
                Some("$.studentUniqueId"),
                "line 3, column 3",
            ),
            ("{\"FIRSTNAME\": 1", Some("$.firstName"), "line 1, column 16"),
            ("{\"birthDate\": 01}", Some("$.birthDate"), "line 1, column 16"),
            ("{\"firstName\": \"\\ud800\"}", Some("$.firstName"), "line 1, column"),
            ("{\"a\": 01}", Some("$.a"), "line 1, column 8"),
            ("{\"a b\": x}", Some("$[\"a b\"]"), "line 1, column 9"),
            (
                "{\"personalIdentificationDocuments\": [{}, {\"DocumentTitle\": x}]}",
                Some("$.personalIdentificationDocuments[1].documentTitle"),
                "line 1, column",
            ),
            (
                "{\"personReference\": {\"PERSONID\": nil}}",
                Some("$.personReference.personId"),
                "line 1, column",
            ),
            ("[{\"a\": 1}, {]", Some("$[1]"), "line 1, column 13"),
        ] {
            let sent = [(Method::POST, "/ed-fi/students"), (Method::PUT, location.as_str())];
            for (method, url) in sent {
                let problem = client.send(method, url, &[], body).await;

                let message = if let Some(path) = path {
                    let problem = problem.problem(400, "bad-request:data-validation-failed");
                    assert_eq!(violated(&problem), [path], "{body}: {problem}");
                    assert!(problem.get("errors").is_none(), "{body}: {problem}");
                    problem["validationErrors"][path][0].clone()
                } else {
                    let problem = problem.problem(400, "bad-request");
                    assert!(problem.get("validationErrors").is_none(), "{body}: {problem}");
                    problem["errors"][0].clone()
                };
                assert!(message.as_str().unwrap().contains(place), "{body}: {message}");
            }
        }
        let not_utf_8: &[u8] = b"{\"firstName\": \"\xff\"}";
        let problem = client.send(Method::POST, "/ed-fi/students", &[], not_utf_8).await;
        let problem = problem.problem(400, "bad-request:data-validation-failed");
        assert_eq!(violated(&problem), ["$.firstName"], "{problem}");
    }
}

#[tokio::test]
async fn a_body_with_too_many_levels_or_values_is_refused() {
    for client in on_each_store().await {
        let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let many = format!("[{{}}{}]", ",{}".repeat(3_000_000));
        for body in [nested, many] {
            let answer = client.send(Method::POST, "/ed-fi/students", &[], body).await;

            answer.problem(400, "bad-request:data-validation-failed");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_refused() {
    for client in on_each_store().await {
        for body in [json!([student("1")]), json!("x"), json!(1), json!(null), json!(true)] {
            let problem = client.post("/ed-fi/students", &body).await;

            let problem = problem.problem(400, "bad-request:data-validation-failed");
            assert!(problem["validationErrors"]["$"].is_array(), "{problem}");
        }
    }
}

#[tokio::test]
async fn a_body_needs_a_json_content_type() {
    for client in on_each_store().await {
        let body = student("1").to_string();
        let location = client.create("/ed-fi/students", &student("1")).await;
        for media in [
            "",
            "text/plain",
            "application/xml",
            "application/json2",
            "json",
            "*/*",
            "application/json; charset=utf-16",
            "application/json; charset=\"UTF-16LE\"",
            "application/json;x=1; Charset = iso-8859-1",
            "application/json; charset=",
        ] {
            for (method, path) in [(Method::POST, "/ed-fi/students"), (Method::PUT, &location)] {
                let headers = [("content-type", media)];
                let answer = client.send(method, path, &headers, body.clone()).await;
                answer.problem(415, "unsupported-media-type");
            }
        }
        let headers = [("authorization", client.authorization.as_str())];
        let path = "/data/v3/ed-fi/students";
        let without = client.app.send(Method::POST, path, &headers, body.clone()).await;
        without.problem(415, "unsupported-media-type");
        for media in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json; charset=\"UTF-8\"",
            "application/json ;x",
        ] {
            let headers = [("content-type", media)];
            let answer = client.send(Method::POST, "/ed-fi/students", &headers, body.clone()).await;
            assert_eq!(answer.status, 200, "{media}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    for client in on_each_store().await {
        let whole = |length: usize| {
            let document = student("1").to_string();
            let blanks = " ".repeat(length - document.len());
            format!("{document}{blanks}")
        };

        let within = client.send(Method::POST, "/ed-fi/students", &[], whole(LIMIT)).await;
        let beyond = client.send(Method::POST, "/ed-fi/students", &[], whole(LIMIT + 1)).await;
        let length = [("content-length", "10485761")];
        let declared = client.send(Method::POST, "/ed-fi/students", &length, "{}").await;

        assert_eq!(within.status, 201, "{within:?}");
        beyond.problem(413, "payload-too-large");
        declared.problem(413, "payload-too-large");
    }
}

#[tokio::test]
async fn a_stranger_is_refused_before_the_body_is_looked_at() {
    for client in on_each_store().await {
        let path = "/data/v3/ed-fi/students";

        let answer = client.app.send(Method::POST, path, &[], "not json").await;

        answer.problem(401, "security:authentication");
    }
}
