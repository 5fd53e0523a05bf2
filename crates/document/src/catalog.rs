//! Binds the model to a store: the numbers of resources there, and the hashes of identities.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_model::{Model, PropertyKind, Resource, ResourceId, ResourceKind, Scalar, Target};
use homeroom_store::{KindId, NaturalKey, Snapshot, Store, StoreError};

use crate::empties::Empties;
use crate::rights::{Routes, label_names};
use crate::spelling::Spellings;

/// A model bound to a store.
#[derive(Debug)]
pub struct Catalog {
    /// The model.
    pub model: Arc<Model>,
    /// The subjects of resources, and the ways that lead from them to a caller.
    pub routes: Routes,
    kinds: Vec<KindId>,
    /// Resources by their number in the store.
    resources: Vec<Option<ResourceId>>,
    /// Empty collections by resource.
    empties: Vec<Empties>,
    pub(crate) spellings: Spellings,
    names: Vec<String>,
    base_names: Vec<String>,
    /// Number of places at which documents of one resource may refer to documents of another.
    sites: HashMap<(ResourceId, ResourceId), u32>,
}

impl Catalog {
    /// Binds a model to a store, which assigns each resource a number.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub fn bind(model: Arc<Model>, store: &Store) -> Result<Self, StoreError> {
        let (names, labels) = (names(&model), label_names(&model));
        let all = [&names[..], &labels].concat();
        let numbers: HashMap<String, KindId> =
            all.iter().cloned().zip(store.kinds(&all)?).collect();
        Ok(Self::with(model, names, &numbers))
    }

    /// Binds a model to a snapshot. A resource that is new to the store gets the number 0, which no
    /// document has.
    ///
    /// # Errors
    ///
    /// Returns an error of the snapshot.
    pub fn of_snapshot(model: Arc<Model>, snapshot: &Snapshot) -> Result<Self, StoreError> {
        let names = names(&model);
        let known: HashMap<String, KindId> = snapshot.kinds()?.into_iter().collect();
        Ok(Self::with(model, names, &known))
    }

    fn with(model: Arc<Model>, names: Vec<String>, numbers: &HashMap<String, KindId>) -> Self {
        let number = |name: &str| numbers.get(name).copied().unwrap_or(KindId(0));
        let kinds: Vec<KindId> = names.iter().map(|name| number(name)).collect();
        let routes = Routes::bind(&model, |id| kinds[usize::from(id.0)], number);
        let greatest = kinds.iter().map(|kind| usize::from(kind.0)).max().unwrap_or(0);
        let mut resources = vec![None; greatest + 1];
        for (kind, resource) in kinds.iter().zip(&model.resources) {
            resources[usize::from(kind.0)] = Some(resource.id);
        }
        let empties = model.resources.iter().map(Empties::of).collect();
        let base_names =
            model.abstracts.iter().map(|a| format!("{}/{}", a.schema, a.name)).collect();
        let mut sites = HashMap::new();
        for resource in &model.resources {
            count_sites(&model, resource.id, &resource.properties, &mut sites);
        }
        Self {
            model,
            routes,
            kinds,
            resources,
            empties,
            spellings: Spellings::default(),
            names,
            base_names,
            sites,
        }
    }

    /// Returns the number of a resource in the store.
    pub fn kind(&self, resource: ResourceId) -> KindId {
        self.kinds[usize::from(resource.0)]
    }

    /// Returns the resource with a number; [`None`] if only an older model had it.
    pub fn resource(&self, kind: KindId) -> Option<&Resource> {
        let id = self.resources.get(usize::from(kind.0)).copied().flatten()?;
        Some(self.model.resource(id))
    }

    /// Returns the collections that answers add to documents of a resource that lack them.
    pub(crate) fn empties(&self, resource: ResourceId) -> &Empties {
        &self.empties[usize::from(resource.0)]
    }

    /// Whether exactly one place of `from`'s documents may refer to documents of `to`.
    pub fn refers_at_one_place(&self, from: ResourceId, to: ResourceId) -> bool {
        self.sites.get(&(from, to)) == Some(&1)
    }

    /// Whether any place of `from`'s documents may refer to documents of `to`.
    pub(crate) fn refers(&self, from: ResourceId, to: ResourceId) -> bool {
        self.sites.contains_key(&(from, to))
    }

    /// Hashes an identity from the canonical JSON texts of the key's columns, in key order.
    pub fn key<'a>(
        &self,
        target: Target,
        columns: impl IntoIterator<Item = &'a [u8]>,
    ) -> NaturalKey {
        let name = match target {
            Target::Resource(id) => &self.names[usize::from(id.0)],
            Target::Abstract(id) => &self.base_names[usize::from(id.0)],
        };
        NaturalKey::of(name, columns)
    }

    /// Hashes a descriptor's identity from its URI, ignoring case and blanks around the code value.
    pub fn descriptor_key(&self, descriptor: ResourceId, uri: &str) -> NaturalKey {
        let mut folded = uri.to_lowercase();
        if let Some((namespace, code)) = folded.split_once('#')
            && code.trim().len() < code.len()
        {
            folded = format!("{namespace}#{}", code.trim());
        }
        NaturalKey::of(&self.names[usize::from(descriptor.0)], [folded.as_bytes()])
    }
}

/// Returns the store's name for each resource.
fn names(model: &Model) -> Vec<String> {
    model.resources.iter().map(|r| format!("{}/{}", r.schema, r.name)).collect()
}

fn count_sites(
    model: &Model,
    from: ResourceId,
    properties: &[homeroom_model::Property],
    sites: &mut HashMap<(ResourceId, ResourceId), u32>,
) {
    for property in properties {
        let targets = match &property.kind {
            PropertyKind::Scalar(Scalar::Descriptor(to)) => std::slice::from_ref(to),
            PropertyKind::Scalar(_) => &[],
            PropertyKind::Reference(reference) => match &reference.target {
                Target::Resource(to) => std::slice::from_ref(to),
                Target::Abstract(base) => &model.base(*base).subclasses,
            },
            PropertyKind::Object(inner) | PropertyKind::List(inner) => {
                count_sites(model, from, inner, sites);
                &[]
            }
        };
        for to in targets {
            *sites.entry((from, *to)).or_default() += 1;
        }
    }
}

/// Whether a resource is a descriptor, whose identity is a URI.
pub fn is_descriptor(resource: &Resource) -> bool {
    resource.kind == ResourceKind::Descriptor
}
