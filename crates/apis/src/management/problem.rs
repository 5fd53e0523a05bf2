//! The answers to requests that are not done.

use homeroom_access::{AccessError, CHECK_FIRST, store_problem};
use homeroom_http::{Kind, Problem, Violations};

use crate::check::Finding;
use crate::error::ApisError;

/// Most findings that one answer lists.
const FINDINGS_MAX: usize = 1_000;

/// Returns the problem for a request that is not done.
pub(super) fn of(error: ApisError) -> Problem {
    match error {
        ApisError::Invalid(findings) => of_findings(&findings),
        ApisError::TooLarge => Problem::of(Kind::PayloadTooLarge).detail(sentence(&error)),
        ApisError::Unknown { .. } => Problem::of(Kind::NotFound).detail(sentence(&error)),
        ApisError::InUse { .. } => Problem::of(Kind::DependentItemExists)
            .detail(sentence(&error))
            .hint("Give these APIs and keys another plan first."),
        ApisError::Subscription(_) => Problem::of(Kind::BadRequest).detail(sentence(&error)),
        ApisError::Meanwhile => Problem::of(Kind::MultiUserConflict),
        ApisError::Store(error) => store_problem(error, CHECK_FIRST),
        ApisError::Damaged(_) => Problem::internal(error),
    }
}

/// Returns the problem for what is wrong with a definition: each finding by its path, with its line.
pub(super) fn of_findings(findings: &[Finding]) -> Problem {
    let mut problem = Problem::of(Kind::DataValidationFailed)
        .detail("The definition cannot be published; nothing has changed.");
    let mut violations = Violations::new();
    for finding in findings.iter().take(FINDINGS_MAX) {
        let message = match finding.line {
            0 => finding.message.clone(),
            line => format!("line {line}: {}", finding.message),
        };
        if finding.path.is_empty() {
            problem = problem.error(message);
        } else {
            violations.entry(format!("$.{}", finding.path)).or_default().push(message);
        }
    }
    problem.violations(violations)
}

pub(super) fn of_access(error: AccessError) -> Problem {
    match error {
        AccessError::Store(error) => store_problem(error, CHECK_FIRST),
        error @ (AccessError::Claims(_) | AccessError::Random(_) | AccessError::Damaged(_)) => {
            Problem::internal(error)
        }
    }
}

/// Returns an error as a sentence.
fn sentence(error: &ApisError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let capital = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", capital.unwrap_or_default(), letters.as_str())
}
