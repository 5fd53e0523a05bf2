//! What a load brought is taken back by the same files.

use std::collections::BTreeMap;

use homeroom_bulk::LoadOptions;
use homeroom_document::Documents;
use homeroom_store::Sql;
use homeroom_testkit::edges;
use serde_json::json;

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{descriptors, enrolment, interchange, lines, location, school, standard, student};

fn counts(target: &Documents) -> BTreeMap<&'static str, Vec<Vec<homeroom_store::Value>>> {
    let all = [
        "SELECT kind, count(*) FROM doc GROUP BY kind ORDER BY kind",
        "SELECT count(*) FROM alias",
        "SELECT label, count(*) FROM tie GROUP BY label ORDER BY label",
    ];
    let rows = |sql| target.store.query_blocking(Sql::new(sql, vec![])).unwrap();
    let edges = i64::try_from(edges(&target.store).unwrap().len()).unwrap();
    let tables = all.into_iter().map(|sql| (sql, rows(sql)));
    tables.chain([("edges", vec![vec![edges.into()]])]).collect()
}

fn back(folder: &Folder) -> LoadOptions {
    LoadOptions { paths: vec![folder.path().join("in")], delete: true, ..LoadOptions::default() }
}

#[test]
fn files_take_back_what_they_brought() {
    let (target, folder) = (target(), Folder::new());
    let before = counts(&target);
    folder.write("in/a.xml", descriptors());
    let schools = school(7, "first") + &school(8, "other") + &location(7, "C");
    folder.write("in/b.xml", interchange("EducationOrganization", &schools));
    folder.write("in/c.xml", interchange("Student", &(student("1") + &student("2"))));
    folder
        .write("in/studentSchoolAssociations.jsonl", lines([enrolment("1", 7), enrolment("2", 8)]));
    // Each refers to the next; some come before what they refer to and some after.
    let chain = (0..40).map(|n| standard(&n.to_string(), Some(&(n + 1).to_string())));
    let other = (0..40).rev().map(|n| standard(&format!("x{n}"), Some(&format!("x{}", n + 1))));
    let ends = [standard("40", None), standard("x40", None)];
    folder.write("in/learningStandards.jsonl", lines(chain.chain(ends).chain(other)));
    let (loaded, _) = load_all(&target, &[&folder.path().join("in")]);
    assert_eq!(loaded.rejected, 0);

    let (taken, rejects) = load_with(&target, back(&folder));
    let (again, _) = load_with(&target, back(&folder));

    assert_eq!(rejects, [json!(null); 0]);
    assert_eq!((taken.deleted, taken.unchanged, taken.loaded), (loaded.loaded, 0, 0));
    assert_eq!(taken.resources["ed-fi/students"].deleted, 2);
    assert_eq!((again.deleted, again.unchanged), (0, loaded.loaded));
    assert_eq!(counts(&target), before);
}

#[test]
fn what_others_still_refer_to_stays_and_is_rejected() {
    let (target, folder) = (target(), Folder::new());
    folder.write("in/a.xml", descriptors());
    folder.write("in/b.xml", interchange("EducationOrganization", &school(7, "S")));
    load_all(&target, &[folder.path()]);
    let other = folder.write("c.xml", interchange("EducationOrganization", &location(7, "C")));
    load_all(&target, &[&other]);

    let (taken, rejects) = load_with(&target, back(&folder));

    assert_eq!((taken.deleted, taken.rejected), (1, 3), "{rejects:?}");
    let school = rejects.iter().find(|r| r["resource"] == "ed-fi/schools").unwrap();
    assert_eq!(school["type"], "urn:ed-fi:api:data-conflict:dependent-item-exists");
    assert_eq!(school["status_code"], 409);
    assert!(school["message"].as_str().unwrap().contains("Location"), "{school}");
    assert_eq!(stored(&target, "schools").len(), 1);
}
