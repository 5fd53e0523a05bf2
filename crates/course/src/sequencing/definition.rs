//! What a manifest says about the sequencing of an activity, with the standard's defaults.

use serde_json::Value;

use crate::package::Activity;

/// What is counted of the children.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ChildSet {
    All,
    Any,
    None,
    AtLeastCount(f64),
    AtLeastPercent(f64),
}

/// A condition of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) name: String,
    pub(crate) is_not: bool,
    pub(crate) objective: Option<String>,
    pub(crate) threshold: f64,
}

/// A rule of a cluster about its children.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RollupRule {
    pub(crate) set: ChildSet,
    pub(crate) is_any: bool,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) action: String,
}

/// A rule of an activity about itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub(crate) is_any: bool,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) action: String,
}

/// What a map copies between an objective and a global one.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the standard has as many")]
pub(crate) struct Copied {
    pub(crate) satisfied: bool,
    pub(crate) measure: bool,
    pub(crate) completed: bool,
    pub(crate) progress: bool,
}

/// A map between an objective and a global one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapped {
    /// The id of the global objective.
    pub(crate) target: String,
    pub(crate) reads: Copied,
    pub(crate) writes: Copied,
}

/// An objective of an activity that has maps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objective {
    pub(crate) id: String,
    pub(crate) is_primary: bool,
    /// The measure at which it is satisfied, where that decides.
    pub(crate) passing: Option<f64>,
    pub(crate) maps: Vec<Mapped>,
}

/// The sequencing of an activity.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the standard has as many")]
pub(crate) struct Definition {
    pub(crate) is_tracked: bool,
    pub(crate) completion_by_content: bool,
    pub(crate) objective_by_content: bool,
    pub(crate) counts_for_satisfied: bool,
    pub(crate) counts_for_completion: bool,
    pub(crate) weight: f64,
    pub(crate) rollup: Vec<RollupRule>,
    /// Rules by kind: `pre`, `post`, `exit`.
    pub(crate) rules: [(&'static str, Vec<Rule>); 3],
    /// The id of the primary objective, and the measure at which it is satisfied.
    pub(crate) primary: Option<String>,
    pub(crate) passing: Option<f64>,
    /// The objectives that have maps.
    pub(crate) mapped: Vec<Objective>,
    pub(crate) satisfaction_if_active: bool,
    /// When it counts: for satisfied, not satisfied, completed, incomplete.
    pub(crate) required: [String; 4],
    pub(crate) attempt_limit: Option<f64>,
    /// The least progress at which it is completed, where progress decides, and its weight.
    pub(crate) completed_at: Option<f64>,
    pub(crate) progress_weight: f64,
}

impl Definition {
    /// Reads the sequencing of an activity.
    pub(crate) fn of(activity: &Activity) -> Self {
        let none = Value::Null;
        let all = activity.sequencing.as_ref().unwrap_or(&none);
        let is =
            |part: &str, name: &str, default: bool| all[part][name].as_bool().unwrap_or(default);
        let rollup = &all["rollup"];
        let considerations = &all["rollupConsiderations"];
        let required = |name: &str| considerations[name].as_str().unwrap_or("always").to_owned();
        let objectives = all["objectives"].as_array();
        let primary = objectives.and_then(|all| all.iter().find(|one| one["primary"] == true));
        let threshold = activity.completion_threshold.as_ref();
        Self {
            is_tracked: is("delivery", "tracked", true),
            completion_by_content: is("delivery", "completionSetByContent", false),
            objective_by_content: is("delivery", "objectiveSetByContent", false),
            counts_for_satisfied: rollup["objectiveSatisfied"].as_bool().unwrap_or(true),
            counts_for_completion: rollup["progressCompletion"].as_bool().unwrap_or(true),
            weight: rollup["objectiveMeasureWeight"].as_f64().unwrap_or(1.0),
            rollup: rollup["rules"].as_array().into_iter().flatten().map(rollup_rule).collect(),
            rules: ["pre", "post", "exit"].map(|kind| {
                let rules = all["rules"][kind].as_array().into_iter().flatten();
                (kind, rules.map(rule).collect())
            }),
            primary: primary.and_then(|one| one["id"].as_str()).map(str::to_owned),
            passing: primary.and_then(passing),
            mapped: objectives.into_iter().flatten().filter_map(mapped).collect(),
            satisfaction_if_active: considerations["measureSatisfactionIfActive"]
                .as_bool()
                .unwrap_or(true),
            required: [
                "requiredForSatisfied",
                "requiredForNotSatisfied",
                "requiredForCompleted",
                "requiredForIncomplete",
            ]
            .map(required),
            attempt_limit: all["limits"]["attemptLimit"].as_f64(),
            completed_at: threshold
                .filter(|threshold| threshold.completed_by_measure)
                .map(|threshold| threshold.min_progress_measure),
            progress_weight: threshold.map_or(1.0, |threshold| threshold.progress_weight),
        }
    }

    /// Returns the rules of a kind.
    pub(crate) fn rules_of(&self, kind: &str) -> &[Rule] {
        self.rules.iter().find(|(known, _)| *known == kind).map_or(&[], |(_, rules)| rules)
    }
}

fn passing(objective: &Value) -> Option<f64> {
    let by_measure = objective["satisfiedByMeasure"] == true;
    by_measure.then(|| objective["minNormalizedMeasure"].as_f64().unwrap_or(1.0))
}

fn mapped(objective: &Value) -> Option<Objective> {
    let maps = objective["maps"].as_array().into_iter().flatten().filter_map(|map| {
        let is = |name: &str, default: bool| map[name].as_bool().unwrap_or(default);
        Some(Mapped {
            target: map["target"].as_str().filter(|id| !id.is_empty())?.to_owned(),
            reads: Copied {
                satisfied: is("readSatisfiedStatus", true),
                measure: is("readNormalizedMeasure", true),
                completed: is("readCompletionStatus", false),
                progress: is("readProgressMeasure", false),
            },
            writes: Copied {
                satisfied: is("writeSatisfiedStatus", false),
                measure: is("writeNormalizedMeasure", false),
                completed: is("writeCompletionStatus", false),
                progress: is("writeProgressMeasure", false),
            },
        })
    });
    let maps: Vec<Mapped> = maps.collect();
    (!maps.is_empty()).then(|| Objective {
        id: objective["id"].as_str().unwrap_or_default().to_owned(),
        is_primary: objective["primary"] == true,
        passing: passing(objective),
        maps,
    })
}

fn conditions(value: &Value) -> Vec<Condition> {
    let all = value["conditions"].as_array().into_iter().flatten();
    all.map(|one| Condition {
        name: one["condition"].as_str().unwrap_or_default().to_owned(),
        is_not: one["operator"] == "not",
        objective: one["referencedObjective"].as_str().map(str::to_owned),
        threshold: one["measureThreshold"].as_f64().unwrap_or(0.0),
    })
    .collect()
}

fn rule(value: &Value) -> Rule {
    Rule {
        is_any: value["conditionCombination"] == "any",
        conditions: conditions(value),
        action: value["action"].as_str().unwrap_or_default().to_owned(),
    }
}

fn rollup_rule(value: &Value) -> RollupRule {
    let set = match value["childActivitySet"].as_str().unwrap_or("all") {
        "any" => ChildSet::Any,
        "none" => ChildSet::None,
        "atLeastCount" => ChildSet::AtLeastCount(value["minimumCount"].as_f64().unwrap_or(0.0)),
        "atLeastPercent" => {
            ChildSet::AtLeastPercent(value["minimumPercent"].as_f64().unwrap_or(0.0))
        }
        _ => ChildSet::All,
    };
    RollupRule {
        set,
        is_any: value["conditionCombination"].as_str().unwrap_or("any") == "any",
        conditions: conditions(value),
        action: value["action"].as_str().unwrap_or_default().to_owned(),
    }
}
