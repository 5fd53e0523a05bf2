//! What reads bytes from outside within this crate, for the fuzzer alone: a feature of its own has it built.

use homeroom_access::Call;
use homeroom_http::Problem;
use serde_json::Value;

pub use crate::issuer::foreign_caller;
use crate::operations::Operations;
use crate::unique_json;

/// Reads JSON in which no member is twice; [`None`] for anything else.
pub fn read_json(text: &[u8]) -> Option<Value> {
    unique_json::read(text).ok()
}

/// Finds the operation of a document that a request is for, and checks the request by it. A document that
/// cannot be published has none.
///
/// # Errors
///
/// The refusal.
pub async fn check_request(document: &str, call: &mut Call) -> Result<(), Problem> {
    let Ok(operations) = Operations::read(document, &[], true) else { return Ok(()) };
    let path = call.path.clone();
    operations.find(&call.method, &path)?.check(call).await
}
