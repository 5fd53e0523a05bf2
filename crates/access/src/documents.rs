//! How stored documents stand to a grant, for explanations.

use std::future::Future;
use std::pin::Pin;

use homeroom_http::Problem;
use homeroom_model::ResourceId;
use homeroom_store::Uuid;
use serde::Serialize;

use crate::grant::{Grant, Standing};

/// How a stored document stands to a grant. It has ids and names of properties, nothing else of the
/// document.
#[derive(Debug, Clone)]
pub struct DocumentStanding {
    /// What is asked of it, in the order of the checks.
    pub strategies: Vec<StrategyStanding>,
    /// What a caller is told, where the grant does not reach it.
    pub problem: Option<Problem>,
}

/// How a document stands to one strategy.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrategyStanding {
    /// Name of the strategy.
    pub strategy: String,
    /// Whether it lets the document through.
    pub holds: bool,
    /// Where it goes by relationships: what must be related, all of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectStanding>,
    /// Where it is a custom view: path of the document of its basis, or the name of that where
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// What would let it through, where it is a custom view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// How a subject of a document stands to a client.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectStanding {
    /// Name of its property, `SchoolId`.
    pub property: String,
    /// How it is related.
    pub standing: Standing,
    /// The client's education organization by which it is related.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<i64>,
    /// Paths of the associations that lead from a person to an organization.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
    /// Education organizations that it belongs to, those above included; where it must be above the
    /// client's, those that are. Some of them, where they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub organizations: Vec<i64>,
    /// What would relate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// What [`Documents::standing`] gives.
pub type Stands<'a> =
    Pin<Box<dyn Future<Output = Result<Option<DocumentStanding>, Problem>> + Send + 'a>>;

/// What knows stored documents: the data part does.
pub trait Documents: Send + Sync {
    /// How the document with this public id stands to a grant; [`None`] where the resource has no
    /// such document.
    fn standing<'a>(&'a self, resource: ResourceId, id: Uuid, grant: &'a Grant) -> Stands<'a>;
}
