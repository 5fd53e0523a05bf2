//! Custom views: strategies that a definition describes. A view contains documents of its basis,
//! and allows access to documents that lead to one of them.

mod basis;
mod read;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_model::{Model, Resource, ResourceId, Target};
use serde_json::{Number, Value};

use crate::denial::{Denial, Lack};
use crate::phase::Phase;

use crate::denial::title;
use crate::items::{ItemKind, Items};
pub use basis::BasisOf;
use basis::{NoBasis, basis_of};

/// Most views in a store.
pub(crate) const VIEWS_MAX: usize = 200;

/// A strategy that a definition describes, named `{Basis}With{Text}`.
///
/// Source: Ed-Fi ODS/API 7.3, custom view-based authorization. There a database view lists the
/// keys; here a rule selects the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomView {
    /// Its name.
    pub name: String,
    /// The kind of documents that it contains.
    pub basis: Target,
    /// The name of the basis.
    pub basis_name: String,
    /// The rule that selects the documents.
    pub rule: ViewRule,
    /// What it requires, in the words of the model.
    pub asks: String,
    /// What a caller can do to bring a document into it.
    pub hint: String,
    /// The definition as it was given.
    pub definition: Value,
    /// How the documents of each resource lead to the basis, in the model's order.
    leads: Vec<Result<BasisOf, NoBasis>>,
}

impl Eq for CustomView {}

/// A rule that selects documents by what is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewRule {
    /// Documents that satisfy all of these rules.
    All(Vec<Self>),
    /// Documents that satisfy one of these rules.
    Any(Vec<Self>),
    /// Documents with a member that has certain values.
    Member(MemberRule),
    /// Documents that a document of another resource refers to, if that document satisfies a rule.
    Exists {
        /// The other resource.
        resource: ResourceId,
        /// The values that must be equal on both sides. Needed where the rule means one reference
        /// of the other resource but its documents can refer to the same document from other places
        /// too.
        same: Vec<SharedValue>,
        /// The rule for the other document.
        rule: Box<Self>,
    },
}

/// An identity value of a view's document, and where the documents that refer to it have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedValue {
    /// JSON path in a document that refers to it.
    pub theirs: String,
    /// JSON path in the document itself, by its kind: the kinds of an abstract basis name the value
    /// differently. Documents of other kinds do not match.
    pub own: Vec<(ResourceId, String)>,
    /// Whether to ignore case.
    pub fold: bool,
}

/// A condition on a member of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberRule {
    /// JSON paths of lists, each within an item of the previous one; one item must satisfy the
    /// rest.
    pub lists: Vec<String>,
    /// JSON path of the member, within the last list's item where there is one.
    pub path: String,
    /// The condition on its value.
    pub is: MemberIs,
}

/// A condition on a value.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberIs {
    /// One of these texts.
    Text(Vec<String>),
    /// One of these descriptors, in any case.
    Descriptor(Vec<String>),
    /// One of these whole numbers.
    Integer(Vec<i64>),
    /// One of these numbers.
    Decimal(Vec<Number>),
    /// This boolean.
    Boolean(bool),
    /// Any value, as long as it is present.
    Present,
    /// No value: the member is missing.
    Absent,
}

/// The views of a store, by lower-case name.
#[derive(Debug, Clone, Default)]
pub struct Views(BTreeMap<String, Arc<CustomView>>);

impl Views {
    /// Returns the view with a name, in any case.
    pub fn get(&self, name: &str) -> Option<&Arc<CustomView>> {
        self.0.get(&name.to_ascii_lowercase())
    }

    /// Returns all views, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<CustomView>> {
        self.0.values()
    }

    /// Reads the stored views; those that do not fit the model are left out.
    pub(crate) fn of(items: &Items, model: &Model) -> Self {
        let mut views = Self::default();
        for (_, item) in items.of(ItemKind::AuthorizationStrategy) {
            let name = item["name"].as_str().unwrap_or_default();
            match CustomView::read(name, &item["definition"], model) {
                Ok(view) => _ = views.0.insert(name.to_ascii_lowercase(), Arc::new(view)),
                Err(faults) => {
                    tracing::error!(
                        strategy = name,
                        ?faults,
                        "a stored strategy does not fit the model"
                    );
                }
            }
        }
        views
    }
}

/// A view that a document must lead to under a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewBound {
    /// The view.
    pub view: Arc<CustomView>,
    /// How a document of the resource leads to the view's basis.
    pub basis: BasisOf,
}

impl CustomView {
    /// Returns the bound that this view puts on documents of a resource.
    ///
    /// # Errors
    ///
    /// [`Lack::Strategy`] where they lead to no document of its basis, or to more than one.
    pub(crate) fn bind(self: &Arc<Self>, resource: &Resource) -> Result<ViewBound, Denial> {
        let leads = self.leads.get(usize::from(resource.id.0));
        let basis = &self.basis_name;
        match leads {
            Some(Ok(leads)) => Ok(ViewBound { view: Arc::clone(self), basis: leads.clone() }),
            Some(Err(NoBasis::Several(properties))) => {
                Err(Denial::of(Lack::Strategy).error(format!(
                    "The strategy {} is configured for '{}', which leads to a {basis} through \
                     more than one of its references: {}.",
                    self.name,
                    resource.endpoint,
                    properties.join(", ")
                )))
            }
            Some(Err(NoBasis::None)) | None => Err(Denial::of(Lack::Strategy).error(format!(
                "The strategy {} is configured for '{}', none of whose references leads to a \
                     {basis}.",
                self.name, resource.endpoint
            ))),
        }
    }
}

impl ViewBound {
    /// Returns the properties of a resource that lead to the basis, as messages spell them.
    pub fn properties(&self, resource: &Resource) -> Vec<String> {
        match &self.basis {
            BasisOf::Itself => resource.key.iter().map(|column| title(&column.name)).collect(),
            BasisOf::Places { columns, .. } => columns.iter().map(|name| title(name)).collect(),
        }
    }

    /// Checks a document, given whether the view contains what it leads to; [`None`] where it leads
    /// to nothing.
    ///
    /// # Errors
    ///
    /// [`Lack::SentBasis`] or [`Lack::StoredBasis`] where it leads to nothing; otherwise
    /// [`Lack::Relation`], with what would help as a hint.
    pub fn check(
        &self,
        resource: &Resource,
        phase: Phase,
        is_in: Option<bool>,
    ) -> Result<(), Denial> {
        let name = &self.view.name;
        let properties = || {
            let names: Vec<String> =
                self.properties(resource).into_iter().map(|name| format!("'{name}'")).collect();
            names.join(", ")
        };
        match (is_in, phase) {
            (Some(true), _) => Ok(()),
            (Some(false), _) => Err(Denial::of(Lack::Relation)
                .error(format!("The view {name} does not contain the document's {}.", properties()))
                .hint(format!("{name} requires {}. {}", self.view.asks, self.view.hint))),
            (None, Phase::Proposed) => Err(Denial::of(Lack::SentBasis)
                .detail(format!("The document lacks {}, which {name} checks.", properties()))),
            (None, Phase::Stored) => Err(Denial::of(Lack::StoredBasis).error(format!(
                "The stored document lacks {}, which {name} checks.",
                properties()
            ))),
        }
    }
}

/// Returns how every resource's documents lead to a basis.
fn leads(model: &Model, basis: Target) -> Vec<Result<BasisOf, NoBasis>> {
    model.resources.iter().map(|resource| basis_of(model, resource, basis)).collect()
}
