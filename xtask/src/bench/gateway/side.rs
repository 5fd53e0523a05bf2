//! A gateway that is measured, and what a cell showed of it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::figures::Figures;
use crate::bench::files::text;
use crate::bench::server::BINARY;

/// The port of nginx.
pub(super) const NGINX_PORT: u16 = 18_084;
/// The back end, which `lab gateway` runs within its own process.
pub(super) const BACK_END: &str = "127.0.0.1:18083";
/// The rights of a key for what is called, and for documents.
pub(super) const RIGHTS: [&str; 4] = ["--claim-set", "FullAccess", "--apis", "echo,mediation"];

/// Adds what a cell showed.
pub(super) fn found(figures: &mut Figures, cell: &str, name: &str, found: &Found) {
    figures.push(&format!("{cell}: {name}, requests/s"), 0, found.rate);
    figures.push(&format!("{cell}: {name}, p99 ms"), 1, found.p99_ms);
    figures.push(&format!("{cell}: {name}, CPU per request, µs"), 1, found.cpu_us);
    figures.push(&format!("{cell}: {name}, failed"), 0, found.failed);
}

/// A gateway that is measured.
#[derive(Clone)]
pub(super) enum Side<'a> {
    /// A Homeroom with its process id, a key, and further arguments of the lab.
    Homeroom { target: String, process: String, key: String, secret: String, more: Vec<String> },
    /// An nginx with the id of its first process, and a file of tokens.
    Nginx { process: String, tokens: &'a Path },
}

/// What a cell showed.
pub(super) struct Found {
    pub(super) rate: f64,
    pub(super) p99_ms: f64,
    pub(super) cpu_us: f64,
    pub(super) failed: f64,
}

impl Side<'_> {
    /// Measures one cell.
    pub(super) fn measure(
        &self,
        folder: &Path,
        scenario: &str,
        size: &str,
        users: u32,
        seconds: u32,
    ) -> Result<Found, String> {
        let file = folder.join("cell.json");
        let mut command = Command::new(BINARY);
        command.args(["lab", "gateway", "--back-end", BACK_END, "--scenarios", scenario]);
        command.args(["--sizes", size, "--users", &users.to_string(), "--json", text(&file)]);
        command.args(["--warm-up", "2s", "--idle", "1s", "--duration", &format!("{seconds}s")]);
        match self {
            Self::Homeroom { target, process, key, secret, more } => {
                command.args(["--target", target, "--process", process, "--key", key]).args(more);
                command.env("HOMEROOM_LAB_SECRET", secret);
            }
            Self::Nginx { process, tokens } => {
                command.args(["--target", &format!("http://127.0.0.1:{NGINX_PORT}")]);
                command.args(["--process", process, "--tokens", text(tokens)]);
            }
        }
        let done = command.output().map_err(|error| format!("{BINARY}: {error}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        let read = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let read: Value = serde_json::from_str(&read).map_err(|e| e.to_string())?;
        let cell = &read["cells"][0];
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        Ok(Found {
            rate: number(&cell["throughput"]),
            p99_ms: number(&cell["response_ms"]["p99"]),
            cpu_us: number(&cell["cpu_us_per_request"]),
            failed: number(&cell["requests"]["failed"]),
        })
    }
}
