//! Measures a trusted load against the bulk service, with the same files and new stores:
//! `cargo run --release -p homeroom-bulk-api --example service FOLDER`, where the folder has
//! interchanges, such as those of `homeroom generate --format xml`.
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use homeroom_bulk::{LoadOptions, load};
use homeroom_bulk_api::kind;
use homeroom_jobs::{Runner, Times};
use homeroom_testkit::{Client, FULL_ACCESS, TestApp};
use http::Method;
use serde_json::{Value, json};

const OPERATIONS: &str = "/api/v2.0/2026/bulkOperations";
/// Bytes of a chunk.
const CHUNK_BYTES: usize = 64 << 20;

/// Loads a folder as `homeroom load` does; returns the documents and the seconds.
fn trusted(app: &TestApp, folder: &Path) -> (u64, f64) {
    let options = LoadOptions { paths: vec![folder.to_owned()], ..LoadOptions::default() };
    let begun = Instant::now();
    let summary = load(&app.data.documents(), &options, &mut |_| {}, &|| false);
    let summary = summary.expect("the folder can be loaded");
    assert_eq!(summary.rejected, 0);
    (summary.loaded + summary.unchanged, begun.elapsed().as_secs_f64())
}

/// Uploads the same files and waits; returns the documents, and the seconds from the last commit.
async fn service(client: &Client, files: &[PathBuf]) -> (u64, f64) {
    let texts: Vec<Vec<u8>> =
        files.iter().map(|file| std::fs::read(file).expect("it can be read")).collect();
    let entries: Vec<Value> = files
        .iter()
        .zip(&texts)
        .map(|(file, text)| {
            let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            json!({ "format": "text/xml", "interchangeType": name, "size": text.len() })
        })
        .collect();
    let operation = client.post(OPERATIONS, &json!({ "uploadFiles": entries })).await.json();
    let mut begun = Instant::now();
    for (file, text) in operation["uploadFiles"].as_array().expect("files").iter().zip(texts) {
        let id = file["id"].as_str().expect("an id").to_owned();
        for (at, chunk) in text.chunks(CHUNK_BYTES).enumerate() {
            let (offset, size) = (at * CHUNK_BYTES, chunk.len());
            let path = format!("/api/v2.0/2026/uploads/{id}/chunk?offset={offset}&size={size}");
            let media = [("content-type", "application/octet-stream")];
            let answer = client.send(Method::POST, &path, &media, chunk.to_vec()).await;
            assert_eq!(answer.status, 201, "{answer:?}");
        }
        begun = Instant::now();
        client.send(Method::POST, &format!("/api/v2.0/2026/uploads/{id}/commit"), &[], "").await;
    }
    let path = format!("{OPERATIONS}/{}", operation["id"].as_str().expect("an id"));
    loop {
        let now = client.get(&path).await.json();
        if ["Completed", "Error"].contains(&now["status"].as_str().unwrap_or_default()) {
            let count = |name: &str| now["summary"][name].as_u64().unwrap_or_default();
            assert_eq!(count("rejected"), 0, "{now}");
            return (count("loaded") + count("unchanged"), begun.elapsed().as_secs_f64());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::main]
async fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder with interchanges"));
    let entries = std::fs::read_dir(&folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "xml"));
    files.sort();
    let (one, other) = (TestApp::on_each_store().await, TestApp::on_each_store().await);
    for (one, other) in one.into_iter().zip(other) {
        let name = one.to_string();
        let of = folder.clone();
        let ran = tokio::task::spawn_blocking(move || trusted(&one, &of)).await;
        let (documents, trusted_s) = ran.expect("a load does not panic");
        let client = other.client(FULL_ACCESS).await;
        let _runner =
            Runner::start(&other.bulk.jobs, vec![kind(&other.bulk, |_| ())], Times::default());
        let (again, service_s) = service(&client, &files).await;
        assert_eq!(documents, again);
        #[expect(clippy::cast_precision_loss, reason = "rates for people")]
        let rate = |seconds: f64| documents as f64 / seconds;
        println!(
            "{name}: {documents} documents, trusted {:.0}/s, service {:.0}/s, {:.0} %",
            rate(trusted_s),
            rate(service_s),
            100.0 * trusted_s / service_s
        );
    }
}
