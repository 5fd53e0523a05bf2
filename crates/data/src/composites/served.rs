//! The composites that are served, as compiled definitions.

use std::collections::BTreeSet;

use homeroom_model::ResourceId;

use super::error::CompositeError;
use super::member::{Node, Parameter};

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

impl Composites {
    /// Returns the category at an address; case does not matter.
    pub fn category(&self, organization: &str, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| {
            category.organization.eq_ignore_ascii_case(organization)
                && category.name.eq_ignore_ascii_case(name)
        })
    }
}

impl Category {
    pub(super) fn is_at(&self, other: &Self) -> bool {
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
        self.node.resources(&mut all);
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
