//! Blobs are written whole or not at all, and read in ranges.

use homeroom_blobs::{BlobError, Blobs, Limits};
use homeroom_store::{ChangedAt, Store};

use crate::support::{LONG_US, on_each, read};

#[tokio::test]
async fn a_blob_reads_back_whole_and_in_ranges_with_its_hash() {
    for trial in on_each() {
        let all: Vec<u8> = (0..1_000_003_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut writing = trial.blobs.begin("video").await.unwrap();
        for some in all.chunks(70_001) {
            writing.write(some).await.unwrap();
        }
        let now = ChangedAt::now();

        let written = writing.finish(now).await.unwrap();
        let blob = trial.blobs.keep(written, now).await.unwrap();

        let found = trial.blobs.find(blob.id).await.unwrap().expect("it was kept");
        assert_eq!((&found, found.bytes), (&blob, 1_000_003), "{}", trial.name);
        assert_eq!((found.owner_kind.as_str(), found.created), ("video", now));
        assert!(read(&trial.blobs, &blob, 0..u64::MAX).await == all, "{}", trial.name);
        assert!(read(&trial.blobs, &blob, 262_143..600_000).await == all[262_143..600_000]);
        assert!(read(&trial.blobs, &blob, 1_000_002..1_000_003).await == all[1_000_002..]);
        assert!(read(&trial.blobs, &blob, 2_000_000..3_000_000).await.is_empty());
    }
}

#[tokio::test]
async fn a_hash_is_the_standards() {
    for trial in on_each() {
        let blob = trial.kept(b"abc").await;
        let empty = trial.kept(b"").await;

        // Source: FIPS 180-4, examples.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(blob.sha256_hex(), abc, "{}", trial.name);
        assert!(empty.sha256_hex().starts_with("e3b0c442"), "{}", trial.name);
        assert_eq!(read(&trial.blobs, &empty, 0..10).await, b"");
    }
}

#[tokio::test]
async fn nothing_is_kept_of_what_is_too_large_or_was_given_up() {
    for trial in on_each() {
        let mut writing = trial.blobs.begin("test").await.unwrap().at_most(10);
        writing.write(b"0123456789").await.unwrap();

        let refused = writing.write(b"x").await;
        drop(writing);
        let mut given_up = trial.blobs.begin("test").await.unwrap();
        given_up.write(b"half").await.unwrap();
        drop(given_up);

        assert!(matches!(refused, Err(BlobError::TooLarge { bytes_max: 10 })), "{refused:?}");
        assert_eq!(trial.names(), Vec::<String>::new(), "{}", trial.name);
    }
}

#[tokio::test]
async fn a_row_that_comes_too_late_is_refused() {
    for trial in on_each() {
        let now = ChangedAt::now();
        let written = trial.blobs.begin("test").await.unwrap().finish(now).await.unwrap();

        let late = trial.blobs.keep(written, ChangedAt(now.0 + LONG_US / 2)).await;

        assert!(matches!(late, Err(BlobError::Late(_))), "{}: {late:?}", trial.name);
    }
}

#[tokio::test]
async fn bytes_that_are_missing_are_an_error_and_no_end() {
    for trial in on_each() {
        let blob = trial.kept(&[7; 1_000]).await;
        trial.change(&blob, &[7; 400]);

        let mut reading = trial.blobs.read(blob.id, blob.bytes, 0..1_000).await.unwrap();
        let first = reading.next().await.unwrap().unwrap();
        let second = reading.next().await;
        trial.lose(&blob);
        let missing = trial.blobs.read(blob.id, blob.bytes, 0..1).await;

        assert_eq!((first.len(), reading.left()), (400, 600), "{}", trial.name);
        assert!(matches!(second, Err(BlobError::Damaged { .. })), "{second:?}");
        assert!(matches!(missing, Err(BlobError::Damaged { .. })), "{}", trial.name);
    }
}

#[tokio::test]
async fn a_place_of_another_store_is_left_alone() {
    for trial in on_each() {
        let blob = trial.kept(b"mine").await;
        let other = Store::temporary(&[]).unwrap();
        let foreign = Blobs::new(trial.place("blobs"), other, Limits::default());

        let refused = foreign.begin("test").await;
        let swept = foreign.sweep(ChangedAt(ChangedAt::now().0 + LONG_US)).await;

        assert!(matches!(refused, Err(BlobError::Foreign(_))), "{}", trial.name);
        assert!(matches!(swept, Err(BlobError::Foreign(_))), "{}: {swept:?}", trial.name);
        assert_eq!(read(&trial.blobs, &blob, 0..9).await, b"mine", "{}", trial.name);
    }
}
