//! Puts, lists, shows and removes claim sets.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::access::Access;
use crate::change::Change;
use crate::claim_set::{ClaimSet, fold_name};
use crate::client::Status;
use crate::error::ManageError;
use crate::registry::{KnownSet, Registry};
use crate::strategy::Strategy;

impl Access {
    pub(super) fn put_claim_set(
        &self,
        change: &mut Change<'_>,
        name: &str,
        definition: &Value,
    ) -> Result<Value, ManageError> {
        let mut set = ClaimSet::read(name, definition, &self.claims).map_err(|faults| {
            ManageError::Invalid(format!(
                "the claim set `{name}` cannot be used:\n  {}",
                faults.join("\n  ")
            ))
        })?;
        let folded = fold_name(&set.name);
        if folded.is_empty() {
            return Err(ManageError::Invalid("the name of a claim set needs a letter".into()));
        }
        // The override takes the name that keys and applications use for the set.
        let shipped = self.claims.shipped_named(&folded);
        if let Some(shipped) = shipped {
            set.name.clone_from(&shipped.name);
        }
        let replaced = self.look_up(|registry| {
            registry.sets.get(&folded).is_some_and(|known| !known.is_shipped())
        });
        let mut answer = json!({
            "name": set.name,
            "replaced": replaced,
            "overridesShipped": shipped.is_some(),
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
                    "shipped": known.is_shipped(),
                    "overridesShipped": known.is_override(),
                    "resourceClaims": known.set.grants.len(),
                    "keys": keys.count(),
                })
            })
            .collect::<Vec<_>>()
        });
        json!({ "claimSets": sets })
    }

    /// Returns the definition of a set in the form that `put` takes, with the set's origin.
    pub(super) fn show_claim_set(&self, name: &str) -> Result<Value, ManageError> {
        self.look_up(|registry| {
            let known = found(registry, name)?;
            let mut shown = known.set.to_json();
            shown["shipped"] = known.is_shipped().into();
            shown["overridesShipped"] = known.is_override().into();
            Ok(shown)
        })
    }
}

/// Removes a set.
pub(super) fn remove(change: &mut Change<'_>, name: &str) -> Result<Value, ManageError> {
    let name =
        change.look_up(|registry| Ok::<_, ManageError>(found(registry, name)?.set.name.clone()))?;
    let is_override = change.remove_claim_set(&name)?;
    Ok(json!({"name": name, "removed": true, "shippedIsBack": is_override}))
}

fn found<'r>(registry: &'r Registry, name: &str) -> Result<&'r KnownSet, ManageError> {
    registry.set(name).ok_or_else(|| ManageError::UnknownClaimSet {
        name: name.to_owned(),
        known: registry.set_names(),
    })
}

/// Returns strategies that a set names but that are not defined.
fn undefined(registry: &Registry, set: &ClaimSet) -> BTreeSet<String> {
    let strategies = set.grants().flat_map(|(_, actions)| actions.iter());
    let names = strategies.flat_map(|(_, strategies)| strategies.iter().flatten());
    let is_missing = |strategy: &&Strategy| matches!(strategy, Strategy::Custom(name) if registry.views().get(name).is_none());
    names.filter(is_missing).map(|strategy| strategy.name().to_owned()).collect()
}
