//! Claim sets: put and listed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ManageError;
use crate::access::Access;
use crate::change::Change;
use crate::claim_set::{ClaimSet, fold_name};
use crate::client::Status;
use crate::registry::Registry;
use crate::strategy::Strategy;

impl Access {
    pub(super) fn put_claim_set(
        &self,
        change: &mut Change<'_>,
        name: &str,
        definition: &Value,
    ) -> Result<Value, ManageError> {
        let set = ClaimSet::read(name, definition, &self.claims).map_err(|faults| {
            ManageError::Invalid(format!(
                "the claim set `{name}` cannot be used:\n  {}",
                faults.join("\n  ")
            ))
        })?;
        let folded = fold_name(&set.name);
        if folded.is_empty() {
            return Err(ManageError::Invalid("the name of a claim set needs a letter".into()));
        }
        let replaced = self.look_up(|registry| registry.sets.contains_key(&folded));
        let mut answer = json!({
            "name": set.name,
            "replaced": replaced,
            "resourceClaims": set.grants.len(),
        });
        let undefined = self.look_up(|registry| undefined(registry, &set));
        if !undefined.is_empty() {
            answer["undefinedStrategies"] = undefined.into_iter().collect();
        }
        change.put_claim_set(set)?;
        Ok(answer)
    }

    pub(super) fn list_claim_sets(&self) -> Value {
        let sets = self.look_up(|registry| {
            let sets = registry.sets.values();
            sets.map(|known| {
                let clients = registry.clients.values();
                let keys = clients
                    .filter(|r| r.client.claim_set.as_ref() == Some(&known.set.name))
                    .filter(|r| r.client.status == Status::Active);
                json!({
                    "name": known.set.name,
                    "shipped": known.shipped,
                    "resourceClaims": known.set.grants.len(),
                    "keys": keys.count(),
                })
            })
            .collect::<Vec<_>>()
        });
        json!({ "claimSets": sets })
    }
}

/// Strategies that a set names and nobody has defined.
fn undefined(registry: &Registry, set: &ClaimSet) -> BTreeSet<String> {
    let strategies = set.grants().flat_map(|(_, actions)| actions.iter());
    let names = strategies.flat_map(|(_, strategies)| strategies.iter().flatten());
    let is_missing = |strategy: &&Strategy| matches!(strategy, Strategy::Custom(name) if registry.views().get(name).is_none());
    names.filter(is_missing).map(|strategy| strategy.name().to_owned()).collect()
}
