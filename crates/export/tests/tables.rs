//! The tables of the whole model.

mod support;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use homeroom_export::table::{postgres_name, tables};
use support::model;

#[test]
fn table_and_column_names_are_unique_regardless_of_case_and_length() {
    let mut names = HashSet::new();

    for table in tables(&model()) {
        let name = format!("{}.{}", table.schema, postgres_name(&table.name));
        assert!(names.insert(name.clone()), "{name} appears twice");
        let mut columns = HashSet::new();
        for column in &table.columns {
            assert!(column.name.len() <= 63, "{name}.{}", column.name);
            assert!(columns.insert(postgres_name(&column.name)), "{name}.{}", column.name);
        }
    }
}

#[test]
fn tables_of_an_extension_are_in_its_own_schema() {
    let found: Vec<String> = tables(&model())
        .iter()
        .filter(|table| table.schema == "sample" && table.name.starts_with("Contact"))
        .map(|table| table.name.clone())
        .collect();

    for name in ["ContactExtension", "ContactAddressExtension", "ContactAuthor"] {
        assert!(found.iter().any(|table| table == name), "no {name} in {found:?}");
    }
}

#[test]
fn tables_and_columns_are_named_as_in_the_published_schema() {
    let folder = std::env::var_os("HOMEROOM_REFERENCE").map(PathBuf::from);
    let Some(folder) = folder else {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
        return;
    };
    let sql = std::fs::read_to_string(folder.join("ed-fi/sql/5.2.0/0020-Tables.sql")).unwrap();
    let ours: HashMap<String, HashSet<String>> = tables(&model())
        .into_iter()
        .filter(|table| table.schema == "edfi")
        .map(|table| {
            let columns = table.columns.iter().map(|c| c.name.to_ascii_lowercase()).collect();
            (postgres_name(&table.name), columns)
        })
        .collect();

    let mut differences = BTreeSet::new();
    for (name, columns) in published(&sql) {
        let Some(ours) = ours.get(&name) else {
            differences.insert(name);
            continue;
        };
        for column in columns {
            if !ours.contains(&column) {
                differences.insert(format!("{name}.{column}"));
            }
        }
    }

    let known: BTreeSet<String> = DIFFERENT.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(differences, known);
}

/// Tables of the ODS that have no counterpart: those of bases, which are parts of the subclasses'
/// tables, and a collection whose name in documents differs from that in the schema.
const DIFFERENT: [&str; 13] = [
    "descriptor",
    "educationorganization",
    "educationorganizationaddress",
    "educationorganizationaddressperiod",
    "educationorganizationcategory",
    "educationorganizationidentificationcode",
    "educationorganizationindicator",
    "educationorganizationindicatorperiod",
    "educationorganizationinstitutiontelephone",
    "educationorganizationinternationaladdress",
    "generalstudentprogramassociation",
    "generalstudentprogramassociationprogramparticipationstatus",
    "studentspecialeducationprogramassociationspecialeducatio_bcba5c",
];

/// Returns the tables and columns of a published dump, with the names used here.
fn published(sql: &str) -> Vec<(String, Vec<String>)> {
    let mut found = vec![];
    for statement in sql.split("CREATE TABLE edfi.").skip(1) {
        let (name, rest) = statement.split_once(" (").unwrap();
        let body = rest.split("\n);").next().unwrap();
        let columns = body
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("CONSTRAINT"))
            .map(|line| line.split(' ').next().unwrap().to_ascii_lowercase())
            .filter(|c| !["createdate", "discriminator"].contains(&c.as_str()))
            .map(|c| match (c.strip_suffix("usi"), c.strip_suffix("descriptorid")) {
                (Some(person), _) => format!("{person}uniqueid"),
                (_, Some(descriptor)) => format!("{descriptor}descriptor"),
                _ => c,
            })
            // Drops the numeric id of a descriptor in its own table.
            .filter(|column| *column != name.to_ascii_lowercase())
            .collect();
        found.push((name.to_ascii_lowercase(), columns));
    }
    found
}
