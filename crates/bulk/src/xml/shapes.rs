//! What the records of an interchange look like, by element name.

use std::sync::OnceLock;

use homeroom_model::xml::{XmlElement, xml_shape};
use homeroom_model::{Model, ResourceId};

/// What an element directly below an interchange's root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordElement {
    /// A record of this resource.
    Record(ResourceId),
    /// A reference that stands by itself, to give others an `id` to name.
    Reference,
    /// Nothing that the model knows.
    Unknown,
}

/// The element trees of a model's records, each made when it is first needed.
pub(crate) struct Shapes<'m> {
    model: &'m Model,
    trees: Vec<OnceLock<XmlElement>>,
}

impl<'m> Shapes<'m> {
    /// The shapes of a model's records.
    pub(crate) fn of(model: &'m Model) -> Self {
        Self { model, trees: model.resources.iter().map(|_| OnceLock::new()).collect() }
    }

    /// What an element of this name is, directly below the root.
    pub(crate) fn record_element(&self, name: &str) -> RecordElement {
        if let Some(id) = self.model.by_element(name) {
            return RecordElement::Record(id);
        }
        if self.is_reference(name) { RecordElement::Reference } else { RecordElement::Unknown }
    }

    /// Whether it is named as references are: `SchoolReference`, with a role `HomeSchoolReference`.
    fn is_reference(&self, name: &str) -> bool {
        let Some(name) = name.strip_suffix("Reference") else { return false };
        let capitals = name.char_indices().filter(|(_, c)| c.is_ascii_uppercase());
        capitals.into_iter().any(|(at, _)| self.model.by_name(&name[at..]).is_some())
    }

    /// The tree of a resource's record.
    pub(crate) fn of_record(&self, resource: ResourceId) -> &XmlElement {
        self.trees[usize::from(resource.0)]
            .get_or_init(|| xml_shape(self.model, self.model.resource(resource)))
    }
}
