//! The model's facts about rights, translated into the store's numbers: slots of marks, makers of
//! ties, and paths.

use homeroom_model::{
    AbstractId, ColumnSource, Model, Place, PropertyKind, Reference, Resource, ResourceId,
    SubjectOf, Target,
};
use homeroom_store::{KindId, Steps, Way};

/// A subject that a mark stands for.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Index into the resource's subjects.
    pub subject: usize,
    /// The kind of subject.
    pub of: SubjectOf,
    /// Its place in the document.
    pub place: Place,
    /// Whether it is the document itself.
    pub is_itself: bool,
}

/// A way in which documents of a resource make ties.
#[derive(Debug, Clone)]
pub(crate) enum Maker {
    /// A document ties the person of one slot to the organization or person of another.
    Person { label: KindId, item: usize, holder: usize },
    /// A document describes an organization and ties it to those above it.
    Organization { label: KindId, own: Place, parents: Vec<Place> },
}

/// The slots, tie makers and paths of a model.
#[derive(Debug, Default)]
pub struct Routes {
    slots: Vec<Vec<Slot>>,
    makers: Vec<Vec<Maker>>,
    /// Labels of ties from an organization to those above it.
    above: Vec<(AbstractId, KindId)>,
    /// Paths from a person to the person's organizations and all above them, each with its name.
    persons: Vec<Vec<(Option<String>, Way)>>,
}

/// Names of labels that belong to no resource: bases of organizations and named paths of persons.
pub(crate) fn label_names(model: &Model) -> Vec<String> {
    let bases = organization_bases(model).into_iter().map(|id| {
        let base = &model.abstracts[usize::from(id.0)];
        format!("{}/{}", base.schema, base.name)
    });
    let ways = model
        .resources
        .iter()
        .flat_map(|person| person.access_by.iter().map(|(way, _)| way_name(person, way)));
    bases.chain(ways).collect()
}

fn way_name(person: &Resource, way: &str) -> String {
    format!("{}/{} {way}", person.schema, person.name)
}

/// Returns the bases to which subjects belong.
fn organization_bases(model: &Model) -> Vec<AbstractId> {
    let subjects = model.resources.iter().flat_map(|resource| &resource.subjects);
    let mut bases: Vec<AbstractId> = subjects
        .filter_map(|subject| match subject.of {
            SubjectOf::Organization(base) => Some(base),
            SubjectOf::Person(_) | SubjectOf::Other => None,
        })
        .collect();
    bases.sort_unstable();
    bases.dedup();
    bases
}

impl Routes {
    /// Translates the model into the store's numbers: `kind` gives the number of a resource,
    /// `label` that of a label in [`label_names`].
    pub(crate) fn bind(
        model: &Model,
        kind: impl Fn(ResourceId) -> KindId,
        label: impl Fn(&str) -> KindId,
    ) -> Self {
        let mut routes = Self {
            slots: model.resources.iter().map(slots).collect(),
            makers: vec![vec![]; model.resources.len()],
            persons: vec![vec![]; model.resources.len()],
            ..Self::default()
        };
        for base in organization_bases(model) {
            let name = &model.abstracts[usize::from(base.0)];
            let label = label(&format!("{}/{}", name.schema, name.name));
            routes.above.push((base, label));
            for resource in model.resources.iter().filter(|r| base_of(r) == Some(base)) {
                if let Some(own) = own_id(resource) {
                    let parents = parents(model, resource, base);
                    let maker = Maker::Organization { label, own, parents };
                    routes.makers[usize::from(resource.id.0)].push(maker);
                }
            }
        }
        for person in &model.resources {
            let usual = (None, kind(person.id), &person.access_through);
            let named = person.access_by.iter();
            let named = named
                .map(|(way, through)| (Some(way.clone()), label(&way_name(person, way)), through));
            for (way, label, through) in std::iter::once(usual).chain(named) {
                for association in through {
                    let slots = &routes.slots[usize::from(association.0)];
                    let item = slots.iter().position(|s| s.of == SubjectOf::Person(person.id));
                    let holder = holder(slots, person.id);
                    if let (Some(item), Some(holder)) = (item, holder) {
                        let maker = Maker::Person { label, item, holder };
                        routes.makers[usize::from(association.0)].push(maker);
                    }
                }
                if !through.is_empty() {
                    let found = routes.way(model, &kind, person.id, label, through, 0);
                    if let Some(found) = found {
                        routes.persons[usize::from(person.id.0)].push((way, found));
                    }
                }
            }
        }
        routes
    }

    /// Returns the path that begins with a label whose ties are made by associations.
    fn way(
        &self,
        model: &Model,
        kind: &impl Fn(ResourceId) -> KindId,
        person: ResourceId,
        label: KindId,
        through: &[ResourceId],
        depth: usize,
    ) -> Option<Way> {
        // If persons are related only through each other, the path leads nowhere.
        if depth > model.resources.len() {
            return None;
        }
        let slots = self.slots.get(usize::from(through.first()?.0))?;
        match slots[holder(slots, person)?].of {
            SubjectOf::Organization(base) => {
                let up = self.above(base)?;
                Some(Way { steps: [label].into(), up, past: false })
            }
            SubjectOf::Person(other) => {
                let through = &model.resource(other).access_through;
                let rest = self.way(model, kind, other, kind(other), through, depth + 1)?;
                let steps = Steps::of(&[&[label], &rest.steps[..]].concat())?;
                Some(Way { steps, up: rest.up, past: false })
            }
            SubjectOf::Other => None,
        }
    }

    /// Returns the slots of a resource, in the order of its marks.
    pub fn slots(&self, resource: ResourceId) -> &[Slot] {
        &self.slots[usize::from(resource.0)]
    }

    /// Returns the slot of a subject, by its index among the resource's subjects.
    pub fn slot(&self, resource: ResourceId, subject: usize) -> Option<(usize, &Slot)> {
        self.slots(resource).iter().enumerate().find(|(_, slot)| slot.subject == subject)
    }

    /// Returns the ways in which documents of a resource make ties.
    pub(crate) fn makers(&self, resource: ResourceId) -> &[Maker] {
        &self.makers[usize::from(resource.0)]
    }

    /// Returns the path from a person to the person's organizations and all above them.
    pub(crate) fn person(&self, person: ResourceId, way: Option<&str>, past: bool) -> Option<Way> {
        let (_, found) =
            self.persons[usize::from(person.0)].iter().find(|(name, _)| name.as_deref() == way)?;
        Some(Way { past, ..*found })
    }

    /// Returns the label that leads from an organization to those above it.
    pub(crate) fn above(&self, base: AbstractId) -> Option<KindId> {
        self.above.iter().find(|(of, _)| *of == base).map(|(_, label)| *label)
    }
}

/// Returns what an association relates a person to: an organization, or else another person.
fn holder(slots: &[Slot], person: ResourceId) -> Option<usize> {
    let is = |test: fn(&SubjectOf, ResourceId) -> bool| {
        slots.iter().position(|slot| test(&slot.of, person))
    };
    is(|of, _| matches!(of, SubjectOf::Organization(_)))
        .or_else(|| is(|of, person| matches!(of, SubjectOf::Person(other) if *other != person)))
}

fn base_of(resource: &Resource) -> Option<AbstractId> {
    resource.base.as_ref().map(|base| base.id)
}

/// Returns the place of the only number in an organization's identity.
fn own_id(resource: &Resource) -> Option<Place> {
    let [column] = resource.base.as_ref()?.columns[..] else { return None };
    match resource.key[column].source {
        ColumnSource::Scalar(at) => Some(Place { steps: vec![at], part: None }),
        ColumnSource::Part(..) => None,
    }
}

fn slots(resource: &Resource) -> Vec<Slot> {
    let subjects = resource.subjects.iter().enumerate();
    let slots = subjects.filter(|(_, subject)| subject.of != SubjectOf::Other);
    let slot = |(at, subject): (usize, &homeroom_model::Subject)| {
        let is_itself = match subject.of {
            SubjectOf::Person(person) => person == resource.id,
            SubjectOf::Organization(base) => {
                base_of(resource) == Some(base) && own_id(resource).as_ref() == Some(&subject.place)
            }
            SubjectOf::Other => false,
        };
        Slot { subject: at, of: subject.of, place: subject.place.clone(), is_itself }
    };
    slots.map(slot).collect()
}

/// Returns the places of a document's references to other members of a base.
fn parents(model: &Model, resource: &Resource, base: AbstractId) -> Vec<Place> {
    let is_of_base = |reference: &Reference| match reference.target {
        Target::Abstract(other) => other == base,
        Target::Resource(id) => {
            model.resource(id).base.as_ref().is_some_and(|other| other.id == base)
        }
    };
    let properties = resource.properties.iter().enumerate();
    let places = properties.filter_map(|(at, property)| match &property.kind {
        PropertyKind::Reference(reference)
            if reference.parts.len() == 1 && is_of_base(reference) =>
        {
            Some(Place { steps: vec![at], part: Some(0) })
        }
        _ => None,
    });
    places.collect()
}
