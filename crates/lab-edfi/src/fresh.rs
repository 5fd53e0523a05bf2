//! Ways to make documents of a resource new: without end, or by many combinations.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::api::ApiError;
use super::document::{Anchors, Missing, Wish, compose, descriptor_value, members_of};
use super::identity::varied;
use super::placeholders;
use super::setup::SetUp;
use super::shape::{Form, Property, Reference, Resource};
use super::values::Fresh;
use super::variants::is_person;

/// The number of documents made of each resource where several parts of an identity vary, which
/// gives at least 2,500 combinations.
const VARIANTS: usize = 50;
/// The number of documents where only one part varies.
const VARIANTS_ALONE: usize = 400;
/// The number of documents where one part varies and the resource has a great weight.
const VARIANTS_HEAVY: usize = 2_000;
/// The weight from which a resource counts as heavy; the default is 1.
const HEAVY: f64 = 10.0;
/// The most parts of an identity that vary.
const WAYS_MAX: usize = 3;
/// The fewest useful documents: the first new documents use some up.
const VARIANTS_MIN: usize = 6;

/// The cost of a way that is used only when there is no other.
const LAST_RESORT: usize = 5;

/// A document with placeholders for what makes it new.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The document.
    pub body: Value,
    /// The values of its placeholders except the serial ones; each combination occurs once.
    pub each: BTreeMap<String, Vec<Value>>,
}

impl SetUp<'_, '_> {
    /// Returns the ways in which documents of a resource of this weight can be new, the best first;
    /// or what is missing for any.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn drafts(
        &mut self,
        at: usize,
        weight: f64,
    ) -> Result<Result<Vec<Draft>, Missing>, ApiError> {
        let resource = &self.world.shapes.resources[at];
        let body = match self.body_of(at) {
            Ok(body) => body,
            Err(missing) => return Ok(Err(missing)),
        };
        // A member that shares its name with a reference's member usually has to equal it.
        let (alone, bound): (Vec<&Property>, Vec<&Property>) = resource
            .properties
            .iter()
            .filter(|property| property.is_identity)
            .partition(|property| !is_bound(resource, &body, property));
        let mut drafts = self.own_drafts(&body, &alone);
        if drafts.is_empty() {
            drafts.extend(self.by_references(resource, &body, weight)?);
            drafts.extend(self.own_drafts(&body, &bound));
        }
        Ok(Ok(drafts))
    }

    /// Composes the smallest document of a resource.
    ///
    /// # Errors
    ///
    /// Says what is missing.
    pub fn body_of(&mut self, at: usize) -> Result<Value, Missing> {
        let shapes = self.world.shapes;
        let wish = Wish { with: self.extra(at), ..Wish::default() };
        compose(shapes, &shapes.resources[at], &self.world, &mut self.values, &wish)
    }

    /// Returns drafts that vary one of the resource's own members.
    fn own_drafts(&self, body: &Value, own: &[&Property]) -> Vec<Draft> {
        let mut drafts = vec![];
        for property in own {
            let Form::Scalar(scalar) = &property.form else { continue };
            for fresh in self.values.fresh(&property.name, scalar) {
                let mut draft = Draft { body: body.clone(), each: BTreeMap::new() };
                match fresh {
                    Fresh::Serial(value) => draft.body[&property.name] = value,
                    Fresh::OneOf(values) => {
                        let place = Position { property: property.name.clone(), member: None };
                        place.set(&mut draft.body, "k0");
                        draft.each.insert("k0".into(), values);
                    }
                }
                drafts.push(draft);
            }
        }
        drafts.sort_by_key(|draft| {
            let is_date = placeholders::places(&draft.body)
                .iter()
                .any(|place| place == placeholders::SERIAL_DATE);
            (!draft.each.is_empty(), is_date)
        });
        drafts
    }

    /// Returns drafts that vary the referenced documents and descriptors.
    fn by_references(
        &mut self,
        resource: &Resource,
        body: &Value,
        weight: f64,
    ) -> Result<Vec<Draft>, ApiError> {
        let mut ways = self.ways(resource, body);
        ways.sort_by_key(|way| way.cost);
        let (last, first): (Vec<_>, Vec<_>) =
            ways.into_iter().partition(|way| way.cost >= LAST_RESORT);
        let mut drafts = vec![];
        for ways in [first, last] {
            let count = match ways.len() {
                1 if weight >= HEAVY => VARIANTS_HEAVY,
                1 => VARIANTS_ALONE,
                _ => VARIANTS,
            };
            drafts.extend(self.combined(body, &ways, count)?);
        }
        Ok(drafts)
    }

    fn combined(
        &mut self,
        body: &Value,
        ways: &[Way<'_>],
        count: usize,
    ) -> Result<Option<Draft>, ApiError> {
        let mut draft = Draft { body: body.clone(), each: BTreeMap::new() };
        for way in ways {
            if draft.each.len() == WAYS_MAX {
                break;
            }
            if self.more(way.target, count)? < VARIANTS_MIN {
                continue;
            }
            let Some((place, values)) = self.values_of(way, body) else { continue };
            let name = format!("k{}", draft.each.len());
            place.set(&mut draft.body, &name);
            draft.each.insert(name, values);
        }
        Ok((!draft.each.is_empty()).then_some(draft))
    }

    /// Returns the parts of an identity that can vary independently.
    fn ways<'k>(&self, resource: &'k Resource, body: &Value) -> Vec<Way<'k>> {
        let mut ways = vec![];
        for property in &resource.properties {
            let way = match &property.form {
                Form::Descriptor(Some(target)) if property.is_identity => {
                    Way { property, reference: None, target: *target, cost: 1 }
                }
                Form::Reference(reference) if resource.identifies(property, reference) => {
                    let Ok(target) = self.world.target(reference) else { continue };
                    let cost = self.cost(target, reference);
                    Way { property, reference: Some(reference), target, cost }
                }
                _ => continue,
            };
            if way.is_alone(resource, &self.world.shapes.resources[way.target], body) {
                ways.push(way);
            }
        }
        ways
    }

    /// Returns how expensive another document of a resource is. The key has only a few
    /// organizations.
    fn cost(&self, target: usize, reference: &Reference) -> usize {
        let is_bound = !self.target.education_organizations.is_empty();
        match self.organizations.contains(&target) {
            true if is_bound && reference.role.is_empty() => LAST_RESORT,
            true => 3,
            false => 1 + usize::from(is_person(&self.world.shapes.resources[target])),
        }
    }

    /// Returns the position in a document that varies, and its values.
    fn values_of(&self, way: &Way<'_>, body: &Value) -> Option<(Position, Vec<Value>)> {
        let resource = &self.world.shapes.resources[way.target];
        let more = self.world.more.get(&way.target)?;
        let name = &way.property.name;
        let Some(reference) = way.reference else {
            let values = more.iter().filter_map(|made| descriptor_value(&made.body)).collect();
            return Some((Position { property: name.clone(), member: None }, values));
        };
        let before = body[name].as_object()?;
        let mut found: Option<&str> = None;
        let mut values = vec![];
        for made in more {
            let members = members_of(reference, resource, &made.body)?;
            let differing = differing(before, &members);
            let [only] = differing[..] else { continue };
            let known = before.get_key_value(only).map(|(name, _)| name.as_str())?;
            if *found.get_or_insert(known) == known {
                values.push(members[only].clone());
            }
        }
        let place = Position { property: name.clone(), member: Some(found?.to_owned()) };
        Some((place, values))
    }
}

/// A part of an identity that can vary: a descriptor, or a reference to a resource that has a
/// variable member of its own.
struct Way<'k> {
    property: &'k Property,
    reference: Option<&'k Reference>,
    target: usize,
    cost: usize,
}

impl Way<'_> {
    /// Returns whether this part can vary without any other change to the document.
    fn is_alone(&self, resource: &Resource, target: &Resource, body: &Value) -> bool {
        let Some(varied) = varied(target) else { return false };
        let Some(reference) = self.reference else { return true };
        let members = reference.members.iter();
        // The member has the same name as in the target or, if it is the reference's only member,
        // any name.
        let member = members.clone().find(|(name, _)| *name == varied.name);
        let Some((member, _)) =
            member.or_else(|| members.clone().next().filter(|_| members.len() == 1))
        else {
            return false;
        };
        let flat = resource.flat_name(&self.property.name, reference, member);
        resource.properties.iter().filter(|other| other.name != self.property.name).all(|other| {
            match (&other.form, body.get(&other.name)) {
                (_, None) => true,
                (Form::Reference(reference), Some(_)) => {
                    let mut members = reference.members.iter();
                    members.all(|(member, _)| {
                        resource.flat_name(&other.name, reference, member) != flat
                    })
                }
                (Form::Object(_) | Form::List(_), Some(inner)) => !holds(inner, member),
                (Form::Scalar(_) | Form::Descriptor(_), Some(_)) => other.name != flat,
            }
        })
    }
}

/// Returns whether a value has a member of this name at any depth.
fn holds(value: &Value, member: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(name, value)| name == member || holds(value, member))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, member)),
        _ => false,
    }
}

fn differing<'m>(one: &Map<String, Value>, other: &'m Map<String, Value>) -> Vec<&'m str> {
    let members = other.iter().filter(|(name, value)| one.get(*name) != Some(value));
    members.map(|(name, _)| name.as_str()).collect()
}

/// The position of a value in a document.
struct Position {
    property: String,
    member: Option<String>,
}

impl Position {
    fn set(&self, body: &mut Value, name: &str) {
        let value = match &self.member {
            Some(member) => &mut body[&self.property][member],
            None => &mut body[&self.property],
        };
        *value = placeholders::place_like(value, name);
    }
}

/// Returns whether one of the resource's own members has the name of a reference's member in a
/// document.
fn is_bound(resource: &Resource, body: &Value, own: &Property) -> bool {
    resource.properties.iter().any(|property| match &property.form {
        Form::Reference(reference) if body.get(&property.name).is_some() => {
            let mut members = reference.members.iter();
            members.any(|(member, _)| {
                resource.flat_name(&property.name, reference, member) == own.name
            })
        }
        _ => false,
    })
}
