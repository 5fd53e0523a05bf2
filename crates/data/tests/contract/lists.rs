//! Lists: paging by limit and offset, filters, counts.

use serde_json::{Value, json};

use crate::app::answer::violated;
use crate::app::documents::{enrolment, on_each_store, school, student, uri, with};
use crate::app::{Client, encoded};

const PARAMETER: &str = "bad-request:parameter-validation-failed";

/// Creates students with these ids; returns the ids of their documents.
async fn students(client: &Client, ids: impl IntoIterator<Item = u32>) -> Vec<String> {
    let mut created = vec![];
    for id in ids {
        let location = client.create("/ed-fi/students", &student(&id.to_string())).await;
        created.push(location.rsplit('/').next().unwrap().to_owned());
    }
    created
}

#[tokio::test]
async fn a_list_comes_in_order_of_creation() {
    for client in on_each_store().await {
        let created = students(&client, [5, 3, 9, 1]).await;

        // An update does not move a document in the list.
        client.post("/ed-fi/students", &with(student("3"), "firstName", "Eve")).await;

        assert_eq!(client.ids("/ed-fi/students").await, created);
    }
}

#[tokio::test]
async fn an_empty_list_is_an_empty_array() {
    for client in on_each_store().await {
        let answer = client.get("/ed-fi/students?totalCount=true").await;

        assert_eq!((answer.status, &answer.body[..]), (200, &b"[]"[..]));
        assert_eq!(answer.header("total-count"), "0");
        assert!(answer.headers.get("next-page-token").is_none());
    }
}

#[tokio::test]
async fn limit_and_offset_cut_a_page() {
    for client in on_each_store().await {
        let created = students(&client, 0..10).await;

        for offset in 0..12 {
            for limit in 0..12 {
                let path = format!("/ed-fi/students?offset={offset}&limit={limit}&totalCount=true");
                let answer = client.get(&path).await;
                let expected: Vec<&String> = created.iter().skip(offset).take(limit).collect();
                assert_eq!(answer.ids().iter().collect::<Vec<_>>(), expected, "{path}");
                assert_eq!(answer.header("total-count"), "10");
            }
        }
        assert!(client.get("/ed-fi/students").await.headers.get("total-count").is_none());
        let largest = i64::MAX;
        assert!(client.ids(&format!("/ed-fi/students?offset={largest}")).await.is_empty());
    }
}

#[tokio::test]
async fn a_deleted_document_leaves_no_gap_in_offsets() {
    for client in on_each_store().await {
        let mut created = students(&client, 0..8).await;
        for at in [6, 3, 0] {
            let id = created.remove(at);
            assert_eq!(client.delete(&format!("/ed-fi/students/{id}")).await.status, 204);
        }

        for offset in 0..6 {
            let path = format!("/ed-fi/students?offset={offset}&limit=2");
            let expected: Vec<String> = created.iter().skip(offset).take(2).cloned().collect();
            assert_eq!(client.ids(&path).await, expected, "{path}");
        }
    }
}

#[tokio::test]
async fn a_page_has_at_most_500_documents() {
    for client in on_each_store().await {
        let lines = (0..501).map(|id| {
            json!({"resource": "ed-fi/students", "document": student(&id.to_string())}).to_string()
        });
        client.app.seed(&lines.collect::<Vec<_>>().join("\n")).await;

        assert_eq!(client.ids("/ed-fi/students").await.len(), 500);
        assert_eq!(client.ids("/ed-fi/students?limit=500").await.len(), 500);
        assert_eq!(client.ids("/ed-fi/students?limit=500&offset=500").await.len(), 1);
    }
}

#[tokio::test]
async fn each_invalid_paging_parameter_is_reported() {
    for client in on_each_store().await {
        for (query, errors) in [
            ("limit=501", 1),
            ("limit=-1", 1),
            ("limit=ten", 1),
            ("limit=", 1),
            ("limit=1.5", 1),
            ("pageSize=501", 2),
            ("pageSize=5", 1),
            ("pageSize=5&offset=1", 1),
            ("offset=-1", 1),
            ("offset=9223372036854775808", 1),
            ("totalCount=yes", 1),
            ("minChangeVersion=x", 1),
            ("maxChangeVersion=-5", 1),
            ("minChangeVersion=5&maxChangeVersion=4", 1),
            ("pageToken=x", 1),
            ("limit=x&offset=x&totalCount=x&minChangeVersion=x", 4),
        ] {
            let problem = client.get(&format!("/ed-fi/students?{query}")).await;

            let problem = problem.problem(400, PARAMETER);
            assert_eq!(problem["errors"].as_array().unwrap().len(), errors, "{query}: {problem}");
        }
    }
}

#[tokio::test]
async fn each_filter_value_of_the_wrong_type_is_reported() {
    for client in on_each_store().await {
        let query = "/ed-fi/studentSchoolAssociations?schoolId=x&entryDate=soon&primarySchool=perhaps\
                     &id=5";

        let problem = client.get(query).await.problem(400, "bad-request:data-validation-failed");

        assert_eq!(violated(&problem), ["$.entryDate", "$.id", "$.primarySchool", "$.schoolId"]);
        assert!(problem.get("errors").is_none(), "{problem}");
    }
}

#[tokio::test]
async fn an_invalid_descriptor_filter_matches_nothing_and_an_empty_one_is_ignored() {
    for client in on_each_store().await {
        let created = students(&client, [1]).await;

        let bare = client.ids("/ed-fi/students?birthSexDescriptor=Male").await;
        let empty = client.ids("/ed-fi/students?birthSexDescriptor=&birthDate=&id=").await;

        assert!(bare.is_empty());
        assert_eq!(empty, created);
    }
}

#[tokio::test]
async fn several_filters_must_all_be_met() {
    for client in on_each_store().await {
        for id in [1, 2] {
            client.create("/ed-fi/schools", &school(id)).await;
        }
        let tenth = uri("GradeLevelDescriptor", "Tenth grade");
        for (pupil, at, day) in
            [("1", 1, "2026-08-20"), ("2", 1, "2026-08-21"), ("2", 2, "2026-08-20")]
        {
            client.post("/ed-fi/students", &student(pupil)).await;
            let mut body = enrolment(pupil, at, day);
            if pupil == "2" {
                body["entryGradeLevelDescriptor"] = tenth.clone().into();
            }
            client.create("/ed-fi/studentSchoolAssociations", &body).await;
        }
        let tenth = encoded(&tenth);
        let ninth = encoded(&uri("GradeLevelDescriptor", "NINTH grade"));
        for (query, expected) in [
            ("schoolId=1".to_owned(), 2),
            ("schoolId=1&studentUniqueId=2".into(), 1),
            ("schoolId=2&studentUniqueId=1".into(), 0),
            ("entryDate=2026-08-20".into(), 2),
            ("entryDate=8/20/2026&schoolId=1".into(), 1),
            (format!("entryGradeLevelDescriptor={tenth}"), 2),
            (format!("entryGradeLevelDescriptor={tenth}&schoolId=2"), 1),
            (format!("entryGradeLevelDescriptor={ninth}&schoolId=2"), 0),
            ("schoolId=1&studentUniqueId=2&entryDate=2026-08-21".into(), 1),
            ("schoolId=1&studentUniqueId=2&entryDate=2026-08-20".into(), 0),
            ("schoolId=3".into(), 0),
            ("schoolId=99999999999".into(), 0),
            ("entryGradeLevelDescriptor=uri://x%23y".into(), 0),
            (format!("schoolId=1&entryGradeLevelDescriptor={tenth}&entryDate=2026-08-21"), 1),
        ] {
            let path = format!("/ed-fi/studentSchoolAssociations?{query}&totalCount=true");
            let answer = client.get(&path).await;
            assert_eq!(answer.ids().len(), expected, "{query}");
            assert_eq!(answer.header("total-count"), expected.to_string(), "{query}");
            let page = client.ids(&format!("{path}&limit=1&offset=1")).await;
            assert_eq!(page.len(), expected.saturating_sub(1).min(1), "{query}");
        }
    }
}

#[tokio::test]
async fn a_list_can_be_filtered_by_id() {
    for client in on_each_store().await {
        let created = students(&client, [1, 2]).await;

        let path = format!("/ed-fi/students?id={}", created[1]);
        assert_eq!(client.ids(&path).await, created[1..]);
        assert!(client.ids(&format!("{path}&studentUniqueId=1")).await.is_empty());
        assert!(client.ids(&format!("/ed-fi/staffs?id={}", created[1])).await.is_empty());
    }
}

#[tokio::test]
async fn an_item_of_a_list_equals_the_document_from_get() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/schools", &school(1)).await;

        let listed: Value = client.get("/ed-fi/schools?schoolId=1").await.json();

        assert_eq!(listed, json!([client.get(&location).await.json()]));
    }
}

#[tokio::test]
async fn a_query_that_cannot_be_decoded_is_refused() {
    for client in on_each_store().await {
        client.get("/ed-fi/students?firstName=%ff").await.problem(400, PARAMETER);
        let many = "a=1&".repeat(201);
        client.get(&format!("/ed-fi/students?{many}")).await.problem(400, PARAMETER);
    }
}
