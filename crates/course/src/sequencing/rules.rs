//! RB.1.4: whether a rule of a cluster holds for its children.

use super::check::up_2_sequencing_rules_check;
use super::course::{Course, Node};
use super::definition::{ChildSet, Condition, RollupRule};

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Satisfied,
    NotSatisfied,
    Completed,
    Incomplete,
}

impl Action {
    /// Returns its name in manifests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Satisfied => "satisfied",
            Self::NotSatisfied => "notSatisfied",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// RB.1.4, Rollup Rule Check Subprocess: whether one of the rules of an activity for an action holds.
pub(crate) fn rb_1_4_rollup_rule_check(course: &Course, at: usize, action: Action) -> bool {
    let rules = course.nodes[at].definition.rollup.iter();
    rules.filter(|rule| rule.action == action.name()).any(|rule| holds(course, at, rule, action))
}

fn holds(course: &Course, at: usize, rule: &RollupRule, action: Action) -> bool {
    let children = course.tracked_children(at);
    let counted = children.filter(|child| rb_1_4_2_check_child_for_rollup(child, action));
    let results: Vec<Option<bool>> =
        counted.map(|child| rb_1_4_1_evaluate_rollup_conditions(child, rule)).collect();
    if results.is_empty() {
        return false;
    }
    let of = |wanted: Option<bool>| results.iter().filter(|found| **found == wanted).count() as f64;
    let (yes, all) = (of(Some(true)), results.len() as f64);
    match rule.set {
        ChildSet::All => yes >= all,
        ChildSet::Any => yes > 0.0,
        ChildSet::None => of(Some(false)) >= all,
        ChildSet::AtLeastCount(count) => yes >= count,
        ChildSet::AtLeastPercent(percent) => yes / all >= percent,
    }
}

/// RB.1.4.1, Evaluate Rollup Conditions Subprocess: whether the conditions of a rule hold for a child;
/// [`None`] where that is not known.
pub(crate) fn rb_1_4_1_evaluate_rollup_conditions(child: &Node, rule: &RollupRule) -> Option<bool> {
    if rule.conditions.is_empty() {
        return None;
    }
    let mut results = rule.conditions.iter().map(|condition| evaluate(child, condition));
    if rule.is_any {
        let results: Vec<_> = results.collect();
        if results.contains(&Some(true)) {
            return Some(true);
        }
        return if results.contains(&None) { None } else { Some(false) };
    }
    let results: Vec<_> = results.by_ref().collect();
    if results.contains(&Some(false)) {
        return Some(false);
    }
    if results.contains(&None) { None } else { Some(true) }
}

fn evaluate(child: &Node, condition: &Condition) -> Option<bool> {
    let tracking = &child.tracking;
    let found = match condition.name.as_str() {
        "satisfied" => tracking.own.satisfied,
        "objectiveStatusKnown" => Some(tracking.own.satisfied.is_some()),
        "objectiveMeasureKnown" => Some(tracking.own.measure.is_some()),
        "completed" => tracking.own.completed,
        "activityProgressKnown" | "progressKnown" => Some(tracking.own.completed.is_some()),
        "attempted" => Some(tracking.attempts > 0),
        "attemptLimitExceeded" => {
            let limit = child.definition.attempt_limit;
            Some(limit.is_some_and(|limit| f64::from(tracking.attempts) >= limit))
        }
        "never" => Some(false),
        // Time limits are not evaluated, as the standard allows.
        _ => None,
    };
    if condition.is_not { found.map(|found| !found) } else { found }
}

/// RB.1.4.2, Check Child for Rollup Subprocess: whether a child counts for an action.
pub(crate) fn rb_1_4_2_check_child_for_rollup(child: &Node, action: Action) -> bool {
    let definition = &child.definition;
    let (counts, required) = match action {
        Action::Satisfied => (definition.counts_for_satisfied, &definition.required[0]),
        Action::NotSatisfied => (definition.counts_for_satisfied, &definition.required[1]),
        Action::Completed => (definition.counts_for_completion, &definition.required[2]),
        Action::Incomplete => (definition.counts_for_completion, &definition.required[3]),
    };
    let tracking = &child.tracking;
    counts
        && match required.as_str() {
            "ifNotSuspended" => tracking.attempts > 0 && !tracking.is_suspended,
            "ifAttempted" => tracking.attempts > 0,
            "ifNotSkipped" => up_2_sequencing_rules_check(child, "pre", &["skip"]).is_none(),
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::{Activity, ActivityType};

    /// Two conditions of a rule with that combination, for a child that has been attempted.
    fn found(
        is_any: bool,
        conditions: &[(&str, bool)],
        child: impl FnOnce(&mut Node),
    ) -> Option<bool> {
        let mut course = Course::of(&Activity::new("child", "Child", ActivityType::Sco));
        course.nodes[0].tracking.attempts = 1;
        child(&mut course.nodes[0]);
        let condition = |(name, is_not): &(&str, bool)| Condition {
            name: (*name).into(),
            is_not: *is_not,
            objective: None,
            threshold: 0.0,
        };
        let rule = RollupRule {
            set: ChildSet::All,
            is_any,
            conditions: conditions.iter().map(condition).collect(),
            action: Action::Completed.name().into(),
        };
        rb_1_4_1_evaluate_rollup_conditions(&course.nodes[0], &rule)
    }

    #[test]
    fn rb_1_4_1_combines_conditions_with_what_is_not_known() {
        const YES: Option<bool> = Some(true);
        const NO: Option<bool> = Some(false);
        for (satisfied, completed, all, any) in [
            (YES, YES, YES, YES),
            (YES, NO, NO, YES),
            (NO, YES, NO, YES),
            (NO, NO, NO, NO),
            (YES, None, None, YES),
            (None, YES, None, YES),
            (NO, None, NO, None),
            (None, NO, NO, None),
            (None, None, None, None),
        ] {
            let combined = |is_any| {
                found(is_any, &[("satisfied", false), ("completed", false)], |child| {
                    (child.tracking.own.satisfied, child.tracking.own.completed) =
                        (satisfied, completed);
                })
            };

            assert_eq!(
                [combined(false), combined(true)],
                [all, any],
                "{satisfied:?} {completed:?}"
            );
        }
        for is_any in [false, true] {
            assert_eq!(found(is_any, &[], |_| {}), None, "a rule without conditions");
        }
    }

    #[test]
    fn rb_1_4_1_reads_each_condition_and_its_opposite() {
        const YES: Option<bool> = Some(true);
        const NO: Option<bool> = Some(false);
        type Change = fn(&mut Node);
        let cases: [(&str, Change, Option<bool>); 21] = [
            ("satisfied", |child| child.tracking.own.satisfied = YES, YES),
            ("satisfied", |child| child.tracking.own.satisfied = NO, NO),
            ("satisfied", |_| {}, None),
            ("objectiveStatusKnown", |child| child.tracking.own.satisfied = NO, YES),
            ("objectiveStatusKnown", |_| {}, NO),
            ("objectiveMeasureKnown", |child| child.tracking.own.measure = Some(0.0), YES),
            ("objectiveMeasureKnown", |_| {}, NO),
            ("completed", |child| child.tracking.own.completed = YES, YES),
            ("completed", |child| child.tracking.own.completed = NO, NO),
            ("completed", |_| {}, None),
            ("activityProgressKnown", |child| child.tracking.own.completed = NO, YES),
            ("activityProgressKnown", |_| {}, NO),
            ("attempted", |_| {}, YES),
            ("attempted", |child| child.tracking.attempts = 0, NO),
            ("attemptLimitExceeded", |child| child.definition.attempt_limit = Some(1.0), YES),
            ("attemptLimitExceeded", |child| child.definition.attempt_limit = Some(2.0), NO),
            ("attemptLimitExceeded", |_| {}, NO),
            ("never", |_| {}, NO),
            // Time limits are not evaluated.
            ("timeLimitExceeded", |_| {}, None),
            ("outsideAvailableTimeRange", |_| {}, None),
            ("nothing that is known", |_| {}, None),
        ];
        for (name, change, wanted) in cases {
            let opposite = found(false, &[(name, true)], change);

            assert_eq!(found(false, &[(name, false)], change), wanted, "{name}");
            assert_eq!(opposite, wanted.map(|wanted| !wanted), "not {name}");
        }
    }
}
