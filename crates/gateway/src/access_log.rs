//! The log of requests: one JSON line each, with ids and names of kinds, never a value or a path.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use homeroom_access::ApiClient;
use homeroom_http::{Cors, Named, Params, Route, Timestamp, Via};
use serde::Serialize;

use crate::recognition::Sender;

/// Most bytes of lines that wait to be written; further lines are counted and left out.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes of waiting lines that are written at once.
const WRITE_AT: usize = 64 << 10;
/// Longest time that a line waits.
const WAIT_MAX: Duration = Duration::from_millis(200);

/// Which requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedRequests {
    /// The log has the requests that are answered with a status of 400 and more.
    Errors,
    /// The log has every request.
    All,
}

/// A log of requests. Its lines are written by a thread of its own, so that no request waits for
/// the disk; the last ones are written when the value is dropped.
#[derive(Debug)]
pub struct AccessLog {
    which: LoggedRequests,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    wake: Condvar,
    left_out: AtomicU64,
}

#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    is_over: bool,
}

/// What a request's line says of its route and sender.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) route: &'static str,
    /// The key of the request, or the name of a caller whom the part has recognized.
    pub(crate) key: Option<String>,
    /// Name of the key's application.
    client: Option<String>,
    pub(crate) cors: Option<Arc<Cors>>,
    /// Whether there is a log.
    is_logged: bool,
    resource: Option<String>,
    /// The upstream that was asked.
    pub(crate) via: Option<Via>,
}

impl Told {
    /// Creates what is said of a request whose route is not known yet.
    pub(crate) fn new(is_logged: bool) -> Self {
        Self { is_logged, ..Self::default() }
    }

    /// Records the sender, if it is known.
    pub(crate) fn of_sender(&mut self, sender: &Sender) {
        self.key = sender.name().map(str::to_owned);
        if self.is_logged {
            self.client = sender.client().map(|client| client.application.clone());
        }
    }

    /// Records the client whom a request has named, right or wrong, where the sender is not known.
    pub(crate) fn of_named(&mut self, named: &Named) {
        if self.key.is_none() {
            self.key = Some(named.key.clone());
            if self.is_logged {
                self.client = Some(named.client.clone());
            }
        }
    }

    /// Records the route, and the values of those placeholders that may be logged.
    pub(crate) fn of_route(&mut self, route: &Route<ApiClient>, params: &Params) {
        self.cors.clone_from(&route.cors);
        if self.is_logged && !route.logged.is_empty() {
            let values: Vec<&str> = route.logged.iter().map(|name| params.get(name)).collect();
            self.resource = Some(values.join("/"));
        }
    }
}

/// A request that was answered.
pub(crate) struct Logged<'a> {
    pub(crate) at: Timestamp,
    pub(crate) method: &'static str,
    pub(crate) status: u16,
    pub(crate) time: Duration,
    pub(crate) told: &'a Told,
    pub(crate) request_id: &'a str,
    pub(crate) correlation_id: &'a str,
}

#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    method: &'static str,
    route: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    status: u16,
    ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    request_id: &'a str,
    correlation_id: &'a str,
}

impl AccessLog {
    /// Creates a log that is written to `out`.
    ///
    /// # Errors
    ///
    /// If the system has no room for another thread.
    pub fn new(which: LoggedRequests, out: Box<dyn Write + Send>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let lines = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("request-log".into())
            .spawn(move || lines.write_to(out))?;
        Ok(Self { which, shared, writer: Some(writer) })
    }

    /// Returns how many lines were left out because the disk was too slow.
    pub fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }

    pub(crate) fn write(&self, request: &Logged<'_>) {
        if self.which == LoggedRequests::Errors && request.status < 400 {
            return;
        }
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let via = request.told.via.as_ref();
        let line = Line {
            timestamp: request.at.to_string(),
            level: "INFO",
            message: "request",
            method: request.method,
            route: request.told.route,
            resource: request.told.resource.as_deref(),
            status: request.status,
            ms: ms(request.time),
            key: request.told.key.as_deref(),
            client: request.told.client.as_deref(),
            upstream: via.map(|via| &*via.upstream),
            upstream_ms: via.map(|via| ms(via.time)),
            attempts: via.map(|via| via.attempts),
            request_id: request.request_id,
            correlation_id: request.correlation_id,
        };
        let Ok(mut line) = serde_json::to_vec(&line) else { return };
        line.push(b'\n');
        let mut lines = self.shared.lines();
        if lines.bytes.len() + line.len() > WAITING_BYTES_MAX {
            drop(lines);
            self.shared.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let was_short = lines.bytes.len() < WRITE_AT;
        lines.bytes.extend_from_slice(&line);
        if was_short && lines.bytes.len() >= WRITE_AT {
            self.shared.wake.notify_one();
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.shared.lines().is_over = true;
        self.shared.wake.notify_one();
        if let Some(writer) = self.writer.take() {
            _ = writer.join();
        }
    }
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut out: Box<dyn Write + Send>) {
        let mut taken = Vec::new();
        let mut has_failed = false;
        loop {
            let lines = self.lines();
            let is_idle = |lines: &mut Lines| !lines.is_over && lines.bytes.len() < WRITE_AT;
            let waited = self.wake.wait_timeout_while(lines, WAIT_MAX, is_idle);
            let (mut lines, _) = waited.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut lines.bytes, &mut taken);
            let is_over = lines.is_over;
            drop(lines);
            let written = out.write_all(&taken).and_then(|()| out.flush());
            if let Err(error) = &written
                && !has_failed
            {
                tracing::error!(%error, "the log of requests cannot be written");
            }
            has_failed = written.is_err();
            taken.clear();
            if is_over {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn lines(which: LoggedRequests, statuses: &[u16]) -> Vec<serde_json::Value> {
        let kept = Kept::default();
        let log = AccessLog::new(which, Box::new(kept.clone())).unwrap();
        let told = Told {
            route: "/a/{id}",
            key: Some("key".into()),
            client: Some("SIS".into()),
            ..Told::default()
        };
        for status in statuses {
            log.write(&Logged {
                at: Timestamp(1_795_000_000_000_000),
                method: "GET",
                status: *status,
                time: Duration::from_micros(1_234),
                told: &told,
                request_id: "r",
                correlation_id: "a\"b",
            });
        }
        drop(log);
        let bytes = kept.0.lock().unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn each_request_has_a_line_with_its_ids() {
        let lines = lines(LoggedRequests::All, &[200, 404]);

        assert_eq!(lines.len(), 2);
        assert_eq!(
            lines[0],
            serde_json::json!({
                "timestamp": "2026-11-18T11:06:40.000Z", "level": "INFO", "message": "request",
                "method": "GET", "route": "/a/{id}", "status": 200, "ms": 1.234, "key": "key",
                "client": "SIS",
                "request_id": "r", "correlation_id": "a\"b",
            })
        );
    }

    #[test]
    fn the_line_of_a_call_that_was_passed_on_tells_to_whom() {
        let kept = Kept::default();
        let log = AccessLog::new(LoggedRequests::All, Box::new(kept.clone())).unwrap();
        let via =
            Via { upstream: "http://shop:80".into(), time: Duration::from_millis(7), attempts: 2 };
        log.write(&Logged {
            at: Timestamp(0),
            method: "GET",
            status: 200,
            time: Duration::from_millis(8),
            told: &Told { via: Some(via), ..Told::default() },
            request_id: "r",
            correlation_id: "c",
        });
        drop(log);

        let line: serde_json::Value = serde_json::from_slice(&kept.0.lock().unwrap()).unwrap();

        assert_eq!(line["upstream"], "http://shop:80");
        assert_eq!((&line["upstream_ms"], &line["attempts"]), (&7.0.into(), &2.into()));
    }

    #[test]
    fn of_errors_only_those_are_logged() {
        let lines = lines(LoggedRequests::Errors, &[200, 304, 400, 503]);

        let statuses: Vec<_> = lines.iter().map(|line| line["status"].clone()).collect();
        assert_eq!(statuses, [400, 503]);
    }
}
