//! Seeds of a new store.

use homeroom_document::{SeedError, seed};
use homeroom_store::ChangedAt;
use serde_json::json;

use crate::app::TestApp;
use crate::app::documents::{enrolment, on_each_store, student, with};

/// Seeds the store with lines.
async fn sow(app: &TestApp, lines: &[String]) -> Result<(), SeedError> {
    let (data, text) = (app.data.clone(), lines.join("\n"));
    let sown = tokio::task::spawn_blocking(move || {
        seed(&data.catalog, &data.store, &text, ChangedAt::now())
    });
    sown.await.unwrap().map(drop)
}

fn line(endpoint: &str, document: &serde_json::Value) -> String {
    json!({"resource": format!("ed-fi/{endpoint}"), "document": document}).to_string()
}

#[tokio::test]
async fn seeding_leaves_an_existing_document_unchanged() {
    for client in on_each_store().await {
        let location = client.create("/ed-fi/students", &student("1")).await;
        let other = with(student("1"), "firstName", "Eve");

        sow(&client.app, &[line("students", &other), line("students", &student("2"))])
            .await
            .unwrap();

        assert_eq!(client.get(&location).await.json()["firstName"], "Ada");
        assert_eq!(client.ids("/ed-fi/students").await.len(), 2);
    }
}

#[tokio::test]
async fn a_seed_line_that_cannot_be_stored_is_reported() {
    for client in on_each_store().await {
        for bad in [
            "no json".to_owned(),
            "[]".into(),
            "{}".into(),
            line("pupils", &student("1")),
            line("students", &json!({"studentUniqueId": "1"})),
            line("studentSchoolAssociations", &enrolment("1", 404, "2026-08-20")),
        ] {
            let outcome = sow(&client.app, &[line("students", &student("1")), bad.clone()]).await;

            let Err(SeedError::Line { line, message }) = outcome else {
                panic!("{bad}: {outcome:?}")
            };
            assert_eq!(line, 2, "{bad}: {message}");
        }
    }
}
