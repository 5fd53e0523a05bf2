//! The sequencing of SCORM 2004 as a manifest states it, as JSON with the manifest's names.
//!
//! Source: IMS Simple Sequencing 1.0 and SCORM 2004 CAM §5.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::finding::{Finding, Findings};
use super::lexical::{boolean, decimal, duration, whole};
use super::xml::Element;

/// What the value of an attribute is.
#[derive(Debug, Clone, Copy)]
enum Form {
    Boolean,
    Decimal,
    Whole,
    Duration,
}

/// The attributes of the standards that are no plain texts.
///
/// Source: the schemas `imsss_v1p0`, `adlseq_v1p3`, `adlcp_v1p3`.
const FORMS: &[(&str, Form)] = &[
    ("choice", Form::Boolean),
    ("choiceExit", Form::Boolean),
    ("flow", Form::Boolean),
    ("forwardOnly", Form::Boolean),
    ("useCurrentAttemptObjectiveInfo", Form::Boolean),
    ("useCurrentAttemptProgressInfo", Form::Boolean),
    ("attemptLimit", Form::Whole),
    ("attemptAbsoluteDurationLimit", Form::Duration),
    ("attemptExperiencedDurationLimit", Form::Duration),
    ("activityAbsoluteDurationLimit", Form::Duration),
    ("activityExperiencedDurationLimit", Form::Duration),
    ("measureThreshold", Form::Decimal),
    ("rollupObjectiveSatisfied", Form::Boolean),
    ("rollupProgressCompletion", Form::Boolean),
    ("objectiveMeasureWeight", Form::Decimal),
    ("minimumCount", Form::Whole),
    ("minimumPercent", Form::Decimal),
    ("satisfiedByMeasure", Form::Boolean),
    ("readSatisfiedStatus", Form::Boolean),
    ("readNormalizedMeasure", Form::Boolean),
    ("readRawScore", Form::Boolean),
    ("readMinScore", Form::Boolean),
    ("readMaxScore", Form::Boolean),
    ("readCompletionStatus", Form::Boolean),
    ("readProgressMeasure", Form::Boolean),
    ("writeSatisfiedStatus", Form::Boolean),
    ("writeNormalizedMeasure", Form::Boolean),
    ("writeRawScore", Form::Boolean),
    ("writeMinScore", Form::Boolean),
    ("writeMaxScore", Form::Boolean),
    ("writeCompletionStatus", Form::Boolean),
    ("writeProgressMeasure", Form::Boolean),
    ("selectCount", Form::Whole),
    ("reorderChildren", Form::Boolean),
    ("tracked", Form::Boolean),
    ("completionSetByContent", Form::Boolean),
    ("objectiveSetByContent", Form::Boolean),
    ("preventActivation", Form::Boolean),
    ("constrainChoice", Form::Boolean),
    ("measureSatisfactionIfActive", Form::Boolean),
];

/// The sequencings that a manifest has for several items, by their identifiers.
pub(crate) type Collection = HashMap<String, Map<String, Value>>;

/// Reads the sequencings that a manifest has for several items.
pub(crate) fn collection(manifest: &Element, findings: &mut Findings) -> Collection {
    let mut all = Collection::new();
    for shared in manifest.all("sequencingCollection").flat_map(|all| all.all("sequencing")) {
        if let Some(id) = shared.attribute("ID") {
            all.entry(id.to_owned()).or_insert_with(|| stated(shared, findings));
        }
    }
    all
}

/// Returns the sequencing of an item, joined with the collection's that it refers to: what the item
/// says itself comes first.
pub(crate) fn sequencing(
    item: &Element,
    collection: &Collection,
    findings: &mut Findings,
) -> Option<Value> {
    let own = item.child("sequencing")?;
    let mut all = Map::new();
    if let Some(id) = own.attribute("IDRef").filter(|id| !id.is_empty()) {
        match collection.get(id) {
            Some(shared) => all.clone_from(shared),
            None => {
                let message = format!("the sequencing {id} is not in the manifest's collection");
                let finding = Finding::warn("no-sequencing", message);
                findings.add(finding.at(item.label(), own.line));
            }
        }
    }
    all.extend(stated(own, findings));
    Some(Value::Object(all))
}

fn stated(element: &Element, findings: &mut Findings) -> Map<String, Value> {
    let mut all = Map::new();
    for (part, name, read) in [
        ("controlMode", "controlMode", attributes as fn(&Element, &mut Findings) -> Value),
        ("sequencingRules", "rules", rules),
        ("limitConditions", "limits", attributes),
        ("rollupRules", "rollup", rollup),
        ("randomizationControls", "randomization", attributes),
        ("deliveryControls", "delivery", attributes),
        ("constrainedChoiceConsiderations", "constrained", attributes),
        ("rollupConsiderations", "rollupConsiderations", attributes),
    ] {
        if let Some(found) = element.child(part) {
            all.insert(name.to_owned(), read(found, findings));
        }
    }
    if let Some(objectives) = objectives(element, findings) {
        all.insert("objectives".into(), objectives);
    }
    all
}

/// Returns the attributes of an element with the standard's names, booleans and numbers as such. One that
/// cannot be read is left out, and among the findings.
fn attributes(element: &Element, findings: &mut Findings) -> Value {
    let mut all = Map::new();
    for (name, text) in &element.attributes {
        let form = FORMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((known, form)) = form else {
            all.insert(name.clone(), text.as_str().into());
            continue;
        };
        let (value, wanted) = match form {
            Form::Boolean => (boolean(text).map(Value::from), "true or false"),
            Form::Decimal => (decimal(text).map(Value::from), "a number"),
            Form::Whole => (whole(text).map(Value::from), "a whole number"),
            Form::Duration => (duration(text).map(Value::from), "a duration"),
        };
        match value {
            Some(value) => _ = all.insert((*known).to_owned(), value),
            None => bad(element, name, text, wanted, findings),
        }
    }
    Value::Object(all)
}

fn bad(element: &Element, name: &str, text: &str, wanted: &str, findings: &mut Findings) {
    let text: String = text.chars().take(40).collect();
    let message = format!("{name} is {text:?}, which is not {wanted}; it is passed over");
    findings.add(Finding::warn("bad-value", message).at(element.label(), element.line));
}

fn rules(element: &Element, findings: &mut Findings) -> Value {
    let mut of = |name: &str| element.all(name).map(|one| rule(one, findings)).collect::<Vec<_>>();
    json!({ "pre": of("preConditionRule"), "post": of("postConditionRule"), "exit": of("exitConditionRule") })
}

fn rule(element: &Element, findings: &mut Findings) -> Value {
    let conditions = element.child("ruleConditions");
    let each = conditions.into_iter().flat_map(|all| all.all("ruleCondition"));
    let combination = conditions.and_then(|all| all.attribute("conditionCombination"));
    let action = element.child("ruleAction").and_then(|action| action.attribute("action"));
    json!({
        "conditions": each.map(|one| attributes(one, findings)).collect::<Vec<_>>(),
        "conditionCombination": combination.unwrap_or("all"),
        "action": action,
    })
}

fn rollup(element: &Element, findings: &mut Findings) -> Value {
    let mut value = attributes(element, findings);
    let rules = element.all("rollupRule").map(|rule| {
        let mut value = attributes(rule, findings);
        let conditions = rule.child("rollupConditions");
        let each = conditions.into_iter().flat_map(|all| all.all("rollupCondition"));
        let combination = conditions.and_then(|all| all.attribute("conditionCombination"));
        let action = rule.child("rollupAction").and_then(|action| action.attribute("action"));
        value["conditions"] = each.map(|one| attributes(one, findings)).collect();
        value["conditionCombination"] = combination.unwrap_or("any").into();
        value["action"] = action.into();
        value
    });
    let rules = rules.collect::<Vec<_>>();
    if let Some(members) = value.as_object_mut() {
        for (from, to) in [
            ("rollupObjectiveSatisfied", "objectiveSatisfied"),
            ("rollupProgressCompletion", "progressCompletion"),
        ] {
            if let Some(moved) = members.shift_remove(from) {
                members.insert(to.into(), moved);
            }
        }
        members.insert("rules".into(), Value::Array(rules));
    }
    value
}

fn objectives(element: &Element, findings: &mut Findings) -> Option<Value> {
    let mut all: Vec<Value> = vec![];
    for group in element.all("objectives") {
        for stated in &group.children {
            let is_primary = stated.name.eq_ignore_ascii_case("primaryObjective");
            if !is_primary && !stated.name.eq_ignore_ascii_case("objective") {
                continue;
            }
            let id = stated.attribute("objectiveID").unwrap_or_default();
            // The fourth edition adds maps to objectives that are stated already.
            if let Some(known) = all.iter_mut().find(|known| known["id"] == *id)
                && let Some(maps) = known["maps"].as_array_mut()
            {
                for one in stated.all("mapInfo") {
                    add_map(maps, map(one, MORE, findings));
                }
                continue;
            }
            let maps: Vec<Value> =
                stated.all("mapInfo").map(|one| map(one, FIRST, findings)).collect();
            let mut value = attributes(stated, findings);
            if let Some(members) = value.as_object_mut() {
                members.shift_remove("objectiveID");
            }
            value["id"] = id.into();
            value["primary"] = is_primary.into();
            if let Some(text) = stated.text_of("minNormalizedMeasure") {
                match decimal(text) {
                    Some(measure) => value["minNormalizedMeasure"] = json!(measure),
                    None => bad(stated, "minNormalizedMeasure", text, "a number", findings),
                }
            }
            value["maps"] = maps.into();
            all.push(value);
        }
    }
    (!all.is_empty()).then(|| all.into())
}

/// What a map of the standard reads and writes where it does not say so.
const FIRST: &[(&str, bool)] = &[
    ("readSatisfiedStatus", true),
    ("readNormalizedMeasure", true),
    ("writeSatisfiedStatus", false),
    ("writeNormalizedMeasure", false),
];

/// Attributes of a map that the fourth edition adds, each with its default.
const MORE: &[(&str, bool)] = &[
    ("readRawScore", true),
    ("readMinScore", true),
    ("readMaxScore", true),
    ("readCompletionStatus", true),
    ("readProgressMeasure", true),
    ("writeRawScore", false),
    ("writeMinScore", false),
    ("writeMaxScore", false),
    ("writeCompletionStatus", false),
    ("writeProgressMeasure", false),
];

/// Returns a map with all that it reads and writes; what is not among these is false.
fn map(element: &Element, defaults: &[(&str, bool)], findings: &mut Findings) -> Value {
    let mut value = attributes(element, findings);
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| !name.eq_ignore_ascii_case("targetObjectiveID"));
        for (name, is) in defaults {
            members.entry(*name).or_insert_with(|| (*is).into());
        }
        for (name, _) in FIRST.iter().chain(MORE) {
            members.entry(*name).or_insert(Value::Bool(false));
        }
    }
    value["target"] = element.attribute("targetObjectiveID").into();
    value
}

/// Adds a map to those of an objective: one of the same target does what either does.
fn add_map(maps: &mut Vec<Value>, added: Value) {
    let known = maps.iter_mut().find(|known| known["target"] == added["target"]);
    let Some(known) = known else { return maps.push(added) };
    for (name, is) in added.as_object().into_iter().flatten() {
        if *is == true {
            known[name.as_str()] = true.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::xml::parse;

    fn read(text: &str) -> (Value, Findings) {
        let mut findings = Findings::default();
        let root =
            parse(&format!("<manifest><item><sequencing>{text}</sequencing></item></manifest>"));
        let item = root.unwrap();
        let found = sequencing(item.child("item").unwrap(), &Collection::new(), &mut findings);
        (found.unwrap(), findings)
    }

    #[test]
    fn values_are_read_as_their_schemas_say() {
        let (found, findings) = read(
            "<controlMode flow=' 1 ' choice='0' choiceExit='false'/>\
             <limitConditions attemptLimit=' 02' attemptAbsoluteDurationLimit=' PT1H '/>\
             <deliveryControls tracked='1' completionSetByContent='TRUE'/>\
             <rollupRules rollupObjectiveSatisfied='0' objectiveMeasureWeight='.5'/>\
             <objectives><primaryObjective objectiveID='1' satisfiedByMeasure='1'>\
             <minNormalizedMeasure>\n 0.60\n</minNormalizedMeasure></primaryObjective></objectives>",
        );

        assert_eq!(
            found["controlMode"],
            json!({ "flow": true, "choice": false, "choiceExit": false })
        );
        assert_eq!(
            found["limits"],
            json!({ "attemptLimit": 2.0, "attemptAbsoluteDurationLimit": "PT1H" })
        );
        assert_eq!(found["delivery"], json!({ "tracked": true, "completionSetByContent": true }));
        assert_eq!(found["rollup"]["objectiveSatisfied"], false);
        assert_eq!(found["rollup"]["objectiveMeasureWeight"], 0.5);
        let primary = &found["objectives"][0];
        assert_eq!((&primary["id"], &primary["satisfiedByMeasure"]), (&json!("1"), &json!(true)));
        assert_eq!(primary["minNormalizedMeasure"], 0.6);
        assert_eq!(findings.all, []);
    }

    #[test]
    fn values_that_cannot_be_read_are_told_and_left_out() {
        for text in [
            "<controlMode flow='yes'/>",
            "<limitConditions attemptLimit='2.5'/>",
            "<limitConditions attemptAbsoluteDurationLimit='1 hour'/>",
            "<rollupRules objectiveMeasureWeight='1e0'/>",
            "<objectives><primaryObjective><minNormalizedMeasure>80%</minNormalizedMeasure>\
             </primaryObjective></objectives>",
        ] {
            let (_, findings) = read(text);
            let codes: Vec<&str> = findings.all.iter().map(|one| one.code.as_str()).collect();
            assert_eq!(codes, ["bad-value"], "{text}");
        }
    }

    #[test]
    fn maps_read_what_the_standard_says_and_those_of_the_fourth_edition_are_joined() {
        let (found, _) = read(
            "<objectives><objective objectiveID='o'>\
             <mapInfo targetObjectiveID='1' writeSatisfiedStatus='1'/></objective></objectives>\
             <objectives><objective objectiveID='o'>\
             <mapInfo targetObjectiveID='1' writeCompletionStatus='true' readRawScore='0'/>\
             <mapInfo targetObjectiveID='2'/></objective></objectives>",
        );

        let maps = found["objectives"][0]["maps"].as_array().unwrap();
        let of = |map: usize, name: &str| maps[map][name].as_bool().unwrap();
        assert_eq!(maps.len(), 2);
        assert_eq!(maps[0]["target"], "1");
        for (name, first, second) in [
            ("readSatisfiedStatus", true, false),
            ("writeSatisfiedStatus", true, false),
            ("readCompletionStatus", true, true),
            ("writeCompletionStatus", true, false),
            ("readRawScore", false, true),
        ] {
            assert_eq!((of(0, name), of(1, name)), (first, second), "{name}");
        }
    }
}
