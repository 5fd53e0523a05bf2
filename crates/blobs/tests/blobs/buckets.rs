//! What is true of buckets alone: parts, failures of the store and of the network, marks.

use std::time::Duration;

use homeroom_blobs::{BlobError, BlobPlace, Blobs, Limits, Written, check};
use homeroom_store::{ChangedAt, Store};
use homeroom_testkit::Folder;
use homeroom_testkit::s3::{Fault, S3};

use crate::support::{LONG_US, Trial, bucket, in_bucket, name, read};

const MIB: usize = 1 << 20;

/// Bytes that differ from place to place.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at / 7 + at / 65_536) % 251).unwrap()).collect()
}

async fn written(trial: &Trial, all: &[u8]) -> Result<Written, BlobError> {
    let mut writing = trial.blobs.begin("test").await?;
    writing.write(all).await?;
    writing.finish(ChangedAt::now()).await
}

async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not so: {what}");
}

#[tokio::test]
async fn a_large_blob_is_uploaded_in_parts_and_has_its_name_when_all_are_there() {
    let trial = in_bucket();
    let all = bytes(41 * MIB + 5);

    let blob = trial.kept(&all).await;

    let s3 = trial.s3();
    assert_eq!(s3.seen("partNumber=").len(), 6);
    assert_eq!(s3.open_uploads(), Vec::<String>::new());
    assert!(s3.object(&name(&blob, "blobs")).is_some_and(|object| object == all));
    assert!(read(&trial.blobs, &blob, 0..u64::MAX).await == all);
    let middle = 20 * MIB..20 * MIB + 99;
    assert!(read(&trial.blobs, &blob, 20 << 20..(20 << 20) + 99).await == all[middle]);
}

#[tokio::test]
async fn an_upload_that_fails_or_is_given_up_is_aborted() {
    let trial = in_bucket();
    let all = bytes(9 * MIB);
    trial.s3().fail("PUT", "partNumber=2", 1, Fault::Status(403));

    let refused = written(&trial, &all).await;

    assert!(matches!(refused, Err(BlobError::Bucket { .. })), "{refused:?}");
    assert_eq!(trial.s3().open_uploads(), Vec::<String>::new());

    trial.s3().fail("PUT", "partNumber=2", 100, Fault::Silence);
    let patience = Duration::from_millis(300);
    let given_up = tokio::time::timeout(patience, written(&trial, &all)).await;

    assert!(given_up.is_err(), "{given_up:?}");
    eventually("the upload is aborted", || trial.s3().open_uploads().is_empty()).await;
    assert_eq!(trial.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_small_upload_that_is_given_up_is_not_sent_again() {
    let trial = in_bucket();
    let kept = trial.kept(b"kept").await;
    trial.s3().fail("PUT", "/blobs/", 100, Fault::Silence);
    let patience = Duration::from_millis(300);

    let given_up = tokio::time::timeout(patience, written(&trial, b"x")).await;
    trial.s3().recover();
    // Longer than the pauses between the tries of a request.
    tokio::time::sleep(Duration::from_secs(3)).await;

    assert!(given_up.is_err(), "{given_up:?}");
    assert_eq!(trial.names(), [name(&kept, "blobs")]);
}

#[tokio::test]
async fn uploads_that_a_killed_process_has_left_are_swept_and_others_stay() {
    let trial = in_bucket();
    let blob = trial.kept(b"kept").await;
    trial.s3().begin_upload(&name(&blob, "blobs"));
    trial.s3().begin_upload(&name(&blob, "other"));
    trial.s3().begin_upload("blobs/somebody's");

    let early = trial.blobs.sweep(ChangedAt::now()).await.unwrap();
    let swept = trial.blobs.sweep(ChangedAt(ChangedAt::now().0 + LONG_US)).await.unwrap();

    assert_eq!((early.unfinished, swept.unfinished), (0, 1));
    assert_eq!(trial.s3().open_uploads(), [name(&blob, "other"), "blobs/somebody's".into()]);
}

#[tokio::test]
async fn what_passes_is_tried_again_and_what_does_not_ends_after_some_tries() {
    let trial = in_bucket();
    // The mark of the store is there before any fault.
    trial.kept(b"first").await;
    for fault in [Fault::Status(503), Fault::Silence] {
        trial.s3().fail("PUT", "/blobs/", 2, fault);
        trial.s3().fail("GET", "/blobs/", 2, fault);

        let blob = trial.kept(b"bytes").await;

        assert_eq!(read(&trial.blobs, &blob, 0..9).await, b"bytes", "{fault:?}");
        for method in ["PUT", "GET"] {
            let seen = trial.s3().seen(&name(&blob, "blobs"));
            let tries = seen.iter().filter(|seen| seen.starts_with(method)).count();
            assert_eq!(tries, 3, "{method} {fault:?}");
        }
        trial.s3().recover();
    }
    let blob = trial.kept(b"bytes").await;
    trial.s3().fail("GET", &name(&blob, "blobs"), 100, Fault::Status(500));
    let before = trial.s3().seen("GET").len();

    let failed = trial.blobs.read(blob.id, blob.bytes, 0..5).await.map(drop);

    assert!(matches!(failed, Err(BlobError::Bucket { is_passing: true, .. })), "{failed:?}");
    assert_eq!(trial.s3().seen("GET").len() - before, 5, "one and four more");
}

#[tokio::test]
async fn a_network_that_dies_in_the_middle_is_read_on_from_there() {
    let trial = in_bucket();
    let all = bytes(3 * MIB);
    let blob = trial.kept(&all).await;
    let own = name(&blob, "blobs");
    trial.s3().fail("GET", &own, 7, Fault::CutAfter(300_000));

    assert!(read(&trial.blobs, &blob, 1_000..u64::MAX).await == all[1_000..]);
    assert_eq!(trial.s3().seen(&own).iter().filter(|seen| seen.starts_with("GET")).count(), 8);
    trial.s3().recover();
    trial.s3().fail("GET", &own, 1, Fault::CutAfter(300_000));
    trial.s3().fail("GET", &own, 1_000, Fault::Silence);
    let mut reading = trial.blobs.read(blob.id, blob.bytes, 0..u64::MAX).await.unwrap();
    let mut arrived = vec![];
    let error = loop {
        match reading.next().await {
            Ok(Some(bytes)) => arrived.extend_from_slice(&bytes),
            Ok(None) => panic!("it ended as if that were all"),
            Err(error) => break error,
        }
    };
    assert!(arrived == all[..arrived.len()] && arrived.len() <= 300_000);
    assert!(matches!(error, BlobError::Bucket { is_passing: true, .. }), "{error}");
}

#[tokio::test]
async fn who_reads_slowly_holds_up_what_comes() {
    let trial = in_bucket();
    let all = bytes(48 * MIB);
    let blob = trial.kept(&all).await;
    let received = || trial.blobs.place().figures().unwrap().bytes_received;
    let before = received();

    let mut reading = trial.blobs.read(blob.id, blob.bytes, 0..u64::MAX).await.unwrap();
    let first = reading.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;

    assert!(received() - before < 4 << 20, "{}", received() - before);
    let mut read = first.len();
    while let Some(bytes) = reading.next().await.unwrap() {
        assert!(bytes == all[read..read + bytes.len()]);
        read += bytes.len();
    }
    assert_eq!(read, all.len());
}

#[tokio::test]
async fn of_two_stores_that_claim_a_bucket_at_once_one_gets_it() {
    let s3 = S3::start();
    let folder = Folder::new();
    let blobs = || {
        let place = BlobPlace::bucket(bucket(&s3.endpoint(), "shared", folder.path()));
        Blobs::new(place, Store::temporary(&[]).unwrap(), Limits::default())
    };
    let all = [blobs(), blobs(), blobs()];

    let (one, two, three) =
        tokio::join!(all[0].begin("test"), all[1].begin("test"), all[2].begin("test"));

    let got = [one, two, three];
    assert_eq!(got.iter().filter(|begun| begun.is_ok()).count(), 1);
    for refused in got.iter().filter_map(|begun| begun.as_ref().err()) {
        assert!(matches!(refused, BlobError::Foreign(_)), "{refused}");
        assert!(refused.to_string().contains(&s3.endpoint()), "{refused}");
    }
}

#[tokio::test]
async fn a_store_without_conditional_puts_has_a_mark_and_keeps_others_away() {
    let tell: [fn(&S3); 2] = [S3::refuse_conditional_puts, S3::ignore_conditions];
    for tell in tell {
        let trial = in_bucket();
        tell(trial.s3());

        let blob = trial.kept(b"mine").await;
        let other =
            Blobs::new(trial.place("blobs"), Store::temporary(&[]).unwrap(), Limits::default());
        let refused = other.begin("test").await.map(drop);

        assert!(matches!(refused, Err(BlobError::Foreign(_))), "{refused:?}");
        assert_eq!(read(&trial.blobs, &blob, 0..9).await, b"mine");
    }
}

#[tokio::test]
async fn an_error_names_endpoint_and_bucket_and_how_to_mend_it() {
    let s3 = S3::start();
    let folder = Folder::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let right = bucket(&s3.endpoint(), "a", folder.path());
    let (mut other, mut key, mut secret) = (right.clone(), right.clone(), right.clone());
    let (mut region, mut away) = (right.clone(), right.clone());
    other.bucket = "no-such-bucket".into();
    key.key = Some(("nobody".into(), "hunter2".into()));
    secret.key = secret.key.map(|(id, _)| (id, "hunter2".into()));
    region.region = "mars-1".into();
    away.endpoint.clone_from(&nowhere);
    for (settings, why, mend) in [
        (other, "there is no such bucket", "blobs.url"),
        (key, "does not know the key", "blobs.access_key_id"),
        (secret, "another secret", "blobs.secret_access_key"),
        (region, "another region", "blobs.region"),
        (away, "failed", "blobs.endpoint"),
    ] {
        let (place, endpoint) = (BlobPlace::bucket(settings.clone()), settings.endpoint.clone());
        let blobs = Blobs::new(place, Store::temporary(&[]).unwrap(), Limits::default());

        let error = blobs.begin("test").await.map(drop).unwrap_err();

        let is_passing = matches!(error, BlobError::Bucket { is_passing: true, .. });
        let said = error.to_string();
        assert_eq!(is_passing, endpoint == nowhere, "{said}");
        for word in [why, mend, &endpoint, &settings.bucket] {
            assert!(said.contains(word), "{word} in {said}");
        }
        assert!(!said.contains("hunter2") && !said.contains('<'), "{said}");
    }
}

#[tokio::test]
async fn a_sweep_lists_from_where_the_last_one_ended() {
    let trial = in_bucket();
    trial.kept(b"kept").await;
    let now = ChangedAt::now();

    trial.blobs.sweep(now).await.unwrap();
    trial.blobs.sweep(now).await.unwrap();

    let lists = trial.s3().seen("list-type=2");
    assert_eq!(lists.len(), 2, "{lists:?}");
    assert!(!lists[0].contains("start-after") && lists[1].contains("start-after"), "{lists:?}");
}

#[tokio::test]
async fn a_look_for_damage_lists_and_asks_for_no_blob_alone() {
    let trial = in_bucket();
    for at in 0..3_u8 {
        trial.kept(&[at]).await;
    }

    let checked = check(trial.blobs.place(), &trial.snapshot(), true, &|| false).unwrap();

    assert_eq!((checked.blobs, checked.problems.len()), (3, 0));
    assert_eq!(trial.s3().seen("HEAD").len(), 0);
}

#[tokio::test]
async fn requests_and_bytes_are_counted() {
    let trial = in_bucket();
    let blob = trial.kept(b"bytes").await;
    read(&trial.blobs, &blob, 0..9).await;
    trial.s3().fail("GET", &name(&blob, "blobs"), 1, Fault::Status(503));
    read(&trial.blobs, &blob, 0..9).await;

    let figures = trial.blobs.place().figures().unwrap();

    let count = |method: &str, outcome: &str| {
        let mut all = figures.requests.iter();
        all.find(|(m, o, _)| (*m, *o) == (method, outcome)).map(|(_, _, count)| *count)
    };
    // The mark is looked for, put, and read; the blob is read twice, once in vain.
    assert_eq!((count("GET", "ok"), count("GET", "failed")), (Some(4), Some(1)));
    assert_eq!(count("PUT", "ok"), Some(2));
    assert!(figures.bytes_sent >= 5 && figures.bytes_received >= 10);
}
