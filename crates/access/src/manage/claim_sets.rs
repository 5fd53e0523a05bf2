//! Claim sets: put and listed.

use homeroom_http::Timestamp;
use homeroom_store::Sql;
use serde_json::{Value, json};

use super::ManageError;
use crate::access::Access;
use crate::claim_set::{ClaimSet, fold_name};
use crate::client::Status;
use crate::sql;

/// Most claim sets of a store, the shipped ones included.
const CLAIM_SETS_MAX: usize = 1_000;

impl Access {
    pub(super) async fn put_claim_set(
        &self,
        name: &str,
        definition: &Value,
        now: Timestamp,
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
        let replaced = self.look_up(|registry| match registry.sets.get(&folded) {
            Some(known) if known.shipped => Err(ManageError::Refused(format!(
                "the claim set `{}` is shipped and stays as published; choose another name",
                known.set.name
            ))),
            None if registry.sets.len() >= CLAIM_SETS_MAX => {
                Err(ManageError::Refused(format!("there are {CLAIM_SETS_MAX} claim sets already")))
            }
            known => Ok(known.is_some()),
        })?;
        let arguments = vec![
            folded.into(),
            set.name.as_str().into(),
            set.to_json().to_string().into(),
            now.0.into(),
        ];
        let version = self.write(vec![Sql::new(sql::PUT_CLAIM_SET, arguments)]).await?;
        let answer = json!({
            "name": set.name,
            "replaced": replaced,
            "resourceClaims": set.grants.len(),
        });
        self.change(version, |registry| registry.put_set(set, &self.claims));
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
