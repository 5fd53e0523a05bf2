//! Measures loads: interchange XML of a generated district into an empty store, until all of it is
//! on disk.
//!
//! `--students N` sets the size (57 documents a student). A row of CPU time per document names the
//! threads that spent it; two cores have 33 µs per document at 60,000 documents/s. From two million
//! documents on, each million has a row: the curve of the rate against the size of the store. With
//! `--served`, the same files are loaded through a server, by `homeroom load` and by `homeroom
//! upload`, while others read and write there at a fixed rate. With `--postgres`, the store is a
//! PostgreSQL server's.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::figures::Figures;
use super::files::text;
use super::load::LabLoad;
use super::machine::cpu_of;
use super::options::Options;
use super::server::{BINARY, Build, STORE, Server, homeroom};
use super::work::ATTENDANCE;
use crate::house::Done;

/// The number of students of the district, if no other is given: 200,000 documents.
pub const STUDENTS: usize = 3_500;
/// Pause between two looks at the process.
const PAUSE: Duration = Duration::from_millis(20);

/// Documents between two rows of the curve.
const STEP: f64 = 1e6;
/// Requests a second of those who read, and of those who write, while a server loads.
const READS: u32 = 500;
const WRITES: u32 = 100;
/// Students of the loaded district for each second in which they read, and then for each in which they write. Both
/// together must be shorter than the load, of which a second is about 850 students.
const STUDENTS_PER_SECOND: usize = 2_500;
/// Students of the district that they read and write.
const BESIDE_STUDENTS: &str = "200";

/// A way to load.
struct Way {
    name: &'static str,
    arguments: &'static [&'static str],
    /// Whether it works on PostgreSQL.
    everywhere: bool,
}

/// The ways that are measured beside each other.
const WAYS: &[Way] = &[
    Way { name: "load", arguments: &[], everywhere: true },
    Way { name: "load --direct", arguments: &["--direct"], everywhere: false },
];

/// Measures each way in each round.
pub fn run(options: &Options, is_served: bool, table: &mut String) -> Done {
    let files = options.folder.join("interchanges");
    let students = options.students.to_string();
    homeroom(&[
        "generate",
        "--students",
        &students,
        "--seed",
        "1",
        "--format",
        "xml",
        "--out",
        text(&files),
    ])?;
    let mut figures = Figures::default();
    for _ in 0..options.rounds {
        let on_postgres = std::env::var_os(STORE).is_some();
        for way in WAYS.iter().filter(|way| way.everywhere || !on_postgres) {
            empty_database()?;
            measure(&options.folder, &files, way, &mut figures)?;
        }
        if is_served {
            for command in ["load", "upload"] {
                empty_database()?;
                served(options, &files, command, &mut figures)?;
            }
        }
    }
    figures.write(table);
    Ok(())
}

/// Takes everything out of the database, if the store is one.
fn empty_database() -> Done {
    let Ok(url) = std::env::var(STORE) else { return Ok(()) };
    let sql = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    let done = Command::new("psql").args(["-q", "-d", &url, "-c", sql]).output();
    let done = done.map_err(|error| format!("psql: {error}"))?;
    let said = || String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(()) } else { Err(said()) }
}

fn measure(folder: &Path, files: &Path, way: &Way, figures: &mut Figures) -> Done {
    let (data, name) = (folder.join("bulk"), way.name);
    _ = std::fs::remove_dir_all(&data);
    let results = folder.join("results.jsonl");
    let printed = std::fs::File::create(&results).map_err(|e| e.to_string())?;
    let mut child = Command::new(BINARY)
        .args(["load", text(files), "--data-dir", text(&data), "--json"])
        .args(way.arguments)
        .stdout(printed)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{BINARY}: {error}"))?;
    let progress = child.stderr.take().map(|said| std::thread::spawn(|| steps(said)));
    let mut seen = Seen::default();
    let status = loop {
        seen.look(child.id());
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        std::thread::sleep(PAUSE);
    };
    let steps = progress.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if !status.success() {
        return Err(format!("{name}: the load ended with {status}; see {}", results.display()));
    }
    let (documents, seconds) = summary(&results)?;
    figures.push(&format!("{name}: documents"), 0, documents);
    figures.push(&format!("{name}: documents/s"), 0, documents / seconds);
    for (thread, seconds) in &seen.threads {
        let row = format!("{name}: CPU of {thread}, µs/document");
        figures.push(&row, 1, seconds * 1e6 / documents);
    }
    let all: f64 = seen.threads.values().sum();
    figures.push(&format!("{name}: CPU in all, µs/document"), 1, all * 1e6 / documents);
    figures.push(&format!("{name}: bytes written/document"), 0, seen.written / documents);
    figures.push(&format!("{name}: anonymous memory at most, MB"), 0, seen.anonymous_mb);
    if let Ok(about) = std::fs::metadata(data.join("homeroom.db")) {
        let bytes = about.len() as f64;
        figures.push(&format!("{name}: bytes of the file/document"), 0, bytes / documents);
    }
    for (before, after) in steps.iter().zip(steps.iter().skip(1)) {
        let rate = (after.0 - before.0) / (after.1 - before.1);
        let row = format!("{name}: documents/s up to {:.1} million", after.0 / 1e6);
        figures.push(&row, 0, rate);
    }
    Ok(())
}

/// Loads through a server while others read and write there.
fn served(options: &Options, files: &Path, command: &str, figures: &mut Figures) -> Done {
    let folder = &*options.folder;
    let (data, small) = (folder.join("served"), folder.join("beside"));
    _ = std::fs::remove_dir_all(&data);
    let made = ["generate", "--students", BESIDE_STUDENTS, "--seed", "7", "--out", text(&small)];
    if !small.exists() {
        homeroom(&made)?;
    }
    let build = Build::present();
    build.run(&["load", text(&small), "--data-dir", text(&data), "--json"])?;
    let server = Server::start(&build, &data, &[])?;
    let client = server.client(&["--claim-set", "FullAccess"])?;
    let results = folder.join("results.jsonl");
    let mut loading = Command::new(BINARY);
    match command {
        "upload" => loading
            .args(["upload", text(files), "--server", &server.url(""), "--key", &client.key])
            .args(["--json", "--results", text(&results)])
            .env("HOMEROOM_UPLOAD_SECRET", &client.secret),
        _ => loading.args(["load", text(files), "--data-dir", text(&data)]).args([
            "--json",
            "--results",
            text(&results),
        ]),
    };
    let begun = Instant::now();
    let loading = loading
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{BINARY}: {error}"))?;
    // Its time ends with it, whatever those beside it do.
    let loading = std::thread::spawn(move || {
        let mut loading = loading;
        let status = loading.wait();
        (status, begun.elapsed().as_secs_f64())
    });
    let seconds = u32::try_from(options.students / STUDENTS_PER_SECOND).unwrap_or(u32::MAX);
    let load = LabLoad { users: 1, threads: 1, seconds: seconds.max(1), folder };
    let create = ATTENDANCE.create("create-beside", &client)?;
    let reads =
        load.at_rate(&server.url(""), &ATTENDANCE.get("get-beside", &client)?, &client, READS)?;
    let writes = load.at_rate(&server.url(""), &create, &client, WRITES)?;
    let was_short = loading.is_finished();
    let (status, seconds) =
        loading.join().map_err(|_| format!("{command}: nobody waited for it"))?;
    let status = status.map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("{command}: it ended with {status}; see {}", results.display()));
    }
    let (documents, _) = summary(&results)?;
    figures.push(&format!("{command} through a server: documents/s"), 0, documents / seconds);
    figures.push("errors of those who read and write meanwhile", 0, reads.errors + writes.errors);
    if was_short {
        eprintln!("the load ended before those who read and write did; raise --students");
        return Ok(());
    }
    figures.push(&format!("GET p99 during {command}, ms"), 1, reads.p99_ms);
    figures.push(&format!("POST p99 during {command}, ms"), 1, writes.p99_ms);
    Ok(())
}

/// Returns the documents and the seconds of a summary, which is the last line of the results.
fn summary(results: &Path) -> Result<(f64, f64), String> {
    let text = std::fs::read_to_string(results).map_err(|e| e.to_string())?;
    let last = text.lines().last().unwrap_or_default();
    let last: serde_json::Value = serde_json::from_str(last).map_err(|e| e.to_string())?;
    let number = |member: &str| {
        let value = last["summary"][member].as_f64();
        value.ok_or_else(|| format!("{}: the summary lacks {member}", results.display()))
    };
    Ok((number("documents")?, number("seconds").unwrap_or(f64::NAN)))
}

/// Returns from lines of progress how many documents were loaded, at steps of a million, and the
/// seconds since the first line.
fn steps(said: ChildStderr) -> Vec<(f64, f64)> {
    let (mut steps, begun): (Vec<(f64, f64)>, _) = (vec![], Instant::now());
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        let Some(documents) = documents_of(&line) else { continue };
        if steps.last().is_none_or(|(last, _)| documents - last >= STEP) {
            steps.push((documents, begun.elapsed().as_secs_f64()));
        }
    }
    steps
}

/// Reads the number of loaded documents from a line such as `81 files, 1,661,000 of 6,949,915
/// documents, 55,113/s, 1:36 min left, 0 rejects`.
fn documents_of(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("files, ")?;
    rest.split_once(" of ")?.0.replace(',', "").parse().ok()
}

/// What was seen of a process while it ran.
#[derive(Default)]
struct Seen {
    /// CPU seconds by the names of threads.
    threads: BTreeMap<String, f64>,
    /// CPU seconds by thread.
    each: BTreeMap<String, (String, f64)>,
    /// Bytes written to disk.
    written: f64,
    /// The greatest amount of anonymous memory, in megabytes.
    anonymous_mb: f64,
}

impl Seen {
    /// Looks at a process; one that has ended changes nothing.
    fn look(&mut self, pid: u32) {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return };
        for task in tasks.flatten() {
            let path = task.path();
            let read = |file: &str| std::fs::read_to_string(path.join(file)).unwrap_or_default();
            let (name, stat) = (read("comm").trim().to_owned(), read("stat"));
            if !name.is_empty() && !stat.is_empty() {
                let id = task.file_name().to_string_lossy().into_owned();
                self.each.insert(id, (name, cpu_of(&stat)));
            }
        }
        self.threads.clear();
        for (name, seconds) in self.each.values() {
            *self.threads.entry(name.clone()).or_default() += seconds;
        }
        let line = |file: &str, name: &str| -> Option<f64> {
            let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse().ok()
        };
        if let Some(written) = line("io", "write_bytes:") {
            self.written = written;
        }
        if let Some(kib) = line("status", "RssAnon:") {
            self.anonymous_mb = self.anonymous_mb.max(kib / 1024.0);
        }
    }
}
