//! Logging: log lines contain ids and never a document's values.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogConfig, LogFormat};
use crate::exit::Failure;

/// Starts logging to stderr.
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
    let registry = tracing_subscriber::registry().with(filter);
    let lines = fmt::layer().with_writer(std::io::stderr);
    if is_text {
        registry.with(lines.with_ansi(std::io::stderr().is_terminal())).init();
    } else {
        registry.with(lines.json().flatten_event(true)).init();
    }
    Ok(())
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
