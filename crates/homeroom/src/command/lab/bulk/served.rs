//! A server of a store, to which files are uploaded as a client without trust would.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::measure::{Measured, on_cores, while_running};
use crate::exit::Failure;

/// Longest time until the server serves.
const START_TIME_MAX: Duration = Duration::from_mins(1);

/// A server, which is killed when the value is dropped.
pub(super) struct Served {
    child: Child,
    url: String,
    key: String,
    secret: String,
    cores: Option<usize>,
}

impl Served {
    /// Starts a server with the store of a data directory, which may use some cores, or all, and
    /// makes a key that may do everything.
    ///
    /// # Errors
    ///
    /// Says what could not be started.
    pub(super) fn start(data: &Path, cores: Option<usize>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::because("starting a server", error);
        let program = std::env::current_exe().map_err(failed)?;
        let listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
        let mut child = on_cores(&program, cores)
            .arg("serve")
            .args(listen)
            .arg("--data-dir")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let log = child.stderr.take();
        let (url, key, secret) = (String::new(), String::new(), String::new());
        let mut served = Self { child, url, key, secret, cores };
        let (found, address) = mpsc::channel();
        // The log is read to its end, so that the server never waits for a reader.
        std::thread::spawn(move || {
            for line in log.into_iter().flat_map(|log| BufReader::new(log).lines()) {
                let Ok(line) = line else { return };
                let line: Value = serde_json::from_str(&line).unwrap_or_default();
                if line["message"] == "serves" {
                    _ = found.send(line["api"].as_str().unwrap_or_default().to_owned());
                }
            }
        });
        let address = address
            .recv_timeout(START_TIME_MAX)
            .map_err(|_| Failure::Failed("the server that was started does not serve".into()))?;
        served.url = format!("http://{address}");
        let made = Command::new(&program)
            .args(["keys", "create", "--claim-set", "FullAccess", "--json", "--data-dir"])
            .arg(data)
            .output()
            .map_err(failed)?;
        let made: Value = serde_json::from_slice(&made.stdout).unwrap_or_default();
        let text = |name: &str| made[name].as_str().map(str::to_owned);
        match (text("key"), text("secret")) {
            (Some(key), Some(secret)) => (served.key, served.secret) = (key, secret),
            _ => return Err(Failure::Failed("the server gave no key".into())),
        }
        Ok(served)
    }

    /// Uploads files and waits until they are loaded. The server is sampled.
    ///
    /// # Errors
    ///
    /// Says how the upload ended.
    pub(super) fn upload(&self, files: &[PathBuf], results: &Path) -> Result<Measured, Failure> {
        let failed = |error: std::io::Error| Failure::because("starting an upload", error);
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = on_cores(&program, self.cores);
        command.arg("upload").args(files).args(["--server", &self.url, "--key", &self.key]);
        command.args(["--json", "--results"]).arg(results);
        command.env("HOMEROOM_UPLOAD_SECRET", &self.secret);
        let measured = while_running(command, Some(self.child.id()), results)?;
        Ok(Measured {
            cores: self.cores.unwrap_or(measured.cores).min(measured.cores),
            seconds: measured.process_seconds,
            transfer_seconds: Some((measured.process_seconds - measured.seconds).max(0.0)),
            ..measured
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
