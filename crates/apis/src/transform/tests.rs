use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use tree::on_tree;

use super::*;

mod one_by_one;
mod tree;

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

#[test]
fn a_member_that_is_there_twice_is_not_changed_in_one_place_only() {
    for (operation, body) in [
        (json!({"op": "drop", "path": "/secret"}), r#"{"secret":1,"secret":2}"#),
        (json!({"op": "drop", "path": "/secret"}), r#"{"secret":1,"s\u0065cret":2}"#),
        (json!({"op": "drop", "path": "/a/secret"}), r#"{"a":{"secret":1},"a":{"secret":2}}"#),
        (json!({"op": "drop", "path": "/*/secret"}), r#"[{"secret":1},{"secret":1,"secret":2}]"#),
        (json!({"op": "drop", "path": "/a/*/b"}), r#"{"a":[],"\u0061":[{"b":1}]}"#),
        (json!({"op": "add", "path": "/role", "value": "user"}), r#"{"role":"x","role":"admin"}"#),
        (json!({"op": "add", "path": "/a/b", "value": 1}), r#"{"a":{"b":2},"a":{"b":3}}"#),
        (json!({"op": "rename", "path": "/a", "to": "b"}), r#"{"a":1,"a":2}"#),
        (json!({"op": "move", "path": "/a", "to": "/b"}), r#"{"a":1,"a":2}"#),
        (json!({"op": "move", "path": "/a", "to": "/b"}), r#"{"a":1,"b":2,"b":3}"#),
    ] {
        let done = transform(json!([operation])).apply(body.as_bytes()).map(Cow::into_owned);

        assert!(matches!(done, Err(Unfit::Twice(_))), "{operation} on {body}: {done:?}");
    }
    let untouched = r#"{"x":1,"x":2,"a":{"a":1}}"#;
    assert_eq!(
        changed(json!([{"op": "drop", "path": "/a/a"}]), untouched),
        r#"{"x":1,"x":2,"a":{}}"#
    );
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

/// JSON whose objects may have a name twice, each written in several ways.
fn any_doubled_json() -> impl Strategy<Value = String> {
    let written = prop_oneof![
        3 => "[a-c]".prop_map(|name| format!("\"{name}\"")),
        1 => "[a-c]".prop_map(|name| format!("\"\\u{:04x}\"", u32::from(name.as_bytes()[0]))),
    ];
    let leaf = prop_oneof![Just("1".to_owned()), Just("null".to_owned()), Just("\"a\"".to_owned())];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let members = prop::collection::vec((written.clone(), inner.clone()), 0..4);
        prop_oneof![
            1 => prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            3 => members.prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(n, v)| format!("{n}:{v}")).collect();
                format!("{{{}}}", members.join(" , "))
            }),
        ]
    })
}

/// A value whose objects keep every member.
#[derive(Debug, Clone, PartialEq)]
enum Doubled {
    Leaf,
    Array(Vec<Doubled>),
    Object(Vec<(String, Doubled)>),
}

impl<'de> Deserialize<'de> for Doubled {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Doubled;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Doubled, E> {
                Ok(Doubled::Leaf)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Doubled, E> {
                Ok(Doubled::Leaf)
            }

            fn visit_str<E>(self, _: &str) -> Result<Doubled, E> {
                Ok(Doubled::Leaf)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut all: A,
            ) -> Result<Doubled, A::Error> {
                let mut items = vec![];
                while let Some(item) = all.next_element()? {
                    items.push(item);
                }
                Ok(Doubled::Array(items))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut all: A,
            ) -> Result<Doubled, A::Error> {
                let mut members = vec![];
                while let Some(member) = all.next_entry()? {
                    members.push(member);
                }
                Ok(Doubled::Object(members))
            }
        }
        from.deserialize_any(Read)
    }
}

impl Doubled {
    /// Returns every value that any reader could find at a path.
    fn all_at(&self, steps: &[&str]) -> Vec<&Self> {
        let Some((step, rest)) = steps.split_first() else { return vec![self] };
        match self {
            Self::Array(items) if *step == "*" => {
                items.iter().flat_map(|item| item.all_at(rest)).collect()
            }
            Self::Object(members) if *step != "*" => {
                let own = members.iter().filter(|(name, _)| name == step);
                own.flat_map(|(_, value)| value.all_at(rest)).collect()
            }
            _ => vec![],
        }
    }
}

proptest! {
    #[test]
    fn no_reader_finds_what_was_dropped_or_replaced(
        body in any_doubled_json(),
        before in prop::collection::vec("[abc*]", 0..3),
        last in "[a-c]",
        kind in 0..3,
    ) {
        let path = before.iter().chain([&last]).fold(String::new(), |path, step| path + "/" + step);
        let steps: Vec<&str> = path[1..].split('/').collect();
        let operation = match kind {
            0 => Operation::Drop { path: path.clone() },
            1 => Operation::Rename { path: path.clone(), to: "z".into() },
            _ => Operation::Add { path: path.clone(), value: json!([]) },
        };
        let done = Transform::new(&[operation]).unwrap().apply(body.as_bytes()).map(Cow::into_owned);

        let read = |text: &[u8]| serde_json::from_slice::<Doubled>(text).unwrap();
        let before = read(body.as_bytes());
        match done {
            Err(error) => {
                prop_assert!(matches!(error, Unfit::Twice(_)));
                // Some way to the path, or a part of it, is there twice.
                let ways = |upto: usize| before.all_at(&steps[..upto]).len();
                prop_assert!((1..=steps.len()).any(|upto| ways(upto) > 1), "{body} {path}");
            }
            Ok(text) => {
                let after = read(&text);
                for found in after.all_at(&steps) {
                    prop_assert!(kind == 2 && *found == Doubled::Array(vec![]), "{body} {path}");
                }
            }
        }
    }

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
