//! The commands, one file each.

pub mod claim_sets;
pub mod claims;
pub mod config;
pub mod counts;
pub mod course;
pub mod demo;
pub mod export;
pub mod gateway;
pub mod generate;
pub mod interchange_order;
pub mod jobs;
pub mod keys;
pub mod lab;
pub mod load;
pub mod model;
pub mod operations;
pub mod restore;
pub mod serve;
pub mod shell;
pub mod strategies;
pub mod terminal;
pub mod upload;
pub mod views;

use std::path::Path;

use serde_json::Value;

use crate::config::{Config, ConfigArgs};
use crate::exit::Failure;
use crate::logging;
use crate::logging::Unfiled;

/// Reads the configuration and starts logging, for a command that ends soon.
pub fn prepare(args: &ConfigArgs, flags: &[(&str, Option<String>)]) -> Result<Config, Failure> {
    let (config, _) = args.read(flags).map_err(|error| Failure::Usage(error.to_string()))?;
    logging::start(&config.log, Unfiled::InLog)?;
    Ok(config)
}

/// Does the same as [`prepare`] but shows only warnings, for commands whose output log lines would
/// disturb.
pub fn prepare_quietly(args: &ConfigArgs) -> Result<Config, Failure> {
    prepare_quietly_with(args, &[])
}

/// Does the same as [`prepare_quietly`], with values from the command line.
pub fn prepare_quietly_with(
    args: &ConfigArgs,
    flags: &[(&str, Option<String>)],
) -> Result<Config, Failure> {
    let (mut config, layers) =
        args.read(flags).map_err(|error| Failure::Usage(error.to_string()))?;
    let is_default = layers
        .explain(&config)
        .iter()
        .any(|(name, _, origin)| name == "log.level" && *origin == crate::config::Origin::Default);
    if is_default {
        config.log.level = "warn".into();
    }
    logging::start(&config.log, Unfiled::InSystemLog)?;
    Ok(config)
}

/// Reads a JSON file.
pub fn read_json(file: &Path) -> Result<Value, Failure> {
    let reading = format!("reading {}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| Failure::because(&reading, e))?;
    serde_json::from_str(&text).map_err(|e| Failure::because(&reading, e))
}

/// Prints JSON to stdout.
pub fn print_json(value: &Value) {
    crate::exit::say!("{value:#}");
}
