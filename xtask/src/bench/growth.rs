//! What a store costs to read when it has grown: the same reads on stores of several sizes, side by side.
//!
//! Each store has students in proportion to its size, a school for each hundred of them, an enrolment and thirty
//! attendance events for each. A few per cent more are then written through the server: events of random students,
//! changes and deletes of random events, so pages are no longer as full, and rows no longer as ordered, as a load
//! leaves them. All servers run at the same time and are measured in turn, so the machine's mood meets all of them.
//! What is read lies over the whole resource, in proportion to its size, and the servers have not read it before;
//! what is read over and over has figures of its own. Whose lists are authorized may see as many documents at each
//! size, which lie among ever more others. A run in which the last size costs too many times what the first one
//! does, in which a request failed, or where a size lacks what is compared, fails after it has printed all figures.

mod compared;
mod grown;
mod served;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use compared::{Figures, Kind};
use served::Served;

use super::files::{lines, text};
use super::load::LabLoad;
use super::options::Options;
use super::population::Population;
use super::server::{Build, Client, STORE, Server};
use super::work::ATTENDANCE;
use crate::house::Done;

/// The documents of a student: itself, an enrolment and its events.
const OF_STUDENT: usize = 2 + EVENTS;
/// The attendance events of a student.
const EVENTS: usize = 30;
/// The students of a school.
const OF_SCHOOL: usize = 100;
/// The ports of the first server; each further one has the next two.
const PORT: u16 = 18_100;
/// The clients that write to a store before it is measured.
const WRITERS: u32 = 64;
/// One of so many documents is written, changed or deleted before a store is measured, at the rate that is expected.
const WRITTEN: usize = 33;
const WRITES_A_SECOND: usize = 10_000;
/// One of so many events may be deleted meanwhile.
const DELETED: usize = 200;
/// How often a server is killed while it writes, after how long, and the seconds for which clients try to write.
const KILLS: u32 = 3;
const KILLED_AFTER: Duration = Duration::from_secs(2);
const TRIED_SECONDS: u32 = 3;

/// Measures each size in each round, and compares the last with the first.
pub fn run(options: &Options, district: &Path) -> Done {
    if std::env::var_os(STORE).is_some() {
        return Err("--growth measures stores in files: only these are loaded directly".into());
    }
    let mut figures = Figures::new(&options.sizes);
    let mut stores = vec![];
    for (at, size) in options.sizes.iter().enumerate() {
        let mut store = Sized::load(&options.folder, district, *size, at)?;
        let mut told = |what: &str, value| figures.push(at, what, 0, Kind::Told, value);
        told("load --direct, documents/s", store.documents_per_second);
        told("schools", store.population.schools as f64);
        store.grow(options, district, at, &mut figures)?;
        stores.push(store);
    }
    for round in 0..=options.rounds {
        for (at, store) in stores.iter().enumerate() {
            let ms = Server::start(&store.build, &store.data, &[])?.seconds_to_ready * 1e3;
            // The first start does not count.
            if round > 0 {
                figures.push(at, "start, ms to ready", 1, Kind::Slower, ms);
            }
        }
    }
    for number in 0..KILLS {
        for (at, store) in stores.iter().enumerate() {
            let ms = store.start_after_kill(options, district, number)?;
            figures.push(at, "start after kill -9 while it writes, ms", 1, Kind::Slower, ms);
        }
    }
    let served: Result<Vec<Served>, String> =
        stores.iter().map(|store| Served::start(options, store)).collect();
    let mut served = served?;
    for round in 0..options.rounds {
        for (at, served) in served.iter_mut().enumerate() {
            served.by_id(options, round, at, &mut figures)?;
            served.pages(round, at, &mut figures)?;
        }
    }
    for (at, served) in served.iter_mut().enumerate() {
        served.tails(at, &mut figures);
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

    /// Writes to the store through its server, and tells what it then fills on the disk.
    fn grow(&mut self, options: &Options, district: &Path, at: usize, told: &mut Figures) -> Done {
        let server = Server::start(&self.build, &self.data, &options.environment)?;
        let client = server.client(&["--claim-set", "FullAccess"])?;
        let before = count(&client, ATTENDANCE.path)?;
        let gone = spread_out(&client, before, before / DELETED)?;
        let scenario = grown::scenario(district, self.population, &gone)?;
        let seconds = (self.documents / WRITTEN / WRITES_A_SECOND).max(2);
        let seconds = u32::try_from(seconds).map_err(|e| e.to_string())?;
        let load = LabLoad { users: WRITERS, threads: 1, seconds, folder: &options.folder };
        let run = load.run(&server.url(""), &scenario, &client, 1)?;
        let share = run.requests / self.documents as f64 * 1e2;
        let after = count(&client, ATTENDANCE.path)?;
        self.documents = (self.documents + after).saturating_sub(before);
        let running = bytes(&self.data)?;
        drop(server);
        let of_each = |bytes: u64| bytes as f64 / self.documents as f64;
        told.push(at, "writes through the server, % of the documents", 1, Kind::Told, share);
        told.push(at, "these writes/s", 0, Kind::Told, run.rate);
        told.push(at, "these, p99 ms", 1, Kind::Told, run.p99_ms);
        told.push(at, "these that ended otherwise", 0, Kind::Failed, run.errors);
        told.push(at, "documents", 0, Kind::Told, self.documents as f64);
        let what = "bytes of file and log a document, running";
        told.push(at, what, 1, Kind::Told, of_each(running));
        let what = "bytes of file and log a document, stopped";
        told.push(at, what, 1, Kind::Larger, of_each(bytes(&self.data)?));
        Ok(())
    }

    /// Kills the server while clients write. Returns the milliseconds until the next one is ready.
    fn start_after_kill(
        &self,
        options: &Options,
        district: &Path,
        number: u32,
    ) -> Result<f64, String> {
        let server = Server::start(&self.build, &self.data, &options.environment)?;
        let client = server.client(&["--claim-set", "FullAccess"])?;
        let scenario = grown::scenario(district, self.population, &[])?;
        let (seconds, folder) = (TRIED_SECONDS, options.folder.as_path());
        let load = LabLoad { users: WRITERS, threads: 1, seconds, folder };
        let url = server.url("");
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| load.run(&url, &scenario, &client, 2 + number));
            std::thread::sleep(KILLED_AFTER);
            let is_writing = !writing.is_finished();
            server.kill()?;
            // The clients do not use the processor while the next one starts.
            let wrote = writing.join().map_err(|_| "the load has panicked")??;
            if is_writing && wrote.requests > wrote.errors {
                Ok::<(), String>(())
            } else {
                Err("the server did not write when it was killed".into())
            }
        })?;
        Ok(Server::start(&self.build, &self.data, &options.environment)?.seconds_to_ready * 1e3)
    }
}

/// Returns the bytes of all files of the store in a data folder.
fn bytes(data: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(data).map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        let is_of_store = entry.file_name().to_string_lossy().starts_with("homeroom.db");
        if is_of_store && entry.path().is_file() {
            bytes += entry.metadata().map_err(|e| e.to_string())?.len();
        }
    }
    Ok(bytes)
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

/// Returns how many documents a resource has.
fn count(client: &Client, path: &str) -> Result<usize, String> {
    let path = format!("{path}?limit=0&totalCount=true");
    let answer = client.kept().send("GET", &path, None).map_err(|e| e.to_string())?;
    let total = answer.total.ok_or_else(|| format!("GET {path}: {}", answer.status))?;
    usize::try_from(total).map_err(|e| e.to_string())
}

/// Returns the paths of attendance events that lie over all of them, some neighbours at each place.
fn spread_out(client: &Client, documents: usize, count: usize) -> Result<Vec<String>, String> {
    /// The neighbours at a place.
    const NEAR: usize = 10;
    let path = ATTENDANCE.path;
    let places = (count / NEAR).max(1);
    let mut kept = client.kept();
    let mut found = vec![];
    for place in 0..places {
        let page = format!("{path}?offset={}&limit={NEAR}", place * documents / places);
        let answer = kept.send("GET", &page, None).map_err(|e| e.to_string())?;
        let documents: serde_json::Value =
            serde_json::from_slice(&answer.body).map_err(|e| format!("{page}: {e}"))?;
        let ids = documents.as_array().into_iter().flatten().filter_map(|of| of["id"].as_str());
        found.extend(ids.map(|id| format!("{path}/{id}")));
    }
    if found.is_empty() { Err("there are no attendance events".into()) } else { Ok(found) }
}
