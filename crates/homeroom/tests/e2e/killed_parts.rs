//! A server that is killed while all of its parts write at once: documents, commits of courses, uploads with
//! their blobs, and the jobs that load these.

mod uploads;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use homeroom_course::sample_package;
use homeroom_store::{Options, Sql, Store, StoreUrl};
use serde_json::json;

use uploads::{Upload, begin, chunk_path, commit_upload, file_of, send_all, status, until_ended};

use crate::durability::all_students;
use crate::support::{Client, Learning, Place, STUDENTS, Server, Wire, eventually, student};

/// How many write documents, commit and upload at the same time.
const WRITERS: usize = 8;
const LEARNERS: usize = 4;
const UPLOADERS: usize = 3;
/// Uploads of one uploader that need not have been loaded before it begins the next.
const OPEN: usize = 4;
/// The server is killed when so many of each have been acknowledged.
const DOCUMENTS: usize = 300;
const COMMITS: usize = 60;
const UPLOADS: usize = 12;
/// Jobs of a killed node in a database are taken over after this time.
const LEASE: (&str, &str) = ("HOMEROOM_JOBS__LEASE", "3s");

/// How many writes have been acknowledged so far.
#[derive(Default)]
struct Counts {
    documents: AtomicUsize,
    commits: AtomicUsize,
    uploads: AtomicUsize,
}

impl Counts {
    fn add(one: &AtomicUsize) {
        one.fetch_add(1, Ordering::Relaxed);
    }

    fn are_enough(&self) -> bool {
        [(&self.documents, DOCUMENTS), (&self.commits, COMMITS), (&self.uploads, UPLOADS)]
            .iter()
            .all(|(count, least)| count.load(Ordering::Relaxed) >= *least)
    }
}

/// What the server has acknowledged.
struct Acknowledged {
    /// Students.
    documents: Vec<String>,
    /// The last commit of each learner.
    commits: Vec<u32>,
    uploads: Vec<Upload>,
}

/// A course that was opened: the path of its launch, and its session.
type Opened = (String, String);

#[test]
fn what_all_parts_have_acknowledged_survives_kill_9_and_no_blob_is_without_its_row() {
    Place::on_each_store(|place| {
        let key = place.key("FullAccess");
        let server = Server::start_with(place, &[LEASE]);
        let mut lms = Learning::of(place, &server);
        assert_eq!(lms.import("library", &sample_package())["status"], "COMPLETE");
        let opened: Vec<Opened> = (0..LEARNERS).map(|learner| open(&mut lms, learner)).collect();
        let mut half = half_of_a_chunk(&server, &key);
        let unfinished = blobs(place).join("unfinished");
        eventually("the chunk is being written", || !names(&unfinished).is_empty());

        let acknowledged = write_until_killed(server, &key, &opened);
        half.rest();

        assert!(!names(&unfinished).is_empty(), "it was killed while a blob was written");
        let server = Server::start_with(place, &[LEASE]);
        let mut lms = Learning::of(place, &server);
        for (learner, commit) in acknowledged.commits.iter().enumerate() {
            let found = lms.get(&format!("/registrations/r-{learner}?includeRuntime=true"));
            let location = &found["activityDetails"]["runtime"]["location"];
            // The next one may have been stored without an answer.
            let either = [format!("p{commit}"), format!("p{}", commit + 1)];
            assert!(either.iter().any(|one| location == one), "{either:?}: {found}");
        }
        let mut client = server.client_of(&key);
        all_are_loaded(&mut client, &acknowledged.uploads);
        let stored = all_students(&mut client);
        let loaded = acknowledged.uploads.iter().filter(|upload| upload.has_chunk);
        let loaded = loaded.map(|upload| &upload.student);
        let missing = acknowledged.documents.iter().chain(loaded);
        let missing: Vec<_> = missing.filter(|id| !stored.contains_key(*id)).collect();
        assert_eq!(missing, [""; 0], "of {} students", stored.len());
        assert_eq!(server.stop().code, Some(0));
        assert_eq!(place.json(&["doctor", "--json"])["problems"], json!([]));

        let named = named(place);
        let server = Server::start_with(place, &[("HOMEROOM_BLOBS__GRACE", "1s")]);
        eventually("what belongs to nobody is swept", || {
            names(&unfinished).is_empty() && stored_blobs(place) == named
        });
        assert_eq!(server.stop().code, Some(0));
        assert_eq!(place.json(&["doctor", "--json"])["problems"], json!([]));
    });
}

/// Registers a learner and opens the course.
fn open(lms: &mut Learning, learner: usize) -> Opened {
    let registration = format!("r-{learner}");
    lms.register(&registration, "library");
    let launch = lms.launch(&registration);
    let session = lms.boot(&launch)["session"].as_str().unwrap().to_owned();
    (launch, session)
}

/// Sends the first half of a chunk, and keeps the connection open.
fn half_of_a_chunk(server: &Server, key: &(String, String)) -> Wire {
    let mut client = server.client_of(key);
    let text = file_of("half");
    let upload = begin(&mut client, "half", &text).unwrap();
    let octets = [("content-type", "application/octet-stream")];
    let head = client.head("POST", &chunk_path(&upload, &text), &octets, Some(text.len()));
    let mut wire = server.wire();
    wire.send(head);
    wire.send(&text[..text.len() / 2]);
    wire
}

/// Writes everything at once, and kills the server in the middle of it.
fn write_until_killed(server: Server, key: &(String, String), opened: &[Opened]) -> Acknowledged {
    let counts = &Counts::default();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let client = server.client_of(key);
                scope.spawn(move || create(client, writer, counts))
            })
            .collect();
        let learners: Vec<_> = opened
            .iter()
            .map(|opened| {
                let client = server.client();
                scope.spawn(move || commit(client, opened, counts))
            })
            .collect();
        let uploaders: Vec<_> = (0..UPLOADERS)
            .map(|uploader| {
                let client = server.client_of(key);
                scope.spawn(move || upload(client, uploader, counts))
            })
            .collect();
        eventually("enough of all is acknowledged", || {
            let has_failed = writers.iter().any(ScopedJoinHandle::is_finished)
                || learners.iter().any(ScopedJoinHandle::is_finished)
                || uploaders.iter().any(ScopedJoinHandle::is_finished);
            has_failed || counts.are_enough()
        });
        server.kill();
        assert!(counts.are_enough(), "somebody gave up before");
        Acknowledged {
            documents: writers.into_iter().flat_map(|thread| thread.join().unwrap()).collect(),
            commits: learners.into_iter().map(|thread| thread.join().unwrap()).collect(),
            uploads: uploaders.into_iter().flat_map(|thread| thread.join().unwrap()).collect(),
        }
    })
}

/// Creates students until the connection breaks. Returns those that were acknowledged.
fn create(mut client: Client, writer: usize, counts: &Counts) -> Vec<String> {
    let mut created = vec![];
    for number in 0.. {
        let id = format!("d-{writer}-{number}");
        let Ok(answer) = client.try_json("POST", STUDENTS, &student(&id, "Ada")) else { break };
        assert_eq!(answer.status, 201, "{answer:?}");
        created.push(id);
        Counts::add(&counts.documents);
    }
    created
}

/// Commits until the connection breaks. Returns the number of the last commit that was acknowledged.
fn commit(mut client: Client, (launch, session): &Opened, counts: &Counts) -> u32 {
    let text = [("content-type", "text/plain;charset=UTF-8")];
    for sequence in 1.. {
        let location = json!({ "cmi.core.lesson_location": format!("p{sequence}") });
        let commit = json!({ "session": session, "sequence": sequence, "cmi": location });
        let (path, body) = (format!("{launch}/results"), commit.to_string());
        let Ok(answer) = client.send("POST", &path, &text, Some(body.as_bytes())) else {
            return sequence - 1;
        };
        assert_eq!(answer.status, 200, "{answer:?}");
        Counts::add(&counts.commits);
    }
    0
}

/// Uploads files and has them loaded until the connection breaks. Returns what was acknowledged of them.
fn upload(mut client: Client, uploader: usize, counts: &Counts) -> Vec<Upload> {
    let mut uploads = vec![];
    for number in 0.. {
        let student = format!("u-{uploader}-{number}");
        let text = file_of(&student);
        let Ok(mut upload) = begin(&mut client, &student, &text) else { break };
        let sent = send_all(&mut client, &mut upload, &text);
        uploads.push(upload);
        if sent.is_err() {
            break;
        }
        Counts::add(&counts.uploads);
        let Some(earlier) = uploads.len().checked_sub(OPEN) else { continue };
        if until_ended(&mut client, &uploads[earlier]).is_err() {
            break;
        }
    }
    uploads
}

/// Commits the uploads that have their chunk and were not committed, and waits until all are loaded: what was
/// acknowledged is there, be it an operation, a chunk or a job.
fn all_are_loaded(client: &mut Client, uploads: &[Upload]) {
    for upload in uploads {
        let now = status(client, upload).unwrap();
        let is_open = ["Initialized", "Incomplete"].contains(&now.as_str());
        assert!(!is_open || !upload.is_committed, "{} is {now}", upload.student);
        if is_open && upload.has_chunk {
            commit_upload(client, upload).unwrap();
        }
    }
    for upload in uploads.iter().filter(|upload| upload.has_chunk) {
        let ended = until_ended(client, upload).unwrap();
        assert_eq!(ended, "Completed", "{}", upload.student);
    }
}

/// Returns the folder of a place's blobs.
fn blobs(place: &Place) -> PathBuf {
    let beside_file = place.store_url().starts_with("sqlite:");
    place.data().join(if beside_file { "homeroom.db.blobs" } else { "blobs" })
}

/// Returns what is in a folder, if it is there.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns the ids of all blobs that have bytes.
fn stored_blobs(place: &Place) -> BTreeSet<String> {
    let folder = blobs(place);
    let parts =
        names(&folder).into_iter().filter(|name| !["store", "unfinished"].contains(&&**name));
    parts.flat_map(|part| names(&folder.join(part))).collect()
}

/// Returns the ids of all blobs that have rows, in a store that no server has open.
fn named(place: &Place) -> BTreeSet<String> {
    let url: StoreUrl = place.store_url().parse().unwrap();
    let store = Store::open(&Options::new(url)).unwrap();
    let rows = store.query_blocking(Sql::new("SELECT id FROM blob WHERE removed IS NULL", vec![]));
    let ids = rows.unwrap().iter().map(|row| row[0].as_text().unwrap().to_owned()).collect();
    store.close();
    ids
}
