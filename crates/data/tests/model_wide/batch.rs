//! A batch of a sample of each resource, against one POST for each.

use http::Method;
use serde_json::{Value, json};

use crate::app::failures::Failures;
use crate::app::samples::{Extent, Sample, Samples};
use crate::app::world::{sample, send_all};
use crate::app::{Client, FULL_ACCESS, TestApp};

/// Lines of each batch.
const LINES: usize = 5_000;

#[tokio::test]
async fn a_batch_stores_the_same_documents_as_one_post_for_each() {
    let (posted, batched) = (TestApp::on_each_store().await, TestApp::on_each_store().await);
    for (posted, batched) in posted.into_iter().zip(batched) {
        let (posted, batched) =
            (posted.client(FULL_ACCESS).await, batched.client(FULL_ACCESS).await);
        let descriptors = Samples::descriptors(posted.app.model());
        let resources = posted.app.model().resources.iter();
        let chains: Vec<Vec<Sample>> = resources
            .map(|resource| sample(&posted.app, resource.id, Extent::Smallest, 1))
            .collect();
        let all: Vec<Sample> = descriptors.iter().chain(chains.iter().flatten()).cloned().collect();

        send_all(&posted, descriptors.into_iter().map(|sample| vec![sample]).collect()).await;
        send_all(&posted, chains).await;
        for samples in all.chunks(LINES) {
            send(&batched, samples).await;
        }

        let mut failures = Failures::of("a batch stores what posts store");
        for resource in &posted.app.model().resources {
            let path = format!("{}?limit=500", resource.path());
            let (one, other) = (stored(&posted, &path).await, stored(&batched, &path).await);
            let outcome = if one == other { Ok(()) } else { Err(format!("{one:?}\n{other:?}")) };
            failures.check(&resource.endpoint, outcome);
        }
        failures.assert_none(posted.app.resources());
    }
}

/// Sends samples as a batch; each must be created.
async fn send(client: &Client, samples: &[Sample]) {
    let lines = samples.iter().map(|sample| {
        let resource = client.app.model().resource(sample.resource).path();
        format!("{}\n", json!({"resource": resource, "document": sample.body}))
    });
    let body: String = lines.collect();
    let media = [("content-type", "application/x-ndjson")];

    let answer = client.send(Method::POST, "/data/v3/batch", &media, body).await;

    let lines: Vec<&str> = answer.text().lines().collect();
    assert_eq!(lines.len(), samples.len());
    for (at, line) in lines.into_iter().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["line"], &line["status"]), (&json!(at + 1), &json!(201)), "{line}");
    }
}

/// Returns the documents of a list without what differs between stores, in an order of their own.
async fn stored(client: &Client, path: &str) -> Vec<String> {
    let mut documents = client.get(path).await.json();
    let documents = documents.as_array_mut().unwrap();
    for document in documents.iter_mut() {
        let members = document.as_object_mut().unwrap();
        for name in ["id", "_etag", "_lastModifiedDate"] {
            members.remove(name);
        }
        without_links(document);
    }
    let mut texts: Vec<String> = documents.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    texts
}

/// Removes links, which contain ids.
fn without_links(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("link");
            members.values_mut().for_each(without_links);
        }
        Value::Array(items) => items.iter_mut().for_each(without_links),
        _ => {}
    }
}
