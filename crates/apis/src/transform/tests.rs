use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn transform(operations: Value) -> Transform {
    let operations: Vec<Operation> = serde_json::from_value(operations).unwrap();
    Transform::new(&operations).unwrap()
}

fn changed(operations: Value, body: &str) -> String {
    let changed = transform(operations).apply(body.as_bytes()).unwrap().into_owned();
    String::from_utf8(changed).unwrap()
}

#[test]
fn a_renamed_member_keeps_its_place_and_its_bytes() {
    let body = "{ \"a\" : 1.50,\n \"b\":[1e3 , 2],\"c\":\"\\u00e9\" }";

    let renamed = changed(json!([{"op": "rename", "path": "/b", "to": "bee"}]), body);

    assert_eq!(renamed, "{ \"a\" : 1.50,\n \"bee\":[1e3 , 2],\"c\":\"\\u00e9\" }");
}

#[test]
fn every_element_of_an_array_is_changed() {
    let body = r#"{"items":[{"x":1,"y":2},{"y":3},7,{"x":{"x":4}}]}"#;

    let renamed = changed(json!([{"op": "rename", "path": "/items/*/x", "to": "z"}]), body);
    let dropped = changed(json!([{"op": "drop", "path": "/items/*/x"}]), body);
    let added = changed(json!([{"op": "add", "path": "/items/*/n", "value": null}]), body);
    let moved = changed(json!([{"op": "move", "path": "/items/*/x", "to": "/items/*/in/x"}]), body);

    assert_eq!(renamed, r#"{"items":[{"z":1,"y":2},{"y":3},7,{"z":{"x":4}}]}"#);
    assert_eq!(dropped, r#"{"items":[{"y":2},{"y":3},7,{}]}"#);
    assert_eq!(
        added,
        r#"{"items":[{"x":1,"y":2,"n":null},{"y":3,"n":null},7,{"x":{"x":4},"n":null}]}"#
    );
    assert_eq!(moved, r#"{"items":[{"y":2,"in":{"x":1}},{"y":3},7,{"in":{"x":{"x":4}}}]}"#);
}

#[test]
fn members_and_elements_are_dropped_with_their_comma() {
    for (path, expected) in [
        ("/a", r#"{"b": [1, 2, 3] , "c":3}"#),
        ("/b", r#"{"a":1, "c":3}"#),
        ("/c", r#"{"a":1, "b": [1, 2, 3]}"#),
        ("/b/0", r#"{"a":1, "b": [2, 3] , "c":3}"#),
        ("/b/2", r#"{"a":1, "b": [1, 2] , "c":3}"#),
        ("/b/*", r#"{"a":1, "b": [] , "c":3}"#),
        ("/b/3", r#"{"a":1, "b": [1, 2, 3] , "c":3}"#),
        ("/nothing/at/all", r#"{"a":1, "b": [1, 2, 3] , "c":3}"#),
    ] {
        let body = r#"{"a":1, "b": [1, 2, 3] , "c":3}"#;
        assert_eq!(changed(json!([{"op": "drop", "path": path}]), body), expected, "{path}");
    }
    assert_eq!(changed(json!([{"op": "drop", "path": "/a"}]), "{ \"a\":1 }"), "{  }");
}

#[test]
fn what_is_added_replaces_what_is_there() {
    for (path, body, expected) in [
        ("/a", "{}", r#"{"a":true}"#),
        ("/a", r#"{"a":1,"b":2}"#, r#"{"a":true,"b":2}"#),
        ("/a/b/c", r#"{"x":0}"#, r#"{"x":0,"a":{"b":{"c":true}}}"#),
        ("/a/-", r#"{"a":[1]}"#, r#"{"a":[1,true]}"#),
        ("/a/-", r#"{"a":[]}"#, r#"{"a":[true]}"#),
        ("/a/0", r#"{"a":[1]}"#, r#"{"a":[true,1]}"#),
        ("/a/0/b", r#"{"a":[{}]}"#, r#"{"a":[{"b":true}]}"#),
        ("/a/b", r#"{"a":1}"#, r#"{"a":1}"#),
        ("/a", "[1]", "[1]"),
        ("/*", "[1,2]", "[true,true]"),
    ] {
        let added = changed(json!([{"op": "add", "path": path, "value": true}]), body);
        assert_eq!(added, expected, "{path} in {body}");
    }
}

#[test]
fn a_name_that_is_taken_is_given_to_the_renamed_member() {
    let renamed =
        changed(json!([{"op": "rename", "path": "/a", "to": "b"}]), r#"{"b":0,"a":1,"c":2,"b":3}"#);

    assert_eq!(renamed, r#"{"b":1,"c":2}"#);
}

#[test]
fn operations_follow_each_other() {
    let operations = json!([
        {"op": "rename", "path": "/a", "to": "b"},
        {"op": "move", "path": "/b", "to": "/in/b"},
        {"op": "add", "path": "/in/n", "value": {"k": [1, "two"]}},
        {"op": "drop", "path": "/c"}
    ]);

    assert_eq!(
        changed(operations, r#"{"a":[1.0],"c":1}"#),
        r#"{"in":{"b":[1.0],"n":{"k":[1,"two"]}}}"#
    );
}

#[test]
fn a_body_that_is_not_json_is_refused_whatever_is_to_be_done() {
    for body in ["", "plain text", "{\"a\":", "{\"a\":1} x", "{'a':1}"] {
        let done = transform(json!([])).apply(body.as_bytes()).map(Cow::into_owned);
        assert!(done.is_err(), "{body}");
    }
}

#[test]
fn operations_that_make_no_sense_are_not_compiled() {
    for (operation, member) in [
        (json!({"op": "rename", "path": "a", "to": "b"}), "path"),
        (json!({"op": "rename", "path": "/a/*", "to": "b"}), "path"),
        (json!({"op": "rename", "path": "/a/b", "to": "/c/b"}), "to"),
        (json!({"op": "move", "path": "/a/*/b", "to": "/b"}), "to"),
        (json!({"op": "move", "path": "/a", "to": "/a/b"}), "to"),
        (json!({"op": "drop", "path": ""}), "path"),
    ] {
        let parsed: Operation = serde_json::from_value(operation.clone()).unwrap();
        let (number, error) = Transform::new(&[parsed]).unwrap_err();
        assert_eq!((number, error.member), (0, member), "{operation}");
    }
    let pointed = json!({"op": "rename", "path": "/a/b", "to": "/a/c"});
    assert_eq!(changed(json!([pointed]), r#"{"a":{"b":1}}"#), r#"{"a":{"c":1}}"#);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c\"\\\\é]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-d*0]", 1..4).prop_map(|steps| format!("/{}", steps.join("/")))
}

/// Does an operation on a tree, as a reader of the file would expect.
fn on_tree(operation: &Operation, tree: &mut Value) {
    fn places<'a>(tree: &'a mut Value, steps: &[&str]) -> Vec<&'a mut Value> {
        let Some((step, rest)) = steps.split_first() else { return vec![tree] };
        match tree {
            Value::Array(items) => {
                let index = step.parse::<usize>().ok();
                let chosen = items.iter_mut().enumerate();
                chosen
                    .filter(|(number, _)| *step == "*" || Some(*number) == index)
                    .flat_map(|(_, item)| places(item, rest))
                    .collect()
            }
            Value::Object(members) if *step != "*" => {
                members.get_mut(*step).map_or(vec![], |member| places(member, rest))
            }
            _ => vec![],
        }
    }
    let (Operation::Rename { path, .. }
    | Operation::Add { path, .. }
    | Operation::Drop { path }
    | Operation::Move { path, .. }) = operation;
    let steps: Vec<&str> = path[1..].split('/').collect();
    let (last, before) = steps.split_last().unwrap();
    for parent in places(tree, before) {
        match (operation, parent) {
            (Operation::Rename { to, .. }, Value::Object(members)) => {
                if let Some(value) = members.get(*last).cloned()
                    && to != last
                {
                    let renamed = std::mem::take(members).into_iter().filter(|(n, _)| n != to);
                    *members = renamed
                        .map(
                            |(name, value)| {
                                if name == *last { (to.clone(), value) } else { (name, value) }
                            },
                        )
                        .collect();
                    members.insert(to.clone(), value);
                }
            }
            (Operation::Drop { .. }, Value::Object(members)) if *last != "*" => {
                members.shift_remove(*last);
            }
            (Operation::Drop { .. }, Value::Array(items)) => match last.parse::<usize>() {
                Ok(index) if index < items.len() => {
                    items.remove(index);
                }
                Err(_) if *last == "*" => items.clear(),
                _ => {}
            },
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn scanning_changes_what_a_tree_would(
        tree in any_json(),
        path in any_path(),
        to in "[a-d]",
        drops in any::<bool>(),
        is_pretty in any::<bool>(),
    ) {
        let operation = if drops { Operation::Drop { path } } else { Operation::Rename { path, to } };
        let Ok(transform) = Transform::new(std::slice::from_ref(&operation)) else {
            return Ok(());
        };
        let body = if is_pretty {
            serde_json::to_string_pretty(&tree).unwrap()
        } else {
            tree.to_string()
        };

        let scanned = transform.apply(body.as_bytes()).unwrap();
        let mut expected = tree;
        on_tree(&operation, &mut expected);

        prop_assert_eq!(serde_json::from_slice::<Value>(&scanned).unwrap(), expected);
    }

    #[test]
    fn what_no_operation_names_is_the_same_byte_by_byte(tree in any_json()) {
        let body = serde_json::to_string_pretty(&tree).unwrap();
        let operations = json!([
            {"op": "rename", "path": "/zz", "to": "y"},
            {"op": "drop", "path": "/*/zz"},
            {"op": "move", "path": "/zz/a", "to": "/y"}
        ]);

        let kept = transform(operations).apply(body.as_bytes()).unwrap().into_owned();

        prop_assert_eq!(kept, body.into_bytes());
    }
}
