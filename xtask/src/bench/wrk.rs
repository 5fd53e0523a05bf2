//! wrk, the load generator.

use std::process::Command;

/// How hard it pulls.
pub struct Wrk {
    /// Connections, each with one request open.
    pub connections: u32,
    /// Threads.
    pub threads: u32,
    /// Duration.
    pub seconds: u32,
}

/// What a run gave.
pub struct Run {
    /// Requests answered.
    pub requests: f64,
    /// Requests a second.
    pub rate: f64,
    /// 99th percentile of the latency.
    pub p99_ms: f64,
    /// Answers that are not 2xx or 3xx, and socket errors.
    pub errors: f64,
}

impl Wrk {
    /// Runs a script of this folder, or plain GETs without one.
    pub fn run(&self, url: &str, script: &str, arguments: &[&str]) -> Result<Run, String> {
        let mut command = Command::new("wrk");
        command
            .arg(format!("-c{}", self.connections))
            .arg(format!("-t{}", self.threads))
            .arg(format!("-d{}s", self.seconds))
            .arg("--latency");
        if !script.is_empty() {
            command.arg("-s").arg(format!("xtask/src/bench/{script}"));
        }
        command.arg(url);
        if !script.is_empty() {
            command.arg("--").args(arguments);
        }
        let output =
            command.output().map_err(|error| format!("wrk: {error}; install the package wrk"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = |start: &str| text.lines().map(str::trim).find(|line| line.starts_with(start));
        let rate =
            line("Requests/sec:").and_then(|l| l.split_ascii_whitespace().nth(1)?.parse().ok());
        let requests = text
            .lines()
            .find(|line| line.contains(" requests in "))
            .and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
        let (Some(rate), Some(requests)) = (rate, requests) else {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("wrk said nothing of its run: {text}{errors}"));
        };
        let p99 = line("99%").and_then(|l| millis(l.split_ascii_whitespace().nth(1)?));
        let bad = line("Non-2xx or 3xx responses:")
            .and_then(|l| l.rsplit(' ').next()?.parse::<f64>().ok())
            .unwrap_or(0.0);
        let sockets: f64 = line("Socket errors:")
            .map_or(0.0, |l| l.split([' ', ',']).filter_map(|word| word.parse::<f64>().ok()).sum());
        Ok(Run { requests, rate, p99_ms: p99.unwrap_or(f64::NAN), errors: bad + sockets })
    }
}

fn millis(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    Some(match &text[at..] {
        "us" => number / 1e3,
        "ms" => number,
        "s" => number * 1e3,
        _ => return None,
    })
}
