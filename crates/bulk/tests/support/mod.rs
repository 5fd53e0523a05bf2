//! Shared helpers for the tests of loading.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::Path;
use std::sync::Arc;

use homeroom_bulk::{LoadOptions, Summary, load};
use homeroom_document::{Catalog, Documents, seed};
use homeroom_model::{format, link, shipped, shipped_extension};
use homeroom_store::{ChangedAt, Sql};
pub use homeroom_testkit::Folder;
use homeroom_testkit::trial;
use serde_json::Value;

pub const SEED: &str = include_str!("../../../../models/ed-fi/5.2.0/seed.jsonl");

/// Makes an empty, seeded store of the shipped model.
pub fn target() -> Documents {
    target_with(&[])
}

/// Makes the same with shipped extensions.
pub fn target_with(extensions: &[&str]) -> Documents {
    let core = [shipped("5.2.0").unwrap()].into_iter();
    let extensions = extensions.iter().map(|name| shipped_extension(name, "5.2.0").unwrap());
    let sources: Vec<_> = core.chain(extensions).map(|t| format::read(t).unwrap()).collect();
    let model = link(&sources).unwrap();
    let store = trial::on_one(&[]).unwrap();
    let catalog = Arc::new(Catalog::bind(Arc::new(model), &store).unwrap());
    seed(&catalog, &store, SEED, ChangedAt(1_795_250_901_000_000)).unwrap();
    Documents { catalog, store }
}

/// Loads paths; returns the summary and every reject.
pub fn load_all(target: &Documents, paths: &[&Path]) -> (Summary, Vec<Value>) {
    load_with(
        target,
        LoadOptions {
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            ..LoadOptions::default()
        },
    )
}

/// Does the same as [`load_all`] with further options; results go to a file of their own.
pub fn load_with(target: &Documents, options: LoadOptions) -> (Summary, Vec<Value>) {
    let folder = Folder::new();
    let results = folder.path().join("results.jsonl");
    let options = LoadOptions { results: Some(results), ..options };

    let summary = load(target, &options, &mut |_| {}, &|| false).unwrap();

    let text = folder.read("results.jsonl");
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.pop().unwrap();
    assert_eq!(last, serde_json::json!({ "summary": summary }));
    let (repeated, lines): (Vec<Value>, Vec<Value>) =
        lines.into_iter().partition(|line| line["repeats"].is_object());
    assert_eq!(repeated.len() as u64, summary.repeated);
    (summary, lines)
}

/// Returns the stored documents of a resource, in order of creation.
pub fn stored(target: &Documents, endpoint: &str) -> Vec<Value> {
    let (schema, endpoint) = endpoint.split_once('/').unwrap_or(("ed-fi", endpoint));
    let resource = target.catalog.model.by_endpoint(schema, endpoint).unwrap();
    let kind = i64::from(target.catalog.kind(resource.id).0);
    let rows = target
        .store
        .query_blocking(Sql::new(
            "SELECT body FROM doc WHERE kind = ?1 ORDER BY id",
            vec![kind.into()],
        ))
        .unwrap();
    rows.iter().map(|row| serde_json::from_str(row[0].as_text().unwrap()).unwrap()).collect()
}
