//! What a store costs to read when it has grown: the same reads on stores of several sizes, side by side.
//!
//! Each store has students in proportion to its size, a school for each hundred of them, an enrolment and thirty
//! attendance events for each. All servers run at the same time and are measured in turn, so the machine's mood
//! meets all of them. Documents that are read by id lie evenly over the whole resource; whose lists are
//! authorized may see as many documents at each size, which lie among ever more others. A run in which the
//! last size costs too many times what the first one does fails, after it has printed all figures.

mod compared;

use std::path::{Path, PathBuf};
use std::time::Instant;

use compared::{Figures, Kind};

use super::figures::measure;
use super::files::{lines, text};
use super::load::{LabLoad, Scenario};
use super::options::Options;
use super::population::Population;
use super::server::{Build, Client, STORE, Server};
use super::work::{ATTENDANCE, RELATIONSHIPS, claim_set, reads};
use crate::house::Done;

/// The documents of a student: itself, an enrolment and its events.
const OF_STUDENT: usize = 2 + EVENTS;
/// The attendance events of a student.
const EVENTS: usize = 30;
/// The students of a school.
const OF_SCHOOL: usize = 100;
/// The documents that are read by id.
const READ: usize = 10_000;
/// The requests a second of the moderate rate.
const RATE: u32 = 2_000;
/// The clients that read without a pause.
const USERS: u32 = 16;
/// The ports of the first server; each further one has the next two.
const PORT: u16 = 18_100;
/// How many requests a round has of each page.
const PAGES: usize = 10;

/// Measures each size in each round, and compares the last with the first.
pub fn run(options: &Options, district: &Path) -> Done {
    if std::env::var_os(STORE).is_some() {
        return Err("--growth measures stores in files: only these are loaded directly".into());
    }
    let mut figures = Figures::new(&options.sizes);
    let mut stores = vec![];
    for (at, size) in options.sizes.iter().enumerate() {
        let store = Sized::load(&options.folder, district, *size, at)?;
        figures.push(at, "load --direct, documents/s", 0, Kind::Told, store.documents_per_second);
        let bytes = store.file_bytes()? as f64 / store.documents as f64;
        figures.push(at, "documents", 0, Kind::Told, store.documents as f64);
        figures.push(at, "schools", 0, Kind::Told, store.population.schools as f64);
        figures.push(at, "bytes of the file a document", 1, Kind::Larger, bytes);
        stores.push(store);
    }
    for round in 0..=options.rounds {
        for (at, store) in stores.iter().enumerate() {
            let ms = Server::start(&store.build, &store.data, &[])?.seconds_to_ready * 1e3;
            // The first start after a load does not count.
            if round > 0 {
                figures.push(at, "start, ms to ready", 1, Kind::Slower, ms);
            }
        }
    }
    let served: Result<Vec<Served>, String> =
        stores.iter().map(|store| Served::start(options, store)).collect();
    let served = served?;
    for served in &served {
        served.by_id(options, None)?;
    }
    for _ in 0..options.rounds {
        for (at, served) in served.iter().enumerate() {
            served.by_id(options, Some((at, &mut figures)))?;
            served.pages(at, &mut figures)?;
        }
    }
    figures.judge()
}

/// A store of one size.
struct Sized {
    build: Build,
    data: PathBuf,
    population: Population,
    documents: usize,
    documents_per_second: f64,
}

impl Sized {
    /// Makes about as many documents and loads them with the district's descriptors. The files are removed again:
    /// ten million fill 4 GB.
    fn load(folder: &Path, district: &Path, size: usize, at: usize) -> Result<Self, String> {
        let (files, data) = (folder.join("growth-files"), folder.join(format!("growth-{size}")));
        let descriptors = descriptors(district, &files)?;
        let students = (size.saturating_sub(descriptors) / OF_STUDENT).max(1);
        let schools = (students / OF_SCHOOL).max(1);
        let population = Population { schools, students, events: EVENTS };
        population.write(district, &files)?;
        let port = u16::try_from(at * 2).map(|more| PORT + more).map_err(|e| e.to_string())?;
        let build = Build::present().beside([port, port + 1], None);
        let documents = population.documents() + descriptors;
        let begun = Instant::now();
        build.run(&["load", "--direct", text(&files), "--data-dir", text(&data)])?;
        let documents_per_second = documents as f64 / begun.elapsed().as_secs_f64();
        std::fs::remove_dir_all(&files).map_err(|e| e.to_string())?;
        Ok(Self { build, data, population, documents, documents_per_second })
    }

    fn file_bytes(&self) -> Result<u64, String> {
        let file = self.data.join("homeroom.db");
        Ok(std::fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.len())
    }
}

/// A server with what is asked of it.
struct Served {
    server: Server,
    everybody: Client,
    by_id: Scenario,
    /// What each page is, who asks for it, and its path.
    pages: Vec<(String, Asker, String)>,
    callers: Vec<Client>,
}

/// Who asks: everybody's key, or one of the keys with a part of the schools.
#[derive(Clone, Copy)]
enum Asker {
    Everybody,
    Caller(usize),
}

impl Served {
    fn start(options: &Options, store: &Sized) -> Result<Self, String> {
        let server = Server::start(&store.build, &store.data, &options.environment)?;
        let everybody = server.client(&["--claim-set", "FullAccess"])?;
        let events = store.population.students * store.population.events;
        let by_id = evenly(&everybody, events)?;
        let resources = ["student", "studentSchoolAssociation", "studentSchoolAttendanceEvent"];
        claim_set(&options.folder, &server, "Related", RELATIONSHIPS, &resources)?;
        let path = ATTENDANCE.path;
        let deep = everybody.last_fifth(path)?.ok_or("there are too few attendance events")?;
        let by_cursor = format!("{path}?pageToken={deep}&pageSize=500");
        let by_offset = format!("{path}?offset={}&limit=500", events * 8 / 10);
        let mut pages = vec![
            ("page of 500 at 80 % depth by cursor".into(), Asker::Everybody, by_cursor),
            ("page of 500 at 80 % depth by offset".into(), Asker::Everybody, by_offset),
        ];
        let mut callers = vec![];
        for wanted in [1, 100] {
            let schools = wanted.min(store.population.schools);
            if schools < wanted {
                println!(
                    "With {} documents there are {schools} schools: too few to compare.\n",
                    store.documents
                );
            }
            let from = (store.population.schools - schools) / 2;
            let ids = Population::schools(from, from + schools);
            let rights = ["--claim-set", "Related", "--education-organizations", &ids];
            callers.push(server.client(&rights)?);
            let caller = Asker::Caller(callers.len() - 1);
            for endpoint in
                ["students", "studentSchoolAssociations", "studentSchoolAttendanceEvents"]
            {
                let path = format!("/data/v3/ed-fi/{endpoint}");
                let what = format!("list of 500 {endpoint} for {wanted} of the schools");
                pages.push((format!("{what}, start"), caller, format!("{path}?limit=500")));
                if let Some(deep) = everybody.last_fifth(&path)? {
                    let deep = format!("{path}?pageToken={deep}&pageSize=500");
                    pages.push((format!("{what}, 80 % depth by cursor"), caller, deep));
                }
            }
        }
        Ok(Self { server, everybody, by_id, pages, callers })
    }

    /// Reads by id at a moderate rate and without a pause. Without figures, it only warms up.
    fn by_id(&self, options: &Options, figures: Option<(usize, &mut Figures)>) -> Done {
        let (url, pids) = (self.server.url(""), [self.server.pid()]);
        let load =
            LabLoad { users: USERS, threads: 1, seconds: options.seconds, folder: &options.folder };
        let at_rate = measure(&pids, || load.at_rate(&url, &self.by_id, &self.everybody, RATE))?;
        let most = measure(&pids, || load.run(&url, &self.by_id, &self.everybody, 1))?;
        let Some((at, figures)) = figures else { return Ok(()) };
        let mut push = |what: &str, digits, kind, value| {
            figures.push(at, &format!("GET by id {what}"), digits, kind, value);
        };
        push(&format!("at {RATE}/s, p50 ms"), 3, Kind::Slower, at_rate.run.p50_ms);
        push(&format!("at {RATE}/s, p99 ms"), 3, Kind::Slower, at_rate.run.p99_ms);
        push(&format!("at {RATE}/s, CPU µs"), 1, Kind::Slower, at_rate.cpu_micros);
        push(&format!("by {USERS} clients, requests/s"), 0, Kind::Rarer, most.run.rate);
        push(&format!("by {USERS} clients, p50 ms"), 3, Kind::Slower, most.run.p50_ms);
        push(&format!("by {USERS} clients, p99 ms"), 3, Kind::Told, most.run.p99_ms);
        push(&format!("by {USERS} clients, CPU µs"), 1, Kind::Slower, most.cpu_micros);
        let failed = at_rate.run.errors + most.run.errors;
        push("that ended otherwise than expected", 0, Kind::Told, failed);
        Ok(())
    }

    fn pages(&self, at: usize, figures: &mut Figures) -> Done {
        for (what, asker, path) in &self.pages {
            let client = match asker {
                Asker::Everybody => &self.everybody,
                Asker::Caller(number) => &self.callers[*number],
            };
            let found = client.ids(path)?.len();
            figures.push(at, &format!("{what}: documents"), 0, Kind::Told, found as f64);
            for _ in 0..PAGES {
                let begun = Instant::now();
                client.get(path)?;
                let ms = begun.elapsed().as_secs_f64() * 1e3;
                figures.push(at, &format!("{what}, ms"), 2, Kind::Slower, ms);
            }
        }
        Ok(())
    }
}

/// Copies the descriptors of a district. Returns how many there are.
fn descriptors(district: &Path, to: &Path) -> Result<usize, String> {
    std::fs::create_dir_all(to).map_err(|e| e.to_string())?;
    for entry in std::fs::read_dir(district).map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        if entry.file_name().to_string_lossy().ends_with("Descriptors.jsonl") {
            std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(|e| e.to_string())?;
        }
    }
    lines(to)
}

/// Returns a scenario that reads documents by id which lie evenly over the whole resource.
fn evenly(client: &Client, documents: usize) -> Result<Scenario, String> {
    let path = ATTENDANCE.path;
    let count = READ.min(documents);
    let mut paths = vec![];
    for at in 0..count {
        let offset = at * documents / count;
        let found = client.ids(&format!("{path}?offset={offset}&limit=1"))?;
        let id = found.first().ok_or(format!("there is no document {offset} of {documents}"))?;
        paths.push(format!("{path}/{id}"));
    }
    Ok(reads("evenly", paths.into_iter()))
}
