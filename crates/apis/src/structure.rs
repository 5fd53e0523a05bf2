//! Finds all members of a definition that cannot be read, each with its path: a reader that stops at the first
//! one would tell them one at a time.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::definition::{Api, Plan};

/// Most faults that are told of one definition.
const FAULTS_MAX: usize = 1_000;
/// Most faults that are looked for in one plan or API.
const FAULTS_OF_ITEM_MAX: usize = 50;

/// A path such as `apis[0].health.interval`, and what is wrong there.
pub(crate) type Fault = (String, String);

/// Says why a value cannot be read; [`None`] if it can.
type Reads<'a> = &'a dyn Fn(&Value) -> Option<String>;

/// Returns all that cannot be read of the plans and APIs of a definition.
pub(crate) fn faults(definition: &Map<String, Value>) -> Vec<Fault> {
    let mut found = vec![];
    for (member, reads) in [("plans", &reads::<Plan> as Reads<'_>), ("apis", &reads::<Api>)] {
        let Some(all) = definition.get(member) else { continue };
        let Value::Array(items) = all else {
            found.push((member.to_owned(), format!("it is a list: write [[{member}]]")));
            continue;
        };
        for (number, item) in items.iter().enumerate() {
            if found.len() >= FAULTS_MAX {
                return found;
            }
            if reads(item).is_some() {
                let mut own = vec![];
                find(&format!("{member}[{number}]"), item, reads, &mut own);
                found.append(&mut own);
            }
        }
    }
    found
}

fn reads<T: DeserializeOwned>(value: &Value) -> Option<String> {
    serde_json::from_value::<T>(value.clone()).err().map(|error| error.to_string())
}

/// Adds what is wrong in a value that cannot be read: of its members or items, or of itself.
fn find(path: &str, value: &Value, reads: Reads<'_>, found: &mut Vec<Fault>) {
    if found.len() >= FAULTS_OF_ITEM_MAX {
        return;
    }
    let before = found.len();
    let Some(message) = reads(value) else { return };
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let alone = |item: &Value| reads(&Value::Array(vec![item.clone()]));
                if alone(item).is_some() {
                    find(&format!("{path}[{number}]"), item, &alone, found);
                }
            }
        }
        Value::Object(members) => find_in_members(path, members.clone(), reads, found),
        _ => {}
    }
    if found.len() == before {
        found.push((path.to_owned(), message));
    }
}

/// Takes members away for as long as that changes what is wrong.
fn find_in_members(
    path: &str,
    mut rest: Map<String, Value>,
    reads: Reads<'_>,
    found: &mut Vec<Fault>,
) {
    let names: Vec<String> = rest.keys().cloned().collect();
    for name in names {
        let Some(now) = reads(&Value::Object(rest.clone())) else { return };
        if missing(&now).is_some_and(|name| lacks(&rest, name, &now, reads)) {
            break;
        }
        // The others stay in their order, by which the first fault is told.
        let others = rest.iter().filter(|(other, _)| **other != name);
        let without: Map<String, Value> =
            others.map(|(name, value)| (name.clone(), value.clone())).collect();
        let Some(own) = rest.get(&name).cloned() else { continue };
        // The same message without this member means that another member causes it.
        let elsewhere = reads(&Value::Object(without.clone()));
        if elsewhere.as_ref() == Some(&now) {
            continue;
        }
        let within = |value: &Value| {
            let mut members = rest.clone();
            members.insert(name.clone(), value.clone());
            reads(&Value::Object(members)).filter(|told| {
                elsewhere.as_ref() != Some(told) && missing(told) != Some(name.as_str())
            })
        };
        find(&format!("{path}.{name}"), &own, &within, found);
        rest = without;
    }
    // A member that is not there is told of what lacks it; with something in its place, the next one is.
    while let Some(now) = reads(&Value::Object(rest.clone())) {
        let Some(name) = missing(&now).map(str::to_owned) else { return };
        let is_taken_away = found.iter().any(|(fault, _)| *fault == format!("{path}.{name}"));
        if !is_taken_away {
            found.push((path.to_owned(), now.clone()));
        }
        if found.len() >= FAULTS_OF_ITEM_MAX || rest.insert(name, "x".into()).is_some() {
            return;
        }
    }
}

/// Returns whether what is missing is missing here, and not within a member: something in its place is told otherwise.
fn lacks(members: &Map<String, Value>, name: &str, now: &str, reads: Reads<'_>) -> bool {
    let mut members = members.clone();
    members.insert(name.to_owned(), "x".into());
    let told = reads(&Value::Object(members));
    told.is_none_or(|told| told != now && !told.starts_with(&format!("unknown field `{name}`")))
}

/// Returns the member that a message calls missing.
fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(definition: &Value) -> Vec<String> {
        let found = faults(definition.as_object().unwrap());
        found.into_iter().map(|(path, message)| format!("{path}: {message}")).collect()
    }

    #[test]
    fn every_member_that_cannot_be_read_is_told_with_its_path() {
        let definition = json!({
            "plans": [{"name": "p", "quota": "1/week"}, {"name": "q", "burst": "many"}],
            "apis": [
                {"name": "a", "context": "a", "version": "v1", "upstream": ["http://a", 7]},
                {
                    "name": "b", "context": "b", "version": "v1", "security": "sso", "balance": "dice",
                    "health": {"path": "/", "interval": "soon", "often": true}, "timeout": "1 parsec",
                    "allow": [], "limits": [{"quota": "1/day"}, {"quota": "1/eon", "burst": "x"}],
                    "transform": {"request": [{"op": "drop", "path": "/a"}, {"op": "add", "path": "/b"}]},
                    "nmae": 1,
                },
                {"version": "v1"},
            ],
        });

        let found = told(&definition);

        for begin in [
            "plans[0].quota: `1/week` is no quota",
            "plans[1].burst: invalid type: string",
            "apis[0].upstream[1]: invalid type: integer",
            "apis[1].allow: an empty list",
            "apis[1].balance: unknown variant `dice`",
            "apis[1].health.interval: ",
            "apis[1].health.often: unknown field",
            "apis[1].limits[1].burst: ",
            "apis[1].limits[1].quota: ",
            "apis[1].nmae: unknown field",
            "apis[1].security: unknown variant `sso`",
            "apis[1].timeout: ",
            "apis[1].transform.request[1]: missing field `value`",
            "apis[2]: missing field `name`",
            "apis[2]: missing field `context`",
        ] {
            assert!(found.iter().any(|told| told.starts_with(begin)), "{begin}: {found:#?}");
        }
        assert_eq!(found.len(), 15, "{found:#?}");
    }

    #[test]
    fn what_can_be_read_has_no_fault_and_what_is_no_list_is_told() {
        let api = json!({"name": "a", "context": "a", "version": "v1"});
        assert_eq!(told(&json!({"apis": [api], "documents": {"a": 1}})), Vec::<String>::new());
        assert_eq!(told(&json!({"apis": api})), ["apis: it is a list: write [[apis]]"]);
        assert!(told(&json!({"apis": [7, []]})).len() >= 2);
    }
}
