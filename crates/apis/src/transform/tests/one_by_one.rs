//! What is done in one walk is what is done one after the other.

use super::tree::on_tree;
use super::*;

/// Does each operation by itself, on what the one before has left.
fn one_by_one(transform: &Transform, body: &[u8]) -> Result<Vec<u8>, Unfit> {
    scan::check(body)?;
    transform.operations.iter().try_fold(body.to_vec(), |text, operation| {
        let edits = operation.edits(&text)?;
        Ok(applied(&text, &edits))
    })
}

/// Returns how many operations each walk does; 0 for one that is done by itself.
fn walks(operations: Value) -> Vec<usize> {
    let size = |group: &Group| group.together.as_ref().map_or(0, |_| group.operations.len());
    transform(operations).groups.iter().map(size).collect()
}

fn any_operations() -> impl Strategy<Value = Vec<Operation>> {
    let step = prop_oneof![12 => "[a-d]", 4 => Just("*".to_owned()), 1 => "[01-]"];
    let path = || {
        let steps = prop::collection::vec(step.clone(), 1..4);
        steps.prop_map(|steps| format!("/{}", steps.join("/")))
    };
    let beside = |path: &str, name: &str| {
        let (parent, _) = path.rsplit_once('/').unwrap_or_default();
        format!("{parent}/{name}")
    };
    let value = prop_oneof![
        Just(json!(1)),
        Just(json!({})),
        Just(json!({"a": {"b": [1]}, "c": "\u{e9}"})),
        Just(json!([{"a": 1}, {"b": 2}])),
    ];
    let operation = prop_oneof![
        (path(), "[a-e]").prop_map(|(path, to)| Operation::Rename { path, to }),
        (path(), value).prop_map(|(path, value)| Operation::Add { path, value }),
        path().prop_map(|path| Operation::Drop { path }),
        (path(), "[a-e]").prop_map(move |(path, name)| {
            let to = beside(&path, &name);
            Operation::Move { path, to }
        }),
        (path(), path()).prop_map(|(path, to)| Operation::Move { path, to }),
    ];
    let is_one = |operation: &Operation| Transform::new(std::slice::from_ref(operation)).is_ok();
    prop::collection::vec(operation, 0..7)
        .prop_map(move |all| all.into_iter().filter(is_one).collect())
}

/// JSON with white space anywhere and names written in several ways, which may be there twice.
fn any_spaced_json(may_be_twice: bool) -> impl Strategy<Value = String> {
    let gap = || prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\n\t")];
    let written = |name: String, is_escaped| {
        let code = u32::from(name.as_bytes()[0]);
        let text = if is_escaped { format!("\\u{code:04x}") } else { name.clone() };
        (name, format!("\"{text}\""))
    };
    let name = prop_oneof![
        8 => "[a-e]".prop_map(move |name| written(name, false)),
        1 => "[a-e]".prop_map(move |name| written(name, true)),
        1 => Just(("longer".to_owned(), "\"longer, with an é, a \\\" and a \\\\ in it\"".to_owned())),
        1 => Just(("*".to_owned(), "\"*\"".to_owned())),
    ];
    let leaf = prop_oneof![
        Just("-1.50e3".to_owned()),
        Just("null".to_owned()),
        Just("\"a]}\\\",{[ and what is behind it, é\"".to_owned()),
    ];
    let value = leaf.prop_recursive(5, 48, 5, move |inner| {
        let item = (gap(), inner.clone(), gap()).prop_map(|(a, item, b)| format!("{a}{item}{b}"));
        let member = (gap(), name.clone(), gap(), gap(), inner, gap()).prop_map(
            |(a, (name, written), b, c, value, d)| (name, format!("{a}{written}{b}:{c}{value}{d}")),
        );
        let array = (prop::collection::vec(item, 0..4), gap()).prop_map(|(items, gap)| {
            let gap = if items.is_empty() { gap } else { "" };
            format!("[{gap}{}]", items.join(","))
        });
        let object =
            (prop::collection::vec(member, 0..5), gap()).prop_map(move |(members, gap)| {
                let (mut names, mut texts) = (vec![], vec![]);
                for (name, text) in members {
                    if may_be_twice || !names.contains(&name) {
                        names.push(name);
                        texts.push(text);
                    }
                }
                let gap = if texts.is_empty() { gap } else { "" };
                format!("{{{gap}{}}}", texts.join(","))
            });
        prop_oneof![1 => array, 3 => object]
    });
    (gap(), value, gap()).prop_map(|(a, value, b)| format!("{a}{value}{b}"))
}

#[test]
fn operations_that_do_not_meet_are_done_in_one_walk() {
    for (operations, expected) in [
        (
            json!([
                {"op": "rename", "path": "/records/*/name", "to": "title"},
                {"op": "add", "path": "/records/*/via", "value": 1},
                {"op": "drop", "path": "/records/*/name"},
                {"op": "add", "path": "/meta/by", "value": 1},
                {"op": "add", "path": "/meta/at", "value": 1},
                {"op": "rename", "path": "/records", "to": "content"}
            ]),
            vec![6],
        ),
        (
            json!([
                {"op": "rename", "path": "/a", "to": "b"},
                {"op": "drop", "path": "/b/x"},
                {"op": "drop", "path": "/c/0"},
                {"op": "move", "path": "/b/y", "to": "/y"},
                {"op": "drop", "path": "/b"},
                {"op": "drop", "path": "/c"}
            ]),
            vec![1, 1, 0, 0, 2],
        ),
        (
            json!([
                {"op": "drop", "path": "/a/x"},
                {"op": "rename", "path": "/a", "to": "b"},
                {"op": "move", "path": "/b", "to": "/c"}
            ]),
            vec![2, 1],
        ),
    ] {
        assert_eq!(walks(operations.clone()), expected, "{operations}");
    }
}

#[test]
fn the_first_operation_that_does_not_fit_is_told_wherever_its_place_is() {
    let operations = json!([
        {"op": "drop", "path": "/*/a"},
        {"op": "drop", "path": "/*/b"}
    ]);
    let body = br#"[{"b":1,"b":2},{"a":1,"a":2}]"#;

    assert_eq!(transform(operations).apply(body), Err(Unfit::Twice("a".to_owned())));
}

#[test]
fn a_body_that_is_nested_too_deep_by_one_operation_is_refused_by_the_next() {
    let deep = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({ "a": inner }));
    let add = |path: &str, depth: usize| json!({"op": "add", "path": path, "value": deep(depth)});
    let next = json!({"op": "drop", "path": "/z"});

    for (operations, is_fit) in [
        (json!([add("/b", 127), next]), true),
        (json!([add("/b", 128), next]), false),
        (json!([add("/b", 128)]), true),
        (json!([add("/b/c", 126), next]), true),
        (json!([add("/b/c", 127), next]), false),
        (json!([next, add("/b/c", 127)]), true),
    ] {
        let compiled = transform(operations);
        let done = compiled.apply(b"{}").map(Cow::into_owned);
        assert_eq!(done.is_ok(), is_fit);
        assert_eq!(done, one_by_one(&compiled, b"{}"));
    }
}

#[test]
fn a_body_with_more_members_than_are_kept_is_changed_too() {
    let members: Vec<String> =
        (0..=walk::KEPT_MAX).map(|number| format!("\"m{number}\":1")).collect();
    let last = format!("m{}", walk::KEPT_MAX);
    let body = format!("{{{}}}", members.join(","));

    let operations = json!([{"op": "rename", "path": format!("/{last}"), "to": "z"}]);

    assert_eq!(changed(operations, &body), body.replace(&format!("\"{last}\""), "\"z\""));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_walk_does_what_is_done_one_after_the_other(
        body in any_spaced_json(true),
        operations in any_operations(),
    ) {
        let transform = Transform::new(&operations).unwrap();

        let walked = transform.apply(body.as_bytes()).map(Cow::into_owned);

        let told = |done: Result<Vec<u8>, Unfit>| done.map(|text| String::from_utf8(text).unwrap());
        prop_assert_eq!(told(walked), told(one_by_one(&transform, body.as_bytes())));
    }

    #[test]
    fn operations_do_what_they_do_on_a_tree(
        body in any_spaced_json(false),
        operations in any_operations(),
    ) {
        let transform = Transform::new(&operations).unwrap();

        let walked = transform.apply(body.as_bytes()).unwrap();

        let mut expected: Value = serde_json::from_str(&body).unwrap();
        for operation in &operations {
            on_tree(operation, &mut expected);
        }
        let walked: Value = serde_json::from_slice(&walked).unwrap();
        prop_assert_eq!(walked.to_string(), expected.to_string());
    }
}

#[test]
fn what_would_take_much_memory_at_once_is_done_one_by_one() {
    let add = |number| json!({"op": "add", "path": format!("/*/x{number}"), "value": number});
    let transform = transform((0..5).map(add).collect());
    let body = format!("[{}]", vec!["{}"; 5_000].join(","));

    let changed = transform.apply(body.as_bytes()).unwrap();

    let one = r#"{"x0":0,"x1":1,"x2":2,"x3":3,"x4":4}"#;
    let expected = format!("[{}]", vec![one; 5_000].join(","));
    assert_eq!(std::str::from_utf8(&changed).unwrap(), expected);
}

#[test]
fn a_long_path_is_no_tree() {
    let transform = transform(json!([{"op": "drop", "path": "/a".repeat(300_000)}]));

    assert_eq!(&transform.apply(b"{\"a\":1}").unwrap()[..], b"{\"a\":1}");
}
