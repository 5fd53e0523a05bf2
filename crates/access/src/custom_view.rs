//! Custom views: strategies that a definition gives. A view has documents of its basis, and lets
//! through what belongs to one of them.

mod basis;
mod read;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_http::{Kind, Problem};
use homeroom_model::{Model, Resource, ResourceId, Target};
use serde_json::{Number, Value};

use crate::grant::{Phase, title};
use crate::items::{ItemKind, Items};
pub use basis::BasisOf;
use basis::{NoBasis, basis_of};

/// Most views of a store.
pub(crate) const VIEWS_MAX: usize = 200;

/// A strategy that a definition gives, named `{Basis}With{Text}`.
///
/// Source: Ed-Fi ODS/API 7.3, custom view-based authorization. There a view of the database has the
/// keys; here a rule says which documents those are of.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomView {
    /// Its name.
    pub name: String,
    /// What it has documents of.
    pub basis: Target,
    /// The name of that.
    pub basis_name: String,
    /// Which of them it has.
    pub rule: ViewRule,
    /// What it lets through, in words of the model.
    pub asks: String,
    /// What a caller may do to bring a document into it.
    pub hint: String,
    /// The definition as it was given.
    pub definition: Value,
    /// What a document of each resource leads to, in the order of the model.
    leads: Vec<Result<BasisOf, NoBasis>>,
}

impl Eq for CustomView {}

/// Which documents a view has, by what is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewRule {
    /// Those that keep all of these.
    All(Vec<Self>),
    /// Those that keep one of these.
    Any(Vec<Self>),
    /// Those whose text says something.
    Member(MemberRule),
    /// Those that a document of another resource refers to, which keeps a rule itself.
    Exists {
        /// The other resource.
        resource: ResourceId,
        /// Where one place of its documents is meant and others may refer to the same: values
        /// there and here that must be the same.
        same: Vec<SharedValue>,
        /// The rule.
        rule: Box<Self>,
    },
}

/// A value of the identity of a view's document, and where the documents that refer to it have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedValue {
    /// JSON path in the text of a document that refers to it.
    pub theirs: String,
    /// JSON path in the text of the document itself, by its kind: each kind of an abstract basis
    /// has a name of its own for it. Documents of other kinds are not meant.
    pub own: Vec<(ResourceId, String)>,
    /// Whether case matters not.
    pub fold: bool,
}

/// What a member of a document must be.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberRule {
    /// JSON paths of lists, each within an item of the one before; one item must keep to the rest.
    pub lists: Vec<String>,
    /// JSON path of the member, within the last list's item where there is one.
    pub path: String,
    /// What it must be.
    pub is: MemberIs,
}

/// What a value must be.
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
    /// This truth value.
    Boolean(bool),
    /// Any value: it is there.
    Present,
    /// Not there.
    Absent,
}

/// The views of a store, by name in small letters.
#[derive(Debug, Clone, Default)]
pub struct Views(BTreeMap<String, Arc<CustomView>>);

impl Views {
    /// The view of a name, in any case.
    pub fn get(&self, name: &str) -> Option<&Arc<CustomView>> {
        self.0.get(&name.to_ascii_lowercase())
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<CustomView>> {
        self.0.values()
    }

    /// Those that are stored. One that does not fit the model is none.
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

/// A view that a client's documents must lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewBound {
    /// The view.
    pub view: Arc<CustomView>,
    /// What of a document of the resource leads to the view's basis.
    pub basis: BasisOf,
}

impl CustomView {
    /// What binds documents of a resource to this view.
    ///
    /// # Errors
    ///
    /// 500 where they lead to none of its basis, or to more than one.
    pub(crate) fn bind(self: &Arc<Self>, resource: &Resource) -> Result<ViewBound, Problem> {
        let leads = self.leads.get(usize::from(resource.id.0));
        let basis = &self.basis_name;
        match leads {
            Some(Ok(leads)) => Ok(ViewBound { view: Arc::clone(self), basis: leads.clone() }),
            Some(Err(NoBasis::Several(properties))) => {
                Err(Problem::of(Kind::SecurityConfiguration).error(format!(
                    "The strategy {} is configured for '{}', which leads to a {basis} by more than \
                     one of its references: {}.",
                    self.name,
                    resource.endpoint,
                    properties.join(", ")
                )))
            }
            Some(Err(NoBasis::None)) | None => {
                Err(Problem::of(Kind::SecurityConfiguration).error(format!(
                    "The strategy {} is configured for '{}', none of whose references leads to a \
                     {basis}.",
                    self.name, resource.endpoint
                )))
            }
        }
    }
}

impl ViewBound {
    /// The properties of a resource that lead to the basis, as messages name them.
    pub fn properties(&self, resource: &Resource) -> Vec<String> {
        match &self.basis {
            BasisOf::Itself => resource.key.iter().map(|column| title(&column.name)).collect(),
            BasisOf::Places { columns, .. } => columns.iter().map(|name| title(name)).collect(),
        }
    }

    /// Checks a document, given whether what it leads to is in the view; [`None`]: it leads to
    /// nothing.
    ///
    /// # Errors
    ///
    /// 403: with `element-required` (proposed) or `element-uninitialized` (stored) where it leads
    /// to nothing; otherwise without a particular type, with what would help as hint.
    pub fn check(
        &self,
        resource: &Resource,
        phase: Phase,
        is_in: Option<bool>,
    ) -> Result<(), Problem> {
        let name = &self.view.name;
        let properties = || {
            let names: Vec<String> =
                self.properties(resource).into_iter().map(|name| format!("'{name}'")).collect();
            names.join(", ")
        };
        match (is_in, phase) {
            (Some(true), _) => Ok(()),
            (Some(false), _) => Err(Problem::of(Kind::AccessDenied)
                .error(format!("The view {name} has nothing with the document's {}.", properties()))
                .hint(format!("{name} asks for {}. {}", self.view.asks, self.view.hint))),
            (None, Phase::Proposed) => Err(Problem::of(Kind::ViewElementRequired).detail(format!(
                "The document needs {}, by which {name} authorizes.",
                properties()
            ))),
            (None, Phase::Stored) => Err(Problem::of(Kind::ViewElementUninitialized).error(
                format!("The stored document lacks {}, by which {name} authorizes.", properties()),
            )),
        }
    }
}

/// What every resource's documents lead to.
fn leads(model: &Model, basis: Target) -> Vec<Result<BasisOf, NoBasis>> {
    model.resources.iter().map(|resource| basis_of(model, resource, basis)).collect()
}
