//! Which documents exist: stored ones and, in a dry run, those that would be stored.

use std::collections::HashSet;

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_model::{ResourceId, Target};
use homeroom_store::{NaturalKey, Rehearsal};

use crate::error::LoadError;
use crate::fault::Absent;
use crate::identity;
use crate::record::Record;
use crate::reject::Missing;
use crate::target::Target as WriteTarget;

/// Most absent documents that are listed for one record.
const ABSENT_MAX: usize = 100;

/// The documents that exist at this point of a load.
pub(crate) struct Existing<'a> {
    target: WriteTarget<'a>,
    /// Resources that have records in the input.
    input: HashSet<ResourceId>,
    /// In a dry run: what would have been stored.
    rehearsal: Option<Rehearsal>,
}

impl<'a> Existing<'a> {
    /// Starts with what exists before a load; in a dry run, `rehearsal` adds what would have been
    /// stored.
    pub(crate) fn new(
        target: WriteTarget<'a>,
        input: HashSet<ResourceId>,
        rehearsal: Option<Rehearsal>,
    ) -> Self {
        Self { target, input, rehearsal }
    }

    /// Whether a document with this identity exists.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    fn has(&self, key: NaturalKey) -> Result<bool, LoadError> {
        let is_rehearsed = self.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.has(key));
        Ok(is_rehearsed || self.target.has(key)?)
    }

    /// Lists the documents that a record refers to and that do not exist, each once, up to a limit.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn absent(&self, record: &Record<'_>) -> Result<Vec<Absent>, LoadError> {
        let catalog = self.target.catalog;
        let Some(id) = record.resource else { return Ok(vec![]) };
        let resource = catalog.model.resource(id);
        let Ok(document) = validate(catalog, resource, &record.json) else { return Ok(vec![]) };
        let body = Json::read(document.body.as_bytes()).unwrap_or(Json::Null);
        let (mut absent, mut seen) = (vec![], HashSet::new());
        for reference in &document.references {
            let key = reference.key;
            if absent.len() == ABSENT_MAX {
                break;
            }
            if !seen.insert(key)
                || key == document.key
                || Some(key) == document.alias
                || self.has(key)?
            {
                continue;
            }
            let path = reference.path.json(resource);
            let columns = catalog.model.target_key(reference.target).iter();
            let values = match identity::at_path(&body, &path) {
                Some(Json::Object(members)) => members.as_slice(),
                _ => &[],
            };
            let values = values.iter().map(|(_, value)| value);
            let text =
                identity::object_text(columns.map(|column| column.name.as_str()).zip(values));
            let name = catalog.model.target_name(reference.target);
            absent.push(Absent {
                is_in_input: self.is_in_input(reference.target),
                missing: Missing::new(name, text, path),
                target: reference.target,
                hash: key,
                is_descriptor: false,
            });
        }
        for descriptor in &document.descriptors {
            if absent.len() == ABSENT_MAX {
                break;
            }
            if !seen.insert(descriptor.key) || self.has(descriptor.key)? {
                continue;
            }
            let path = descriptor.path.json(resource);
            let uri = match identity::at_path(&body, &path) {
                Some(Json::Text(uri)) => uri.to_string(),
                _ => String::new(),
            };
            let name = &catalog.model.resource(descriptor.descriptor).name;
            absent.push(Absent {
                is_in_input: self.is_in_input(Target::Resource(descriptor.descriptor)),
                missing: Missing::new(name, uri, path),
                target: Target::Resource(descriptor.descriptor),
                hash: descriptor.key,
                is_descriptor: true,
            });
        }
        Ok(absent)
    }

    fn is_in_input(&self, target: Target) -> bool {
        match target {
            Target::Resource(id) => self.input.contains(&id),
            Target::Abstract(id) => {
                let mut subclasses = self.target.catalog.model.base(id).subclasses.iter();
                subclasses.any(|id| self.input.contains(id))
            }
        }
    }
}
