//! Blobs are written beside documents and other parts.

use std::time::Duration;

use homeroom_store::{ChangedAt, Lane};
use homeroom_testkit::trial::hold;

use crate::support::on_each;

#[tokio::test]
async fn a_blob_waits_for_neither_documents_nor_other_lanes() {
    for trial in on_each() {
        let others = ["bulk", "course", "job"].map(|name| Some(Lane::new(name)));
        let held = hold(&trial.store, &[&[None], &others[..]].concat());

        let written = async {
            let blob = trial.kept(b"abc").await;
            trial.blobs.remove(blob.id, ChangedAt::now()).await.unwrap();
            trial.blobs.find(blob.id).await.unwrap()
        };
        let found = tokio::time::timeout(Duration::from_secs(4), written).await;

        assert!(found.is_ok_and(|found| found.is_none()), "{}", trial.name);
        drop(held);
    }
}
