//! Which documents exist: stored ones and, in a dry run, those that would be stored.

use std::collections::HashSet;

use homeroom_document::Documents;
use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_model::{ResourceId, Target};
use homeroom_store::NaturalKey;

use crate::error::LoadError;
use crate::fault::Absent;
use crate::identity;
use crate::record::Record;
use crate::reject::Missing;

/// Most identities that a dry run remembers.
const TRIAL_MAX: usize = 20_000_000;

/// Most absent documents that are listed for one record.
const ABSENT_MAX: usize = 100;

/// The documents that exist at this point of a load.
pub(crate) struct Known<'a> {
    api: &'a Documents,
    /// Resources that have records in the input.
    input: HashSet<ResourceId>,
    /// In a dry run: identities that would be stored, each as half of its hash.
    trial: Option<HashSet<u64>>,
}

impl<'a> Known<'a> {
    /// Starts with what exists before a load.
    pub(crate) fn new(api: &'a Documents, input: HashSet<ResourceId>, is_trial: bool) -> Self {
        Self { api, input, trial: is_trial.then(HashSet::new) }
    }

    /// Whether this is a dry run.
    pub(crate) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether a document with this identity exists.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn has(&self, key: NaturalKey) -> Result<bool, LoadError> {
        let is_tried = self.trial.as_ref().is_some_and(|seen| seen.contains(&half(key)));
        Ok(is_tried || self.api.store.target_blocking(key)?.is_some())
    }

    /// In a dry run: remembers a document and returns whether its identity is new.
    ///
    /// # Errors
    ///
    /// [`LoadError::TooLargeForDryRun`].
    pub(crate) fn remember(
        &mut self,
        key: NaturalKey,
        under_base: Option<NaturalKey>,
    ) -> Result<bool, LoadError> {
        let Some(seen) = &mut self.trial else { return Ok(true) };
        if seen.len() >= TRIAL_MAX {
            return Err(LoadError::TooLargeForDryRun(TRIAL_MAX));
        }
        seen.extend(under_base.map(half));
        Ok(seen.insert(half(key)))
    }

    /// Lists the documents that a record refers to and that do not exist, each once, up to a limit.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn absent(&self, record: &Record<'_>) -> Result<Vec<Absent>, LoadError> {
        let catalog = &self.api.catalog;
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
                let mut subclasses = self.api.catalog.model.base(id).subclasses.iter();
                subclasses.any(|id| self.input.contains(id))
            }
        }
    }
}

/// Returns half of an identity's hash; a collision within one load is practically impossible.
fn half(key: NaturalKey) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key.0[..8]);
    u64::from_le_bytes(bytes)
}
