//! The views of the whole model.

mod support;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use homeroom_document::Catalog;
use homeroom_document::json::Json;
use homeroom_export::flatten::{About, Cell, each_row};
use homeroom_export::table::{Column, ColumnType, Table, postgres_name, tables};
use homeroom_export::views::{Dialect, apply, renew, views};
use homeroom_model::{Property, PropertyKind, Resource, Scalar};
use homeroom_store::{
    Decision, KindId, NaturalKey, NewDocument, Options, Plan, References, Sql, Store, StoreError,
    StoreUrl, Uuid, Value as StoreValue, Write, views_version,
};
use homeroom_testkit::trial;
use rusqlite::types::Value as SqlValue;
use serde_json::{Map, Value, json};
use support::{Folder, model, qualified};

/// Makes a document that has every property, each with a different value.
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

/// Makes a store with one document of each resource; returns the texts by resource.
fn filled(folder: &Folder) -> (Store, StoreUrl, Catalog, HashMap<String, (Uuid, String)>) {
    std::fs::create_dir_all(folder.path()).unwrap();
    let options = Options::for_file(folder.path().join("homeroom.db"));
    let store = Store::open(&options).unwrap();
    let (catalog, texts) = fill(&store);
    (store, options.url, catalog, texts)
}

/// Adds one document of each resource to a store; returns the texts by resource.
fn fill(store: &Store) -> (Catalog, HashMap<String, (Uuid, String)>) {
    let catalog = Catalog::bind(model(), store).unwrap();
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
            ties: vec![],
            modified: 1_700_000_000_123_456,
        }));
    }
    let decide = move |_| -> Decision<(), ()> { Decision::Write(writes.clone(), ()) };
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
    (catalog, texts)
}

/// Runs a statement that writes.
fn write(store: &Store, text: String) {
    let text = text.leak();
    let decide =
        |_| -> Decision<(), ()> { Decision::Write(vec![Write::Sql(Sql::new(text, vec![]))], ()) };
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
}

fn read(store: &Store, text: String) -> Result<Vec<Vec<StoreValue>>, StoreError> {
    store.query_blocking(Sql::new(text.leak(), vec![]))
}

/// Returns the rows that a table should have, with each cell as `shown` makes it.
fn rows_of<T>(
    table: &Table,
    (uuid, change_version, body): (Uuid, i64, &str),
    shown: impl Fn(&Cell<'_>, ColumnType) -> T,
) -> Vec<Vec<T>> {
    let json = Json::read(body.as_bytes()).unwrap();
    let id = uuid.to_string();
    let about = About { id: &id, change_version, modified: 1_700_000_000_123_456 };
    let mut rows = vec![];
    each_row(table, &json, about, &mut |cells| -> Result<(), ()> {
        let row = cells.iter().zip(&table.columns);
        rows.push(row.map(|(cell, column)| shown(cell, column.kind)).collect());
        Ok(())
    })
    .unwrap();
    rows
}

/// Returns a cell as SQLite shows it.
fn in_sqlite(cell: &Cell<'_>, kind: ColumnType) -> SqlValue {
    match cell {
        Cell::Null => SqlValue::Null,
        Cell::Text(text) => SqlValue::Text(text.to_string()),
        Cell::Number(text) => match kind {
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
    }
}

#[test]
fn every_view_shows_each_value_in_its_column() {
    let folder = Folder::unmade();
    let (store, url, catalog, texts) = filled(&folder);
    let kind = |resource: &Resource| Some(catalog.kind(resource.id));
    let made = views(&catalog.model, Dialect::Sqlite, &[], &kind);
    apply(&url, &made, &[]).unwrap();

    let connection = rusqlite::Connection::open(folder.path().join("homeroom.db")).unwrap();
    let (mut rows_in_all, all) = (0, tables(&catalog.model));
    for (change_version, resource) in (1..).zip(&catalog.model.resources) {
        let (uuid, body) = &texts[&resource.path()];
        for table in all.iter().filter(|table| table.resource == resource.id) {
            let name = format!("{}_{}", table.schema, table.name);
            let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let columns = names.len();
            let rows: Vec<Vec<SqlValue>> = statement
                .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();

            let wanted = rows_of(table, (*uuid, change_version, body), in_sqlite);
            let wanted_names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names, wanted_names, "{name}");
            assert_eq!(rows, wanted, "{name}");
            rows_in_all += rows.len();
        }
    }
    assert!(rows_in_all > 1_000, "{rows_in_all}");
    store.close();
}

/// Returns an expression for a PostgreSQL column as text that does not depend on the time zone.
fn as_text(column: &Column) -> String {
    let name = postgres_name(&column.name);
    match column.kind {
        ColumnType::Timestamp => {
            format!("to_char(\"{name}\" AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")
        }
        ColumnType::Decimal { .. } => format!("CAST(CAST(\"{name}\" AS float8) AS text)"),
        _ => format!("CAST(\"{name}\" AS text)"),
    }
}

/// Returns a cell in the form of [`as_text`].
fn in_text(cell: &Cell<'_>, kind: ColumnType) -> StoreValue {
    match cell {
        Cell::Null => StoreValue::Null,
        Cell::Text(text) => text.to_string().into(),
        Cell::Number(text) if matches!(kind, ColumnType::Decimal { .. }) => {
            text.parse::<f64>().unwrap().to_string().into()
        }
        Cell::Number(text) => text.to_string().into(),
        Cell::Integer(number) => number.to_string().into(),
        Cell::Boolean(value) => value.to_string().into(),
        Cell::Moment(_) => "2023-11-14T22:13:20Z".to_owned().into(),
    }
}

#[test]
fn every_view_on_postgres_shows_each_value_in_its_column() {
    let options = trial::postgres().unwrap();
    for options in options {
        let store = Store::temporary_on(&options, &[]).unwrap();
        let (catalog, texts) = fill(&store);
        let kind = |resource: &Resource| Some(catalog.kind(resource.id));
        let made = views(&catalog.model, Dialect::Postgres, &[], &kind);
        apply(store.url(), &made, &[]).unwrap();

        let (mut found, mut wanted) = (vec![], vec![]);
        let all = tables(&catalog.model);
        for (change_version, resource) in (1..).zip(&catalog.model.resources) {
            let (uuid, body) = &texts[&resource.path()];
            for table in all.iter().filter(|table| table.resource == resource.id) {
                let columns: Vec<String> = table.columns.iter().map(as_text).collect();
                let name = qualified(&store, &table.schema, &table.name);
                let text = format!("SELECT {} FROM {name}", columns.join(", "));
                let rows = read(&store, text).unwrap_or_else(|error| panic!("{name}: {error}"));
                found.push((table.name.clone(), rows));
                let rows = rows_of(table, (*uuid, change_version, body), in_text);
                wanted.push((table.name.clone(), rows));
            }
        }

        apply(store.url(), &[], &[]).unwrap();
        assert!(found.len() > 600, "{}", found.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted);
        }
    }
}

#[test]
fn only_views_whose_model_has_changed_are_recreated() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let (url, (catalog, _)) = (store.url(), fill(&store));
        let dialect = Dialect::of(url);
        let kind = |resource: &Resource| Some(catalog.kind(resource.id));
        // Another model gives kinds other numbers.
        let others = |resource: &Resource| Some(KindId(catalog.kind(resource.id).0 + 1));
        let only = ["students".to_owned()];
        let make = |only: &[String]| views(&catalog.model, dialect, only, &kind);
        let before = views(&catalog.model, dialect, &only, &others);

        let none = renew(url, &make).unwrap();
        apply(url, &before, &only).unwrap();
        let changed = renew(url, &make).unwrap();
        let same = renew(url, &make).unwrap();

        assert_eq!((none, changed, same), (false, true, false), "{name}");
        let count = |table| {
            read(&store, format!("SELECT count(*) FROM {}", qualified(&store, "edfi", table)))
        };
        assert_eq!(count("Student").unwrap(), [[StoreValue::Integer(1)]], "{name}");
        assert!(count("School").is_err(), "{name}");
        apply(url, &[], &[]).unwrap();
        assert_eq!(views_version(url).unwrap(), None, "{name}");
        assert!(count("Student").is_err(), "{name}");
    }
}

#[test]
fn a_foreign_view_is_left_alone() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let (url, (catalog, _)) = (store.url(), fill(&store));
        let view = |table| qualified(&store, "edfi", table);
        let schema = view("").strip_suffix('.').map(str::to_owned);
        if let Some(schema) = &schema {
            write(&store, format!("CREATE SCHEMA {schema}"));
        }
        write(&store, format!("CREATE VIEW {} AS SELECT 1 AS one", view("mine")));
        write(&store, format!("CREATE VIEW {} AS SELECT 2 AS two", view("Student")));
        let kind = |resource: &Resource| Some(catalog.kind(resource.id));
        let made = views(&catalog.model, Dialect::of(url), &[], &kind);

        let taken = apply(url, &made, &[]).unwrap_err();
        apply(url, &[], &[]).unwrap();

        let mine = read(&store, format!("SELECT one FROM {}", view("mine")));
        if let Some(schema) = &schema {
            write(&store, format!("DROP SCHEMA {schema} CASCADE"));
        }
        assert!(taken.to_string().contains(&view("Student")), "{taken}");
        assert_eq!(views_version(url).unwrap(), None, "{name}");
        assert_eq!(mine.unwrap(), [[StoreValue::Integer(1)]], "{name}");
    }
}

#[test]
fn a_postgres_view_that_another_view_uses_is_not_replaced() {
    let options = trial::postgres().unwrap();
    for options in options {
        let store = Store::temporary_on(&options, &[]).unwrap();
        let (url, (catalog, _)) = (store.url(), fill(&store));
        let kind = |resource: &Resource| Some(catalog.kind(resource.id));
        let make = |only: &str| views(&catalog.model, Dialect::Postgres, &[only.into()], &kind);
        apply(url, &make("students"), &["students".into()]).unwrap();
        let students = qualified(&store, "edfi", "Student");
        write(&store, format!("CREATE VIEW mine AS SELECT * FROM {students}"));
        let before = views_version(url).unwrap();

        let refused = apply(url, &make("schools"), &["schools".into()]).unwrap_err();

        let rows = read(&store, "SELECT count(*) FROM mine".into()).unwrap();
        let after = views_version(url).unwrap();
        write(&store, "DROP VIEW mine".into());
        apply(url, &[], &[]).unwrap();
        assert!(refused.to_string().contains(&students), "{refused}");
        assert_eq!(rows, [[StoreValue::Integer(1)]]);
        assert_eq!(after, before);
    }
}

#[test]
fn a_script_creates_temporary_views_for_a_read_only_session() {
    let folder = Folder::unmade();
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

/// An extension with awkward names: SQL keywords, and the name of an existing table.
const AWKWARD: &str = "\
standard Awkward awkward 1.0.0
extends ed-fi 5.2.0

resource Group groups
  @ order int32
  ? default text(1..10)
  ? group text(1..10)
  ? index boolean
  ? limit decimal(5,2)
  ? members []
    @ select int32

resource GroupMember groupMembers
  @ table int32
";

#[test]
fn resources_named_like_keywords_or_other_tables_still_get_views() {
    let text = homeroom_model::shipped("5.2.0").unwrap();
    let sources = [text, AWKWARD].map(|text| homeroom_model::format::read(text).unwrap());
    let model = Arc::new(homeroom_model::link(&sources).unwrap());
    for (name, store) in trial::on_each(&[]).unwrap() {
        let url = store.url();
        let catalog = Catalog::bind(Arc::clone(&model), &store).unwrap();
        let kind = |resource: &Resource| Some(catalog.kind(resource.id));
        let only = ["groups".to_owned(), "groupMembers".to_owned()];
        let made = views(&model, Dialect::of(url), &only, &kind);

        apply(url, &made, &[]).unwrap();

        let order = format!("SELECT \"order\" FROM {}", qualified(&store, "awkward", "Group"));
        let table = qualified(&store, "awkward", "GroupMember");
        let inner = qualified(&store, "awkward", "GroupMember2");
        assert_eq!(read(&store, order).unwrap().len(), 0, "{name}");
        assert!(read(&store, format!("SELECT \"table\" FROM {table}")).is_ok(), "{name}");
        assert!(read(&store, format!("SELECT \"select\" FROM {inner}")).is_ok(), "{name}");
        apply(url, &[], &[]).unwrap();
    }
}

#[test]
fn a_postgres_script_gives_each_view_a_unique_name() {
    let model = model();
    let kind = |resource: &Resource| Some(KindId(resource.id.0));
    let script = Dialect::Postgres.script(&views(&model, Dialect::Postgres, &[], &kind));

    let mut names = HashSet::new();
    for line in script.lines() {
        let name = line.split('"').nth(1).unwrap();
        assert!(name.len() <= 63 && names.insert(name), "{name}");
    }
    assert!(names.contains("edfi_contact") && names.contains("homograph_contact"));
}

#[test]
fn a_postgres_view_parses_each_document_once_and_reads_long_members_by_path() {
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
