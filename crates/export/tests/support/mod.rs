//! Shared helpers for the tests of reports.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use homeroom_district::{DistrictPlan, SCHOOL_YEAR_DEFAULT, documents};
use homeroom_document::{Catalog, Documents, seed};
use homeroom_export::table::postgres_name;
use homeroom_export::views::Dialect;
use homeroom_export::{ExportError, ExportOptions, Format, Manifest, export};
use homeroom_model::{EXTENSIONS_SHIPPED, Model, format, link, shipped};
use homeroom_store::{ChangedAt, SnapshotOptions, Sql, Store};
pub use homeroom_testkit::Folder;
use homeroom_testkit::trial;

const SEED: &str = include_str!("../../../../models/ed-fi/5.2.0/seed.jsonl");

/// Returns the shipped model with its extensions.
pub fn model() -> Arc<Model> {
    let core = shipped("5.2.0").unwrap();
    let extensions = EXTENSIONS_SHIPPED.iter().filter(|(_, of, _)| *of == "5.2.0");
    let texts = std::iter::once(core).chain(extensions.map(|(.., text)| *text));
    let sources: Vec<_> = texts.map(|text| format::read(text).unwrap()).collect();
    Arc::new(link(&sources).unwrap())
}

/// Makes an empty, seeded store of the shipped model, on the database under test.
pub fn target() -> Documents {
    let store = trial::on_one(&[]).unwrap();
    let catalog = Arc::new(Catalog::bind(model(), &store).unwrap());
    seed(&catalog, &store, SEED, ChangedAt(1_795_250_901_000_000)).unwrap();
    Documents { catalog, store }
}

/// Makes a store with a generated district.
pub fn district(students: usize) -> Documents {
    let target = target();
    let plan = DistrictPlan::new(students, 1, SCHOOL_YEAR_DEFAULT).unwrap();
    let generated = documents(&plan).map(|document| (document.resource, document.json));
    let summary = homeroom_bulk::load_documents(&target, generated).unwrap();
    assert!(summary.is_clean(), "{summary:?}");
    target
}

/// Returns the options of a full export to a folder.
pub fn options(format: Format, folder: &Folder) -> ExportOptions {
    ExportOptions::into_folder(format, folder.path().to_owned())
}

/// Runs an export that is never stopped.
pub fn run(data: &Documents, options: &ExportOptions) -> Result<Manifest, ExportError> {
    let snapshot = data.store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
    export(&data.catalog.model, &snapshot, options, ChangedAt(0), &|| false, &mut |_| {})
}

/// Returns the name of a table's view in a store.
pub fn qualified(store: &Store, schema: &str, table: &str) -> String {
    match Dialect::of(store.url()) {
        Dialect::Sqlite => format!("{schema}_{table}"),
        Dialect::Postgres => {
            let text = "SELECT CAST(current_schema() AS text)";
            let rows = store.query_blocking(Sql::new(text, vec![])).unwrap();
            format!("{}_{schema}.{}", rows[0][0].as_text().unwrap(), postgres_name(table))
        }
    }
}
