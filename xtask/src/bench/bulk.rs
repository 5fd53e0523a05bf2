//! Measures loads: interchange XML of a generated district into an empty store, until all of it is
//! on disk.
//!
//! `--students N` sets the size (57 documents a student). A row of CPU time per document names the
//! threads that spent it; two cores have 33 µs per document at 60,000 documents/s.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::figures::Figures;
use super::files::text;
use super::machine::cpu_of;
use super::options::Options;
use super::server::{BINARY, homeroom};
use crate::house::Done;

/// The number of students of the district, if no other is given: 200,000 documents.
pub const STUDENTS: usize = 3_500;
/// Pause between two looks at the process.
const PAUSE: Duration = Duration::from_millis(20);

/// The ways to load that are measured beside each other: a name, and further arguments.
const WAYS: &[(&str, &[&str])] = &[("load", &[]), ("load --direct", &["--direct"])];

/// Measures each way in each round.
pub fn run(options: &Options, table: &mut String) -> Done {
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
        for (name, arguments) in WAYS {
            measure(&options.folder, &files, name, arguments, &mut figures)?;
        }
    }
    figures.write(table);
    Ok(())
}

fn measure(
    folder: &Path,
    files: &Path,
    name: &str,
    arguments: &[&str],
    figures: &mut Figures,
) -> Done {
    let data = folder.join("bulk");
    _ = std::fs::remove_dir_all(&data);
    let results = folder.join("results.jsonl");
    let printed = std::fs::File::create(&results).map_err(|e| e.to_string())?;
    let mut child = Command::new(BINARY)
        .args(["load", text(files), "--data-dir", text(&data), "--json"])
        .args(arguments)
        .stdout(printed)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{BINARY}: {error}"))?;
    let mut seen = Seen::default();
    let status = loop {
        seen.look(child.id());
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        std::thread::sleep(PAUSE);
    };
    if !status.success() {
        return Err(format!("{name}: the load ended with {status}; see {}", results.display()));
    }
    let text = std::fs::read_to_string(&results).map_err(|e| e.to_string())?;
    let last = text.lines().last().unwrap_or_default();
    let last: serde_json::Value = serde_json::from_str(last).map_err(|e| e.to_string())?;
    let number = |member: &str| last["summary"][member].as_f64().unwrap_or(f64::NAN);
    let documents = number("documents");
    figures.push(&format!("{name}: documents"), 0, documents);
    figures.push(&format!("{name}: documents/s"), 0, documents / number("seconds"));
    for (thread, seconds) in &seen.threads {
        let row = format!("{name}: CPU of {thread}, µs/document");
        figures.push(&row, 1, seconds * 1e6 / documents);
    }
    let all: f64 = seen.threads.values().sum();
    figures.push(&format!("{name}: CPU in all, µs/document"), 1, all * 1e6 / documents);
    figures.push(&format!("{name}: bytes written/document"), 0, seen.written / documents);
    figures.push(&format!("{name}: anonymous memory at most, MB"), 0, seen.anonymous_mb);
    let size = std::fs::metadata(data.join("homeroom.db")).map_or(0, |about| about.len());
    figures.push(&format!("{name}: bytes of the file/document"), 0, size as f64 / documents);
    Ok(())
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
