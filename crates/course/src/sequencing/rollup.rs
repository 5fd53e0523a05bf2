//! RB.1.1, RB.1.2, RB.1.3 and RB.1.5: from the children of a cluster to the cluster, and up.

use super::course::{Course, Node};
use super::rules::{Action, rb_1_4_2_check_child_for_rollup, rb_1_4_rollup_rule_check};

/// RB.1.1, Measure Rollup Process: the measure of a cluster is the weighted mean of its children's; those
/// whose measure is not known count as 0.
pub(crate) fn rb_1_1_measure_rollup(course: &mut Course, at: usize) {
    let (mut total, mut weights, mut is_known) = (0.0, 0.0, false);
    for child in course.tracked_children(at) {
        let weight = child.definition.weight;
        weights += weight;
        if let Some(measure) = child.tracking.own.measure {
            total += measure * weight;
            is_known = true;
        }
    }
    course.nodes[at].tracking.own.measure = (is_known && weights > 0.0).then(|| total / weights);
}

/// RB.1.1 b, Completion Measure Rollup Process of the fourth edition: the progress of a cluster is the
/// weighted mean of its children's.
pub(crate) fn rb_1_1_b_completion_measure_rollup(course: &mut Course, at: usize) {
    let (mut total, mut weights, mut is_known) = (0.0, 0.0, false);
    for child in course.tracked_children(at) {
        let weight = child.definition.progress_weight;
        weights += weight;
        let known = child.tracking.own.progress.or(match child.tracking.own.completed {
            Some(true) => Some(1.0),
            _ => None,
        });
        if let Some(progress) = known {
            total += progress * weight;
            is_known = true;
        }
    }
    course.nodes[at].tracking.own.progress = (is_known && weights > 0.0).then(|| total / weights);
}

/// RB.1.2, Objective Rollup Process: by measure where the primary objective says so, else by rules.
pub(crate) fn rb_1_2_objective_rollup(course: &mut Course, at: usize) {
    if course.nodes[at].definition.passing.is_some() {
        rb_1_2_a_objective_rollup_using_measure(course, at);
    } else {
        rb_1_2_b_objective_rollup_using_rules(course, at);
    }
}

/// RB.1.2 a: satisfied is what reaches the least measure. While an attempt is in progress, that counts
/// only where the activity says so.
pub(crate) fn rb_1_2_a_objective_rollup_using_measure(course: &mut Course, at: usize) {
    let node = &mut course.nodes[at];
    let is_settled = !node.tracking.is_active || node.definition.satisfaction_if_active;
    node.tracking.own.satisfied = match (node.tracking.own.measure, node.definition.passing) {
        (Some(measure), Some(least)) if is_settled => Some(measure >= least),
        _ => None,
    };
}

/// RB.1.2 b: by the activity's rules for satisfied and not satisfied, else by the standard's defaults.
///
/// The default for not satisfied is read as "all children are attempted or not satisfied, and one is known
/// to be not satisfied": an activity whose success nobody has stated does not fail its parent.
pub(crate) fn rb_1_2_b_objective_rollup_using_rules(course: &mut Course, at: usize) {
    let names = [Action::Satisfied.name(), Action::NotSatisfied.name()];
    let has_own = has_rules(course, at, names);
    let satisfied = if has_own {
        by_rules(course, at, Action::NotSatisfied, Action::Satisfied)
    } else {
        let of = |action| {
            course.tracked_children(at).filter(move |c| rb_1_4_2_check_child_for_rollup(c, action))
        };
        let mut is_any = false;
        let (mut all_satisfied, mut all_done, mut is_one_failed) = (true, true, false);
        for child in of(Action::Satisfied) {
            is_any = true;
            all_satisfied &= child.tracking.own.satisfied == Some(true);
        }
        for child in of(Action::NotSatisfied) {
            let is_failed = child.tracking.own.satisfied == Some(false);
            all_done &= child.tracking.attempts > 0 || is_failed;
            is_one_failed |= is_failed;
        }
        if is_any && all_satisfied {
            Some(true)
        } else if all_done && is_one_failed {
            Some(false)
        } else {
            None
        }
    };
    course.nodes[at].tracking.own.satisfied = satisfied;
}

fn has_rules(course: &Course, at: usize, names: [&str; 2]) -> bool {
    course.nodes[at].definition.rollup.iter().any(|rule| names.contains(&rule.action.as_str()))
}

/// Returns true if a rule of the action `positive` holds, else false if one of `negative` holds.
fn by_rules(course: &Course, at: usize, negative: Action, positive: Action) -> Option<bool> {
    if rb_1_4_rollup_rule_check(course, at, positive) {
        return Some(true);
    }
    rb_1_4_rollup_rule_check(course, at, negative).then_some(false)
}

/// RB.1.3, Activity Progress Rollup Process: by the measure of progress where the activity says so, else
/// by rules.
pub(crate) fn rb_1_3_activity_progress_rollup(course: &mut Course, at: usize) {
    if let Some(least) = course.nodes[at].definition.completed_at {
        // RB.1.3 a.
        let tracking = &mut course.nodes[at].tracking;
        tracking.own.completed = tracking.own.progress.map(|progress| progress >= least);
        return;
    }
    // RB.1.3 b.
    let names = [Action::Completed.name(), Action::Incomplete.name()];
    let completed = if has_rules(course, at, names) {
        by_rules(course, at, Action::Incomplete, Action::Completed)
    } else {
        let children = course.tracked_children(at);
        let counted: Vec<_> = children
            .filter(|child| rb_1_4_2_check_child_for_rollup(child, Action::Completed))
            .map(|child| (child.tracking.own.completed, child.tracking.attempts > 0))
            .collect();
        if counted.is_empty() {
            None
        } else if counted.iter().all(|(completed, _)| *completed == Some(true)) {
            Some(true)
        } else if counted.iter().any(|(completed, attempted)| completed.is_some() || *attempted) {
            Some(false)
        } else {
            None
        }
    };
    course.nodes[at].tracking.own.completed = completed;
}

/// RB.1.5, Overall Rollup Process: from activities up to the root, each one above them once, the lower
/// ones first. `after` is called with each when it is rolled up, before that counts for those above.
pub(crate) fn rb_1_5_overall_rollup(
    course: &mut Course,
    from: &[usize],
    after: &mut dyn FnMut(usize, &mut Node),
) {
    let mut is_above = vec![false; course.nodes.len()];
    for at in from {
        let mut next = course.nodes[*at].parent;
        while let Some(at) = next.filter(|at| !is_above[*at]) {
            is_above[at] = true;
            next = course.nodes[at].parent;
        }
    }
    for at in (0..is_above.len()).rev().filter(|at| is_above[*at]) {
        let attempted = course.nodes[at].children.iter();
        let attempted = attempted.map(|child| course.nodes[*child].tracking.attempts);
        let attempts = attempted.max().unwrap_or(0).min(1);
        course.nodes[at].tracking.attempts = course.nodes[at].tracking.attempts.max(attempts);
        rb_1_1_measure_rollup(course, at);
        rb_1_1_b_completion_measure_rollup(course, at);
        rb_1_2_objective_rollup(course, at);
        rb_1_3_activity_progress_rollup(course, at);
        after(at, &mut course.nodes[at]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::course::Status;
    use super::*;
    use crate::package::{Activity, ActivityType};

    /// A cluster with sequencing of its own, and children with theirs.
    fn cluster(own: Value, children: &[Value]) -> Course {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        root.sequencing = Some(own);
        for (at, sequencing) in children.iter().enumerate() {
            let mut child = Activity::new(&format!("c{at}"), "Child", ActivityType::Sco);
            child.sequencing = Some(sequencing.clone());
            root.children.push(child);
        }
        Course::of(&root)
    }

    fn plain(children: usize) -> Course {
        cluster(json!({}), &vec![json!({}); children])
    }

    #[test]
    fn rb_1_1_weighs_measures_and_counts_unknown_ones_as_nothing() {
        let weight = |weight: f64| json!({ "rollup": { "objectiveMeasureWeight": weight } });
        for (weights, measures, measure) in [
            ([1.0, 1.0], [Some(1.0), Some(0.5)], Some(0.75)),
            ([3.0, 1.0], [Some(1.0), Some(0.0)], Some(0.75)),
            ([1.0, 1.0], [Some(0.8), None], Some(0.4)),
            ([1.0, 1.0], [None, None], None),
            ([0.0, 0.0], [Some(1.0), Some(1.0)], None),
        ] {
            let mut course = cluster(json!({}), &weights.map(weight));
            for (at, measure) in measures.into_iter().enumerate() {
                course.nodes[at + 1].tracking.own.measure = measure;
            }

            rb_1_1_measure_rollup(&mut course, 0);

            assert_eq!(course.nodes[0].tracking.own.measure, measure, "{weights:?} {measures:?}");
        }
    }

    #[test]
    fn rb_1_1_b_weighs_progress_and_counts_unknown_ones_as_nothing() {
        const DONE: Option<bool> = Some(true);
        let of = |progress, completed| Status { completed, progress, ..Status::default() };
        for (weights, children, progress) in [
            ([1.0, 1.0], [of(Some(1.0), None), of(Some(0.5), None)], Some(0.75)),
            ([0.75, 0.25], [of(Some(1.0), None), of(Some(0.0), None)], Some(0.75)),
            ([1.0, 1.0], [of(Some(0.5), None), of(None, None)], Some(0.25)),
            // What is completed without a measure is done; what is not completed without one is not known.
            ([1.0, 1.0], [of(None, DONE), of(Some(0.5), None)], Some(0.75)),
            ([1.0, 1.0], [of(None, DONE), of(None, Some(false))], Some(0.5)),
            // The measure counts before the status.
            ([1.0, 1.0], [of(Some(0.5), DONE), of(Some(0.5), Some(false))], Some(0.5)),
            ([0.0, 1.0], [of(Some(1.0), None), of(Some(0.5), None)], Some(0.5)),
            ([1.0, 1.0], [of(None, None), of(None, Some(false))], None),
            ([0.0, 0.0], [of(Some(1.0), None), of(Some(1.0), None)], None),
        ] {
            let mut course = plain(2);
            for (at, (weight, own)) in weights.into_iter().zip(children).enumerate() {
                course.nodes[at + 1].definition.progress_weight = weight;
                course.nodes[at + 1].tracking.own = own;
            }

            rb_1_1_b_completion_measure_rollup(&mut course, 0);

            let found = course.nodes[0].tracking.own.progress;
            assert_eq!(found, progress, "{weights:?} {children:?}");
        }
    }

    #[test]
    fn rb_1_1_b_leaves_out_children_that_are_not_tracked() {
        let untracked = json!({ "delivery": { "tracked": false } });
        let mut course = cluster(json!({}), &[json!({}), untracked]);
        course.nodes[1].tracking.own.progress = Some(0.5);
        course.nodes[2].tracking.own.progress = Some(1.0);
        course.nodes[0].tracking.own.progress = Some(0.9);

        rb_1_1_b_completion_measure_rollup(&mut course, 0);
        assert_eq!(course.nodes[0].tracking.own.progress, Some(0.5));

        course.nodes[1].tracking.own.progress = None;
        rb_1_1_b_completion_measure_rollup(&mut course, 0);
        assert_eq!(course.nodes[0].tracking.own.progress, None, "it is not kept");
    }

    #[test]
    fn rb_1_2_a_compares_the_measure_with_the_least_one() {
        let primary = json!({ "objectives": [
            { "id": "p", "primary": true, "satisfiedByMeasure": true, "minNormalizedMeasure": 0.6 }
        ]});
        for (measure, satisfied) in
            [(Some(0.6), Some(true)), (Some(0.59), Some(false)), (None, None)]
        {
            let mut course = cluster(primary.clone(), &[json!({})]);
            course.nodes[0].tracking.own.measure = measure;

            rb_1_2_objective_rollup(&mut course, 0);

            assert_eq!(course.nodes[0].tracking.own.satisfied, satisfied, "{measure:?}");
        }
    }

    #[test]
    fn rb_1_2_b_follows_the_defaults() {
        for (children, satisfied) in [
            ([(1, Some(true)), (1, Some(true))], Some(true)),
            ([(1, Some(true)), (1, Some(false))], Some(false)),
            ([(1, Some(true)), (0, None)], None),
            ([(1, None), (1, None)], None),
            ([(1, Some(false)), (0, None)], None),
        ] {
            let mut course = plain(2);
            for (at, (attempts, satisfied)) in children.into_iter().enumerate() {
                let tracking = &mut course.nodes[at + 1].tracking;
                (tracking.attempts, tracking.own.satisfied) = (attempts, satisfied);
            }

            rb_1_2_objective_rollup(&mut course, 0);

            assert_eq!(course.nodes[0].tracking.own.satisfied, satisfied, "{children:?}");
        }
    }

    #[test]
    fn rb_1_3_follows_the_defaults() {
        for (children, completed) in [
            ([Some(true), Some(true)], Some(true)),
            ([Some(true), None], Some(false)),
            ([Some(false), None], Some(false)),
            ([None, None], None),
        ] {
            let mut course = plain(2);
            for (at, completed) in children.into_iter().enumerate() {
                course.nodes[at + 1].tracking.own.completed = completed;
            }

            rb_1_3_activity_progress_rollup(&mut course, 0);

            assert_eq!(course.nodes[0].tracking.own.completed, completed, "{children:?}");
        }
    }

    #[test]
    fn rb_1_4_counts_children_as_the_rule_says() {
        let rule = |set: &str, more: Value| {
            let mut rule = json!({
                "childActivitySet": set, "action": "completed", "conditionCombination": "any",
                "conditions": [{ "condition": "completed", "operator": "noOp" }],
            });
            if let (Some(rule), Some(more)) = (rule.as_object_mut(), more.as_object()) {
                rule.extend(more.clone());
            }
            json!({ "rollup": { "rules": [rule] } })
        };
        for (own, is_so) in [
            (rule("all", json!({})), false),
            (rule("any", json!({})), true),
            (rule("none", json!({})), false),
            (rule("atLeastCount", json!({ "minimumCount": 2 })), true),
            (rule("atLeastCount", json!({ "minimumCount": 3 })), false),
            (rule("atLeastPercent", json!({ "minimumPercent": 0.5 })), true),
            (rule("atLeastPercent", json!({ "minimumPercent": 0.7 })), false),
        ] {
            let mut course = cluster(own.clone(), &[json!({}), json!({}), json!({})]);
            for (at, completed) in [Some(true), Some(true), Some(false)].into_iter().enumerate() {
                course.nodes[at + 1].tracking.own.completed = completed;
            }

            assert_eq!(rb_1_4_rollup_rule_check(&course, 0, Action::Completed), is_so, "{own}");
        }
    }

    #[test]
    fn rb_1_4_2_leaves_out_children_that_do_not_count() {
        let (not, attempted, skipped) = (
            json!({ "rollup": { "objectiveSatisfied": false } }),
            json!({ "rollupConsiderations": { "requiredForSatisfied": "ifAttempted" } }),
            json!({
                "rollupConsiderations": { "requiredForSatisfied": "ifNotSkipped" },
                "rules": { "pre": [{ "action": "skip", "conditions": [{ "condition": "always" }] }] },
            }),
        );
        let mut course = cluster(json!({}), &[not, attempted, json!({}), skipped]);
        course.nodes[3].tracking.own.satisfied = Some(true);

        let counts = [1, 2, 3, 4]
            .map(|at| rb_1_4_2_check_child_for_rollup(&course.nodes[at], Action::Satisfied));
        rb_1_2_objective_rollup(&mut course, 0);

        assert_eq!(counts, [false, false, true, false]);
        assert_eq!(course.nodes[0].tracking.own.satisfied, Some(true));
    }

    /// A root with two clusters, `a` and `b`, of two activities each: `a1`, `a2`, `b1`, `b2`.
    fn two_clusters() -> Course {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        for name in ["a", "b"] {
            let mut cluster = Activity::new(name, name, ActivityType::Aggregation);
            for number in 1..=2 {
                let leaf = Activity::new(&format!("{name}{number}"), "Leaf", ActivityType::Sco);
                cluster.children.push(leaf);
            }
            root.children.push(cluster);
        }
        Course::of(&root)
    }

    /// Has an activity completed and satisfied with a measure.
    fn pass(course: &mut Course, id: &str, measure: f64) -> usize {
        let at = course.find(id).unwrap();
        let tracking = &mut course.nodes[at].tracking;
        tracking.attempts = 1;
        tracking.own = Status {
            completed: Some(true),
            satisfied: Some(true),
            measure: Some(measure),
            progress: None,
        };
        at
    }

    #[test]
    fn rb_1_5_rolls_up_each_activity_above_once_and_the_lower_ones_first() {
        for (from, wanted) in [
            (&["a1"][..], &["a", "root"][..]),
            (&["b2"], &["b", "root"]),
            (&["a1", "a2"], &["a", "root"]),
            (&["a1", "b1"], &["b", "a", "root"]),
            (&["a"], &["root"]),
            (&["root"], &[]),
            (&[], &[]),
        ] {
            let mut course = two_clusters();
            let from: Vec<usize> = from.iter().map(|id| course.find(id).unwrap()).collect();
            let mut seen = vec![];

            rb_1_5_overall_rollup(&mut course, &from, &mut |_, node| seen.push(node.id.clone()));

            assert_eq!(seen, wanted);
        }
    }

    #[test]
    fn rb_1_5_leads_from_all_parts_to_the_whole() {
        const YES: Option<bool> = Some(true);
        for (passed, completed, satisfied, measure) in [
            (&["a1", "a2", "b1", "b2"][..], YES, YES, Some(0.8)),
            (&["a1", "a2"], Some(false), None, Some(0.4)),
            (&["a1"], Some(false), None, Some(0.2)),
        ] {
            let mut course = two_clusters();
            let from: Vec<usize> = passed.iter().map(|id| pass(&mut course, id, 0.8)).collect();

            rb_1_5_overall_rollup(&mut course, &from, &mut |_, _| {});

            let root = &course.nodes[0].tracking;
            assert_eq!(
                (root.own.completed, root.own.satisfied),
                (completed, satisfied),
                "{passed:?}"
            );
            assert_eq!((root.own.measure, root.attempts), (measure, 1), "{passed:?}");
        }
    }

    #[test]
    fn rb_1_5_counts_for_those_above_what_is_changed_after_a_cluster() {
        let mut course = two_clusters();
        let at = pass(&mut course, "a1", 1.0);

        rb_1_5_overall_rollup(&mut course, &[at], &mut |_, node| {
            if node.id == "a" {
                node.tracking.own.measure = Some(-1.0);
            }
        });

        assert_eq!(course.nodes[0].tracking.own.measure, Some(-0.5));
    }

    #[test]
    fn rb_1_5_goes_up_to_the_root() {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        let mut inner = Activity::new("inner", "Inner", ActivityType::Aggregation);
        inner.children.push(Activity::new("leaf", "Leaf", ActivityType::Sco));
        root.children.push(inner);
        let mut course = Course::of(&root);
        let leaf = course.find("leaf").unwrap();
        let tracking = &mut course.nodes[leaf].tracking;
        (tracking.attempts, tracking.own.completed) = (1, Some(true));
        (tracking.own.satisfied, tracking.own.measure) = (Some(true), Some(0.9));

        rb_1_5_overall_rollup(&mut course, &[leaf], &mut |_, _| {});

        let root = course.nodes[0].tracking.own;
        assert_eq!((root.completed, root.satisfied), (Some(true), Some(true)));
        assert_eq!(root.measure, Some(0.9));
    }
}
