//! Element trees of the records in an interchange, by element name.

use std::sync::OnceLock;

use homeroom_model::xml::{Content, XmlElement, xml_shape};
use homeroom_model::{Model, ResourceId, Target};

/// The meaning of an element directly below an interchange's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordElement {
    /// A record of this resource.
    Record(ResourceId),
    /// A reference that stands by itself, so that others can name its `id`.
    Reference,
    /// An element that the model does not have.
    Unknown,
}

/// The element trees of a model's records, each built on first use.
pub(crate) struct Shapes<'m> {
    model: &'m Model,
    trees: Vec<OnceLock<XmlElement>>,
}

impl<'m> Shapes<'m> {
    /// Makes the shapes of a model's records; none is built yet.
    pub(crate) fn of(model: &'m Model) -> Self {
        Self { model, trees: model.resources.iter().map(|_| OnceLock::new()).collect() }
    }

    /// Returns the meaning of an element with this name directly below the root.
    pub(crate) fn record_element(&self, name: &str) -> RecordElement {
        if let Some(id) = self.model.by_element(name) {
            return RecordElement::Record(id);
        }
        if self.is_reference(name) { RecordElement::Reference } else { RecordElement::Unknown }
    }

    /// Whether the name is that of a reference: `SchoolReference`, or with a role
    /// `HomeSchoolReference`.
    fn is_reference(&self, name: &str) -> bool {
        let Some(name) = name.strip_suffix("Reference") else { return false };
        let capitals = name.char_indices().filter(|(_, c)| c.is_ascii_uppercase());
        capitals.into_iter().any(|(at, _)| self.model.by_name(&name[at..]).is_some())
    }

    /// Returns the element tree of a resource's record.
    pub(crate) fn of_record(&self, resource: ResourceId) -> &XmlElement {
        self.trees[usize::from(resource.0)]
            .get_or_init(|| xml_shape(self.model, self.model.resource(resource)))
    }

    /// Whether a record of a resource may contain an element with this name.
    pub(crate) fn may_contain(&self, resource: ResourceId, name: &str) -> bool {
        let tree = self.of_record(resource);
        let mut lookups = vec![];
        has_child(tree, name, &mut lookups)
            || lookups.into_iter().flat_map(|target| self.resources(target)).any(|looked_up| {
                // Within a lookup there are elements of the target's own record.
                has_child(self.of_record(looked_up), name, &mut vec![])
            })
    }

    fn resources(&self, target: Target) -> Vec<ResourceId> {
        match target {
            Target::Resource(id) => vec![id],
            Target::Abstract(id) => self.model.base(id).subclasses.clone(),
        }
    }
}

/// Whether an element with this name may be inside another; collects the targets of lookups there.
fn has_child(element: &XmlElement, name: &str, lookups: &mut Vec<Target>) -> bool {
    element.children.iter().any(|child| {
        if let Content::Lookup(target) = child.content {
            lookups.push(target);
        }
        child.name == name || has_child(child, name, lookups)
    })
}
