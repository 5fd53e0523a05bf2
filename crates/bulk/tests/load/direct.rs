//! Direct loads leave what other loads leave.

use std::path::Path;
use std::sync::Arc;

use homeroom_bulk::{LoadError, LoadOptions, Summary, load, prepare};
use homeroom_document::{Catalog, Documents, seed, seeded};
use homeroom_model::{Model, format, link, shipped};
use homeroom_store::{ChangedAt, Options, Sql, Store, StoreUrl};

use crate::support::{Folder, SEED};
use crate::{descriptors, enrolment, interchange, lines, location, school, standard, student};

fn model() -> Arc<Model> {
    Arc::new(link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap())
}

/// Makes a store in a file with the seed of a new store.
fn made(path: &Path) -> (Options, Documents) {
    let options = Options::for_file(path);
    let store = Store::open(&options).unwrap();
    let catalog = Arc::new(Catalog::bind(model(), &store).unwrap());
    seed(&catalog, &store, SEED, ChangedAt(1_795_250_901_000_000)).unwrap();
    (options, Documents { catalog, store })
}

fn directly((options, target): &(Options, Documents), paths: &Path) -> Result<Summary, LoadError> {
    target.store.close();
    let seeded = seeded(&target.catalog.model, SEED);
    let load = LoadOptions { paths: vec![paths.to_owned()], ..LoadOptions::default() };
    let prepared = prepare(&target.catalog.model, &load)?;
    prepared.load_directly(&target.catalog, (options, &seeded), &mut |_| {}, &|| false)
}

/// Returns everything in a store, apart from public ids and times.
fn contents(path: &Path) -> Vec<Vec<Vec<homeroom_store::Value>>> {
    let store = Store::open(&Options::for_file(path)).unwrap();
    let all = [
        "SELECT id, kind, key, cv, body FROM doc ORDER BY id",
        "SELECT id, key FROM alias ORDER BY id",
        "SELECT target, kind, source FROM ref ORDER BY target, kind, source",
        "SELECT label, item, holder, via FROM tie ORDER BY label, item, holder, via",
        "SELECT kind, block, n FROM tally ORDER BY kind, block",
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name",
    ];
    let rows = all.map(|sql| store.query_blocking(Sql::new(sql, vec![])).unwrap()).into();
    store.close();
    rows
}

#[test]
fn a_direct_load_leaves_the_same_documents_edges_and_ties() {
    let folder = Folder::new();
    folder.write("in/a.xml", descriptors());
    let schools = school(7, "first") + &school(8, "other") + &location(9, "no school");
    folder.write("in/b.xml", interchange("EducationOrganization", &(schools + &location(7, "C"))));
    folder.write("in/c.xml", interchange("Student", &(student("1") + &student("2"))));
    folder
        .write("in/studentSchoolAssociations.jsonl", lines([enrolment("1", 7), enrolment("2", 8)]));
    let chain = (0..50).map(|n| standard(&n.to_string(), Some(&(n + 1).to_string())));
    folder.write("in/learningStandards.jsonl", lines(chain.chain([standard("50", None)])));
    // Lookups are answered in the middle of a load.
    let by_name = location(8, "L").replace(
        "<SchoolIdentity><SchoolId>8</SchoolId></SchoolIdentity>",
        "<SchoolLookup><NameOfInstitution>other</NameOfInstitution></SchoolLookup>",
    );
    folder.write("in/d.xml", interchange("EducationOrganization", &by_name));
    let input = folder.path().join("in");
    for repeats in [false, true] {
        if repeats {
            let again = school(7, "last") + &school(7, "last");
            folder.write("in/e.xml", interchange("EducationOrganization", &again));
        }
        let paths =
            ["plain", "direct"].map(|name| folder.path().join(format!("{name}-{repeats}.db")));
        let (_, plain) = made(&paths[0]);
        let options = LoadOptions { paths: vec![input.clone()], ..LoadOptions::default() };
        let usual = load(&plain, &options, &mut |_| {}, &|| false).unwrap();
        plain.store.close();

        let direct = directly(&made(&paths[1]), &input).unwrap();

        assert_eq!(Summary { seconds: 0.0, ..direct }, Summary { seconds: 0.0, ..usual });
        assert!(contents(&paths[0]) == contents(&paths[1]), "{repeats}");
        let health = Store::check(&StoreUrl::Sqlite(paths[1].clone())).unwrap();
        assert_eq!(health.problems, [""; 0]);
    }
}

#[test]
fn a_direct_load_refuses_a_store_with_documents() {
    let folder = Folder::new();
    folder.write("in/a.xml", descriptors());
    let input = folder.path().join("in");
    let path = folder.path().join("homeroom.db");
    directly(&made(&path), &input).unwrap();

    let (options, target) = made(&path);
    let twice = directly(&(options, target), &input).unwrap_err();

    assert!(
        matches!(&twice, LoadError::NotDirect(message) if message.contains("empty")),
        "{twice}"
    );
}
