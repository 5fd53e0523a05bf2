//! How documents of a resource can be new without end, or by many combinations.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::api::ApiError;
use super::blank;
use super::document::{Anchors, Missing, Wish, compose, descriptor_value, members_of};
use super::setup::SetUp;
use super::shape::{Form, Kind, Property, Reference};
use super::values::Fresh;
use super::variants::{is_person, varied};

/// How many documents of a resource are made where several parts of an identity differ: their
/// combinations are 2,500 and more.
const VARIANTS: usize = 50;
/// How many where only one does.
const VARIANTS_ALONE: usize = 400;
/// The same for resources of great weight.
const VARIANTS_HEAVY: usize = 2_000;
/// What is of great weight; others have 1.
const HEAVY: f64 = 10.0;
/// How many parts differ at most.
const WAYS_MAX: usize = 3;
/// Fewer are of no use: the first documents take some.
const VARIANTS_MIN: usize = 6;

/// The cost of a way that is taken only without another.
const LAST_RESORT: usize = 5;

/// A document with places for what makes it new.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// It.
    pub body: Value,
    /// The values of its places but the serial ones, each combination once.
    pub each: BTreeMap<String, Vec<Value>>,
}

impl SetUp<'_, '_> {
    /// The ways in which documents of a resource of this weight can be new, the best first; or what
    /// is missing for any.
    ///
    /// # Errors
    ///
    /// If the target cannot be asked.
    pub fn drafts(
        &mut self,
        at: usize,
        weight: f64,
    ) -> Result<Result<Vec<Draft>, Missing>, ApiError> {
        let kind = &self.world.shapes.kinds[at];
        let body = match self.body_of(at) {
            Ok(body) => body,
            Err(missing) => return Ok(Err(missing)),
        };
        // A member that shares its name with one of a reference is mostly bound to that.
        let (alone, bound): (Vec<&Property>, Vec<&Property>) = kind
            .properties
            .iter()
            .filter(|property| property.is_identity)
            .partition(|property| !is_bound(kind, &body, property));
        let mut drafts = self.own_drafts(&body, &alone);
        if drafts.is_empty() {
            drafts.extend(self.by_references(kind, &body, weight)?);
            drafts.extend(self.own_drafts(&body, &bound));
        }
        Ok(Ok(drafts))
    }

    /// The smallest document of a resource.
    ///
    /// # Errors
    ///
    /// Says what is missing for it.
    pub fn body_of(&mut self, at: usize) -> Result<Value, Missing> {
        let shapes = self.world.shapes;
        let wish = Wish { with: self.extra(at), ..Wish::default() };
        compose(shapes, &shapes.kinds[at], &self.world, &mut self.values, &wish)
    }

    /// Drafts in which a member of the resource's own is new.
    fn own_drafts(&self, body: &Value, own: &[&Property]) -> Vec<Draft> {
        let mut drafts = vec![];
        for property in own {
            let Form::Scalar(scalar) = &property.form else { continue };
            for fresh in self.values.fresh(&property.name, scalar) {
                let mut draft = Draft { body: body.clone(), each: BTreeMap::new() };
                match fresh {
                    Fresh::Serial(value) => draft.body[&property.name] = value,
                    Fresh::OneOf(values) => {
                        let place = Place { property: property.name.clone(), member: None };
                        place.set(&mut draft.body, "k0");
                        draft.each.insert("k0".into(), values);
                    }
                }
                drafts.push(draft);
            }
        }
        drafts.sort_by_key(|draft| {
            let is_date =
                blank::places(&draft.body).iter().any(|place| place == blank::SERIAL_DATE);
            (!draft.each.is_empty(), is_date)
        });
        drafts
    }

    /// Drafts in which referred documents and descriptors differ.
    fn by_references(
        &mut self,
        kind: &Kind,
        body: &Value,
        weight: f64,
    ) -> Result<Vec<Draft>, ApiError> {
        let mut ways = self.ways(kind, body);
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

    /// The parts of an identity that can differ alone.
    fn ways<'k>(&self, kind: &'k Kind, body: &Value) -> Vec<Way<'k>> {
        let mut ways = vec![];
        for property in &kind.properties {
            let way = match &property.form {
                Form::Descriptor(Some(target)) if property.is_identity => {
                    Way { property, reference: None, target: *target, cost: 1 }
                }
                Form::Reference(reference) if kind.identifies(property, reference) => {
                    let Ok(target) = self.world.target(reference) else { continue };
                    let cost = self.cost(target, reference);
                    Way { property, reference: Some(reference), target, cost }
                }
                _ => continue,
            };
            if way.is_alone(kind, &self.world.shapes.kinds[way.target], body) {
                ways.push(way);
            }
        }
        ways
    }

    /// How dear another document of a resource is. Of organizations, few are the key's.
    fn cost(&self, target: usize, reference: &Reference) -> usize {
        let is_bound = !self.target.education_organizations.is_empty();
        match self.organizations.contains(&target) {
            true if is_bound && reference.role.is_empty() => LAST_RESORT,
            true => 3,
            false => 1 + usize::from(is_person(&self.world.shapes.kinds[target])),
        }
    }

    /// The place that differs in a document, and its values.
    fn values_of(&self, way: &Way<'_>, body: &Value) -> Option<(Place, Vec<Value>)> {
        let kind = &self.world.shapes.kinds[way.target];
        let more = self.world.more.get(&way.target)?;
        let name = &way.property.name;
        let Some(reference) = way.reference else {
            let values = more.iter().filter_map(|made| descriptor_value(&made.body)).collect();
            return Some((Place { property: name.clone(), member: None }, values));
        };
        let before = body[name].as_object()?;
        let mut found: Option<&str> = None;
        let mut values = vec![];
        for made in more {
            let members = members_of(reference, kind, &made.body)?;
            let differing = differing(before, &members);
            let [only] = differing[..] else { continue };
            let known = before.get_key_value(only).map(|(name, _)| name.as_str())?;
            if *found.get_or_insert(known) == known {
                values.push(members[only].clone());
            }
        }
        let place = Place { property: name.clone(), member: Some(found?.to_owned()) };
        Some((place, values))
    }
}

/// A part of an identity that can differ: a descriptor, or a reference to a resource with a member
/// of its own that can.
struct Way<'k> {
    property: &'k Property,
    reference: Option<&'k Reference>,
    target: usize,
    cost: usize,
}

impl Way<'_> {
    /// Whether nothing else in a document must change with it.
    fn is_alone(&self, kind: &Kind, target: &Kind, body: &Value) -> bool {
        let Some(varied) = varied(target) else { return false };
        let Some(reference) = self.reference else { return true };
        let members = reference.members.iter();
        // The member is called as in the target, or, alone in its reference, anything.
        let member = members.clone().find(|(name, _)| *name == varied.name);
        let Some((member, _)) =
            member.or_else(|| members.clone().next().filter(|_| members.len() == 1))
        else {
            return false;
        };
        let flat = kind.flat_name(&self.property.name, reference, member);
        kind.properties.iter().filter(|other| other.name != self.property.name).all(|other| match (
            &other.form,
            body.get(&other.name),
        ) {
            (_, None) => true,
            (Form::Reference(reference), Some(_)) => {
                let mut members = reference.members.iter();
                members.all(|(member, _)| kind.flat_name(&other.name, reference, member) != flat)
            }
            (Form::Object(_) | Form::List(_), Some(inner)) => !holds(inner, member),
            (Form::Scalar(_) | Form::Descriptor(_), Some(_)) => other.name != flat,
        })
    }
}

/// Whether an object has such a member, however deep.
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

/// Where a value stands in a document.
struct Place {
    property: String,
    member: Option<String>,
}

impl Place {
    fn set(&self, body: &mut Value, name: &str) {
        let value = match &self.member {
            Some(member) => &mut body[&self.property][member],
            None => &mut body[&self.property],
        };
        *value = blank::place_like(value, name);
    }
}

/// Whether a member of a resource's own has the name of a reference's member in a document.
fn is_bound(kind: &Kind, body: &Value, own: &Property) -> bool {
    kind.properties.iter().any(|property| match &property.form {
        Form::Reference(reference) if body.get(&property.name).is_some() => {
            let mut members = reference.members.iter();
            members.any(|(member, _)| kind.flat_name(&property.name, reference, member) == own.name)
        }
        _ => false,
    })
}
