//! Places in a document: finds them with the model, and reads and changes them by path.

use std::fmt;

use homeroom_model::{
    Place, Presence, Property, PropertyKind, Reference, ReferencePart, Resource, Scalar,
};
use serde_json::Value;

/// One place in one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Spot {
    pointer: String,
    path: String,
}

/// The JSON path, as problems name it: `$.addresses[0].city`.
impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.path)
    }
}

impl Spot {
    fn member(&self, name: &str) -> Self {
        let Self { pointer, path } = self;
        Self { pointer: format!("{pointer}/{name}"), path: format!("{path}.{name}") }
    }

    fn item(&self, at: usize) -> Self {
        let Self { pointer, path } = self;
        Self { pointer: format!("{pointer}/{at}"), path: format!("{path}[{at}]") }
    }

    /// Returns the spot of the object that holds this member.
    #[must_use]
    pub fn owner(&self) -> Self {
        let owner = |text: &str, by: char| text.rsplit_once(by).map_or("", |(of, _)| of).to_owned();
        Self { pointer: owner(&self.pointer, '/'), path: owner(&self.path, '.') }
    }

    /// Returns the value here.
    pub fn get<'v>(&self, document: &'v Value) -> &'v Value {
        document.pointer(&self.pointer).unwrap_or_else(|| panic!("{self} is not there"))
    }

    /// Replaces the value here.
    pub fn set(&self, document: &mut Value, value: Value) {
        let place = document.pointer_mut(&self.pointer);
        *place.unwrap_or_else(|| panic!("{self} is not there")) = value;
    }

    /// Returns the document with another value here.
    pub fn with(&self, document: &Value, value: Value) -> Value {
        let mut changed = document.clone();
        self.set(&mut changed, value);
        changed
    }

    /// Returns the document without the member at this spot.
    pub fn without(&self, document: &Value) -> Value {
        let mut changed = document.clone();
        let (parent, name) = self.pointer.rsplit_once('/').expect("the root cannot be removed");
        let parent = changed.pointer_mut(parent).and_then(Value::as_object_mut);
        let removed = parent.expect("only members are removed").remove(name);
        assert!(removed.is_some(), "{self} is not there");
        changed
    }
}

/// Kind of content at a place.
#[derive(Debug, Clone, Copy)]
pub enum What<'m> {
    /// A single value.
    Scalar(Scalar),
    /// A reference to another document.
    Reference(&'m Reference),
    /// A member of a reference.
    Part(&'m ReferencePart),
    /// An object.
    Object,
    /// A collection.
    List,
}

/// A place in a document, and what the model states about it.
#[derive(Debug, Clone)]
pub struct Found<'m> {
    /// The place in this document.
    pub spot: Spot,
    /// The place in the model.
    pub place: Place,
    /// Whether the model requires a value.
    pub presence: Presence,
    /// The kind of content.
    pub what: What<'m>,
}

impl Found<'_> {
    /// Returns the type of the value, of a property or of a reference's member.
    pub fn scalar(&self) -> Option<Scalar> {
        match self.what {
            What::Scalar(scalar) => Some(scalar),
            What::Part(part) => Some(part.scalar),
            What::Reference(_) | What::Object | What::List => None,
        }
    }
}

/// Returns every place that a document has, owners before their members.
pub fn walk<'m>(resource: &'m Resource, document: &Value) -> Vec<Found<'m>> {
    let mut found = vec![];
    inside(&resource.properties, document, &Spot::default(), &[], &mut found);
    found
}

fn inside<'m>(
    properties: &'m [Property],
    document: &Value,
    owner: &Spot,
    steps: &[usize],
    found: &mut Vec<Found<'m>>,
) {
    for (at, property) in properties.iter().enumerate() {
        let Some(value) = document.get(&property.name) else { continue };
        let spot = owner.member(&property.name);
        let steps: Vec<usize> = steps.iter().copied().chain([at]).collect();
        let (presence, place) = (property.presence, Place { steps: steps.clone(), part: None });
        let what = match &property.kind {
            PropertyKind::Scalar(scalar) => What::Scalar(*scalar),
            PropertyKind::Reference(reference) => What::Reference(reference),
            PropertyKind::Object(_) => What::Object,
            PropertyKind::List(_) => What::List,
        };
        found.push(Found { spot: spot.clone(), place, presence, what });
        match &property.kind {
            PropertyKind::Scalar(_) => {}
            PropertyKind::Reference(reference) => {
                for (part_at, part) in reference.parts.iter().enumerate() {
                    found.push(Found {
                        spot: spot.member(&part.name),
                        place: Place { steps: steps.clone(), part: Some(part_at) },
                        presence: Presence::Required,
                        what: What::Part(part),
                    });
                }
            }
            PropertyKind::Object(inner) => inside(inner, value, &spot, &steps, found),
            PropertyKind::List(inner) => {
                for (item_at, item) in value.as_array().into_iter().flatten().enumerate() {
                    inside(inner, item, &spot.item(item_at), &steps, found);
                }
            }
        }
    }
}
