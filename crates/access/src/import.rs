//! From the published claims hierarchy to the claims file.

use std::collections::{BTreeMap, BTreeSet};

use homeroom_model::Model;
use serde::Deserialize;

use crate::action::Action;
use crate::claim_name::{ClaimName, ROOT};
use crate::claims_file::{self, ClaimsError, ClaimsFile, Rule};
use crate::strategy::Strategy;

/// Deepest nesting of claims that is read.
const DEPTH_MAX: usize = 16;

const HEADING: &str = "\
# Resource claims of Ed-Fi: the hierarchy, the default strategies, the published claim sets.
# Made by `homeroom claim-sets import`, which replaces all but `own`, the sets named there, and
# `successors` (kinds of older standards and the claims below which they stand).
# A rule is `ACTION …[: STRATEGY …]`, several divided by `;`; without strategies the defaults hold,
# nearest to the leaf. `*` is above all claims.

";

/// A claims hierarchy that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The hierarchy is not in the published form.
    #[error("the hierarchy cannot be read: {0}")]
    Reference(#[from] serde_json::Error),
    /// A name in it has no meaning here.
    #[error("{claim}: {message}")]
    Claim {
        /// The claim that says it.
        claim: String,
        /// What cannot be understood.
        message: String,
    },
    /// The claims file that is there cannot be read.
    #[error(transparent)]
    Current(#[from] ClaimsError),
}

/// A claims file, and what was left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The new text of the claims file.
    pub text: String,
    /// The published claim sets that it has.
    pub claim_sets: Vec<String>,
    /// Claim sets that were left out.
    pub left_out_sets: Vec<String>,
    /// Claims that are no resource of the model, and domains that were left without one.
    pub left_out_claims: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    claim_sets: Vec<ReferenceSet>,
    claims_hierarchy: Vec<ReferenceClaim>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceSet {
    claim_set_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceClaim {
    name: String,
    #[serde(default)]
    default_authorization: Defaults,
    #[serde(default)]
    claim_sets: Vec<Granted>,
    #[serde(default)]
    claims: Vec<ReferenceClaim>,
}

#[derive(Deserialize, Default)]
struct Defaults {
    #[serde(default)]
    actions: Vec<ReferenceAction>,
}

#[derive(Deserialize)]
struct Granted {
    name: String,
    #[serde(default)]
    actions: Vec<ReferenceAction>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceAction {
    name: String,
    #[serde(default, alias = "authorizationStrategyOverrides")]
    authorization_strategies: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Builds the claims file of a model from a published hierarchy (`Claims.json`) and the claims file
/// that is there now, possibly empty, whose own parts stay.
///
/// Claim sets whose name begins with `test_prefix` are left out, and so are claims that stand for no
/// resource of the model. Services stay.
///
/// # Errors
///
/// [`ImportError`] names the claim whose actions or strategies have no meaning here.
pub fn import(
    reference: &str,
    model: &Model,
    current: &str,
    test_prefix: &str,
) -> Result<Imported, ImportError> {
    let reference: Reference = serde_json::from_str(reference)?;
    let current = match current.trim() {
        "" => ClaimsFile::default(),
        _ => claims_file::read(current)?,
    };
    let (kept, left_out): (Vec<String>, Vec<String>) = reference
        .claim_sets
        .into_iter()
        .map(|set| set.claim_set_name)
        .partition(|name| !name.starts_with(test_prefix));
    let mut importer = Importer {
        resources: model
            .resources
            .iter()
            .map(|resource| ClaimName::of_resource(&resource.schema, &resource.name).key())
            .collect(),
        file: ClaimsFile {
            sets: kept.iter().map(|name| (name.clone(), BTreeMap::new())).collect(),
            successors: current.successors,
            ..ClaimsFile::default()
        },
        left_out: vec![],
    };
    let mut roots = vec![];
    for claim in &reference.claims_hierarchy {
        roots.extend(importer.claim(claim, 0)?);
    }
    roots.sort_unstable();
    let mut file = importer.file;
    file.tree.insert(ROOT.to_owned(), roots);
    for name in current.own {
        if let Some(grants) = current.sets.get(&name) {
            file.sets.insert(name.clone(), grants.clone());
            file.own.push(name);
        }
    }
    Ok(Imported {
        text: claims_file::write(HEADING, &file),
        claim_sets: kept,
        left_out_sets: left_out,
        left_out_claims: importer.left_out,
    })
}

struct Importer {
    resources: BTreeSet<String>,
    file: ClaimsFile,
    left_out: Vec<String>,
}

impl Importer {
    /// Takes a claim with all below it; its path, unless it was left out.
    fn claim(
        &mut self,
        claim: &ReferenceClaim,
        depth: usize,
    ) -> Result<Option<String>, ImportError> {
        let wrong = |message: String| ImportError::Claim { claim: claim.name.clone(), message };
        if depth > DEPTH_MAX {
            return Err(wrong(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let name =
            ClaimName::read(&claim.name).ok_or_else(|| wrong("is no URI of a claim".into()))?;
        let mut children = vec![];
        for child in &claim.claims {
            children.extend(self.claim(child, depth + 1)?);
        }
        let stays = !children.is_empty()
            || name.service().is_some()
            || self.resources.contains(&name.key());
        let path = name.path().to_owned();
        if !stays {
            self.left_out.push(path);
            return Ok(None);
        }
        if !children.is_empty() {
            children.sort_unstable();
            self.file.tree.insert(path.clone(), children);
        }
        let defaults = rule(&claim.default_authorization.actions).map_err(wrong)?;
        if defaults.iter().any(|(_, strategies)| strategies.is_some()) {
            self.file.defaults.insert(path.clone(), defaults);
        }
        for granted in &claim.claim_sets {
            if let Some(set) = self.file.sets.get_mut(&granted.name) {
                let grants = rule(&granted.actions).map_err(wrong)?;
                if set.insert(path.clone(), grants).is_some() {
                    return Err(wrong(format!("the claim set {} stands twice", granted.name)));
                }
            }
        }
        Ok(Some(path))
    }
}

fn rule(actions: &[ReferenceAction]) -> Result<Rule, String> {
    let mut rule = Rule::default();
    for item in actions {
        let action =
            Action::read(&item.name).ok_or_else(|| format!("`{}` is no action", item.name))?;
        let strategies = item
            .authorization_strategies
            .iter()
            .map(|strategy| {
                Strategy::read(&strategy.name, |_| true)
                    .ok_or_else(|| format!("`{}` is no strategy", strategy.name))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if rule.get_mut(action).replace(strategies).is_some() {
            return Err(format!("the action {} stands twice", item.name));
        }
    }
    Ok(rule)
}
