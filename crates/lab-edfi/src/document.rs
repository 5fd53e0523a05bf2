//! Composes the smallest document that a resource's description allows, with references to existing
//! documents.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::links::singular;
use super::shape::{Form, Property, Reference, Resource, Shapes, is_flat_name};
use super::values::Values;

/// A document that exists on the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The id that the target gave it.
    pub id: String,
    /// Its content, as it was sent or as it was read.
    pub body: Value,
}

/// Looks up the documents that references point to.
pub trait Anchors {
    /// Returns the document that references to a resource use.
    fn anchor(&self, resource: usize) -> Option<&Made>;

    /// Chooses, from the resources that a reference can point to, one with an anchor.
    ///
    /// # Errors
    ///
    /// Names the resource that is missing.
    fn target(&self, reference: &Reference) -> Result<usize, Missing>;
}

/// Something that a document needs and the target does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, in words.
    pub what: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "needs {}", self.what)
    }
}

/// How a document should differ from the smallest one.
#[derive(Debug, Default)]
pub struct Wish<'w> {
    /// Values for the document's own members, by name.
    pub values: HashMap<String, Value>,
    /// The documents that the document's own references point to, by property.
    pub targets: HashMap<String, (usize, &'w Made)>,
    /// Optional members to include.
    pub with: Vec<String>,
}

/// Composes a document.
///
/// # Errors
///
/// Says which referenced document is missing.
pub fn compose(
    shapes: &Shapes,
    resource: &Resource,
    anchors: &dyn Anchors,
    values: &mut Values,
    wish: &Wish<'_>,
) -> Result<Value, Missing> {
    Composing { shapes, resource, anchors, values, wish }.object(&resource.properties, true)
}

struct Composing<'c> {
    shapes: &'c Shapes,
    resource: &'c Resource,
    anchors: &'c dyn Anchors,
    values: &'c mut Values,
    wish: &'c Wish<'c>,
}

impl Composing<'_> {
    fn object(&mut self, properties: &[Property], is_root: bool) -> Result<Value, Missing> {
        let wish = self.wish;
        let wanted = |property: &&Property| {
            property.is_required
                || property.is_identity
                || (is_root
                    && (wish.with.contains(&property.name)
                        || wish.values.contains_key(&property.name)
                        || wish.targets.contains_key(&property.name)))
        };
        let (references, others): (Vec<_>, Vec<_>) = properties
            .iter()
            .filter(wanted)
            .partition(|property| matches!(property.form, Form::Reference(_)));
        let mut members = Map::new();
        for property in references.into_iter().chain(others) {
            let given = if is_root { wish.values.get(&property.name) } else { None };
            let value = match given.or(self.unified(&property.name, properties, &members)) {
                Some(given) => given.clone(),
                None => self.value(property, is_root)?,
            };
            members.insert(property.name.clone(), value);
        }
        Ok(Value::Object(members))
    }

    /// Returns the value of a member that must equal a reference's member of the same name.
    fn unified<'m>(
        &self,
        name: &str,
        properties: &[Property],
        members: &'m Map<String, Value>,
    ) -> Option<&'m Value> {
        properties.iter().find_map(|property| {
            let Form::Reference(reference) = &property.form else { return None };
            let (member, _) = reference.members.iter().find(|(member, _)| {
                self.resource.flat_name(&property.name, reference, member) == name
            })?;
            members.get(&property.name)?.get(member)
        })
    }

    fn value(&mut self, property: &Property, is_root: bool) -> Result<Value, Missing> {
        let name = &property.name;
        match &property.form {
            Form::Scalar(scalar) if is_root && property.is_identity => {
                Ok(self.values.new_one(singular(&self.resource.schema), name, scalar))
            }
            Form::Scalar(scalar) => {
                Ok(self.values.any(singular(&self.resource.schema), name, scalar))
            }
            Form::Descriptor(resource) => {
                let made = resource.and_then(|resource| self.anchors.anchor(resource));
                let missing = || Missing { what: format!("a descriptor for {name}") };
                made.and_then(|made| descriptor_value(&made.body)).ok_or_else(missing)
            }
            Form::Reference(reference) => {
                let (resource, made) = match self.wish.targets.get(name).filter(|_| is_root) {
                    Some((resource, made)) => (*resource, *made),
                    None => {
                        let resource = self.anchors.target(reference)?;
                        let missing =
                            || Missing { what: self.shapes.resources[resource].name.clone() };
                        (resource, self.anchors.anchor(resource).ok_or_else(missing)?)
                    }
                };
                let members = members_of(reference, &self.shapes.resources[resource], &made.body);
                members.map(Value::Object).ok_or_else(|| Missing {
                    what: format!(
                        "the members of {name} in {}",
                        self.shapes.resources[resource].name
                    ),
                })
            }
            Form::Object(inner) => self.object(inner, false),
            Form::List(inner) if inner.iter().any(|inner| inner.is_required) => {
                Ok(vec![self.object(inner, false)?].into())
            }
            // An item without any member says nothing, so the first member that can be filled in
            // is.
            Form::List(inner) => {
                let item = inner.iter().find_map(|property| {
                    let value = self.value(property, false).ok()?;
                    Some(Map::from_iter([(property.name.clone(), value)]))
                });
                Ok(vec![Value::Object(item.unwrap_or_default())].into())
            }
        }
    }
}

/// Returns the value that refers to a descriptor: its namespace, `#` and its code value.
pub fn descriptor_value(body: &Value) -> Option<Value> {
    let (namespace, code) = (body["namespace"].as_str()?, body["codeValue"].as_str()?);
    Some(format!("{namespace}#{code}").into())
}

/// A value of a document's identity and the member that holds it.
struct Leaf<'l> {
    property: &'l str,
    /// The name of the reference's member, if the value is in a reference.
    member: Option<&'l str>,
    value: &'l Value,
}

/// Returns the members of a reference to a document. Each value is found in the document by the
/// member's name, by its name after a role, or as the only value of the identity. Returns `None` if
/// a value is missing.
pub fn members_of(
    reference: &Reference,
    resource: &Resource,
    body: &Value,
) -> Option<Map<String, Value>> {
    let leaves = leaves(resource, body);
    let mut found: Vec<Option<usize>> = vec![None; reference.members.len()];
    let mut choose = |fits: &dyn Fn(&str, &Leaf<'_>) -> bool, fresh_only: bool| {
        for at in 0..found.len() {
            if found[at].is_some() {
                continue;
            }
            let name = &reference.members[at].0;
            let free = |leaf: &usize| !fresh_only || !found.contains(&Some(*leaf));
            let candidates = (0..leaves.len()).filter(|leaf| fits(name, &leaves[*leaf]));
            found[at] = candidates.clone().find(free);
        }
    };
    choose(&|name, leaf| leaf.member.is_none() && leaf.property == name, false);
    // A name with a role is matched before a name without one.
    let stands_there = |name: &str| leaves.iter().any(|leaf| leaf.member == Some(name));
    choose(
        &|name, leaf| {
            leaf.member.filter(|_| !stands_there(name)).is_some_and(|member| {
                member.len() < name.len() && is_flat_name(name, leaf.property, member)
            })
        },
        false,
    );
    choose(&|name, leaf| leaf.member == Some(name), true);
    choose(&|name, leaf| leaf.member == Some(name), false);
    choose(&|_, _| leaves.len() == 1, false);
    choose(&|name, leaf| ends_alike(name, leaf.member.unwrap_or(leaf.property)), true);
    let members = reference.members.iter().zip(&found);
    members.map(|((name, _), leaf)| Some((name.clone(), leaves[(*leaf)?].value.clone()))).collect()
}

fn ends_alike(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    one.ends_with(&other) || other.ends_with(&one)
}

fn leaves<'l>(resource: &'l Resource, body: &'l Value) -> Vec<Leaf<'l>> {
    let mut leaves = vec![];
    for property in &resource.properties {
        let Some(value) = body.get(&property.name) else { continue };
        match &property.form {
            Form::Reference(reference) if resource.identifies(property, reference) => {
                for (member, _) in &reference.members {
                    if let Some(value) = value.get(member) {
                        leaves.push(Leaf { property: &property.name, member: Some(member), value });
                    }
                }
            }
            Form::Scalar(_) | Form::Descriptor(_) if property.is_identity => {
                leaves.push(Leaf { property: &property.name, member: None, value });
            }
            _ => {}
        }
    }
    leaves
}
