//! Global objectives: what activities write into them and read from them by the maps of their objectives,
//! and the roll-up of a whole course with these.
//!
//! Source: SCORM 2004 4th edition, Sequencing and Navigation §3.10.4 (objective maps): an objective is
//! read where the activity itself does not know it, and written when the activity does.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::course::{Course, Node, Status, Tracking};
use super::definition::{Copied, Objective};
use super::rollup::rb_1_5_overall_rollup;

/// What is known of global objectives, by their ids.
pub(crate) type Globals = BTreeMap<String, Status>;

/// Most times that a course is rolled up until its global objectives stay the same. Maps that lead in a
/// circle never come to rest.
const ROUNDS_MAX: usize = 16;

/// Rolls up a course in which its activities have recorded what content has said, and returns its global
/// objectives.
pub(crate) fn settle(course: &mut Course) -> Globals {
    let own: Vec<Tracking> = course.nodes.iter().map(|node| node.tracking.clone()).collect();
    let mut globals = Globals::new();
    for _ in 0..ROUNDS_MAX {
        let mut from = vec![];
        for (at, tracking) in own.iter().enumerate() {
            let node = &mut course.nodes[at];
            node.tracking.clone_from(tracking);
            read(node, &globals);
            let is_read = node.tracking != *tracking;
            if is_read || (node.children.is_empty() && node.tracking.attempts > 0) {
                from.push(at);
            }
        }
        let mut rolled = vec![];
        rb_1_5_overall_rollup(course, &from, &mut |at, node| {
            rolled.push((at, node.tracking.own));
            read(node, &globals);
        });
        let found = written(course, &own, &rolled);
        if found == globals {
            break;
        }
        globals = found;
    }
    globals
}

/// Returns the ids of all global objectives that the maps of a course name.
pub(crate) fn declared(course: &Course) -> impl Iterator<Item = &str> {
    let objectives = course.nodes.iter().flat_map(|node| &node.definition.mapped);
    objectives.flat_map(|objective| &objective.maps).map(|map| map.target.as_str())
}

/// Fills in what an activity does not know itself.
fn read(node: &mut Node, globals: &Globals) {
    if !node.definition.is_tracked {
        return;
    }
    let Node { definition, tracking, .. } = node;
    for objective in &definition.mapped {
        let own = if objective.is_primary {
            tracking.own
        } else {
            tracking.objectives.get(&objective.id).copied().unwrap_or_default()
        };
        let read = objective.maps.iter().filter_map(|map| {
            let mut found = copied(*globals.get(&map.target)?, map.reads);
            // Where the measure decides, it alone is read.
            if objective.passing.is_some() {
                found.satisfied = None;
            }
            Some(found)
        });
        let status = decided(read.fold(own, Status::or), objective);
        if objective.is_primary {
            tracking.own = status;
        } else if status.is_known() {
            tracking.objectives.insert(objective.id.clone(), status);
        }
    }
}

fn copied(status: Status, which: Copied) -> Status {
    Status {
        satisfied: status.satisfied.filter(|_| which.satisfied),
        measure: status.measure.filter(|_| which.measure),
        completed: status.completed.filter(|_| which.completed),
        progress: status.progress.filter(|_| which.progress),
    }
}

/// Returns a status in which the measure decides, where it does so.
fn decided(status: Status, objective: &Objective) -> Status {
    match (objective.passing, status.measure) {
        (Some(least), Some(measure)) => Status { satisfied: Some(measure >= least), ..status },
        _ => status,
    }
}

/// Returns what activities have written into global objectives, the later ones over the earlier ones: a
/// cluster writes after those below it.
fn written(course: &Course, own: &[Tracking], rolled: &[(usize, Status)]) -> Globals {
    let mut writers: Vec<(usize, Status)> = rolled.to_vec();
    let is_leaf = |at: &usize| course.nodes[*at].children.is_empty();
    writers.extend((0..own.len()).filter(is_leaf).map(|at| (at, own[at].own)));
    let mut begun: Vec<(u32, i64)> = course.nodes.iter().map(|node| node.tracking.begun).collect();
    // Those with something that is withheld, and with something that counts: a cluster with both writes.
    let mut withheld: Vec<bool> =
        course.nodes.iter().map(|node| node.tracking.is_withheld).collect();
    let counts = |node: &Node| node.tracking.attempts > 0 && !node.tracking.is_withheld;
    let mut counting: Vec<bool> =
        course.nodes.iter().map(|node| node.children.is_empty() && counts(node)).collect();
    for at in (0..begun.len()).rev() {
        if let Some(parent) = course.nodes[at].parent {
            begun[parent] = begun[parent].max(begun[at]);
            withheld[parent] |= withheld[at];
            counting[parent] |= counting[at];
        }
    }
    writers.sort_by_key(|(at, _)| (begun[*at], Reverse(*at)));
    let mut globals = Globals::new();
    for (at, status) in writers {
        let node = &course.nodes[at];
        if !node.definition.is_tracked || (withheld[at] && !counting[at]) {
            continue;
        }
        for objective in &node.definition.mapped {
            let name = if objective.is_primary { "" } else { objective.id.as_str() };
            let status = match name {
                "" => status,
                id => own[at].objectives.get(id).copied().unwrap_or_default(),
            };
            let earlier = node.tracking.earlier.get(name).copied().unwrap_or_default();
            let status = decided(status.or(earlier), objective);
            for map in &objective.maps {
                let found = copied(status, map.writes);
                if found.is_known() {
                    let global = globals.entry(map.target.clone()).or_default();
                    *global = found.or(*global);
                }
            }
        }
    }
    globals
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::package::{Activity, ActivityType};

    fn maps(id: &str, primary: bool, maps: &[Value]) -> Value {
        json!({ "id": id, "primary": primary, "maps": maps })
    }

    fn writes(target: &str) -> Value {
        json!({ "target": target, "writeSatisfiedStatus": true, "writeNormalizedMeasure": true })
    }

    fn reads(target: &str) -> Value {
        json!({ "target": target })
    }

    /// A course of leaves with these objectives.
    fn course(leaves: &[Value]) -> Course {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        for (at, objectives) in leaves.iter().enumerate() {
            let mut leaf = Activity::new(&format!("l{at}"), "Leaf", ActivityType::Sco);
            leaf.sequencing = Some(json!({ "objectives": objectives }));
            root.children.push(leaf);
        }
        Course::of(&root)
    }

    fn record(course: &mut Course, at: usize, satisfied: Option<bool>, measure: Option<f64>) {
        let tracking = &mut course.nodes[at].tracking;
        tracking.attempts = 1;
        tracking.begun = (1, i64::try_from(at).unwrap());
        tracking.own = Status { satisfied, measure, ..Status::default() };
    }

    #[test]
    fn an_objective_is_read_where_the_activity_does_not_know_it() {
        for (own, found) in [(None, Some(true)), (Some(false), Some(false))] {
            let mut course = course(&[
                json!([maps("p", true, &[writes("g")])]),
                json!([maps("p", true, &[reads("g")])]),
            ]);
            record(&mut course, 1, Some(true), Some(0.9));
            if own.is_some() {
                record(&mut course, 2, own, None);
            }

            let globals = settle(&mut course);

            assert_eq!(course.nodes[2].tracking.own.satisfied, found);
            assert_eq!(course.nodes[0].tracking.own.satisfied, found);
            assert_eq!(globals["g"].satisfied, Some(true));
            assert_eq!(globals["g"].measure, Some(0.9));
        }
    }

    #[test]
    fn what_is_not_mapped_stays_where_it_is() {
        for (write, read) in [
            (json!({ "target": "g" }), reads("g")),
            (writes("g"), json!({ "target": "g", "readSatisfiedStatus": false })),
            (writes("g"), reads("other")),
        ] {
            let mut course =
                course(&[json!([maps("p", true, &[write])]), json!([maps("p", true, &[read])])]);
            record(&mut course, 1, Some(true), None);

            settle(&mut course);

            assert_eq!(course.nodes[2].tracking.own.satisfied, None);
        }
    }

    #[test]
    fn objectives_beside_the_primary_one_are_written_and_read() {
        let mut course = course(&[
            json!([maps("a", false, &[writes("g")])]),
            json!([maps("b", false, &[reads("g")])]),
        ]);
        record(&mut course, 1, None, None);
        let said = Status { satisfied: Some(false), ..Status::default() };
        course.nodes[1].tracking.objectives.insert("a".into(), said);

        settle(&mut course);

        assert_eq!(course.nodes[2].tracking.objectives["b"].satisfied, Some(false));
        assert_eq!(course.nodes[2].tracking.own, Status::default());
    }

    #[test]
    fn the_later_session_writes_over_the_earlier_one() {
        let mut course = course(&[
            json!([maps("p", true, &[writes("g")])]),
            json!([maps("p", true, &[writes("g")])]),
        ]);
        record(&mut course, 1, Some(true), None);
        record(&mut course, 2, Some(false), None);
        assert_eq!(settle(&mut course.clone())["g"].satisfied, Some(false));

        course.nodes[1].tracking.begun = (1, 9);

        assert_eq!(settle(&mut course)["g"].satisfied, Some(true));
    }

    #[test]
    fn a_new_attempt_does_not_take_back_what_an_earlier_one_has_written() {
        let mut map = writes("g");
        map["readSatisfiedStatus"] = false.into();
        let mut course = course(&[json!([maps("p", true, &[map])])]);
        record(&mut course, 1, None, None);
        let said = Status { satisfied: Some(true), ..Status::default() };
        course.nodes[1].tracking.earlier.insert(String::new(), said);

        let globals = settle(&mut course);

        assert_eq!(globals["g"].satisfied, Some(true));
        assert_eq!(course.nodes[1].tracking.own.satisfied, None);
    }

    #[test]
    fn where_the_measure_decides_it_alone_is_read() {
        let mut second = maps("p", true, &[reads("g")]);
        second["satisfiedByMeasure"] = true.into();
        second["minNormalizedMeasure"] = json!(0.8);
        for (measure, satisfied) in
            [(Some(0.7), Some(false)), (Some(0.8), Some(true)), (None, None)]
        {
            let first = json!([maps("p", true, &[writes("g")])]);
            let mut course = course(&[first, json!([second])]);
            record(&mut course, 1, Some(true), measure);

            settle(&mut course);

            assert_eq!(course.nodes[2].tracking.own.satisfied, satisfied, "{measure:?}");
        }
    }

    #[test]
    fn a_cluster_writes_what_it_has_rolled_up_to() {
        let mut root = Activity::new("root", "Root", ActivityType::Aggregation);
        let mut cluster = Activity::new("cluster", "Cluster", ActivityType::Aggregation);
        cluster.sequencing = Some(json!({ "objectives": [maps("p", true, &[writes("g")])] }));
        cluster.children.push(Activity::new("leaf", "Leaf", ActivityType::Sco));
        let mut reader = Activity::new("reader", "Reader", ActivityType::Aggregation);
        reader.sequencing = Some(json!({ "objectives": [maps("p", true, &[reads("g")])] }));
        reader.children.push(Activity::new("below", "Below", ActivityType::Sco));
        root.children.extend([reader, cluster]);
        let mut course = Course::of(&root);
        let leaf = course.find("leaf").unwrap();
        record(&mut course, leaf, Some(true), Some(1.0));

        settle(&mut course);

        let of = |id: &str| course.nodes[course.find(id).unwrap()].tracking.own.satisfied;
        assert_eq!((of("cluster"), of("reader"), of("below")), (Some(true), Some(true), None));
        assert_eq!(of("root"), Some(true));
    }

    #[test]
    fn maps_in_a_circle_come_to_an_end() {
        let both = |id: &str, target: &str| {
            let mut map = writes(target);
            map["readSatisfiedStatus"] = true.into();
            json!([maps(id, true, &[map])])
        };
        let mut course = course(&[both("a", "g"), both("b", "g")]);
        record(&mut course, 1, Some(false), None);

        settle(&mut course);

        assert_eq!(course.nodes[2].tracking.own.satisfied, Some(false));
    }
}
