//! Measures `POST /data/v3/batch`: `cargo run --release -p homeroom-data --example batch [BATCHES]`.
//! Batches of 10,000 new students each go through the front door of a server in this process, two at
//! a time, into a new store in a file.
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::time::Instant;

use homeroom_data::BATCH_LINES_MAX;
use homeroom_testkit::{Client, FULL_ACCESS, TestApp, documents};
use http::Method;
use serde_json::json;

/// Batches that are sent at the same time.
const SIDE_BY_SIDE: usize = 2;

/// Sends a batch of students with numbers from `first` on.
async fn send(client: &Client, first: usize) {
    let mut body = String::new();
    for number in first..first + BATCH_LINES_MAX {
        let document = documents::student(&number.to_string());
        body += &json!({ "resource": "ed-fi/students", "document": document }).to_string();
        body.push('\n');
    }
    let media = [("content-type", "application/x-ndjson")];
    let answer = client.send(Method::POST, "/data/v3/batch", &media, body).await;
    let created = answer.text().lines().filter(|line| line.contains("\"status\":201")).count();
    assert_eq!(created, BATCH_LINES_MAX);
}

#[tokio::main]
async fn main() {
    let batches: usize = std::env::args().nth(1).map_or(20, |text| text.parse().expect("a number"));
    for app in TestApp::on_each_store().await {
        let client = app.client(FULL_ACCESS).await;
        let begun = Instant::now();
        let senders: Vec<_> = (0..SIDE_BY_SIDE)
            .map(|sender| {
                let client = client.clone();
                tokio::spawn(async move {
                    for batch in (sender..batches).step_by(SIDE_BY_SIDE) {
                        send(&client, batch * BATCH_LINES_MAX).await;
                    }
                })
            })
            .collect();
        for sender in senders {
            sender.await.expect("a sender does not panic");
        }
        let (documents, seconds) = (batches * BATCH_LINES_MAX, begun.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = documents as f64 / seconds;
        println!("{app}: {documents} documents in {seconds:.2} s, {rate:.0} documents/s");
    }
}
