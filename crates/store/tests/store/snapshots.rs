//! A consistent state of a store, read while the store changes.

use std::time::Duration;

use homeroom_store::{Snapshot, SnapshotOptions, Span, StoreError, StoreUrl};

use crate::support::{Place, create, create_all, delete, document, names, stores};

#[test]
fn a_snapshot_shows_one_moment_despite_concurrent_changes() {
    for (store, kind, other) in stores() {
        for name in ["one", "two", "three"] {
            create(&store, document(kind, name, vec![]));
        }

        let snapshot = store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
        create(&store, document(kind, "four", vec![]));
        delete(&store, "one");

        let page = snapshot.documents(kind, Span::Whole, None).unwrap();
        assert_eq!(names(&page), ["one", "two", "three"]);
        assert!(snapshot.documents(kind, Span::Whole, page.last()).unwrap().is_empty());
        assert_eq!(snapshot.counts().unwrap(), [(kind, 3)]);
        assert_eq!(snapshot.newest_change_version(), 3);
        assert!(snapshot.deletes(0).unwrap().is_empty());
        assert_eq!(snapshot.kinds().unwrap(), [("a".to_owned(), kind), ("b".to_owned(), other)]);
    }
}

#[test]
fn a_snapshot_gives_changes_and_deletions_after_a_version() {
    for (store, kind, _) in stores() {
        create(&store, document(kind, "one", vec![]));
        let since = create(&store, document(kind, "two", vec![]));
        create(&store, document(kind, "three", vec![]));
        delete(&store, "one");

        let snapshot = store.snapshot_blocking(&SnapshotOptions::default()).unwrap();

        let changed = snapshot.documents(kind, Span::Since(since), None).unwrap();
        assert_eq!(names(&changed), ["three"]);
        let deleted = snapshot.deletes(since).unwrap();
        assert_eq!(deleted.iter().map(|d| d.change_version).collect::<Vec<_>>(), [4]);
        assert_eq!(snapshot.changed_counts(since).unwrap(), [(kind, 1)]);
        assert_eq!(snapshot.deleted_counts(since).unwrap(), [(kind, 1)]);
        assert!(snapshot.changed_counts(4).unwrap().is_empty());
        assert_eq!(snapshot.newest_change_version(), 4);
    }
}

#[test]
fn a_kind_is_counted_even_if_its_first_documents_are_deleted() {
    for (store, kind, other) in stores() {
        create(&store, document(kind, "first", vec![]));
        delete(&store, "first");
        // Counts are kept by blocks of 4,096 numbers: the next document is in another block.
        for hundreds in 0..42 {
            let names = (0..100).map(|n| format!("o-{hundreds}-{n}"));
            create_all(&store, names.map(|name| document(other, &name, vec![])).collect());
        }
        create(&store, document(kind, "last", vec![]));

        let snapshot = store.snapshot_blocking(&SnapshotOptions::default()).unwrap();

        assert_eq!(snapshot.counts().unwrap(), [(kind, 1), (other, 4_200)]);
    }
}

#[test]
fn a_page_holds_fewer_documents_if_they_are_large() {
    for (store, kind, _) in stores() {
        for name in ["one", "two", "three"] {
            let mut large = document(kind, name, vec![]);
            large.body = format!("{{\"name\":\"{name}\",\"text\":\"{}\"}}", "x".repeat(5 << 20));
            create(&store, large);
        }
        let snapshot = store.snapshot_blocking(&SnapshotOptions::default()).unwrap();

        let first = snapshot.documents(kind, Span::Whole, None).unwrap();
        let second = snapshot.documents(kind, Span::Whole, first.last()).unwrap();

        assert_eq!((first.len(), second.len()), (2, 1));
    }
}

#[test]
fn a_snapshot_expires_at_its_time_limit() {
    for (store, kind, _) in stores() {
        let options = SnapshotOptions { time_max: Duration::from_mins(1), cache_kib: 512 };
        let lasting = store.snapshot_blocking(&options).unwrap();
        let brief = SnapshotOptions { time_max: Duration::ZERO, ..options };

        let late = store
            .snapshot_blocking(&brief)
            .and_then(|snapshot| snapshot.documents(kind, Span::Whole, None));

        assert!(matches!(late, Err(StoreError::Deadline(_))), "{late:?}");
        assert!(lasting.documents(kind, Span::Whole, None).is_ok());
    }
}

#[test]
fn an_unread_snapshot_releases_the_log_at_its_time_limit() {
    let place = Place::new();
    let (store, kind) = place.open();
    let brief = SnapshotOptions { time_max: Duration::from_secs(1), cache_kib: 512 };
    let snapshot = store.snapshot_blocking(&brief).unwrap();
    create(&store, document(kind, "one", vec![]));
    store.close();

    let log = rusqlite::Connection::open(place.file()).unwrap();
    let is_free = || {
        let is_busy = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        log.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], is_busy).unwrap() == 0
    };
    let is_free_in_the_end = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        is_free()
    });
    let late = snapshot.documents(kind, Span::Whole, None);

    assert!(is_free_in_the_end);
    assert!(matches!(late, Err(StoreError::Deadline(_))), "{late:?}");
}

#[test]
fn a_file_that_is_not_a_store_has_no_snapshot() {
    let place = Place::new();
    let absent = place.0.join("absent.db");

    let refused =
        Snapshot::open(&StoreUrl::Sqlite(absent.clone()), &SnapshotOptions::default()).unwrap_err();

    assert!(refused.to_string().contains("absent.db"), "{refused}");
    assert!(!absent.exists());
}
