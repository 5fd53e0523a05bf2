//! Ordinary clients: a few keys, requests on a schedule. Most keep a connection; some connect again
//! for each request.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::random::Random;
use crate::soak::client::Client;
use crate::soak::load::{PUBLISHED, student};
use crate::soak::server::Server;

/// The number of ordinary clients.
const CLIENTS: usize = 6;
/// How many of them have a key of their own; the others share one.
const OWN_KEYS: usize = 2;
/// One client in this many connects again for each request.
const ANEW_EVERY: usize = 3;
/// The most complaints that are kept.
const COMPLAINTS_MAX: usize = 5;
const PATH: &str = "/data/v3/ed-fi/students";

/// The next number for a document, unique over all clients.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Ordinary clients that have not started yet.
pub struct Ordinary {
    clients: Vec<Client>,
    /// The body of a token request.
    token_request: String,
    /// The paths of documents to read.
    paths: Vec<String>,
    pause: Duration,
}

/// The measurements of ordinary clients.
#[derive(Debug, Default)]
pub struct Seen {
    /// How long answers took from the moment their requests were due, in microseconds.
    micros: Vec<u64>,
    statuses: BTreeMap<u16, u64>,
    /// Requests that were due.
    pub due: u64,
    /// Requests that got no answer.
    pub broken: u64,
    /// The first unexpected answers.
    pub complaints: Vec<String>,
}

impl Ordinary {
    /// Returns clients that together send `rate` requests per second.
    pub fn new(server: &Server, binary: &Path, rate: f64) -> Result<Self, String> {
        let client = |number| {
            if number < OWN_KEYS { server.another(binary) } else { server.client() }
        };
        let clients: Vec<Client> = (0..CLIENTS).map(client).collect::<Result<_, _>>()?;
        let mut first = server.client()?;
        let listed = first.send("GET", &format!("{PATH}?limit=200"), None);
        let listed = listed.map_err(|error| format!("no list: {error}"))?;
        let listed: Value = serde_json::from_slice(&listed.body).unwrap_or_default();
        let ids = listed.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
        let paths: Vec<String> = ids.map(|id| format!("{PATH}/{id}")).collect();
        if paths.is_empty() {
            return Err("the district has no students".into());
        }
        let pause = Duration::from_secs_f64(CLIENTS as f64 / rate);
        Ok(Self { clients, token_request: server.token_request(), paths, pause })
    }

    /// Starts the clients.
    pub fn start<'s>(
        self,
        scope: &'s Scope<'s, '_>,
        over: &'s AtomicBool,
    ) -> Vec<ScopedJoinHandle<'s, Seen>> {
        let Self { clients, token_request, paths, pause } = self;
        clients
            .into_iter()
            .enumerate()
            .map(|(number, client)| {
                let (paths, request) = (paths.clone(), token_request.clone());
                scope.spawn(move || send(number, client, &paths, &request, pause, over))
            })
            .collect()
    }
}

fn send(
    number: usize,
    mut client: Client,
    paths: &[String],
    token_request: &str,
    pause: Duration,
    over: &AtomicBool,
) -> Seen {
    let (mut seen, mut random) = (Seen::default(), Random::of(number as u64 + 1));
    let mut due = Instant::now() + pause.mul_f64(number as f64 / CLIENTS as f64);
    while !over.load(Ordering::Acquire) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if number.is_multiple_of(ANEW_EVERY) {
            client.leave();
        }
        let path = &paths[random.below(paths.len())];
        let answer = match random.below(100) {
            0 => client.ask_for_token(token_request),
            1..30 => client.send("GET", path, None),
            30..60 => client.send("GET", &path.replace("/data/v3", PUBLISHED), None),
            60..80 => client.send("GET", &format!("{PATH}?limit=25"), None),
            _ => {
                let id = format!("ordinary-{}", NEXT.fetch_add(1, Ordering::Relaxed));
                client.send("POST", PATH, Some(&student(&id, "Ada")))
            }
        };
        // The time of an answer counts from when its request was due, so requests that wait behind
        // a slow one are late as well.
        seen.due += 1;
        match answer {
            Ok(answer) => {
                let micros = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
                seen.micros.push(micros);
                *seen.statuses.entry(answer.status).or_default() += 1;
                if answer.status >= 400 {
                    let body = String::from_utf8_lossy(&answer.body).into_owned();
                    seen.complain(format!("{}: {body}", answer.status));
                }
            }
            Err(error) => {
                seen.broken += 1;
                seen.complain(error.to_string());
            }
        }
        due += pause;
    }
    // Requests that were due but not sent, because answers came too late.
    let late = Instant::now().saturating_duration_since(due);
    seen.due += u64::try_from(late.as_micros() / pause.as_micros().max(1)).unwrap_or(0);
    seen
}

impl Seen {
    /// Returns the result of a client that panicked, which counts as a broken request.
    pub fn panicked() -> Self {
        Self { broken: 1, complaints: vec!["a client panicked".into()], ..Self::default() }
    }

    /// Adds the measurements of another client.
    pub fn merge(&mut self, other: Self) {
        self.micros.extend(other.micros);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.due += other.due;
        self.broken += other.broken;
        other.complaints.into_iter().for_each(|complaint| self.complain(complaint));
    }

    fn complain(&mut self, what: String) {
        if self.complaints.len() < COMPLAINTS_MAX {
            self.complaints.push(what.chars().take(160).collect());
        }
    }

    /// Returns how many answers have a status that satisfies `is`.
    pub fn count(&self, is: impl Fn(u16) -> bool) -> u64 {
        self.statuses.iter().filter(|(status, _)| is(**status)).map(|(_, count)| count).sum()
    }

    /// Returns the number of answers.
    pub fn total(&self) -> u64 {
        self.count(|_| true)
    }

    /// Returns the 99th percentile in milliseconds.
    pub fn p99_ms(&self) -> f64 {
        self.quantile_ms(99)
    }

    /// Returns a percentile in milliseconds.
    pub fn quantile_ms(&self, percent: usize) -> f64 {
        let mut sorted = self.micros.clone();
        sorted.sort_unstable();
        let at = (percent * sorted.len()).div_ceil(100);
        sorted.get(at.saturating_sub(1)).map_or(0.0, |micros| *micros as f64 / 1_000.0)
    }

    /// Returns the statuses and how often each came.
    pub fn statuses(&self) -> String {
        let all = self.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        all.collect::<Vec<_>>().join(", ")
    }
}
