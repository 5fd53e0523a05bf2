//! Turns a client, a resource and an action into a [`Grant`], or into the [`Denial`] that says
//! why not.

use std::sync::Arc;

use homeroom_model::{Resource, Subject, SubjectOf};

use crate::action::Action;
use crate::client::ApiClient;
use crate::denial::{Denial, Lack};
use crate::grant::{Alternative, Grant, Part, Relationships, UpsertGrant, namespace_subject};
use crate::relation::By;
use crate::rights::Permission;
use crate::strategy::{People, Relationship, Strategy};

/// Decides whether a client may take an action on a resource, and within which bounds.
///
/// # Errors
///
/// A [`Denial`] where the claim set does not grant the resource or the action, or where the client
/// lacks the namespaces that the strategy requires; [`Lack::Strategy`] where no strategy is
/// configured, where the resource lacks the property that one requires, or where a custom view is
/// not defined.
///
/// Source: Ed-Fi ODS/API 7.3, claim check; all strategies that are not relationships must hold.
pub fn authorize(client: &ApiClient, resource: &Resource, action: Action) -> Result<Grant, Denial> {
    let set = client.claim_set.as_deref().unwrap_or("none");
    let strategies = match client.rights.permission(resource.id, action) {
        Permission::Granted(strategies) => strategies,
        Permission::NotGrantedOnResource => {
            return Err(Denial::of(Lack::Resource)
                .error(format!("The claim set '{set}' grants nothing on '{}'.", resource.endpoint))
                .hint(
                    "Ask the server's operator for a key whose claim set has a claim on this resource \
                     or on a domain above it.",
                ));
        }
        Permission::NotGrantedForAction => {
            return Err(Denial::of(Lack::Action)
                .error(format!(
                    "The claim set '{set}' does not grant '{}' on '{}'.",
                    action.name(),
                    resource.endpoint
                ))
                .hint("/oauth/token_info lists the actions that this key is granted."));
        }
        Permission::NoStrategyConfigured => {
            return Err(Denial::of(Lack::Strategy).error(format!(
                "No authorization strategy is configured for '{}' on '{}' with the claim set '{set}'.",
                action.name(),
                resource.endpoint
            )));
        }
    };
    let mut grant = Grant { creator_token: client.creator_token, ..Grant::default() };
    let mut alternatives = vec![];
    for strategy in strategies {
        match strategy {
            Strategy::NoFurtherAuthorizationRequired => {}
            Strategy::NamespaceBased => {
                grant.namespace_prefixes = Some(namespaces(client, resource)?);
                grant.views_first = grant.views.len();
            }
            Strategy::OwnershipBased => {
                grant.ownership_tokens = Some(Arc::clone(&client.ownership_tokens));
            }
            Strategy::Custom(name) => match client.views.get(name) {
                Some(view) => grant.views.push(view.bind(resource)?),
                None => return Err(undefined(name, resource)),
            },
            other => match other.relationship() {
                Some(relationship) => {
                    alternatives.push(alternative(other, relationship, resource)?);
                }
                None => return Err(undefined(other.name(), resource)),
            },
        }
    }
    if !alternatives.is_empty() {
        // With no organizations, lists are empty and no document is accessible.
        let organizations = Arc::clone(&client.education_organizations);
        grant.relationships = Some(Arc::new(Relationships { organizations, alternatives }));
    }
    Ok(grant)
}

/// Returns the subjects of a resource that a strategy checks.
fn alternative(
    strategy: &Strategy,
    relationship: Relationship,
    resource: &Resource,
) -> Result<Alternative, Denial> {
    let by = |subject: &Subject| match subject.of {
        SubjectOf::Organization(_) => relationship.organizations,
        SubjectOf::Person(_) => {
            let counts = match relationship.people {
                People::None => false,
                People::All => true,
                People::Named => strategy.names(&subject.kind),
            };
            counts.then_some(By::Person { way: relationship.way, past: relationship.past })
        }
        SubjectOf::Other => None,
    };
    let subjects = resource.subjects.iter().enumerate();
    let parts = subjects.filter_map(|(at, subject)| Some(Part { subject: at, by: by(subject)? }));
    let parts: Vec<Part> = parts.collect();
    if parts.is_empty() {
        return Err(Denial::of(Lack::Strategy).error(format!(
            "The strategy {strategy} is configured for '{}', which has none of the subjects that \
             the strategy checks.",
            resource.endpoint
        )));
    }
    Ok(Alternative { strategy: strategy.clone(), parts })
}

/// Decides what POST may do.
///
/// # Errors
///
/// The error of [`authorize`] for creating, where neither creating nor updating is granted.
pub fn authorize_upsert(client: &ApiClient, resource: &Resource) -> Result<UpsertGrant, Denial> {
    let create = authorize(client, resource, Action::Create);
    let update = authorize(client, resource, Action::Update);
    match (create, update) {
        (Err(denial), Err(_)) => Err(denial),
        (create, update) => Ok(UpsertGrant { create, update }),
    }
}

fn namespaces(client: &ApiClient, resource: &Resource) -> Result<Arc<[String]>, Denial> {
    if namespace_subject(resource).is_none() {
        return Err(Denial::of(Lack::Strategy).error(format!(
            "The strategy NamespaceBased is configured for '{}', which has no namespace.",
            resource.endpoint
        )));
    }
    if client.namespace_prefixes.is_empty() {
        return Err(Denial::of(Lack::Prefixes)
            .error("The key is authorized by NamespaceBased but has no namespace prefixes.")
            .hint("Ask the server's operator for a key with namespace prefixes."));
    }
    Ok(Arc::clone(&client.namespace_prefixes))
}

fn undefined(name: &str, resource: &Resource) -> Denial {
    Denial::of(Lack::Strategy)
        .error(format!(
            "The strategy {name} is configured for '{}', but it is not defined.",
            resource.endpoint
        ))
        .hint("The server's operator defines it with the command: homeroom strategies put")
}
