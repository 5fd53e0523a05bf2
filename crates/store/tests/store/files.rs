//! The files of a store, and a backup in their place.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use homeroom_store::{Options, Restoring, Snapshot, Sql, Store, StoreError, StoreUrl};

use crate::support::{Place, create, document, key};

/// Returns a file's path with an ending added.
pub(crate) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Puts a backup in the place of a file.
fn restore(from: &Path, to: &Path) -> Result<Option<PathBuf>, StoreError> {
    Store::restore(from, &StoreUrl::Sqlite(to.to_owned()))
}

/// Creates a store with the document `old` and a backup with `x`, both closed.
fn with_backup() -> (Place, PathBuf, PathBuf) {
    let place = Place::new();
    let (store, a) = place.open();
    create(&store, document(a, "x", vec![]));
    let backup = place.0.join("backup.db");
    store.backup(&backup).unwrap();
    create(&store, document(a, "old", vec![]));
    drop(store);
    let file = place.file();
    (place, backup, file)
}

#[test]
fn a_restored_store_is_the_backup_and_the_one_before_is_kept() {
    let (place, backup, file) = with_backup();

    let kept = restore(&backup, &file).unwrap().unwrap();

    let (store, _) = place.open();
    assert!(store.document_by_key_blocking(key("x")).unwrap().is_some());
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_none());
    drop(store);
    assert_eq!(kept, beside(&file, ".before-restore"));
    let kept_later = restore(&kept, &file).unwrap();
    assert_eq!(kept_later, Some(beside(&file, ".before-restore-2")), "the first is kept, too");
    assert!(kept.exists());
    let (store, _) = place.open();
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_some());
}

#[test]
fn every_replacement_of_a_store_continues_above_its_versions() {
    type Replace = fn(&Path, &Path);
    let ways: [Replace; 3] = [
        |backup, file| _ = restore(backup, file).unwrap(),
        // As `mv` of a copy does.
        |backup, file| () = std::fs::rename(backup, file).unwrap(),
        // As `cp` over the file does; the mark in the backup reveals it.
        |backup, file| _ = std::fs::copy(backup, file).unwrap(),
    ];
    for replace in ways {
        let (place, backup, file) = with_backup();
        let (store, a) = place.open();
        let lost = create(&store, document(a, "lost", vec![]));
        let number = store.document_by_key_blocking(key("lost")).unwrap().unwrap().id;
        drop(store);

        replace(&backup, &file);

        let (store, a) = place.open();
        let newest = store.newest_change_version_blocking().unwrap();
        let next = create(&store, document(a, "next", vec![]));
        assert!(newest > lost && next == newest + 1, "{lost} {newest} {next}");
        let next = store.document_by_key_blocking(key("next")).unwrap().unwrap().id;
        assert!(next > number, "{number:?} {next:?}");
        // Only the first opening detects a copy.
        store.close();
        let (store, _) = place.open();
        assert_eq!(store.newest_change_version_blocking().unwrap(), newest + 1);
        assert_eq!(Store::check(store.url()).unwrap().problems, [""; 0]);
    }
}

#[test]
fn an_earlier_copy_that_replaces_a_deleted_file_is_noticed() {
    let (place, _, file) = with_backup();
    let copy = place.0.join("copy.db");
    std::fs::copy(&file, &copy).unwrap();
    let (store, a) = place.open();
    let lost = create(&store, document(a, "lost", vec![]));
    drop(store);
    // Into the same file, as happens when a new file gets the number of the deleted one.
    std::fs::copy(&copy, &file).unwrap();

    let (store, a) = place.open();

    let next = create(&store, document(a, "next", vec![]));
    assert!(next > lost + 1_000_000, "{lost} {next}");
    drop(store);
    let (store, a) = place.open();
    assert_eq!(create(&store, document(a, "later", vec![])), next + 1);
}

#[test]
fn a_folder_that_was_put_back_with_its_lock_is_noticed() {
    let (place, _, file) = with_backup();
    let names = [file.clone(), beside(&file, ".lock")];
    let copies: Vec<_> = names.iter().map(|name| std::fs::read(name).unwrap()).collect();
    let (store, a) = place.open();
    let lost = create(&store, document(a, "lost", vec![]));
    drop(store);
    // Into the same files, which keep their numbers.
    for (name, copy) in names.iter().zip(copies) {
        std::fs::write(name, copy).unwrap();
    }

    let (store, a) = place.open();

    let next = create(&store, document(a, "next", vec![]));
    assert!(next > lost + 1_000_000, "{lost} {next}");
    drop(store);
    let (store, a) = place.open();
    assert_eq!(create(&store, document(a, "later", vec![])), next + 1);
}

#[test]
fn a_backup_cannot_have_the_name_of_a_store_file() {
    let (place, _, file) = with_backup();
    let (store, _) = place.open();
    for other in [&file, &place.0.join("backup.db")] {
        for ending in ["-wal", "-shm", "-journal", ".lock"] {
            let name = beside(other, ending);
            let before = std::fs::read(&name).ok();

            let refused = store.backup(&name).unwrap_err().to_string();

            assert!(refused.contains("database") || refused.contains("exists"), "{refused}");
            assert_eq!(std::fs::read(&name).ok().is_some(), before.is_some(), "{}", name.display());
        }
    }
}

#[test]
fn a_new_or_deleted_lock_file_does_not_count_as_a_copy() {
    let (place, _, file) = with_backup();
    let lock = beside(&file, ".lock");
    let changes: [fn(&Path); 3] = [
        |lock| std::fs::remove_file(lock).unwrap(),
        |lock| std::fs::write(lock, "").unwrap(),
        |lock| std::fs::write(lock, [0xff, 0xfe]).unwrap(),
    ];
    for (at, change) in changes.iter().enumerate() {
        let (store, a) = place.open();
        let before = create(&store, document(a, &format!("before {at}"), vec![]));
        drop(store);

        change(&lock);

        let (store, a) = place.open();
        assert_eq!(create(&store, document(a, &format!("after {at}"), vec![])), before + 1, "{at}");
    }
}

#[test]
fn a_second_name_of_a_file_is_refused_while_the_first_name_leads_to_it() {
    let place = Place::new();
    let (store, a) = place.open();
    create(&store, document(a, "x", vec![]));
    let file = place.file();
    let second = place.0.join("second.db");
    std::fs::hard_link(&file, &second).unwrap();
    // As after a crash: the log is beside the first name.
    let log = std::fs::read(beside(&file, "-wal")).unwrap();
    let before = std::fs::read(&file).unwrap();
    drop(store);
    std::fs::write(&file, before).unwrap();
    std::fs::write(beside(&file, "-wal"), log).unwrap();
    let url = StoreUrl::Sqlite(second.clone());
    let backup = place.0.join("backup.db");

    let refused = [
        Store::open(&Options::for_file(&second)).map(drop),
        Store::raise(&url).map(drop),
        homeroom_store::replace_views(&url, &[], ""),
    ];

    for refused in refused {
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("second name") && told.contains("homeroom.db"), "{told}");
    }
    let (store, a) = place.open();
    assert!(store.document_by_key_blocking(key("x")).unwrap().is_some());
    store.backup(&backup).unwrap();
    drop(store);
    let refused = restore(&backup, &second);
    assert!(matches!(refused, Err(StoreError::Unusable(_))), "{refused:?}");
    // The first name leads elsewhere, so the second is the file's only one.
    std::fs::hard_link(&file, place.0.join("third.db")).unwrap();
    std::fs::remove_file(&file).unwrap();
    let store = Store::open(&Options::for_file(&second)).unwrap();
    create(&store, document(a, "y", vec![]));
}

#[test]
fn a_store_kept_by_a_restore_can_be_opened_by_its_name() {
    let (_place, backup, file) = with_backup();

    let kept = restore(&backup, &file).unwrap().unwrap();

    let store = Store::open(&Options::for_file(&kept)).unwrap();
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_some());
}

#[test]
fn a_store_that_was_not_copied_continues_without_a_gap() {
    let place = Place::new();
    for version in 1..=3 {
        let (store, a) = place.open();
        assert_eq!(create(&store, document(a, &version.to_string(), vec![])), version);
    }
}

#[test]
fn a_store_can_be_raised_on_request_unless_it_is_open() {
    let (place, _, file) = with_backup();
    let url = StoreUrl::Sqlite(file);
    let (store, a) = place.open();
    let last = create(&store, document(a, "last", vec![]));
    assert!(matches!(Store::raise(&url), Err(StoreError::InUse(_))));
    drop(store);

    let raised = Store::raise(&url).unwrap();

    assert_eq!(raised.backup_version, last);
    let (store, a) = place.open();
    assert_eq!(create(&store, document(a, "next", vec![])), raised.goes_on_after + 1);
    let nowhere = StoreUrl::Sqlite(place.0.join("nowhere.db"));
    assert!(matches!(Store::raise(&nowhere), Err(StoreError::Unusable(_))));
    assert!(!place.0.join("nowhere.db").exists());
}

#[test]
fn a_store_that_is_open_is_not_replaced() {
    let (place, backup, file) = with_backup();
    let (store, _) = place.open();

    let refused = restore(&backup, &file);

    assert!(matches!(refused, Err(StoreError::InUse(_))), "{refused:?}");
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_some());
}

#[test]
fn an_open_store_is_in_use_under_all_its_names() {
    let place = Place::new();
    let [link, name, ahead] = ["link.db", "name.db", "ahead.db"].map(|name| place.0.join(name));
    // The link points to where the file will be.
    std::os::unix::fs::symlink("homeroom.db", &ahead).unwrap();
    let store = Store::open(&Options::for_file(&ahead)).unwrap();
    let a = store.kinds(&["a".to_owned()]).unwrap()[0];
    create(&store, document(a, "x", vec![]));
    let backup = place.0.join("backup.db");
    store.backup(&backup).unwrap();
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    std::fs::hard_link(place.file(), &name).unwrap();

    for has_lock_file in [true, false] {
        if !has_lock_file {
            std::fs::remove_file(beside(&place.file(), ".lock")).unwrap();
        }
        for way in [&place.file(), &ahead, &link, &name] {
            let second = Store::open(&Options::for_file(way));
            let replaced = restore(&backup, way);
            let copied = restore(way, &place.0.join("other.db"));

            assert!(matches!(second, Err(StoreError::InUse(_))), "{way:?}: {second:?}");
            assert!(matches!(replaced, Err(StoreError::InUse(_))), "{way:?}: {replaced:?}");
            let told = copied.unwrap_err().to_string();
            assert!(told.contains("homeroom backup"), "{way:?}: {told}");
        }
    }

    create(&store, document(a, "y", vec![]));
    store.close();
    for ending in ["-wal", "-shm", ".lock"] {
        assert!(!beside(&ahead, ending).exists(), "{ending} is beside the link");
    }
    let store = Store::open(&Options::for_file(&link)).unwrap();
    assert!(store.document_by_key_blocking(key("y")).unwrap().is_some());
}

#[test]
fn no_write_is_acknowledged_once_the_opened_file_was_replaced() {
    let (place, backup, file) = with_backup();
    let (store, a) = place.open();
    let aside = place.0.join("aside");
    for ending in ["", "-wal", "-shm"] {
        let file = beside(&file, ending);
        std::fs::rename(&file, &aside).unwrap();
        for is_replaced in [false, true] {
            if is_replaced {
                std::fs::copy(&backup, &file).unwrap();
            }
            let refused = store.kinds(&[format!("new{ending}{is_replaced}")]);
            let copied = store.backup(&place.0.join("copy.db"));

            for refused in [refused.map(drop), copied, store.trouble().map_or(Ok(()), Err)] {
                assert!(matches!(refused, Err(StoreError::Displaced(_))), "{ending}: {refused:?}");
            }
        }
        std::fs::rename(&aside, &file).unwrap();
        create(&store, document(a, &format!("after{ending}"), vec![]));
        assert!(store.trouble().is_none());
    }
    assert!(!place.0.join("copy.db").exists() && !place.0.join("copy.db.part").exists());
}

#[test]
fn an_unreadable_store_is_kept_with_its_log_and_replaced() {
    let (place, backup, file) = with_backup();
    let (broken, log) = (b"a cosmic ray".repeat(900), b"what was in the log".repeat(100));
    std::fs::write(&file, &broken).unwrap();
    std::fs::write(beside(&file, "-wal"), &log).unwrap();

    let kept = restore(&backup, &file).unwrap().unwrap();

    let (store, _) = place.open();
    assert!(store.document_by_key_blocking(key("x")).unwrap().is_some());
    assert_eq!(std::fs::read(&kept).unwrap(), broken);
    assert_eq!(std::fs::read(beside(&kept, "-wal")).unwrap(), log);
}

#[test]
fn only_a_complete_backup_replaces_a_store() {
    let (place, backup, file) = with_backup();
    let letter = place.0.join("letter.txt");
    std::fs::write(&letter, "Dear all".repeat(400)).unwrap();
    let with_log = place.0.join("with-log.db");
    std::fs::copy(&backup, &with_log).unwrap();
    std::fs::write(beside(&with_log, "-wal"), "later changes").unwrap();
    let damaged = place.0.join("damaged.db");
    std::fs::copy(&backup, &damaged).unwrap();
    let connection = rusqlite::Connection::open(&damaged).unwrap();
    connection.execute("UPDATE tally SET n = n + 1", []).unwrap();
    drop(connection);

    for from in [letter, with_log, damaged, place.0.join("absent.db")] {
        let refused = restore(&from, &file);
        assert!(matches!(refused, Err(StoreError::Unusable(_))), "{from:?}: {refused:?}");
    }

    let (store, _) = place.open();
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_some());
}

#[test]
fn a_restore_removes_no_file_at_its_working_path() {
    let (place, backup, file) = with_backup();
    for ending in ["", "-journal", "-wal", "-shm"] {
        let there = beside(&file, &format!(".restored{ending}"));
        std::fs::copy(&backup, &there).unwrap();
        for from in [&there, &backup] {
            let before = std::fs::read(&there).unwrap();

            let refused = restore(from, &file);

            assert!(matches!(refused, Err(StoreError::Unusable(_))), "{from:?}: {refused:?}");
            assert_eq!(std::fs::read(&there).unwrap(), before, "{from:?}");
            if !ending.is_empty() {
                break;
            }
        }
        std::fs::remove_file(&there).unwrap();
    }
    let (store, _) = place.open();
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_some());
}

#[test]
fn an_empty_file_is_not_a_backup() {
    let (place, _, file) = with_backup();
    let empty = place.0.join("empty.db");
    File::create(&empty).unwrap();
    let without_tables = place.0.join("without.db");
    let connection = rusqlite::Connection::open(&without_tables).unwrap();
    connection.execute_batch("PRAGMA application_id = 1213026893; VACUUM").unwrap();
    drop(connection);

    for from in [&empty, &without_tables] {
        let refused = restore(from, &file);
        assert!(matches!(refused, Err(StoreError::Unusable(_))), "{from:?}: {refused:?}");
        let raised = Store::raise(&StoreUrl::Sqlite(from.clone()));
        assert!(matches!(raised, Err(StoreError::Unusable(_))), "{from:?}: {raised:?}");
    }

    let (store, _) = place.open();
    assert!(store.document_by_key_blocking(key("old")).unwrap().is_some());
}

/// Runs a function in the middle of a restore.
struct Meanwhile<F>(F);

impl<F: FnMut()> Restoring for Meanwhile<F> {
    fn look(&mut self, _: &StoreUrl) -> Result<Vec<String>, StoreError> {
        (self.0)();
        Ok(vec![])
    }

    fn settle(
        &mut self,
        _: &Snapshot,
        _: Result<&Snapshot, &StoreError>,
    ) -> Result<Vec<Sql>, StoreError> {
        Ok(vec![])
    }
}

#[test]
fn a_store_that_was_opened_during_a_restore_is_not_replaced() {
    let (place, backup, file) = with_backup();
    // Where there is a store, and where there is none yet.
    for to in [file, place.0.join("nowhere.db")] {
        let mut opened = None;
        let mut meanwhile = Meanwhile(|| {
            std::fs::remove_file(beside(&to, ".lock")).unwrap();
            opened = Store::open(&Options::for_file(&to)).ok();
        });
        let url = StoreUrl::Sqlite(to.clone());

        let restored = Store::restore_with(&backup, &url, &mut meanwhile);

        if let Some(store) = opened {
            assert!(matches!(restored, Err(StoreError::Displaced(_))), "{restored:?}");
            let a = store.kinds(&["a".to_owned()]).unwrap()[0];
            create(&store, document(a, "new", vec![]));
        } else {
            // The file's own lock is held throughout.
            restored.unwrap();
        }
        assert!(!beside(&to, ".restored").exists());
    }
}

#[test]
fn a_restore_into_a_place_whose_lock_was_replaced_is_refused() {
    let (place, backup, _) = with_backup();
    let to = place.0.join("nowhere.db");
    let mut meanwhile = Meanwhile(|| {
        std::fs::remove_file(beside(&to, ".lock")).unwrap();
        File::create(beside(&to, ".lock")).unwrap();
    });

    let refused = Store::restore_with(&backup, &StoreUrl::Sqlite(to.clone()), &mut meanwhile);

    assert!(matches!(refused, Err(StoreError::Displaced(_))), "{refused:?}");
    assert!(!to.exists());
}

#[test]
fn every_file_of_a_store_is_watched_from_the_first_opening() {
    let (place, backup, file) = with_backup();
    restore(&backup, &file).unwrap();
    for ending in ["-wal", "-shm", ""] {
        let (store, a) = place.open();
        let aside = place.0.join("aside");
        std::fs::rename(beside(&file, ending), &aside).unwrap();

        let refused = store.kinds(&[format!("new{ending}")]);

        assert!(matches!(refused, Err(StoreError::Displaced(_))), "{ending}: {refused:?}");
        std::fs::rename(&aside, beside(&file, ending)).unwrap();
        create(&store, document(a, &format!("after{ending}"), vec![]));
        drop(store);
        // As in a file that was never opened for serving.
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.pragma_update(None, "journal_mode", "delete").unwrap();
    }
}

#[test]
fn a_store_always_exists_and_stays_locked_during_a_restore() {
    let (_place, backup, file) = with_backup();
    let (lock, fresh) = (beside(&file, ".lock"), beside(&file, ".restored"));
    let is_over = AtomicBool::new(false);

    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                assert!(file.exists(), "a server that started now would make an empty store");
                let lock = File::open(&lock).unwrap();
                if fresh.exists() && lock.try_lock().is_ok() {
                    assert!(!fresh.exists(), "a server could start in the middle");
                }
            }
        });
        let mut done = 0;
        while done < 20 && !watch.is_finished() {
            match restore(&backup, &file) {
                Ok(_) => done += 1,
                Err(StoreError::InUse(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        is_over.store(true, Ordering::Release);
    });
}
