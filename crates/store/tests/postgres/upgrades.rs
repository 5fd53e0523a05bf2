//! Two versions of Homeroom on one database: the older one writes nothing that the newer one might
//! not understand.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use homeroom_store::{
    Answer, Decision, Options, Plan, Refused, Sql, Store, StoreError, Write, replace_views,
};
use homeroom_testkit::trial;

use crate::support::{Does, kinds, plan, same_schema};

/// Sets the version of a store's tables, as a migration of a newer Homeroom does at its end.
fn set_version(by: &Store, of: &str, version: i64) {
    execute(by, format!("UPDATE {of}.homeroom_store SET version = {version}"));
}

fn execute(by: &Store, text: String) {
    execute_all(by, vec![text]);
}

/// Runs statements in one transaction.
fn execute_all(by: &Store, texts: Vec<String>) {
    let writes = texts.into_iter().map(|text| {
        let text: &'static str = text.leak();
        Write::Sql(Sql::new(text, vec![]))
    });
    let writes: Vec<Write> = writes.collect();
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> { Decision::Write(writes.clone(), ()) };
    by.run_blocking(Plan { ask: vec![], decide }).unwrap();
}

fn one(store: &Store, text: &'static str) -> homeroom_store::Value {
    store.query_blocking(Sql::new(text, vec![])).unwrap().swap_remove(0).swap_remove(0)
}

fn documents(store: &Store) -> i64 {
    one(store, "SELECT count(*) FROM doc").as_integer().unwrap()
}

#[test]
fn a_node_writes_nothing_once_a_newer_homeroom_has_migrated_its_database() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let newer = Store::temporary_on(&options, &[]).unwrap();
        let schema = one(&store, "SELECT CAST(current_schema() AS text)");
        let schema = schema.as_text().unwrap();
        let known = one(&store, "SELECT version FROM homeroom_store").as_integer().unwrap();
        store.run_blocking(plan(1, Does::Blind { name: 1 })).unwrap();
        let writes = [
            plan(2, Does::Blind { name: 2 }),
            plan(3, Does::Upsert { name: 1, text: 7, refers: vec![], alias: None }),
            plan(4, Does::Delete { name: 1 }),
            plan(5, Does::Count { name: 5 }),
        ];

        set_version(&newer, schema, known + 1);
        let alone = writes.iter().map(|plan| store.run_blocking(plan.clone()));
        let alone: Vec<_> = alone.collect();
        let together = store.run_all_blocking(writes.to_vec());

        for outcome in alone.into_iter().chain(together) {
            let Err(Refused::Store(StoreError::FromTheFuture { found, .. })) = outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!(found, known + 1);
        }
        let url = same_schema(&store, &options).url;
        for refused in [replace_views(&url, &[], "x"), Store::raise(&url).map(|_| ())] {
            assert!(matches!(refused, Err(StoreError::FromTheFuture { .. })), "{refused:?}");
        }
        let trouble = store.trouble();
        assert!(matches!(trouble, Some(StoreError::FromTheFuture { .. })), "{trouble:?}");
        assert_eq!(documents(&store), 1, "it reads on");
        set_version(&newer, schema, known);
        store.run_blocking(plan(6, Does::Blind { name: 6 })).unwrap();
        assert!(store.trouble().is_none());
        assert_eq!(documents(&store), 2);
    }
}

#[test]
fn a_migration_waits_for_the_write_that_is_under_way() {
    for options in trial::postgres().unwrap() {
        let options = Options { strict: None, ..options };
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let schema = one(&store, "SELECT CAST(current_schema() AS text)");
        let schema = schema.as_text().unwrap();
        let known = one(&store, "SELECT version FROM homeroom_store").as_integer().unwrap();
        // Without the table and the column that the last migration makes, it can be run again.
        let text = format!("UPDATE {schema}.homeroom_store SET version = {}", known - 1);
        let table = format!("DROP TABLE {schema}.quota_use");
        let column = format!("ALTER TABLE {schema}.published_item DROP COLUMN since");
        execute_all(&store, vec![text, table, column]);
        let (begun, has_begun) = channel();
        let (end, may_end) = channel::<()>();
        let may_end = Arc::new(Mutex::new(may_end));
        let busy = {
            let store = store.clone();
            let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
                begun.send(()).unwrap();
                _ = may_end.lock().unwrap().recv();
                Decision::Refuse(())
            };
            std::thread::spawn(move || _ = store.run_blocking(Plan { ask: vec![], decide }))
        };
        has_begun.recv().unwrap();
        let same = same_schema(&store, &options);

        let opening = std::thread::spawn(move || Store::open(&same));
        std::thread::sleep(Duration::from_millis(300));
        let is_early = opening.is_finished();

        drop(end);
        busy.join().unwrap();
        let node = opening.join().unwrap();
        assert!(!is_early, "it is another node's turn");
        node.unwrap().run_blocking(plan(1, Does::Blind { name: 1 })).unwrap();
        assert_eq!(one(&store, "SELECT version FROM homeroom_store").as_integer(), Some(known));
    }
}
