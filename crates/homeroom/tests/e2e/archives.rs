//! Backups of files and of databases, each restored into either.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use homeroom_blobs::{BlobPlace, Blobs, Limits};
use homeroom_store::{ChangedAt, Options, Store};
use serde_json::json;

use crate::support::{Database, Place, Random, STUDENTS, Server, student};

/// Returns an empty place on each kind of store, with its database, if it has one.
fn on_each_store() -> Vec<(Place, Option<Database>)> {
    let databases = Database::on_each_server().into_iter();
    let databases = databases.map(|database| (Place::with_store(&database.url()), Some(database)));
    std::iter::once((Place::new(), None)).chain(databases).collect()
}

/// Returns the folder of a place's blobs.
fn blobs(place: &Place, database: Option<&Database>) -> PathBuf {
    place.data().join(if database.is_some() { "blobs" } else { "homeroom.db.blobs" })
}

/// Adds a blob, as a part would, while no server runs.
fn add_blob(place: &Place, database: Option<&Database>, text: &str) {
    let url = match database {
        Some(database) => database.url(),
        None => format!("sqlite:{}", place.data().join("homeroom.db").display()),
    };
    let store = Store::open(&Options::new(url.parse().unwrap())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let folder = BlobPlace::folder(&blobs(place, database));
        let blobs = Blobs::new(folder, store.clone(), Limits::default());
        let mut writing = blobs.begin("test").await.unwrap();
        writing.write(text.as_bytes()).await.unwrap();
        let written = writing.finish(ChangedAt::now()).await.unwrap();
        blobs.keep(written, ChangedAt::now()).await.unwrap();
    });
    store.close();
}

/// Fills a store: documents that refer to others, deletions, a key, a claim set, a blob. Returns the
/// key.
fn fill(place: &Place, database: Option<&Database>) -> (String, String) {
    let district = place.path("district");
    if !district.exists() {
        let out = district.to_str().unwrap();
        place.done(&["generate", "--students", "20", "--seed", "7", "--out", out]);
    }
    place.done(&["load", district.to_str().unwrap()]);
    let key = place.key("FullAccess");
    let set = r#"{"name":"Own","resourceClaims":[{"claim":"http://ed-fi.org/identity/claims/ed-fi/student","actions":[{"name":"Read"}]}]}"#;
    let set = place.write("set.json", set);
    place.done(&["claim-sets", "put", "Own", "--file", set.to_str().unwrap()]);
    add_blob(place, database, "bytes of a package");
    let server = Server::start(place);
    let mut client = server.client_of(&key);
    for id in ["a", "b"] {
        assert_eq!(client.post(STUDENTS, &student(id, "Zoë \u{1F30D} \"quoted\"")).status, 201);
    }
    let gone = client.post(STUDENTS, &student("gone", "Ada")).location();
    assert_eq!(client.send("DELETE", &gone, &[], None).unwrap().status, 204);
    assert_eq!(server.stop().code, Some(0));
    key
}

/// Returns everything that an export of a store has, by file.
fn exported(place: &Place) -> BTreeMap<String, String> {
    let out = place.path("exported");
    _ = std::fs::remove_dir_all(&out);
    place.done(&["export", "--out", out.to_str().unwrap(), "--format", "jsonl"]);
    let mut files = BTreeMap::new();
    collect(&out, &mut files);
    files.retain(|name, _| Path::new(name).extension().is_some_and(|is| is == "jsonl"));
    assert!(files.len() > 20, "{:?}", files.keys());
    files
}

fn collect(folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn assert_sound(place: &Place, about: &str) {
    let found = place.json(&["doctor", "--json"]);
    assert_eq!(found["problems"], json!([]), "{about}");
    assert_eq!(found["leftOut"], json!([]), "{about}");
}

#[test]
fn a_backup_of_either_store_is_restored_into_either() {
    for (from, from_database) in on_each_store() {
        let key = fill(&from, from_database.as_ref());
        let backup = from.path("backup.db");
        let backup = backup.to_str().unwrap();
        let before = exported(&from);

        let made = from.json(&["backup", backup, "--json"]);

        assert_eq!(made["blobs"], json!({ "copied": 1, "bytes": 18 }));
        assert!(made["documentsChecked"].as_u64().unwrap() > 1_000, "{made}");
        for (to, to_database) in on_each_store() {
            let about = format!("{} to {}", from_database.is_some(), to_database.is_some());
            let report = to.json(&["restore", backup, "--yes", "--json"]);

            assert_eq!(report["backupChangeVersion"], made["changeVersion"], "{about}");
            assert!(exported(&to) == before, "{about}: the exports differ");
            assert_sound(&to, &about);
            let server = Server::start(&to);
            let mut client = server.client_of(&key);
            let sent = client.post(STUDENTS, &student("late", "Cy"));
            assert_eq!(sent.status, 201, "{about}: {sent:?}");
            let version: i64 = sent.header("etag").unwrap().trim_matches('"').parse().unwrap();
            assert!(version > report["goesOnAfter"].as_i64().unwrap(), "{about}");
            let deleted = client.get(&format!("{STUDENTS}/deletes")).json();
            assert_eq!(deleted.as_array().unwrap().len(), 1, "{about}");
            assert_eq!(server.stop().code, Some(0));
            add_blob(&to, to_database.as_ref(), "the folder is the restored store's");
            assert_sound(&to, &about);
            let mark = |place, database| {
                std::fs::read_to_string(blobs(place, database).join("store")).unwrap()
            };
            let (old, new) = (mark(&from, from_database.as_ref()), mark(&to, to_database.as_ref()));
            assert_ne!(old, new, "{about}: two stores with one mark sweep each other's blobs");
        }
    }
}

#[test]
fn a_backup_is_one_state_of_a_store_that_is_written_to() {
    for (place, _database) in on_each_store() {
        let key = place.key("FullAccess");
        let server = Server::start(&place);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut client = server.client_of(&key);
                let is_over = &is_over;
                scope.spawn(move || {
                    for at in 0.. {
                        if is_over.load(Ordering::Acquire) {
                            break;
                        }
                        let id = format!("w-{writer}-{at}");
                        assert_eq!(client.post(STUDENTS, &student(&id, "Kim")).status, 201);
                    }
                });
            }
            for round in 0..3 {
                let backup = place.path(format!("backup-{round}.db"));
                place.done(&["backup", backup.to_str().unwrap()]);
                for (to, _database) in on_each_store() {
                    to.done(&["restore", backup.to_str().unwrap(), "--yes"]);
                    assert_sound(&to, "taken during writes");
                }
            }
            is_over.store(true, Ordering::Release);
        });
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
fn a_backup_that_was_changed_or_cut_is_refused_with_the_place() {
    let mut random = Random::seeded();
    for (place, database) in on_each_store() {
        place.key("FullAccess");
        let backup = place.path("backup.db");
        place.done(&["backup", backup.to_str().unwrap()]);
        let good = std::fs::read(&backup).unwrap();
        let len = u64::try_from(good.len()).unwrap();
        let bad = place.path("bad.db");
        let refused = |about: String, bytes: &[u8]| {
            std::fs::write(&bad, bytes).unwrap();
            for (to, _database) in on_each_store() {
                let ran = to.run(&["restore", bad.to_str().unwrap(), "--yes"]);
                assert_eq!(ran.code, Some(1), "{about}: {ran:?}");
                assert!(ran.stderr.contains("bad.db"), "{about}: {ran:?}");
                assert!(!ran.stderr.contains("panicked"), "{about}: {ran:?}");
                assert!(!to.data().join("homeroom.db").exists(), "{about}");
            }
        };

        for _ in 0..3 {
            let at = usize::try_from(4_096 + random.below(len - 4_096)).unwrap();
            let mut bytes = good.clone();
            bytes[at] ^= 4;
            refused(format!("byte {at} of {len}"), &bytes);
        }
        for left in [0, 99, 4_095, len / 2, len - 1] {
            refused(format!("{left} bytes of {len}"), &good[..usize::try_from(left).unwrap()]);
        }

        std::fs::write(&bad, &good[..good.len() / 2]).unwrap();
        let cut = place.run(&["restore", bad.to_str().unwrap(), "--yes"]);
        assert!(cut.stderr.contains(&format!("ends at byte {}", good.len() / 2)), "{cut:?}");
        let doctor = ["doctor", "--json", "--store"];
        let whole = format!("sqlite:{}", backup.display());
        place.done(&[&doctor[..], &[&whole]].concat());
        drop(database);
    }
}

#[test]
fn a_restore_into_a_database_that_is_killed_leaves_nothing_or_everything() {
    let mut random = Random::seeded();
    let from = Place::new();
    fill(&from, None);
    let backup = from.path("backup.db");
    let backup = backup.to_str().unwrap();
    from.done(&["backup", backup]);
    let students = |place: &Place| {
        place.json(&["counts", "students", "--json"])["documents"].as_u64().unwrap()
    };
    let all = students(&from);
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let rounds = if std::env::var_os("HOMEROOM_LONG").is_some() { 20 } else { 4 };
        let mut is_whole = false;
        for round in 0..rounds {
            let mut command = place.command(&["restore", backup, "--yes"]);
            let mut restore = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(random.below(2_500)));
            _ = restore.kill();
            restore.wait().unwrap();

            // A server starts on what is there, and seeds a database that is empty.
            place.done(&["keys", "list"]);
            let found = students(&place);

            assert!(found == 0 || found == all, "round {round}: {found} of {all}");
            assert_sound(&place, "after a kill");
            is_whole = found == all;
            if is_whole {
                break;
            }
        }
        if !is_whole {
            place.done(&["restore", backup, "--yes"]);
            assert_eq!(students(&place), all);
        }
        let left = std::fs::read_dir(from.path("")).unwrap();
        let left = left.filter(|entry| {
            entry.as_ref().unwrap().file_name().to_str().unwrap().contains(".restoring-")
        });
        assert!(left.count() <= 1, "working copies of killed restores are removed by the next");
    }
}

#[test]
fn a_database_that_is_used_is_not_replaced() {
    let from = Place::new();
    from.key("FullAccess");
    let backup = from.path("backup.db");
    let backup = backup.to_str().unwrap();
    from.done(&["backup", backup]);
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let server = Server::start(&place);
        let open = place.run(&["restore", backup, "--yes"]);
        assert_eq!(server.stop().code, Some(0));

        // What a server does by itself is no use.
        place.done(&["restore", backup, "--yes"]);
        let used = place.run(&["restore", backup, "--yes"]);

        assert_eq!(open.code, Some(1), "{open:?}");
        assert!(open.stderr.contains("in use"), "{open:?}");
        assert_eq!(used.code, Some(1), "{used:?}");
        assert!(used.stderr.contains("createdb"), "{used:?}");
        for url in [&open.stderr, &used.stderr] {
            assert!(!url.contains("postgres:postgres"), "{url}");
        }
    }
}

#[test]
fn documents_without_a_key_are_in_the_way_of_a_restore() {
    let from = Place::new();
    from.key("FullAccess");
    let backup = from.path("backup.db");
    from.done(&["backup", backup.to_str().unwrap()]);
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        let lines = place.write("students.jsonl", student("x", "Ada").to_string());
        place.done(&["load", lines.to_str().unwrap()]);

        let refused = place.run(&["restore", backup.to_str().unwrap(), "--yes"]);

        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("1 document(s) already"), "{refused:?}");
    }
}

#[test]
fn the_blobs_of_a_store_that_may_be_in_use_are_taken_only_where_that_is_said() {
    let pairs = Database::on_each_server().into_iter().zip(Database::on_each_server());
    for (first, second) in pairs {
        let place = Place::with_store(&first.url());
        place.key("FullAccess");
        add_blob(&place, Some(&first), "bytes of a package");
        let backup = place.path("backup.db");
        let backup = backup.to_str().unwrap();
        place.done(&["backup", backup]);
        let url = second.url();

        let refused = place.run(&["restore", backup, "--yes", "--store", &url]);
        add_blob(&place, Some(&first), "the folder is still the first one's");
        let taken = place.run(&["restore", backup, "--yes", "--store", &url, "--take-blobs"]);

        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("--take-blobs"), "{refused:?}");
        assert_eq!(taken.code, Some(0), "{taken:?}");
        let doctor = place.json(&["doctor", "--json", "--store", &url]);
        assert_eq!(doctor["problems"], json!([]));
    }
}

#[test]
fn a_backup_of_an_older_version_which_has_no_checksums_is_restored_into_either() {
    let from = Place::new();
    let (key, _) = from.key("FullAccess");
    let backup = from.path("backup.db");
    let backup = backup.to_str().unwrap();
    from.done(&["backup", backup]);
    let sealed = std::fs::read(backup).unwrap();
    // As older versions have made them: pages only, and no row that promises more.
    let pages = u32::from_be_bytes(sealed[28..32].try_into().unwrap());
    std::fs::write(backup, &sealed[..usize::try_from(pages).unwrap() * 4_096]).unwrap();
    let cut = Place::new().run(&["restore", backup, "--yes"]);
    assert_eq!(cut.code, Some(1), "the promised checksums are missing: {cut:?}");
    let connection = rusqlite::Connection::open(backup).unwrap();
    connection.execute("DELETE FROM place WHERE name = 'sealed'", []).unwrap();
    drop(connection);

    for (to, _database) in on_each_store() {
        to.done(&["restore", backup, "--yes"]);

        assert_sound(&to, "a backup without checksums");
        assert!(to.done(&["keys", "list"]).contains(&key), "the backup's key is there");
    }
}
