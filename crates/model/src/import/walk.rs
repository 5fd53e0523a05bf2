//! Builds one resource by walking its schema and its tables side by side.

use std::collections::HashSet;

use super::draft::{Column, ColumnPlace, Draft, empty};
use super::names::{camel, external, flat, same};
use super::openapi::{Api, Endpoint, Limits, Member, MemberKind, segments};
use super::outcome::Problem;
use super::published::Published;
use super::sql::{Column as SqlColumn, ColumnKind, ForeignKey, Table};
use super::xsd;
use crate::source::{KeyMap, PartSource, Presence, PropertySource, ResourceKind, Type};

/// Columns that the store keeps and that no document shows.
const BOOKKEEPING: [&str; 5] = ["Id", "Discriminator", "CreateDate", "LastModifiedDate", "Uri"];

/// Length at which a dump cuts longer table names, before it appends `_` and a hash.
const TABLE_NAME_CUT: usize = 56;

/// The walk over one resource's schema and tables.
pub struct Walk<'a> {
    pub published: &'a Published<'a>,
    pub api: &'a Api,
    /// Main tables of resources, in lower case.
    pub owned: &'a HashSet<String>,
    pub places: Vec<ColumnPlace>,
    pub problems: &'a mut Vec<Problem>,
    pub resource: &'a str,
}

/// The tables behind one object: its own and, at the root, its base's.
struct Scope<'a> {
    tables: Vec<&'a Table>,
    /// The table's uncut name.
    name: String,
    /// Columns of the key that are not inherited from an owner.
    key: HashSet<Column>,
    /// Path in the document, ending in `.`; empty at the root.
    path: String,
    list: String,
}

impl<'a> Walk<'a> {
    /// Builds the resource behind an endpoint.
    pub fn resource(&mut self, endpoint: &Endpoint, table: &'a Table) -> Draft {
        let mut tables = vec![table];
        let base = table.owner().and_then(|owner| self.published.tables.get(&owner.target));
        tables.extend(base);
        let key = match base {
            Some(base) if !base.alternate_key.is_empty() => {
                base.alternate_key.iter().map(|column| self.column(base, column)).collect()
            }
            _ => table.primary_key.iter().map(|column| self.column(table, column)).collect(),
        };
        let scope = Scope {
            tables,
            name: table.name.clone(),
            key,
            path: String::new(),
            list: String::new(),
        };
        let descriptor = base.is_some_and(|base| !base.alternate_key.is_empty());
        let enumeration = self
            .published
            .schemas
            .simple
            .get(&table.name)
            .is_some_and(xsd::SimpleType::is_enumeration);
        let kind = match (descriptor, enumeration) {
            (true, _) => ResourceKind::Descriptor,
            (_, true) => ResourceKind::Enumeration,
            _ => ResourceKind::Entity,
        };
        let mut source = empty(kind, &table.name, &endpoint.name);
        source.updatable_key = endpoint.updatable_key;
        source.domains = self.published.domains.get(&endpoint.name).cloned().unwrap_or_default();
        source.interchanges = self.published.interchanges(&table.name);
        if let (Some(owner), Some(base), false) = (table.owner(), base, descriptor) {
            let map = owner
                .columns
                .iter()
                .zip(&owner.target_columns)
                .filter(|(own, base)| !same(own, base))
                .map(|(own, base)| KeyMap { base: flat(base), own: flat(own) })
                .collect();
            source.base = Some((base.name.clone(), map));
        }
        source.properties = self.properties(&endpoint.schema, &scope, kind);
        Draft { source, places: std::mem::take(&mut self.places) }
    }

    /// Returns the column as its first owner or base names it.
    fn column(&self, table: &Table, column: &str) -> Column {
        match table.inherited(column) {
            Some((owner, theirs)) => match self.published.tables.get(owner) {
                Some(owner) => self.column(owner, theirs),
                None => Column { table: owner.to_ascii_lowercase(), name: theirs.to_owned() },
            },
            None => Column {
                table: table.name.to_ascii_lowercase(),
                name: flat(column).to_ascii_lowercase(),
            },
        }
    }

    fn properties(
        &mut self,
        schema: &str,
        scope: &Scope<'a>,
        kind: ResourceKind,
    ) -> Vec<PropertySource> {
        let api = self.api;
        let mut properties = vec![];
        let mut carried = HashSet::new();
        let mut children = HashSet::new();
        for member in api.members(schema) {
            let property = match &member.kind {
                MemberKind::Reference(target, schema) => {
                    self.reference(member, target, schema, scope, &mut carried)
                }
                MemberKind::Object(schema) => {
                    self.child(member, schema, false, scope, &mut children)
                }
                MemberKind::List(schema) => self.child(member, schema, true, scope, &mut children),
                MemberKind::Scalar(_) if kind == ResourceKind::Enumeration => continue,
                MemberKind::Scalar(limits) => {
                    self.scalar(&member.name, member.required, limits, scope, &mut carried)
                }
            };
            properties.extend(property);
        }
        for table in &scope.tables {
            for column in &table.columns {
                let inherited = table.inherited(&column.name).is_some();
                if inherited
                    || BOOKKEEPING.contains(&column.name.as_str())
                    || column.kind == ColumnKind::Serial
                    || carried.contains(&self.column(table, &column.name))
                {
                    continue;
                }
                if kind == ResourceKind::Enumeration {
                    let name = camel(&external(&column.name));
                    let limits = Limits::default();
                    let required = !column.nullable;
                    properties.extend(self.scalar(&name, required, &limits, scope, &mut carried));
                } else if column.name != "PriorDescriptorId" {
                    let at = format!("{}.{}", table.name, column.name);
                    self.problems.push(Problem::new(at, "no member of the document carries it"));
                }
            }
        }
        properties.sort_by(|one, other| {
            let rank = |property: &PropertySource| property.presence != Presence::Key;
            (rank(one), &one.name).cmp(&(rank(other), &other.name))
        });
        properties
    }

    fn problem(&mut self, scope: &Scope<'_>, member: &str, message: impl Into<String>) {
        let element = format!("{}.{}{member}", self.resource, scope.path);
        self.problems.push(Problem::new(element, message));
    }

    fn scalar(
        &mut self,
        name: &str,
        required: bool,
        limits: &Limits,
        scope: &Scope<'a>,
        carried: &mut HashSet<Column>,
    ) -> Option<PropertySource> {
        let found = scope.tables.iter().find_map(|table| {
            let column = table
                .columns
                .iter()
                .filter(|column| column.kind != ColumnKind::Serial)
                .find(|column| same(&flat(&column.name), name))?;
            Some((*table, column))
        });
        let Some((table, sql)) = found else {
            self.problem(scope, name, format!("`{}` has no such column", scope.name));
            return None;
        };
        let column = self.column(table, &sql.name);
        carried.insert(column.clone());
        self.places.push(ColumnPlace {
            column: column.clone(),
            path: format!("{}{name}", scope.path),
            list: scope.list.clone(),
        });
        let presence = presence(scope.key.contains(&column), required);
        let kind = self.scalar_kind(table, sql, limits);
        Some(PropertySource { name: name.to_owned(), presence, kind, xml: None })
    }

    fn scalar_kind(&self, table: &Table, sql: &SqlColumn, limits: &Limits) -> Type {
        let descriptor = table.foreign_keys.iter().find(|key| {
            key.columns.len() == 1
                && same(&key.columns[0], &sql.name)
                && key.target.ends_with("Descriptor")
                && self.owned.contains(&key.target.to_ascii_lowercase())
        });
        if let Some(key) = descriptor {
            let name = self.published.tables.get(&key.target).map_or(&key.target, |t| &t.name);
            return Type::Descriptor(name.clone());
        }
        let (min, max) = (limits.min.clone(), limits.max.clone());
        match sql.kind {
            ColumnKind::Text(most) => {
                Type::Text { min: limits.min_length.unwrap_or(0), max: Some(most) }
            }
            ColumnKind::Integer(64) => Type::Integer { bits: 64, min, max },
            ColumnKind::Integer(_) | ColumnKind::Serial => Type::Integer { bits: 32, min, max },
            ColumnKind::Decimal(precision, scale) => Type::Decimal { precision, scale, min, max },
            ColumnKind::Boolean => Type::Boolean,
            ColumnKind::Date => Type::Date,
            ColumnKind::Time => Type::Time,
            ColumnKind::Timestamp => Type::DateTime,
            ColumnKind::Uuid => Type::Text { min: 0, max: Some(36) },
        }
    }

    fn reference(
        &mut self,
        member: &Member,
        target: &str,
        schema: &str,
        scope: &Scope<'a>,
        carried: &mut HashSet<Column>,
    ) -> Option<PropertySource> {
        let Some((table, key)) = foreign_key(&member.name, target, scope) else {
            let message = format!("`{}` has no one foreign key to `{target}` for it", scope.name);
            self.problem(scope, &member.name, message);
            return None;
        };
        let api = self.api;
        let mut parts = vec![];
        let mut own = 0;
        let mut identifying = true;
        for (column, theirs) in key.columns.iter().zip(&key.target_columns) {
            let json = flat(theirs);
            let Some(part) = api.members(schema).iter().find(|part| same(&part.name, &json)) else {
                self.problem(scope, &member.name, format!("`{schema}` has no member `{json}`"));
                return None;
            };
            let flat_column = flat(column);
            parts.push(PartSource {
                name: part.name.clone(),
                key: None,
                column: (!same(&flat_column, &part.name)).then_some(flat_column),
            });
            let found = self.column(table, column);
            let inherited = scope.list_or_object() && table.inherited(column).is_some();
            own += usize::from(!inherited);
            identifying &= inherited || scope.key.contains(&found);
            carried.insert(found.clone());
            self.places.push(ColumnPlace {
                column: found,
                path: format!("{}{}.{}", scope.path, member.name, part.name),
                list: scope.list.clone(),
            });
        }
        parts.sort_by(|one, other| one.name.cmp(&other.name));
        let target = self.published.tables.get(&key.target).map_or(target, |table| &table.name);
        Some(PropertySource {
            name: member.name.clone(),
            presence: presence(identifying && own > 0, member.required),
            kind: Type::Reference { target: target.to_owned(), parts },
            xml: None,
        })
    }

    fn child(
        &mut self,
        member: &Member,
        schema: &str,
        many: bool,
        scope: &Scope<'a>,
        taken: &mut HashSet<String>,
    ) -> Option<PropertySource> {
        let Some((table, name)) = self.child_table(schema, scope) else {
            let message = format!("`{}` has no one child table for `{schema}`", scope.name);
            self.problem(scope, &member.name, message);
            return None;
        };
        if !taken.insert(table.name.clone()) {
            self.problem(scope, &member.name, format!("`{}` goes with two members", table.name));
        }
        let key: HashSet<Column> = table
            .primary_key
            .iter()
            .filter(|column| table.inherited(column).is_none())
            .map(|column| self.column(table, column))
            .collect();
        if many == key.is_empty() {
            self.problem(scope, &member.name, format!("the key of `{}` disagrees", table.name));
        }
        let place = format!("{}{}", scope.path, member.name);
        let inner = Scope {
            tables: vec![table],
            name,
            key,
            list: if many { place.clone() } else { scope.list.clone() },
            path: place + ".",
        };
        let properties = self.properties(schema, &inner, ResourceKind::Entity);
        Some(PropertySource {
            name: member.name.clone(),
            presence: presence(false, member.required),
            kind: if many { Type::List(properties) } else { Type::Object(properties) },
            xml: None,
        })
    }

    /// Finds the child table behind a schema; returns it with its uncut name.
    fn child_table(&self, schema: &str, scope: &Scope<'a>) -> Option<(&'a Table, String)> {
        let children: Vec<&'a Table> = self
            .published
            .tables
            .all()
            .filter(|table| !self.owned.contains(&table.name.to_ascii_lowercase()))
            .filter(|table| {
                table.owner().is_some_and(|owner| {
                    scope.tables.iter().any(|parent| same(&parent.name, &owner.target))
                })
            })
            .collect();
        let parts = segments(schema);
        let (first, last) = (*parts.first()?, *parts.last()?);
        let spellings = [
            parts.concat(),
            last.to_owned(),
            format!("{first}{last}"),
            format!("{}{last}", scope.name),
        ];
        for spelling in &spellings {
            let plural = format!("{spelling}s");
            if let Some(table) = children.iter().find(|table| {
                same(&table.name, spelling)
                    || same(&table.name, &plural)
                    || is_cut_of(&table.name, spelling)
            }) {
                return Some((table, spelling.clone()));
            }
        }
        let mut ending = children.into_iter().filter(|table| {
            let at = table.name.len().checked_sub(last.len());
            at.and_then(|at| table.name.get(at..)).is_some_and(|end| same(end, last))
        });
        let table = ending.next()?;
        ending.next().is_none().then(|| (table, table.name.clone()))
    }
}

impl Scope<'_> {
    fn list_or_object(&self) -> bool {
        !self.path.is_empty()
    }
}

fn presence(key: bool, required: bool) -> Presence {
    match (key, required) {
        (true, _) => Presence::Key,
        (false, true) => Presence::Required,
        (false, false) => Presence::Optional,
    }
}

/// Whether `table` is `full`, cut to the length of a table name.
fn is_cut_of(table: &str, full: &str) -> bool {
    table.rsplit_once('_').is_some_and(|(stem, _)| {
        stem.len() == TABLE_NAME_CUT
            && full.get(..TABLE_NAME_CUT).is_some_and(|start| same(start, stem))
    })
}

/// Finds the foreign key behind a reference: among those to the target, the one whose columns carry
/// the reference's role.
fn foreign_key<'a>(
    member: &str,
    target: &str,
    scope: &Scope<'a>,
) -> Option<(&'a Table, &'a ForeignKey)> {
    let stem = member.strip_suffix("Reference").unwrap_or(member);
    let cut = stem.len().checked_sub(target.len())?;
    let role = stem.get(..cut).filter(|_| same(&stem[cut..], target))?;
    let mut all: Vec<(usize, &Table, &ForeignKey)> = vec![];
    for table in &scope.tables {
        let keys = table.foreign_keys.iter().filter(|key| same(&key.target, target));
        all.extend(keys.map(|key| {
            let fit = key.columns.iter().zip(&key.target_columns);
            (fit.filter(|(own, theirs)| same(own, &format!("{role}{theirs}"))).count(), *table, key)
        }));
    }
    let best = all.iter().map(|(fit, ..)| *fit).max()?;
    let mut best = all.into_iter().filter(|(fit, ..)| *fit == best);
    let (_, table, key) = best.next()?;
    best.next().is_none().then_some((table, key))
}
