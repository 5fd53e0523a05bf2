//! The views of the whole model.

mod support;

use std::collections::HashMap;

use homeroom_data::Catalog;
use homeroom_data::json::Json;
use homeroom_model::{Property, PropertyKind, Resource, Scalar};
use homeroom_report::flatten::{About, Cell, each_row};
use homeroom_report::table::{ColumnType, Table, tables_of};
use homeroom_report::views::{Dialect, apply, renew, views};
use homeroom_store::{
    Decision, KindId, NaturalKey, NewDocument, Options, Plan, References, Store, StoreUrl, Uuid,
    Write, views_version,
};
use rusqlite::types::Value as SqlValue;
use serde_json::{Map, Value, json};
use support::{Folder, model};

/// A document that has every property, each value another.
fn document(properties: &[Property], next: &mut u32) -> Value {
    let mut members = Map::new();
    for property in properties {
        let value = match &property.kind {
            PropertyKind::Scalar(scalar) => value(*scalar, next),
            PropertyKind::Reference(reference) => reference
                .parts
                .iter()
                .map(|part| (part.name.clone(), value(part.scalar, next)))
                .collect::<Map<_, _>>()
                .into(),
            PropertyKind::Object(inner) => document(inner, next),
            PropertyKind::List(inner) => {
                Value::Array(vec![document(inner, next), document(inner, next)])
            }
        };
        members.insert(property.name.clone(), value);
    }
    members.into()
}

fn value(scalar: Scalar, next: &mut u32) -> Value {
    *next += 1;
    let number = *next;
    match scalar {
        Scalar::Text { .. } => json!(format!("text, \"{number}\"")),
        Scalar::Integer { .. } => json!(number),
        Scalar::Decimal { scale: 0, .. } => json!(number % 10),
        Scalar::Decimal { .. } => json!(f64::from(number % 10) + 0.5),
        Scalar::Boolean => json!(number.is_multiple_of(2)),
        Scalar::Date => json!(format!("2026-08-{:02}", number % 28 + 1)),
        Scalar::DateTime => json!(format!("2026-08-{:02}T08:30:00Z", number % 28 + 1)),
        Scalar::Time => json!(format!("{:02}:30:00", number % 24)),
        Scalar::Descriptor(_) => json!(format!("uri://x/Descriptor#{number}")),
    }
}

/// A store with one document of each resource; the texts by resource.
fn filled(folder: &Folder) -> (Store, StoreUrl, Catalog, HashMap<String, (Uuid, String)>) {
    std::fs::create_dir_all(folder.path()).unwrap();
    let options = Options::for_file(folder.path().join("homeroom.db"));
    let store = Store::open(&options).unwrap();
    let catalog = Catalog::bind(model(), &store).unwrap();
    let (mut texts, mut writes, mut next) = (HashMap::new(), vec![], 0);
    for resource in &catalog.model.resources {
        let body = document(&resource.properties, &mut next).to_string();
        let uuid = Uuid::new();
        texts.insert(resource.path(), (uuid, body.clone()));
        writes.push(Write::Create(NewDocument {
            uuid,
            kind: catalog.kind(resource.id),
            key: NaturalKey::of(&resource.path(), [body.as_bytes()]),
            alias: None,
            body,
            references: References::default(),
            modified: 1_700_000_000_123_456,
        }));
    }
    let decide = move |_| -> Decision<(), ()> { Decision::Write(writes.clone(), ()) };
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
    (store, options.url, catalog, texts)
}

/// The rows that a table should have, in the words of SQLite.
fn expected(table: &Table, uuid: Uuid, change_version: i64, body: &str) -> Vec<Vec<SqlValue>> {
    let json = Json::read(body.as_bytes()).unwrap();
    let id = uuid.to_string();
    let about = About { id: &id, change_version, modified: 1_700_000_000_123_456 };
    let mut rows = vec![];
    each_row(table, &json, about, &mut |cells| -> Result<(), ()> {
        let row = cells.iter().zip(&table.columns).map(|(cell, column)| match cell {
            Cell::Null => SqlValue::Null,
            Cell::Text(text) => SqlValue::Text(text.to_string()),
            Cell::Number(text) => match column.kind {
                ColumnType::Integer | ColumnType::BigInteger => {
                    SqlValue::Integer(text.parse().unwrap())
                }
                _ => text
                    .parse()
                    .map_or_else(|_| SqlValue::Real(text.parse().unwrap()), SqlValue::Integer),
            },
            Cell::Integer(number) => SqlValue::Integer(*number),
            Cell::Boolean(value) => SqlValue::Integer((*value).into()),
            Cell::Moment(_) => SqlValue::Text("2023-11-14T22:13:20.123Z".into()),
        });
        rows.push(row.collect());
        Ok(())
    })
    .unwrap();
    rows
}

#[test]
fn every_view_shows_each_value_in_its_column() {
    let folder = Folder::new();
    let (store, url, catalog, texts) = filled(&folder);
    let kind = |resource: &Resource| Some(catalog.kind(resource.id));
    let made = views(&catalog.model, Dialect::Sqlite, &[], &kind);
    apply(&url, &made, &[]).unwrap();

    let connection = rusqlite::Connection::open(folder.path().join("homeroom.db")).unwrap();
    let mut rows_in_all = 0;
    for (change_version, resource) in (1..).zip(&catalog.model.resources) {
        let (uuid, body) = &texts[&resource.path()];
        for table in tables_of(resource) {
            let name = format!("{}_{}", table.schema, table.name);
            let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let columns = names.len();
            let rows: Vec<Vec<SqlValue>> = statement
                .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();

            let wanted = expected(&table, *uuid, change_version, body);
            let wanted_names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names, wanted_names, "{name}");
            assert_eq!(rows, wanted, "{name}");
            rows_in_all += rows.len();
        }
    }
    assert!(rows_in_all > 1_000, "{rows_in_all}");
    store.close();
}

#[test]
fn views_are_made_anew_where_the_model_has_changed_and_only_there() {
    let folder = Folder::new();
    let (store, url, catalog, _) = filled(&folder);
    let kind = |resource: &Resource| Some(catalog.kind(resource.id));
    // Another model gives documents another number.
    let others = |resource: &Resource| Some(KindId(catalog.kind(resource.id).0 + 1));
    let only = ["students".to_owned()];
    let make = |only: &[String]| views(&catalog.model, Dialect::Sqlite, only, &kind);
    let before = views(&catalog.model, Dialect::Sqlite, &only, &others);

    let none = renew(&url, &make).unwrap();
    apply(&url, &before, &only).unwrap();
    let changed = renew(&url, &make).unwrap();
    let same = renew(&url, &make).unwrap();

    assert_eq!((none, changed, same), (false, true, false));
    let connection = rusqlite::Connection::open(folder.path().join("homeroom.db")).unwrap();
    let students: i64 =
        connection.query_row("SELECT count(*) FROM edfi_Student", [], |row| row.get(0)).unwrap();
    assert_eq!(students, 1);
    assert!(connection.prepare("SELECT * FROM edfi_School").is_err());
    apply(&url, &[], &[]).unwrap();
    assert_eq!(views_version(&url).unwrap(), None);
    store.close();
}

#[test]
fn a_view_of_somebody_elses_is_left_alone() {
    let folder = Folder::new();
    let (store, url, catalog, _) = filled(&folder);
    let connection = rusqlite::Connection::open(folder.path().join("homeroom.db")).unwrap();
    connection.execute_batch("CREATE VIEW edfi_mine AS SELECT 1 AS one").unwrap();
    connection.execute_batch("CREATE VIEW edfi_Student AS SELECT 2 AS two").unwrap();
    let kind = |resource: &Resource| Some(catalog.kind(resource.id));
    let made = views(&catalog.model, Dialect::Sqlite, &[], &kind);

    let taken = apply(&url, &made, &[]).unwrap_err();
    apply(&url, &[], &[]).unwrap();

    assert!(taken.to_string().contains("edfi_Student"), "{taken}");
    assert_eq!(views_version(&url).unwrap(), None);
    assert!(connection.prepare("SELECT one FROM edfi_mine").is_ok());
    store.close();
}

#[test]
fn a_script_makes_the_views_for_a_session_that_may_only_read() {
    let folder = Folder::new();
    let (store, _, catalog, _) = filled(&folder);
    let kind = |resource: &Resource| Some(catalog.kind(resource.id));
    let script = Dialect::Sqlite.script(&views(&catalog.model, Dialect::Sqlite, &[], &kind));

    let file = folder.path().join("homeroom.db");
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(file, flags).unwrap();
    connection.execute_batch(&script).unwrap();

    let students: i64 =
        connection.query_row("SELECT count(*) FROM edfi_Student", [], |row| row.get(0)).unwrap();
    assert_eq!(students, 1);
    store.close();
}

#[test]
fn on_postgres_a_document_is_taken_apart_once_and_long_members_are_read_from_it() {
    let model = model();
    let kind = |resource: &Resource| Some(KindId(resource.id.0));
    let of = |name: &str, view: &str| {
        let made = views(&model, Dialect::Postgres, &[name.to_owned()], &kind);
        made.into_iter().find(|made| made.name == view).unwrap().select
    };

    let collection = of("schools", "schoolgradelevel");
    let long = of(
        "staffEducationOrganizationAssignmentAssociations",
        "staffeducationorganizationassignmentassociation",
    );

    assert_eq!(collection.matches("d.body").count(), 1, "{collection}");
    assert!(collection.contains("json_array_elements(j0.\"gradeLevels\") AS i1(item)"));
    let member = "employmentStaffEducationOrganizationEmploymentAssociationReference";
    assert!(member.len() > 63);
    assert!(long.contains(&format!("(d.body::json->'{member}'->>'hireDate')::date")), "{long}");
    assert!(!long.contains(&format!("\"{member}\"")), "{long}");
}
