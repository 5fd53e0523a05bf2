//! Closing a store.

use homeroom_store::{Decision, ListQuery, Plan, Refused, Store, StoreError};

use crate::support::{Done, Place, create, document, key};

#[tokio::test]
async fn a_closed_store_answers_closed_to_every_remaining_holder() {
    let place = Place::new();
    let (store, a) = place.open();
    let clone = store.clone();
    create(&store, document(a, "x", vec![]));
    assert!(clone.document_by_key_blocking(key("x")).unwrap().is_some());

    store.close();
    store.close();

    let plan = Plan { ask: vec![], decide: |_| -> Done { Decision::Write(vec![], ()) } };
    assert!(matches!(clone.run(plan).await, Err(Refused::Store(StoreError::Closed))));
    assert!(matches!(clone.document_by_key_blocking(key("x")), Err(StoreError::Closed)));
    assert!(matches!(clone.list(ListQuery::all(a)).await, Err(StoreError::Closed)));
}

#[test]
fn closing_empties_the_log_and_releases_the_lock_even_with_live_clones() {
    let place = Place::new();
    let (store, a) = place.open();
    let clone = store.clone();
    for at in 0..50 {
        create(&store, document(a, &format!("n{at}"), vec![]));
    }
    let reader = clone.clone();
    // A connection of another thread stays as long as the thread does.
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        ready.send(reader.document_by_key_blocking(key("n7")).unwrap().is_some()).unwrap();
        _ = wait.recv();
    });
    assert!(is_ready.recv().unwrap());
    assert!(store.load().log_bytes > 0);

    store.close();

    assert_eq!(clone.load().log_bytes, 0);
    let again = Store::open(&place.options()).unwrap();
    assert!(again.document_by_key_blocking(key("n49")).unwrap().is_some());
    drop(done);
    thread.join().unwrap();
}

#[test]
fn plans_accepted_before_the_close_are_finished() {
    let place = Place::new();
    let (store, a) = place.open();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut done = vec![];
                for at in 0.. {
                    let name = format!("w{writer}-{at}");
                    let mut new = Some(document(a, &name, vec![]));
                    let plan = Plan {
                        ask: vec![],
                        decide: move |_| -> Done {
                            let new = new.take().expect("once");
                            Decision::Write(vec![homeroom_store::Write::Create(new)], ())
                        },
                    };
                    match store.run_blocking(plan) {
                        Ok(_) => done.push(name),
                        Err(Refused::Store(StoreError::Closed)) => return done,
                        Err(other) => panic!("{other:?}"),
                    }
                }
                done
            })
        })
        .collect();
    while store.newest_change_version_blocking().unwrap() < 100 {
        std::thread::yield_now();
    }

    store.close();

    let done: Vec<String> = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
    let again = Store::open(&place.options()).unwrap();
    assert_eq!(
        u64::try_from(again.newest_change_version_blocking().unwrap()).unwrap(),
        done.len() as u64
    );
    for name in done {
        assert!(again.document_by_key_blocking(key(&name)).unwrap().is_some(), "{name}");
    }
}
