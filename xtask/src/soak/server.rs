//! The server under test: the real binary with a new store; its log is kept.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;

/// The longest wait for the server to start.
const START: Duration = Duration::from_mins(1);
/// The most lines of the log that are kept.
const LINES_MAX: usize = 1_000;

/// The data API as a published API, through which some of the load goes, and an API without security.
const APIS: &str = "\
[[apis]]
name = 'ods'
context = 'ods'
version = 'v3'
part = 'data'
limits = [{by = ['key', 'address'], requests_per_second = 100000}]
transform.request = [{op = 'drop', path = '/nobody/sends/this'}]

[[apis]]
name = 'open'
context = 'open'
version = 'v1'
part = 'metadata'
security = 'none'
limits = [{by = 'address', requests_per_second = 20}]
";

/// The arguments that create a key for all of it.
const CREATE_KEY: [&str; 7] =
    ["keys", "create", "--claim-set", "FullAccess", "--apis", "*", "--json"];

/// A running server, which is killed when the value is dropped.
pub struct Server {
    child: Child,
    /// The address of the API.
    pub api: SocketAddr,
    /// The address of metrics and probes.
    pub admin: SocketAddr,
    /// The store's folder.
    pub data: std::path::PathBuf,
    key: Value,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Creates a key in a new store in `folder`, starts the server and waits until it serves.
    pub fn start(binary: &Path, folder: &Path) -> Result<Self, String> {
        Self::start_with(binary, folder, &|_| Ok(()))
    }

    /// Does the same as [`Server::start`]; before the server starts, `fill` may add to the store's
    /// folder.
    pub fn start_with(
        binary: &Path,
        folder: &Path,
        fill: &dyn Fn(&Path) -> Result<(), String>,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", binary.display());
        _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let data = folder.join("data");
        let command = |arguments: &[&str]| {
            let mut command = Command::new(binary);
            command.args(arguments).arg("--data-dir").arg(&data).current_dir(folder);
            command
        };
        let made = command(&CREATE_KEY).output().map_err(failed)?;
        let key: Value =
            serde_json::from_slice(&made.stdout).map_err(|e| format!("keys create: {e}"))?;
        fill(&data)?;
        std::fs::write(folder.join("apis.toml"), APIS).map_err(failed)?;
        let applied = command(&["gateway", "apply", "apis.toml"]).output().map_err(failed)?;
        if !applied.status.success() {
            return Err(format!("gateway apply: {}", String::from_utf8_lossy(&applied.stderr)));
        }
        let mut child = command(&["serve", "--listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0"])
            .env("HOMEROOM_LOG__FORMAT", "json")
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stderr = child.stderr.take().expect("it was asked for");
        let log = Arc::new(Mutex::new(vec![]));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < LINES_MAX {
                    kept.push(line);
                }
            }
        });
        let begun = Instant::now();
        while begun.elapsed() < START {
            let lines = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let serves = lines.iter().find_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                (line["message"] == "serves").then_some(line)
            });
            if let Some(line) = serves {
                let address = |name: &str| line[name].as_str().and_then(|text| text.parse().ok());
                let (Some(api), Some(admin)) = (address("api"), address("admin")) else { break };
                return Ok(Self { child, api, admin, data, key, log });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        _ = child.kill();
        Err("the server does not serve".to_owned())
    }

    /// Returns a client with a new token.
    pub fn client(&self) -> Result<Client, String> {
        self.client_of(&self.key)
    }

    /// Returns a client with a key of its own.
    pub fn another(&self, binary: &Path) -> Result<Client, String> {
        let mut command = Command::new(binary);
        command.args(CREATE_KEY).arg("--data-dir");
        let made = command.arg(&self.data).output().map_err(|e| format!("keys create: {e}"))?;
        let key = serde_json::from_slice(&made.stdout).map_err(|e| format!("keys create: {e}"))?;
        self.client_of(&key)
    }

    /// Returns the body of the token request that [`Server::client`] sends.
    pub fn token_request(&self) -> String {
        token_request(&self.key)
    }

    fn client_of(&self, key: &Value) -> Result<Client, String> {
        let mut client = Client::new(self.api);
        let asked = token_request(key);
        let answer = client
            .send("POST", "/oauth/token", Some(&asked))
            .map_err(|error| format!("no token: {error}"))?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token = body["access_token"].as_str();
        client.token = Some(token.ok_or_else(|| format!("no token: {}", answer.status))?.into());
        Ok(client)
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether the process runs: a zombie process has no memory.
    pub fn is_alive(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        status.is_ok_and(|status| status.contains("VmRSS"))
    }

    /// Returns the first lines of the log.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn token_request(key: &Value) -> String {
    json!({
        "grant_type": "client_credentials",
        "client_id": key["key"],
        "client_secret": key["secret"],
    })
    .to_string()
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
