//! Copies of blobs, and the look for damage.

use std::time::Duration;

use homeroom_blobs::{BlobError, BlobPlace, Blobs, Copied, HandOver, Limits, check, copy, link};
use homeroom_store::{Answer, Decision, Plan, Sql, Store, Write};

use crate::support::{LONG_US, files, on_each, read};

#[tokio::test]
async fn every_kind_of_damage_is_found() {
    for trial in on_each() {
        let mut blobs = vec![];
        for name in ["well", "missing", "short", "changed"] {
            blobs.push(trial.kept(name.as_bytes()).await);
            // Ids are in order by the millisecond.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        std::fs::remove_file(trial.file(&blobs[1])).unwrap();
        std::fs::write(trial.file(&blobs[2]), "sh").unwrap();
        std::fs::write(trial.file(&blobs[3]), "chanced").unwrap();
        let snapshot = trial.snapshot();

        let whole = check(trial.blobs.place(), &snapshot, false, &|| false).unwrap();
        let quick = check(trial.blobs.place(), &snapshot, true, &|| false).unwrap();
        let none = check(trial.blobs.place(), &snapshot, false, &|| true).unwrap();

        assert_eq!(whole.blobs, 4, "{}", trial.name);
        for (problem, (blob, why)) in whole.problems.iter().zip([
            (&blobs[1], "its file is missing"),
            (&blobs[2], "its file has 2 bytes of 5"),
            (&blobs[3], "its bytes are not those that were written"),
        ]) {
            assert!(problem.contains(&format!("blob {}: {why}", blob.id)), "{problem}");
        }
        assert_eq!((whole.problems.len(), quick.problems.len()), (3, 2), "{}", trial.name);
        assert_eq!((whole.left_out.len(), quick.left_out.len()), (0, 1), "{}", trial.name);
        assert_eq!((none.problems.len(), none.left_out.len()), (0, 1), "{}", trial.name);
    }
}

#[tokio::test]
async fn a_copy_has_what_a_state_of_the_store_names_and_brings_it_back() {
    for trial in on_each() {
        let (kept, removed) = (trial.kept(b"kept").await, trial.kept(b"removed").await);
        trial.blobs.remove(removed.id, homeroom_store::ChangedAt::now()).await.unwrap();
        let (snapshot, to) = (trial.snapshot(), trial.place("copy"));

        let copied = copy(&snapshot, trial.blobs.place(), &to).unwrap();
        let again = copy(&snapshot, trial.blobs.place(), &to).unwrap();
        std::fs::remove_file(trial.file(&kept)).unwrap();
        let back = copy(&snapshot, &to, trial.blobs.place()).unwrap();

        assert_eq!(copied, Copied { blobs: 1, bytes: 4 }, "{}", trial.name);
        assert_eq!((again, back), (Copied::default(), copied), "{}", trial.name);
        assert_eq!(read(&trial.blobs, &kept, 0..9).await, b"kept", "{}", trial.name);
    }
}

#[tokio::test]
async fn bytes_that_have_changed_are_not_copied() {
    for trial in on_each() {
        let blob = trial.kept(b"right").await;
        std::fs::write(trial.file(&blob), "wrong").unwrap();
        let to = trial.place("copy");

        let copied = copy(&trial.snapshot(), trial.blobs.place(), &to);

        assert!(matches!(copied, Err(BlobError::Damaged { .. })), "{}: {copied:?}", trial.name);
        assert_eq!(files(to.path()).len(), 0, "{}", trial.name);
    }
}

#[tokio::test]
async fn a_second_name_outlives_a_sweep() {
    for trial in on_each() {
        let blob = trial.kept(b"kept").await;
        let (snapshot, second) = (trial.snapshot(), trial.place("second"));

        link(trial.blobs.place(), &second).unwrap();
        let now = homeroom_store::ChangedAt::now();
        trial.blobs.remove(blob.id, now).await.unwrap();
        let later = homeroom_store::ChangedAt(now.0 + LONG_US);
        assert_eq!(trial.blobs.sweep(later).await.unwrap().removed, 1, "{}", trial.name);

        assert_eq!(check(&second, &snapshot, false, &|| false).unwrap().problems.len(), 0);
        assert_eq!(files(trial.blobs.place().path()).len(), 0, "{}", trial.name);
    }
}

/// Runs a statement on a store, as a restore does.
fn put(store: &Store, row: Sql) {
    let decide =
        move |_: Vec<Answer>| Decision::<(), ()>::Write(vec![Write::Part(row.clone())], ());
    store.run_blocking(Plan { ask: vec![], decide }).unwrap();
}

#[tokio::test]
async fn a_folder_that_was_handed_over_is_the_restored_stores_alone() {
    for trial in on_each() {
        trial.kept(b"old").await;
        let place = BlobPlace::folder(trial.blobs.place().path());
        let old = || Blobs::new(place.clone(), trial.store.clone(), Limits::default());
        let restored = Store::temporary(&[]).unwrap();
        let new = || Blobs::new(place.clone(), restored.clone(), Limits::default());

        let handing = HandOver::begin(&place, Some(&trial.snapshot()), false).unwrap();
        put(&restored, handing.row());
        handing.finish().unwrap();

        assert!(new().begin("test").await.is_ok(), "{}", trial.name);
        let refused = old().begin("test").await.map(drop);
        assert!(matches!(refused, Err(BlobError::Foreign(_))), "{}: {refused:?}", trial.name);
    }
}

#[tokio::test]
async fn either_store_can_use_a_folder_whose_handing_over_was_killed() {
    for is_replaced in [false, true] {
        for trial in on_each() {
            trial.kept(b"old").await;
            let place = BlobPlace::folder(trial.blobs.place().path());
            let restored = Store::temporary(&[]).unwrap();
            let handing = HandOver::begin(&place, Some(&trial.snapshot()), false).unwrap();
            put(&restored, handing.row());
            drop(handing);

            let mut both = [trial.store.clone(), restored];
            if is_replaced {
                both.reverse();
            }
            let [first, second] =
                both.map(|store| Blobs::new(place.clone(), store, Limits::default()));

            assert!(first.begin("test").await.is_ok(), "{} {is_replaced}", trial.name);
            assert!(second.begin("test").await.is_err(), "{} {is_replaced}", trial.name);
        }
    }
}

#[tokio::test]
async fn the_folder_of_a_store_that_may_be_in_use_is_not_handed_over() {
    for trial in on_each() {
        let blob = trial.kept(b"in use").await;
        let place = BlobPlace::folder(trial.blobs.place().path());

        let refused = HandOver::begin(&place, None, false).map(drop);
        let again = Blobs::new(place.clone(), trial.store.clone(), Limits::default());
        let stays = again.begin("test").await.map(drop);
        let taken = HandOver::begin(&place, None, true);

        assert!(matches!(refused, Err(BlobError::NotHandedOver(_))), "{refused:?}");
        assert!(stays.is_ok(), "{}: {stays:?}", trial.name);
        assert!(taken.is_ok() && trial.file(&blob).exists(), "{}", trial.name);
    }
}
