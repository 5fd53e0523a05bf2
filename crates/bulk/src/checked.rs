//! A record that was checked without the store.

use homeroom_document::json::Json;
use homeroom_document::validate::{Document, doubtful, validate};
use homeroom_document::{Catalog, Violations};
use homeroom_model::{Resource, ResourceId};
use homeroom_store::NaturalKey;

use crate::flaw::Flaw;
use crate::identity;
use crate::place::At;
use crate::record::Record;
use crate::xml::Question;

/// A record that was checked as far as it can be without the store.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Its position.
    pub at: At,
    /// Its resource; [`None`] if it names none that the model has.
    pub resource: Option<ResourceId>,
    /// Paths of elements or members that are ignored.
    pub strays: Vec<String>,
    /// Number of rows that it is in a normalised schema: one, and one for each item of a collection.
    pub records: u64,
    /// The result.
    pub result: CheckResult,
}

/// The result of checking a record.
#[derive(Debug)]
pub(crate) enum CheckResult {
    /// It is a document.
    Document(Box<Document>),
    /// It is rejected.
    Unfit(Unfit),
    /// It has to be read again, when the store can answer these lookups.
    Lookups(Vec<Question>),
}

/// A record that cannot become a document.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// Its key as JSON text.
    pub key: Option<String>,
    /// Hashes of its identity.
    pub hashes: Option<(NaturalKey, Option<NaturalKey>)>,
    /// What is wrong with it.
    pub why: Why,
}

/// Why a record cannot become a document.
#[derive(Debug)]
pub(crate) enum Why {
    /// It cannot be read as the model describes it.
    Flawed(Vec<Flaw>),
    /// It violates rules of its resource.
    Invalid(Violations),
}

/// Checks a record. If `is_strict`, what is ignored or guessed otherwise is a violation.
pub(crate) fn check(catalog: &Catalog, record: Record<'_>, is_strict: bool) -> Checked {
    let resource = record.resource.map(|id| catalog.model.resource(id));
    let records = 1 + items(&record.json);
    let result = match (resource, record.lookups.is_empty()) {
        (Some(resource), true) if record.flaws.is_empty() => {
            match examine(catalog, resource, &record, is_strict) {
                Ok(document) => CheckResult::Document(Box::new(document)),
                Err(violations) => {
                    CheckResult::Unfit(unfit(catalog, resource, &record.json, violations))
                }
            }
        }
        (Some(_), false) => CheckResult::Lookups(record.lookups),
        (resource, _) => {
            let flaws = record.flaws;
            let (key, hashes) = known(catalog, resource, &record.json);
            CheckResult::Unfit(Unfit { key, hashes, why: Why::Flawed(flaws) })
        }
    };
    // What is rejected is not ignored.
    let strays = if is_strict { vec![] } else { record.strays };
    Checked { at: record.at, resource: record.resource, strays, records, result }
}

/// Counts the items of all collections.
fn items(json: &Json<'_>) -> u64 {
    match json {
        Json::Array(all) => all.iter().map(|item| 1 + items(item)).sum(),
        Json::Object(members) => members.iter().map(|(_, value)| items(value)).sum(),
        Json::Null | Json::Boolean(_) | Json::Number(_) | Json::Text(_) => 0,
    }
}

fn examine(
    catalog: &Catalog,
    resource: &Resource,
    record: &Record<'_>,
    is_strict: bool,
) -> Result<Document, Violations> {
    let validated = validate(catalog, resource, &record.json);
    if !is_strict {
        return validated;
    }
    let mut doubts = doubtful(&catalog.model, resource, &record.json);
    // Those of a JSON file are found again with their indices.
    for stray in record.strays.iter().filter(|stray| !stray.starts_with('$')) {
        doubts.insert(stray.clone(), vec!["The model has no such element.".to_owned()]);
    }
    match validated {
        Ok(document) if doubts.is_empty() => Ok(document),
        Ok(_) => Err(doubts),
        Err(mut violations) => {
            violations.append(&mut doubts);
            Err(violations)
        }
    }
}

fn unfit(catalog: &Catalog, resource: &Resource, json: &Json<'_>, violations: Violations) -> Unfit {
    let (key, hashes) = known(catalog, Some(resource), json);
    Unfit { key, hashes, why: Why::Invalid(violations) }
}

/// An identity as JSON text, and its hashes: its own, and the one under its base.
pub(crate) type Known = (Option<String>, Option<(NaturalKey, Option<NaturalKey>)>);

/// Returns what is known of a record's identity.
pub(crate) fn known(catalog: &Catalog, resource: Option<&Resource>, json: &Json<'_>) -> Known {
    let Some(resource) = resource else { return (None, None) };
    (identity::key_text(resource, json), identity::hashes(catalog, resource, json))
}
