//! Lost connections, despite which every plan is done exactly once.

use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use homeroom_store::{Options, Refused, Sql, Store, StoreError};
use homeroom_testkit::trial;

use crate::proxy::Proxy;
use crate::support::{Does, by_port, kinds, plan, schema_of, server, with_parameter};

/// Writes from several threads; every plan must be done exactly once.
fn write_from_everywhere(store: &Store, each: u8) {
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            scope.spawn(move || {
                for at in 0..each {
                    let name = thread * each + at;
                    store.run_blocking(plan(name.into(), Does::Blind { name })).unwrap();
                }
            });
        }
    });
    let written = i64::from(each) * 4;
    let count = "SELECT count(*), max(id), max(cv) FROM doc";
    // A read may be interrupted more often than it is retried, and after a failed attempt to
    // connect there is a pause in which reads are refused at once.
    let read = |_| {
        let rows = store.query_blocking(Sql::new(count, vec![])).ok();
        if rows.is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        rows
    };
    let rows = (0..500).find_map(read).unwrap();
    let numbers: Vec<_> = rows[0].iter().map(|value| value.as_integer().unwrap()).collect();
    assert_eq!(numbers, [written; 3]);
}

#[test]
fn connections_killed_midway_lose_and_duplicate_no_write() {
    for options in trial::postgres().unwrap() {
        let name = format!("homeroom-test-{}", homeroom_store::Uuid::new());
        let named = with_parameter(&options, &format!("application_name={name}"));
        let store = Store::temporary_on(&named, &kinds()).unwrap();
        let other = Store::temporary_on(&options, &[]).unwrap();
        let (over, is_over) = std::sync::mpsc::channel::<()>();

        std::thread::scope(|scope| {
            scope.spawn(move || {
                let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                           WHERE application_name = ?1";
                // Ends when the sender is dropped, for whatever reason.
                while is_over.recv_timeout(Duration::from_millis(80))
                    == Err(RecvTimeoutError::Timeout)
                {
                    other.query_blocking(Sql::new(end, vec![name.as_str().into()])).unwrap();
                }
            });
            let over = over;
            write_from_everywhere(&store, 60);
            drop(over);
        });
    }
}

#[test]
fn a_commit_whose_answer_is_lost_happens_exactly_once() {
    for options in trial::postgres().unwrap() {
        let Some(server) = server(&options) else { continue };
        let proxy = Proxy::before(server);
        // The tables are created without the proxy, which would cut a migration.
        let made = Store::temporary_on(&options, &kinds()).unwrap();
        let by_proxy = by_port(&options, proxy.port, &schema_of(&made));
        let store = Store::open(&by_proxy).unwrap();

        write_from_everywhere(&store, 15);

        assert!(proxy.commits.load(Ordering::Relaxed) >= 6);
    }
}

#[test]
fn a_closed_store_has_finished_its_accepted_plans_and_answers_closed() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let clone = store.clone();
        clone.run_blocking(plan(1, Does::Blind { name: 1 })).unwrap();

        store.close();
        store.close();

        let refused = clone.run_blocking(plan(2, Does::Blind { name: 2 }));
        assert!(matches!(refused, Err(Refused::Store(StoreError::Closed))), "{refused:?}");
        let read = clone.newest_change_version_blocking();
        assert!(matches!(read, Err(StoreError::Closed)), "{read:?}");
        let list = clone.query_blocking(Sql::new("SELECT 1", vec![]));
        assert!(matches!(list, Err(StoreError::Closed)), "{list:?}");
    }
}

#[test]
fn opening_a_store_on_a_silent_server_is_an_error() {
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("postgres://homeroom@{}/ods", silent.local_addr().unwrap());

    let opened = Store::open(&Options::new(url.parse().unwrap()));

    let Err(StoreError::Unusable(why)) = opened else { panic!("{opened:?}") };
    assert!(why.contains("does not answer"), "{why}");
}
