//! The load: well-behaved clients on a schedule, and misbehaving ones.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Answer;
use super::server::Server;
use crate::random::Random;

/// The number of well-behaved clients.
const CLIENTS: usize = 8;
/// The number of documents that each of them keeps.
const DOCUMENTS: usize = 250;
/// The number of misbehaving clients, each active once a second.
const OTHERS: usize = 3;

const STUDENTS: &str = "/data/v3/ed-fi/students";
/// The data API as a published API.
pub const PUBLISHED: &str = "/apis/ods/v3";

/// A load on a server.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// The server under load.
    pub server: &'a Server,
    /// The counts of the load.
    pub tally: &'a Tally,
    /// Set when the load must end.
    pub is_over: &'a AtomicBool,
    /// The requests per second of all well-behaved clients together.
    pub rate: f64,
}

/// The results of the requests.
#[derive(Debug, Default)]
pub struct Tally {
    /// Answers by the first digit of the status: 2xx at 2.
    pub answers: [AtomicU64; 6],
    /// Requests that got no answer.
    pub broken: AtomicU64,
    /// The number of actions of misbehaving clients.
    pub strange: AtomicU64,
    /// The longest time of an answer since the last sample, in microseconds.
    pub slowest: AtomicU64,
    /// The first unexpected answers.
    pub complaints: Mutex<Vec<String>>,
}

impl Tally {
    /// Returns the number of answers.
    pub fn total(&self) -> u64 {
        self.answers.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns the counts as JSON.
    pub fn json(&self) -> Value {
        let answers: Vec<u64> = self.answers.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        json!({
            "answers": answers,
            "broken": self.broken.load(Ordering::Relaxed),
            "strange": self.strange.load(Ordering::Relaxed),
        })
    }

    fn complain(&self, what: String) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.len() < 10 {
            complaints.push(what);
        }
    }

    fn count(&self, what: &str, begun: Instant, answer: &std::io::Result<Answer>) {
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.slowest.fetch_max(micros, Ordering::Relaxed);
        match answer {
            Ok(answer) => {
                let class = usize::from(answer.status / 100).min(5);
                self.answers[class].fetch_add(1, Ordering::Relaxed);
                if class >= 4 {
                    let body = String::from_utf8_lossy(&answer.body);
                    self.complain(format!("{what}: {} {body}", answer.status));
                }
            }
            Err(error) => {
                self.broken.fetch_add(1, Ordering::Relaxed);
                self.complain(format!("{what}: {error}"));
            }
        }
    }
}

impl<'a> Load<'a> {
    /// Starts all clients.
    pub fn start<'s>(self, scope: &'s Scope<'s, '_>)
    where
        'a: 's,
    {
        for number in 0..CLIENTS {
            scope.spawn(move || self.behave(number));
        }
        for number in 0..OTHERS {
            scope.spawn(move || self.misbehave(number));
        }
    }

    /// Writes the documents that every client begins with.
    pub fn fill(&self) -> Result<(), String> {
        let mut client = self.server.client()?;
        for id in (0..CLIENTS).flat_map(|client| (0..DOCUMENTS).map(move |at| name(client, at))) {
            let answer = client.send("POST", STUDENTS, Some(&student(&id, "Ada")));
            let answer = answer.map_err(|error| error.to_string())?;
            if answer.status != 201 {
                return Err(format!("a first document: {}", answer.status));
            }
        }
        Ok(())
    }

    /// Returns how many documents there should be and how many there are.
    pub fn stored(&self) -> Result<(u64, u64), String> {
        let mut client = self.server.client()?;
        let path = format!("{STUDENTS}?limit=1&totalCount=true");
        let answer = client.send("GET", &path, None).map_err(|error| error.to_string())?;
        Ok(((CLIENTS * DOCUMENTS) as u64, answer.total.unwrap_or(0)))
    }

    /// Sends requests on schedule, one after another.
    fn behave(self, number: usize) {
        let pause = Duration::from_secs_f64(CLIENTS as f64 / self.rate);
        let mut random = Random::of(number as u64 + 1);
        let mut own: VecDeque<String> = (0..DOCUMENTS).map(|at| name(number, at)).collect();
        let (mut next, mut paths) = (DOCUMENTS, VecDeque::<String>::new());
        let Ok(mut client) = self.server.client() else {
            return self.tally.complain("no token at the start".into());
        };
        let mut due = Instant::now() + pause.mul_f64(number as f64 / CLIENTS as f64);
        while !self.is_over.load(Ordering::Acquire) {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let what = random.below(100);
            let one = own[random.below(own.len())].clone();
            let begun = due;
            let mut send = |what: &str, method: &str, path: &str, body: Option<&str>| {
                let answer = client.send(method, path, body);
                self.tally.count(what, begun, &answer);
                answer.ok()
            };
            match what {
                0..40 => {
                    if let Some(path) = paths.get(random.below(paths.len().max(1))) {
                        let published = path.replace("/data/v3", PUBLISHED);
                        let path = if what < 15 { &published } else { path };
                        send("read", "GET", path, None);
                    }
                }
                40..52 => {
                    let offset = random.below(CLIENTS * DOCUMENTS);
                    let path = format!("{STUDENTS}?limit=50&offset={offset}&totalCount=true");
                    send("list", "GET", &path, None);
                }
                52..60 => {
                    let path = format!("{STUDENTS}?studentUniqueId={one}");
                    send("find", "GET", &path, None);
                }
                60..86 => {
                    let body = student(&one, &format!("Ada {}", random.below(1_000)));
                    let published = STUDENTS.replace("/data/v3", PUBLISHED);
                    let students = if what < 68 { &*published } else { STUDENTS };
                    let answer = send("update", "POST", students, Some(&body));
                    if let Some(path) = answer.and_then(|answer| answer.location) {
                        // What the published API has written, it says to be below itself.
                        paths.push_back(path.replace(PUBLISHED, "/data/v3"));
                        if paths.len() > DOCUMENTS / 2 {
                            paths.pop_front();
                        }
                    }
                }
                // Deletes a document and creates another, so their number stays the same.
                86..96 => {
                    let oldest = own.pop_front().expect("a client has documents");
                    let body = student(&oldest, "Gone");
                    let found = send("find to delete", "POST", STUDENTS, Some(&body));
                    if let Some(path) = found.and_then(|answer| answer.location) {
                        send("delete", "DELETE", &path, None);
                        paths.retain(|known| *known != path);
                    }
                    let fresh = name(number, next);
                    send("create", "POST", STUDENTS, Some(&student(&fresh, "New")));
                    own.push_back(fresh);
                    next += 1;
                }
                96..98 => {
                    send("metadata", "GET", "/metadata/data/v3/dependencies", None);
                }
                98 => {
                    send("nothing", "GET", "/", None);
                }
                _ => match self.server.client() {
                    Ok(fresh) => client.token = fresh.token,
                    Err(problem) => self.tally.complain(problem),
                },
            }
            due += pause;
        }
    }

    /// Is slow, disconnects, or sends nonsense; the answers are ignored.
    fn misbehave(self, number: usize) {
        let Ok(client) = self.server.client() else {
            return self.tally.complain("no token at the start".into());
        };
        let mut random = Random::of(number as u64 + 1_000);
        let body = student(&name(0, 0), "Ada 1");
        let write = client.request("POST", STUDENTS, Some(&body));
        let page = client.request("GET", &format!("{STUDENTS}?limit=500"), None);
        while !self.is_over.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(500 + random.below(1_000) as u64));
            self.tally.strange.fetch_add(1, Ordering::Relaxed);
            let Ok(mut wire) = client.connect() else { continue };
            match random.below(6) {
                // Disconnects in the middle of a request.
                0 => _ = wire.write_all(&write.as_bytes()[..random.below(write.len())]),
                // Disconnects in the middle of an answer.
                1 => {
                    _ = wire.write_all(page.as_bytes());
                    _ = wire.read(&mut vec![0; 1 + random.below(20_000)]);
                }
                // Does not read at all.
                2 => {
                    _ = wire.write_all(page.repeat(20).as_bytes());
                    std::thread::sleep(Duration::from_secs(3));
                }
                // Sends one byte at a time.
                3 => {
                    for byte in page.bytes() {
                        if wire.write_all(&[byte]).is_err() {
                            break;
                        }
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    _ = wire.read(&mut [0; 100]);
                }
                4 => _ = wire.write_all(b"\x16\x03\x01 hello\r\n\r\n"),
                // Sends nothing for a while.
                _ => std::thread::sleep(Duration::from_secs(2)),
            }
        }
    }
}

fn name(client: usize, at: usize) -> String {
    format!("s{client}-{at}")
}

/// Returns a student with the required members.
pub fn student(id: &str, first_name: &str) -> String {
    json!({
        "studentUniqueId": id,
        "firstName": first_name,
        "lastSurname": "Quill",
        "birthDate": "2012-05-17",
    })
    .to_string()
}
