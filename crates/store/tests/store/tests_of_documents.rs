//! Tests of documents, by their text and by their referrers, and lists of what leads to them.

use std::sync::Arc;

use homeroom_store::{
    Answer, Ask, Condition, Decision, DocumentId, DocumentTest, KeyOf, KindId, LeadsTo, ListQuery,
    NaturalKey, NewDocument, Plan, References, SameValue, Start, Store, Through, Write,
};

use crate::support::{Done, create, create_all, document, key, stores};

fn text(path: &str, value: &str, fold: bool) -> DocumentTest {
    DocumentTest::Says(Condition::Text { paths: vec![path.into()], value: value.into(), fold })
}

fn trimmed(path: &str, value: &str) -> DocumentTest {
    DocumentTest::Says(Condition::Trimmed { paths: vec![path.into()], value: value.into() })
}

fn has(path: &str, is_there: bool) -> DocumentTest {
    DocumentTest::Has { path: path.into(), is_there }
}

fn item(path: &str, test: DocumentTest) -> DocumentTest {
    DocumentTest::Item { path: path.into(), test: Box::new(test) }
}

fn referrer(kind: KindId, test: DocumentTest) -> DocumentTest {
    DocumentTest::Referrer { kind, same: vec![], test: Box::new(test) }
}

fn any_text() -> DocumentTest {
    DocumentTest::All(vec![])
}

/// Runs a read to its end, as a server would.
fn wait<T>(read: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(read)
}

fn passes(store: &Store, start: Start, test: DocumentTest) -> bool {
    wait(store.pass(vec![start], Arc::new(test))).unwrap()[0].is_passed
}

fn put(store: &Store, kind: KindId, name: &str, body: &str, to: &[&str]) -> i64 {
    let number = |name: &&str| store.target_blocking(key(name)).unwrap().unwrap().0;
    let mut new = document(kind, name, to.iter().map(number).collect());
    new.body = body.into();
    create(store, new);
    number(&name).0
}

#[test]
fn a_test_matches_values_and_items_of_lists() {
    for (store, kind, _) in stores() {
        let body = concat!(
            r#"{"a":"Red","b":{"n":7},"l":[{"c":"x","m":[{"d":1}]},{"c":"y"}],"t":true,"#,
            "\"s\":\" \u{a0}Wide\u{3000} \"}"
        );
        put(&store, kind, "one", body, &[]);
        let integer = |path: &str, value| Condition::Integer { paths: vec![path.into()], value };
        for (what, test, expected) in [
            ("a text", text("$.a", "Red", false), true),
            ("a text in another case", text("$.a", "red", false), false),
            ("a text in any case", text("$.a", "red", true), true),
            ("a text with blanks around", trimmed("$.s", " wide "), true),
            ("a text with blanks around it and none asked for", trimmed("$.s", "WIDE"), true),
            ("a text without blanks", trimmed("$.a", "\u{2003}red\t"), true),
            ("a text with blanks inside", trimmed("$.s", "wi de"), false),
            ("a part of a text", trimmed("$.s", "wid"), false),
            ("no text", trimmed("$.x", "x"), false),
            ("a number", DocumentTest::Says(integer("$.b.n", 7)), true),
            ("another number", DocumentTest::Says(integer("$.b.n", 8)), false),
            ("what is there", has("$.b.n", true), true),
            ("what is missing", has("$.b.x", true), false),
            ("what must be missing", has("$.c", false), true),
            ("what must not be there", has("$.a", false), false),
            ("an item", item("$.l", text("$.c", "y", false)), true),
            ("no item", item("$.l", text("$.c", "z", false)), false),
            ("a list that is missing", item("$.k", has("$.c", true)), false),
            (
                "one item with both",
                item("$.l", DocumentTest::All(vec![text("$.c", "y", false), has("$.m", true)])),
                false,
            ),
            ("an item of an item", item("$.l", item("$.m", has("$.d", true))), true),
            ("all of none", DocumentTest::All(vec![]), true),
            ("any of none", DocumentTest::Any(vec![]), false),
            ("any", DocumentTest::Any(vec![has("$.x", true), has("$.t", true)]), true),
        ] {
            assert_eq!(passes(&store, Start::Document(key("one")), test), expected, "{what}");
        }
        assert!(!passes(&store, Start::Document(key("nobody")), any_text()));
        assert!(!passes(&store, Start::Number(99), any_text()));
    }
}

#[test]
fn a_referrer_is_tested_by_its_own_text_and_by_shared_values() {
    for (store, one, other) in stores() {
        let id = put(&store, one, "red", r#"{"k":"red"}"#, &[]);
        put(&store, one, "blue", r#"{"k":"blue"}"#, &[]);
        put(
            &store,
            other,
            "paper",
            r#"{"of":"red","next":"blue","loud":"RED","p":3}"#,
            &["red", "blue"],
        );
        let of = |theirs: &str, fold| DocumentTest::Referrer {
            kind: other,
            same: vec![SameValue { theirs: theirs.into(), own: vec![(one, "$.k".into())], fold }],
            test: Box::new(any_text()),
        };
        let by_kind = |own: Vec<(KindId, &str)>| DocumentTest::Referrer {
            kind: other,
            same: vec![SameValue {
                theirs: "$.of".into(),
                own: own.into_iter().map(|(kind, path)| (kind, path.to_owned())).collect(),
                fold: false,
            }],
            test: Box::new(any_text()),
        };
        for (start, test, expected) in [
            (Start::Number(id), referrer(other, any_text()), true),
            (Start::Number(id), referrer(one, any_text()), false),
            (Start::Document(key("red")), referrer(other, has("$.p", true)), true),
            (Start::Document(key("red")), referrer(other, has("$.p", false)), false),
            (Start::Document(key("red")), of("$.of", false), true),
            (Start::Document(key("blue")), of("$.of", false), false),
            (Start::Document(key("blue")), of("$.next", false), true),
            (Start::Document(key("red")), of("$.loud", false), false),
            (Start::Document(key("red")), of("$.loud", true), true),
            (Start::Document(key("red")), by_kind(vec![(other, "$.x"), (one, "$.k")]), true),
            (Start::Document(key("red")), by_kind(vec![(other, "$.k"), (one, "$.x")]), false),
            (Start::Document(key("blue")), by_kind(vec![(other, "$.x"), (one, "$.k")]), false),
            (Start::Document(key("red")), by_kind(vec![]), false),
        ] {
            assert_eq!(passes(&store, start, test.clone()), expected, "{start:?} {test:?}");
        }
    }
}

#[test]
fn answers_are_in_the_order_of_questions_and_base_identities_work() {
    for (store, kind, _) in stores() {
        let mut new = document(kind, "own", vec![]);
        new.alias = Some(NaturalKey::of("base", [&b"1"[..]]));
        let alias = Start::Document(new.alias.unwrap());
        create(&store, new);
        let own = Start::Document(key("own"));
        let number = Start::Number(store.target_blocking(key("own")).unwrap().unwrap().0.0);
        let starts = vec![alias, Start::Number(77), own, Start::Document(key("none")), number];

        let all = wait(store.pass(starts, Arc::new(text("$.name", "own", false)))).unwrap();

        let passed: Vec<bool> = all.iter().map(|passed| passed.is_passed).collect();
        assert_eq!(passed, [true, false, true, false, true]);
    }
}

/// Returns a plan that creates a document if another one passes a test.
fn create_if(
    start: Start,
    test: DocumentTest,
    new: NewDocument,
) -> Plan<impl homeroom_store::Decide<Done = (), Refusal = String>> {
    let mut new = Some(new);
    Plan {
        ask: vec![Ask::Test(start, Arc::new(test))],
        decide: move |found: Vec<Answer>| -> Done {
            match found.first() {
                Some(Answer::Passed(passed)) if passed.is_passed => {
                    Decision::Write(vec![Write::Create(new.take().expect("once"))], ())
                }
                _ => Decision::Refuse("it does not pass".into()),
            }
        },
    }
}

#[test]
fn a_plan_sees_the_writes_of_earlier_plans_in_its_group() {
    for (store, one, other) in stores() {
        create_all(&store, vec![document(one, "a", vec![]), document(one, "b", vec![])]);
        let number = |name: &str| store.target_blocking(key(name)).unwrap().unwrap().0;
        let has_paper = || referrer(other, any_text());
        let of = |name: &str, to: &str| document(other, name, vec![number(to)]);
        let named = |name: &str| Start::Document(key(name));
        let born = || document(one, "c", vec![]);

        let outcomes = store.run_all_blocking(vec![
            create_if(named("a"), has_paper(), of("too soon", "a")),
            create_if(named("a"), any_text(), of("first", "a")),
            create_if(named("a"), has_paper(), of("second", "a")),
            create_if(named("b"), has_paper(), of("of another", "b")),
            create_if(named("c"), any_text(), of("of nobody", "b")),
            create_if(Start::Number(number("b").0), any_text(), born()),
            create_if(named("c"), any_text(), of("of the new one", "b")),
        ]);

        let done: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(done, [false, true, true, false, false, true, true]);
    }
}

#[test]
fn a_list_by_a_tested_target_is_correct_page_by_page() {
    for (store, one, other) in stores() {
        let mut expected = vec![];
        for n in 0..40 {
            let name = format!("one {n}");
            put(&store, one, &name, &format!(r#"{{"third":{}}}"#, n % 3 == 0), &[]);
        }
        let number = |n: i64| store.target_blocking(key(&format!("one {n}"))).unwrap().unwrap().0.0;
        for n in 0..90 {
            let of = n * 7 % 41;
            let mut new = document(other, &format!("paper {n}"), vec![]);
            new.body = format!(r#"{{"of":"one {of}"}}"#);
            let mark = (of < 40).then(|| number(of));
            new.references = References { marks: vec![None, mark], ..References::default() };
            create(&store, new);
            if of < 40 && of % 3 == 0 {
                expected
                    .push(store.target_blocking(key(&format!("paper {n}"))).unwrap().unwrap().0.0);
            }
        }
        let third =
            DocumentTest::Says(Condition::Boolean { paths: vec!["$.third".into()], value: true });
        let test = Arc::new(third);
        let of = |row: &homeroom_store::Row| {
            let name = row.body.trim_start_matches("{\"of\":\"").trim_end_matches("\"}");
            Some(key(name))
        };
        for (kind, to, expected) in [
            (other, LeadsTo::Key(KeyOf::new(of)), expected.clone()),
            (other, LeadsTo::Mark(1), expected),
            (one, LeadsTo::Itself, (0..40).step_by(3).map(number).collect()),
        ] {
            let through = vec![Through { to, test: Arc::clone(&test) }];
            let query = ListQuery { through, limit: 4, ..ListQuery::all(kind) };

            let (mut ids, mut after) = (vec![], DocumentId(0));
            loop {
                let page = wait(store.list(ListQuery { after, ..query.clone() })).unwrap();
                let Some(last) = page.rows.last() else { break };
                after = last.id;
                ids.extend(page.rows.iter().map(|row| row.id.0));
            }
            let skipped = wait(store.list(ListQuery { skip: 5, ..query.clone() })).unwrap();

            assert_eq!(ids, expected);
            let skipped: Vec<i64> = skipped.rows.iter().map(|row| row.id.0).collect();
            assert_eq!(skipped, expected[5..9]);
            assert_eq!(wait(store.count(query)).unwrap(), expected.len() as u64);
        }
    }
}
