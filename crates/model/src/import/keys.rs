//! What follows from the keys: values that must agree, and the subjects of authorization.

use std::collections::HashSet;

use super::Rules;
use super::draft::{Column, ColumnPlace};
use super::names::{flat, same};
use super::outcome::Problem;
use super::sql::{Table, Tables};
use crate::source::{PropertySource, ResourceKind, ResourceSource, SubjectSource};

/// Groups the places that hold the same column.
///
/// Two places are compared only if one's collection holds the other: an item and its owner, or two
/// members of one item. Groups in which no two places can be compared are left out.
pub fn unified(places: &[ColumnPlace]) -> Vec<Vec<String>> {
    let mut done: HashSet<&Column> = HashSet::new();
    let mut groups = vec![];
    for place in places {
        if !done.insert(&place.column) {
            continue;
        }
        let mut group: Vec<&ColumnPlace> =
            places.iter().filter(|other| other.column == place.column).collect();
        group.retain(|one| {
            places.iter().any(|other| {
                other.path != one.path && other.column == one.column && comparable(one, other)
            })
        });
        if !group.is_empty() {
            group.sort_by_key(|place| {
                (place.list.matches('.').count(), !place.list.is_empty(), place.path.clone())
            });
            groups.push(group.iter().map(|place| place.path.clone()).collect());
        }
    }
    groups.sort();
    groups
}

/// Returns whether one of the two is in the other's collection or in something that encloses it.
fn comparable(one: &ColumnPlace, other: &ColumnPlace) -> bool {
    let within = |inner: &str, outer: &str| {
        outer.is_empty()
            || inner == outer
            || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
    };
    within(&one.list, &other.list) || within(&other.list, &one.list)
}

/// Returns the subjects of authorization.
///
/// These are every person in the key, the one education organization in the key whose column has no
/// role in front (the most specific kind, if there are several), and the namespace.
pub fn subjects(
    source: &ResourceSource,
    tables: &Tables,
    rules: &Rules,
    used: &mut HashSet<String>,
) -> Result<Vec<SubjectSource>, Problem> {
    let Some(table) = tables.get(&source.name) else { return Ok(vec![]) };
    let namespace = namespace_column(table);
    if let Some(rule) = rules.subject.iter().find(|rule| rule.resource == source.name) {
        used.insert(format!("subject of {}", rule.resource));
        let by_hand = rule.subjects.iter().map(|text| match text.split_once(' ') {
            Some((kind, column)) => Ok(subject(kind, column)),
            None => Err(Problem::new(&source.name, format!("`{text}` is no `KIND column`"))),
        });
        return by_hand.chain(namespace.map(|n| Ok(subject("Namespace", &n)))).collect();
    }
    if source.kind == ResourceKind::Enumeration {
        return Ok(vec![]);
    }
    let mut organizations = vec![];
    let mut people = vec![];
    for column in &table.primary_key {
        let Some(end) = end_of(tables, table, column) else { continue };
        if end.primary_key.len() == 1 && end.primary_key[0].ends_with("USI") {
            people.push(subject(&end.name, &flat(column)));
        } else if end.name == "EducationOrganization" && names_an_organization(tables, column) {
            organizations.push(flat(column));
        }
    }
    if organizations.len() > 1 {
        organizations.retain(|column| column != "educationOrganizationId");
    }
    if organizations.len() > 1 {
        return Err(Problem::new(
            &source.name,
            format!("its key has several organizations, {}", organizations.join(", ")),
        ));
    }
    let mut all: Vec<SubjectSource> =
        organizations.iter().map(|column| subject("EducationOrganization", column)).collect();
    all.extend(people);
    all.extend(namespace.map(|column| subject("Namespace", &column)));
    Ok(all)
}

/// Returns the namespace subject of properties without references.
pub fn namespace_subject(properties: &[PropertySource]) -> Vec<SubjectSource> {
    let found = properties.iter().find(|property| property.name == "namespace");
    found.map(|property| subject("Namespace", &property.name)).into_iter().collect()
}

fn subject(kind: &str, column: &str) -> SubjectSource {
    SubjectSource { kind: kind.to_owned(), column: column.to_owned() }
}

/// Returns `Namespace`, or the only column whose name ends in it.
fn namespace_column(table: &Table) -> Option<String> {
    if let Some(column) = table.column("Namespace") {
        return Some(flat(&column.name));
    }
    let mut ending = table.columns.iter().filter(|column| column.name.ends_with("Namespace"));
    let found = ending.next()?;
    ending.next().is_none().then(|| flat(&found.name))
}

/// Returns the table that a column's values originate from, through references and bases.
fn end_of<'a>(tables: &'a Tables, table: &'a Table, column: &str) -> Option<&'a Table> {
    let next = table.foreign_keys.iter().find_map(|key| {
        let theirs = key.target_of(column)?;
        let target = tables.get(&key.target)?;
        (!same(&target.name, &table.name)).then_some((target, theirs))
    });
    match next {
        Some((target, theirs)) => end_of(tables, target, theirs),
        None => table.in_key(column).then_some(table),
    }
}

/// Whether a column is named like the key of an education organization: the base's or a subclass's.
fn names_an_organization(tables: &Tables, column: &str) -> bool {
    same(column, "EducationOrganizationId")
        || tables.all().any(|table| {
            table.owner().is_some_and(|owner| same(&owner.target, "EducationOrganization"))
                && table.primary_key.len() == 1
                && same(&table.primary_key[0], column)
        })
}
