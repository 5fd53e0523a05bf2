//! The standing of stored documents under a grant, for explanations.

use homeroom_http::Problem;
use serde::Serialize;

use crate::grant::Standing;

/// The standing of a stored document under a grant. It contains ids and property names, and nothing
/// else of the document.
#[derive(Debug, Clone)]
pub struct DocumentStanding {
    /// The strategies that apply, in the order of the checks.
    pub strategies: Vec<StrategyStanding>,
    /// The problem that a caller gets, where the grant does not cover the document.
    pub problem: Option<Problem>,
}

/// The standing of a document under one strategy.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrategyStanding {
    /// Name of the strategy.
    pub strategy: String,
    /// Whether the strategy allows access to the document.
    pub holds: bool,
    /// For a relationship strategy: the subjects that must all be related.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectStanding>,
    /// For a custom view: path of the basis document that it leads to, or the basis's name where
    /// there is no such document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// For a custom view: what would allow access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The standing of a subject of a document towards a client.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectStanding {
    /// Name of its property, `SchoolId`.
    pub property: String,
    /// How the subject is related.
    pub standing: Standing,
    /// The client's education organization by which it is related.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<i64>,
    /// Paths of the associations that lead from a person to an organization.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
    /// Education organizations that it belongs to, including those above. Where it must be above
    /// the client's, only those that are. Shortened where there are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub organizations: Vec<i64>,
    /// What would relate the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}
