//! Explains why a client may or may not do something: claim by claim, and for a stored document
//! subject by subject.

use homeroom_http::{Kind, Problem, Timestamp, did_you_mean};
use homeroom_model::{Resource, ResourceId};
use homeroom_store::Uuid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::Access;
use crate::action::Action;
use crate::authorize::authorize;
use crate::client::{ApiClient, Scope, Status};
use crate::documents::DocumentStanding;
use crate::error::ManageError;
use crate::grant::Grant;
use crate::recognize::admitted;
use crate::rights::{Decided, decide};
use crate::strategy::Strategy;

/// The question what a key may do to a resource, or to a document of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Explain {
    /// The key.
    pub key: String,
    /// HTTP method or action.
    pub method: String,
    /// Endpoint, name or document: `/ed-fi/schools`, `schools`, `School`, `/ed-fi/schools/{id}`.
    pub resource: String,
}

/// The answer to an [`Explain`], which lists a decision for each action of the method.
#[derive(Debug)]
pub struct Explanation {
    value: Value,
    document: Option<AskedDocument>,
}

/// The stored document that a question is about.
#[derive(Debug, Clone)]
pub struct AskedDocument {
    /// Its resource.
    pub resource: ResourceId,
    /// Its public id.
    pub id: Uuid,
    /// The grant for each decision, and whether the decision is shown with the standing of the stored
    /// document (not for a creation); [`None`] if nothing is granted.
    pub grants: Vec<Option<(Grant, bool)>>,
}

impl Explanation {
    /// Returns the stored document that the question is about.
    pub fn document(&self) -> Option<&AskedDocument> {
        self.document.as_ref()
    }

    /// Adds how the document stands to the grant of a decision, which is given by its place.
    pub fn add(&mut self, decision: usize, id: Uuid, found: &DocumentStanding) {
        self.value["decisions"][decision]["document"] = json!({
            "id": id.to_string(),
            "within": found.problem.is_none(),
            "strategies": found.strategies,
            "problem": found.problem.as_ref().map(shown),
        });
    }

    /// Returns the answer as it is shown.
    pub fn into_value(self) -> Value {
        self.value
    }
}

impl Access {
    /// Explains what a key may do. If a stored document is asked about, whoever knows documents adds
    /// how it stands.
    ///
    /// # Errors
    ///
    /// [`ManageError`] where there is no such key, method or resource, or the registry cannot be
    /// read.
    pub async fn explain(
        &self,
        asked: &Explain,
        now: Timestamp,
    ) -> Result<Explanation, ManageError> {
        let _current = self.begin_change(now).await?;
        self.explanation(asked)
    }

    /// Does the same as [`Access::explain`] with the registry as it is.
    pub(crate) fn explanation(&self, asked: &Explain) -> Result<Explanation, ManageError> {
        let client = &*self.client(&asked.key)?;
        let method = asked.method.as_str();
        let (path, changes) = changes_of(&asked.resource);
        let actions = if changes { actions_on_changes(method)? } else { actions(method)? };
        let (path, document) = document_of(path)?;
        let refused = refused(client);
        let resource = self.resource(path)?;
        let leaf = self.claims.of_resource(resource);
        let mut decisions: Vec<Value> = self.look_up(|registry| {
            let set = client.claim_set.as_deref().and_then(|name| registry.set(name));
            actions
                .iter()
                .map(|action| {
                    let decided = set.map(|known| decide(&self.claims, &known.set, leaf, *action));
                    decision(client, resource, *action, decided.as_ref(), refused.as_ref())
                })
                .collect()
        });
        let document = document.map(|id| {
            for decision in &mut decisions {
                decision["document"] = Value::Null;
            }
            let grants = actions.iter().map(|action| {
                let grant = authorize(client, resource, *action).ok();
                grant.map(|grant| (grant, *action != Action::Create))
            });
            AskedDocument { resource: resource.id, id, grants: grants.collect() }
        });
        let lineage: Vec<String> =
            self.claims.lineage(leaf).map(|claim| claim.name.to_string()).collect();
        let value = json!({
            "key": client.key,
            "claimSet": client.claim_set,
            "educationOrganizations": *client.education_organizations,
            "namespacePrefixes": *client.namespace_prefixes,
            "ownershipTokens": *client.ownership_tokens,
            "refused": refused.as_ref().map(shown),
            "resource": format!("/{}/{}", resource.schema, resource.endpoint),
            "claims": lineage,
            "decisions": decisions,
        });
        Ok(Explanation { value, document })
    }

    fn resource(&self, text: &str) -> Result<&Resource, ManageError> {
        let path = text.trim().trim_matches('/');
        let wanted = path.strip_prefix("data/v3/").unwrap_or(path);
        let matches = |resource: &&Resource| match wanted.split_once('/') {
            Some((schema, endpoint)) => {
                resource.schema.eq_ignore_ascii_case(schema)
                    && resource.endpoint.eq_ignore_ascii_case(endpoint)
            }
            None => {
                resource.endpoint.eq_ignore_ascii_case(wanted)
                    || resource.name.eq_ignore_ascii_case(wanted)
            }
        };
        self.model.resources.iter().find(matches).ok_or_else(|| {
            let known = self.model.resources.iter().map(|resource| resource.endpoint.as_str());
            let last = wanted.rsplit('/').next().unwrap_or(wanted);
            ManageError::Invalid(format!(
                "there is no resource `{text}`{}",
                did_you_mean(last, known)
            ))
        })
    }
}

/// Returns why every call with a key is refused, whatever its rights; [`None`] where the key may
/// call.
fn refused(client: &ApiClient) -> Option<Problem> {
    let stranger = |what: String, mend: &str| {
        Some(Problem::of(Kind::AuthenticationFailed).detail(what).hint(mend))
    };
    match client.status {
        Status::Revoked(since) => {
            return stranger(
                format!("The key was revoked at {since}, which is permanent."),
                "Create another with `homeroom keys create`.",
            );
        }
        Status::Suspended => {
            return stranger(
                "The key is suspended: by `homeroom keys suspend`, or its application is not enabled, or the \
                 key is not approved."
                    .into(),
                "Run `homeroom keys resume`, or PUT /adminapi/v2/applications/{id} with \"enabled\": true, or \
                 /adminapi/v2/apiclients/{id} with \"isApproved\": true.",
            );
        }
        Status::Active => {}
    }
    admitted(client, Scope::Data.name()).err()
}

/// Returns a path without its changes suffix, and whether it had one. The suffix of partitions is
/// dropped too, since they partition all documents.
fn changes_of(path: &str) -> (&str, bool) {
    let whole = path.trim().trim_end_matches('/');
    let tail = |name: &str| {
        let at = whole.len().checked_sub(name.len())?;
        let (before, found) = whole.split_at_checked(at)?;
        found.eq_ignore_ascii_case(name).then_some(before)
    };
    match (tail("/deletes").or_else(|| tail("/keyChanges")), tail("/partitions")) {
        (Some(before), _) => (before, true),
        (None, Some(before)) => (before, false),
        (None, None) => (path, false),
    }
}

/// Returns the action of a method on a path of changes; reading is the only one.
fn actions_on_changes(method: &str) -> Result<Vec<Action>, ManageError> {
    let is_reading = ["GET", "HEAD", Action::ReadChanges.name()];
    if is_reading.iter().any(|name| name.eq_ignore_ascii_case(method)) {
        return Ok(vec![Action::ReadChanges]);
    }
    Err(ManageError::Invalid(format!(
        "`{method}` does not apply to changes, which are read with GET"
    )))
}

/// Splits the id of a document off the end of a path.
fn document_of(path: &str) -> Result<(&str, Option<Uuid>), ManageError> {
    let whole = path.trim().trim_matches('/');
    let below = whole.strip_prefix("data/v3/").unwrap_or(whole);
    match (below.matches('/').count(), whole.rsplit_once('/')) {
        (2, Some((resource, id))) => match Uuid::read(id) {
            Some(id) => Ok((resource, Some(id))),
            None => Err(ManageError::Invalid(format!(
                "`{id}` is not a document id, which has 32 hex digits"
            ))),
        },
        _ => Ok((path, None)),
    }
}

fn actions(method: &str) -> Result<Vec<Action>, ManageError> {
    if let Some(action) = Action::read(method) {
        return Ok(vec![action]);
    }
    match method.to_ascii_uppercase().as_str() {
        "GET" | "HEAD" => Ok(vec![Action::Read]),
        "POST" => Ok(vec![Action::Create, Action::Update]),
        "PUT" => Ok(vec![Action::Update]),
        _ => Err(ManageError::Invalid(format!(
            "`{method}` is neither a method (GET, POST, PUT, DELETE) nor an action ({})",
            Action::ALL.map(Action::name).join(", ")
        ))),
    }
}

fn decision(
    client: &ApiClient,
    resource: &Resource,
    action: Action,
    decided: Option<&Decided<'_>>,
    refused: Option<&Problem>,
) -> Value {
    let outcome = authorize(client, resource, action);
    let (granted_by, from) =
        decided.map_or((None, None), |decided| (decided.granted_by, decided.strategies_from));
    let strategies: Vec<&str> = match client.rights.permission(resource.id, action) {
        crate::rights::Permission::Granted(strategies) => {
            strategies.iter().map(Strategy::name).collect()
        }
        _ => vec![],
    };
    json!({
        "action": action.name(),
        "allowed": outcome.is_ok() && refused.is_none(),
        "grantedBy": granted_by.map(|claim| claim.name.to_string()),
        "strategies": strategies,
        "strategiesFrom": from.map(|(claim, _)| claim.name.to_string()),
        "strategiesAreDefaults": from.map(|(_, own)| !own),
        "problem": outcome.err().map(|denial| shown(&denial.into())),
    })
}

fn shown(problem: &Problem) -> Value {
    let detail = problem.detail.clone().unwrap_or_else(|| problem.kind.detail().to_owned());
    json!({
        "status": problem.kind.status().as_u16(),
        "type": problem.kind.urn(),
        "detail": detail,
        "errors": problem.errors,
        "hint": problem.hint,
    })
}
