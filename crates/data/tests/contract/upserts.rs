//! POST, PUT and DELETE: the affected document and the status.

use http::Method;
use serde_json::json;

use crate::app::documents::{on_each_store, school, student, with};

const VALIDATION: &str = "bad-request:data-validation-failed";

#[tokio::test]
async fn a_post_with_a_known_identity_replaces_the_document() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/schools", &school(1)).await;

        let renamed = with(school(1), "nameOfInstitution", "Oak Hill");
        let answer = client.post("/ed-fi/schools", &renamed).await;

        assert_eq!((answer.status, answer.location()), (200, location.clone()), "{}", client.app);
        assert!(answer.body.is_empty());
        let found = client.get(&location).await.json();
        assert_eq!(found["nameOfInstitution"], "Oak Hill");
        assert_eq!(client.ids("/ed-fi/schools").await.len(), 1);
    }
}

#[tokio::test]
async fn a_post_replaces_the_whole_document() {
    for client in on_each_store().await {
        let with_middle_name = with(student("1"), "middleName", "King");
        let location = client.create("/ed-fi/students", &with_middle_name).await;

        client.post("/ed-fi/students", &student("1")).await;

        assert_eq!(client.get(&location).await.json().get("middleName"), None);
    }
}

#[tokio::test]
async fn a_post_with_an_id_is_refused() {
    for client in on_each_store().await {
        let body = with(student("1"), "id", "0197d8f1b4347f0b8a3e7b2c5d6e7f80");

        let problem = client.post("/ed-fi/students", &body).await.problem(400, VALIDATION);

        assert!(problem["errors"][0].as_str().unwrap().contains("id"), "{problem}");
        assert!(problem.get("validationErrors").is_none(), "{problem}");
        let without = with(student("1"), "id", json!(null));
        client.create("/ed-fi/students", &without).await;
    }
}

#[tokio::test]
async fn a_put_uses_the_id_of_its_url_and_ignores_that_of_its_body() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let id = location.rsplit('/').next().unwrap();
        let dashed = [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]].join("-");

        for same in [id.to_owned(), id.to_ascii_uppercase(), dashed.clone()] {
            let answer = client.put(&location, &with(student("1"), "id", same)).await;
            assert_eq!(answer.status, 204, "{answer:?}");
        }
        for other in [json!("0197d8f1b4347f0b8a3e7b2c5d6e7f80"), json!("x"), json!(5)] {
            let renamed =
                with(with(student("1"), "id", other.clone()), "firstName", other.to_string());
            let answer = client.put(&location, &renamed).await;
            assert_eq!((answer.status, answer.location()), (204, location.clone()), "{answer:?}");
            let found = client.get(&location).await.json();
            assert_eq!(
                (&found["id"], &found["firstName"]),
                (&json!(id), &json!(other.to_string()))
            );
        }
        assert_eq!(client.ids("/ed-fi/students").await, [id]);
        assert_eq!(client.get(&format!("/ed-fi/students/{dashed}")).await.status, 200);
    }
}

#[tokio::test]
async fn a_put_creates_nothing() {
    for client in on_each_store().await {
        let unknown = "/ed-fi/students/0197d8f1b4347f0b8a3e7b2c5d6e7f80";

        client.put(unknown, &student("1")).await.problem(404, "not-found");

        assert!(client.ids("/ed-fi/students").await.is_empty());
    }
}

#[tokio::test]
async fn a_document_from_get_can_be_put_unchanged() {
    for client in on_each_store().await {
        client.create("/ed-fi/schools", &school(1)).await;
        client.create("/ed-fi/students", &student("1")).await;
        let enrolment = crate::app::documents::enrolment("1", 1, "2026-08-20");
        let location = client.create("/ed-fi/studentSchoolAssociations", &enrolment).await;
        let found = client.get(&location).await;

        let answer = client.put(&location, &found.json()).await;

        assert_eq!(answer.status, 204, "{answer:?}");
        assert_eq!(answer.etag(), found.etag(), "nothing was changed");
        let stale = with(found.json(), "_etag", "1");
        assert_eq!(client.put(&location, &stale).await.status, 204, "_etag in a body counts not");
    }
}

#[tokio::test]
async fn an_invalid_id_is_reported() {
    for client in on_each_store().await {
        for id in ["x", "123", "0197d8f1b4347f0b8a3e7b2c5d6e7f8g", "%20", "schools"] {
            let path = format!("/ed-fi/students/{id}");
            for answer in [
                client.get(&path).await,
                client.put(&path, &student("1")).await,
                client.delete(&path).await,
            ] {
                let problem = answer.problem(400, VALIDATION);
                assert!(problem["validationErrors"]["$.id"].is_array(), "{id}: {problem}");
            }
        }
    }
}

#[tokio::test]
async fn a_document_is_found_under_its_own_resource_only() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let elsewhere = location.replace("students", "staffs");

        client.get(&elsewhere).await.problem(404, "not-found");
        client.delete(&elsewhere).await.problem(404, "not-found");

        assert_eq!(client.get(&location).await.status, 200);
    }
}

#[tokio::test]
async fn an_unknown_resource_is_not_found() {
    for client in on_each_store().await {
        let id = "0197d8f1b4347f0b8a3e7b2c5d6e7f80";
        for path in [
            "/data/v3/ed-fi/pupils".to_owned(),
            "/data/v3/tpdm/students".into(),
            format!("/data/v3/ed-fi/pupils/{id}"),
            "/data/v3/ed-fi/pupils/deletes".into(),
            "/data/v3/ed-fi/pupils/keyChanges".into(),
            "/data/v3/ed-fi/pupils/partitions".into(),
            "/data/v3/ed-fi".into(),
            "/data/v2/ed-fi/students".into(),
            "/nowhere".into(),
        ] {
            client.get(&path).await.problem(404, "not-found");
        }
        client.post("/ed-fi/pupils", &student("1")).await.problem(404, "not-found");
        client.put(&format!("/ed-fi/pupils/{id}"), &student("1")).await.problem(404, "not-found");
        client.delete(&format!("/ed-fi/pupils/{id}")).await.problem(404, "not-found");
    }
}

#[tokio::test]
async fn an_unsupported_method_is_refused_with_the_allowed_ones() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let many = "/ed-fi/students";
        for (method, path, allow) in [
            (Method::POST, location.as_str(), "DELETE, GET, HEAD, PUT"),
            (Method::PATCH, location.as_str(), "DELETE, GET, HEAD, PUT"),
            (Method::PUT, many, "GET, HEAD, POST"),
            (Method::DELETE, many, "GET, HEAD, POST"),
            (Method::PATCH, many, "GET, HEAD, POST"),
            (Method::POST, "/ed-fi/students/deletes", "GET, HEAD"),
            (Method::DELETE, "/changeQueries/v1/availableChangeVersions", "GET, HEAD"),
        ] {
            let answer = client.send(method.clone(), path, &[], "{}").await;

            answer.problem(405, "method-not-allowed");
            assert_eq!(answer.header("allow"), allow, "{method} {path}");
        }
    }
}
