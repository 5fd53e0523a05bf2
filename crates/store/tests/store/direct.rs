//! A load that nothing else may disturb: into an empty store in a file.

use std::path::Path;

use homeroom_store::{
    Answer, Ask, Decide, Decision, DirectLoad, DocumentId, KindId, NewDocument, Options, Plan,
    Refused, Sql, Store, StoreError, StoreUrl, Write,
};
use homeroom_testkit::Folder;

use crate::support::{create, document, key};

const KINDS: [&str; 2] = ["a", "b"];

/// Makes an empty store in a file, closed.
fn made(path: &Path) -> (Options, KindId, KindId) {
    let options = Options::for_file(path);
    let store = Store::open(&options).unwrap();
    let kinds = store.kinds(&KINDS.map(str::to_owned)).unwrap();
    store.close();
    (options, kinds[0], kinds[1])
}

/// Creates a document with edges to the targets of the given names, or replaces it.
#[derive(Clone)]
struct Save {
    new: NewDocument,
}

impl Decide for Save {
    type Done = ();
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), String> {
        let mut new = self.new.clone();
        let mut old = None;
        for answer in found {
            match answer {
                Answer::Document(row) => old = row,
                Answer::Target(Some((id, ..))) => new.references.others.push(id),
                _ => return Decision::Refuse("a target is missing".into()),
            }
        }
        let write = match old {
            None => Write::Create(new),
            Some(row) => Write::Replace {
                old: row.id,
                old_references: row.references,
                old_ties: vec![],
                new: NewDocument { uuid: row.uuid, ..new },
            },
        };
        Decision::Write(vec![write], ())
    }
}

fn save(kind: KindId, name: &str, targets: &[&'static str]) -> Plan<Save> {
    let new = document(kind, name, vec![]);
    let ask = targets.iter().map(|name| Ask::Target(key(name)));
    let ask = std::iter::once(Ask::Document(new.key)).chain(ask).collect();
    Plan { ask, decide: Save { new } }
}

fn numbers(store: &Store, sql: &'static str) -> Vec<Vec<i64>> {
    let rows = store.query_blocking(Sql::new(sql, vec![])).unwrap();
    rows.iter().map(|row| row.iter().map(|value| value.as_integer().unwrap()).collect()).collect()
}

const EDGES: &str = "SELECT target, kind, source FROM ref ORDER BY target, kind, source";

#[test]
fn a_direct_load_leaves_the_store_that_other_loads_leave() {
    let folder = Folder::new();
    let plans = |a, b| {
        let mut base = save(b, "base", &[]);
        base.decide.new.alias = Some(key("alias"));
        vec![
            base,
            save(a, "x", &["alias"]),
            save(a, "y", &["x", "base"]),
            save(a, "lost", &["nowhere"]),
            save(a, "z", &["y"]),
        ]
    };
    for replaces in [false, true] {
        let path = folder.path().join(format!("{replaces}.db"));
        let (options, a, b) = made(&path);
        let direct = DirectLoad::begin(&options, &[]).unwrap();

        let mut outcomes = direct.submit(plans(a, b)).wait();
        if replaces {
            outcomes.extend(direct.submit(vec![save(a, "y", &["base"])]).wait());
        }
        direct.finish().unwrap();

        let refused = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        assert_eq!(refused, 1, "{replaces}");
        assert_eq!(Store::check(&StoreUrl::Sqlite(path)).unwrap().problems, [""; 0], "{replaces}");
        let store = Store::open(&options).unwrap();
        let (a, b) = (i64::from(a.0), i64::from(b.0));
        let of_y = if replaces { vec![] } else { vec![vec![2, a, 3]] };
        let edges = [vec![vec![1, a, 2], vec![1, a, 3]], of_y, vec![vec![3, a, 4]]].concat();
        assert_eq!(numbers(&store, EDGES), edges, "{replaces}");
        assert_eq!(numbers(&store, "SELECT kind, n FROM tally ORDER BY kind"), [[a, 3], [b, 1]]);
        assert_eq!(store.target_blocking(key("alias")).unwrap().unwrap().0, DocumentId(1));
        assert_eq!(store.newest_change_version_blocking().unwrap(), if replaces { 5 } else { 4 });
        // The indexes are there again.
        let twice =
            Plan { ask: vec![], decide: Once(Some(Box::new(document(KindId(1), "x", vec![])))) };
        assert!(store.run_blocking(twice).is_err());
    }
}

/// Creates a document without a look at what is there.
#[derive(Clone)]
struct Once(Option<Box<NewDocument>>);

impl Decide for Once {
    type Done = ();
    type Refusal = String;

    fn decide(&mut self, _: Vec<Answer>) -> Decision<(), String> {
        Decision::Write(vec![Write::Create(*self.0.take().expect("once"))], ())
    }
}

#[test]
fn a_direct_load_refuses_a_store_that_is_open_or_filled_or_on_a_server() {
    let folder = Folder::new();
    let (options, a, b) = made(&folder.path().join("homeroom.db"));
    let refused = |besides: &[KindId]| DirectLoad::begin(&options, besides).unwrap_err();

    let store = Store::open(&options).unwrap();
    let open = refused(&[]);
    create(&store, document(a, "x", vec![]));
    store.close();
    let filled = refused(&[b]);
    let begun = DirectLoad::begin(&options, &[a]).unwrap();
    let twice = Store::open(&options).unwrap_err();
    begun.finish().unwrap();
    let url = "postgres://nobody@127.0.0.1:1/none".parse().unwrap();
    let server = DirectLoad::begin(&Options::new(url), &[]).unwrap_err();

    assert!(matches!(open, StoreError::InUse(_)), "{open}");
    assert!(filled.to_string().contains("empty store"), "{filled}");
    assert!(matches!(twice, StoreError::InUse(_)), "{twice}");
    assert!(server.to_string().contains("without --direct"), "{server}");
}

#[test]
fn a_store_whose_direct_load_was_interrupted_is_completed_with_what_was_committed() {
    let folder = Folder::new();
    let path = folder.path().join("homeroom.db");
    let (options, a, _) = made(&path);
    let direct = DirectLoad::begin(&options, &[]).unwrap();
    direct.commit_after(1);
    let outcomes = direct.submit(vec![save(a, "x", &[]), save(a, "y", &["x"])]).wait();
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(direct.durable_batches(), 1);
    // What a process that is killed now leaves behind.
    let left = folder.path().join("left.db");
    std::fs::copy(&path, &left).unwrap();

    let early = Store::check(&StoreUrl::Sqlite(left.clone())).unwrap_err();
    let store = Store::open(&Options::for_file(&left)).unwrap();

    assert!(early.to_string().contains("was interrupted"), "{early}");
    assert_eq!(numbers(&store, EDGES), [[1, i64::from(a.0), 2]]);
    assert!(store.document_by_key_blocking(key("y")).unwrap().is_some());
    store.close();
    assert_eq!(Store::check(&StoreUrl::Sqlite(left)).unwrap().problems, [""; 0]);
    direct.finish().unwrap();
}

#[test]
fn a_direct_load_deletes_nothing_and_follows_no_edges() {
    let folder = Folder::new();
    let (options, _, _) = made(&folder.path().join("homeroom.db"));
    let direct = DirectLoad::begin(&options, &[]).unwrap();
    let plan = Plan {
        ask: vec![Ask::Referrers(DocumentId(1))],
        decide: |_: Vec<Answer>| -> Decision<(), ()> { Decision::Write(vec![], ()) },
    };

    let outcome = direct.submit(vec![plan]).wait().remove(0);
    direct.finish().unwrap();

    assert!(matches!(outcome, Err(Refused::Store(StoreError::Unusable(_)))));
}
