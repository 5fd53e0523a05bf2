//! The possible targets of the file's references and descriptors: its own resources and the loaded
//! ones.

use std::collections::HashMap;

use super::columns::Columns;
use super::facts::ResourceFacts;
use crate::resource::{Model, PropertyKind, Target};
use crate::source::{ResourceKind, Source};

/// The resources of the file and of the model that it extends.
pub(super) struct Targets<'a> {
    model: &'a Model,
    project: String,
    own: HashMap<&'a str, &'a ResourceFacts<'a>>,
}

/// The target of a reference.
pub(super) struct Found {
    /// The name as the model file writes it.
    pub(super) name: String,
    /// The target's key: the path of each value in its document, and its flat name.
    pub(super) key: Vec<(String, String)>,
}

impl<'a> Targets<'a> {
    pub(super) fn of(model: &'a Model, source: &Source, facts: &'a [ResourceFacts<'a>]) -> Self {
        let own = facts.iter().filter(|facts| !facts.is_extension);
        Self {
            model,
            project: source.project.clone(),
            own: own.map(|facts| (facts.name.as_str(), facts)).collect(),
        }
    }

    /// Finds the resource or base of a project that a reference points to.
    pub(super) fn find(&self, project: &str, name: &str) -> Option<Found> {
        if project == self.project {
            let facts = self.own.get(name).filter(|facts| !facts.is_descriptor)?;
            let columns = Columns::of(facts, &mut vec![]);
            let key = facts
                .identity
                .iter()
                .filter_map(|found| Some((found.path.clone(), columns.of_path(&found.path)?)))
                .collect();
            return Some(Found { name: name.to_owned(), key });
        }
        let target = self.in_model(project, name)?;
        let properties = match target {
            Target::Resource(id) => &self.model.resource(id).properties,
            Target::Abstract(id) => &self.model.base(id).properties,
        };
        let mut key = vec![];
        for property in properties {
            match &property.kind {
                PropertyKind::Scalar(_) => {
                    key.push((format!("$.{}", property.name), property.name.clone()));
                }
                PropertyKind::Reference(reference) => {
                    key.extend(reference.parts.iter().map(|part| {
                        (format!("$.{}.{}", property.name, part.name), part.column.clone())
                    }));
                }
                PropertyKind::Object(_) | PropertyKind::List(_) => {}
            }
        }
        let columns = self.model.target_key(target);
        key.retain(|(_, column)| columns.iter().any(|found| found.name == *column));
        Some(Found { name: self.written(target), key })
    }

    /// Finds a descriptor; returns its name as the model file writes it.
    pub(super) fn descriptor(&self, project: &str, name: &str) -> Option<String> {
        if project == self.project {
            return self.own.get(name).filter(|f| f.is_descriptor).map(|_| name.to_owned());
        }
        match self.in_model(project, name)? {
            Target::Resource(id) if self.model.resource(id).kind == ResourceKind::Descriptor => {
                Some(self.written(Target::Resource(id)))
            }
            _ => None,
        }
    }

    /// Finds an abstract base; returns its name as the model file writes it.
    pub(super) fn base(&self, project: &str, name: &str) -> Option<String> {
        let target = self.in_model(project, name)?;
        matches!(target, Target::Abstract(_)).then(|| self.written(target))
    }

    /// Lists the abstract bases.
    pub(super) fn bases(&self) -> Vec<&str> {
        self.model.abstracts.iter().map(|base| base.name.as_str()).collect()
    }

    /// Returns the message for a name that does not exist.
    pub(super) fn unknown(&self, project: &str, name: &str) -> String {
        let is_known =
            project == self.project || self.model.projects.iter().any(|p| p.name == project);
        if !is_known {
            let loaded = self.model.projects.iter().map(|p| format!("{} {}", p.name, p.version));
            let loaded: Vec<String> = loaded.collect();
            return format!(
                "`{project}` is not loaded; the extension may refer to itself and to {}",
                loaded.join(", ")
            );
        }
        let elsewhere = self.own.contains_key(name) && project != self.project;
        if elsewhere {
            return format!(
                "{project} has no `{name}`, but {} has; correct projectName",
                self.project
            );
        }
        match self.model.by_name(name) {
            Some(target) if project == self.project => format!(
                "{project} has no `{name}`, but {} has; correct projectName",
                self.model.qualified_name(target)
            ),
            _ => format!("{project} has no `{name}`; correct the name, or add the resource"),
        }
    }

    fn in_model(&self, project: &str, name: &str) -> Option<Target> {
        let project = self.model.projects.iter().find(|found| found.name == project)?;
        self.model.by_name(&format!("{}/{name}", project.schema))
    }

    /// Returns the bare name where it means the standard's, else the name with the schema in front.
    fn written(&self, target: Target) -> String {
        let (name, qualified) = (self.model.target_name(target), self.model.qualified_name(target));
        let core = &self.model.projects[0].schema;
        let is_core = qualified.strip_prefix(core.as_str()).is_some_and(|r| r.starts_with('/'));
        if is_core && !self.own.contains_key(name) { name.to_owned() } else { qualified }
    }
}
