//! A server that accepts everything but stops answering.

use std::time::{Duration, Instant};

use homeroom_store::{Options, Sql, Store, StoreError};
use homeroom_testkit::trial;

use crate::gate::Gate;
use crate::support::{Does, by_port, in_time, kinds, plan, schema_of, server};

/// Returns a store opened directly, a gate, and the same store opened through the gate.
fn by_gate(options: &Options, change: impl FnOnce(&mut Options)) -> Option<(Store, Gate, Store)> {
    let gate = Gate::before(server(options)?);
    let store = Store::temporary_on(options, &kinds()).unwrap();
    let mut options = by_port(options, gate.port, &schema_of(&store));
    options.silence_max = Duration::from_secs(1);
    change(&mut options);
    let gated = Store::open(&options).unwrap();
    Some((store, gate, gated))
}

fn written(store: &Store) -> i64 {
    let rows = store.query_blocking(Sql::new("SELECT count(*) FROM doc", vec![])).unwrap();
    rows[0][0].as_integer().unwrap()
}

#[test]
fn an_unanswered_write_is_repeated_on_another_connection() {
    for options in trial::postgres().unwrap() {
        let Some((store, gate, gated)) = by_gate(&options, |_| {}) else { continue };
        gated.run_blocking(plan(1, Does::Blind { name: 1 })).unwrap();
        gate.stall();

        let ran = in_time(move || gated.run_blocking(plan(2, Does::Blind { name: 2 })));

        assert_eq!(ran.unwrap().change_version, 2);
        assert_eq!(written(&store), 2);
    }
}

#[test]
fn an_unanswered_commit_happens_exactly_once() {
    for options in trial::postgres().unwrap() {
        for passes in [true, false] {
            let Some((store, gate, gated)) = by_gate(&options, |_| {}) else { continue };
            gated.run_blocking(plan(1, Does::Blind { name: 1 })).unwrap();
            gate.stall_at_commit(passes);

            let ran = in_time(move || gated.run_blocking(plan(2, Does::Blind { name: 2 })));

            assert_eq!(ran.unwrap().change_version, 2, "the commit passes: {passes}");
            assert_eq!(written(&store), 2, "the commit passes: {passes}");
        }
    }
}

#[test]
fn a_store_is_closed_whether_or_not_the_server_answers() {
    for options in trial::postgres().unwrap() {
        let Some((store, gate, gated)) = by_gate(&options, |_| {}) else { continue };
        gated.run_blocking(plan(1, Does::Blind { name: 1 })).unwrap();
        gate.shut();

        let (ran, late) = in_time(move || {
            let writing = gated.clone();
            let write = std::thread::spawn(move || {
                writing.run_all_blocking(vec![plan(2, Does::Blind { name: 2 })]).remove(0)
            });
            while gated.load().waiting == 0 {
                std::thread::yield_now();
            }
            gated.close();
            (write.join().unwrap(), gated.run_blocking(plan(3, Does::Blind { name: 3 })))
        });

        assert!(matches!(ran, Err(homeroom_store::Refused::Store(StoreError::Away(_)))), "{ran:?}");
        assert!(matches!(late, Err(homeroom_store::Refused::Store(StoreError::Closed))));
        assert_eq!(written(&store), 1);
    }
}

#[test]
fn only_one_group_of_writes_waits_for_an_outage() {
    for options in trial::postgres().unwrap() {
        let Some((_store, gate, gated)) = by_gate(&options, |_| {}) else { continue };
        gate.shut();

        let is_away =
            |name: u8| gated.run_blocking(plan(name.into(), Does::Blind { name })).is_err();
        let first = is_away(0);
        let before = gate.count();
        let others = (1..8).filter(|name| is_away(*name)).count();
        let connections = gate.count() - before;
        gate.open();
        let ran = gated.run_blocking(plan(9, Does::Blind { name: 9 }));

        assert!(first);
        assert_eq!(others, 7);
        // The first group tries again and again for ten seconds; each of the others tries once.
        assert!(connections <= 7, "{connections} connections");
        assert!(ran.is_ok(), "{ran:?}");
    }
}

#[test]
fn single_row_reads_abandon_a_stuck_connection() {
    for options in trial::postgres().unwrap() {
        let four = |options: &mut Options| options.list_deadline = Duration::from_secs(4);
        let Some((_store, gate, gated)) = by_gate(&options, four) else { continue };
        let read = |_| gated.newest_change_version_blocking();
        assert!((0..4).map(read).all(|read| read.is_ok()));
        gate.stall();

        let reads: Vec<_> = (0..4).map(read).collect();

        assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    }
}

#[test]
fn a_server_that_does_not_greet_gets_few_connections_and_the_fault_is_reported() {
    for options in trial::postgres().unwrap() {
        let change = |options: &mut Options| {
            options.list_deadline = Duration::from_secs(1);
            options.silence_max = Duration::from_secs(3);
        };
        let Some((_store, gate, gated)) = by_gate(&options, change) else { continue };
        gate.shut();
        let before = gate.count();

        let begun = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..12 {
                let gated = &gated;
                scope.spawn(move || {
                    while begun.elapsed() < Duration::from_secs(6) {
                        if thread % 3 == 0 {
                            _ = gated.newest_change_version_blocking();
                        } else {
                            _ = gated.query_blocking(Sql::new("SELECT 1", vec![]));
                        }
                        std::thread::sleep(Duration::from_millis(5));
                    }
                });
            }
        });
        let (count, trouble) = (gate.count() - before, gated.trouble());
        gate.open();
        let is_back = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            gated.newest_change_version_blocking().is_ok()
        });

        // One connection for each slot, and then one at a time.
        assert!(count <= 14, "{count} connections");
        assert!(matches!(trouble, Some(StoreError::Away(_))), "{trouble:?}");
        assert!(is_back);
        assert_eq!(gated.trouble().map(|trouble| trouble.to_string()), None);
    }
}
