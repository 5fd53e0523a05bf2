//! The hierarchy of resource claims over a model, and the shipped claim sets.

use std::collections::{BTreeMap, HashMap};

use homeroom_model::{Model, Resource, ResourceKind};

use crate::action::{Action, PerAction};
use crate::claim_name::{ClaimName, ROOT};
use crate::claim_set::{ClaimSet, Grants, Vocabulary, fold_name};
use crate::claims_file::{self, ClaimsError, ClaimsFile};
use crate::strategy::Strategy;

/// The shipped claims file.
pub const SHIPPED: &str = include_str!("../../../models/ed-fi/claims.toml");

macro_rules! extension {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../models/extensions/", $name, "/claims.toml")))
    };
}

/// The shipped claims files of extensions, by schema.
pub const EXTENSIONS_SHIPPED: &[(&str, &str)] =
    &[extension!("homograph"), extension!("sample"), extension!("tpdm")];

/// The claim for descriptors that are not managed separately.
const SYSTEM_DESCRIPTORS: &str = "domains/systemDescriptors";

/// Index of a claim in the hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimId(usize);

/// A claim in the hierarchy.
#[derive(Debug, Clone)]
pub struct Claim {
    pub(crate) name: ClaimName,
    parent: Option<ClaimId>,
    /// Default strategies; empty where the parent decides.
    pub(crate) defaults: PerAction<Vec<Strategy>>,
}

impl Claim {
    /// Returns its name.
    pub fn name(&self) -> &ClaimName {
        &self.name
    }

    /// Returns the claim above it; [`None`] for the root.
    pub fn parent(&self) -> Option<ClaimId> {
        self.parent
    }

    /// Returns its own default strategies for an action; empty where the claim above it decides.
    pub fn defaults(&self, action: Action) -> &[Strategy] {
        self.defaults.get(action)
    }
}

/// The hierarchy of resource claims over one model, with the shipped claim sets.
#[derive(Debug, Clone)]
pub struct Claims {
    nodes: Vec<Claim>,
    by_key: HashMap<String, ClaimId>,
    /// The claim of each resource, by its index in the model.
    resources: Vec<ClaimId>,
    /// Names of resources that a custom view can be named after.
    bases: Vec<String>,
    /// The shipped claim sets, by name.
    shipped: Vec<ClaimSet>,
}

impl Claims {
    /// Builds the shipped hierarchy over a model, including the shipped extensions that the model
    /// has.
    ///
    /// # Errors
    ///
    /// The same as [`Claims::read`].
    pub fn of(model: &Model) -> Result<Self, ClaimsError> {
        let mut file = claims_file::read(SHIPPED)?;
        for (schema, text) in EXTENSIONS_SHIPPED {
            if model.projects.iter().any(|project| project.schema == *schema) {
                file.add(claims_file::read(text)?);
            }
        }
        Self::over(&file, model)
    }

    /// Reads a claims file and places every resource of the model.
    ///
    /// A resource that is missing from the tree is placed below its successor where one is named. A
    /// descriptor is placed below the system descriptors, where extensions put theirs. Anything
    /// else goes directly below `*`, so only a set that grants `*` or the resource itself reaches
    /// it.
    ///
    /// # Errors
    ///
    /// The first line that names no claim, or a claim that occurs twice or has no parent.
    pub fn read(text: &str, model: &Model) -> Result<Self, ClaimsError> {
        Self::over(&claims_file::read(text)?, model)
    }

    fn over(file: &ClaimsFile, model: &Model) -> Result<Self, ClaimsError> {
        let mut claims = Self {
            nodes: vec![],
            by_key: HashMap::new(),
            resources: vec![],
            bases: model
                .resources
                .iter()
                .map(|resource| resource.name.clone())
                .chain(model.abstracts.iter().map(|base| base.name.clone()))
                .collect(),
            shipped: vec![],
        };
        claims.grow(file)?;
        claims.set_defaults(file)?;
        for resource in &model.resources {
            let id = claims.place(resource, file)?;
            claims.resources.push(id);
        }
        claims.add_sets(file)?;
        Ok(claims)
    }

    /// Returns the shipped claim sets.
    pub fn shipped(&self) -> &[ClaimSet] {
        &self.shipped
    }

    /// Returns the shipped claim set with a folded name.
    pub(crate) fn shipped_named(&self, folded: &str) -> Option<&ClaimSet> {
        self.shipped.iter().find(|set| fold_name(&set.name) == folded)
    }

    /// Returns every claim, including the root `*`.
    pub fn iter(&self) -> impl Iterator<Item = &Claim> {
        self.nodes.iter()
    }

    /// Returns a claim by its index.
    pub fn claim(&self, id: ClaimId) -> &Claim {
        &self.nodes[id.0]
    }

    /// Returns the claim with a name.
    pub fn named(&self, name: &ClaimName) -> Option<&Claim> {
        self.by_key.get(&name.key()).map(|id| self.claim(*id))
    }

    /// Returns the claims above one, nearest first.
    pub fn above<'a>(&'a self, claim: &'a Claim) -> impl Iterator<Item = &'a Claim> {
        std::iter::successors(claim.parent, |id| self.claim(*id).parent).map(|id| self.claim(id))
    }

    /// Returns the strategy with a name: a published one, or a custom view over a resource of the
    /// model.
    pub fn strategy(&self, name: &str) -> Option<Strategy> {
        Strategy::read(name, |basis| self.is_basis(basis))
    }

    /// Returns the claim of a resource.
    pub(crate) fn of_resource(&self, resource: &Resource) -> ClaimId {
        self.resources[usize::from(resource.id.0)]
    }

    /// Returns the claims of resources, in the model's order.
    pub(crate) fn of_resources(&self) -> &[ClaimId] {
        &self.resources
    }

    /// Returns the claims of services, by name.
    pub(crate) fn of_services(&self) -> impl Iterator<Item = (&str, ClaimId)> {
        self.nodes
            .iter()
            .enumerate()
            .filter_map(|(at, claim)| Some((claim.name.service()?, ClaimId(at))))
    }

    /// Returns a claim and its ancestors, from the leaf up.
    pub(crate) fn lineage(&self, leaf: ClaimId) -> impl Iterator<Item = &Claim> {
        std::iter::successors(Some(&self.nodes[leaf.0]), |claim| {
            claim.parent.map(|parent| &self.nodes[parent.0])
        })
    }

    fn grow(&mut self, file: &ClaimsFile) -> Result<(), ClaimsError> {
        let mut open = vec![(ROOT, None)];
        while let Some((path, parent)) = open.pop() {
            let id = self.add(path, parent)?;
            for child in file.tree.get(path).into_iter().flatten() {
                open.push((child, Some(id)));
            }
        }
        for parent in file.tree.keys() {
            if self.find(parent).is_none() {
                return Err(ClaimsError::at(
                    format!("tree \"{parent}\""),
                    "no other claim has it as a child; only `*` may have no parent",
                ));
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &str, parent: Option<ClaimId>) -> Result<ClaimId, ClaimsError> {
        let place = || format!("tree \"{path}\"");
        let name = ClaimName::read(path)
            .ok_or_else(|| ClaimsError::at(place(), "is not a claim such as `ed-fi/student`"))?;
        let id = ClaimId(self.nodes.len());
        if self.by_key.insert(name.key(), id).is_some() {
            return Err(ClaimsError::at(place(), "the claim appears twice"));
        }
        self.nodes.push(Claim { name, parent, defaults: PerAction::default() });
        Ok(id)
    }

    fn set_defaults(&mut self, file: &ClaimsFile) -> Result<(), ClaimsError> {
        for (path, rule) in &file.defaults {
            let place = || format!("defaults \"{path}\"");
            let id = self
                .find(path)
                .ok_or_else(|| ClaimsError::at(place(), "is not a claim of the hierarchy"))?;
            for (action, strategies) in rule.iter() {
                let Some(strategies) = strategies else { continue };
                if strategies.is_empty() {
                    return Err(ClaimsError::at(place(), "a default needs a strategy"));
                }
                self.nodes[id.0].defaults.get_mut(action).clone_from(strategies);
            }
        }
        Ok(())
    }

    fn place(&mut self, resource: &Resource, file: &ClaimsFile) -> Result<ClaimId, ClaimsError> {
        let name = ClaimName::of_resource(&resource.schema, &resource.name);
        if let Some(id) = self.by_key.get(&name.key()) {
            return Ok(*id);
        }
        let successor =
            file.successors.iter().find(|(path, _)| path.to_ascii_lowercase() == name.key());
        let parent = match successor {
            Some((path, successor)) => self.find(successor).ok_or_else(|| {
                ClaimsError::at(
                    format!("successors \"{path}\""),
                    format!("`{successor}` is not a claim of the hierarchy"),
                )
            })?,
            None => Some(SYSTEM_DESCRIPTORS)
                .filter(|_| resource.kind == ResourceKind::Descriptor)
                .and_then(|path| self.find(path))
                .or_else(|| self.find(ROOT))
                .expect("the tree grows from the root"),
        };
        self.add(name.path(), Some(parent))
    }

    fn add_sets(&mut self, file: &ClaimsFile) -> Result<(), ClaimsError> {
        for (name, grants) in &file.sets {
            let mut set = ClaimSet { name: name.clone(), grants: BTreeMap::new() };
            for (path, actions) in grants {
                let claim = ClaimName::read(path).filter(|claim| self.knows_claim(claim));
                let claim = claim.ok_or_else(|| {
                    ClaimsError::at(
                        format!("claim-sets.{name} \"{path}\""),
                        "is neither a claim of the hierarchy nor a resource of the model",
                    )
                })?;
                set.grants.insert(claim.key(), Grants { claim, actions: actions.clone() });
            }
            self.shipped.push(set);
        }
        Ok(())
    }

    fn find(&self, path: &str) -> Option<ClaimId> {
        self.by_key.get(&path.to_ascii_lowercase()).copied()
    }
}

impl Vocabulary for Claims {
    fn knows_claim(&self, claim: &ClaimName) -> bool {
        self.by_key.contains_key(&claim.key())
    }

    fn claims(&self) -> Vec<String> {
        self.nodes.iter().map(|claim| claim.name.path().to_owned()).collect()
    }

    fn is_basis(&self, name: &str) -> bool {
        self.bases.iter().any(|basis| basis == name)
    }
}
