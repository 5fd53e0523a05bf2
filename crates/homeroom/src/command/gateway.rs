//! `homeroom gateway lint | diff | apply | export`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use homeroom_apis::{ApisRequest, Difference, Finding, Published, located, read, write};
use serde_json::{Value, json};

use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{self, Exit, Failure};

/// Publishes APIs that files define, whether or not a server is running.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: GatewayCommand,
}

#[derive(Debug, Subcommand)]
enum GatewayCommand {
    /// Checks a file, or all .toml files of a folder, without a store
    #[command(after_help = "Examples:
  homeroom gateway lint apis.toml
  homeroom gateway lint apis/ --json

The exit code is 0 when nothing is wrong, 1 otherwise.")]
    Lint {
        /// File or folder
        path: PathBuf,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows what `apply` would change, field by field
    #[command(after_help = "Example:
  homeroom gateway diff apis.toml
  homeroom gateway diff apis.toml --prune

The exit code is 0 when there is no difference, 6 otherwise.")]
    Diff {
        /// File or folder
        path: PathBuf,
        /// Also shows what `apply --prune` would withdraw
        #[arg(long)]
        prune: bool,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Publishes what a file or folder defines; other APIs and plans stay
    #[command(after_help = "Examples:
  homeroom gateway apply apis.toml
  homeroom gateway apply apis/ --prune

Running servers serve it within a second. Subscriptions of keys stay.")]
    Apply {
        /// File or folder
        path: PathBuf,
        /// Withdraws the APIs and plans that it does not name
        #[arg(long)]
        prune: bool,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Prints what is published, or writes it to a file with its OpenAPI documents beside it
    #[command(after_help = "Examples:
  homeroom gateway export
  homeroom gateway export apis.toml")]
    Export {
        /// New file [default: standard output]
        file: Option<PathBuf>,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub fn run(args: GatewayArgs) -> Result<Exit, Failure> {
    match args.command {
        GatewayCommand::Lint { path, json } => lint(&path, json),
        GatewayCommand::Diff { path, prune, json } => {
            let new = Box::new(checked(&path, json)?);
            let asked = ApisRequest::Diff { new, prune };
            let found = ask(&args.config, asked)?;
            show(&found, json)?;
            let is_same = found.as_array().is_some_and(Vec::is_empty);
            Ok(if is_same { Exit::Done } else { Exit::Differences })
        }
        GatewayCommand::Apply { path, prune, json } => {
            let new = Box::new(checked(&path, json)?);
            let changed = ask(&args.config, ApisRequest::Apply { new, prune });
            let changed = changed.map_err(|failure| match failure {
                Failure::Failed(message) => Failure::Failed(located(&path, &message)),
                other => other,
            })?;
            if json {
                super::print_json(&json!({ "changed": changed }));
            } else {
                show(&changed, false)?;
            }
            Ok(Exit::Done)
        }
        GatewayCommand::Export { file, json } => {
            let published = ask(&args.config, ApisRequest::Export {})?;
            export(&published, file.as_deref(), json)
        }
    }
}

fn ask(config: &ConfigArgs, asked: ApisRequest) -> Result<Value, Failure> {
    let config = super::prepare_quietly(config)?;
    control::request(&config, Request::Apis(asked), &mut |_| {})
}

fn lint(path: &Path, json: bool) -> Result<Exit, Failure> {
    let (findings, apis) = match read(path) {
        Ok(published) => (vec![], published.definition.apis.len()),
        Err(findings) => (findings, 0),
    };
    if json {
        super::print_json(&json!({ "findings": findings }));
    } else if findings.is_empty() {
        exit::say!("{}: nothing is wrong; APIs: {apis}", path.display());
    }
    if findings.is_empty() {
        return Ok(Exit::Done);
    }
    Err(failure(&findings))
}

/// Reads a definition that is to be published.
fn checked(path: &Path, json: bool) -> Result<Published, Failure> {
    read(path).map_err(|findings| {
        if json {
            super::print_json(&json!({ "findings": findings }));
        }
        failure(&findings)
    })
}

fn failure(findings: &[Finding]) -> Failure {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Failure::Failed(lines.join("\n"))
}

fn show(found: &Value, json: bool) -> Result<(), Failure> {
    if json {
        super::print_json(found);
        return Ok(());
    }
    let found: Vec<Difference> = serde_json::from_value(found.clone())
        .map_err(|error| Failure::because("reading the differences", error))?;
    if found.is_empty() {
        exit::say!("no difference");
    }
    for Difference { field, old, new } in found {
        match (old, new) {
            (Value::Null, new) => exit::say!("+ {field}: {new}"),
            (old, Value::Null) => exit::say!("- {field}: {old}"),
            (old, new) => exit::say!("~ {field}: {old} -> {new}"),
        }
    }
    Ok(())
}

fn export(published: &Value, file: Option<&Path>, json: bool) -> Result<Exit, Failure> {
    if json && file.is_none() {
        super::print_json(published);
        return Ok(Exit::Done);
    }
    let published: Published = serde_json::from_value(published.clone())
        .map_err(|error| Failure::because("reading what is published", error))?;
    let text = write(&published.definition)
        .map_err(|error| Failure::because("writing what is published as TOML", error))?;
    let Some(file) = file else {
        exit::print(&text);
        return Ok(Exit::Done);
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    let documents = published.documents.iter().map(|(name, text)| (folder.join(name), text));
    for (path, text) in documents.chain([(file.to_owned(), &text)]) {
        let writing = format!("writing {}", path.display());
        // What is there already is kept, unless it says the same.
        match std::fs::read_to_string(&path) {
            Ok(there) if there == *text => {}
            Ok(_) => {
                let message = format!("{} already exists; name another file", path.display());
                return Err(Failure::Usage(message));
            }
            Err(_) => std::fs::write(&path, text).map_err(|e| Failure::because(&writing, e))?,
        }
    }
    if json {
        super::print_json(&json!({ "written": file }));
    }
    Ok(Exit::Done)
}
