//! A server whose database was migrated by a newer version of Homeroom.

use homeroom_store::{Answer, Decision, Plan, Sql, StoreUrl, Write};
use http::Method;
use serde_json::json;

use crate::app::documents::{on_each_store, student, with};

#[tokio::test]
async fn writes_to_a_database_migrated_by_a_newer_homeroom_get_503_with_the_reason() {
    let mut tested = 0;
    for client in on_each_store().await {
        let store = &client.app.data.store;
        if matches!(store.url(), StoreUrl::Sqlite(_)) {
            // Only one process can open the file, so no other process migrates it.
            continue;
        }
        let path = client.create("/ed-fi/students", &student("1")).await;
        let migrated = "UPDATE homeroom_store SET version = version + 1";
        let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
            Decision::Write(vec![Write::Sql(Sql::new(migrated, vec![]))], ())
        };
        store.run(Plan { ask: vec![], decide }).await.unwrap();
        let before = client.newest().await;

        for (method, to, body) in [
            (Method::POST, "/ed-fi/students", student("2")),
            (Method::PUT, &*path, with(student("1"), "firstName", "Other")),
            (Method::DELETE, &*path, json!(null)),
        ] {
            let answer = client.send(method.clone(), to, &[], body.to_string()).await;

            let problem = answer.problem(503, "service-unavailable");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("newer Homeroom"), "{method}: {detail}");
        }
        assert_eq!(client.newest().await, before);
        assert_eq!(client.get(&path).await.status, 200, "it is read on");
        tested += 1;
    }
    if tested == 0 {
        println!("{}", homeroom_testkit::trial::SKIPPED);
    }
}
