//! The caller that every part knows.

use std::sync::Arc;

use homeroom_http::Timestamp;

use crate::custom_view::Views;
use crate::rights::Rights;

/// A request of a recognized client, or of anybody on a public route.
pub type Call = homeroom_http::Call<ApiClient>;

/// A part of the server that a key may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The Ed-Fi data API and what belongs to it.
    Data,
    /// The Admin API, which manages vendors, applications, keys and claim sets.
    Admin,
    /// Courses, registrations, launch links.
    Learning,
    /// The learning record store.
    Xapi,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Data, Self::Admin, Self::Learning, Self::Xapi];

    /// The name in commands and routes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Admin => "admin",
            Self::Learning => "learning",
            Self::Xapi => "xapi",
        }
    }

    /// Reads a name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// Whether a client may still call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It may.
    Active,
    /// It may not for now: its application is not enabled, or it is not approved.
    Suspended,
    /// It may not since this moment, and never again.
    Revoked(Timestamp),
}

/// A caller: an application's key and what it may do.
#[derive(Debug, Clone)]
pub struct ApiClient {
    /// The key, `client_id` to OAuth; no secret.
    pub key: String,
    /// Name of the application.
    pub application: String,
    /// Name of the claim set; none where no scope needs one.
    pub claim_set: Option<String>,
    /// The claim set, compiled.
    pub rights: Arc<Rights>,
    /// The custom views that there are.
    pub views: Arc<Views>,
    /// Education organizations whose data it may see, where a strategy asks; each once, in order.
    pub education_organizations: Arc<[i64]>,
    /// Beginnings of namespaces that it may write, where a strategy asks.
    pub namespace_prefixes: Arc<[String]>,
    /// Ids of the profiles that its application has.
    pub profiles: Arc<[i64]>,
    /// Ownership tokens whose documents it may touch, where a strategy asks.
    pub ownership_tokens: Arc<[i64]>,
    /// The ownership token that its documents get.
    pub creator_token: Option<i64>,
    /// Parts of the server that it may call, in order.
    pub scopes: Vec<Scope>,
    /// Whether it may still call.
    pub status: Status,
    /// When the key was made.
    pub created: Timestamp,
}

impl ApiClient {
    /// Whether it may call a part.
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// The same client, confined to one of its education organizations.
    pub(crate) fn confined_to(&self, education_organization: i64) -> Self {
        Self { education_organizations: [education_organization].into(), ..self.clone() }
    }
}
