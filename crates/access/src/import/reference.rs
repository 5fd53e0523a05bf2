//! The published claims, as their file has them.

use std::collections::BTreeSet;

use homeroom_model::{Model, Resource};
use serde::Deserialize;

use super::outcome::ImportError;
use crate::action::Action;
use crate::claim_name::ClaimName;
use crate::claims_file::Rule;
use crate::strategy::Strategy;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    #[serde(default)]
    pub claim_sets: Vec<ReferenceSet>,
    /// Published additions to a hierarchy call it `resourceClaims`.
    #[serde(alias = "resourceClaims")]
    pub claims_hierarchy: Vec<ReferenceClaim>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferenceSet {
    pub claim_set_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferenceClaim {
    pub name: String,
    #[serde(default)]
    pub default_authorization: Defaults,
    #[serde(default, rename = "_defaultAuthorizationStrategiesForCrud")]
    pub default_strategies: Vec<ReferenceAction>,
    #[serde(default)]
    pub claim_sets: Vec<Granted>,
    #[serde(default, alias = "children")]
    pub claims: Vec<ReferenceClaim>,
}

impl ReferenceClaim {
    /// Returns its name; [`None`] where it belongs to another organization.
    pub(super) fn read_name(&self, depth: usize) -> Result<Option<ClaimName>, ImportError> {
        if depth > DEPTH_MAX {
            return Err(self.wrong(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        if is_of_others(&self.name) {
            return Ok(None);
        }
        let name = ClaimName::read(&self.name);
        name.map(Some).ok_or_else(|| self.wrong("is not the URI of a claim".into()))
    }

    pub(super) fn defaults(&self) -> Result<Rule, ImportError> {
        rule(self.default_authorization.actions.iter().chain(&self.default_strategies))
            .map_err(|message| self.wrong(message))
    }

    /// Returns what it grants a claim set.
    pub(super) fn grants(&self, granted: &Granted) -> Result<Rule, ImportError> {
        rule(&granted.actions).map_err(|message| self.wrong(message))
    }

    pub(super) fn wrong(&self, message: String) -> ImportError {
        ImportError::Claim { claim: self.name.clone(), message }
    }
}

#[derive(Deserialize, Default)]
pub(super) struct Defaults {
    #[serde(default)]
    pub actions: Vec<ReferenceAction>,
}

#[derive(Deserialize)]
pub(super) struct Granted {
    pub name: String,
    #[serde(default)]
    pub actions: Vec<ReferenceAction>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferenceAction {
    #[serde(alias = "actionName")]
    pub name: String,
    #[serde(default, alias = "authorizationStrategyOverrides")]
    pub authorization_strategies: Vec<Named>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub name: String,
}

/// Returns the claims of a model's resources.
pub(super) fn resources(model: &Model) -> BTreeSet<String> {
    let name = |resource: &Resource| ClaimName::of_resource(&resource.schema, &resource.name).key();
    model.resources.iter().map(name).collect()
}

/// Returns a set's name as a claims file writes it.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace() && *letter != '-').collect()
}

/// Deepest nesting of claims that is read.
pub(super) const DEPTH_MAX: usize = 16;

/// Returns whether a claim is a URI of another organization.
pub(super) fn is_of_others(claim: &str) -> bool {
    let rest = claim.split_once("://").map(|(_, rest)| rest.to_ascii_lowercase());
    rest.is_some_and(|rest| !rest.starts_with("ed-fi.org/"))
}

pub(super) fn rule<'a>(
    actions: impl IntoIterator<Item = &'a ReferenceAction>,
) -> Result<Rule, String> {
    let mut rule = Rule::default();
    for item in actions {
        let action =
            Action::read(&item.name).ok_or_else(|| format!("`{}` is not an action", item.name))?;
        let strategies = item
            .authorization_strategies
            .iter()
            .map(|strategy| {
                Strategy::read(&strategy.name, |_| true)
                    .ok_or_else(|| format!("`{}` is not a strategy", strategy.name))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if rule.get_mut(action).replace(strategies).is_some() {
            return Err(format!("the action {} appears twice", item.name));
        }
    }
    Ok(rule)
}
