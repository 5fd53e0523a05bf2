//! Why a request is refused, and how the answer says so.

use std::collections::BTreeMap;

use homeroom_access::{AccessError, CHECK_FIRST, Call, ManageError, store_problem};
use homeroom_http::{Kind, Problem, Response, json_response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

/// Most violations that one answer lists.
const FAULTS_MAX: usize = 200;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The body, or the change that it asks for, breaks rules.
    Invalid(Faults),
    /// Any other problem.
    Problem(Problem),
}

/// Violations by the path of the member, `resourceClaims[0].name`, and their number.
#[derive(Debug, Default)]
pub(crate) struct Faults(BTreeMap<String, Vec<String>>, usize);

impl Faults {
    /// Creates a single violation.
    pub(crate) fn of(path: &str, message: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.add(path, message);
        faults
    }

    /// Adds a violation; those beyond the limit are dropped.
    pub(crate) fn add(&mut self, path: &str, message: impl Into<String>) {
        if self.1 < FAULTS_MAX {
            self.0.entry(path.to_owned()).or_default().push(message.into());
        }
        self.1 += 1;
    }

    /// Returns an error if there is a violation.
    pub(crate) fn or_none(self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::Invalid(self)) }
    }

    /// Returns 400 with the violations in two forms: `errors` by member, as clients of the Ed-Fi
    /// Admin API read them, and `validationErrors` by JSON path, as everywhere in Homeroom.
    fn into_response(self, correlation_id: &str) -> Response {
        let mut by_member: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for (path, messages) in &self.0 {
            by_member.entry(member_of(path)).or_default().extend(messages);
        }
        let paths: Map<String, Value> =
            self.0.iter().map(|(path, messages)| (format!("$.{path}"), json!(messages))).collect();
        let kind = Kind::DataValidationFailed;
        let body = json!({
            "detail": "The request is invalid; errors lists each violation by member.",
            "type": kind.urn(),
            "title": "Validation failed",
            "status": kind.status().as_u16(),
            "correlationId": correlation_id,
            "errors": by_member,
            "validationErrors": paths,
        });
        let mut response = json_response(StatusCode::BAD_REQUEST, body.to_string());
        let problem = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, problem);
        response
    }
}

/// Returns the member at the start of a path, with its first letter in upper case.
fn member_of(path: &str) -> String {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    let mut letters = first.chars();
    let capital = letters.next().map(|letter| letter.to_ascii_uppercase());
    capital.into_iter().chain(letters).collect()
}

impl Refusal {
    /// Returns 404 for an item that does not exist.
    pub(crate) fn not_found(noun: &str, id: impl std::fmt::Display) -> Self {
        let detail =
            format!("Not found: there is no {noun} with the id {id}; it may have been deleted.");
        Self::Problem(Problem::of(Kind::NotFound).detail(detail))
    }

    /// Returns the answer, or the problem that the front door answers with.
    pub(crate) fn into_answer(self, correlation_id: &str) -> Result<Response, Problem> {
        match self {
            Self::Invalid(faults) => Ok(faults.into_response(correlation_id)),
            Self::Problem(problem) => Err(problem),
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ManageError> for Refusal {
    fn from(error: ManageError) -> Self {
        match error {
            ManageError::NoClaimSet(_)
            | ManageError::UnknownClaimSet { .. }
            | ManageError::UnknownKey { .. }
            | ManageError::Invalid(_)
            | ManageError::Refused(_) => Self::Invalid(Faults::of("id", sentence(&error))),
            ManageError::Meanwhile => Self::Problem(Problem::of(Kind::MultiUserConflict)),
            ManageError::Access(error) => error.into(),
        }
    }
}

impl From<AccessError> for Refusal {
    fn from(error: AccessError) -> Self {
        Self::Problem(problem_of(error))
    }
}

fn problem_of(error: AccessError) -> Problem {
    match error {
        AccessError::Store(error) => store_problem(error, CHECK_FIRST),
        error @ (AccessError::Claims(_) | AccessError::Random(_) | AccessError::Damaged(_)) => {
            Problem::internal(error)
        }
    }
}

/// Turns a message into a sentence, with a capital letter and a full stop.
fn sentence(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// Turns a handler's outcome into the answer to its call.
pub(crate) fn answer(call: &Call, outcome: Result<Response, Refusal>) -> Result<Response, Problem> {
    outcome.or_else(|refusal| refusal.into_answer(&call.correlation_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_listed_under_its_member_and_its_path() {
        let mut faults = Faults::of("company", "One.");
        faults.add("resourceClaims[0].name", "Two.");
        faults.add("resourceClaims[1]", "Three.");

        let response = faults.into_response("c");

        assert_eq!(response.status(), 400);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(member_of("resourceClaims[0].name"), "ResourceClaims");
        assert_eq!(member_of("company"), "Company");
    }

    #[test]
    fn violations_beyond_the_limit_are_left_out() {
        let mut faults = Faults::default();

        for number in 0..1_000 {
            faults.add(&format!("a[{number}]"), "No.");
        }

        assert_eq!(faults.0.len(), FAULTS_MAX);
        assert!(faults.or_none().is_err());
    }
}
