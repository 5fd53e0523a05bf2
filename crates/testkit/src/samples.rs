//! Documents made from the model alone: the smallest and the fullest valid document of any
//! resource, and all documents that they refer to, in an order in which a store accepts them.

mod values;

use std::collections::{HashMap, HashSet};

use homeroom_model::{
    AbstractId, ColumnSource, KeyColumn, Model, Place, Presence, Property, PropertyKind, Resource,
    ResourceId, ResourceKind, Scalar, Target,
};
use serde_json::{Map, Value};

use crate::places::{Found, Spot, What, walk};
pub use values::{Values, other};

/// How much content a document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Only what the resource requires.
    Smallest,
    /// Every property, with one item in each collection.
    Fullest,
}

/// A generated document.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its resource.
    pub resource: ResourceId,
    /// The document.
    pub body: Value,
    /// Groups of places whose values must agree; any other place is a group of its own.
    pub groups: Vec<Vec<Spot>>,
}

impl Sample {
    /// Returns the document with another value at a place and at all places that must agree with
    /// it.
    pub fn with(&self, spot: &Spot, value: &Value) -> Value {
        let group = self.groups.iter().find(|group| group.contains(spot));
        let mut body = self.body.clone();
        for spot in group.unwrap_or_else(|| panic!("{spot} is not a value")) {
            spot.set(&mut body, value.clone());
        }
        body
    }
}

/// Makes documents from values that are all new.
pub struct Samples<'m> {
    model: &'m Model,
    values: Values,
    /// Identities made so far, both own ones and those of abstract bases.
    made: HashSet<String>,
    out: Vec<Sample>,
}

impl<'m> Samples<'m> {
    /// Makes a generator; documents of different seeds have different identities.
    pub fn new(model: &'m Model, seed: u64) -> Self {
        Self { model, values: Values::from(seed), made: HashSet::new(), out: vec![] }
    }

    /// Makes a document. The documents that it needs come first, the document itself last;
    /// descriptors are not included: see [`Samples::descriptors`].
    pub fn of(&mut self, resource: ResourceId, extent: Extent) -> Vec<Sample> {
        self.make(resource, extent, &HashMap::new());
        std::mem::take(&mut self.out)
    }

    /// Returns two documents of each descriptor, which all samples share.
    pub fn descriptors(model: &Model) -> Vec<Sample> {
        let descriptors = model.resources.iter().filter(|r| r.kind == ResourceKind::Descriptor);
        descriptors
            .flat_map(|resource| {
                values::DESCRIPTOR_CODES.map(|code| {
                    let mut samples = Samples::new(model, 0);
                    let namespace = values::descriptor_namespace(resource);
                    let key = [("namespace", namespace), ("codeValue", code.to_owned())];
                    let key = key.map(|(name, value)| (name.to_owned(), Value::String(value)));
                    samples.make(resource.id, Extent::Smallest, &HashMap::from(key));
                    samples.out.remove(0)
                })
            })
            .collect()
    }

    fn make(&mut self, id: ResourceId, extent: Extent, fixed: &HashMap<String, Value>) {
        let resource = self.model.resource(id);
        let mut body = skeleton(&resource.properties, extent);
        let found = walk(resource, &body);
        let groups = groups(resource, &found);
        for group in &groups {
            let value = self.value(resource, group, fixed);
            for found in group {
                found.spot.set(&mut body, value.clone());
            }
        }
        self.remember(resource, &body);
        for found in &found {
            if let What::Reference(reference) = found.what {
                let members = found.spot.get(&body);
                let key: Vec<Value> =
                    reference.parts.iter().map(|part| members[&part.name].clone()).collect();
                self.ensure(reference.target, &key);
            }
        }
        let spots = |group: &Vec<&Found<'_>>| group.iter().map(|f| f.spot.clone()).collect();
        let groups = groups.iter().map(spots).collect();
        self.out.push(Sample { resource: id, body, groups });
    }

    /// Returns the value for places that must agree.
    fn value(
        &mut self,
        resource: &Resource,
        group: &[&Found<'_>],
        fixed: &HashMap<String, Value>,
    ) -> Value {
        let given = group.iter().find_map(|found| fixed.get(&flat_name(resource, &found.place)?));
        if let Some(given) = given {
            return given.clone();
        }
        let first = group[0];
        let scalar = first.scalar().expect("only values are grouped");
        if let Scalar::Descriptor(descriptor) = scalar {
            return values::descriptor_uri(self.model.resource(descriptor)).into();
        }
        let is_enumerated = group.iter().any(|found| {
            let (PropertyKind::Reference(reference), Some(part)) =
                (&property(resource, &found.place).kind, found.place.part)
            else {
                return false;
            };
            origin(self.model, reference.target, part).kind == ResourceKind::Enumeration
        });
        if is_enumerated { self.values.school_year(self.model) } else { self.values.fresh(scalar) }
    }

    /// Makes the target of a reference, unless it exists.
    fn ensure(&mut self, target: Target, key: &[Value]) {
        if self.made.contains(&identity(&self.model.qualified_name(target), key)) {
            return;
        }
        let (id, columns): (ResourceId, Vec<&KeyColumn>) = match target {
            Target::Resource(id) => (id, self.model.resource(id).key.iter().collect()),
            Target::Abstract(base) => {
                let resource = most_used_subclass(self.model, base);
                let base = resource.base.as_ref().expect("a subclass has a base");
                (resource.id, base.columns.iter().map(|at| &resource.key[*at]).collect())
            }
        };
        if self.model.resource(id).kind == ResourceKind::Enumeration {
            return;
        }
        let names = columns.iter().map(|column| column.name.clone());
        self.make(id, Extent::Smallest, &names.zip(key.iter().cloned()).collect());
    }

    fn remember(&mut self, resource: &Resource, body: &Value) {
        let key: Vec<Value> =
            resource.key.iter().map(|column| at(resource, body, column.source)).collect();
        self.made.insert(identity(&self.model.qualified_name(Target::Resource(resource.id)), &key));
        if let Some(base) = &resource.base {
            let key: Vec<Value> = base.columns.iter().map(|at| key[*at].clone()).collect();
            self.made.insert(identity(&self.model.qualified_name(Target::Abstract(base.id)), &key));
        }
    }
}

/// Returns the value of a root column in a document; null if it is missing.
pub fn at(resource: &Resource, body: &Value, source: ColumnSource) -> Value {
    match source {
        ColumnSource::Scalar(at) => body[&resource.properties[at].name].clone(),
        ColumnSource::Part(at, part) => {
            let property = &resource.properties[at];
            let PropertyKind::Reference(reference) = &property.kind else { return Value::Null };
            body[&property.name][&reference.parts[part].name].clone()
        }
    }
}

fn identity(name: &str, key: &[Value]) -> String {
    format!("{name} {}", Value::from(key))
}

/// Returns the object with a null for each value.
fn skeleton(properties: &[Property], extent: Extent) -> Value {
    let wanted =
        |property: &&Property| extent == Extent::Fullest || property.presence != Presence::Optional;
    let mut members = Map::new();
    for property in properties.iter().filter(wanted) {
        let value = match &property.kind {
            PropertyKind::Scalar(_) => Value::Null,
            PropertyKind::Reference(reference) => Value::Object(
                reference.parts.iter().map(|part| (part.name.clone(), Value::Null)).collect(),
            ),
            PropertyKind::Object(inner) => skeleton(inner, extent),
            PropertyKind::List(inner) => vec![skeleton(inner, extent)].into(),
        };
        members.insert(property.name.clone(), value);
    }
    Value::Object(members)
}

/// Groups the values of a document that must agree: by the model, and where root references share a
/// column.
fn groups<'f, 'm>(resource: &Resource, found: &'f [Found<'m>]) -> Vec<Vec<&'f Found<'m>>> {
    let mut groups: Vec<Vec<&Found<'_>>> =
        found.iter().filter(|found| found.scalar().is_some()).map(|found| vec![found]).collect();
    let mut join = |belongs: &dyn Fn(&Found<'_>) -> bool| {
        let (joined, apart): (Vec<_>, Vec<_>) =
            groups.drain(..).partition(|group| group.iter().any(|found| belongs(found)));
        groups = apart;
        if !joined.is_empty() {
            groups.push(joined.concat());
        }
    };
    for unified in &resource.unified {
        join(&|found| unified.contains(&found.place));
    }
    for field in &resource.query_fields {
        join(&|found| flat_name(resource, &found.place).as_ref() == Some(&field.name));
    }
    groups
}

/// Returns the flat name of a root value: a scalar's own name, or the column of a reference's
/// member.
fn flat_name(resource: &Resource, place: &Place) -> Option<String> {
    let [_] = place.steps[..] else { return None };
    match (&property(resource, place).kind, place.part) {
        (PropertyKind::Scalar(_), None) => Some(property(resource, place).name.clone()),
        (PropertyKind::Reference(reference), Some(part)) => {
            Some(reference.parts[part].column.clone())
        }
        _ => None,
    }
}

fn property<'m>(resource: &'m Resource, place: &Place) -> &'m Property {
    let (last, owners) = place.steps.split_last().expect("a place is a property's");
    let mut properties = &resource.properties;
    for step in owners {
        if let PropertyKind::Object(inner) | PropertyKind::List(inner) = &properties[*step].kind {
            properties = inner;
        }
    }
    &properties[*last]
}

/// Returns the resource whose own property a column of an identity comes from, through any number
/// of references; for a property of an abstract base, its first subclass.
fn origin(model: &Model, target: Target, column: usize) -> &Resource {
    let (properties, own) = match target {
        Target::Resource(id) => (&model.resource(id).properties, model.resource(id)),
        Target::Abstract(id) => {
            let base = model.base(id);
            (&base.properties, model.resource(base.subclasses[0]))
        }
    };
    match model.target_key(target)[column].source {
        ColumnSource::Scalar(_) => own,
        ColumnSource::Part(at, part) => match &properties[at].kind {
            PropertyKind::Reference(reference) => origin(model, reference.target, part),
            _ => own,
        },
    }
}

/// Returns the subclass that most references name; its documents fit most other resources.
fn most_used_subclass(model: &Model, base: AbstractId) -> &Resource {
    let uses = |id: ResourceId| {
        let mut count = 0;
        for resource in &model.resources {
            count_uses(&resource.properties, Target::Resource(id), &mut count);
        }
        count
    };
    let most = model.base(base).subclasses.iter().copied().max_by_key(|id| uses(*id));
    model.resource(most.expect("a base has subclasses"))
}

fn count_uses(properties: &[Property], target: Target, count: &mut usize) {
    for property in properties {
        match &property.kind {
            PropertyKind::Reference(reference) => *count += usize::from(reference.target == target),
            PropertyKind::Object(inner) | PropertyKind::List(inner) => {
                count_uses(inner, target, count);
            }
            PropertyKind::Scalar(_) => {}
        }
    }
}
