//! UP.3 and UP.4: what follows from the end of an attempt.

use super::course::Course;

/// UP.4, End Attempt Process: what content has not said when its attempt ends is set, unless it was
/// suspended. A cluster is suspended with one of its children.
pub(crate) fn up_4_end_attempt(course: &mut Course, at: usize) {
    let children = course.nodes[at].children.clone();
    if !children.is_empty() {
        let is_suspended = children.iter().any(|child| course.nodes[*child].tracking.is_suspended);
        let tracking = &mut course.nodes[at].tracking;
        tracking.is_suspended = is_suspended;
        tracking.is_active = false;
        return;
    }
    let node = &mut course.nodes[at];
    if node.definition.is_tracked && !node.tracking.is_suspended {
        if !node.definition.completion_by_content && node.tracking.own.completed.is_none() {
            node.tracking.own.completed = Some(true);
        }
        if !node.definition.objective_by_content && node.tracking.own.satisfied.is_none() {
            node.tracking.own.satisfied = Some(true);
        }
    }
    node.tracking.is_active = false;
}

/// UP.3, Terminate Descendent Attempts Process: ends the attempts between an activity and the one above
/// both that and another.
pub(crate) fn up_3_terminate_descendent_attempts(course: &mut Course, from: usize, to: usize) {
    let above = |mut at: usize| {
        let mut path = vec![at];
        while let Some(parent) = course.nodes[at].parent {
            path.push(parent);
            at = parent;
        }
        path
    };
    let (own, other) = (above(from), above(to));
    let common = own.iter().find(|at| other.contains(at)).copied();
    for at in own {
        if Some(at) == common {
            break;
        }
        up_4_end_attempt(course, at);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::package::{Activity, ActivityType};

    fn leaf(delivery: Value) -> Course {
        let mut activity = Activity::new("leaf", "Leaf", ActivityType::Sco);
        activity.sequencing = Some(json!({ "delivery": delivery }));
        Course::of(&activity)
    }

    #[test]
    fn up_4_sets_what_content_leaves_to_the_run_time() {
        for (delivery, is_suspended, completed, satisfied) in [
            (json!({}), false, Some(true), Some(true)),
            (json!({}), true, None, None),
            (json!({ "tracked": false }), false, None, None),
            (json!({ "completionSetByContent": true }), false, None, Some(true)),
            (json!({ "objectiveSetByContent": true }), false, Some(true), None),
        ] {
            let mut course = leaf(delivery.clone());
            course.nodes[0].tracking.is_suspended = is_suspended;

            up_4_end_attempt(&mut course, 0);

            let found = course.nodes[0].tracking.own;
            assert_eq!((found.completed, found.satisfied), (completed, satisfied), "{delivery}");
        }
    }

    #[test]
    fn up_3_ends_attempts_below_the_common_ancestor() {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        for name in ["a", "b"] {
            let mut cluster = Activity::new(name, name, ActivityType::Aggregation);
            cluster.children.push(Activity::new(&format!("{name}1"), "Leaf", ActivityType::Sco));
            root.children.push(cluster);
        }
        for (from, to, wanted) in [
            ("a1", "b1", &["root", "b", "b1"][..]),
            ("a1", "b", &["root", "b", "b1"]),
            ("a1", "root", &["root", "b", "b1"]),
            ("a1", "a", &["root", "a", "b", "b1"]),
            // It goes up from the one that is left: what is below has ended before.
            ("a", "b1", &["root", "a1", "b", "b1"]),
            // What is common to both goes on, also where it is one of them.
            ("a", "a1", &["root", "a", "a1", "b", "b1"]),
            ("a1", "a1", &["root", "a", "a1", "b", "b1"]),
            ("root", "b1", &["root", "a", "a1", "b", "b1"]),
        ] {
            let mut course = Course::of(&root);
            for node in &mut course.nodes {
                node.tracking.is_active = true;
            }
            let ends = [from, to].map(|id| course.find(id).unwrap());

            up_3_terminate_descendent_attempts(&mut course, ends[0], ends[1]);

            let active = course.nodes.iter().filter(|node| node.tracking.is_active);
            let active: Vec<&str> = active.map(|node| node.id.as_str()).collect();
            assert_eq!(active, wanted, "from {from} to {to}");
        }
    }

    #[test]
    fn up_3_suspends_a_cluster_with_what_is_suspended_in_it_and_sets_what_content_left() {
        for (is_suspended, completed) in [(true, None), (false, Some(true))] {
            let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
            let mut cluster = Activity::new("a", "A", ActivityType::Aggregation);
            cluster.children.push(Activity::new("a1", "Leaf", ActivityType::Sco));
            root.children = vec![cluster, Activity::new("b", "Leaf", ActivityType::Sco)];
            let mut course = Course::of(&root);
            let [from, above, to] = ["a1", "a", "b"].map(|id| course.find(id).unwrap());
            course.nodes[from].tracking.is_suspended = is_suspended;

            up_3_terminate_descendent_attempts(&mut course, from, to);

            assert_eq!(course.nodes[from].tracking.own.completed, completed);
            assert_eq!(course.nodes[above].tracking.is_suspended, is_suspended);
            assert!(!course.nodes[0].tracking.is_suspended, "the common one goes on");
        }
    }
}
