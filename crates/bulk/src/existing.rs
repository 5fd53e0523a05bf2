//! Which documents exist: stored ones and, in a dry run, those that would be stored.

use std::collections::{HashMap, HashSet};

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use homeroom_model::{ResourceId, Target};
use homeroom_store::{DocumentId, NaturalKey, Rehearsal};

use crate::error::LoadError;
use crate::fault::Absent;
use crate::identity;
use crate::record::Record;
use crate::reject::Missing;
use crate::target::Target as WriteTarget;

/// Most absent documents that are listed for one record.
const ABSENT_MAX: usize = 100;

/// Most values of a descriptor that are compared with an unknown one.
const DESCRIPTORS_MAX: u16 = 5_000;
/// Least likeness, from 0 to 1, of an unknown value to the one that may be meant.
const LIKENESS_MIN: f64 = 0.75;

/// The documents that exist at this point of a load.
pub(crate) struct Existing<'a> {
    target: WriteTarget<'a>,
    /// Resources that have records in the input.
    input: HashSet<ResourceId>,
    /// In a dry run: what would have been stored.
    rehearsal: Option<Rehearsal>,
    /// URIs of stored descriptors, as far as they were asked for.
    known: HashMap<ResourceId, Vec<String>>,
}

impl<'a> Existing<'a> {
    /// Starts with what exists before a load; in a dry run, `rehearsal` adds what would have been
    /// stored.
    pub(crate) fn new(
        target: WriteTarget<'a>,
        input: HashSet<ResourceId>,
        rehearsal: Option<Rehearsal>,
    ) -> Self {
        Self { target, input, rehearsal, known: HashMap::new() }
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

    /// Names, for each missing descriptor, the stored one that is spelled most alike.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn name_nearest(&mut self, absent: &mut [Absent]) -> Result<(), LoadError> {
        for absent in absent.iter_mut().filter(|absent| absent.is_descriptor) {
            let Target::Resource(id) = absent.target else { continue };
            if !self.known.contains_key(&id) {
                let found = descriptors(self.target, id)?;
                self.known.insert(id, found);
            }
            let known = self.known.get(&id).map(Vec::as_slice).unwrap_or_default();
            absent.missing.nearest = nearest(&absent.missing.key, known);
        }
        Ok(())
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

/// Returns the URIs of stored descriptors.
fn descriptors(target: WriteTarget<'_>, id: ResourceId) -> Result<Vec<String>, LoadError> {
    let kind = target.catalog.kind(id);
    let texts = target.texts(kind, DocumentId(0), DESCRIPTORS_MAX)?;
    let uri = |text: &str| {
        let Ok(Json::Object(members)) = Json::read(text.as_bytes()) else { return None };
        let member = |name| match Json::member(&members, name) {
            Some(Json::Text(text)) => Some(text.to_string()),
            _ => None,
        };
        Some(format!("{}#{}", member("namespace")?, member("codeValue")?))
    };
    Ok(texts.iter().filter_map(|(_, text)| uri(text)).collect())
}

/// Returns the URI whose code is spelled most like that of an unknown one, if any is like it.
fn nearest(unknown: &str, known: &[String]) -> Option<String> {
    let code = |uri: &str| uri.rsplit('#').next().unwrap_or_default().trim().to_lowercase();
    let wanted = code(unknown);
    let like = |uri: &String| (strsim::jaro_winkler(&wanted, &code(uri)), uri.clone());
    let best = known.iter().map(like).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= LIKENESS_MIN).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_descriptor_has_a_nearest_one_only_if_it_is_like_it() {
        let known = ["uri://x/A#Ninth grade", "uri://x/A#Tenth grade"].map(str::to_owned);

        assert_eq!(nearest("uri://y/A#ninth grade", &known), Some(known[0].clone()));
        assert_eq!(nearest("uri://x/A#Tenth  grde", &known), Some(known[1].clone()));
        assert_eq!(nearest("uri://x/A#Zq", &known), None);
        assert_eq!(nearest("uri://x/A#Ninth grade", &[]), None);
    }
}
