//! `cargo xtask bench [--pages]`: the data API's first figures, measured with wrk beside nginx in one
//! interleaved run.
//!
//! It builds the release binary, makes a small generated district and a store of a million
//! documents, and prints a Markdown table (with `--pages` one of page sizes instead): medians of the rounds, least and greatest in brackets.
//! Needs `wrk` and `nginx` (Debian packages `wrk`, `nginx-light`).

mod machine;
mod pages;
mod server;
mod wrk;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::house::Done;
use machine::{cpu_seconds, spread};
use server::{Nginx, Server};
use wrk::{Run, Wrk};

const BINARY: &str = "target/release/homeroom";
const ATTENDANCE: &str = "/data/v3/ed-fi/studentSchoolAttendanceEvents";

struct Settings {
    rounds: usize,
    seconds: u32,
    documents: usize,
    folder: PathBuf,
}

/// Runs the task.
pub fn run(arguments: &[String]) -> Done {
    let number = |name: &str, usual: usize| {
        arguments
            .iter()
            .position(|argument| argument == name)
            .and_then(|at| arguments.get(at + 1))
            .map_or(Ok(usual), |text| {
                text.parse().map_err(|_| format!("{name}: `{text}` is no number"))
            })
    };
    let settings = Settings {
        rounds: number("--rounds", 5)?,
        seconds: u32::try_from(number("--seconds", 4)?).map_err(|e| e.to_string())?,
        documents: number("--documents", 1_000_000)?,
        folder: PathBuf::from("target/bench"),
    };
    if !arguments.iter().any(|argument| argument == "--no-build") {
        build()?;
    }
    _ = std::fs::remove_dir_all(&settings.folder);
    std::fs::create_dir_all(&settings.folder).map_err(|e| e.to_string())?;
    println!("{}\n", machine::describe());
    let district = settings.folder.join("district");
    homeroom(&[
        "generate",
        "--students",
        "500",
        "--seed",
        "1",
        "--format",
        "jsonl",
        "--out",
        text(&district),
    ])?;

    let mut table = String::from("| what | median | least – greatest |\n|---|---|---|\n");
    if arguments.iter().any(|argument| argument == "--pages") {
        pages::run(&settings, &district, lines(&district)?, &mut table)?;
        println!("{table}");
        return Ok(());
    }
    small(&settings, &district, &mut table)?;
    large(&settings, &district, &mut table)?;
    println!("{table}");
    Ok(())
}

/// GET by id beside nginx, creates, the mix: on a small district.
fn small(settings: &Settings, district: &Path, table: &mut String) -> Done {
    let data = settings.folder.join("small");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let server = Server::start(BINARY, &data)?;
    let token = server.token()?;
    let students = Server::ids("/data/v3/ed-fi/students?limit=500", &token)?;
    let bodies = templates(&token)?;
    let (ids_file, bodies_file) = (settings.folder.join("ids"), settings.folder.join("bodies"));
    write(&ids_file, &students.join("\n"))?;
    write(&bodies_file, &bodies.join("\n"))?;
    let first = students.first().ok_or("the district has no students")?;
    let page = Server::get(&format!("/data/v3/ed-fi/students/{first}"), &token)?;
    let nginx = Nginx::start(&settings.folder, &page)?;

    let mut start = 0;
    let mut figures = Figures::default();
    for round in 0..=settings.rounds {
        let load = Wrk { connections: 64, threads: 2, seconds: settings.seconds };
        let peer = measure(&nginx.pids(), || load.run(&Nginx::url("/doc.json"), "", &[]))?;
        let arguments = [token.as_str(), text(&ids_file), "/data/v3/ed-fi/students/"];
        let get = measure(&[server.pid()], || load.run(&Server::url(""), "get.lua", &arguments))?;
        start += 4_000;
        let from = start.to_string();
        let arguments = [token.as_str(), text(&bodies_file), ATTENDANCE, &from];
        let create =
            measure(&[server.pid()], || load.run(&Server::url(""), "create.lua", &arguments))?;
        start += 4_000;
        let from = start.to_string();
        let events = Server::ids(&format!("{ATTENDANCE}?limit=500"), &token)?;
        let events_file = settings.folder.join("events");
        write(&events_file, &events.join("\n"))?;
        let arguments = [token.as_str(), text(&bodies_file), ATTENDANCE, &from, text(&events_file)];
        let mixed =
            measure(&[server.pid()], || load.run(&Server::url(""), "mixed.lua", &arguments))?;
        if round > 0 {
            figures.add(peer, get, create, mixed);
        }
    }
    figures.write(table);
    Ok(())
}

/// Pages, counts and the start: on a million documents.
fn large(settings: &Settings, district: &Path, table: &mut String) -> Done {
    let data = settings.folder.join("large");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let file = settings.folder.join("many/studentSchoolAttendanceEvents.jsonl");
    {
        let server = Server::start(BINARY, &data)?;
        let token = server.token()?;
        many_documents(&templates(&token)?, settings.documents, &file)?;
    }
    let begun = Instant::now();
    homeroom(&["load", text(&file), "--data-dir", text(&data)])?;
    let loaded = begun.elapsed().as_secs_f64();
    row(
        table,
        "load of a million documents (JSON lines), documents/s",
        &[settings.documents as f64 / loaded],
        0,
    );
    let mut starts = vec![];
    for _ in 0..settings.rounds {
        let server = Server::start(BINARY, &data)?;
        starts.push(server.seconds_to_ready * 1e3);
    }
    row(table, "start on a million documents, ms to ready", &starts, 0);
    let server = Server::start(BINARY, &data)?;
    row(
        table,
        "resident memory after start on a million documents, MB",
        &[server.resident_megabytes()?],
        0,
    );
    let token = server.token()?;
    let depth = settings.documents * 8 / 10;
    let partitions = Server::get(&format!("{ATTENDANCE}/partitions?number=5"), &token)?;
    let cursor = partitions
        .split('"')
        .filter(|part| part.len() > 8 && *part != "pageTokens")
        .nth(4)
        .ok_or("there is no fifth partition")?
        .to_owned();
    for (what, path) in [
        (
            "page of 500 at 80 % depth by cursor, ms",
            format!("{ATTENDANCE}?pageToken={cursor}&pageSize=500"),
        ),
        (
            "page of 500 at 80 % depth by offset, ms",
            format!("{ATTENDANCE}?offset={depth}&limit=500"),
        ),
        ("exact total count of the resource, ms", format!("{ATTENDANCE}?limit=0&totalCount=true")),
    ] {
        let mut times = vec![];
        for _ in 0..settings.rounds * 10 {
            let begun = Instant::now();
            Server::get(&path, &token)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        row(table, what, &times, 2);
    }
    Ok(())
}

#[derive(Default)]
struct Figures {
    columns: Vec<(&'static str, usize, Vec<f64>)>,
}

impl Figures {
    fn push(&mut self, name: &'static str, digits: usize, value: f64) {
        match self.columns.iter_mut().find(|(n, ..)| *n == name) {
            Some((_, _, values)) => values.push(value),
            None => self.columns.push((name, digits, vec![value])),
        }
    }

    fn add(&mut self, peer: Measured, get: Measured, create: Measured, mixed: Measured) {
        self.push("nginx, the same bytes from a file, requests/s", 0, peer.run.rate);
        self.push("GET by id, requests/s", 0, get.run.rate);
        self.push("GET by id, p99 ms", 1, get.run.p99_ms);
        self.push("GET by id, CPU per request, µs", 1, get.cpu_micros);
        self.push("nginx, CPU per request, µs", 1, peer.cpu_micros);
        self.push(
            "GET by id, CPU per request as a multiple of nginx's",
            2,
            get.cpu_micros / peer.cpu_micros,
        );
        self.push("durable create with three references, requests/s", 0, create.run.rate);
        self.push("durable create, p99 ms", 1, create.run.p99_ms);
        self.push("durable create, answers other than 2xx", 0, create.run.errors);
        self.push("mix 60/20/15/5, requests/s", 0, mixed.run.rate);
        self.push("mix 60/20/15/5, p99 ms", 1, mixed.run.p99_ms);
        self.push("mix 60/20/15/5, answers other than 2xx", 0, mixed.run.errors);
    }

    fn write(&self, table: &mut String) {
        for (name, digits, values) in &self.columns {
            row(table, name, values, *digits);
        }
    }
}

struct Measured {
    run: Run,
    cpu_micros: f64,
}

/// Runs a load and gives the CPU time that the server's processes took per request.
fn measure(pids: &[u32], load: impl FnOnce() -> Result<Run, String>) -> Result<Measured, String> {
    let before = cpu_seconds(pids)?;
    let run = load()?;
    let cpu = cpu_seconds(pids)? - before;
    Ok(Measured { cpu_micros: cpu * 1e6 / run.requests.max(1.0), run })
}

/// Bodies of attendance events with three references each, `%s` for the date.
fn templates(token: &str) -> Result<Vec<String>, String> {
    let page = Server::get(&format!("{ATTENDANCE}?limit=500"), token)?;
    let events: serde_json::Value = serde_json::from_str(&page).map_err(|e| e.to_string())?;
    let mut bodies: Vec<String> = vec![];
    for event in events.as_array().into_iter().flatten() {
        let mut body = serde_json::Map::new();
        for name in ["schoolReference", "sessionReference", "studentReference"] {
            let mut reference = event[name].clone();
            if let Some(members) = reference.as_object_mut() {
                members.remove("link");
            }
            body.insert(name.into(), reference);
        }
        let category = "attendanceEventCategoryDescriptor";
        body.insert(category.into(), event[category].clone());
        body.insert("eventDate".into(), "%s".into());
        let text = serde_json::Value::Object(body).to_string();
        if !bodies.contains(&text) {
            bodies.push(text);
        }
    }
    if bodies.is_empty() { Err("the district has no attendance events".into()) } else { Ok(bodies) }
}

/// Writes many attendance events, each with a date of its own.
fn many_documents(bodies: &[String], count: usize, file: &Path) -> Done {
    use std::io::Write as _;
    let folder = file.parent().ok_or("the file has no folder")?;
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let out = std::fs::File::create(file).map_err(|e| e.to_string())?;
    let mut out = std::io::BufWriter::new(out);
    for at in 0..count {
        let day = at / bodies.len();
        let date = format!("{:04}-{:02}-{:02}", 1900 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
        writeln!(out, "{}", bodies[at % bodies.len()].replace("%s", &date))
            .map_err(|e| e.to_string())?;
    }
    out.flush().map_err(|e| e.to_string())
}

fn build() -> Done {
    let done = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "homeroom"])
        .status()
        .map_err(|e| e.to_string())?;
    if done.success() { Ok(()) } else { Err("the release build failed".into()) }
}

fn homeroom(arguments: &[&str]) -> Done {
    homeroom_with(arguments, &[])
}

fn homeroom_with(arguments: &[&str], environment: &[(&str, &str)]) -> Done {
    let done = Command::new(BINARY)
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .map_err(|e| e.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    let mut message = format!("homeroom {} failed", arguments.join(" "));
    _ = write!(message, ": {}", String::from_utf8_lossy(&done.stderr));
    Err(message)
}

/// How many documents a folder of JSON lines holds.
fn lines(folder: &Path) -> Result<usize, String> {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        count += std::fs::read_to_string(path).map_err(|e| e.to_string())?.lines().count();
    }
    Ok(count)
}

fn row(table: &mut String, what: &str, values: &[f64], digits: usize) {
    let (median, least, greatest) = spread(values);
    _ = writeln!(table, "| {what} | {median:.digits$} | {least:.digits$} – {greatest:.digits$} |");
}

fn write(path: &Path, text: &str) -> Done {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// Waits until `done` says so, at most `time`.
fn wait(time: Duration, mut done: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
