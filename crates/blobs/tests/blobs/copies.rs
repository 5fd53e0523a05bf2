//! Copies of blobs, and the look for damage.

use std::time::Duration;

use homeroom_blobs::{BlobError, BlobPlace, Blobs, Copied, HandOver, Limits, check, copy, keep};
use homeroom_store::{
    Answer, ChangedAt, Decision, Plan, Snapshot, SnapshotOptions, Sql, Store, Write,
};

use crate::support::{LONG_US, name, on_each, read};

#[tokio::test]
async fn every_kind_of_damage_is_found() {
    for trial in on_each() {
        let mut blobs = vec![];
        for name in ["well", "missing", "short", "changed"] {
            blobs.push(trial.kept(name.as_bytes()).await);
            // Ids are in order by the millisecond.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        trial.lose(&blobs[1]);
        trial.change(&blobs[2], b"sh");
        trial.change(&blobs[3], b"chanced");
        let snapshot = trial.snapshot();

        let whole = check(trial.blobs.place(), &snapshot, false, &|| false).unwrap();
        let quick = check(trial.blobs.place(), &snapshot, true, &|| false).unwrap();
        let none = check(trial.blobs.place(), &snapshot, false, &|| true).unwrap();

        assert_eq!(whole.blobs, 4, "{}", trial.name);
        for (problem, (blob, why)) in whole.problems.iter().zip([
            (&blobs[1], "its bytes are missing"),
            (&blobs[2], "there are 2 bytes of 5"),
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
        trial.lose(&kept);
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
        trial.change(&blob, b"wrong");
        let to = trial.place("copy");

        let copied = copy(&trial.snapshot(), trial.blobs.place(), &to);

        assert!(matches!(copied, Err(BlobError::Damaged { .. })), "{}: {copied:?}", trial.name);
        assert_eq!(trial.names_at("copy"), Vec::<String>::new(), "{}", trial.name);
    }
}

#[tokio::test]
async fn what_a_replaced_store_names_outlives_a_sweep() {
    for trial in on_each() {
        let blob = trial.kept(b"kept").await;
        let (snapshot, restored) = (trial.snapshot(), Store::temporary(&[]).unwrap());
        let replaced = trial.folder.path().join("replaced.db");
        let open = || {
            let now = Snapshot::open(restored.url(), &SnapshotOptions::default())?;
            Ok((trial.snapshot(), now))
        };

        keep(trial.blobs.place(), &open, &replaced).unwrap();
        let now = ChangedAt::now();
        trial.blobs.remove(blob.id, now).await.unwrap();
        let later = ChangedAt(now.0 + LONG_US);
        assert_eq!(trial.blobs.sweep(later).await.unwrap().removed, 1, "{}", trial.name);

        let kept = check(&BlobPlace::beside(&replaced), &snapshot, false, &|| false).unwrap();
        assert_eq!(kept.problems, Vec::<String>::new(), "{}", trial.name);
        assert_eq!(trial.names(), Vec::<String>::new(), "{}", trial.name);
    }
}

#[tokio::test]
async fn a_copy_goes_from_either_kind_of_place_to_the_other() {
    for trial in on_each() {
        let large = vec![7; 9 << 20];
        let (small, blob) = (trial.kept(b"small").await, trial.kept(&large).await);
        let folder = BlobPlace::folder(&trial.folder.path().join("backup"));

        let out = copy(&trial.snapshot(), trial.blobs.place(), &folder).unwrap();
        trial.lose(&small);
        trial.lose(&blob);
        let back = copy(&trial.snapshot(), &folder, trial.blobs.place()).unwrap();

        assert_eq!((out.blobs, back), (2, out), "{}", trial.name);
        assert!(read(&trial.blobs, &blob, 0..u64::MAX).await == large, "{}", trial.name);
        assert_eq!(read(&trial.blobs, &small, 0..9).await, b"small", "{}", trial.name);
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
        let place = trial.place("blobs");
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
            let place = trial.place("blobs");
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
        let place = trial.place("blobs");

        let refused = HandOver::begin(&place, None, false).map(drop);
        let again = Blobs::new(place.clone(), trial.store.clone(), Limits::default());
        let stays = again.begin("test").await.map(drop);
        let taken = HandOver::begin(&place, None, true);

        assert!(matches!(refused, Err(BlobError::NotHandedOver(_))), "{refused:?}");
        assert!(stays.is_ok(), "{}: {stays:?}", trial.name);
        assert!(taken.is_ok(), "{}", trial.name);
        assert_eq!(trial.names(), [name(&blob, "blobs")], "{}", trial.name);
    }
}
