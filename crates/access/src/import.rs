//! Imports published claims hierarchies into claims files, for the standard and for extensions.

mod extension;
mod outcome;
mod reference;

use std::collections::{BTreeMap, BTreeSet};

use homeroom_model::Model;

use crate::claim_name::ROOT;
use crate::claims_file::{self, ClaimsFile};

pub use extension::{ExtensionClaims, import_extension};
pub use outcome::{ImportError, Imported};
use reference::{Reference, ReferenceClaim, plain, resources};

const HEADING: &str = "\
# Resource claims of Ed-Fi: the hierarchy, the default strategies, the published claim sets.
# Made by `homeroom claim-sets import`, which replaces all but `own`, the sets named there, and
# `successors` (kinds of older standards and the claims below which they belong).
# A rule is `ACTION …[: STRATEGY …]`; `;` separates several rules. Without strategies the defaults
# nearest to the leaf apply. `*` is above all claims.

";

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
