//! The reads of a server of one size.

use std::time::Instant;

use serde_json::{Value, json};

use super::compared::{Figures, Kind, turn_of};
use super::sized::{Sized, count, spread_out};
use crate::bench::figures::measure;
use crate::bench::load::{LabLoad, Scenario};
use crate::bench::options::Options;
use crate::bench::population::Population;
use crate::bench::server::{Client, Server};
use crate::bench::work::{ATTENDANCE, RELATIONSHIPS, claim_set, reads};
use crate::house::Done;
use crate::soak::client;

/// One of so many documents is read by id, or all while there are fewer than the second number.
const READ: usize = 50;
const READ_MIN: usize = 10_000;
/// The documents that are read over and over.
const WARM: usize = 1_000;
/// The requests a second of the moderate rate.
const RATE: u32 = 2_000;
/// The clients that read without a pause.
const USERS: u32 = 16;
/// The pages of a kind in a round: they begin at as many places between 70 and 90 % depth.
const PAGES: usize = 40;

/// Keys with as many schools each, at places of their own.
const CALLERS: usize = 8;

/// A server with what is asked of it.
pub struct Served {
    server: Server,
    everybody: Client,
    events: usize,
    /// The paths of documents by id.
    stored: Vec<String>,
    pages: Vec<Pages>,
}

/// Pages of one kind.
struct Pages {
    what: String,
    /// Who asks for them, by turns.
    askers: Vec<client::Client>,
    from: From,
    /// What each of them took, in milliseconds.
    times: Vec<f64>,
    /// The documents of a round's pages.
    documents: usize,
    /// The bytes that the server had read from the disk before this round's pages.
    read_before: u64,
}

/// Where pages of a list begin.
enum From {
    /// At its start.
    Start(String),
    /// At an offset near 80 %.
    Offset(&'static str),
    /// At page tokens; each is followed by the next page's.
    Tokens(String, Vec<String>),
}

impl Served {
    /// Finds what is to be read, and starts a server that has read nothing of it.
    pub fn start(options: &Options, store: &Sized) -> Result<Self, String> {
        let server = Server::start(&store.build, &store.data, &options.environment)?;
        let client = server.client(&["--claim-set", "FullAccess"])?;
        let events = count(&client, ATTENDANCE.path)?;
        let stored = spread_out(&client, events, (events / READ).max(READ_MIN.min(events)))?;
        drop(server);

        let server = Server::start(&store.build, &store.data, &options.environment)?;
        let everybody = server.client(&["--claim-set", "FullAccess"])?;
        let resources = ["student", "studentSchoolAssociation", "studentSchoolAttendanceEvent"];
        claim_set(&options.folder, &server, "Related", RELATIONSHIPS, &resources)?;
        let mut pages = vec![];
        let mut push = |what: &str, askers: &[Client], from| {
            let askers = askers.iter().map(Client::kept).collect();
            let what = what.to_owned();
            pages.push(Pages { what, askers, from, times: vec![], documents: 0, read_before: 0 });
        };
        let all = std::slice::from_ref(&everybody);
        let cursor = From::deep(&everybody, ATTENDANCE.path)?;
        push("page of 500 around 80 % depth by cursor", all, cursor);
        let offset = From::Offset(ATTENDANCE.path);
        push("page of 500 around 80 % depth by offset", all, offset);
        for wanted in [1, 100] {
            let callers = callers(&server, store, wanted)?;
            for endpoint in
                ["students", "studentSchoolAssociations", "studentSchoolAttendanceEvents"]
            {
                let path = format!("/data/v3/ed-fi/{endpoint}");
                let what = format!("list of 500 {endpoint} for {wanted} of the schools");
                let deep = From::deep(&everybody, &path)?;
                push(&format!("{what}, start"), &callers, From::Start(path));
                push(&format!("{what}, around 80 % depth by cursor"), &callers, deep);
            }
        }
        Ok(Self { server, everybody, events, stored, pages })
    }

    /// Reads by id at a moderate rate, each document once, then without a pause, then a few over and over.
    pub fn by_id(&self, options: &Options, round: usize, at: usize, figures: &mut Figures) -> Done {
        let (url, pids) = (self.server.url(""), [self.server.pid()]);
        let load =
            LabLoad { users: USERS, threads: 1, seconds: options.seconds, folder: &options.folder };
        // A few more than are read, so that the pool does not become empty.
        let once = RATE as usize * options.seconds as usize * 11 / 10;
        let apart = self.stored.len() / once;
        let once = match apart {
            0 => reads("any", self.stored.iter().cloned()),
            _ => reads_once(self.stored.iter().skip(round % apart).step_by(apart)),
        };
        let at_rate = measure(&pids, || load.at_rate(&url, &once, &self.everybody, RATE))?;
        let all = reads("all", self.stored.iter().cloned());
        let number = u32::try_from(round + 1).map_err(|e| e.to_string())?;
        let most = measure(&pids, || load.run(&url, &all, &self.everybody, number))?;
        let apart = (self.stored.len() / WARM).max(1);
        let warm = reads("warm", self.stored.iter().step_by(apart).cloned());
        let warm = load.at_rate(&url, &warm, &self.everybody, RATE)?;
        let mut push = |what: &str, digits, kind, value| {
            figures.push(at, &format!("GET by id {what}"), digits, kind, value);
        };
        push("draws of, documents", 0, Kind::Told, self.stored.len() as f64);
        push(&format!("at {RATE}/s, p50 ms"), 3, Kind::Slower, at_rate.run.p50_ms);
        push(&format!("at {RATE}/s, p99 ms"), 3, Kind::Slower, at_rate.run.p99_ms);
        push(&format!("at {RATE}/s, CPU µs"), 1, Kind::Slower, at_rate.cpu_micros);
        push(&format!("by {USERS} clients, requests/s"), 0, Kind::Rarer, most.run.rate);
        push(&format!("by {USERS} clients, p50 ms"), 3, Kind::Slower, most.run.p50_ms);
        push(&format!("by {USERS} clients, p99 ms"), 3, Kind::Told, most.run.p99_ms);
        push(&format!("by {USERS} clients, CPU µs"), 1, Kind::Slower, most.cpu_micros);
        push(&format!("of {WARM} over and over at {RATE}/s, p50 ms"), 3, Kind::Told, warm.p50_ms);
        push(&format!("of {WARM} over and over at {RATE}/s, p99 ms"), 3, Kind::Told, warm.p99_ms);
        let failed = at_rate.run.errors + most.run.errors + warm.errors;
        push("that ended otherwise than expected", 0, Kind::Failed, failed);
        Ok(())
    }

    /// Reads pages of each kind, no two alike, over kept connections: a page of each store, by turns.
    pub fn pages(all: &mut [Self], round: usize, figures: &mut Figures) -> Done {
        let kinds = all.first().map_or(0, |served| served.pages.len());
        for kind in 0..kinds {
            for served in &mut *all {
                served.pages[kind].documents = 0;
                served.pages[kind].read_before = served.server.disk("read_bytes")?;
            }
            for number in 0..PAGES {
                for turn in 0..all.len() {
                    // So the pages of each caller begin at either end in turn.
                    let at = turn_of(turn, all.len(), number / CALLERS + round);
                    let ms = all[at].page(kind, number, round)?;
                    let what = format!("{}, ms", all[at].pages[kind].what);
                    figures.push(at, &what, 2, Kind::Slower, ms);
                }
            }
            for (at, Self { server, pages, .. }) in all.iter().enumerate() {
                let Pages { what, documents, read_before, .. } = &pages[kind];
                let mean = *documents as f64 / PAGES as f64;
                figures.push(at, &format!("{what}: documents of a page"), 1, Kind::Told, mean);
                let read = server.disk("read_bytes")?.saturating_sub(*read_before);
                let mean = read as f64 / PAGES as f64 / 1e3;
                figures.push(at, &format!("{what}: KB from the disk a page"), 1, Kind::Told, mean);
            }
        }
        Ok(())
    }

    /// Reads a page of a kind, and returns how many milliseconds it took.
    fn page(&mut self, kind: usize, number: usize, round: usize) -> Result<f64, String> {
        let Pages { askers, from, times, documents, .. } = &mut self.pages[kind];
        let path = from.path(number, round, self.events);
        let asker = number % askers.len();
        let begun = Instant::now();
        let answer = askers[asker].send("GET", &path, None).map_err(|e| e.to_string())?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        times.push(ms);
        if answer.status != 200 {
            return Err(format!("GET {path}: {}", answer.status));
        }
        let page: Vec<Value> =
            serde_json::from_slice(&answer.body).map_err(|e| format!("{path}: {e}"))?;
        *documents += page.len();
        if let (From::Tokens(_, tokens), Some(next)) = (from, answer.next) {
            tokens[number] = next;
        }
        Ok(ms)
    }

    /// Tells the 99th percentiles of the pages of all rounds.
    pub fn tails(&mut self, at: usize, figures: &mut Figures) {
        for Pages { what, times, .. } in &mut self.pages {
            times.sort_by(f64::total_cmp);
            if let Some(ms) = times.get(times.len() * 99 / 100) {
                figures.push(at, &format!("{what}, p99 ms of all rounds"), 2, Kind::Told, *ms);
            }
        }
    }
}

impl From {
    /// Returns page tokens around 80 % of a list.
    fn deep(everybody: &Client, path: &str) -> Result<Self, String> {
        let documents = count(everybody, path)?;
        let mut kept = everybody.kept();
        let tokens = (0..PAGES).map(|number| {
            let page = format!("{path}?offset={}&limit=1", around(documents, number));
            let answer = kept.send("GET", &page, None).map_err(|e| e.to_string())?;
            answer.next.ok_or_else(|| format!("GET {page}: {}, no next page", answer.status))
        });
        let tokens: Result<Vec<String>, String> = tokens.collect();
        Ok(Self::Tokens(path.to_owned(), tokens?))
    }

    fn path(&self, number: usize, round: usize, events: usize) -> String {
        match self {
            Self::Start(path) => format!("{path}?limit=500"),
            Self::Offset(path) => {
                let offset = around(events, number) + round * 500;
                format!("{path}?offset={offset}&limit=500")
            }
            Self::Tokens(path, tokens) => {
                format!("{path}?pageToken={}&pageSize=500", tokens[number])
            }
        }
    }
}

/// Returns one of `PAGES` places between 70 and 90 % of a list.
fn around(documents: usize, number: usize) -> usize {
    documents * (70 * PAGES + 20 * number) / (100 * PAGES)
}

/// Makes keys that may see what belongs to as many schools each.
fn callers(server: &Server, store: &Sized, wanted: usize) -> Result<Vec<Client>, String> {
    let present = store.population.schools;
    let schools = wanted.min(present);
    if schools < wanted {
        println!(
            "About {} documents have {schools} schools: too few to compare.\n",
            store.documents
        );
    }
    let callers = (0..CALLERS).map(|caller| {
        let from = (present - schools) * caller / CALLERS;
        let ids = Population::schools(from, from + schools);
        server.client(&["--claim-set", "Related", "--education-organizations", &ids])
    });
    callers.collect()
}

/// Returns a scenario that reads each of these once; should all have been read, the first again.
fn reads_once<'a>(paths: impl Iterator<Item = &'a String>) -> Scenario {
    let rows: Vec<Value> = paths.map(|path| json!({"path": path})).collect();
    let mut scenario = Scenario::new("once");
    scenario.pool("first", rows.iter().take(1).cloned().collect());
    scenario.pool("stored", rows);
    scenario.step(json!({
        "name": "read", "path": "${path}", "from": {"pool": "stored", "remove": true}, "expect": 200,
        "weight": 1e9,
    }));
    scenario.step(json!({
        "name": "again", "path": "${path}", "from": {"pool": "first"}, "expect": 200, "weight": 1e-9,
    }));
    scenario
}
