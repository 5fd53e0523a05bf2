//! Extracts the claims of an extension from a hierarchy that also has those of the standard.

use std::collections::{BTreeMap, BTreeSet};

use homeroom_model::Model;

use super::outcome::{ImportError, Imported};
use super::reference::{Reference, ReferenceClaim, plain, resources};
use crate::claim_name::ROOT;
use crate::claims_file::{self, ClaimsFile};

const HEADING: &str = "\
# Resource claims of an extension, added to those of the standard if a model has the extension.
# Made by `homeroom claim-sets import --extension`; the form is that of models/ed-fi/claims.toml.

";

/// The inputs for the claims file of an extension.
#[derive(Debug, Clone, Copy)]
pub struct ExtensionClaims<'a> {
    /// A published hierarchy, or a published addition to one.
    pub reference: &'a str,
    /// A model with the extension.
    pub model: &'a Model,
    /// The claims file of the standard.
    pub standard: &'a str,
    /// Path segment of the extension, `tpdm`.
    pub schema: &'a str,
    /// Claim sets to which it also adds grants on claims of the standard.
    pub whole_sets: &'a [String],
}

/// Builds the claims file of an extension: its claims in their places, and the grants on them for
/// the sets of the standard's file.
///
/// # Errors
///
/// [`ImportError`] names the claim whose actions or strategies have no meaning here.
pub fn import_extension(asked: &ExtensionClaims<'_>) -> Result<Imported, ImportError> {
    let reference: Reference = serde_json::from_str(asked.reference)?;
    let standard = claims_file::read(asked.standard)?;
    let mut importer = Importer {
        schema: format!("{}/", asked.schema.to_ascii_lowercase()),
        resources: resources(asked.model),
        claims: standard.claims(),
        whole: asked.whole_sets.iter().map(|name| plain(name)).collect(),
        standard: &standard,
        file: ClaimsFile::default(),
        left_out: vec![],
    };
    let mut roots = vec![];
    for claim in &reference.claims_hierarchy {
        roots.extend(importer.claim(claim, 0)?);
    }
    if !roots.is_empty() {
        roots.sort_unstable();
        importer.file.tree.insert(ROOT.to_owned(), roots);
    }
    Ok(Imported {
        text: claims_file::write(HEADING, &importer.file),
        claim_sets: importer.file.sets.keys().cloned().collect(),
        left_out_sets: vec![],
        left_out_claims: importer.left_out,
    })
}

struct Importer<'a> {
    /// Prefix of its claims.
    schema: String,
    resources: BTreeSet<String>,
    /// Paths of the standard's claims, by key.
    claims: BTreeMap<String, String>,
    whole: BTreeSet<String>,
    standard: &'a ClaimsFile,
    file: ClaimsFile,
    left_out: Vec<String>,
}

impl Importer<'_> {
    /// Takes what belongs to the extension from a claim and all below it. Returns the path of the
    /// claim if it is the extension's own.
    fn claim(
        &mut self,
        claim: &ReferenceClaim,
        depth: usize,
    ) -> Result<Option<String>, ImportError> {
        let Some(name) = claim.read_name(depth)? else { return Ok(None) };
        let mut children = vec![];
        for child in &claim.claims {
            children.extend(self.claim(child, depth + 1)?);
        }
        let of_standard = self.claims.get(&name.key()).cloned();
        let is_resource = name.key().starts_with(&self.schema);
        let is_own = of_standard.is_none() && (is_resource || !children.is_empty());
        if is_own && is_resource && !self.resources.contains(&name.key()) {
            self.left_out.push(name.path().to_owned());
            return Ok(None);
        }
        let path = of_standard.unwrap_or_else(|| name.path().to_owned());
        if !children.is_empty() {
            children.sort_unstable();
            self.file.tree.insert(path.clone(), children);
        }
        if is_own {
            let defaults = claim.defaults()?;
            if defaults.iter().any(|(_, strategies)| strategies.is_some()) {
                self.file.defaults.insert(path.clone(), defaults);
            }
        }
        for granted in &claim.claim_sets {
            let set = plain(&granted.name);
            let Some(now) = self.standard.sets.get(&set) else { continue };
            let is_wanted =
                is_own || self.whole.contains(&set) && self.claims.contains_key(&name.key());
            let grants = claim.grants(granted)?;
            if is_wanted && now.get(&path) != Some(&grants) {
                self.file.sets.entry(set).or_default().insert(path.clone(), grants);
            }
        }
        Ok(is_own.then_some(path))
    }
}
