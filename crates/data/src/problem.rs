//! What a caller is told when a request fails.

use homeroom_access::{SEND_AGAIN, store_problem};
use homeroom_document::Refusal;
use homeroom_http::{Kind, Problem};
use homeroom_store::{Refused, StoreError};

/// Returns the problem for a refusal.
pub(crate) fn of_refusal(refusal: Refusal) -> Problem {
    let (sentence, hint) = (refusal.sentence(), refusal.hint().map(str::to_owned));
    let mut problem = match refusal {
        Refusal::NotFound => Problem::of(Kind::NotFound),
        Refusal::Denied(denial) => denial.into(),
        Refusal::OtherVersion => Problem::of(Kind::OptimisticLockFailed)
            .detail(sentence)
            .error("If-Match does not match the stored version."),
        Refusal::NoVersion => Problem::of(Kind::OptimisticLockFailed)
            .detail(sentence)
            .error("If-Match matches nothing, because no such document is stored."),
        Refusal::KnownVersion => Problem::of(Kind::OptimisticLockFailed)
            .detail(sentence)
            .error("If-None-Match matches the stored version."),
        Refusal::UnknownDescriptors(violations) => {
            Problem::of(Kind::DataValidationFailed).violations(violations)
        }
        Refusal::Unresolved { violations, .. } => {
            Problem::of(Kind::UnresolvedReference).detail(sentence).violations(violations)
        }
        Refusal::IdentityTaken { identity } => {
            Problem::of(Kind::NonUniqueIdentity).detail(sentence).error(identity)
        }
        Refusal::KeyChange { .. } => Problem::of(Kind::KeyChangeNotSupported).detail(sentence),
        Refusal::Referred { .. } => Problem::of(Kind::DependentItemExists).detail(sentence),
        Refusal::Confused => Problem::internal(sentence),
    };
    if let Some(hint) = hint {
        problem.hint = Some(hint);
    }
    problem
}

/// Returns the problem for a plan that was not carried out.
pub(crate) fn of_plan(refused: Refused<Problem>) -> Problem {
    match refused {
        Refused::Decision(problem) => problem,
        Refused::Store(error) => problem_of(error),
    }
}

/// Returns the problem for a failure of the store.
pub fn problem_of(error: StoreError) -> Problem {
    let hint = match error {
        StoreError::Deadline(_) => {
            Some("Filter by a whole reference or key, omit totalCount, or page with pageToken.")
        }
        StoreError::TooLarge { .. } => Some("Ask for fewer documents with limit or pageSize."),
        _ => None,
    };
    let problem = store_problem(error, SEND_AGAIN);
    match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use homeroom_document::Violations;

    use super::*;

    #[test]
    fn a_page_that_is_too_large_can_be_asked_for_in_parts() {
        let problem = problem_of(StoreError::TooLarge { bytes_max: 8 << 20, fits: 7 });

        assert_eq!(problem.errors, ["The answer would be larger than 8 MiB."]);
        assert!(problem.hint.as_ref().is_some_and(|hint| hint.contains("pageSize")));
        assert_eq!(problem_of(StoreError::Unsure).hint.as_deref(), Some(SEND_AGAIN));
    }

    #[test]
    fn a_refusal_has_the_same_code_internally_as_on_the_wire() {
        let violations = Violations::from([("$.a".to_owned(), vec!["b".to_owned()])]);
        for refusal in [
            Refusal::NotFound,
            Refusal::OtherVersion,
            Refusal::NoVersion,
            Refusal::KnownVersion,
            Refusal::UnknownDescriptors(violations.clone()),
            Refusal::Unresolved { targets: vec!["A".into()], more: 2, violations },
            Refusal::IdentityTaken { identity: "A {}".into() },
            Refusal::KeyChange { named: "A".into(), is_allowed: true },
            Refusal::Referred { by: vec!["A".into()] },
            Refusal::Confused,
        ] {
            let problem = of_refusal(refusal.clone());

            assert_eq!(problem.kind.urn(), refusal.code().urn());
            assert_eq!(problem.hint.as_deref(), refusal.hint(), "{refusal:?}");
            assert_eq!(
                Some(&problem.violations),
                refusal.violations().or(Some(&Violations::new()))
            );
            if let Refusal::UnknownDescriptors(_) = refusal {
                assert_eq!(problem.kind.detail(), refusal.sentence());
            }
        }
    }

    #[test]
    fn missing_targets_are_told_in_the_right_number() {
        let of = |targets: &[&str], more| {
            let targets = targets.iter().map(|name| (*name).to_owned()).collect();
            let refusal = Refusal::Unresolved { targets, more, violations: Violations::new() };
            of_refusal(refusal).detail.clone().unwrap()
        };

        assert_eq!(of(&["School"], 0), "The referenced School does not exist.");
        assert_eq!(of(&["School", "Student"], 0), "The referenced School, Student do not exist.");
        assert!(
            of(&["School"], 1)
                .ends_with("1 more reference points to a document that does not exist.")
        );
    }
}
