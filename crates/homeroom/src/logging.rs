//! Log lines: ids and never a document's values.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};
use crate::exit::Failure;

/// Starts logging to stderr.
///
/// # Errors
///
/// When the level is none.
pub fn start(config: &LogConfig) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&config.level)
        .map_err(|error| Failure::Usage(format!("log.level: {error}")))?;
    let is_text = match config.format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => std::io::stderr().is_terminal(),
    };
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if is_text {
        lines.with_ansi(std::io::stderr().is_terminal()).init();
    } else {
        lines.json().flatten_event(true).init();
    }
    Ok(())
}
