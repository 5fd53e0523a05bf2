//! Logging: log lines contain ids and never a document's values. The audit log is a stream of its own,
//! which no level silences.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use homeroom_access::AUDIT;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogConfig, LogFormat};
use crate::exit::Failure;

/// Where the audit log goes that has no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfiled {
    /// Between the lines of the log: that of a server, which somebody keeps.
    InLog,
    /// To the system's log: from a command, of whose output nobody expects it.
    InSystemLog,
}

/// The socket of the system's log.
///
/// Source: syslog(3).
const SYSTEM_LOG: &str = "/dev/log";
/// The priority of an entry there: security, informational.
///
/// Source: RFC 5424 §6.2.1 (10 × 8 + 6).
const PRIORITY: u8 = 86;

/// Starts logging to stderr, and the audit log to its file or to where it goes without one.
///
/// # Errors
///
/// If the level is not valid.
pub fn start(config: &LogConfig, unfiled: Unfiled) -> Result<(), Failure> {
    let filter: Targets = quoting_nobody(&config.level)
        .parse()
        .map_err(|error| Failure::Usage(format!("log.level: {error}")))?;
    let is_text = match config.format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => std::io::stderr().is_terminal(),
    };
    let apart = match (&config.audit_file, unfiled) {
        _ if !config.audit => None,
        (Some(file), _) => Some(BoxMakeWriter::new(AuditFile(file.clone()))),
        (None, Unfiled::InSystemLog) => Some(BoxMakeWriter::new(SystemLog(SYSTEM_LOG.into()))),
        (None, Unfiled::InLog) => None,
    };
    let is_among = config.audit && apart.is_none();
    let apart = apart.map(|writer| {
        let only = Targets::new().with_target(AUDIT, LevelFilter::INFO);
        fmt::layer().with_writer(writer).json().flatten_event(true).with_filter(only)
    });
    let level = if is_among { LevelFilter::INFO } else { LevelFilter::OFF };
    let filter = filter.with_target(AUDIT, level);
    let lines = fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(apart);
    if is_text {
        let lines = lines.with_ansi(std::io::stderr().is_terminal());
        registry.with(lines.with_filter(filter)).init();
    } else {
        registry.with(lines.json().flatten_event(true).with_filter(filter)).init();
    }
    Ok(())
}

/// Refuses a file of the audit log that cannot be written.
///
/// # Errors
///
/// Which file, and why.
pub fn expect_audit(config: &LogConfig) -> Result<(), Failure> {
    let Some(path) = config.audit_file.as_ref().filter(|_| config.audit) else { return Ok(()) };
    opened(path).map(drop).map_err(|error| Failure::of_path("log.audit_file", path, &error))
}

/// The file of the audit log. It is opened for each entry, so that it can be moved away at any time.
struct AuditFile(PathBuf);

impl<'a> MakeWriter<'a> for AuditFile {
    type Writer = Box<dyn Write>;

    fn make_writer(&'a self) -> Self::Writer {
        match opened(&self.0) {
            Ok(file) => Box::new(file),
            // An entry is not lost with its file.
            Err(_) => Box::new(std::io::stderr()),
        }
    }
}

/// The system's log. An entry is lost where there is none.
struct SystemLog(PathBuf);

impl<'a> MakeWriter<'a> for SystemLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self(self.0.clone())
    }
}

impl Write for SystemLog {
    fn write(&mut self, entry: &[u8]) -> std::io::Result<usize> {
        let begin = format!("<{PRIORITY}>homeroom[{}]: ", std::process::id());
        let datagram = [begin.as_bytes(), entry.trim_ascii_end()].concat();
        if let Ok(socket) = UnixDatagram::unbound() {
            // The command is done, whether or not it is logged.
            _ = socket.set_nonblocking(true);
            _ = socket.send_to(&datagram, &self.0);
        }
        Ok(entry.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn opened(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Switches off logging for h2, the one library that quotes what callers send: a path that HTTP/2
/// does not allow, with its query.
fn quoting_nobody(directives: &str) -> String {
    let own = directives.split(',').filter(|directive| !directive.trim().starts_with("h2"));
    own.chain(["h2=off"]).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_log_gets_one_datagram_for_each_entry() {
        let path = std::env::temp_dir().join(format!("hr-syslog-{}", std::process::id()));
        let system = UnixDatagram::bind(&path).unwrap();

        SystemLog(path.clone()).make_writer().write_all(b"{\"action\":\"key.created\"}\n").unwrap();
        SystemLog(path.with_extension("absent")).write_all(b"{}").unwrap();

        let mut received = [0; 256];
        let length = system.recv(&mut received).unwrap();
        let received = std::str::from_utf8(&received[..length]).unwrap();
        let expected =
            format!("<86>homeroom[{}]: {{\"action\":\"key.created\"}}", std::process::id());
        assert_eq!(received, expected);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_log_level_of_the_http_2_library_is_always_off() {
        assert_eq!(quoting_nobody("info"), "info,h2=off");
        assert_eq!(quoting_nobody("h2::server=trace,warn, h2=debug"), "warn,h2=off");
    }
}
