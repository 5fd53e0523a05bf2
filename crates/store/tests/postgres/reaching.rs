//! Where ties lead: each node remembers it, and any node may change it.

use homeroom_store::{
    Answer, Ask, Decide, Decision, KindId, NewDocument, Plan, References, Sql, Start, Steps, Store,
    Tie, TieState, Tombstone, Uuid, Way, Write,
};
use homeroom_testkit::trial;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{key, kinds, same_schema, told};

const AT: KindId = KindId(11);
const ABOVE: KindId = KindId(12);
/// The name of a document without ties.
const ANCHOR: u8 = 200;

type Done = Decision<String, String>;

fn way(steps: usize, past: bool) -> Way {
    Way { steps: Steps::of(&vec![AT; steps]).unwrap(), up: ABOVE, past }
}

fn document(name: u8, ties: Vec<Tie>) -> NewDocument {
    NewDocument {
        uuid: Uuid([name; 16]),
        kind: KindId(1),
        key: key(name),
        alias: None,
        body: format!("{{\"name\":{name}}}"),
        references: References::default(),
        ties,
        modified: 7,
    }
}

/// Returns a plan that creates a document with ties, unless it exists, and reports what it has
/// reached.
fn make(
    name: u8,
    ties: Vec<Tie>,
    from: Start,
    way: &Way,
) -> Plan<impl Decide<Done = String, Refusal = String> + use<>> {
    let decide = move |found: Vec<Answer>| -> Done {
        match &found[..] {
            [Answer::Document(None), Answer::Reached(reached)] => {
                let made = document(name, ties.clone());
                Decision::Write(vec![Write::Create(made)], format!("{:?}", reached.numbers))
            }
            _ => Decision::Refuse("it is there".into()),
        }
    };
    Plan { ask: vec![Ask::Document(key(name)), Ask::Reach(from, *way)], decide }
}

/// Returns a plan that replaces a document's ties.
fn change(
    name: u8,
    old: Vec<Tie>,
    ties: Vec<Tie>,
) -> Plan<impl Decide<Done = String, Refusal = String> + use<>> {
    let decide = move |found: Vec<Answer>| -> Done {
        let Some(Answer::Document(Some(row))) = found.into_iter().next() else {
            return Decision::Refuse("it is not there".into());
        };
        let new = document(name, ties.clone());
        let (old_references, old_ties) = (row.references, old.clone());
        let write = Write::Replace { old: row.id, old_references, old_ties, new };
        Decision::Write(vec![write], "changed".into())
    };
    Plan { ask: vec![Ask::Document(key(name))], decide }
}

fn delete(name: u8, ties: Vec<Tie>) -> Plan<impl Decide<Done = String, Refusal = String> + use<>> {
    let decide = move |found: Vec<Answer>| -> Done {
        let Some(Answer::Document(Some(row))) = found.into_iter().next() else {
            return Decision::Refuse("it is not there".into());
        };
        let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
        let (row, ties) = (Box::new(row), ties.clone());
        Decision::Write(vec![Write::Delete { row, ties, tombstone }], "deleted".into())
    };
    Plan { ask: vec![Ask::Document(key(name))], decide }
}

/// Returns a plan that reports what it reaches.
fn look(from: Start, way: &Way) -> Plan<impl Decide<Done = String, Refusal = String> + use<>> {
    let decide = |found: Vec<Answer>| -> Done {
        match &found[..] {
            [Answer::Reached(reached)] => Decision::Write(vec![], format!("{:?}", reached.numbers)),
            _ => Decision::Refuse("no answer".into()),
        }
    };
    Plan { ask: vec![Ask::Reach(from, *way)], decide }
}

/// Reads the anchor, and then what is reached in the state in which it was read.
fn read(store: &Store, from: Start, way: &Way) -> (TieState, Vec<i64>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_, state) = store.document_and_ties(Uuid([ANCHOR; 16])).await.unwrap().unwrap();
        let reached = store.reach_in(state, &[(from, *way)]).await.unwrap();
        (state, reached[0].numbers.to_vec())
    })
}

#[test]
fn a_nodes_memory_of_ties_sees_the_changes_of_another_node() {
    for options in trial::postgres().unwrap() {
        let first = Store::temporary_on(&options, &kinds()).unwrap();
        let second = Store::open(&same_schema(&first, &options)).unwrap();
        let tie = |label, item, holder| Tie { label, item, holder };
        let from = Start::Number(5);
        let nowhere = Start::Number(99);
        let run = |store: &Store, name, ties| {
            store.run_blocking(make(name, ties, nowhere, &way(0, false))).unwrap();
        };
        let seen = |expected: &[i64]| {
            let mut states = vec![];
            for (who, node) in [("itself", &first), ("the other", &second), ("again", &second)] {
                let (state, reached) = read(node, from, &way(1, false));
                assert_eq!(reached, expected, "read by {who}");
                let planned = told(node.run_blocking(look(from, &way(1, false))));
                let expected = told(first.run_blocking(look(from, &way(1, false))));
                assert_eq!(planned, expected, "planned by {who}");
                assert!(planned.contains(&format!("{reached:?}")), "{planned}");
                states.push(state);
            }
            assert!(states.iter().all(|state| *state == states[0]), "{states:?}");
            states[0]
        };
        run(&first, ANCHOR, vec![]);
        let empty = seen(&[]);

        run(&first, 1, vec![tie(AT, 5, 1)]);
        run(&first, 2, vec![tie(ABOVE, 1, 1)]);
        let enrolled = seen(&[1]);
        run(&second, 3, vec![]);
        assert_eq!(seen(&[1]), enrolled, "a document without ties changes nothing");
        run(&first, 4, vec![tie(ABOVE, 2, 2)]);
        first
            .run_blocking(change(
                2,
                vec![tie(ABOVE, 1, 1)],
                vec![tie(ABOVE, 1, 1), tie(ABOVE, 1, 2)],
            ))
            .unwrap();
        let moved = seen(&[1, 2]);
        run(&second, 5, vec![tie(AT, 5, 3), tie(ABOVE, 3, 3)]);
        seen(&[1, 2, 3]);
        first.run_blocking(delete(1, vec![tie(AT, 5, 1)])).unwrap();
        seen(&[3]);
        second.run_blocking(delete(5, vec![tie(AT, 5, 3), tie(ABOVE, 3, 3)])).unwrap();
        let left = seen(&[]);
        run(&first, 6, vec![tie(AT, 5, 2)]);
        seen(&[2]);
        // A plain SQL statement, whose effects are unknown.
        first.run_blocking(plan(&Does::Sweep { holder: 2 })).unwrap();
        seen(&[]);

        assert!(![enrolled, moved].contains(&left) && empty != left);
        assert_eq!(read(&second, from, &way(1, true)).1, [1], "the past");
    }
}

/// The action of one plan.
#[derive(Debug, Clone)]
enum Does {
    Make {
        name: u8,
        ties: Vec<Tie>,
        from: Start,
        way: Way,
    },
    Delete {
        name: u8,
    },
    Look {
        from: Start,
        way: Way,
    },
    /// A plain SQL statement that removes ties, whose effects are unknown.
    Sweep {
        holder: i64,
    },
}

fn ties() -> impl Strategy<Value = Vec<Tie>> {
    let tie = (prop::bool::ANY, 1..6_i64, 1..6_i64).prop_map(|(is_at, item, holder)| Tie {
        label: if is_at { AT } else { ABOVE },
        item,
        holder,
    });
    prop::collection::btree_set(tie, 0..4).prop_map(|ties| ties.into_iter().collect())
}

fn froms() -> impl Strategy<Value = (Start, Way)> {
    let start = prop_oneof![
        4 => (1..6_i64).prop_map(Start::Number),
        1 => (0..8_u8).prop_map(|name| Start::Document(key(name)))
    ];
    (start, 0..3_usize, prop::bool::ANY).prop_map(|(from, steps, past)| (from, way(steps, past)))
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        6 => (0..8_u8, ties(), froms()).prop_map(|(name, ties, (from, way))| {
            Does::Make { name, ties, from, way }
        }),
        3 => (0..8_u8).prop_map(|name| Does::Delete { name }),
        6 => froms().prop_map(|(from, way)| Does::Look { from, way }),
        2 => (1..6_i64).prop_map(|holder| Does::Sweep { holder }),
    ]
}

/// Any of the plans.
#[derive(Clone)]
struct Doing(Does);

impl Decide for Doing {
    type Done = String;
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Done {
        let reached = found.iter().find_map(|answer| match answer {
            Answer::Reached(reached) => Some(format!("{:?}", reached.numbers)),
            _ => None,
        });
        let reached = reached.unwrap_or_default();
        let row = found.into_iter().find_map(|answer| match answer {
            Answer::Document(row) => row,
            _ => None,
        });
        match (&self.0, row) {
            (Does::Make { name, ties, .. }, None) => {
                // The document's text lists the ties, so that a deletion knows them.
                let mut new = document(*name, ties.clone());
                let ties: Vec<_> = ties.iter().map(|t| (t.label.0, t.item, t.holder)).collect();
                new.body = format!("{{\"ties\":\"{ties:?}\"}}");
                new.uuid = Uuid::new();
                Decision::Write(vec![Write::Create(new)], reached)
            }
            (Does::Delete { .. }, Some(row)) => {
                let text = row.body.trim_start_matches("{\"ties\":\"").trim_end_matches("\"}");
                let numbers: Vec<i64> = text
                    .split(|letter: char| !letter.is_ascii_digit())
                    .filter_map(|word| word.parse().ok())
                    .collect();
                let ties = numbers.chunks(3).map(|tie| Tie {
                    label: KindId(u16::try_from(tie[0]).unwrap()),
                    item: tie[1],
                    holder: tie[2],
                });
                let (ties, row) = (ties.collect(), Box::new(row));
                let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
                Decision::Write(vec![Write::Delete { row, ties, tombstone }], "deleted".into())
            }
            (Does::Look { .. }, _) => Decision::Write(vec![], reached),
            (Does::Sweep { holder }, _) => {
                let sql = Sql::new("DELETE FROM tie WHERE holder = ?1", vec![(*holder).into()]);
                Decision::Write(vec![Write::Sql(sql)], "swept".into())
            }
            (does, _) => Decision::Refuse(format!("{does:?}: {reached}")),
        }
    }
}

fn plan(does: &Does) -> Plan<Doing> {
    let ask = match does {
        Does::Make { name, from, way, .. } => {
            vec![Ask::Document(key(*name)), Ask::Reach(*from, *way)]
        }
        Does::Delete { name } => vec![Ask::Document(key(*name))],
        Does::Look { from, way } => vec![Ask::Reach(*from, *way)],
        Does::Sweep { .. } => vec![],
    };
    Plan { ask, decide: Doing(does.clone()) }
}

#[test]
fn any_tie_changes_of_two_nodes_give_the_results_of_a_sqlite_store() {
    for options in trial::postgres().unwrap() {
        let mut runner =
            TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
        let groups = prop::collection::vec(
            (prop::bool::ANY, prop::collection::vec(does(), 1..10), froms()),
            1..6,
        );

        let ran = runner.run(&groups, |groups| {
            let file = Store::temporary(&kinds()).unwrap();
            let first = Store::temporary_on(&options, &kinds()).unwrap();
            let second = Store::open(&same_schema(&first, &options)).unwrap();
            for store in [&file, &first] {
                let anchor = make(ANCHOR, vec![], Start::Number(99), &way(0, false));
                store.run_blocking(anchor).unwrap();
            }
            for (is_first, group, _) in &groups {
                let one_by_one: Vec<_> =
                    group.iter().map(|does| told(file.run_blocking(plan(does)))).collect();
                let node = if *is_first { &first } else { &second };
                let together = node.run_all_blocking(group.iter().map(plan).collect());
                let together: Vec<_> = together.into_iter().map(told).collect();
                prop_assert_eq!(one_by_one, together);
                for (_, _, (from, way)) in &groups {
                    let (_, expected) = read(&file, *from, way);
                    for node in [&first, &second] {
                        prop_assert_eq!(
                            &read(node, *from, way).1,
                            &expected,
                            "{:?} {:?}",
                            from,
                            way
                        );
                    }
                }
            }
            Ok(())
        });

        assert!(ran.is_ok(), "{}: {}", options.url, ran.unwrap_err());
    }
}
