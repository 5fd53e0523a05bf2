//! Protection of clients from each other, and of identities from being mistaken for others.

use http::Method;
use serde_json::{Value, json};

use crate::app::answer::violated;
use crate::app::documents::{on_each_store, student, with};

const VALIDATION: &str = "bad-request:data-validation-failed";

fn visa(code: &str, namespace: &str) -> Value {
    json!({"codeValue": code, "namespace": namespace, "shortDescription": code})
}

#[tokio::test]
async fn a_descriptors_namespace_must_not_contain_a_number_sign() {
    for client in on_each_store().await {
        let path = "/ed-fi/visaDescriptors";
        client.create(path, &visa("b#c", "uri://x.org/VisaDescriptor")).await;

        let other = client.post(path, &visa("c", "uri://x.org/VisaDescriptor#b")).await;

        assert_eq!(violated(&other.problem(400, VALIDATION)), ["$.namespace"]);
        let used = json!([{"visaDescriptor": "uri://x.org/VisaDescriptor#B#C"}]);
        client.create("/ed-fi/students", &with(student("1"), "visas", used)).await;
    }
}

#[tokio::test]
async fn a_descriptors_identity_is_found_in_any_case_and_any_alphabet() {
    for client in on_each_store().await {
        let path = "/ed-fi/visaDescriptors";
        client.create(path, &visa("Été", "uri://x.org/VisaDescriptor")).await;

        let again = client.post(path, &visa("ÉTÉ", "uri://X.org/VisaDescriptor")).await;

        assert_eq!(again.status, 200);
        assert_eq!(
            client.ids(&format!("{path}?namespace=URI://x.org/visadescriptor")).await.len(),
            1
        );
    }
}

#[tokio::test]
async fn a_document_with_too_many_descriptors_or_members_is_refused() {
    for client in on_each_store().await {
        let visas: Vec<Value> =
            (0..6_000).map(|at| json!({"visaDescriptor": format!("uri://x#{at}")})).collect();
        let mut wide = student("1");
        for at in 0..2_500 {
            wide[format!("unknown{at}")] = at.into();
        }

        let endless = client.post("/ed-fi/students", &with(student("1"), "visas", visas)).await;
        let wide = client.post("/ed-fi/students", &wide).await;

        let problem = endless.problem(400, VALIDATION);
        assert!(problem.to_string().len() < 200_000);
        assert_eq!(violated(&wide.problem(400, VALIDATION)), ["$"]);
    }
}

#[tokio::test]
async fn a_request_for_a_snapshot_is_answered_that_there_is_none() {
    for client in on_each_store().await {
        let header = [("use-snapshot", "True")];
        let body = student("1").to_string();

        let read = client.send(Method::GET, "/ed-fi/students", &header, "").await;
        let write = client.send(Method::POST, "/ed-fi/students", &header, body).await;

        let path = "/changeQueries/v1/availableChangeVersions";
        let versions = client.send(Method::GET, path, &header, "").await;

        read.problem(404, "not-found");
        versions.problem(404, "not-found");
        write.problem(405, "snapshots:method-not-allowed");
    }
}

#[tokio::test]
async fn a_body_in_another_charset_is_refused() {
    for client in on_each_store().await {
        let body = student("1").to_string();

        for (media, status) in [
            ("application/json; charset=utf-16", 415),
            ("application/json;charset=\"UTF-8\"", 201),
            ("text/json", 415),
        ] {
            let answer = client
                .send(Method::POST, "/ed-fi/students", &[("content-type", media)], body.clone())
                .await;
            assert_eq!(answer.status, status, "{media}");
        }
    }
}
