//! Composites: answers that combine several resources, as definitions in XML describe.
//!
//! A definition is read, compiled against the model once, at start, and then run: the base
//! documents are a list like any other, what they refer to and what refers to them is found level
//! by level, all on one state of the store. Nothing here names a resource.
//!
//! Every resource that takes part is read by what the caller may read of it. Without Read on the base
//! resource the answer is 403; other resources that the caller may not read are left out.
//!
//! Source: Ed-Fi ODS/API 7.3, composites and their security.

mod compile;
mod definition;
mod fields;
mod filters;
mod handlers;
mod names;
mod read;
mod write;

use std::collections::BTreeSet;

use homeroom_model::{Model, ResourceId, Scalar};

pub use handlers::routes;

/// The shipped definitions, with the file names that error messages use.
const SHIPPED: &[(&str, &str)] =
    &[("the shipped enrollment.xml", include_str!("../../../models/composites/enrollment.xml"))];

/// Most bytes of a file of definitions.
pub const FILE_BYTES_MAX: usize = definition::FILE_BYTES_MAX;

/// A definition that does not fit the schema or the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct CompositeError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Says what the line contains, and what would be right.
    pub what: String,
}

/// All composites that are served.
#[derive(Debug, Clone, Default)]
pub struct Composites {
    /// The categories, ordered by organization and name.
    pub categories: Vec<Category>,
}

/// Composites that share routes and an address.
#[derive(Debug, Clone)]
pub struct Category {
    /// `ed-fi`
    pub organization: String,
    /// `enrollment`
    pub name: String,
    /// `Ed-Fi Enrollment`
    pub display_name: String,
    /// Routes to the composites in addition to each composite's own address.
    pub routes: Vec<RouteTemplate>,
    /// The composites.
    pub composites: Vec<Composite>,
    /// Notes on the parts of a shipped definition that the model does not have.
    pub left_out: Vec<CompositeError>,
}

/// The template of a route to composites: `/schools/{School.Id}/{compositeName}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTemplate {
    /// Its segments.
    pub segments: Vec<Segment>,
    /// The composites that it leads to, by their names in addresses; empty for all of them.
    pub only: Vec<String>,
}

/// A segment of a route template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A fixed text.
    Fixed(String),
    /// The value of a parameter of the specification.
    Parameter(String),
    /// The composite's name.
    Composite,
}

/// A composite.
#[derive(Debug, Clone)]
pub struct Composite {
    /// Name in addresses, `localEducationAgencies`.
    pub plural: String,
    /// The resource whose documents it lists.
    pub base: ResourceId,
    /// The members of an answer.
    pub(crate) node: Node,
    /// The parameters that filter a list.
    pub(crate) parameters: Vec<Parameter>,
}

/// The members that are shown of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) members: Vec<Member>,
}

/// A member of an answer. One without a name is flattened: its own members stand in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Member {
    /// The document's public id.
    Id { name: String },
    /// A value. If it can be found at several places, the first place that has it counts.
    Value { name: String, scalar: Scalar, ways: Vec<Vec<String>> },
    /// The items of a collection.
    Collection { name: String, property: String, node: Node },
    /// An object of the same document.
    Object { name: Option<String>, property: String, node: Node },
    /// The key of a reference to an abstract base, and the kind of its document,
    /// `educationOrganizationType`.
    Base { name: Option<String>, property: String, node: Node, subtype: Option<String> },
    /// The document that a reference leads to.
    Reference {
        name: Option<String>,
        property: String,
        to: ResourceId,
        subtype: Option<String>,
        node: Node,
    },
    /// The documents of a resource that refer to this one by a property.
    Linked { name: String, resource: ResourceId, property: String, node: Node },
}

impl Member {
    /// Returns its name in an answer, or [`None`] if it is flattened.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Id { name }
            | Self::Value { name, .. }
            | Self::Collection { name, .. }
            | Self::Linked { name, .. } => Some(name),
            Self::Object { name, .. } | Self::Base { name, .. } | Self::Reference { name, .. } => {
                name.as_deref()
            }
        }
    }

    /// Returns what is shown inside it, if it is not a single value.
    pub(crate) fn node(&self) -> Option<&Node> {
        match self {
            Self::Id { .. } | Self::Value { .. } => None,
            Self::Collection { node, .. }
            | Self::Object { node, .. }
            | Self::Base { node, .. }
            | Self::Reference { node, .. }
            | Self::Linked { node, .. } => Some(node),
        }
    }

    pub(crate) fn node_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Id { .. } | Self::Value { .. } => None,
            Self::Collection { node, .. }
            | Self::Object { node, .. }
            | Self::Base { node, .. }
            | Self::Reference { node, .. }
            | Self::Linked { node, .. } => Some(node),
        }
    }

    /// Returns the name of the member that states the kind of a referenced document.
    pub(crate) fn subtype(&self) -> Option<&str> {
        match self {
            Self::Base { subtype, .. } | Self::Reference { subtype, .. } => subtype.as_deref(),
            _ => None,
        }
    }
}

/// A filter of a list: it keeps the documents from which a path leads to a given value.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// `School.Id`
    pub(crate) name: String,
    /// Its description in the definition.
    pub(crate) description: Option<String>,
    /// Whether a query string may contain it; a route template always may.
    pub(crate) is_queryable: bool,
    /// The path, beginning at the base resource.
    pub(crate) steps: Vec<Step>,
    /// The resource that has the value.
    pub(crate) of: ResourceId,
    /// The value's name as a filter of that resource's list.
    pub(crate) field: String,
}

/// A step between two resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The resource at which it begins.
    pub(crate) from: ResourceId,
    /// The resource to which it leads.
    pub(crate) to: ResourceId,
    /// The reference that is followed, a property of the resource that refers.
    pub(crate) property: String,
    /// Whether it leads from the referring resource to its target, rather than back.
    pub(crate) forward: bool,
}

impl Composites {
    /// Compiles the shipped definitions and `files`, named texts of definitions. A category of the
    /// same organization and name as a shipped one takes its place.
    ///
    /// # Errors
    ///
    /// Names the file and the line of the first part that does not fit.
    pub fn compile(model: &Model, files: &[(String, String)]) -> Result<Self, CompositeError> {
        let mut categories: Vec<Category> = vec![];
        for (file, text) in files {
            for (line, category) in compile::file(model, file, text, false)? {
                let there = categories.iter().find(|there| there.is_at(&category));
                if there.is_some() {
                    return Err(CompositeError {
                        file: file.clone(),
                        line,
                        what: format!(
                            "Category: {}/{} is defined twice; give one of them another name",
                            category.organization, category.name
                        ),
                    });
                }
                categories.push(category);
            }
        }
        for (file, text) in SHIPPED {
            for (_, category) in compile::file(model, file, text, true)? {
                if !categories.iter().any(|own| own.is_at(&category)) {
                    categories.push(category);
                }
            }
        }
        categories.sort_by(|a, b| (&a.organization, &a.name).cmp(&(&b.organization, &b.name)));
        Ok(Self { categories })
    }

    /// Returns the category at an address; case does not matter.
    pub fn category(&self, organization: &str, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| {
            category.organization.eq_ignore_ascii_case(organization)
                && category.name.eq_ignore_ascii_case(name)
        })
    }
}

impl Category {
    fn is_at(&self, other: &Self) -> bool {
        self.organization.eq_ignore_ascii_case(&other.organization)
            && self.name.eq_ignore_ascii_case(&other.name)
    }

    /// Returns the composite by its name in an address; case does not matter.
    pub fn composite(&self, plural: &str) -> Option<&Composite> {
        self.composites.iter().find(|composite| composite.plural.eq_ignore_ascii_case(plural))
    }
}

impl Composite {
    /// Returns every resource that takes part, in members and on the paths of parameters.
    pub(crate) fn resources(&self) -> Vec<ResourceId> {
        let mut all = BTreeSet::new();
        compile::resources_of(&self.node, &mut all);
        for parameter in &self.parameters {
            all.insert(parameter.of);
            all.extend(parameter.steps.iter().map(|step| step.from));
        }
        all.into_iter().collect()
    }

    /// Returns a parameter by its name; case does not matter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }
}

impl RouteTemplate {
    /// Returns whether the route leads to a composite: the composite has the route's parameters, and
    /// the template does not exclude it.
    pub fn leads_to(&self, composite: &Composite) -> bool {
        let is_named = |name: &String| name.eq_ignore_ascii_case(&composite.plural);
        let has_all = self.segments.iter().all(|segment| match segment {
            Segment::Parameter(name) => composite.parameter(name).is_some(),
            Segment::Fixed(_) | Segment::Composite => true,
        });
        has_all && (self.only.is_empty() || self.only.iter().any(is_named))
    }
}
