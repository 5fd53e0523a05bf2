//! A server whose disk is full for a moment, and that is then killed, while all of its parts write at once:
//! documents, commits of courses, uploads with their blobs, the jobs that load these, and tokens that are revoked.

mod uploads;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use homeroom_course::sample_package;
use homeroom_store::{Options, Sql, Store, StoreUrl};
use serde_json::json;

use uploads::{
    Upload, begin, chunk_path, commit_upload, file_of, send_all, status, until_ended, until_taken,
};

use crate::durability::{all_students, as_read};
use crate::support::{
    Client, Faults, Learning, Place, Random, STUDENTS, Server, Wire, eventually, metric, student,
};

/// How many write documents, commit and upload at the same time.
const WRITERS: usize = 8;
const LEARNERS: usize = 4;
const UPLOADERS: usize = 3;
/// Uploads of one uploader that need not have been loaded before it begins the next.
const OPEN: usize = 4;
/// The server is killed when so many documents, commits, uploads, jobs and revocations have been acknowledged.
const ENOUGH: [usize; 5] = [300, 60, 12, 3, 10];
/// Fewer tokens than one key may revoke, and the pause after each: more time than the test has.
const REVOCATIONS_MAX: usize = 990;
const BETWEEN_REVOCATIONS: Duration = Duration::from_millis(70);
/// The first name of all students.
const NAME: &str = "Ada";
/// A student that is refused while the disk is full.
const REFUSED: &str = "refused";
/// How long the disk is full.
const FULL: Duration = Duration::from_millis(400);
/// Longer than it takes to write a whole chunk.
const STAYS: Duration = Duration::from_millis(300);
/// Jobs of a killed node in a database are taken over after this time.
const LEASE: (&str, &str) = ("HOMEROOM_JOBS__LEASE", "3s");

/// How many writes have been acknowledged so far.
#[derive(Default)]
struct Counts {
    documents: AtomicUsize,
    commits: AtomicUsize,
    uploads: AtomicUsize,
    /// Jobs whose end was seen.
    jobs: AtomicUsize,
    revocations: AtomicUsize,
}

impl Counts {
    fn add(one: &AtomicUsize) {
        one.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns all of them, in the order of [`ENOUGH`].
    fn now(&self) -> [usize; ENOUGH.len()] {
        [&self.documents, &self.commits, &self.uploads, &self.jobs, &self.revocations]
            .map(|count| count.load(Ordering::Relaxed))
    }

    fn are_enough(&self) -> bool {
        self.now().iter().zip(ENOUGH).all(|(count, enough)| *count >= enough)
    }

    /// Returns whether each has grown since.
    fn have_grown(&self, before: [usize; ENOUGH.len()]) -> bool {
        self.now().iter().zip(before).all(|(count, before)| *count > before)
    }
}

/// What the server has acknowledged.
struct Acknowledged {
    /// The students whose creation the server has answered with 201, of all rounds.
    documents: Vec<Created>,
    /// The last commit of each learner.
    commits: Vec<u32>,
    uploads: Vec<Upload>,
    /// Tokens that were revoked.
    tokens: Vec<String>,
}

/// A student that was created.
struct Created {
    id: String,
    etag: String,
}

/// A course that was opened: the path of its launch, and its session.
type Opened = (String, String);

#[test]
fn what_all_parts_have_acknowledged_survives_kill_9_and_no_blob_is_without_its_row() {
    let rounds = if std::env::var_os("HOMEROOM_LONG").is_some() { 5 } else { 1 };
    Place::on_each_store(|place| {
        let mut random = Random::seeded();
        let key = place.key("FullAccess");
        let mut documents = vec![];
        for round in 0..rounds {
            let more = Duration::from_millis(if rounds > 1 { random.below(3_000) } else { 0 });
            println!("round {round}: kill -9 {more:?} after enough of all is acknowledged");
            survives(place, &key, round, more, &mut documents);
        }
    });
}

/// Kills a server once, and compares what the next one has with what was acknowledged; `documents` are those of
/// earlier rounds, too.
fn survives(
    place: &Place,
    key: &(String, String),
    round: u32,
    more: Duration,
    documents: &mut Vec<Created>,
) {
    let of_tokens = &place.key("FullAccess");
    let faults = &Faults::none(place);
    faults.end();
    let [preload, control] = faults.environment();
    let server = Server::start_with(place, &[LEASE, preload, control]);
    let mut lms = Learning::of(place, &server);
    let course = format!("library-{round}");
    assert_eq!(lms.import(&course, &sample_package())["status"], "COMPLETE");
    let registrations: Vec<String> = (0..LEARNERS).map(|of| format!("r-{round}-{of}")).collect();
    let opened = registrations.iter().map(|one| open(&mut lms, one, &course)).collect();
    let unfinished = blobs(place).join("unfinished");

    let in_file = beside_file(place);
    let acknowledged =
        Attack { round, key, of_tokens, opened, unfinished: &unfinished, faults, in_file }
            .until_killed(server, more);

    assert!(!names(&unfinished).is_empty(), "it was killed while a blob was written");
    let server = Server::start_with(place, &[LEASE]);
    let mut client = server.client_of(key);
    // First of all, before anything could be done a second time.
    for upload in &acknowledged.uploads {
        let Some(ended) = &upload.ended else { continue };
        assert_eq!(&status(&mut client, upload).unwrap(), ended, "{}", upload.student);
    }
    for token in &acknowledged.tokens {
        let mut client = server.client();
        client.token = Some(token.clone());
        assert_eq!(client.get(STUDENTS).status, 401, "a token that was revoked");
    }
    let mut lms = Learning::of(place, &server);
    for (registration, commit) in registrations.iter().zip(&acknowledged.commits) {
        let found = lms.get(&format!("/registrations/{registration}?includeRuntime=true"));
        let location = &found["activityDetails"]["runtime"]["location"];
        // The next one may have been stored without an answer.
        let either = [format!("p{commit}"), format!("p{}", commit + 1)];
        assert!(either.iter().any(|one| location == one), "{either:?}: {found}");
    }
    all_are_loaded(&mut client, &acknowledged.uploads);
    documents.extend(acknowledged.documents);
    let stored = all_students(&mut client);
    for Created { id, etag } in &*documents {
        let found = stored.get(id).unwrap_or_else(|| panic!("{id} of {} is lost", stored.len()));
        assert_eq!(found, &as_read(found, id, NAME));
        assert_eq!(found["_etag"], **etag, "{id}");
    }
    assert!(stored.values().all(|one| one["studentUniqueId"] != REFUSED), "what was refused");
    for upload in acknowledged.uploads.iter().filter(|upload| upload.has_chunk) {
        assert_eq!(stored[&upload.student]["firstName"], "A", "{}", upload.student);
    }
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(place.json(&["doctor", "--json"])["problems"], json!([]));

    let named = named(place);
    let server = Server::start_with(place, &[("HOMEROOM_BLOBS__GRACE", "1s")]);
    eventually("what belongs to nobody is swept", || {
        names(&unfinished).is_empty() && stored_blobs(place) == named
    });
    assert_eq!(server.stop().code, Some(0));
    assert_eq!(place.json(&["doctor", "--json"])["problems"], json!([]));
}

/// Registers a learner and opens the course.
fn open(lms: &mut Learning, registration: &str, course: &str) -> Opened {
    lms.register(registration, course);
    let launch = lms.launch(registration);
    let session = lms.boot(&launch)["session"].as_str().unwrap().to_owned();
    (launch, session)
}

/// Those that write at once, until the server is killed.
struct Attack<'a> {
    round: u32,
    key: &'a (String, String),
    /// The key whose tokens are revoked.
    of_tokens: &'a (String, String),
    opened: Vec<Opened>,
    unfinished: &'a Path,
    faults: &'a Faults,
    /// Whether the store is a file.
    in_file: bool,
}

impl Attack<'_> {
    /// Writes everything at once, and kills the server in the middle of it.
    fn until_killed(&self, server: Server, more: Duration) -> Acknowledged {
        let (counts, round) = (&Counts::default(), self.round);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let client = server.client_of(self.key);
                    scope.spawn(move || create(client, &format!("d-{round}-{writer}"), counts))
                })
                .collect();
            let learners: Vec<_> = self
                .opened
                .iter()
                .map(|opened| {
                    let client = server.client();
                    scope.spawn(move || commit(client, opened, counts))
                })
                .collect();
            let uploaders: Vec<_> = (0..UPLOADERS)
                .map(|uploader| {
                    let client = server.client_of(self.key);
                    scope.spawn(move || upload(client, &format!("u-{round}-{uploader}"), counts))
                })
                .collect();
            let client = server.client();
            let revoking = scope.spawn(move || revoke(client, self.of_tokens, counts));
            let has_failed = || {
                writers.iter().any(ScopedJoinHandle::is_finished)
                    || learners.iter().any(ScopedJoinHandle::is_finished)
                    || uploaders.iter().any(ScopedJoinHandle::is_finished)
                    || revoking.is_finished()
            };
            eventually("one of each is acknowledged", || has_failed() || counts.have_grown([0; 5]));
            self.fill_the_disk(&server);
            let forgotten = || metric(&server, "homeroom_store_forgotten_total");
            let (before, begun) = (forgotten(), counts.now());
            eventually("enough of all is acknowledged", || {
                has_failed() || (counts.are_enough() && counts.have_grown(begun))
            });
            std::thread::sleep(more);
            assert_eq!(forgotten(), before, "no part makes the writer forget what it remembers");
            let mut half = self.half_of_a_chunk(&server);
            server.kill();
            half.rest();
            assert!(counts.are_enough(), "somebody gave up before");
            let documents = writers.into_iter().flat_map(|thread| thread.join().unwrap());
            Acknowledged {
                documents: documents.collect(),
                commits: learners.into_iter().map(|thread| thread.join().unwrap()).collect(),
                uploads: uploaders.into_iter().flat_map(|thread| thread.join().unwrap()).collect(),
                tokens: revoking.join().unwrap(),
            }
        })
    }

    /// Lets the disk be full for a moment, in which what needs it is refused. PostgreSQL's own disk is not the
    /// server's, which has only blobs on its disk then.
    fn fill_the_disk(&self, server: &Server) {
        let mut client = server.client_of(self.key);
        let text = file_of(REFUSED);
        let upload = begin(&mut client, REFUSED, &text).unwrap();
        let path = if self.in_file { "path homeroom.db" } else { "path blobs" };
        self.faults.order(&[path, "write enospc"]);

        let octets = [("content-type", "application/octet-stream")];
        let chunk = chunk_path(&upload, &text);
        let chunk = client.send("POST", &chunk, &octets, Some(text.as_bytes())).unwrap();
        assert_eq!(chunk.status, 503, "{chunk:?}");
        if self.in_file {
            let document = client.post(STUDENTS, &student(REFUSED, NAME));
            assert_eq!(document.status, 503, "{document:?}");
        }
        std::thread::sleep(FULL);

        self.faults.end();
        eventually("the disk has room again", || client.get("/readyz").status == 200);
    }

    /// Sends the first half of a chunk, and waits until it is being written. The connection stays open.
    fn half_of_a_chunk(&self, server: &Server) -> Wire {
        let mut client = server.client_of(self.key);
        let text = file_of("half");
        let upload = begin(&mut client, "half", &text).unwrap();
        let octets = [("content-type", "application/octet-stream")];
        let head = client.head("POST", &chunk_path(&upload, &text), &octets, Some(text.len()));
        let mut wire = server.wire();
        wire.send(head);
        wire.send(&text[..text.len() / 2]);
        // Whole chunks are written meanwhile; what stays is this one.
        let (mut since, mut stay) = (Instant::now(), names(self.unfinished));
        eventually("half a chunk is written", || {
            let now = names(self.unfinished);
            stay.retain(|name| now.contains(name));
            if stay.is_empty() {
                (since, stay) = (Instant::now(), now);
            }
            !stay.is_empty() && since.elapsed() > STAYS
        });
        wire
    }
}

/// Creates students until the connection breaks. Returns those that were acknowledged.
fn create(mut client: Client, prefix: &str, counts: &Counts) -> Vec<Created> {
    let mut created = vec![];
    for number in 0.. {
        let id = format!("{prefix}-{number}");
        let body = student(&id, NAME);
        let sent = until_taken(|| client.try_json("POST", STUDENTS, &body));
        let Ok(answer) = sent else { break };
        assert_eq!(answer.status, 201, "{answer:?}");
        let etag = answer.header("etag").unwrap().trim_matches('"').to_owned();
        created.push(Created { id, etag });
        Counts::add(&counts.documents);
    }
    created
}

/// Gets tokens and revokes them until the connection breaks. Returns those whose end was acknowledged.
fn revoke(mut client: Client, (key, secret): &(String, String), counts: &Counts) -> Vec<String> {
    let asked = json!({
        "grant_type": "client_credentials", "client_id": key, "client_secret": secret,
    });
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let mut revoked = vec![];
    while revoked.len() < REVOCATIONS_MAX {
        let issued = until_taken(|| client.try_json("POST", "/oauth/token", &asked));
        let Ok(issued) = issued else { break };
        assert_eq!(issued.status, 200, "{issued:?}");
        let token = issued.json()["access_token"].as_str().unwrap().to_owned();
        let body = format!("token={token}&client_id={key}&client_secret={secret}");
        let sent =
            until_taken(|| client.send("POST", "/oauth/revoke", &form, Some(body.as_bytes())));
        let Ok(answer) = sent else { break };
        assert_eq!(answer.status, 200, "{answer:?}");
        revoked.push(token);
        Counts::add(&counts.revocations);
        std::thread::sleep(BETWEEN_REVOCATIONS);
    }
    revoked
}

/// Commits until the connection breaks. Returns the number of the last commit that was acknowledged.
fn commit(mut client: Client, (launch, session): &Opened, counts: &Counts) -> u32 {
    let text = [("content-type", "text/plain;charset=UTF-8")];
    for sequence in 1.. {
        let location = json!({ "cmi.core.lesson_location": format!("p{sequence}") });
        let commit = json!({ "session": session, "sequence": sequence, "cmi": location });
        let (path, body) = (format!("{launch}/results"), commit.to_string());
        let sent = until_taken(|| client.send("POST", &path, &text, Some(body.as_bytes())));
        let Ok(answer) = sent else { return sequence - 1 };
        assert_eq!(answer.status, 200, "{answer:?}");
        Counts::add(&counts.commits);
    }
    0
}

/// Uploads files and has them loaded until the connection breaks. Returns what was acknowledged of them.
fn upload(mut client: Client, prefix: &str, counts: &Counts) -> Vec<Upload> {
    let mut uploads = vec![];
    for number in 0.. {
        let student = format!("{prefix}-{number}");
        let text = file_of(&student);
        let Ok(mut upload) = begin(&mut client, &student, &text) else { break };
        let sent = send_all(&mut client, &mut upload, &text);
        uploads.push(upload);
        if sent.is_err() {
            break;
        }
        Counts::add(&counts.uploads);
        let Some(earlier) = uploads.len().checked_sub(OPEN) else { continue };
        let Ok(ended) = until_ended(&mut client, &uploads[earlier]) else { break };
        uploads[earlier].ended = Some(ended);
        Counts::add(&counts.jobs);
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
    place.data().join(if beside_file(place) { "homeroom.db.blobs" } else { "blobs" })
}

/// Returns whether the store of a place is a file.
fn beside_file(place: &Place) -> bool {
    place.store_url().starts_with("sqlite:")
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
