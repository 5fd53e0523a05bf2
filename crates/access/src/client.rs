//! The client type that all parts share.

use std::sync::Arc;

use homeroom_http::Timestamp;

use crate::custom_view::Views;
use crate::rights::Rights;

/// A request of a recognized client, or of anyone on a public route.
pub type Call = homeroom_http::Call<ApiClient>;

/// A part of the server that a key may have access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The Ed-Fi data API and its companions.
    Data,
    /// The Admin API, which manages vendors, applications, keys and claim sets.
    Admin,
    /// Courses, registrations and launches.
    Learning,
    /// The learning record store. No route asks for this scope, so no key is given it any more; stores may
    /// have keys with it.
    Xapi,
    /// Published APIs, of which a subscription says which.
    Apis,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 5] = [Self::Data, Self::Admin, Self::Learning, Self::Xapi, Self::Apis];

    /// The scopes that routes of this server ask for. Keys are given only these.
    pub const SERVED: [Self; 4] = [Self::Data, Self::Admin, Self::Learning, Self::Apis];

    /// Returns the name used in commands and routes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Admin => "admin",
            Self::Learning => "learning",
            Self::Xapi => "xapi",
            Self::Apis => "apis",
        }
    }

    /// Reads a name, in exact case.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// Whether a client may still call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The client may call.
    Active,
    /// The client may not call for now: it was suspended, its application is not enabled, or it is not
    /// approved.
    Suspended,
    /// The client was revoked at this moment and may never call again.
    Revoked(Timestamp),
}

/// A caller: an application's key and what it may do.
#[derive(Debug, Clone)]
pub struct ApiClient {
    /// The key, which OAuth calls `client_id`; it is not secret.
    pub key: String,
    /// Name of the application.
    pub application: String,
    /// Name of the claim set; [`None`] where no scope needs one.
    pub claim_set: Option<String>,
    /// The claim set, compiled.
    pub rights: Arc<Rights>,
    /// All custom views.
    pub views: Arc<Views>,
    /// Education organizations whose data it may access, where a strategy asks; sorted, without
    /// duplicates.
    pub education_organizations: Arc<[i64]>,
    /// Namespace prefixes that it may use, where a strategy asks.
    pub namespace_prefixes: Arc<[String]>,
    /// Ids of its application's profiles.
    pub profiles: Arc<[i64]>,
    /// Ownership tokens whose documents it may access, where a strategy asks.
    pub ownership_tokens: Arc<[i64]>,
    /// The ownership token given to documents that it creates.
    pub creator_token: Option<i64>,
    /// Parts of the server that it may call, sorted.
    pub scopes: Vec<Scope>,
    /// The scopes that its token is held to, of the server and of published APIs; [`None`] for all that the
    /// key has.
    pub held_to: Option<Arc<[String]>>,
    /// Whether it may still call.
    pub status: Status,
    /// When the key was created.
    pub created: Timestamp,
}

impl ApiClient {
    /// Returns whether it may call a part.
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// The scope of a route that any recognized client may call.
pub const ANY_SCOPE: &str = "*";

#[cfg(test)]
impl ApiClient {
    /// Returns an active client without rights, for the tests of this crate.
    pub(crate) fn without_rights() -> Self {
        Self {
            key: "key".into(),
            application: "test".into(),
            claim_set: None,
            rights: Arc::new(Rights::none()),
            views: Arc::default(),
            education_organizations: [].into(),
            namespace_prefixes: [].into(),
            profiles: [].into(),
            ownership_tokens: [].into(),
            creator_token: None,
            scopes: vec![],
            held_to: None,
            status: Status::Active,
            created: Timestamp(0),
        }
    }
}
