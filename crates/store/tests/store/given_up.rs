//! A client that hangs up leaves work behind: it is skipped, and its places stay taken until then.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use homeroom_store::{
    Answer, Asker, Busy, Decision, Kept, ListQuery, Plan, QueueName, Refused, Store, StoreError,
    Write, keeping,
};

use crate::support::{Done, create, document, key, stores};

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_cancelled_waiting_write_is_never_run_and_keeps_its_slot_until_its_turn() {
    for (store, kind, _) in stores() {
        let (begun, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let busy = {
            let (store, begun, may_end) = (store.clone(), Arc::clone(&begun), Arc::clone(&may_end));
            let decide = move |_: Vec<Answer>| -> Done {
                begun.store(true, Ordering::Release);
                wait_for(&may_end);
                Decision::Refuse("it has kept the writer busy".into())
            };
            std::thread::spawn(move || _ = store.run_blocking(Plan { ask: vec![], decide }))
        };
        wait_for(&begun);
        let place = Arc::new(());
        let mut new = Some(document(kind, "given up", vec![]));
        let decide = move |_: Vec<Answer>| -> Done {
            Decision::Write(vec![Write::Create(new.take().expect("once"))], ())
        };

        let request = keeping(Arc::clone(&place) as Kept, store.run(Plan { ask: vec![], decide }));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let given_up = runtime
            .block_on(async { tokio::time::timeout(Duration::from_millis(50), request).await });

        assert!(given_up.is_err(), "it waits for its turn");
        assert_eq!(Arc::strong_count(&place), 2, "the place is with the work");
        may_end.store(true, Ordering::Release);
        busy.join().unwrap();
        create(&store, document(kind, "after", vec![]));
        assert!(store.document_by_key_blocking(key("given up")).unwrap().is_none());
        assert_eq!(Arc::strong_count(&place), 1);
    }
}

/// A plan that keeps the writer busy until it is released.
struct BusyWriter {
    may_end: Arc<AtomicBool>,
    writing: JoinHandle<()>,
}

impl BusyWriter {
    fn of(store: &Store) -> Self {
        let (begun, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let writing = {
            let (store, begun, may_end) = (store.clone(), Arc::clone(&begun), Arc::clone(&may_end));
            let decide = move |_: Vec<Answer>| -> Done {
                begun.store(true, Ordering::Release);
                wait_for(&may_end);
                Decision::Refuse("it has kept the writer busy".into())
            };
            std::thread::spawn(move || _ = store.run_blocking(Plan { ask: vec![], decide }))
        };
        wait_for(&begun);
        Self { may_end, writing }
    }

    fn end(self) {
        self.may_end.store(true, Ordering::Release);
        self.writing.join().unwrap();
    }
}

fn asker(owner: u64, until: Option<Instant>) -> Asker {
    Asker { kept: Arc::new(()), owner, until }
}

#[test]
fn a_write_whose_caller_has_stopped_waiting_is_not_run_and_its_refusal_names_the_queue() {
    for (store, kind, _) in stores() {
        let busy = BusyWriter::of(&store);
        let mut new = Some(document(kind, "late", vec![]));
        let decide = move |_: Vec<Answer>| -> Done {
            Decision::Write(vec![Write::Create(new.take().expect("once"))], ())
        };
        let until = Some(Instant::now() + Duration::from_millis(20));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = asker(1, until).run(store.run(Plan { ask: vec![], decide }));
        let release = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            busy.end();
        });

        let outcome = runtime.block_on(run);

        release.join().unwrap();
        let late = StoreError::Busy(Busy::Late(QueueName::Writes));
        match outcome {
            Err(Refused::Store(error)) => assert_eq!(error.to_string(), late.to_string()),
            _ => panic!("it was not refused by the store"),
        }
        assert!(store.document_by_key_blocking(key("late")).unwrap().is_none());
        let load = store.queues().into_iter().find(|load| load.queue == QueueName::Writes);
        assert_eq!(load.map(|load| (load.used, load.refused)), Some((0, 1)));
    }
}

#[test]
fn a_read_whose_caller_has_stopped_waiting_is_refused_by_the_name_of_its_queue() {
    for (store, kind, _) in stores() {
        create(&store, document(kind, "there", vec![]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let list = || store.list(ListQuery::all(kind));

        let late = runtime.block_on(asker(1, Some(Instant::now())).run(list()));
        let in_time = runtime.block_on(asker(1, None).run(list()));

        assert!(matches!(late, Err(StoreError::Busy(Busy::Late(QueueName::Lists)))), "{late:?}");
        assert_eq!(in_time.unwrap().rows.len(), 1);
    }
}

#[test]
fn who_has_one_write_does_not_wait_behind_the_five_hundred_of_another() {
    const FLOOD: usize = 500;
    for (store, _, _) in stores() {
        let busy = BusyWriter::of(&store);
        let order = Arc::new(Mutex::new(vec![]));
        let plan = |owner: u64| {
            let order = Arc::clone(&order);
            let decide = move |_: Vec<Answer>| -> Done {
                order.lock().unwrap().push(owner);
                Decision::Write(vec![], ())
            };
            asker(owner, None).run(store.run(Plan { ask: vec![], decide }))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        runtime.block_on(async {
            let mut flood: Vec<_> = (0..FLOOD).map(|_| Box::pin(plan(1))).collect();
            for one in &mut flood {
                assert!(tokio::time::timeout(Duration::ZERO, one).await.is_err(), "it waits");
            }
            let mut other = Box::pin(plan(2));
            assert!(tokio::time::timeout(Duration::ZERO, &mut other).await.is_err());
            busy.end();
            assert!(other.await.is_ok());
            for one in flood {
                assert!(one.await.is_ok());
            }
        });

        let order = order.lock().unwrap();
        let place = order.iter().position(|owner| *owner == 2);
        // A store in which transactions are made to fail decides some plans again.
        assert!(place.is_some_and(|place| place < 3), "{place:?}");
        assert!(order.len() > FLOOD);
    }
}

#[test]
fn cancelled_document_reads_do_not_block_others() {
    for (store, kind, _) in stores() {
        create(&store, document(kind, "there", vec![]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

        let found = runtime.block_on(async {
            for _ in 0..5_000 {
                let given_up = store.document_by_key(key("there"));
                _ = tokio::time::timeout(Duration::ZERO, given_up).await;
            }
            store.document_by_key(key("there")).await
        });

        assert!(found.unwrap().is_some());
    }
}
