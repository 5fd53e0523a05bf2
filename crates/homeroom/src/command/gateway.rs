//! `homeroom gateway lint | diff | apply | export`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use homeroom_apis::{
    ApisRequest, Difference, Finding, Linted, Published, located, read, write, write_folder,
    write_whole,
};
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

What may be meant is a hint, such as a plan that is published already.
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
    /// Prints what is published, or writes it to a file or folder, with its OpenAPI documents
    #[command(after_help = "Examples:
  homeroom gateway export
  homeroom gateway export apis.toml
  homeroom gateway export apis/

A folder gets plans.toml and a file for each API. `apply` takes what is printed or written.")]
    Export {
        /// New file, or a folder [default: standard output]
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
            let found = ask(&args.config, asked).map_err(|failure| at(&path, failure))?;
            show(&found, json)?;
            let is_same = found.as_array().is_some_and(Vec::is_empty);
            Ok(if is_same { Exit::Done } else { Exit::Differences })
        }
        GatewayCommand::Apply { path, prune, json } => {
            let new = Box::new(checked(&path, json)?);
            let changed = ask(&args.config, ApisRequest::Apply { new, prune });
            let changed = changed.map_err(|failure| at(&path, failure))?;
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

/// Says where in the files it is what a server does not accept.
fn at(path: &Path, failure: Failure) -> Failure {
    match failure {
        Failure::Failed(message) => Failure::Failed(located(path, &message)),
        other => other,
    }
}

fn lint(path: &Path, json: bool) -> Result<Exit, Failure> {
    let Linted { findings, hints, apis } = homeroom_apis::lint(path);
    if json {
        super::print_json(&json!({ "findings": findings, "hints": hints }));
    } else if findings.is_empty() {
        for hint in hints {
            exit::say!("hint: {hint}");
        }
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
            (Value::Null, new) => exit::say!("+ {field}: {}", shown(&new)),
            (old, Value::Null) => exit::say!("- {field}: {}", shown(&old)),
            (Value::String(old), Value::String(new)) if old.len().max(new.len()) > SHOWN_MAX => {
                let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new);
                exit::say!(
                    "~ {field}: {} bytes -> {} bytes, from line {} on",
                    old.len(),
                    new.len(),
                    same.count() + 1
                );
            }
            (old, new) => exit::say!("~ {field}: {} -> {}", shown(&old), shown(&new)),
        }
    }
    Ok(())
}

/// Longest text of a value that is shown whole, in bytes: an OpenAPI document is longer.
const SHOWN_MAX: usize = 1_000;

/// Returns a value as it is shown: long texts in it by their length.
fn shown(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > SHOWN_MAX => format!("({} bytes)", text.len()).into(),
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
        }
        other => other.clone(),
    }
}

fn export(published: &Value, file: Option<&Path>, json: bool) -> Result<Exit, Failure> {
    if json && file.is_none() {
        super::print_json(published);
        return Ok(Exit::Done);
    }
    let published: Published = serde_json::from_value(published.clone())
        .map_err(|error| Failure::because("reading what is published", error))?;
    let as_toml = |error| Failure::because("writing what is published as TOML", error);
    let Some(file) = file else {
        exit::print_as_it_is(&write_whole(&published).map_err(as_toml)?);
        return Ok(Exit::Done);
    };
    if file.is_dir() || file.as_os_str().as_encoded_bytes().ends_with(b"/") {
        write_all(file, &write_folder(&published).map_err(as_toml)?)?;
    } else {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let text = write(&published.definition).map_err(as_toml)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut files = published.documents;
        if files.insert(name, text).is_some() {
            let message = "a document has this name; name another file".to_owned();
            return Err(Failure::Usage(format!("{}: {message}", file.display())));
        }
        write_new(folder, &files)?;
    }
    if json {
        super::print_json(&json!({ "written": file }));
    }
    Ok(Exit::Done)
}

/// Writes the files of a folder, which has no other definitions: `apply` would publish them, too.
fn write_all(folder: &Path, files: &BTreeMap<String, String>) -> Result<(), Failure> {
    let failed = |error| Failure::because(&format!("writing {}", folder.display()), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let is_read = Path::new(&name).extension().is_some_and(|ending| ending == "toml");
        if is_read && !files.contains_key(&name) {
            let message = format!(
                "{} is not of what is published; name another folder",
                folder.join(name).display()
            );
            return Err(Failure::Usage(message));
        }
    }
    write_new(folder, files)
}

/// Writes files. What is there already is kept, unless it says the same.
fn write_new(folder: &Path, files: &BTreeMap<String, String>) -> Result<(), Failure> {
    for (name, text) in files {
        if Path::new(name).components().count() != 1 || name == ".." {
            let message = format!("the document {name} has no name of a file; export a folder");
            return Err(Failure::Usage(message));
        }
        let path = folder.join(name);
        let writing = format!("writing {}", path.display());
        match std::fs::read_to_string(&path) {
            Ok(there) if there == *text => {}
            Ok(_) => {
                let message = format!("{} already exists; name another file", path.display());
                return Err(Failure::Usage(message));
            }
            Err(_) => std::fs::write(&path, text).map_err(|e| Failure::because(&writing, e))?,
        }
    }
    Ok(())
}
