//! A load with the rights of a client: each record is authorized as a request of the client would
//! be, inside the transaction that writes it.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_access::{AsOf, Denial, Lapsed, Recognized, UpsertGrant, authorize_upsert};
use homeroom_document::plan::{self, Precondition, Save, Written};
use homeroom_document::validate::Document;
use homeroom_document::{Catalog, Refusal};
use homeroom_model::{Resource, ResourceId};
use homeroom_store::{ChangedAt, Plan, Ran, Refused, Store, StoreError, Submitted};

use crate::error::LoadError;

/// How often a batch is authorized while the client's rights keep changing.
const RECOGNIZED_MAX: usize = 20;

/// The client of a load that is not trusted.
pub trait Rights: Sync {
    /// Returns the client as it is now.
    ///
    /// # Errors
    ///
    /// Why it may not call any more.
    fn now(&self) -> Result<Recognized, String>;

    /// Returns the client as it is once its rights have been read again.
    ///
    /// # Errors
    ///
    /// Why it may not call any more.
    fn renewed(&self) -> Result<Recognized, String>;
}

/// The outcome of a plan.
type Outcome = Result<Ran<Written>, Refused<Refusal>>;

/// Submits documents with the rights that a client has now.
///
/// # Errors
///
/// [`LoadError::NotAuthorized`] where it may not call any more.
pub(crate) fn submit(
    (rights, catalog, store): (&dyn Rights, &Arc<Catalog>, &Store),
    documents: Vec<Document>,
    now: ChangedAt,
) -> Result<Submitted<AsOf<Save>>, LoadError> {
    let client = rights.now().map_err(LoadError::NotAuthorized)?;
    Ok(store.submit(plans(&client, catalog, documents, now)))
}

/// Waits for the outcomes. What ran after the client's rights had changed is authorized again.
pub(crate) fn outcomes(
    (rights, catalog, store): (&dyn Rights, &Arc<Catalog>, &Store),
    submitted: Submitted<AsOf<Save>>,
    now: ChangedAt,
) -> Vec<Outcome> {
    let mut ended: Vec<Option<Outcome>> = vec![];
    let mut places: Vec<usize> = vec![];
    let mut arrived = submitted.wait();
    for _ in 0..RECOGNIZED_MAX {
        if places.is_empty() {
            places = (0..arrived.len()).collect();
            ended.resize_with(arrived.len(), || None);
        }
        let (mut again, mut documents) = (vec![], vec![]);
        for (place, outcome) in std::mem::take(&mut places).into_iter().zip(arrived) {
            ended[place] = match outcome {
                Ok(ran) => Some(Ok(ran)),
                Err(Refused::Store(error)) => Some(Err(Refused::Store(error))),
                Err(Refused::Decision(Lapsed::Refused(refusal))) => {
                    Some(Err(Refused::Decision(refusal)))
                }
                Err(Refused::Decision(Lapsed::Since(decide))) => {
                    again.push(place);
                    documents.push(decide.into_document());
                    None
                }
            };
        }
        let Some(first) = again.first() else { break };
        match rights.renewed() {
            Ok(client) => {
                arrived = store.run_all_blocking(plans(&client, catalog, documents, now));
                places = again;
            }
            Err(why) => {
                ended[*first] = Some(Err(Refused::Store(StoreError::Failed(why))));
                break;
            }
        }
    }
    let changing =
        || Refused::Store(StoreError::Failed("the client's rights keep changing".into()));
    ended.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err(changing()))).collect()
}

/// Returns why a client may not write any document of a resource, if it may not.
///
/// # Errors
///
/// [`LoadError::NotAuthorized`] where it may not call any more.
pub(crate) fn denied(
    rights: &dyn Rights,
    resource: &Resource,
) -> Result<Option<Denial>, LoadError> {
    let Recognized { client, .. } = rights.now().map_err(LoadError::NotAuthorized)?;
    Ok(authorize_upsert(&client, resource).err())
}

fn plans(
    Recognized { client, version }: &Recognized,
    catalog: &Arc<Catalog>,
    documents: Vec<Document>,
    now: ChangedAt,
) -> Vec<Plan<AsOf<Save>>> {
    let mut grants: HashMap<ResourceId, UpsertGrant> = HashMap::new();
    let plans = documents.into_iter().map(|document| {
        let grant = grants.entry(document.resource).or_insert_with(|| {
            let resource = catalog.model.resource(document.resource);
            authorize_upsert(client, resource).unwrap_or_else(|denial| UpsertGrant {
                create: Err(denial.clone()),
                update: Err(denial),
            })
        });
        let plan = plan::upsert(catalog, document, grant.clone(), Precondition::default(), now);
        AsOf::plan(*version, plan)
    });
    plans.collect()
}
