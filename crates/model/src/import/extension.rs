//! Builds an extension's model file from its API schema, the JSON that `MetaEd` writes.
//!
//! The JSON schema gives members, nesting and what is required. The mapping of document paths gives
//! the targets of references and descriptors, the identity paths give keys, the uniqueness
//! constraints tell the items of a collection apart, and the equality constraints state which
//! values must agree. Each problem has its JSON path and a remedy; all problems are returned
//! together.

mod columns;
mod facts;
mod place;
mod properties;
mod targets;

use std::collections::HashSet;

use serde_json::Value;

use self::columns::Columns;
use self::facts::ResourceFacts;
use self::place::At;
use self::properties::SchemaWalk;
use self::targets::Targets;
use super::draft::empty;
use super::draft::{Column, ColumnPlace};
use super::inputs::Text;
use super::keys::unified;
use super::outcome::{Imported, Problem};
use crate::link::{RESERVED_SCHEMAS, link};
use crate::resource::{EXTENSIONS, Model};
use crate::source::{
    ExtensionPart, ExtensionSource, KeyMap, PartSource, Presence, PropertySource, ResourceKind,
    Source, SubjectSource, Type,
};

/// Builds the model of an extension. The first source in `loaded` is the standard that it extends;
/// the others are extensions that it may refer to.
///
/// # Errors
///
/// Returns everything in the file that cannot be read or does not fit the rest.
pub fn import_extension(file: Text<'_>, loaded: &[Source]) -> Result<Imported, Vec<Problem>> {
    extension(file.text, loaded).map_err(|problems| {
        let name = |problem| Problem { file: file.file.to_owned(), ..problem };
        problems.into_iter().map(name).collect()
    })
}

fn extension(text: &str, loaded: &[Source]) -> Result<Imported, Vec<Problem>> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        vec![Problem::new(
            place,
            "it is not JSON; the file may have been cut off or edited by hand",
        )]
    })?;
    let model = link(loaded).map_err(|error| vec![Problem::new(error.resource, error.message)])?;
    let mut importer = Importer { model: &model, problems: vec![] };
    let source = importer.source(&At::root(&document));
    let Some(source) = source.filter(|_| importer.problems.is_empty()) else {
        return Err(importer.problems);
    };
    let mut all = loaded.to_vec();
    all.push(source);
    link(&all).map_err(|error| vec![Problem::new(error.resource, error.message)])?;
    let source = all.pop().expect("it was pushed just now");
    Ok(Imported { source, unused: vec![], elements: 0 })
}

struct Importer<'m> {
    model: &'m Model,
    problems: Vec<Problem>,
}

impl Importer<'_> {
    fn source(&mut self, root: &At<'_>) -> Option<Source> {
        let Some(project) = root.get("projectSchema") else {
            self.problems.push(root.wrong(
                "it has no `projectSchema`; take the ApiSchema file of an extension, as MetaEd \
                     writes it",
            ));
            return None;
        };
        if project.get("isExtensionProject").is_some_and(|flag| !flag.is_true()) {
            self.problems.push(
                project
                    .at("isExtensionProject")
                    .wrong("it is false, so this is a standard; it must be true for an extension"),
            );
            return None;
        }
        let name = self.text(&project, "projectName")?.to_owned();
        let schema = self.text(&project, "projectEndpointName")?.to_owned();
        let version = self.text(&project, "projectVersion")?.to_owned();
        let core = &self.model.projects[0];
        self.check_project(&project, &name, &schema, &version);
        let resources = project.get("resourceSchemas").filter(At::is_object);
        let Some(resources) = resources else {
            self.problems.push(
                project.at("resourceSchemas").wrong("it must be an object: a schema by endpoint"),
            );
            return None;
        };
        let mut source = Source {
            project: name,
            schema,
            version,
            extends: Some((core.schema.clone(), core.version.clone())),
            ..Source::default()
        };
        let mut facts = vec![];
        let mut names = HashSet::new();
        for (endpoint, at) in resources.members() {
            let read = ResourceFacts::read(&endpoint, &at, &mut self.problems);
            let Some(read) = read else { continue };
            if !names.insert(read.name.to_ascii_lowercase()) {
                self.problems.push(at.at("resourceName").wrong(format!(
                    "`{}` is the name of two resources; give one of them another name",
                    read.name
                )));
            }
            facts.push(read);
        }
        let targets = Targets::of(self.model, &source, &facts);
        for read in &facts {
            self.resource(read, &targets, &mut source);
        }
        source.resources.sort_by_key(|resource| {
            (resource.kind != ResourceKind::Descriptor, resource.name.clone())
        });
        source.extensions.sort_by(|one, other| one.target.cmp(&other.target));
        Some(source)
    }

    fn text<'a>(&mut self, at: &At<'a>, name: &str) -> Option<&'a str> {
        let found = at.get(name).and_then(|found| found.text()).filter(|text| !text.is_empty());
        if found.is_none() {
            self.problems.push(at.at(name).wrong("it must be a string that is not empty"));
        }
        found
    }

    fn check_project(&mut self, project: &At<'_>, name: &str, schema: &str, version: &str) {
        let plain = |text: &str, more: &[char]| {
            text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(&letter))
        };
        if !plain(name, &['-', '_']) {
            let message = format!("`{name}` may contain only letters, digits, - and _");
            self.problems.push(project.at("projectName").wrong(message));
        }
        let at = project.at("projectEndpointName");
        if !plain(schema, &['-']) || schema.chars().any(|letter| letter.is_ascii_uppercase()) {
            self.problems.push(at.wrong(format!(
                "`{schema}` may contain only lower-case letters, digits and -; it is part of \
                 every path"
            )));
        }
        if !schema.starts_with(|first: char| first.is_ascii_alphabetic())
            || RESERVED_SCHEMAS.contains(&schema)
        {
            self.problems.push(at.wrong(format!(
                "`{schema}` is not an endpoint name of a project: a letter comes first, and {} are taken",
                RESERVED_SCHEMAS.join(" and ")
            )));
        }
        if let Some(other) = self.model.projects.iter().find(|p| p.schema == schema) {
            self.problems.push(at.wrong(format!(
                "`{schema}` is the endpoint name of {} {}; give the extension one of its own",
                other.name, other.version
            )));
        }
        if !plain(version, &['.', '-', '_']) {
            let message = format!("`{version}` is not a version such as 1.0.0");
            self.problems.push(project.at("projectVersion").wrong(message));
        }
        let range = project.get("compatibleDsRange").and_then(|range| range.text());
        let is_exact = |range: &str| range.chars().all(|c| c.is_ascii_digit() || c == '.');
        let core = &self.model.projects[0];
        if let Some(range) = range.filter(|range| is_exact(range) && **range != core.version) {
            self.problems.push(project.at("compatibleDsRange").wrong(format!(
                "it is made for Data Standard {range}, but the model is of {}; choose the right \
                 standard",
                core.version
            )));
        }
    }

    fn resource(&mut self, facts: &ResourceFacts<'_>, targets: &Targets<'_>, source: &mut Source) {
        let columns = Columns::of(facts, &mut self.problems);
        let mut walk = SchemaWalk {
            facts,
            targets,
            columns: &columns,
            problems: &mut self.problems,
            used: HashSet::new(),
        };
        if facts.is_extension {
            let parts = walk.extension(&source.schema);
            source.extensions.push(ExtensionSource {
                target: self.extended(facts),
                required: false,
                unified: groups(facts),
                parts,
            });
            return;
        }
        let properties = walk.document();
        let mut resource = empty(
            if facts.is_descriptor { ResourceKind::Descriptor } else { ResourceKind::Entity },
            &facts.name,
            &facts.endpoint,
        );
        resource.domains.clone_from(&facts.domains);
        resource.updatable_key = facts.updatable_key;
        if facts.is_descriptor {
            // The standard's file states what every descriptor has.
            let core = source_descriptor(self.model);
            resource.properties =
                properties.into_iter().filter(|property| !core.contains(&property.name)).collect();
            source.resources.push(resource);
            return;
        }
        resource.base = self.base(facts, targets);
        resource.unified = groups(facts);
        resource.subjects = subjects(facts, &columns);
        resource.properties = properties;
        source.resources.push(resource);
    }

    /// Returns the name of the extended resource.
    fn extended(&mut self, facts: &ResourceFacts<'_>) -> String {
        let core = &self.model.projects[0];
        if self.model.by_name(&format!("{}/{}", core.schema, facts.name)).is_none() {
            self.problems.push(facts.at.at("resourceName").wrong(format!(
                "it extends `{}`, which {} {} does not have; correct the name, or set \
                 isResourceExtension to false for a resource of its own",
                facts.name, core.name, core.version
            )));
        }
        facts.name.clone()
    }

    fn base(
        &mut self,
        facts: &ResourceFacts<'_>,
        targets: &Targets<'_>,
    ) -> Option<(String, Vec<KeyMap>)> {
        let base = facts.base.as_ref()?;
        let Some(name) = targets.base(&base.project, &base.name) else {
            self.problems.push(facts.at.at("superclassResourceName").wrong(format!(
                "`{}` is not an abstract base of {}; there are {}",
                base.name,
                base.project,
                targets.bases().join(", ")
            )));
            return None;
        };
        let map = match (&base.identity, facts.identity.as_slice()) {
            (Some(theirs), [own]) => {
                let plain = |path: &str| path.trim_start_matches("$.").to_owned();
                let (base, own) = (plain(theirs), plain(&own.path));
                if base == own { vec![] } else { vec![KeyMap { base, own }] }
            }
            _ => vec![],
        };
        Some((name, map))
    }
}

/// Returns the names of the properties that every descriptor has.
fn source_descriptor(model: &Model) -> Vec<String> {
    let descriptors = || model.resources.iter().filter(|r| r.kind == ResourceKind::Descriptor);
    let Some(first) = descriptors().next() else { return vec![] };
    let has = |name: &str| {
        descriptors().all(|other| other.properties.iter().any(|property| property.name == name))
    };
    first.properties.iter().map(|p| p.name.clone()).filter(|name| has(name)).collect()
}

/// Returns the groups of places that must agree, as the equality constraints join them.
fn groups(facts: &ResourceFacts<'_>) -> Vec<Vec<String>> {
    let places = facts.equal.iter().enumerate().flat_map(|(at, group)| {
        group.iter().map(move |path| ColumnPlace {
            column: Column { table: String::new(), name: at.to_string() },
            path: plain(path),
            list: path.rsplit_once("[*]").map(|(list, _)| plain(list)).unwrap_or_default(),
        })
    });
    unified(&places.collect::<Vec<_>>())
}

/// Removes `$.` and `[*]` from a path such as `$.classPeriods[*].classPeriodReference.schoolId`.
fn plain(path: &str) -> String {
    path.trim_start_matches("$.").replace("[*]", "")
}

/// Returns the subjects of authorization: organization, persons, namespace.
fn subjects(facts: &ResourceFacts<'_>, columns: &Columns) -> Vec<SubjectSource> {
    let mut subjects: Vec<SubjectSource> = vec![];
    for (kind, path) in &facts.securable {
        let Some(column) = columns.of_path(path) else { continue };
        let subject = SubjectSource { kind: kind.clone(), column };
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects
}
