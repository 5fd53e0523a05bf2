//! Change versions: changed and deleted documents.

use serde_json::{Value, json};

use crate::app::documents::{descriptor, enrolment, on_each_store, school, student, with};

const PARAMETER: &str = "bad-request:parameter-validation-failed";

#[tokio::test]
async fn every_change_has_a_version_of_its_own() {
    for client in on_each_store().await {
        let before = client.newest().await;

        let location = client.create("/ed-fi/students", &student("1")).await;
        let created = client.newest().await;
        client.put(&location, &with(student("1"), "firstName", "Eve")).await;
        let changed = client.newest().await;
        client.delete(&location).await;
        let deleted = client.newest().await;

        assert_eq!([created, changed, deleted], [before + 1, before + 2, before + 3]);
        let versions = client.get("/changeQueries/v1/availableChangeVersions").await.json();
        assert_eq!(versions, json!({"oldestChangeVersion": 0, "newestChangeVersion": deleted}));
    }
}

#[tokio::test]
async fn a_refused_write_gets_no_version() {
    for client in on_each_store().await {
        client.create("/ed-fi/students", &student("1")).await;
        let before = client.newest().await;

        client
            .post("/ed-fi/students", &json!({}))
            .await
            .problem(400, "bad-request:data-validation-failed");
        let dangling = enrolment("1", 404, "2026-08-20");
        client
            .post("/ed-fi/studentSchoolAssociations", &dangling)
            .await
            .problem(409, "data-conflict:unresolved-reference");

        assert_eq!(client.newest().await, before);
    }
}

#[tokio::test]
async fn a_version_window_selects_documents_by_their_last_change() {
    for client in on_each_store().await {
        let start = client.newest().await;
        for id in ["1", "2", "3", "4"] {
            client.create("/ed-fi/students", &student(id)).await;
        }
        // The first document is changed last.
        client.post("/ed-fi/students", &with(student("1"), "firstName", "Eve")).await;
        let window = |min: Option<i64>, max: Option<i64>| {
            let min = min.map(|by| format!("&minChangeVersion={}", start + by)).unwrap_or_default();
            let max = max.map(|by| format!("&maxChangeVersion={}", start + by)).unwrap_or_default();
            format!("/ed-fi/students?totalCount=true{min}{max}")
        };
        for (min, max, expected) in [
            (None, None, vec!["1", "2", "3", "4"]),
            (Some(1), None, vec!["1", "2", "3", "4"]),
            (Some(2), Some(3), vec!["2", "3"]),
            (Some(3), Some(3), vec!["3"]),
            (None, Some(2), vec!["2"]),
            (Some(5), None, vec!["1"]),
            (Some(4), None, vec!["1", "4"]),
            (Some(6), None, vec![]),
            (Some(1), Some(1), vec![]),
        ] {
            let answer = client.get(&window(min, max)).await;
            let found = answer.json();
            let found: Vec<&str> = found
                .as_array()
                .unwrap()
                .iter()
                .map(|student| student["studentUniqueId"].as_str().unwrap())
                .collect();
            assert_eq!(found, expected, "{min:?} {max:?}");
            assert_eq!(answer.header("total-count"), expected.len().to_string());
        }
        let page = client.ids(&format!("{}&limit=1&offset=1", window(Some(4), None))).await;
        let fourth = client.ids("/ed-fi/students?studentUniqueId=4").await;
        assert_eq!(page, fourth, "still in order of creation");
        let filtered = client.ids(&format!("{}&firstName=Eve", window(Some(2), None))).await;
        assert_eq!(filtered.len(), 1);
    }
}

#[tokio::test]
async fn a_deletion_is_listed_with_the_key_values_of_its_document() {
    for client in on_each_store().await {
        client.create("/ed-fi/schools", &school(1)).await;
        client.create("/ed-fi/students", &student("1")).await;
        let path = "/ed-fi/studentSchoolAssociations";
        let location = client.create(path, &enrolment("1", 1, "2026-08-20")).await;

        client.delete(&location).await;

        let deletes = client.get(&format!("{path}/deletes?totalCount=true")).await;
        assert_eq!(
            deletes.json(),
            json!([{
                "id": location.rsplit('/').next().unwrap(),
                "changeVersion": client.newest().await,
                "keyValues": {"entryDate": "2026-08-20", "schoolId": 1, "studentUniqueId": "1"},
            }])
        );
        assert_eq!(deletes.header("total-count"), "1");
        assert_eq!(client.get("/ed-fi/students/deletes").await.json(), json!([]));
    }
}

#[tokio::test]
async fn a_deleted_descriptor_is_listed_with_namespace_and_code() {
    for client in on_each_store().await {
        let body = descriptor("TermDescriptor", "Winter");
        let location = client.create("/ed-fi/termDescriptors", &body).await;

        client.delete(&location).await;

        let deletes = client.get("/ed-fi/termDescriptors/deletes").await.json();
        assert_eq!(
            deletes[0]["keyValues"],
            json!({"namespace": body["namespace"], "codeValue": "Winter"})
        );
    }
}

#[tokio::test]
async fn a_document_created_again_is_not_listed_as_deleted() {
    for client in on_each_store().await {
        for _ in 0..2 {
            let location = client.create("/ed-fi/students", &student("1")).await;
            client.delete(&location).await;
        }
        assert_eq!(client.get("/ed-fi/students/deletes").await.json().as_array().unwrap().len(), 2);

        client.create("/ed-fi/students", &student("1")).await;

        let deletes = client.get("/ed-fi/students/deletes?totalCount=true").await;
        assert_eq!((deletes.json(), deletes.header("total-count")), (json!([]), "0"));
    }
}

#[tokio::test]
async fn deletions_can_be_paged_and_filtered_by_version() {
    for client in on_each_store().await {
        let mut versions = vec![];
        for id in 0..6 {
            let location = client.create("/ed-fi/students", &student(&id.to_string())).await;
            client.delete(&location).await;
            versions.push(client.newest().await);
        }
        let found = async |query: &str| -> Vec<i64> {
            let answer = client.get(&format!("/ed-fi/students/deletes?{query}")).await;
            let list = answer.json();
            let items: &Vec<Value> = list.as_array().unwrap();
            items.iter().map(|item| item["changeVersion"].as_i64().unwrap()).collect()
        };

        assert_eq!(found("").await, versions);
        assert_eq!(found("limit=2&offset=3").await, versions[3..5]);
        assert!(found("limit=0").await.is_empty());
        assert!(found("offset=6").await.is_empty());
        let (min, max) = (versions[1], versions[4]);
        let window = format!("minChangeVersion={min}&maxChangeVersion={max}");
        assert_eq!(found(&window).await, versions[1..=4]);
        assert_eq!(found(&format!("{window}&limit=1&offset=1")).await, versions[2..3]);
    }
}

#[tokio::test]
async fn key_changes_are_an_empty_list() {
    for client in on_each_store().await {
        let answer = client.get("/ed-fi/sections/keyChanges?totalCount=true").await;

        assert_eq!((answer.json(), answer.header("total-count")), (json!([]), "0"));
    }
}

#[tokio::test]
async fn lists_of_changes_are_paged_by_offset_only() {
    for client in on_each_store().await {
        for path in ["/ed-fi/students/deletes", "/ed-fi/students/keyChanges"] {
            for query in ["pageToken=AQAAAAAAAAAA", "limit=501", "offset=x", "minChangeVersion=-1"]
            {
                client.get(&format!("{path}?{query}")).await.problem(400, PARAMETER);
            }
        }
    }
}

#[tokio::test]
async fn changes_of_enumerations_are_not_tracked() {
    for client in on_each_store().await {
        for path in ["/ed-fi/schoolYearTypes/deletes", "/ed-fi/schoolYearTypes/keyChanges"] {
            client.get(path).await.problem(404, "not-found");
        }
    }
}
