//! Combines the artefacts endpoint by endpoint: the schema with its table.

use std::collections::{BTreeMap, HashSet};

use super::draft::Draft;
use super::draft::empty;
use super::elements::{self, Placement};
use super::keys;
use super::outcome::{Imported, Problem};
use super::published::Published;
use super::walk::Walk;
use crate::source::{Presence, PropertySource, ResourceKind, ResourceSource, Source, Type};

/// Builds the model file's content.
pub fn assemble(published: &Published<'_>) -> Result<Imported, Vec<Problem>> {
    let mut problems = vec![];
    let mut rules_used = HashSet::new();
    let mut drafts = vec![];
    let owned = published.tables_of_endpoints();
    let enumerations = published.enumerations_without_endpoint(&owned);
    let implied = enumerations.iter().map(|endpoint| (&published.resources, endpoint));
    for (api, endpoint) in published.endpoints().chain(implied) {
        let Some(table) = published.table_of(endpoint) else {
            let message = format!("no table goes with its schema `{}`", endpoint.schema);
            problems.push(Problem::new(&endpoint.name, message));
            continue;
        };
        let mut walk = Walk {
            published,
            api,
            owned: &owned,
            places: vec![],
            problems: &mut problems,
            resource: &table.name,
        };
        drafts.push(walk.resource(endpoint, table));
    }
    let mut placement = Placement::default();
    for draft in &mut drafts {
        elements::place(&mut draft.source, &published.schemas, published.rules, &mut placement);
        leave_nothing_empty(&mut draft.source.properties);
    }
    rules_used.extend(placement.rules_used.drain());
    for path in &placement.bare {
        problems.push(Problem::new(path, "no element goes with this property"));
    }
    for path in &placement.unplaced {
        problems.push(Problem::new(path, "no property takes this element"));
    }
    let mut resources = abstracts(&drafts, &mut problems);
    for draft in &mut drafts {
        draft.source.unified = keys::unified(&draft.places);
        if draft.source.kind != ResourceKind::Descriptor {
            match keys::subjects(&draft.source, &published.tables, published.rules, &mut rules_used)
            {
                Ok(subjects) => draft.source.subjects = subjects,
                Err(problem) => problems.push(problem),
            }
        }
        let rules = published.rules.access.iter().filter(|r| r.resource == draft.source.name);
        for rule in rules {
            match &rule.by {
                None => draft.source.access_through.clone_from(&rule.through),
                Some(name) => {
                    draft.source.access_by.push((name.clone(), rule.through.clone()));
                }
            }
            rules_used.insert(format!("access to {}", rule.resource));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    resources.extend(drafts.into_iter().map(|draft| draft.source));
    resources.sort_by_key(|resource| {
        let group = match resource.kind {
            ResourceKind::Abstract => 0,
            ResourceKind::Enumeration => 1,
            ResourceKind::Descriptor => 2,
            ResourceKind::Entity => 3,
        };
        (group, resource.name.clone())
    });
    let descriptor = take_common(&mut resources);
    let source = Source {
        project: published.project.to_owned(),
        schema: published.schema.to_owned(),
        version: published.schemas.version.clone(),
        extends: None,
        school_years: published.school_years(),
        descriptor,
        resources,
        extensions: vec![],
    };
    let rows = published.rules.rows();
    let unused = rows.into_iter().filter(|row| !rules_used.contains(row)).collect();
    Ok(Imported { source, unused, elements: placement.placed })
}

/// Builds the bases that subclasses name, with their keys as a subclass states them.
fn abstracts(drafts: &[Draft], problems: &mut Vec<Problem>) -> Vec<ResourceSource> {
    let mut found: BTreeMap<&str, ResourceSource> = BTreeMap::new();
    for draft in drafts {
        let Some((name, map)) = &draft.source.base else { continue };
        let in_base = |property: &PropertySource| {
            let mut property = property.clone();
            if let Some(pair) = map.iter().find(|pair| pair.own == property.name) {
                property.name.clone_from(&pair.base);
                property.xml = None;
            }
            property
        };
        let properties: Vec<PropertySource> = draft
            .source
            .properties
            .iter()
            .filter(|property| property.presence == Presence::Key)
            .map(in_base)
            .collect();
        match found.get(name.as_str()) {
            None => {
                let mut base = empty(ResourceKind::Abstract, name, "");
                base.properties = properties;
                found.insert(name, base);
            }
            Some(base) if base.properties == properties => {}
            Some(_) => problems.push(Problem::new(
                &draft.source.name,
                format!("its key is not that of the other subclasses of {name}"),
            )),
        }
    }
    found.into_values().collect()
}

/// Sets the minimum length of every required text to at least one character.
fn leave_nothing_empty(properties: &mut [PropertySource]) {
    for property in properties {
        let required = property.presence != Presence::Optional;
        match &mut property.kind {
            Type::Text { min, .. } if *min == 0 && required => *min = 1,
            Type::Object(inner) | Type::List(inner) => leave_nothing_empty(inner),
            _ => {}
        }
    }
}

/// Takes out of every descriptor what all descriptors have in common, and returns it.
fn take_common(resources: &mut [ResourceSource]) -> Option<ResourceSource> {
    let first = resources.iter().find(|resource| resource.kind == ResourceKind::Descriptor)?;
    let mut common =
        ResourceSource { name: String::new(), endpoint: String::new(), ..first.clone() };
    let descriptors = || resources.iter().filter(|r| r.kind == ResourceKind::Descriptor);
    common.properties.retain(|property| descriptors().all(|d| d.properties.contains(property)));
    if !descriptors().all(|d| d.interchanges == common.interchanges) {
        common.interchanges.clear();
    }
    if !descriptors().all(|d| d.domains == common.domains) {
        common.domains.clear();
    }
    if !descriptors().all(|d| d.ignored_elements == common.ignored_elements) {
        common.ignored_elements.clear();
    }
    common.subjects = keys::namespace_subject(&common.properties);
    for resource in resources.iter_mut().filter(|r| r.kind == ResourceKind::Descriptor) {
        resource.properties.retain(|property| !common.properties.contains(property));
        if resource.interchanges == common.interchanges {
            resource.interchanges.clear();
        }
        if resource.ignored_elements == common.ignored_elements {
            resource.ignored_elements.clear();
        }
    }
    Some(common)
}
