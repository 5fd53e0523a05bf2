//! A load test by the lab: modelled clients that send their next request when they have an answer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::files::{text, write};
use super::server::BINARY;
use super::server::Client;

/// A load that the lab sends.
pub struct LabLoad<'a> {
    /// The number of clients, each with one open request.
    pub users: u32,
    /// The number of sending threads.
    pub threads: u32,
    /// The duration in seconds.
    pub seconds: u32,
    /// The folder for scenarios and run files.
    pub folder: &'a Path,
}

/// The result of a run.
pub struct Run {
    /// Requests answered.
    pub requests: f64,
    /// The requests per second that were answered as expected.
    pub rate: f64,
    /// The median of the response time in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile of the response time in milliseconds.
    pub p99_ms: f64,
    /// Unexpected answers, and requests without an answer.
    pub errors: f64,
    /// The requests per second of the lab's own processor time.
    pub per_cpu_second: f64,
}

impl LabLoad<'_> {
    /// Runs a scenario. Runs with different numbers draw different serial numbers, so the documents
    /// that they create never collide.
    pub fn run(
        &self,
        target: &str,
        scenario: &Scenario,
        client: &Client,
        number: u32,
    ) -> Result<Run, String> {
        self.run_with(target, scenario, [&client.key, &client.secret], number, &[])
    }

    /// Runs a scenario with a key and its secret, and further arguments of the lab.
    pub fn run_with(
        &self,
        target: &str,
        scenario: &Scenario,
        [key, secret]: [&str; 2],
        number: u32,
        more: &[&str],
    ) -> Result<Run, String> {
        let file = self.folder.join(format!("{}.toml", scenario.name));
        write(&file, &scenario.text()?)?;
        self.send(target, &number.to_string(), |command| {
            command.args([OsStr::new("--scenario"), file.as_os_str()]).args(more);
            command.args(["--key", key]).env("HOMEROOM_LAB_SECRET", secret);
        })
    }

    /// Runs a scenario at a fixed rate, whatever the answers take.
    pub fn at_rate(
        &self,
        target: &str,
        scenario: &Scenario,
        client: &Client,
        rate: u32,
    ) -> Result<Run, String> {
        let file = self.folder.join(format!("{}.toml", scenario.name));
        write(&file, &scenario.text()?)?;
        let out: PathBuf = self.folder.join("run.json");
        let mut command = Command::new(BINARY);
        command
            .args(["lab", "run", "--target", target, "--json", text(&out)])
            .args(["--rate", &rate.to_string(), "--duration", &format!("{}s", self.seconds)])
            .args([OsStr::new("--scenario"), file.as_os_str()])
            .args(["--key", &client.key])
            .env("HOMEROOM_LAB_SECRET", &client.secret);
        done(command, &out)
    }

    /// Runs a scenario for which no key is needed.
    pub fn without_key(&self, target: &str, scenario: &Scenario) -> Result<Run, String> {
        let file = self.folder.join(format!("{}.toml", scenario.name));
        write(&file, &scenario.text()?)?;
        self.send(target, "1", |command| {
            command.args([OsStr::new("--scenario"), file.as_os_str()]);
        })
    }

    /// Requests one page over and over.
    pub fn get(&self, url: &str) -> Result<Run, String> {
        self.send(url, "1", |_| {})
    }

    fn send(
        &self,
        target: &str,
        seed: &str,
        more: impl FnOnce(&mut Command),
    ) -> Result<Run, String> {
        let out: PathBuf = self.folder.join("run.json");
        let mut command = Command::new(BINARY);
        command
            .args(["lab", "run", "--target", target, "--seed", seed, "--json", text(&out)])
            .args(["--users", &self.users.to_string(), "--threads", &self.threads.to_string()])
            .args(["--duration", &format!("{}s", self.seconds)]);
        more(&mut command);
        done(command, &out)
    }
}

/// Runs a command of the lab and reads the file that it writes.
fn done(mut command: Command, out: &Path) -> Result<Run, String> {
    let done = command.output().map_err(|e| format!("{BINARY}: {e}"))?;
    if !done.status.success() {
        return Err(format!("lab run failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let run = std::fs::read(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let run: Value = serde_json::from_slice(&run).map_err(|e| e.to_string())?;
    let number = |value: &Value| value.as_f64().ok_or("the run file lacks a figure");
    Ok(Run {
        requests: number(&run["requests"]["total"])?,
        rate: number(&run["stages"][0]["goodput"])?,
        p50_ms: number(&run["response_ms"]["p50"])?,
        p99_ms: number(&run["response_ms"]["p99"])?,
        errors: number(&run["requests"]["failed"])?,
        per_cpu_second: number(&run["generator"]["requests_per_cpu_s"])?,
    })
}

/// The scenario of a load.
pub struct Scenario {
    name: String,
    steps: Vec<Value>,
    pools: serde_json::Map<String, Value>,
}

impl Scenario {
    /// Returns a scenario without steps.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), steps: vec![], pools: serde_json::Map::new() }
    }

    /// Returns its name, which is also that of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a step in the form of a scenario file.
    pub fn step(&mut self, step: Value) {
        self.steps.push(step);
    }

    /// Adds the initial rows of a pool: values by variable.
    pub fn pool(&mut self, name: &str, rows: Vec<Value>) {
        self.pools.insert(name.to_owned(), rows.into());
    }

    /// Returns the text of its file.
    pub fn text(&self) -> Result<String, String> {
        let file = serde_json::json!({
            "name": self.name, "steps": self.steps, "pools": self.pools
        });
        toml::to_string(&file).map_err(|e| format!("the scenario {}: {e}", self.name))
    }
}
