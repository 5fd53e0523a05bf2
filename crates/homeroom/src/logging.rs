//! Logging: log lines contain ids and never a document's values. The audit log is a stream of its own,
//! which no level silences.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use homeroom_access::AUDIT;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogConfig, LogFormat};
use crate::exit::Failure;

/// Starts logging to stderr, and the audit log to its file, if it has one.
///
/// # Errors
///
/// If the level is not valid.
pub fn start(config: &LogConfig) -> Result<(), Failure> {
    let filter: Targets = quoting_nobody(&config.level)
        .parse()
        .map_err(|error| Failure::Usage(format!("log.level: {error}")))?;
    let is_text = match config.format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => std::io::stderr().is_terminal(),
    };
    let lines = fmt::layer().with_writer(std::io::stderr);
    let audited = config.audit.then(|| Targets::new().with_target(AUDIT, LevelFilter::INFO));
    let in_file = config.audit_file.clone().map(AuditFile);
    let of_file = in_file.zip(audited.clone()).map(|(file, only)| {
        fmt::layer().with_writer(file).json().flatten_event(true).with_filter(only)
    });
    let is_apart = of_file.is_some() || audited.is_none();
    let level = if is_apart { LevelFilter::OFF } else { LevelFilter::INFO };
    let filter = filter.with_target(AUDIT, level);
    let registry = tracing_subscriber::registry().with(of_file);
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
    opened(path)
        .map(drop)
        .map_err(|error| Failure::Failed(format!("log.audit_file: {}: {error}", path.display())))
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
    fn the_log_level_of_the_http_2_library_is_always_off() {
        assert_eq!(quoting_nobody("info"), "info,h2=off");
        assert_eq!(quoting_nobody("h2::server=trace,warn, h2=debug"), "warn,h2=off");
    }
}
