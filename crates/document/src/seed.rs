//! Documents that a new store holds from the start, such as the standard's school years.

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_access::UpsertGrant;
use homeroom_model::{Model, ResourceId};
use homeroom_store::{ChangedAt, Refused, Store, StoreError};

use crate::catalog::Catalog;
use crate::json::Json;
use crate::plan::{self, Precondition};
use crate::refusal::Refusal;
use crate::validate::validate;

/// Why a seed file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// A line that is not a document of the model.
    #[error("line {line} of the seed file: {message}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes the documents of a seed file to the store: JSON lines of `resource` (`ed-fi/…`) and
/// `document`. Documents that already exist are left unchanged. Returns the number of documents in
/// the file by resource, `ed-fi/…`.
///
/// # Errors
///
/// [`SeedError`], with the line if one is at fault.
pub fn seed(
    catalog: &Arc<Catalog>,
    store: &Store,
    text: &str,
    now: ChangedAt,
) -> Result<BTreeMap<String, u64>, SeedError> {
    let (mut plans, mut counts) = (vec![], BTreeMap::new());
    for (at, line) in text.lines().enumerate() {
        let wrong = |message: String| SeedError::Line { line: at + 1, message };
        let json = Json::read(line.as_bytes()).map_err(|error| wrong(error.to_string()))?;
        let Json::Object(members) = &json else { return Err(wrong("expected an object".into())) };
        let (Some(Json::Text(path)), Some(document)) =
            (Json::member(members, "resource"), Json::member(members, "document"))
        else {
            return Err(wrong("expected the members resource and document".into()));
        };
        let (schema, endpoint) = path.split_once('/').unwrap_or(("", path));
        let resource = catalog
            .model
            .by_endpoint(schema, endpoint)
            .ok_or_else(|| wrong(format!("there is no resource {path}")))?;
        let document =
            validate(catalog, resource, document).map_err(|found| wrong(format!("{found:?}")))?;
        *counts.entry(path.to_string()).or_default() += 1;
        let grant = UpsertGrant::everything();
        plans.push(plan::upsert(catalog, document, grant, Precondition::is_new(), now));
    }
    for (at, outcome) in store.run_all_blocking(plans).into_iter().enumerate() {
        match outcome {
            // In the second case the document exists already.
            Ok(_) | Err(Refused::Decision(Refusal::KnownVersion)) => {}
            Err(Refused::Decision(refusal)) => {
                return Err(SeedError::Line { line: at + 1, message: explained(&refusal) });
            }
            Err(Refused::Store(error)) => return Err(error.into()),
        }
    }
    Ok(counts)
}

/// Returns the resources of a seed file's documents, each once; lines that cannot be read have none.
pub fn seeded(model: &Model, text: &str) -> Vec<ResourceId> {
    let mut found = vec![];
    for line in text.lines() {
        let Ok(Json::Object(members)) = Json::read(line.as_bytes()) else { continue };
        let Some(Json::Text(path)) = Json::member(&members, "resource") else { continue };
        let (schema, endpoint) = path.split_once('/').unwrap_or(("", path));
        let resource = model.by_endpoint(schema, endpoint).map(|resource| resource.id);
        found.extend(resource.filter(|id| !found.contains(id)));
    }
    found
}

/// Returns why a line is refused, with the violations that a reader of a file has nowhere else.
fn explained(refusal: &Refusal) -> String {
    let violations = refusal.violations().map(|found| format!(" {found:?}"));
    refusal.sentence() + &violations.unwrap_or_default()
}
