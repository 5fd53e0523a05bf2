//! From a client, a resource and an action to a [`Grant`], or to the problem that says why not.

use std::sync::Arc;

use homeroom_http::{Kind, Problem};
use homeroom_model::{Resource, Subject};

use crate::action::Action;
use crate::client::ApiClient;
use crate::rights::Permission;
use crate::strategy::Strategy;

/// Kind of the subject that [`Strategy::NamespaceBased`] asks for.
const NAMESPACE: &str = "Namespace";

/// Most prefixes that a message names.
const PREFIXES_NAMED_MAX: usize = 5;

/// What a client was granted on a resource: all documents, or those within its namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Beginnings, one of which the document's namespace must have; [`None`]: any namespace.
    pub namespace_prefixes: Option<Arc<[String]>>,
}

impl Grant {
    /// Checks the namespace of a document that the client sends.
    ///
    /// # Errors
    ///
    /// 403 `namespace-required` or `namespace-mismatch`.
    pub fn check_proposed(&self, namespace: Option<&str>) -> Result<(), Problem> {
        self.check(namespace, Kind::NamespaceRequired, "sent")
    }

    /// Checks the namespace of a document that is stored; the problem does not show it.
    ///
    /// # Errors
    ///
    /// 403 `namespace-uninitialized` or `namespace-mismatch`.
    pub fn check_stored(&self, namespace: Option<&str>) -> Result<(), Problem> {
        self.check(namespace, Kind::NamespaceUninitialized, "stored")
    }

    fn check(&self, namespace: Option<&str>, missing: Kind, which: &str) -> Result<(), Problem> {
        let Some(prefixes) = &self.namespace_prefixes else { return Ok(()) };
        let Some(namespace) = namespace.filter(|namespace| !namespace.trim().is_empty()) else {
            return Err(Problem::of(missing));
        };
        if prefixes.iter().any(|prefix| namespace.starts_with(prefix.as_str())) {
            return Ok(());
        }
        let mut named: Vec<String> =
            prefixes.iter().take(PREFIXES_NAMED_MAX).map(|prefix| format!("'{prefix}'")).collect();
        if prefixes.len() > PREFIXES_NAMED_MAX {
            named.push("...".into());
        }
        Err(Problem::of(Kind::NamespaceMismatch).error(format!(
            "The namespace of the document {which} begins with none of this key's prefixes: {}.",
            named.join(", ")
        )))
    }
}

/// What a client was granted on a resource for POST, which creates or updates: the plan that looks
/// the document up takes the one that holds.
#[derive(Debug, Clone)]
pub struct UpsertGrant {
    /// For a new document.
    pub create: Result<Grant, Problem>,
    /// For a stored one.
    pub update: Result<Grant, Problem>,
}

/// The subject whose value [`Grant::check_proposed`] and [`Grant::check_stored`] take.
pub fn namespace_subject(resource: &Resource) -> Option<&Subject> {
    resource.subjects.iter().find(|subject| subject.kind == NAMESPACE)
}

/// Decides whether a client may do something to a resource at all, and within which bounds.
///
/// # Errors
///
/// 403 where the claim set grants neither resource nor action, or where the client lacks the
/// namespaces that the strategy asks for; 500 where no strategy is configured, or one that the
/// resource has no property for; 501 for a strategy that is not built yet, so that nothing gets past.
///
/// Source: Ed-Fi ODS/API 7.3, claim check; strategies that are no relationships must all agree.
pub fn authorize(
    client: &ApiClient,
    resource: &Resource,
    action: Action,
) -> Result<Grant, Problem> {
    let set = client.claim_set.as_deref().unwrap_or("none");
    let strategies = match client.rights.permission(resource.id, action) {
        Permission::Granted(strategies) => strategies,
        Permission::NotGrantedOnResource => {
            return Err(Problem::of(Kind::AccessDeniedResource)
                .error(format!("The claim set '{set}' grants nothing on '{}'.", resource.endpoint))
                .hint(
                    "Ask the server's operator for a key whose claim set has a claim on this resource \
                     or on a domain above it.",
                ));
        }
        Permission::NotGrantedForAction => {
            return Err(Problem::of(Kind::AccessDeniedAction)
                .error(format!(
                    "The claim set '{set}' does not grant '{}' on '{}'.",
                    action.name(),
                    resource.endpoint
                ))
                .hint("/oauth/token_info lists the actions that this key is granted."));
        }
        Permission::NoStrategyConfigured => {
            return Err(Problem::of(Kind::SecurityConfiguration).error(format!(
                "No authorization strategy is configured for '{}' on '{}' with the claim set '{set}'.",
                action.name(),
                resource.endpoint
            )));
        }
    };
    let mut grant = Grant { namespace_prefixes: None };
    for strategy in strategies {
        match strategy {
            Strategy::NoFurtherAuthorizationRequired => {}
            Strategy::NamespaceBased => {
                grant.namespace_prefixes = Some(namespaces(client, resource)?);
            }
            Strategy::OwnershipBased
            | Strategy::RelationshipsWithEdOrgsAndPeople
            | Strategy::RelationshipsWithEdOrgsOnly
            | Strategy::RelationshipsWithPeopleOnly
            | Strategy::RelationshipsWithStudentsOnly
            | Strategy::RelationshipsWithStudentsOnlyThroughResponsibility
            | Strategy::RelationshipsWithEdOrgsOnlyInverted
            | Strategy::RelationshipsWithEdOrgsAndPeopleInverted
            | Strategy::RelationshipsWithEdOrgsAndPeopleIncludingDeletes
            | Strategy::RelationshipsWithStudentsOnlyIncludingDeletes
            | Strategy::RelationshipsWithStudentsOnlyThroughResponsibilityIncludingDeletes
            | Strategy::Custom(_) => return Err(not_built(strategy, resource, action)),
        }
    }
    Ok(grant)
}

/// Decides what POST may do.
///
/// # Errors
///
/// As [`authorize`] for creating, where neither creating nor updating is granted.
pub fn authorize_upsert(client: &ApiClient, resource: &Resource) -> Result<UpsertGrant, Problem> {
    let create = authorize(client, resource, Action::Create);
    let update = authorize(client, resource, Action::Update);
    match (create, update) {
        (Err(problem), Err(_)) => Err(problem),
        (create, update) => Ok(UpsertGrant { create, update }),
    }
}

fn namespaces(client: &ApiClient, resource: &Resource) -> Result<Arc<[String]>, Problem> {
    if namespace_subject(resource).is_none() {
        return Err(Problem::of(Kind::SecurityConfiguration).error(format!(
            "The strategy NamespaceBased is configured for '{}', which has no namespace.",
            resource.endpoint
        )));
    }
    if client.namespace_prefixes.is_empty() {
        return Err(Problem::of(Kind::NoNamespaces)
            .hint("Ask the server's operator for a key with namespace prefixes."));
    }
    Ok(Arc::clone(&client.namespace_prefixes))
}

fn not_built(strategy: &Strategy, resource: &Resource, action: Action) -> Problem {
    Problem::of(Kind::NotImplemented)
        .detail(format!(
            "'{}' on '{}' is granted within the strategy {strategy}, which this server cannot \
             evaluate yet; until it can, the request is refused.",
            action.name(),
            resource.endpoint
        ))
        .error(strategy.name())
        .hint("Use a key whose claim set names NoFurtherAuthorizationRequired or NamespaceBased here.")
}
