//! Why a client may do something, or may not: claim by claim.

use std::sync::Arc;

use homeroom_model::Resource;
use serde_json::{Value, json};

use crate::access::Access;
use crate::action::Action;
use crate::authorize::authorize;
use crate::client::ApiClient;
use crate::manage::ManageError;
use crate::nearest::did_you_mean;
use crate::rights::{Decided, decide};
use crate::strategy::Strategy;

impl Access {
    /// Explains what `client` may do to a resource with an HTTP method or an action.
    pub(crate) fn explain(
        &self,
        client: &Arc<ApiClient>,
        method: &str,
        resource: &str,
    ) -> Result<Value, ManageError> {
        let actions = actions(method)?;
        let resource = self.resource(resource)?;
        let leaf = self.claims.of_resource(resource);
        let decisions: Vec<Value> = self.look_up(|registry| {
            let set = client.claim_set.as_deref().and_then(|name| registry.set(name));
            actions
                .iter()
                .map(|action| {
                    let decided = set.map(|known| decide(&self.claims, &known.set, leaf, *action));
                    decision(client, resource, *action, decided.as_ref())
                })
                .collect()
        });
        let lineage: Vec<String> =
            self.claims.lineage(leaf).map(|claim| claim.name.to_string()).collect();
        Ok(json!({
            "key": client.key,
            "claimSet": client.claim_set,
            "educationOrganizations": *client.education_organizations,
            "namespacePrefixes": *client.namespace_prefixes,
            "resource": format!("/{}/{}", resource.schema, resource.endpoint),
            "claims": lineage,
            "decisions": decisions,
        }))
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
        "allowed": outcome.is_ok(),
        "grantedBy": granted_by.map(|claim| claim.name.to_string()),
        "strategies": strategies,
        "strategiesFrom": from.map(|(claim, _)| claim.name.to_string()),
        "strategiesAreDefaults": from.map(|(_, own)| !own),
        "problem": outcome.err().map(|problem| json!({
            "status": problem.kind.status().as_u16(),
            "type": problem.kind.urn(),
            "detail": problem.detail.clone().unwrap_or_else(|| problem.kind.detail().to_owned()),
            "errors": problem.errors,
            "hint": problem.hint,
        })),
    })
}
