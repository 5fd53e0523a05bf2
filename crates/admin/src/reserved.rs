//! Keys for more than data. They are made on the server alone, so management over HTTP leaves them as
//! they are: a client that could reset their secret, or change what they may, would get more than the
//! Admin API can give.

use homeroom_access::{ApiClient, Registry, Scope, Status};
use homeroom_http::{Kind, Problem};

use crate::refusal::Refusal;

/// Whether the Admin API could not have made a client. One that is revoked stays so and is nobody's
/// to take over.
fn is_reserved(client: &ApiClient) -> bool {
    client.scopes != [Scope::Data] && !matches!(client.status, Status::Revoked(_))
}

/// Refuses to change a client that is for more than data.
///
/// # Errors
///
/// 403.
pub(crate) fn check_client(client: &ApiClient) -> Result<(), Refusal> {
    if !is_reserved(client) {
        return Ok(());
    }
    Err(refusal(format!("The key {} is for more than data.", client.key)))
}

/// Refuses to change an application that has such a client, or to give it others.
///
/// # Errors
///
/// 403.
pub(crate) fn check_application(registry: &Registry, id: i64) -> Result<(), Refusal> {
    registry.clients_of(id).try_for_each(|client| check_client(&client.client))
}

/// Refuses to change a claim set that such a client has, or to make the one that it lacks.
///
/// # Errors
///
/// 403.
pub(crate) fn check_claim_set(registry: &Registry, name: &str) -> Result<(), Refusal> {
    let has_it = |client: &&ApiClient| is_reserved(client) && registry.has_claim_set(client, name);
    match registry.clients().find(has_it) {
        None => Ok(()),
        Some(client) => Err(refusal(format!(
            "The claim set '{name}' is that of the key {}, which is for more than data.",
            client.key
        ))),
    }
}

fn refusal(what: String) -> Refusal {
    let problem = Problem::of(Kind::AccessDenied)
        .detail(format!("{what} Such keys are made on the server, and changed there alone."))
        .hint(
            "Use `homeroom keys` and `homeroom claim-sets` on the server, or a key of its own for \
             each scope.",
        );
    Refusal::Problem(problem)
}
