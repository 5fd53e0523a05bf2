//! Reads of documents that go together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use homeroom_store::{Options, QueueName, Store, TieState, Uuid};
use homeroom_testkit::trial;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{Does, kinds, lock_documents, plan, same_schema};

/// Creates `name` with a text. Returns its public id.
fn put(store: &Store, name: u8, text: u8) -> Uuid {
    let upsert = Does::Upsert { name, text, refers: vec![], alias: None };
    store.run_blocking(plan(name.into(), upsert)).unwrap();
    id(name)
}

fn id(name: u8) -> Uuid {
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&u32::from(name).to_be_bytes());
    Uuid(uuid)
}

#[test]
fn each_read_gets_its_own_document() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&Options { strict: None, ..options }, &kinds()).unwrap();
        let there: Vec<u8> = (0..40).step_by(2).collect();
        for name in &there {
            put(&store, *name, 1);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        let found = runtime.block_on(async {
            let mut reads = JoinSet::new();
            for n in 0..600_usize {
                let store = store.clone();
                reads.spawn(async move {
                    // Many reads want the same document, and one in three the version of the ties.
                    let name = u8::try_from(n % 40).unwrap();
                    let row = if n % 3 == 0 {
                        let found = store.document_and_ties(id(name)).await.unwrap();
                        found.map(|(row, ties)| {
                            assert_ne!(ties, TieState::default(), "the version is missing");
                            row
                        })
                    } else {
                        store.document(id(name)).await.unwrap()
                    };
                    (name, row.map(|row| (row.uuid, row.body)))
                });
            }
            reads.join_all().await
        });

        assert_eq!(found.len(), 600);
        for (name, row) in found {
            let wanted = there
                .contains(&name)
                .then(|| (id(name), format!("{{\"name\":{name},\"text\":1}}")));
            assert_eq!(row, wanted, "{name}");
        }
    }
}

#[test]
fn a_read_sees_what_was_written_before_it_whatever_else_is_read() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&Options { strict: None, ..options }, &kinds()).unwrap();
        put(&store, 1, 0);
        let is_over = Arc::new(AtomicBool::new(false));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let mut others = JoinSet::new();
        for _ in 0..16 {
            let (store, is_over) = (store.clone(), Arc::clone(&is_over));
            let reading = async move {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(store.document(id(1)).await.unwrap().is_some());
                }
            };
            others.spawn_on(reading, runtime.handle());
        }

        for text in 1..150 {
            put(&store, 1, text);
            let row = runtime.block_on(store.document(id(1))).unwrap().unwrap();
            assert_eq!(row.body, format!("{{\"name\":1,\"text\":{text}}}"));
        }

        is_over.store(true, Ordering::Relaxed);
        runtime.block_on(others.join_all());
    }
}

#[test]
fn reads_of_a_store_that_is_closed_end_with_a_document_or_its_error() {
    for options in trial::postgres().unwrap() {
        let place = Store::temporary_on(&options, &kinds()).unwrap();
        put(&place, 1, 0);
        let store = Store::open(&same_schema(&place, &options)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        runtime.block_on(async {
            let mut reads = JoinSet::new();
            for _ in 0..200 {
                let store = store.clone();
                reads.spawn(async move { store.document(id(1)).await });
            }
            tokio::task::yield_now().await;
            store.close();
            for read in reads.join_all().await {
                match read {
                    Ok(row) => assert!(row.is_some()),
                    Err(error) => {
                        assert!(matches!(error, homeroom_store::StoreError::Closed), "{error}");
                    }
                }
            }
            assert!(store.document(id(1)).await.is_err());
        });
    }
}

#[test]
fn abandoned_reads_leave_nothing_behind() {
    const GIVEN_UP: usize = 1_000;
    for options in trial::postgres().unwrap() {
        let options = Options { strict: None, ..options };
        let place = Store::temporary_on(&options, &kinds()).unwrap();
        put(&place, 1, 0);
        let store = Store::open(&same_schema(&place, &options)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let read = || runtime.block_on(store.document(id(1))).unwrap().is_some();
        assert!(read() && read());
        let used = || {
            let queues = store.queues();
            queues.iter().find(|load| load.queue == QueueName::Probes).unwrap().used
        };
        let locked = lock_documents(&place);

        runtime.block_on(async {
            for _ in 0..GIVEN_UP {
                let read = timeout(Duration::ZERO, store.document(id(1)));
                assert!(read.await.is_err(), "it waits for the lock");
            }
        });
        assert!(used() > 0 && used() < GIVEN_UP as u64, "{}", used());
        locked.end();

        assert!((0..200).all(|_| read()));
        let begun = Instant::now();
        while used() > 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(used(), 0);
    }
}
