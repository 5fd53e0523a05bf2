//! The strategy `NamespaceBased`: a key reads and changes documents under its prefixes.

use http::Method;
use serde_json::{Value, json};

use crate::app::documents::{on_each_store, uri, with};
use crate::app::{Client, encoded};

const OURS: &str = "uri://ours.example";
const THEIRS: &str = "uri://theirs.example";
const MISMATCH: &str = "security:authorization:namespace:access-denied:namespace-mismatch";

fn assessment(namespace: &str, id: &str) -> Value {
    let subject = uri("AcademicSubjectDescriptor", "Mathematics");
    json!({
        "assessmentIdentifier": id,
        "namespace": namespace,
        "assessmentTitle": id,
        "academicSubjects": [{"academicSubjectDescriptor": subject}],
    })
}

fn grade_level(namespace: &str, code: &str) -> Value {
    json!({"namespace": namespace, "codeValue": code, "shortDescription": code})
}

/// Makes, for each store, a client with full access and a vendor under [`OURS`].
async fn owner_and_vendor() -> Vec<(Client, Client)> {
    let mut pairs = vec![];
    for owner in on_each_store().await {
        let vendor = owner.app.client_within("EdFiSandbox", &[OURS]).await;
        pairs.push((owner, vendor));
    }
    pairs
}

#[tokio::test]
async fn a_document_is_created_only_under_a_prefix_of_the_key() {
    for (owner, vendor) in owner_and_vendor().await {
        let path = "/ed-fi/assessments";
        for namespace in [OURS.to_owned(), format!("{OURS}/math"), format!("{OURS}.also")] {
            vendor.create(path, &assessment(&namespace, "1")).await;
        }
        for namespace in [THEIRS, "uri://ours.exampl", "URI://OURS.EXAMPLE", "x uri://ours.example"]
        {
            let answer = vendor.post(path, &assessment(namespace, "1")).await;
            let problem = answer.problem(403, MISMATCH);
            assert!(problem["detail"].as_str().unwrap().contains(OURS), "{problem}");
            assert!(problem.get("errors").is_none(), "{problem}");
        }
        assert_eq!(owner.ids(path).await.len(), 3);
    }
}

#[tokio::test]
async fn a_document_of_another_namespace_cannot_be_read_changed_or_deleted() {
    for (owner, vendor) in owner_and_vendor().await {
        let path = "/ed-fi/assessments";
        let theirs = assessment(THEIRS, "1");
        let location = owner.create(path, &theirs).await;
        let before = owner.newest().await;
        let etag = owner.get(&location).await.etag().to_owned();

        vendor.get(&location).await.problem(403, MISMATCH);
        vendor.put(&location, &theirs).await.problem(403, MISMATCH);
        vendor.put(&location, &assessment(OURS, "1")).await.problem(403, MISMATCH);
        vendor.post(path, &theirs).await.problem(403, MISMATCH);
        vendor.delete(&location).await.problem(403, MISMATCH);

        // A precondition does not reveal the version either.
        for tag in [etag.as_str(), "\"0\"", "*"] {
            for method in [Method::GET, Method::PUT, Method::DELETE] {
                for header in ["if-match", "if-none-match"] {
                    let body =
                        if method == Method::PUT { theirs.to_string() } else { String::new() };
                    let headers = [(header, tag)];
                    let answer = vendor.send(method.clone(), &location, &headers, body).await;
                    answer.problem(403, MISMATCH);
                }
            }
        }
        assert_eq!(owner.newest().await, before);
    }
}

#[tokio::test]
async fn a_document_cannot_be_moved_out_of_the_keys_namespaces() {
    for (owner, vendor) in owner_and_vendor().await {
        // The namespace of a learning standard is not part of its key.
        let standard = json!({
            "learningStandardId": "1", "description": "Counts", "namespace": OURS,
            "courseTitle": "Mathematics",
            "academicSubjects": [
                {"academicSubjectDescriptor": uri("AcademicSubjectDescriptor", "Mathematics")}
            ],
            "contentStandard": {"title": "Numbers"},
            "gradeLevels": [{"gradeLevelDescriptor": uri("GradeLevelDescriptor", "Ninth grade")}],
        });
        let location = vendor.create("/ed-fi/learningStandards", &standard).await;

        let moved = with(standard, "namespace", THEIRS);
        vendor.put(&location, &moved).await.problem(403, MISMATCH);
        vendor.post("/ed-fi/learningStandards", &moved).await.problem(403, MISMATCH);

        assert_eq!(owner.get(&location).await.json()["namespace"], OURS);
    }
}

#[tokio::test]
async fn lists_and_counts_have_the_keys_namespaces_only() {
    for (owner, vendor) in owner_and_vendor().await {
        let path = "/ed-fi/assessments";
        let mut ours = vec![];
        for at in 0..6 {
            let namespace = if at % 2 == 0 { OURS } else { THEIRS };
            let location = owner.create(path, &assessment(namespace, &at.to_string())).await;
            if at % 2 == 0 {
                ours.push(location.rsplit('/').next().unwrap().to_owned());
            }
        }
        let theirs = owner.ids(&format!("{path}?assessmentIdentifier=1")).await;

        let all = vendor.get(&format!("{path}?totalCount=true")).await;
        assert_eq!((all.ids(), all.header("total-count")), (ours.clone(), "3"));
        let page = vendor.get(&format!("{path}?limit=1&offset=1&totalCount=true")).await;
        assert_eq!((page.ids(), page.header("total-count")), (vec![ours[1].clone()], "3"));
        let mut token = None;
        let mut walked = vec![];
        loop {
            let page = match token {
                Some(token) => format!("pageSize=2&pageToken={token}"),
                None => "limit=2".to_owned(),
            };
            let answer = vendor.get(&format!("{path}?{page}")).await;
            if answer.ids().is_empty() {
                break;
            }
            walked.extend(answer.ids());
            token = Some(answer.header("next-page-token").to_owned());
        }
        assert_eq!(walked, ours);
        for query in [
            format!("id={}", theirs[0]),
            "assessmentIdentifier=1".into(),
            format!("namespace={}", encoded(THEIRS)),
            format!("assessmentIdentifier=1&namespace={}", encoded(THEIRS)),
            format!("minChangeVersion=0&assessmentIdentifier=1&namespace={}", encoded(THEIRS)),
        ] {
            let answer = vendor.get(&format!("{path}?{query}&totalCount=true")).await;
            assert!(answer.ids().is_empty(), "{query}");
            assert_eq!(answer.header("total-count"), "0", "{query}");
        }
        assert_eq!(owner.ids(path).await.len(), 6);
    }
}

#[tokio::test]
async fn a_key_may_use_each_of_its_several_prefixes() {
    for owner in on_each_store().await {
        let vendor = owner.app.client_within("EdFiSandbox", &[OURS, THEIRS]).await;
        for namespace in [OURS, THEIRS] {
            vendor.create("/ed-fi/assessments", &assessment(namespace, "1")).await;
        }
        owner.create("/ed-fi/assessments", &assessment("uri://elsewhere", "1")).await;

        assert_eq!(vendor.ids("/ed-fi/assessments").await.len(), 2);
    }
}

#[tokio::test]
async fn a_prefix_is_not_a_pattern() {
    for owner in on_each_store().await {
        let vendor = owner.app.client_within("EdFiSandbox", &["uri://o%_s*", "uri://ü"]).await;
        for namespace in [OURS, "uri://o%_s*/x", "uri://oabs*/x", "uri://über", "uri://uber"] {
            owner.create("/ed-fi/assessments", &assessment(namespace, "1")).await;
        }

        let found = vendor.get("/ed-fi/assessments").await.json();

        let found: Vec<&str> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|assessment| assessment["namespace"].as_str().unwrap())
            .collect();
        assert_eq!(found, ["uri://o%_s*/x", "uri://über"]);
    }
}

#[tokio::test]
async fn anybody_may_read_descriptors_but_writing_them_needs_a_prefix() {
    for (owner, vendor) in owner_and_vendor().await {
        let path = "/ed-fi/gradeLevelDescriptors";
        let theirs = owner.create(path, &grade_level(THEIRS, "1")).await;

        let ours = vendor.create(path, &grade_level(OURS, "1")).await;
        let renamed = with(grade_level(OURS, "1"), "description", "First");
        assert_eq!(vendor.put(&ours, &renamed).await.status, 204);
        assert_eq!(vendor.post(path, &renamed).await.status, 200);
        vendor.post(path, &grade_level(THEIRS, "2")).await.problem(403, MISMATCH);
        vendor.post(path, &grade_level(THEIRS, "1")).await.problem(403, MISMATCH);
        vendor.put(&theirs, &grade_level(THEIRS, "1")).await.problem(403, MISMATCH);
        vendor.delete(&theirs).await.problem(403, MISMATCH);

        assert_eq!(vendor.get(&theirs).await.status, 200);
        assert_eq!(vendor.ids(path).await, owner.ids(path).await);
        assert_eq!(vendor.delete(&ours).await.status, 204);
    }
}

#[tokio::test]
async fn a_namespace_may_be_part_of_a_reference() {
    for (owner, vendor) in owner_and_vendor().await {
        for namespace in [OURS, THEIRS] {
            owner.create("/ed-fi/assessments", &assessment(namespace, "1")).await;
        }
        let item = |namespace: &str| {
            json!({
                "identificationCode": "q1",
                "assessmentReference": {"assessmentIdentifier": "1", "namespace": namespace},
            })
        };
        let path = "/ed-fi/assessmentItems";
        let theirs = owner.create(path, &item(THEIRS)).await;

        let ours = vendor.create(path, &item(OURS)).await;

        vendor.get(&theirs).await.problem(403, MISMATCH);
        vendor.post(path, &item(THEIRS)).await.problem(403, MISMATCH);
        vendor.delete(&theirs).await.problem(403, MISMATCH);
        let listed = vendor.get(&format!("{path}?totalCount=true")).await;
        assert_eq!((listed.ids().len(), listed.header("total-count")), (1, "1"));
        assert!(ours.ends_with(&listed.ids()[0]));
        assert_eq!(vendor.delete(&ours).await.status, 204);
    }
}

#[tokio::test]
async fn deletions_are_listed_only_for_the_keys_namespaces() {
    for (owner, vendor) in owner_and_vendor().await {
        let path = "/ed-fi/assessments";
        for namespace in [OURS, THEIRS] {
            let location = owner.create(path, &assessment(namespace, "1")).await;
            assert_eq!(owner.delete(&location).await.status, 204);
        }

        let deleted = vendor.get("/ed-fi/assessments/deletes").await.json();

        assert_eq!(deleted.as_array().unwrap().len(), 1, "{deleted}");
        assert_eq!(deleted[0]["keyValues"]["namespace"], OURS);
    }
}
