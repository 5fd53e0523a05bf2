//! UP.1, UP.2 and UP.5: whether an activity may be entered.

use super::course::{Course, Node, Status};
use super::definition::{Condition, Rule};

/// UP.1, Limit Conditions Check Process: whether a limit is reached. Limits of time are not evaluated, as
/// the standard allows.
pub(crate) fn up_1_limit_conditions_check(node: &Node) -> bool {
    if !node.definition.is_tracked || node.tracking.is_active || node.tracking.is_suspended {
        return false;
    }
    let limit = node.definition.attempt_limit;
    limit.is_some_and(|limit| f64::from(node.tracking.attempts) >= limit)
}

/// UP.2, Sequencing Rules Check Process: the action of the first rule of a kind that holds, among some
/// actions.
pub(crate) fn up_2_sequencing_rules_check<'n>(
    node: &'n Node,
    kind: &str,
    actions: &[&str],
) -> Option<&'n str> {
    let rules = node.definition.rules_of(kind).iter();
    rules
        .filter(|rule| actions.contains(&rule.action.as_str()))
        .find(|rule| up_2_1_sequencing_rule_check(node, rule))
        .map(|rule| rule.action.as_str())
}

/// UP.2.1, Sequencing Rule Check Subprocess: whether the conditions of a rule hold.
pub(crate) fn up_2_1_sequencing_rule_check(node: &Node, rule: &Rule) -> bool {
    if rule.conditions.is_empty() {
        return false;
    }
    let mut results =
        rule.conditions.iter().map(|condition| evaluate(node, condition) == Some(true));
    if rule.is_any { results.any(|found| found) } else { results.all(|found| found) }
}

fn evaluate(node: &Node, condition: &Condition) -> Option<bool> {
    let tracking = &node.tracking;
    let named =
        condition.objective.as_ref().filter(|id| Some(*id) != node.definition.primary.as_ref());
    let Status { satisfied, measure, .. } = match named {
        Some(id) => tracking.objectives.get(id).copied().unwrap_or_default(),
        None => tracking.own,
    };
    let found = match condition.name.as_str() {
        "satisfied" => satisfied,
        "objectiveStatusKnown" => Some(satisfied.is_some()),
        "objectiveMeasureKnown" => Some(measure.is_some()),
        "objectiveMeasureGreaterThan" => measure.map(|measure| measure > condition.threshold),
        "objectiveMeasureLessThan" => measure.map(|measure| measure < condition.threshold),
        "completed" => tracking.own.completed,
        "activityProgressKnown" => Some(tracking.own.completed.is_some()),
        "attempted" => Some(tracking.attempts > 0),
        "attemptLimitExceeded" => {
            let limit = node.definition.attempt_limit;
            Some(limit.is_some_and(|limit| f64::from(tracking.attempts) >= limit))
        }
        "always" => Some(true),
        _ => None,
    };
    if condition.is_not { found.map(|found| !found) } else { found }
}

/// UP.5, Check Activity Process: whether an activity may not be entered: a rule disables it, or a limit is
/// reached, for it or for one above.
pub(crate) fn up_5_check_activity(course: &Course, at: usize) -> bool {
    let mut next = Some(at);
    while let Some(at) = next {
        let node = &course.nodes[at];
        let is_disabled = up_2_sequencing_rules_check(node, "pre", &["disabled"]).is_some();
        if is_disabled || up_1_limit_conditions_check(node) {
            return true;
        }
        next = node.parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::package::{Activity, ActivityType};

    fn course(sequencing: Value) -> Course {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        let mut child = Activity::new("child", "Child", ActivityType::Sco);
        child.sequencing = Some(sequencing);
        root.children.push(child);
        Course::of(&root)
    }

    #[test]
    fn up_1_is_true_once_the_last_attempt_has_begun() {
        for (attempts, is_reached) in [(0, false), (1, false), (2, true)] {
            let mut course = course(json!({ "limits": { "attemptLimit": 2 } }));
            course.nodes[1].tracking.attempts = attempts;

            assert_eq!(up_1_limit_conditions_check(&course.nodes[1]), is_reached);
            assert_eq!(up_5_check_activity(&course, 1), is_reached);
        }
    }

    #[test]
    fn up_2_takes_the_first_rule_that_holds() {
        let rule = |condition: &str, action: &str| json!({ "conditions": [{ "condition": condition }], "conditionCombination": "all", "action": action });
        let rules = json!({ "rules": { "pre": [
            rule("completed", "disabled"), rule("attempted", "skip"), rule("always", "hiddenFromChoice"),
        ]}});
        let all = ["disabled", "skip", "hiddenFromChoice"];
        for (attempts, completed, action) in
            [(0, None, "hiddenFromChoice"), (1, None, "skip"), (1, Some(true), "disabled")]
        {
            let mut course = course(rules.clone());
            let tracking = &mut course.nodes[1].tracking;
            (tracking.attempts, tracking.own.completed) = (attempts, completed);

            let found = up_2_sequencing_rules_check(&course.nodes[1], "pre", &all);

            assert_eq!(found, Some(action));
        }
    }

    #[test]
    fn up_2_1_treats_what_is_not_known_as_not_holding() {
        for (operator, satisfied, holds) in [
            ("noOp", Some(true), true),
            ("not", Some(true), false),
            ("not", Some(false), true),
            ("noOp", None, false),
            ("not", None, false),
        ] {
            let mut course = course(json!({ "rules": { "pre": [{
                "conditions": [{ "condition": "satisfied", "operator": operator }],
                "conditionCombination": "all", "action": "disabled",
            }]}}));
            course.nodes[1].tracking.own.satisfied = satisfied;

            assert_eq!(up_5_check_activity(&course, 1), holds, "{operator} {satisfied:?}");
        }
    }
}
