//! A store of a size: loaded, written to, killed and started again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::compared::{Figures, Kind};
use super::grown;
use crate::bench::files::{lines, text};
use crate::bench::load::LabLoad;
use crate::bench::options::Options;
use crate::bench::population::Population;
use crate::bench::server::{Build, Client, Server};
use crate::bench::work::ATTENDANCE;
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
/// After how long a server is killed while it writes, and the seconds for which clients try to write.
const KILLED_AFTER: Duration = Duration::from_secs(2);
const TRIED_SECONDS: u32 = 3;

/// A store of one size.
pub struct Sized {
    pub build: Build,
    pub data: PathBuf,
    pub population: Population,
    pub documents: usize,
    pub documents_per_second: f64,
}

impl Sized {
    /// Makes about as many documents and loads them with the district's descriptors. The files are removed again:
    /// ten million fill 4 GB.
    pub fn load(folder: &Path, district: &Path, size: usize, at: usize) -> Result<Self, String> {
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
    pub fn grow(
        &mut self,
        options: &Options,
        district: &Path,
        at: usize,
        told: &mut Figures,
    ) -> Done {
        let server = Server::start(&self.build, &self.data, &options.environment)?;
        let client = server.client(&["--claim-set", "FullAccess"])?;
        let before = count(&client, ATTENDANCE.path)?;
        let gone = spread_out(&client, before, before / DELETED)?;
        let scenario = grown::scenario(district, self.population, Some(&gone))?;
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

    /// Kills the server while clients create. Returns the milliseconds until the next one is ready, which has to have
    /// at least as many documents as were acknowledged.
    pub fn start_after_kill(
        &self,
        options: &Options,
        district: &Path,
        number: u32,
    ) -> Result<f64, String> {
        let server = Server::start(&self.build, &self.data, &options.environment)?;
        let client = server.client(&["--claim-set", "FullAccess"])?;
        let before = count(&client, ATTENDANCE.path)?;
        let scenario = grown::scenario(district, self.population, None)?;
        let (seconds, folder) = (TRIED_SECONDS, options.folder.as_path());
        let load = LabLoad { users: WRITERS, threads: 1, seconds, folder };
        let url = server.url("");
        let acknowledged = std::thread::scope(|scope| {
            let writing = scope.spawn(|| load.run(&url, &scenario, &client, 2 + number));
            std::thread::sleep(KILLED_AFTER);
            let is_writing = !writing.is_finished();
            server.kill()?;
            // The clients do not use the processor while the next one starts.
            let wrote = writing.join().map_err(|_| "the load has panicked")??;
            if is_writing && wrote.requests > wrote.errors {
                Ok(wrote.requests - wrote.errors)
            } else {
                Err("the server did not write when it was killed".to_owned())
            }
        })?;
        let server = Server::start(&self.build, &self.data, &options.environment)?;
        let created = count(&client, ATTENDANCE.path)?.saturating_sub(before) as f64;
        if created < acknowledged {
            return Err(format!("{acknowledged} creates were acknowledged, {created} are stored"));
        }
        Ok(server.seconds_to_ready * 1e3)
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
pub fn count(client: &Client, path: &str) -> Result<usize, String> {
    let path = format!("{path}?limit=0&totalCount=true");
    let answer = client.kept().send("GET", &path, None).map_err(|e| e.to_string())?;
    let total = answer.total.ok_or_else(|| format!("GET {path}: {}", answer.status))?;
    usize::try_from(total).map_err(|e| e.to_string())
}

/// Returns the paths of attendance events that lie over all of them, some neighbours at each place.
pub fn spread_out(client: &Client, documents: usize, count: usize) -> Result<Vec<String>, String> {
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
