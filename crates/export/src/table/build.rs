//! Derives the tables from the model.

use std::collections::HashSet;

use homeroom_model::{
    Model, Presence, Property, PropertyKind, Resource, ResourceKind, Scalar, capitalized,
};

use super::names::{child_name, code_value_name, postgres_name, schema_name};
use super::{Column, ColumnType, ColumnValue, Level, Source, Table};

/// Returns the tables of all resources in the model's order, each resource's own table first. If
/// the table of a collection would have the name of another table, a number is added to its name.
pub fn tables(model: &Model) -> Vec<Table> {
    let mut all: Vec<Table> = model.resources.iter().flat_map(tables_of).collect();
    let name = |table: &Table, name: &str| (table.schema.clone(), postgres_name(name));
    // Documents' own tables are named first, because they are the ones that people know.
    let (own, inner): (Vec<_>, Vec<_>) = (0..all.len()).partition(|at| all[*at].levels.is_empty());
    let mut taken = HashSet::new();
    for at in own.into_iter().chain(inner) {
        let (mut number, mut free) = (1, all[at].name.clone());
        while !taken.insert(name(&all[at], &free)) {
            number += 1;
            free = format!("{}{number}", all[at].name);
        }
        all[at].name = free;
    }
    all
}

/// Returns the tables of a resource, the documents' own table first.
fn tables_of(resource: &Resource) -> Vec<Table> {
    let mut columns = Columns::default();
    for key in &resource.key {
        let path = resource.column_path(key.source);
        let path = path.trim_start_matches("$.").split('.').map(str::to_owned).collect();
        columns.add(&key.name, key.scalar, Source { level: 0, path });
    }
    let key = columns.clone();
    let root = Owner {
        resource,
        schema: schema_name(&resource.schema),
        name: resource.name.clone(),
        stem: resource.name.clone(),
        levels: vec![],
        key,
    };
    let mut tables = vec![];
    root.table(&resource.properties, &mut tables);
    tables
}

/// A table under construction, before its own columns are known.
struct Owner<'a> {
    resource: &'a Resource,
    schema: String,
    name: String,
    /// Prefix of its children's names.
    stem: String,
    levels: Vec<Level>,
    key: Columns,
}

impl Owner<'_> {
    /// Adds the table, then those of its collections and embedded objects.
    fn table(mut self, properties: &[Property], tables: &mut Vec<Table>) {
        let level = self.levels.len();
        for property in properties.iter().filter(|p| p.presence == Presence::Key) {
            self.key.add_property(property, level);
        }
        let mut columns = self.key.clone();
        let key_columns = columns.0.len();
        for property in properties {
            columns.add_property(property, level);
        }
        let mut columns = columns.0;
        if level == 0 && self.resource.kind == ResourceKind::Descriptor {
            columns.push(uri());
        }
        columns.extend(of_the_document());
        tables.push(Table {
            resource: self.resource.id,
            schema: self.schema.clone(),
            name: self.name.clone(),
            levels: self.levels.clone(),
            columns,
            key_columns,
        });
        for property in properties {
            match &property.kind {
                PropertyKind::Object(projects) if property.is_extensions() => {
                    self.extensions(property, projects, tables);
                }
                PropertyKind::List(inner) | PropertyKind::Object(inner) => {
                    let name = child_name(&self.stem, property);
                    self.child(name.clone(), name, &[property]).table(inner, tables);
                }
                PropertyKind::Scalar(_) | PropertyKind::Reference(_) => {}
            }
        }
    }

    /// Adds the tables of extensions of this object, each in the schema of its project. As in the
    /// ODS, the first has the owner's name with `Extension` added.
    fn extensions(&self, all: &Property, projects: &[Property], tables: &mut Vec<Table>) {
        for project in projects {
            let PropertyKind::Object(inner) = &project.kind else { continue };
            let name = format!("{}Extension", self.stem);
            let mut owner = self.child(name, self.stem.clone(), &[all, project]);
            owner.schema = schema_name(&project.name);
            owner.table(inner, tables);
        }
    }

    /// Returns the owner for the object that is `way` down from here.
    fn child(&self, name: String, stem: String, way: &[&Property]) -> Self {
        let mut levels = self.levels.clone();
        levels.extend(way.iter().map(|property| Level {
            member: property.name.clone(),
            is_list: matches!(property.kind, PropertyKind::List(_)),
        }));
        Self {
            resource: self.resource,
            schema: self.schema.clone(),
            name,
            stem,
            levels,
            key: self.key.clone(),
        }
    }
}

/// Columns with unique names.
#[derive(Default, Clone)]
struct Columns(Vec<Column>);

impl Columns {
    fn add_property(&mut self, property: &Property, level: usize) {
        match &property.kind {
            PropertyKind::Scalar(scalar) => {
                let path = vec![property.name.clone()];
                self.add(&property.name, *scalar, Source { level, path });
            }
            PropertyKind::Reference(reference) => {
                for part in &reference.parts {
                    let path = vec![property.name.clone(), part.name.clone()];
                    self.add(&part.column, part.scalar, Source { level, path });
                }
            }
            PropertyKind::Object(_) | PropertyKind::List(_) => {}
        }
    }

    /// Adds a column, or adds a source to the column with this name.
    fn add(&mut self, name: &str, scalar: Scalar, source: Source) {
        let name = capitalized(name);
        if let Scalar::Descriptor(_) = scalar {
            let code_value = code_value_name(&name);
            self.add_value(name, ColumnType::Text, source.clone(), ColumnValue::Member);
            self.add_value(code_value, ColumnType::Text, source, ColumnValue::CodeValue);
        } else {
            self.add_value(name, column_type(scalar), source, ColumnValue::Member);
        }
    }

    fn add_value(
        &mut self,
        name: String,
        kind: ColumnType,
        source: Source,
        value: fn(Vec<Source>) -> ColumnValue,
    ) {
        let known = self.0.iter_mut().find(|column| column.name.eq_ignore_ascii_case(&name));
        match known.map(|column| &mut column.value) {
            Some(ColumnValue::Member(sources) | ColumnValue::CodeValue(sources)) => {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
            Some(_) => {}
            None => self.0.push(Column { name, kind, value: value(vec![source]) }),
        }
    }
}

fn column_type(scalar: Scalar) -> ColumnType {
    match scalar {
        Scalar::Text { .. } | Scalar::Descriptor(_) => ColumnType::Text,
        Scalar::Integer { bits: 64, .. } => ColumnType::BigInteger,
        Scalar::Integer { .. } => ColumnType::Integer,
        Scalar::Decimal { precision, scale, .. } => ColumnType::Decimal { precision, scale },
        Scalar::Boolean => ColumnType::Boolean,
        Scalar::Date => ColumnType::Date,
        Scalar::DateTime => ColumnType::Timestamp,
        Scalar::Time => ColumnType::Time,
    }
}

/// Returns the column of the URI by which other documents refer to a descriptor.
fn uri() -> Column {
    let source = |member: &str| Source { level: 0, path: vec![member.to_owned()] };
    Column {
        name: "Uri".into(),
        kind: ColumnType::Text,
        value: ColumnValue::Uri { namespace: source("namespace"), code_value: source("codeValue") },
    }
}

/// Returns the columns that every table has of the document.
fn of_the_document() -> [Column; 3] {
    [
        ("Id", ColumnType::Text, ColumnValue::Id),
        ("ChangeVersion", ColumnType::BigInteger, ColumnValue::ChangeVersion),
        ("LastModifiedDate", ColumnType::Timestamp, ColumnValue::LastModified),
    ]
    .map(|(name, kind, value)| Column { name: name.into(), kind, value })
}
