//! What the run-time does when a session ends.

use super::state::ActivityState;
use crate::package::{Activity, Standard};

/// Ends a session of which nothing was heard for a while, if content has not ended it: it counts as
/// suspended, whatever content has set, so that the learner can go on. Returns whether it was open.
pub(crate) fn time_out(state: &mut ActivityState) -> bool {
    if state.is_finished {
        return false;
    }
    state.is_finished = true;
    "suspend".clone_into(&mut state.exit);
    true
}

/// Applies the rules that the run-time keeps when content ends a session.
///
/// Source: SCORM 1.2 RTE §3.4.4 (`cmi.core.lesson_status`: the mastery score decides between passed and
/// failed where there is credit; content that has set no status has completed).
pub(crate) fn finish(state: &mut ActivityState, standard: Standard, activity: &Activity) {
    if standard != Standard::Scorm12 || !state.is_finished {
        return;
    }
    let status = state.some("cmi.core.lesson_status").unwrap_or("not attempted").to_owned();
    let is_suspended = state.exit == "suspend";
    let mastery = activity.mastery_score.as_deref().and_then(|score| score.parse::<f64>().ok());
    let raw = state.number("cmi.core.score.raw");
    let decided = match (mastery, raw) {
        (Some(mastery), Some(raw)) if !is_suspended || status != "incomplete" => {
            Some(if raw >= mastery { "passed" } else { "failed" })
        }
        _ if status == "not attempted" && !is_suspended => Some("completed"),
        _ => None,
    };
    if let Some(decided) = decided {
        state.cmi.insert("cmi.core.lesson_status".into(), decided.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::ActivityType;

    #[test]
    fn scorm_12_decides_the_status_at_the_end_of_a_session() {
        let mut activity = Activity::new("a", "A", ActivityType::Sco);
        for (mastery, values, is_exit, status) in [
            (None, &[][..], true, "completed"),
            (None, &[("cmi.core.exit", "suspend")][..], true, "-"),
            (None, &[][..], false, "-"),
            (Some("80"), &[("cmi.core.score.raw", "79.5")][..], true, "failed"),
            (Some("80"), &[("cmi.core.score.raw", "80")][..], true, "passed"),
            (
                Some("80"),
                &[
                    ("cmi.core.score.raw", "90"),
                    ("cmi.core.exit", "suspend"),
                    ("cmi.core.lesson_status", "incomplete"),
                ][..],
                true,
                "incomplete",
            ),
            (Some("80"), &[("cmi.core.lesson_status", "completed")][..], true, "completed"),
        ] {
            activity.mastery_score = mastery.map(str::to_owned);
            let exit = values.iter().find(|(name, _)| *name == "cmi.core.exit");
            let mut state = ActivityState {
                cmi: values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
                exit: exit.map_or("", |(_, exit)| exit).into(),
                is_finished: is_exit,
                ..ActivityState::default()
            };

            finish(&mut state, Standard::Scorm12, &activity);

            let found = state.get("cmi.core.lesson_status").unwrap_or("-");
            assert_eq!(found, status, "{values:?}");
        }
    }
}
