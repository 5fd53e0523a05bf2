//! The set-up's client: one connection, one request at a time.
#![expect(clippy::disallowed_methods, reason = "a wait between tries has an end")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::api::{Access, Api, ApiError, ApiRequest, Reply};
use homeroom_client::Error;
use homeroom_load::client::{self, Caller, Kept, words};

/// How often a waiting client checks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// A client of one target.
pub struct HttpApi {
    access: Access,
    line: Kept,
    stop: Arc<AtomicBool>,
}

impl HttpApi {
    /// Returns a client that calls a target with a key. It connects at its first request, and sends
    /// nothing more once `stop` is set.
    pub fn new(caller: Caller, key: &str, secret: &str, stop: Arc<AtomicBool>) -> Self {
        let root = caller.target.prefix.clone();
        let access = Access { root, key: key.into(), secret: secret.into() };
        Self { access, line: caller.keep(), stop }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Api for HttpApi {
    fn access(&self) -> &Access {
        &self.access
    }

    fn send(&mut self, ask: &ApiRequest<'_>) -> Result<Reply, ApiError> {
        if ask.path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            let why = "is of no use, because its path contains spaces or control characters".into();
            return Err(ApiError::Strange { path: ask.path.to_owned(), why });
        }
        if self.is_stopped() {
            return Err(ApiError::Stopped);
        }
        let mut headers = vec![
            ("Accept", "application/json"),
            ("Authorization", ask.authorization),
            ("Content-Type", ask.content_type),
        ];
        headers.retain(|(_, value)| !value.is_empty());
        // Every request of a set-up may safely be sent twice.
        let answered = self.line.send(ask.method, ask.path, &headers, ask.body);
        let unanswered = |error: Error| ApiError::Unanswered {
            method: ask.method.to_owned(),
            path: ask.path.to_owned(),
            why: words(&error),
        };
        let client::Reply { status, location, retry_after_s, body } =
            answered.map_err(unanswered)?;
        Ok(Reply { status, location, retry_after_s, body })
    }

    fn wait(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.is_stopped() {
            std::thread::sleep(LOOK);
        }
    }
}
