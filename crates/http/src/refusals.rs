//! The form in which a part's clients expect a refusal, whoever refuses: the part or the front door.

use crate::problem::Problem;
use crate::response::Response;

/// A form of refusal.
#[derive(Debug)]
pub struct Refusals {
    /// The path below which even unknown addresses are refused in this form, such as
    /// `/learning/api/v2`; empty for a form of known addresses only. It has no slash at its end.
    pub prefix: &'static str,
    /// Returns the answer for a problem, with the correlation id of its request.
    pub answer: fn(Problem, &str) -> Response,
}

/// The form of RFC 9457 with the members of the Ed-Fi ODS/API.
pub static PROBLEMS: Refusals = Refusals { prefix: "", answer: Problem::into_response };
