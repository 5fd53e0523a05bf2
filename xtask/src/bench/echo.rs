//! A server with known faults: `homeroom lab echo`.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::server::exchange;
use super::server::{BINARY, wait};

const PORT: u16 = 18_082;

/// A running echo server.
pub struct Echo(Child);

impl Echo {
    /// Starts the server with further arguments.
    pub fn start(trouble: &[&str]) -> Result<Self, String> {
        if TcpStream::connect(("127.0.0.1", PORT)).is_ok() {
            return Err(format!("another server listens on port {PORT}; it would be measured"));
        }
        let child = Command::new(BINARY)
            .args(["lab", "echo", "--listen", &format!("127.0.0.1:{PORT}")])
            .args(trouble)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let echo = Self(child);
        // Only connects: the server counts from its first request.
        let is_there = || TcpStream::connect(("127.0.0.1", PORT)).is_ok();
        if wait(Duration::from_secs(10), is_there) { Ok(echo) } else { Err("no echo".into()) }
    }

    /// Returns the URL of the server.
    pub fn url() -> String {
        format!("http://127.0.0.1:{PORT}/")
    }

    /// Returns the server's counts.
    pub fn counts() -> Result<Value, String> {
        let (_, body) = exchange(PORT, "GET", "/_lab/counts", &[], "")?;
        serde_json::from_str(&body).map_err(|e| e.to_string())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}
