//! The same documents in each format give the same store.

use std::collections::BTreeMap;
use std::path::Path;

use homeroom_bulk::{Summary, load_documents};
use homeroom_district::{DistrictPlan, Format, documents, write};
use homeroom_document::Documents;
use homeroom_export::{ExportOptions, export};
use homeroom_store::{ChangedAt, SnapshotOptions, Sql};
use homeroom_testkit::edges;
use proptest::prelude::*;

use crate::support::{Folder, load_all, target};

/// Returns all documents by kind and key, and all edges between their keys; ids, versions and times
/// are left out.
fn contents(target: &Documents) -> BTreeMap<String, Vec<Vec<homeroom_store::Value>>> {
    let all = [
        "SELECT kind, key, body FROM doc ORDER BY kind, key",
        "SELECT doc.key, alias.key FROM alias JOIN doc ON doc.id = alias.id ORDER BY 1, 2",
        "SELECT label, count(*) FROM tie GROUP BY label ORDER BY label",
    ];
    let rows = |sql: &'static str| target.store.query_blocking(Sql::new(sql, vec![])).unwrap();
    let edges = edges(&target.store).unwrap().into_iter();
    let edges = edges.map(|keys| keys.map(|key| key.0.to_vec().into()).into()).collect();
    let tables = all.iter().map(|sql| ((*sql).to_owned(), rows(sql)));
    tables.chain([("edges".to_owned(), edges)]).collect()
}

fn exported(target: &Documents, folder: &Path, compress: bool) {
    let snapshot = target.store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
    let options = ExportOptions {
        compress,
        ..ExportOptions::into_folder(homeroom_export::Format::Csv, folder.to_owned())
    };
    let model = &target.catalog.model;
    export(model, &snapshot, &options, ChangedAt(0), &|| false, &mut |_| {}).unwrap();
}

/// Packs a folder.
fn zipped(folder: &Path, to: &Path) {
    let mut out = zip::ZipWriter::new(std::fs::File::create(to).unwrap());
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            out.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::copy(&mut std::fs::File::open(&path).unwrap(), &mut out).unwrap();
        }
    }
    out.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]
    #[test]
    fn xml_json_lines_exported_csv_and_one_document_at_a_time_give_the_same_store(
        seed in 0_u64..1_000,
        students in 1_usize..25,
    ) {
        let plan = DistrictPlan::new(students, seed, 2026).unwrap();
        let folder = Folder::new();
        let one = target();
        let summary = load_documents(&one, documents(&plan).map(|d| (d.resource, d.json))).unwrap();
        prop_assert_eq!(summary.rejected, 0);
        let expected = contents(&one);
        for (format, name) in [(Format::Xml, "xml"), (Format::Jsonl, "jsonl")] {
            write(&plan, None, &one.catalog.model, &folder.path().join(name), &[format]).unwrap();
        }
        exported(&one, &folder.path().join("csv"), seed % 2 == 0);

        zipped(&folder.path().join("csv"), &folder.path().join("csv.zip"));

        for name in ["xml", "jsonl", "csv", "csv/manifest.json", "csv.zip"] {
            let other = target();
            let (summary, rejects) = load_all(&other, &[&folder.path().join(name)]);
            prop_assert!(rejects.is_empty(), "{}: {:?}", name, rejects);
            prop_assert!(contents(&other) == expected, "{}: {:?}", name, Summary { ..summary });
        }
    }
}
