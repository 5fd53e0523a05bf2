//! Reserved keys: those with other scopes than data. They are created only on the server itself, so
//! management over HTTP cannot touch them. A client that could reset their secret or change their
//! rights would gain more than the Admin API may grant.

use homeroom_access::{ApiClient, Registry, Scope, Status};
use homeroom_http::{Kind, Problem};

use crate::refusal::Refusal;

/// Returns whether the Admin API could not have created a client. A revoked client is not reserved:
/// it stays revoked and nobody can take it over.
fn is_reserved(client: &ApiClient) -> bool {
    client.scopes != [Scope::Data] && !matches!(client.status, Status::Revoked(_))
}

/// Refuses to change a reserved client.
///
/// # Errors
///
/// 403 where the client is reserved.
pub(crate) fn check_client(client: &ApiClient) -> Result<(), Refusal> {
    if !is_reserved(client) {
        return Ok(());
    }
    Err(refusal(format!("The key {} has more scopes than data.", client.key)))
}

/// Refuses to change an application that has a reserved client, or to add clients to it.
///
/// # Errors
///
/// 403 where a client of the application is reserved.
pub(crate) fn check_application(registry: &Registry, id: i64) -> Result<(), Refusal> {
    registry.clients_of(id).try_for_each(|client| check_client(&client.client))
}

/// Refuses to change a claim set that a reserved client uses, or to create one that such a client
/// names but lacks.
///
/// # Errors
///
/// 403 where a reserved client names the claim set.
pub(crate) fn check_claim_set(registry: &Registry, name: &str) -> Result<(), Refusal> {
    let has_it = |client: &&ApiClient| is_reserved(client) && registry.has_claim_set(client, name);
    match registry.clients().find(has_it) {
        None => Ok(()),
        Some(client) => Err(refusal(format!(
            "The claim set '{name}' is used by the key {}, which has more scopes than data.",
            client.key
        ))),
    }
}

fn refusal(what: String) -> Refusal {
    let problem = Problem::of(Kind::AccessDenied)
        .detail(format!("{what} Such keys are created and changed on the server only."))
        .hint(
            "Use `homeroom keys` and `homeroom claim-sets` on the server, or use a separate key \
             for each scope.",
        );
    Refusal::Problem(problem)
}
