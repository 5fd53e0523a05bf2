//! The id of a document in an address.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem};
use homeroom_store::Uuid;

use super::body::EMPTY_BODY;
use crate::filter;

/// Returns the id that the address names.
///
/// # Errors
///
/// 400 where it is none.
pub(super) fn id_of(call: &Call) -> Result<Uuid, Problem> {
    Uuid::read(call.params.get("id")).ok_or_else(|| no_id(false))
}

/// Refuses the id in the URL, and the body too if it is empty.
pub(super) fn no_id(lacks_body: bool) -> Problem {
    let empty = lacks_body.then(|| ("$".to_owned(), vec![EMPTY_BODY.to_owned()]));
    let id = ("$.id".to_owned(), vec![filter::NO_ID.to_owned()]);
    Problem::of(Kind::DataValidationFailed)
        .detail("The id in the URL is not valid.")
        .violations(empty.into_iter().chain([id]).collect())
}
