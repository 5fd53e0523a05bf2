//! Blobs of the real program: swept by a server, checked by `doctor`, in backups and back again.

use std::path::{Path, PathBuf};

use homeroom_blobs::{Blob, BlobPlace, Blobs, Limits};
use homeroom_store::{ChangedAt, Options, Store, StoreUrl};

use crate::support::{Database, Place, Server, eventually};

/// Writes blobs as a part would, while no server runs; the last one gets no row.
fn write(url: &StoreUrl, place: BlobPlace, texts: &[&str]) -> Vec<Blob> {
    let store = Store::open(&Options::new(url.clone())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let made = runtime.block_on(async {
        let blobs = Blobs::new(place, store.clone(), Limits::default());
        let mut made = vec![];
        for (at, text) in texts.iter().enumerate() {
            let mut writing = blobs.begin("test").await.unwrap();
            writing.write(text.as_bytes()).await.unwrap();
            let written = writing.finish(ChangedAt::now()).await.unwrap();
            made.push(written.blob().clone());
            if at + 1 < texts.len() {
                blobs.keep(written, ChangedAt::now()).await.unwrap();
            }
        }
        made
    });
    store.close();
    made
}

/// Returns the file of a blob in a folder of blobs.
fn file(folder: &Path, blob: &Blob) -> PathBuf {
    let name = blob.id.to_string();
    folder.join(&name[..6]).join(name)
}

fn problems(place: &Place) -> Vec<String> {
    let ran = place.run(&["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let problems = found["problems"].as_array().unwrap().iter();
    problems.map(|problem| problem["problem"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_backup_has_the_blobs_and_brings_back_what_was_lost() {
    let place = Place::new();
    place.key("FullAccess");
    let db = place.data().join("homeroom.db");
    let folder = place.data().join("homeroom.db.blobs");
    let url = StoreUrl::Sqlite(db.clone());
    let blobs = write(&url, BlobPlace::beside(&db), &["first", "second", "nobody's"]);
    let backup = place.path("backup.db");
    let server = Server::start(&place);
    place.done(&["backup", backup.to_str().unwrap()]);
    server.stop();
    let in_backup = place.path("backup.db.blobs");
    assert_eq!(std::fs::read_to_string(file(&in_backup, &blobs[1])).unwrap(), "second");
    assert!(!file(&in_backup, &blobs[2]).exists(), "only what a row names is copied");
    assert_eq!(problems(&place), Vec::<String>::new());
    let again = place.run(&["backup", backup.to_str().unwrap()]);
    assert_eq!(again.code, Some(2), "{again:?}");

    std::fs::remove_file(file(&folder, &blobs[0])).unwrap();
    std::fs::write(file(&folder, &blobs[1]), "sec0nd").unwrap();
    let found = problems(&place);
    assert_eq!(found.len(), 2, "{found:?}");
    let damaged = place.run(&["backup", place.path("other.db").to_str().unwrap()]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    assert!(!place.path("other.db").exists() && !place.path("other.db.blobs").exists());

    std::fs::remove_file(file(&folder, &blobs[1])).unwrap();
    let restored = place.run(&["restore", backup.to_str().unwrap(), "--yes"]);

    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_eq!(problems(&place), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(file(&folder, &blobs[0])).unwrap(), "first");
    let kept = place.data().join("homeroom.db.before-restore.blobs");
    assert!(file(&kept, &blobs[2]).exists(), "the previous store's blobs are kept beside it");
    // The folder is the restored store's: it can write there.
    write(&url, BlobPlace::beside(&db), &["third", "nobody's"]);
}

#[test]
fn a_backup_without_its_blobs_is_restored_only_where_that_is_said() {
    let place = Place::new();
    place.key("FullAccess");
    let db = place.data().join("homeroom.db");
    write(&StoreUrl::Sqlite(db.clone()), BlobPlace::beside(&db), &["first", "nobody's"]);
    let backup = place.path("backup.db");
    place.done(&["backup", backup.to_str().unwrap()]);
    for folder in [place.path("backup.db.blobs"), place.data().join("homeroom.db.blobs")] {
        std::fs::remove_dir_all(folder).unwrap();
    }

    let refused = place.run(&["restore", backup.to_str().unwrap(), "--yes"]);
    let done = place.run(&["restore", backup.to_str().unwrap(), "--yes", "--without-blobs"]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("its file is missing"), "{refused:?}");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(problems(&place).len(), 1);
}

#[test]
fn a_server_sweeps_what_nobody_owns_and_nothing_else() {
    let place = Place::new();
    place.key("FullAccess");
    let db = place.data().join("homeroom.db");
    let folder = place.data().join("homeroom.db.blobs");
    let blobs = write(&StoreUrl::Sqlite(db.clone()), BlobPlace::beside(&db), &["own", "nobody's"]);

    let server = Server::start_with(&place, &[("HOMEROOM_BLOBS__GRACE", "200ms")]);

    eventually("the blob is swept", || !file(&folder, &blobs[1]).exists());
    assert!(file(&folder, &blobs[0]).exists());
    server.stop();
    assert_eq!(problems(&place), Vec::<String>::new());
}

#[test]
fn doctor_compares_the_blobs_of_a_database_with_their_folder() {
    for database in Database::on_each_server() {
        let place = Place::with_store(&database.url());
        place.key("FullAccess");
        let folder = place.data().join("blobs");
        let url: StoreUrl = database.url().parse().unwrap();
        let blobs = write(&url, BlobPlace::folder(&folder), &["first", "nobody's"]);
        assert_eq!(problems(&place), Vec::<String>::new());

        std::fs::remove_file(file(&folder, &blobs[0])).unwrap();

        let found = problems(&place);
        assert!(found.len() == 1 && found[0].contains("its file is missing"), "{found:?}");
    }
}
