//! Changes of JSON bodies: what is changed was JSON and still is, and what no operation names stays.

use std::sync::LazyLock;

use homeroom_apis::fuzz::read_json;
use homeroom_apis::{Operation, Transform};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Deepest nesting that the other reader takes.
const DEPTH_MAX: usize = 100;

/// Operations, of which an input chooses.
const OPERATIONS: [&str; 8] = [
    r#"{"op": "rename", "path": "/aa", "to": "bb"}"#,
    r#"{"op": "add", "path": "/bb", "value": {"cc": [1]}}"#,
    r#"{"op": "drop", "path": "/cc"}"#,
    r#"{"op": "move", "path": "/dd/ee", "to": "/ff"}"#,
    r#"{"op": "rename", "path": "/gg/*/aa", "to": "hh"}"#,
    r#"{"op": "drop", "path": "/gg/*"}"#,
    r#"{"op": "add", "path": "/gg/*/hh", "value": null}"#,
    r#"{"op": "drop", "path": "/dd/*/*/ee"}"#,
];

static PARSED: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    OPERATIONS.iter().map(|text| serde_json::from_str(text).expect("it is one")).collect()
});

/// The bits of the first byte choose operations, the rest is a body.
///
/// # Panics
///
/// When what is no JSON is changed, what was changed is none, something changes that nothing names, or the tree of
/// what was changed is not the changed tree.
pub fn transform(bytes: &[u8]) {
    let Some((&bits, body)) = bytes.split_first() else { return };
    let chosen: Vec<Operation> =
        (0..8).filter(|bit| bits & (1 << bit) != 0).map(|bit| PARSED[bit].clone()).collect();
    let transform = Transform::new(&chosen).expect("each of them can be compiled");
    let Ok(changed) = transform.apply(body) else { return };
    if nesting(body) < DEPTH_MAX {
        for text in [body, &changed] {
            let text = std::str::from_utf8(text).expect("JSON is UTF-8");
            serde_json::from_str::<IgnoredAny>(text).expect("it is JSON");
        }
        if let Some(mut tree) = read_json(body) {
            chosen.iter().for_each(|operation| on_tree(operation, &mut tree));
            assert_eq!(read_json(&changed), Some(tree), "a tree is changed otherwise");
        }
    }
    let names = [&b"aa"[..], b"bb", b"cc", b"dd", b"ee", b"ff", b"gg", b"hh", b"\\"];
    let is_named = names.iter().any(|name| body.windows(name.len()).any(|word| word == *name));
    let adds = bits & 2 != 0;
    assert!(is_named || adds || *changed == *body, "something else has changed");
}

/// Does one of the [`OPERATIONS`] on a tree.
fn on_tree(operation: &Operation, tree: &mut Value) {
    let (Operation::Rename { path, .. }
    | Operation::Add { path, .. }
    | Operation::Drop { path }
    | Operation::Move { path, .. }) = operation;
    let steps: Vec<&str> = path[1..].split('/').collect();
    let Some((last, before)) = steps.split_last() else { return };
    let mut moved = None;
    for parent in places(tree, before) {
        match (operation, parent) {
            (Operation::Drop { .. }, Value::Array(items)) if *last == "*" => items.clear(),
            (Operation::Drop { .. }, Value::Object(members)) if *last != "*" => {
                members.remove(*last);
            }
            (Operation::Rename { to, .. }, Value::Object(members)) => {
                if let Some(value) = members.remove(*last) {
                    members.insert(to.clone(), value);
                }
            }
            (Operation::Add { value, .. }, Value::Object(members)) => {
                members.insert((*last).to_owned(), value.clone());
            }
            (Operation::Move { .. }, Value::Object(members)) => moved = members.remove(*last),
            _ => {}
        }
    }
    if let (Operation::Move { to, .. }, Some(value), Value::Object(members)) =
        (operation, moved, tree)
    {
        members.insert(to[1..].to_owned(), value);
    }
}

/// Returns the values that steps lead to; `*` leads to each element of an array.
fn places<'a>(tree: &'a mut Value, steps: &[&str]) -> Vec<&'a mut Value> {
    let Some((step, rest)) = steps.split_first() else { return vec![tree] };
    match tree {
        Value::Array(items) if *step == "*" => {
            items.iter_mut().flat_map(|item| places(item, rest)).collect()
        }
        Value::Object(members) if *step != "*" => {
            members.get_mut(*step).map_or(vec![], |member| places(member, rest))
        }
        _ => vec![],
    }
}

/// Returns the most brackets that could be open at a time.
fn nesting(body: &[u8]) -> usize {
    body.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
}
