//! A running server.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;

use super::{Client, PATIENCE, Place, Ran, Wire, eventually};

/// A server process, which is killed when the value is dropped.
pub struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    /// The address of the API.
    pub api: SocketAddr,
    /// The address of metrics and probes.
    pub admin: SocketAddr,
}

impl Server {
    /// Starts a server on the store of a place and waits until it is ready.
    pub fn start(place: &Place) -> Self {
        Self::start_with(place, &[])
    }

    /// Does the same as [`Server::start`], with environment variables.
    pub fn start_with(place: &Place, environment: &[(&str, &str)]) -> Self {
        let mut command =
            place.command(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.envs(environment.iter().copied());
        Self::of(&mut command)
    }

    /// Starts a prepared command and waits until the server is ready.
    pub fn of(command: &mut Command) -> Self {
        // Few tests want a server that goes on after it was told to stop.
        const LAME_DUCK: &str = "HOMEROOM_SERVER__LAME_DUCK";
        if command.get_envs().all(|(name, _)| name != LAME_DUCK) {
            command.env(LAME_DUCK, "0s");
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (log, lines) = follow(child.stderr.take().unwrap());
        let begun = Instant::now();
        let line = loop {
            match lines.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) if line["message"] == "serves" => break line,
                Ok(_) => {}
                Err(_) => {
                    _ = child.kill();
                    _ = child.wait();
                    panic!("the server does not serve: {}", log.lock().unwrap());
                }
            }
        };
        let address = |name: &str| line[name].as_str().unwrap().parse().unwrap();
        let server = Self { api: address("api"), admin: address("admin"), child, log };
        eventually("the server is ready", || server.admin_client().get("/readyz").status == 200);
        server
    }

    /// Returns a client of the API without a token.
    pub fn client(&self) -> Client {
        Client::new(self.api)
    }

    /// Returns a client of the API with the token of a key.
    pub fn client_of(&self, (key, secret): &(String, String)) -> Client {
        let mut client = self.client();
        client.authorize(key, secret);
        client
    }

    /// Returns a client of the admin listener.
    pub fn admin_client(&self) -> Client {
        Client::new(self.admin)
    }

    /// Opens a bare connection to the API.
    pub fn wire(&self) -> Wire {
        Wire::open(self.api)
    }

    /// Returns the process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what the server has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Tells the server to stop, as a service manager does (SIGTERM).
    pub fn tell_to_stop(&self) {
        // The shell's built-in `kill` works even where no such program is installed.
        let pid = self.child.id().to_string();
        let told = Command::new("sh").args(["-c", "kill -TERM \"$0\"", &pid]).status().unwrap();
        assert!(told.success());
    }

    /// Waits until the server has ended.
    pub fn ended(mut self) -> Ran {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not end: {}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        Ran { code: status.code(), stdout: String::new(), stderr: self.log() }
    }

    /// Tells the server to stop and waits until it has.
    pub fn stop(self) -> Ran {
        self.tell_to_stop();
        self.ended()
    }

    /// Kills the server at once, with SIGKILL.
    pub fn kill(mut self) {
        self.kill_now();
    }

    fn kill_now(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill_now();
    }
}

/// Collects all lines that a server logs, and forwards those that are JSON.
fn follow(stderr: ChildStderr) -> (Arc<Mutex<String>>, Receiver<Value>) {
    let log = Arc::new(Mutex::new(String::new()));
    let (sender, lines) = channel();
    let kept = Arc::clone(&log);
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines() {
            let Ok(line) = line else { return };
            if let Ok(event) = serde_json::from_str(&line) {
                _ = sender.send(event);
            }
            let mut kept = kept.lock().unwrap();
            kept.push_str(&line);
            kept.push('\n');
        }
    });
    (log, lines)
}
