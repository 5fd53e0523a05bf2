//! A load by the lab: modelled clients, each of which sends its next request when it has its answer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::server::Client;
use super::{BINARY, text, write};

/// How hard it pulls.
pub struct Load<'a> {
    /// Clients, each with one request open.
    pub users: u32,
    /// Threads.
    pub threads: u32,
    /// Duration.
    pub seconds: u32,
    /// Where scenarios and run files are put.
    pub folder: &'a Path,
}

/// What a run gave.
pub struct Run {
    /// Requests answered.
    pub requests: f64,
    /// Requests a second that were answered as expected.
    pub rate: f64,
    /// 99th percentile of the response time.
    pub p99_ms: f64,
    /// Answers that were not, and requests without one.
    pub errors: f64,
    /// Requests for each second of the lab's own processor time.
    pub per_cpu_second: f64,
}

impl Load<'_> {
    /// Runs a scenario. Runs with different numbers draw different serial numbers, so what they
    /// create never meets.
    pub fn run(
        &self,
        target: &str,
        scenario: &Scenario,
        client: &Client,
        number: u32,
    ) -> Result<Run, String> {
        let file = self.folder.join(format!("{}.toml", scenario.name));
        write(&file, &scenario.text()?)?;
        self.send(target, &number.to_string(), |command| {
            command.args([OsStr::new("--scenario"), file.as_os_str()]);
            command.args(["--key", &client.key]).env("HOMEROOM_LAB_SECRET", &client.secret);
        })
    }

    /// Gets one page again and again.
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
        let done = command.output().map_err(|e| format!("{BINARY}: {e}"))?;
        if !done.status.success() {
            return Err(format!("lab run failed: {}", String::from_utf8_lossy(&done.stderr)));
        }
        let run = std::fs::read(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        let run: Value = serde_json::from_slice(&run).map_err(|e| e.to_string())?;
        let number = |value: &Value| value.as_f64().ok_or("the run file lacks a figure");
        Ok(Run {
            requests: number(&run["requests"]["total"])?,
            rate: number(&run["stages"][0]["goodput"])?,
            p99_ms: number(&run["response_ms"]["p99"])?,
            errors: number(&run["requests"]["failed"])?,
            per_cpu_second: number(&run["generator"]["requests_per_cpu_s"])?,
        })
    }
}

/// What is sent.
pub struct Scenario {
    name: String,
    steps: Vec<Value>,
    pools: serde_json::Map<String, Value>,
}

impl Scenario {
    /// Without steps.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), steps: vec![], pools: serde_json::Map::new() }
    }

    /// Adds a step, as a scenario file has it.
    pub fn step(&mut self, step: Value) {
        self.steps.push(step);
    }

    /// Adds what a pool has from the start: rows of values by variable.
    pub fn pool(&mut self, name: &str, rows: Vec<Value>) {
        self.pools.insert(name.to_owned(), rows.into());
    }

    fn text(&self) -> Result<String, String> {
        let file = serde_json::json!({
            "name": self.name, "steps": self.steps, "pools": self.pools
        });
        toml::to_string(&file).map_err(|e| format!("the scenario {}: {e}", self.name))
    }
}
