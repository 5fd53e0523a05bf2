//! The log of a store: when it is emptied, and what it may not keep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use homeroom_store::{Answer, Decision, Phase, PhaseTimes, Plan, Sql, Store, Value, Write};

use crate::files::beside;
use crate::support::{Place, create, document, key};

#[test]
fn an_idle_store_empties_a_large_log_once() {
    let place = Place::new();
    let (store, a) = place.open();
    let mut large = document(a, "x", vec![]);
    large.body = "x".repeat(8 << 20);
    create(&store, large);
    assert!(store.load().log_bytes > 8 << 20);

    let begun = Instant::now();
    while store.load().log_bytes > 0 && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }

    assert_eq!(store.load().log_bytes, 0);
    create(&store, document(a, "y", vec![]));
    assert!(store.document_by_key_blocking(key("x")).unwrap().is_some());
}

#[test]
fn no_byte_of_a_deleted_row_is_left_after_an_erasure() {
    let place = Place::new();
    let (store, _) = place.open();
    let run = |text: &'static str, arguments: Vec<Value>| {
        let write = Write::Part(Sql::new(text, arguments));
        let decide = move |_: Vec<Answer>| Decision::<(), ()>::Write(vec![write.clone()], ());
        store.run_blocking(Plan { ask: vec![], decide }).unwrap();
    };
    let put = "INSERT INTO course_level (level, settings, updated) VALUES (?1, ?2, 0) \
               ON CONFLICT (level) DO UPDATE SET settings = excluded.settings";
    for round in 1..30_usize {
        for row in 0..20 {
            let word = if row == 7 { "unwanted-word " } else { "wanted-word " };
            let text = word.repeat(1 + round * 31 % 900);
            run(put, vec![format!("{word}{row}").into(), text.into()]);
        }
    }
    let words = |word: &str| {
        let files = [place.file(), beside(&place.file(), "-wal")];
        let bytes = files.iter().flat_map(|file| std::fs::read(file).unwrap_or_default());
        let bytes: Vec<u8> = bytes.collect();
        bytes.windows(word.len()).filter(|window| *window == word.as_bytes()).count()
    };
    run("DELETE FROM course_level WHERE level LIKE ?1", vec!["unwanted%".into()]);
    assert!(words("unwanted-word") > 0, "a deletion alone leaves bytes");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(store.erase_deleted()).unwrap();
    let begun = Instant::now();
    while words("unwanted-word") > 0 {
        assert!(begun.elapsed() < Duration::from_mins(1), "bytes of a deleted row are left");
        std::thread::sleep(Duration::from_millis(20));
    }
    runtime.block_on(store.erase_deleted()).unwrap();

    assert!(words("wanted-word") > 19);
    assert_eq!(Store::check(store.url()).unwrap().problems, [""; 0]);
}

#[test]
fn the_log_is_emptied_even_if_threads_that_have_read_are_still_alive() {
    let place = Place::new();
    let (store, a) = place.open();
    create(&store, document(a, "seen", vec![]));
    let look = |store: &Store, name| store.document_by_key_blocking(key(name)).unwrap().is_some();
    let (end, may_end) = std::sync::mpsc::channel::<()>();
    let (looked, has_looked) = std::sync::mpsc::channel();
    let reader = store.clone();
    // Its connection, and the state that it has seen, last until the thread ends.
    let thread = std::thread::spawn(move || {
        looked.send(look(&reader, "seen")).unwrap();
        _ = may_end.recv();
        look(&reader, "large")
    });
    assert!(has_looked.recv().unwrap());
    let mut large = document(a, "large", vec![]);
    large.body = "x".repeat(8 << 20);
    create(&store, large);

    let begun = Instant::now();
    while store.load().log_bytes > 0 && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }

    assert_eq!(store.load().log_bytes, 0);
    drop(end);
    assert!(thread.join().unwrap());
}

#[test]
fn the_log_is_reset_despite_constant_readers() {
    let place = Place::new();
    let mut options = place.options();
    options.wal_bytes_max = 8 << 20;
    let store = Store::open(&options).unwrap();
    let a = store.kinds(&["a".to_owned()]).unwrap()[0];
    create(&store, document(a, "first", vec![]));
    let is_over = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(store.document_by_key_blocking(key("first")).unwrap().is_some());
                }
            });
        }
        let begun = Instant::now();
        let (mut written, mut largest) = (0, 0);
        // Far more than the log may hold, and until the log has been seen to be shorter than that.
        while written < 64 && begun.elapsed() < Duration::from_mins(1) {
            let mut large = document(a, &format!("n{written}"), vec![]);
            large.body = "x".repeat(1 << 20);
            create(&store, large);
            written += 1;
            largest = store.load().log_bytes.max(largest);
            std::thread::sleep(Duration::from_millis(10));
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(largest < 48 << 20, "the log grew to {largest} bytes");
        written
    });

    assert_eq!(written, 64);
}

#[test]
fn the_file_is_synced_beside_the_writer_before_the_log_begins_anew() {
    let place = Place::new();
    let mut options = place.options();
    options.wal_bytes_max = 4 << 20;
    let store = Store::open(&options).unwrap();
    let a = store.kinds(&["a".to_owned()]).unwrap()[0];
    let count = |phase| {
        let phases = store.phases();
        phases.iter().find(|times| times.phase == phase).map_or(0, PhaseTimes::count)
    };
    let begun = Instant::now();
    let mut written = 0;
    while count(Phase::Restart) < 3 && begun.elapsed() < Duration::from_mins(1) {
        let mut large = document(a, &format!("n{written}"), vec![]);
        large.body = "x".repeat(256 << 10);
        create(&store, large);
        written += 1;
    }

    let restarts = count(Phase::Restart);
    let syncs = count(Phase::Sync);

    assert!(restarts >= 3, "{restarts} restarts after {written} documents");
    // Once for what was copied before, and at least once while it catches up.
    assert!(syncs >= 2 * restarts, "{syncs} syncs before {restarts} restarts");
}
