//! Several nodes on one database.

use std::sync::atomic::{AtomicBool, Ordering};

use homeroom_store::{
    Answer, Ask, Decision, DocumentId, KindId, ListQuery, NaturalKey, NewDocument, Plan,
    References, Sql, Store, StoreError, StoreUrl, Uuid, Write,
};
use homeroom_testkit::trial;

use crate::support::{kinds, same_schema, with_parameter};

fn create(store: &Store, name: String) -> i64 {
    let new = NewDocument {
        uuid: Uuid::new(),
        kind: KindId(1),
        key: NaturalKey::of("n", [name.as_bytes()]),
        alias: None,
        body: format!("{{\"name\":\"{name}\"}}"),
        references: References::default(),
        ties: vec![],
        modified: 1,
    };
    let plan = Plan {
        ask: vec![],
        decide: move |_| -> Decision<(), ()> {
            Decision::Write(vec![Write::Create(new.clone())], ())
        },
    };
    store.run_blocking(plan).unwrap().change_version
}

#[test]
fn versions_from_several_nodes_have_no_gaps_and_a_concurrent_reader_misses_none() {
    const EACH: usize = 150;
    for options in trial::postgres().unwrap() {
        let first = Store::temporary_on(&options, &kinds()).unwrap();
        let second = Store::open(&same_schema(&first, &options)).unwrap();
        let is_over = AtomicBool::new(false);

        let (mut versions, by_cursor, by_change) = std::thread::scope(|scope| {
            let write = |store: &Store, who: usize| {
                let store = store.clone();
                scope.spawn(move || {
                    let create = |at| create(&store, format!("{who}-{at}"));
                    (0..EACH).map(create).collect::<Vec<_>>()
                })
            };
            let writers: Vec<_> =
                (0..6).map(|who| write(if who % 2 == 0 { &first } else { &second }, who)).collect();
            let walk = |by_change: bool| {
                let (store, is_over) = (second.clone(), &is_over);
                scope.spawn(move || walk(&store, by_change, is_over))
            };
            let walks = (walk(false), walk(true));
            let versions: Vec<i64> =
                writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
            is_over.store(true, Ordering::Release);
            (versions, walks.0.join().unwrap(), walks.1.join().unwrap())
        });

        versions.sort_unstable();
        let all: Vec<i64> = (1..=i64::try_from(6 * EACH).unwrap()).collect();
        assert_eq!(versions, all, "change versions");
        assert_eq!(by_cursor, all, "a walk by number");
        assert_eq!(by_change, all, "a walk by change version");
    }
}

#[test]
fn a_plan_sees_rights_changed_by_another_node() {
    for options in trial::postgres().unwrap() {
        let first = Store::temporary_on(&options, &kinds()).unwrap();
        let second = Store::open(&same_schema(&first, &options)).unwrap();
        let asked = || {
            let plan = Plan {
                ask: vec![Ask::AccessVersion],
                decide: |found: Vec<Answer>| -> Decision<Answer, ()> {
                    Decision::Write(vec![], found[0].clone())
                },
            };
            first.run_blocking(plan).unwrap().value
        };
        assert_eq!(asked(), Answer::AccessVersion(0));

        for version in 1..=20 {
            write(&second, "UPDATE access_version SET version = version + 1");

            assert_eq!(asked(), Answer::AccessVersion(version));
        }
    }
}

/// Reads what is new, repeatedly and never going back. Returns the numbers that it saw.
fn walk(store: &Store, by_change: bool, is_over: &AtomicBool) -> Vec<i64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut seen = vec![];
    let mut last = 0;
    loop {
        let is_last = is_over.load(Ordering::Acquire);
        let all = ListQuery::all(KindId(1));
        let query = if by_change {
            let newest = store.newest_change_version_blocking().unwrap();
            ListQuery { changed: Some((last + 1, newest)), ..all }
        } else {
            ListQuery { after: DocumentId(last), ..all }
        };
        let upto = query.changed.map(|(_, newest)| newest);
        let page = runtime.block_on(store.list(query)).unwrap();
        let number = |row: &homeroom_store::Row| {
            if by_change { row.change_version } else { row.id.0 }
        };
        seen.extend(page.rows.iter().map(number));
        last = upto.or(seen.last().copied()).unwrap_or(last);
        if is_last {
            return seen;
        }
    }
}

#[test]
fn nodes_that_start_at_the_same_time_make_the_tables_once() {
    for options in trial::postgres().unwrap() {
        let place = Store::temporary_on(&options, &[]).unwrap();
        let schema = format!("homeroom_{}", Uuid::new());
        write(&place, format!("CREATE SCHEMA {schema}").leak());
        let empty = with_parameter(&options, &format!("options=-csearch_path%3D{schema}"));

        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = |_| scope.spawn(|| Store::open(&empty));
            let threads: Vec<_> = (0..4).map(open).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });

        let kinds = opened.iter().map(|store| store.as_ref().unwrap().kinds(&["x".into()]));
        let kinds: Vec<_> = kinds.map(Result::unwrap).collect();
        drop(opened);
        write(&place, format!("DROP SCHEMA {schema} CASCADE").leak());
        assert_eq!(kinds, vec![vec![KindId(1)]; 4]);
    }
}

fn write(store: &Store, text: &'static str) {
    let plan = Plan {
        ask: vec![],
        decide: move |_| -> Decision<(), ()> {
            Decision::Write(vec![Write::Sql(Sql::new(text, vec![]))], ())
        },
    };
    store.run_blocking(plan).unwrap();
}

#[test]
fn a_store_from_the_future_and_a_database_without_one_are_refused() {
    for options in trial::postgres().unwrap() {
        let place = Store::temporary_on(&options, &[]).unwrap();
        let options = same_schema(&place, &options);
        assert!(Store::check(&options.url).unwrap().problems.is_empty());
        write(&place, "UPDATE homeroom_store SET version = 10000");

        let opened = Store::open(&options);
        let nobody: StoreUrl = "postgres://nobody@127.0.0.1:1/none".parse().unwrap();
        let unreachable = Store::open(&homeroom_store::Options::new(nobody.clone()));

        assert!(
            matches!(opened, Err(StoreError::FromTheFuture { found: 10_000, .. })),
            "{opened:?}"
        );
        assert!(matches!(unreachable, Err(StoreError::Unusable(_))), "{unreachable:?}");
        assert!(Store::check(&nobody).is_err());
        let no_file = place.backup(std::path::Path::new("/nowhere/at/all"));
        assert!(matches!(no_file, Err(StoreError::Unusable(_))), "{no_file:?}");
    }
}

#[test]
fn damage_to_a_database_is_found() {
    for options in trial::postgres().unwrap() {
        let place = Store::temporary_on(&options, &kinds()).unwrap();
        create(&place, "x".into());
        let options = same_schema(&place, &options);
        for (text, problem) in [
            ("UPDATE tally SET n = n + 1", "kept counts"),
            ("INSERT INTO ref (target, kind, source) VALUES (1, 1, 77)", "an edge begins"),
            ("UPDATE doc SET body = '{'", "not JSON"),
            ("UPDATE doc SET id = 78", "issued again"),
        ] {
            write(&place, text);

            let found = Store::check(&options.url).unwrap().problems;

            assert!(found.iter().any(|found| found.contains(problem)), "{text}: {found:?}");
        }
    }
}
