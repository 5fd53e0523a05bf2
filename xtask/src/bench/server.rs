//! The servers that are measured: Homeroom and nginx.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::files::text;
use crate::house::Done;
use crate::soak::client;

const PORT: u16 = 18_080;
const ADMIN_PORT: u16 = 18_090;
const NGINX_PORT: u16 = 18_081;
/// The port of the other build in a comparison.
const OTHER_PORT: u16 = 18_082;
const OTHER_ADMIN_PORT: u16 = 18_092;
/// The environment variable with the URL of the other build's store.
pub const OTHER_STORE: &str = "HOMEROOM_BENCH_OTHER_STORE";

/// A build of Homeroom with its binary, its ports and its store.
#[derive(Clone)]
pub struct Build {
    binary: PathBuf,
    port: u16,
    admin_port: u16,
    /// The store's URL, if it is not in the data folder.
    store: Option<String>,
    /// The configuration file, if the server has one.
    configuration: Option<PathBuf>,
}

impl Build {
    /// Returns the build in `target/release`.
    pub fn present() -> Self {
        let store = std::env::var(STORE).ok();
        let (port, admin_port) = (PORT, ADMIN_PORT);
        Self { binary: BINARY.into(), port, admin_port, store, configuration: None }
    }

    /// Returns another build to measure beside it.
    pub fn other(binary: &Path) -> Self {
        let store = std::env::var(OTHER_STORE).ok();
        let (port, admin_port) = (OTHER_PORT, OTHER_ADMIN_PORT);
        Self { binary: binary.to_owned(), port, admin_port, store, configuration: None }
    }

    /// Returns the same build with ports of its own and perhaps a configuration file.
    pub fn beside(&self, [port, admin_port]: [u16; 2], configuration: Option<&Path>) -> Self {
        let configuration = configuration.map(Path::to_owned);
        Self { port, admin_port, configuration, ..self.clone() }
    }

    /// Returns the port of its server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs one of its commands.
    pub fn run(&self, arguments: &[&str]) -> Done {
        self.run_with(arguments, &[])
    }

    /// Runs one of its commands with further environment variables.
    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Done {
        let done = self
            .command(arguments)
            .envs(environment.iter().copied())
            .output()
            .map_err(|error| format!("{}: {error}", self.binary.display()))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!("{} {} failed: {said}", self.binary.display(), arguments.join(" ")))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).envs(self.store.as_ref().map(|store| (STORE, store)));
        command
    }
}

/// A running Homeroom.
pub struct Server {
    child: Child,
    /// The build that runs.
    pub build: Build,
    /// The data folder.
    pub data: PathBuf,
    /// The time from the start of the process to the first 200 of `/readyz`.
    pub seconds_to_ready: f64,
}

/// A key with a token.
pub struct Client {
    port: u16,
    /// The key, or client id.
    pub key: String,
    /// The key's secret.
    pub secret: String,
    token: String,
}

impl Server {
    /// Starts the server with further environment variables and waits until it is ready. One with a configuration
    /// file may listen with TLS, so it is asked at its other address.
    pub fn start(
        build: &Build,
        data: &Path,
        environment: &[(String, String)],
    ) -> Result<Self, String> {
        let port = build.port;
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Err(format!("another server listens on port {port}; it would be measured"));
        }
        let begun = Instant::now();
        let child = build
            .command(&["serve", "--data-dir", text(data)])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(["--admin-listen", &format!("127.0.0.1:{}", build.admin_port)])
            .args(build.configuration.iter().flat_map(|file| ["--config", text(file)]))
            .envs(environment.iter().cloned())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let asked = build.configuration.as_ref().map_or(port, |_| build.admin_port);
        let build = build.clone();
        let mut server = Self { child, build, data: data.to_owned(), seconds_to_ready: 0.0 };
        let mut ended = None;
        let ready = wait(Duration::from_mins(1), || {
            ended = server.child.try_wait().ok().flatten();
            ended.is_some()
                || exchange(asked, "GET", "/readyz", &[], "").is_ok_and(|(status, _)| status == 200)
        });
        server.seconds_to_ready = begun.elapsed().as_secs_f64();
        match ended {
            Some(status) => Err(format!("the server ended before it was ready: {status}")),
            None if ready => Ok(server),
            None => Err("the server did not become ready".into()),
        }
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.build.port)
    }

    /// Makes a key with these arguments of `keys create`. Returns it and its secret.
    pub fn key(&self, arguments: &[&str]) -> Result<[String; 2], String> {
        let made = self
            .build
            .command(&["keys", "create", "--json", "--data-dir", text(&self.data)])
            .args(arguments)
            .output()
            .map_err(|e| e.to_string())?;
        let made: serde_json::Value = serde_json::from_slice(&made.stdout)
            .map_err(|e| format!("keys create: {e}: {}", String::from_utf8_lossy(&made.stderr)))?;
        Ok([member(&made, "key")?, member(&made, "secret")?])
    }

    /// Returns a client with a new key, created with these arguments of `keys create`.
    pub fn client(&self, arguments: &[&str]) -> Result<Client, String> {
        let [key, secret] = self.key(arguments)?;
        let body = serde_json::json!({
            "grant_type": "client_credentials", "client_id": key, "client_secret": secret
        });
        let header = [("Content-Type", "application/json")];
        let mut answer = Err("no token came".to_owned());
        // A server that shares its database sees a new key within half a second.
        wait(Duration::from_secs(5), || {
            answer = exchange(self.build.port, "POST", "/oauth/token", &header, &body.to_string());
            answer.as_ref().is_ok_and(|(status, _)| *status == 200)
        });
        let answer: serde_json::Value =
            serde_json::from_str(&answer?.1).map_err(|e| e.to_string())?;
        let token = member(&answer, "access_token")?;
        Ok(Client { port: self.build.port, key, secret, token })
    }

    /// Kills the process at once, and waits until it is gone.
    pub fn kill(mut self) -> Done {
        self.child.kill().map_err(|e| e.to_string())?;
        self.child.wait().map(drop).map_err(|e| e.to_string())
    }

    /// Returns the memory of the process.
    pub fn resident_megabytes(&self) -> Result<f64, String> {
        Ok(self.kib("VmRSS:")? / 1024.0)
    }

    /// Returns the process's own memory, without that of files, in KiB.
    pub fn anonymous_kib(&self) -> Result<f64, String> {
        self.kib("RssAnon:")
    }

    /// Returns the bytes that the process has read from the disk so far (`read_bytes`), or has had written to it
    /// (`write_bytes`).
    pub fn disk(&self, name: &str) -> Result<u64, String> {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.pid()));
        let io = io.map_err(|e| e.to_string())?;
        let bytes = io.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let bytes = bytes.and_then(|bytes| bytes.parse().ok());
        bytes.ok_or_else(|| format!("no {name} in /proc/PID/io"))
    }

    fn kib(&self, name: &str) -> Result<f64, String> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))
            .map_err(|e| e.to_string())?;
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let kib = line.split_ascii_whitespace().nth(1).and_then(|text| text.parse().ok());
        kib.ok_or_else(|| format!("no {name} in /proc/PID/status"))
    }
}

impl Client {
    /// Returns the body of a GET request.
    pub fn get(&self, path: &str) -> Result<String, String> {
        let token = format!("Bearer {}", self.token);
        match exchange(self.port, "GET", path, &[("Authorization", &token)], "")? {
            (200, body) => Ok(body),
            (status, body) => Err(format!("GET {path}: {status} {body}")),
        }
    }

    /// Sends a request and returns the status of its answer.
    pub fn status(&self, method: &str, path: &str, body: &str) -> Result<u16, String> {
        let token = format!("Bearer {}", self.token);
        let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
        let headers = if body.is_empty() { &headers[..1] } else { &headers[..] };
        exchange(self.port, method, path, headers, body).map(|(status, _)| status)
    }

    /// Sends a request with a body and returns the JSON of its answer.
    pub fn answer(
        &self,
        method: &str,
        path: &str,
        body: &serde_json::Value,
    ) -> Result<serde_json::Value, String> {
        let token = format!("Bearer {}", self.token);
        let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
        match exchange(self.port, method, path, &headers, &body.to_string())? {
            (200..=299, body) => serde_json::from_str(&body).map_err(|e| e.to_string()),
            (status, body) => Err(format!("{method} {path}: {status} {body}")),
        }
    }

    /// Sends a document with POST.
    pub fn post(&self, path: &str, body: &str) -> Result<u16, String> {
        let token = format!("Bearer {}", self.token);
        let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
        match exchange(self.port, "POST", path, &headers, body)? {
            (status @ 200..=201, _) => Ok(status),
            (status, body) => Err(format!("POST {path}: {status} {body}")),
        }
    }

    /// Returns the page token of the last fifth of a resource, if it has enough documents to be divided so.
    pub fn last_fifth(&self, path: &str) -> Result<Option<String>, String> {
        let partitions = self.get(&format!("{path}/partitions?number=5"))?;
        let partitions: serde_json::Value =
            serde_json::from_str(&partitions).map_err(|e| e.to_string())?;
        Ok(partitions["pageTokens"][4].as_str().map(str::to_owned))
    }

    /// Returns a client with the same token that keeps its connection.
    pub fn kept(&self) -> client::Client {
        let mut kept = client::Client::new(SocketAddr::from(([127, 0, 0, 1], self.port)));
        kept.token = Some(self.token.clone());
        kept
    }

    /// Returns the ids of a list.
    pub fn ids(&self, path: &str) -> Result<Vec<String>, String> {
        let page: serde_json::Value =
            serde_json::from_str(&self.get(path)?).map_err(|e| e.to_string())?;
        let documents = page.as_array().into_iter().flatten();
        Ok(documents.filter_map(|d| Some(d["id"].as_str()?.to_owned())).collect())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        _ = Command::new("kill").arg(self.child.id().to_string()).status();
        _ = self.child.wait();
    }
}

/// Returns a text in an answer.
fn member(of: &serde_json::Value, name: &str) -> Result<String, String> {
    of[name].as_str().map(str::to_owned).ok_or(format!("no {name} came"))
}

/// A running nginx that serves one file.
pub struct Nginx {
    child: Child,
}

impl Nginx {
    /// Starts nginx in a folder of its own.
    pub fn start(folder: &Path, page: &str) -> Result<Self, String> {
        let folder = std::fs::canonicalize(folder).map_err(|e| e.to_string())?.join("nginx");
        std::fs::create_dir_all(folder.join("www")).map_err(|e| e.to_string())?;
        std::fs::write(folder.join("www/doc.json"), page).map_err(|e| e.to_string())?;
        let place = folder.display();
        let configuration = format!(
            "worker_processes 2; daemon off; pid {place}/pid; error_log {place}/error.log;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; keepalive_requests 1000000000; default_type application/json;\n\
             client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;\n\
             fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;\n\
             server {{ listen 127.0.0.1:{NGINX_PORT}; root {place}/www; }} }}\n"
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration).map_err(|e| e.to_string())?;
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .spawn()
            .map_err(|error| format!("nginx: {error}; install the package nginx-light"))?;
        let ready = wait(Duration::from_secs(10), || {
            exchange(NGINX_PORT, "GET", "/doc.json", &[], "").is_ok_and(|(status, _)| status == 200)
        });
        let nginx = Self { child };
        if ready { Ok(nginx) } else { Err("nginx did not start".into()) }
    }

    /// Returns the process ids of its workers.
    pub fn pids(&self) -> Vec<u32> {
        let master = self.child.id();
        let children = format!("/proc/{master}/task/{master}/children");
        let listed = std::fs::read_to_string(children).unwrap_or_default();
        listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Returns the URL of a path.
    pub fn url(path: &str) -> String {
        format!("http://127.0.0.1:{NGINX_PORT}{path}")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        _ = Command::new("kill").arg(self.child.id().to_string()).status();
        _ = self.child.wait();
    }
}

/// Sends one request to a port of this machine. Returns status and body.
pub fn exchange(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<(u16, String), String> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let answer = client::exchange(address, method, path, headers, body);
    let answer = answer.map_err(|error| error.to_string())?;
    Ok((answer.status.as_u16(), String::from_utf8_lossy(&answer.body).into_owned()))
}

/// The release binary, below the workspace.
pub const BINARY: &str = "target/release/homeroom";

/// The environment variable with the URL of Homeroom's store.
pub const STORE: &str = "HOMEROOM_STORE__URL";

/// Runs a command of the build in `target/release`.
pub fn homeroom(arguments: &[&str]) -> Done {
    Build::present().run(arguments)
}

/// Does the same with further environment variables.
pub fn homeroom_with(arguments: &[&str], environment: &[(&str, &str)]) -> Done {
    Build::present().run_with(arguments, environment)
}

/// Waits until `done` returns true, for at most `time`.
pub fn wait(time: Duration, mut done: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
