//! The sequencing of SCORM 2004 as a manifest states it, as JSON with the manifest's names.
//!
//! Source: IMS Simple Sequencing 1.0 and SCORM 2004 CAM §5.

use serde_json::{Map, Value, json};

use super::xml::Element;

/// Returns the sequencing of an item, joined with the collection's that it refers to: what the item
/// says itself comes first.
pub(crate) fn sequencing(item: &Element, collection: Option<&Element>) -> Option<Value> {
    let own = item.child("sequencing")?;
    let reference = own.attribute("IDRef");
    let shared = reference.and_then(|id| {
        collection?.all("sequencing").find(|shared| shared.attribute("ID") == Some(id))
    });
    let mut all = shared.map(stated).unwrap_or_default();
    for (name, value) in stated(own) {
        all.insert(name, value);
    }
    Some(Value::Object(all))
}

fn stated(element: &Element) -> Map<String, Value> {
    let mut all = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            all.insert(name.to_owned(), value);
        }
    };
    put("controlMode", element.child("controlMode").map(attributes));
    put("rules", element.child("sequencingRules").map(rules));
    put("limits", element.child("limitConditions").map(attributes));
    put("rollup", element.child("rollupRules").map(rollup));
    put("objectives", objectives(element));
    put("randomization", element.child("randomizationControls").map(attributes));
    put("delivery", element.child("deliveryControls").map(attributes));
    put("constrained", element.child("constrainedChoiceConsiderations").map(attributes));
    put("rollupConsiderations", element.child("rollupConsiderations").map(attributes));
    all
}

/// Returns the attributes of an element, booleans and numbers as such.
fn attributes(element: &Element) -> Value {
    let all = element.attributes.iter();
    Value::Object(all.map(|(name, value)| (name.clone(), typed(value))).collect())
}

fn typed(value: &str) -> Value {
    match value {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        text => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => json!(number),
            _ => Value::from(text),
        },
    }
}

fn rules(element: &Element) -> Value {
    let of = |name: &str| Value::Array(element.all(name).map(rule).collect());
    json!({ "pre": of("preConditionRule"), "post": of("postConditionRule"), "exit": of("exitConditionRule") })
}

fn rule(element: &Element) -> Value {
    let conditions = element.child("ruleConditions");
    let each = conditions.into_iter().flat_map(|all| all.all("ruleCondition"));
    let combination = conditions.and_then(|all| all.attribute("conditionCombination"));
    let action = element.child("ruleAction").and_then(|action| action.attribute("action"));
    json!({
        "conditions": each.map(condition).collect::<Vec<_>>(),
        "conditionCombination": combination.unwrap_or("all"),
        "action": action,
    })
}

/// Identifiers stay texts even where they look like numbers.
fn condition(element: &Element) -> Value {
    let mut value = attributes(element);
    if let Some(id) = element.attribute("referencedObjective") {
        value["referencedObjective"] = id.into();
    }
    value
}

fn rollup(element: &Element) -> Value {
    let mut value = attributes(element);
    let rules = element.all("rollupRule").map(|rule| {
        let mut value = attributes(rule);
        let conditions = rule.child("rollupConditions");
        let each = conditions.into_iter().flat_map(|all| all.all("rollupCondition"));
        let combination = conditions.and_then(|all| all.attribute("conditionCombination"));
        let action = rule.child("rollupAction").and_then(|action| action.attribute("action"));
        value["conditions"] = each.map(attributes).collect();
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

fn objectives(element: &Element) -> Option<Value> {
    let mut all: Vec<Value> = vec![];
    for group in element.all("objectives") {
        for stated in &group.children {
            let is_primary = stated.name.eq_ignore_ascii_case("primaryObjective");
            if !is_primary && !stated.name.eq_ignore_ascii_case("objective") {
                continue;
            }
            let id = stated.attribute("objectiveID").unwrap_or_default();
            let maps: Vec<Value> = stated.all("mapInfo").map(map).collect();
            // The fourth edition adds maps to objectives that are stated already.
            if let Some(known) = all.iter_mut().find(|known| known["id"] == *id)
                && let Some(list) = known["maps"].as_array_mut()
            {
                list.extend(maps);
                continue;
            }
            let mut value = attributes(stated);
            if let Some(members) = value.as_object_mut() {
                members.shift_remove("objectiveID");
            }
            value["id"] = id.into();
            value["primary"] = is_primary.into();
            let least = stated.text_of("minNormalizedMeasure");
            if let Some(measure) = least.and_then(|text| text.parse::<f64>().ok()) {
                value["minNormalizedMeasure"] = json!(measure);
            }
            value["maps"] = maps.into();
            all.push(value);
        }
    }
    (!all.is_empty()).then(|| all.into())
}

fn map(element: &Element) -> Value {
    let mut value = attributes(element);
    if let Some(members) = value.as_object_mut() {
        members.shift_remove("targetObjectiveID");
    }
    value["target"] = element.attribute("targetObjectiveID").into();
    value
}
