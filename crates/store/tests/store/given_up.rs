//! A client that hangs up leaves work behind: it is skipped, and its places stay taken until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use homeroom_store::{Answer, Decision, Kept, Plan, Write, keeping};

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
