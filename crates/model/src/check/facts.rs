//! Facts: what an artefact or the model states about a place.

use std::collections::{BTreeMap, BTreeSet};

use super::difference::Difference;
use crate::resource::{Model, Place, Property, PropertyKind, Reference, Resource, Scalar};
use crate::source::Presence;

/// Facts by place and subject.
#[derive(Debug, Clone, Default)]
pub struct Facts(BTreeMap<(String, &'static str), String>);

impl Facts {
    /// Adds a fact.
    pub fn add(&mut self, place: impl Into<String>, what: &'static str, value: impl Into<String>) {
        self.0.insert((place.into(), what), value.into());
    }

    /// Number of facts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is a fact about a resource.
    pub fn know(&self, resource: &str) -> bool {
        self.0.keys().any(|(place, _)| place == resource)
    }
}

/// Returns the facts on which two sets disagree.
pub fn differences(against: &'static str, ours: &Facts, theirs: &Facts) -> Vec<Difference> {
    let keys: BTreeSet<_> = ours.0.keys().chain(theirs.0.keys()).collect();
    let said = |facts: &Facts, key| facts.0.get(key).cloned().unwrap_or_default();
    keys.into_iter()
        .map(|key| Difference {
            against,
            place: key.0.clone(),
            what: key.1,
            ours: said(ours, key),
            theirs: said(theirs, key),
        })
        .filter(|difference| difference.ours != difference.theirs)
        .collect()
}

/// Something in a document: a property or a member of a reference.
pub struct Spot<'a> {
    /// Resource and path, such as `Section.classPeriods.classPeriodReference.schoolId`.
    pub place: String,
    /// Whether it is required in its object, and whether it is part of the identity there.
    pub presence: Presence,
    /// Whether every row of its table has a value: it is required, and so are the objects around it
    /// up to the nearest collection.
    pub in_every_row: bool,
    /// The value at the place.
    pub kind: SpotKind<'a>,
}

/// The value at a spot of a document.
pub enum SpotKind<'a> {
    /// A value.
    Scalar(Scalar),
    /// A reference.
    Reference(&'a Reference),
    /// A member of a reference, and the target's key column.
    Part(Scalar, String),
    /// An embedded object.
    Object,
    /// A collection.
    List(&'a [Property]),
}

/// Lists every spot of a resource's documents.
pub fn spots<'a>(model: &Model, resource: &'a Resource) -> Vec<Spot<'a>> {
    let mut spots = vec![];
    collect(model, &resource.properties, &resource.name, true, &mut spots);
    spots
}

fn collect<'a>(
    model: &Model,
    properties: &'a [Property],
    prefix: &str,
    outer: bool,
    spots: &mut Vec<Spot<'a>>,
) {
    for property in properties {
        let place = format!("{prefix}.{}", property.name);
        let in_every_row = outer && property.presence != Presence::Optional;
        let presence = property.presence;
        let mut spot = |place: String, presence, kind| {
            spots.push(Spot { place, presence, in_every_row, kind });
        };
        match &property.kind {
            PropertyKind::Scalar(scalar) => spot(place, presence, SpotKind::Scalar(*scalar)),
            PropertyKind::Reference(reference) => {
                spot(place.clone(), presence, SpotKind::Reference(reference));
                for (part, column) in reference.parts.iter().zip(model.target_key(reference.target))
                {
                    let kind = SpotKind::Part(part.scalar, column.name.clone());
                    spot(format!("{place}.{}", part.name), Presence::Required, kind);
                }
            }
            PropertyKind::Object(inner) => {
                spot(place.clone(), presence, SpotKind::Object);
                collect(model, inner, &place, in_every_row, spots);
            }
            PropertyKind::List(inner) => {
                spot(place.clone(), presence, SpotKind::List(inner));
                collect(model, inner, &place, true, spots);
            }
        }
    }
}

/// Turns a JSON path such as `$.classPeriods[*].classPeriodReference.schoolId` into a place.
pub fn place_of(resource: &str, json_path: &str) -> String {
    let path = json_path.trim_start_matches('$').replace("[*]", "");
    format!("{resource}{path}")
}

/// Returns `yes` or `no`.
pub fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// Adds every pair of places whose values must agree, transitive pairs included.
///
/// A place is a dotted path and the path of its innermost collection. Pairs are left out when
/// neither place lies within the other's collection.
pub fn add_unified(facts: &mut Facts, resource: &str, groups: &[Vec<(String, String)>]) {
    for group in groups {
        for (at, (one, one_list)) in group.iter().enumerate() {
            for (other, other_list) in &group[..at] {
                if within(one_list, other_list) || within(other_list, one_list) {
                    let (first, second) = if one < other { (one, other) } else { (other, one) };
                    facts.add(format!("{resource}: {first} = {second}"), "unified", "yes");
                }
            }
        }
    }
}

fn within(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || outer.is_empty() || rest.starts_with('.'))
}

/// Joins pairs of JSON paths into groups for [`add_unified`].
pub fn groups_of(pairs: &[(String, String)]) -> Vec<Vec<(String, String)>> {
    let mut groups: Vec<BTreeSet<String>> = vec![];
    for (one, other) in pairs {
        let mut joined = BTreeSet::from([one.clone(), other.clone()]);
        groups.retain(|group| {
            let touches = !group.is_disjoint(&joined);
            if touches {
                joined.extend(group.iter().cloned());
            }
            !touches
        });
        groups.push(joined);
    }
    groups.iter().map(|group| group.iter().map(|path| dotted(path)).collect()).collect()
}

/// Splits a JSON path into a dotted path and the path of its innermost collection.
fn dotted(json_path: &str) -> (String, String) {
    let list = json_path.rsplit_once("[*]").map_or("", |(list, _)| list);
    let plain = |path: &str| path.trim_start_matches("$.").replace("[*]", "");
    (plain(json_path), plain(list))
}

/// Returns the groups of a resource, for [`add_unified`].
pub fn own_groups(resource: &Resource) -> Vec<Vec<(String, String)>> {
    let group = |places: &Vec<Place>| places.iter().map(|place| path_of(resource, place)).collect();
    resource.unified.iter().map(group).collect()
}

fn path_of(resource: &Resource, place: &Place) -> (String, String) {
    let (mut path, mut list) = (String::new(), String::new());
    let mut inside: &[Property] = &resource.properties;
    for &step in &place.steps {
        let property = &inside[step];
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&property.name);
        match &property.kind {
            PropertyKind::List(inner) => {
                list.clone_from(&path);
                inside = inner;
            }
            PropertyKind::Object(inner) => inside = inner,
            PropertyKind::Reference(reference) => {
                if let Some(part) = place.part {
                    path.push('.');
                    path.push_str(&reference.parts[part].name);
                }
            }
            PropertyKind::Scalar(_) => {}
        }
    }
    (path, list)
}
