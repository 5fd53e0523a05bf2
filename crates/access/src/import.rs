//! Imports published claims hierarchies into claims files, for the standard and for extensions.

mod extension;

use std::collections::{BTreeMap, BTreeSet};

use homeroom_model::{Model, Resource};
use serde::Deserialize;

use crate::action::Action;
use crate::claim_name::{ClaimName, ROOT};
use crate::claims_file::{self, ClaimsError, ClaimsFile, Rule};
use crate::strategy::Strategy;
pub use extension::{ExtensionClaims, import_extension};

/// Deepest nesting of claims that is read.
const DEPTH_MAX: usize = 16;

const HEADING: &str = "\
# Resource claims of Ed-Fi: the hierarchy, the default strategies, the published claim sets.
# Made by `homeroom claim-sets import`, which replaces all but `own`, the sets named there, and
# `successors` (kinds of older standards and the claims below which they belong).
# A rule is `ACTION …[: STRATEGY …]`; `;` separates several rules. Without strategies the defaults
# nearest to the leaf apply. `*` is above all claims.

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
        /// The claim that contains it.
        claim: String,
        /// The part that cannot be parsed.
        message: String,
    },
    /// The current claims file cannot be read.
    #[error(transparent)]
    Current(#[from] ClaimsError),
}

/// A claims file, and what was left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The new text of the claims file.
    pub text: String,
    /// The published claim sets that it contains.
    pub claim_sets: Vec<String>,
    /// Claim sets that were left out.
    pub left_out_sets: Vec<String>,
    /// Claims that match no resource of the model, and domains that became empty.
    pub left_out_claims: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    claim_sets: Vec<ReferenceSet>,
    /// Published additions to a hierarchy call it `resourceClaims`.
    #[serde(alias = "resourceClaims")]
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
    #[serde(default, rename = "_defaultAuthorizationStrategiesForCrud")]
    default_strategies: Vec<ReferenceAction>,
    #[serde(default)]
    claim_sets: Vec<Granted>,
    #[serde(default, alias = "children")]
    claims: Vec<ReferenceClaim>,
}

impl ReferenceClaim {
    /// Returns its name; [`None`] where it belongs to another organization.
    fn read_name(&self, depth: usize) -> Result<Option<ClaimName>, ImportError> {
        if depth > DEPTH_MAX {
            return Err(self.wrong(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        if is_of_others(&self.name) {
            return Ok(None);
        }
        let name = ClaimName::read(&self.name);
        name.map(Some).ok_or_else(|| self.wrong("is not the URI of a claim".into()))
    }

    fn defaults(&self) -> Result<Rule, ImportError> {
        rule(self.default_authorization.actions.iter().chain(&self.default_strategies))
            .map_err(|message| self.wrong(message))
    }

    /// Returns what it grants a claim set.
    fn grants(&self, granted: &Granted) -> Result<Rule, ImportError> {
        rule(&granted.actions).map_err(|message| self.wrong(message))
    }

    fn wrong(&self, message: String) -> ImportError {
        ImportError::Claim { claim: self.name.clone(), message }
    }
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
    #[serde(alias = "actionName")]
    name: String,
    #[serde(default, alias = "authorizationStrategyOverrides")]
    authorization_strategies: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Builds the claims file of a model from published hierarchies (`Claims.json`) and the current
/// claims file, which may be empty and whose own parts stay.
///
/// The first gives the hierarchy, its defaults and its claim sets; each further one adds the sets
/// that those before it lack. Sets are named without spaces and hyphens. Sets whose name begins
/// with `test_prefix` are left out, and so are claims that match no resource of the model. Services
/// stay.
///
/// # Errors
///
/// [`ImportError`] names the claim whose actions or strategies have no meaning here.
pub fn import(
    references: &[&str],
    model: &Model,
    current: &str,
    test_prefix: &str,
) -> Result<Imported, ImportError> {
    let current = match current.trim() {
        "" => ClaimsFile::default(),
        _ => claims_file::read(current)?,
    };
    let mut file = ClaimsFile { successors: current.successors, ..ClaimsFile::default() };
    let (mut claim_sets, mut left_out_sets, mut left_out_claims) = (vec![], vec![], vec![]);
    for (at, reference) in references.iter().enumerate() {
        let reference: Reference = serde_json::from_str(reference)?;
        let (kept, left_out): (Vec<String>, Vec<String>) = reference
            .claim_sets
            .into_iter()
            .map(|set| set.claim_set_name)
            .partition(|name| !name.starts_with(test_prefix));
        let new: Vec<String> = kept.iter().map(|name| plain(name)).collect();
        let new: Vec<String> =
            new.into_iter().filter(|name| !file.sets.contains_key(name)).collect();
        let mut importer = Importer {
            resources: resources(model),
            file: ClaimsFile {
                sets: new.iter().map(|name| (name.clone(), BTreeMap::new())).collect(),
                ..ClaimsFile::default()
            },
            left_out: vec![],
        };
        let mut roots = vec![];
        for claim in &reference.claims_hierarchy {
            roots.extend(importer.claim(claim, 0)?);
        }
        roots.sort_unstable();
        if at == 0 {
            file.tree = importer.file.tree;
            file.tree.insert(ROOT.to_owned(), roots);
            file.defaults = importer.file.defaults;
            left_out_claims = importer.left_out;
        }
        let known = file.claims();
        for (name, mut grants) in importer.file.sets {
            grants.retain(|claim, _| known.contains_key(&claim.to_ascii_lowercase()));
            file.sets.insert(name, grants);
        }
        claim_sets.extend(new);
        left_out_sets.extend(left_out);
    }
    for name in current.own {
        if let Some(grants) = current.sets.get(&name) {
            file.sets.insert(name.clone(), grants.clone());
            file.own.push(name);
        }
    }
    let text = claims_file::write(HEADING, &file);
    Ok(Imported { text, claim_sets, left_out_sets, left_out_claims })
}

/// Returns the claims of a model's resources.
fn resources(model: &Model) -> BTreeSet<String> {
    let name = |resource: &Resource| ClaimName::of_resource(&resource.schema, &resource.name).key();
    model.resources.iter().map(name).collect()
}

/// Returns a set's name as a claims file writes it.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace() && *letter != '-').collect()
}

/// Returns whether a claim is a URI of another organization.
fn is_of_others(claim: &str) -> bool {
    let rest = claim.split_once("://").map(|(_, rest)| rest.to_ascii_lowercase());
    rest.is_some_and(|rest| !rest.starts_with("ed-fi.org/"))
}

struct Importer {
    resources: BTreeSet<String>,
    file: ClaimsFile,
    left_out: Vec<String>,
}

impl Importer {
    /// Takes a claim with all below it. Returns its path, unless it was left out.
    fn claim(
        &mut self,
        claim: &ReferenceClaim,
        depth: usize,
    ) -> Result<Option<String>, ImportError> {
        let Some(name) = claim.read_name(depth)? else {
            self.left_out.push(claim.name.clone());
            return Ok(None);
        };
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
        let defaults = claim.defaults()?;
        if defaults.iter().any(|(_, strategies)| strategies.is_some()) {
            self.file.defaults.insert(path.clone(), defaults);
        }
        for granted in &claim.claim_sets {
            if let Some(set) = self.file.sets.get_mut(&plain(&granted.name)) {
                let grants = claim.grants(granted)?;
                if set.insert(path.clone(), grants).is_some() {
                    let message = format!("the claim set {} appears twice", granted.name);
                    return Err(claim.wrong(message));
                }
            }
        }
        Ok(Some(path))
    }
}

fn rule<'a>(actions: impl IntoIterator<Item = &'a ReferenceAction>) -> Result<Rule, String> {
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
