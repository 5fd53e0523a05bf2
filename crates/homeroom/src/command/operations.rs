//! `homeroom backup | restore | doctor`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use homeroom_model::Model;
use homeroom_store::{Store, StoreError, StoreUrl};
use serde_json::json;

use crate::config::{Config, ConfigArgs};
use crate::control::{self, Request};
use crate::exit::{Exit, Failure};

/// Copies the store to a new file while it is in use, and checks the copy.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  homeroom backup /backups/homeroom-2026-11-21.db")]
pub struct BackupArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The new file
    to: PathBuf,
}

/// Puts a backup in the place of the store. No server may have the store open; the old store is
/// kept beside it.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  homeroom restore /backups/homeroom-2026-11-21.db --yes")]
pub struct RestoreArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The backup
    from: PathBuf,
    /// Confirms that the store is replaced
    #[arg(long)]
    yes: bool,
}

/// Checks configuration and store; each problem comes with what to do.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  homeroom doctor --data-dir /var/lib/homeroom")]
pub struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Runs `backup`.
pub fn backup(args: BackupArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let to = std::path::absolute(&args.to).map_err(|e| Failure::because("the backup's path", e))?;
    control::request(&config, Request::Backup { to: to.clone() }, &mut |_| {})?;
    crate::exit::say!("{}", to.display());
    Ok(Exit::Done)
}

/// Runs `restore`.
pub fn restore(args: RestoreArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    if !args.yes {
        return Err(Failure::Usage("restore replaces the store; confirm with --yes".into()));
    }
    let url = config.store.place();
    let kept = Store::restore(&args.from, &url).map_err(|e| Failure::because("restoring", e))?;
    let kept = kept.map(|kept| format!("; the store before is {}", kept.display()));
    crate::exit::say!("restored {url}{}", kept.unwrap_or_default());
    Ok(Exit::Done)
}

/// Runs `doctor`.
pub fn doctor(args: DoctorArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let findings = examine(&config);
    if args.json {
        let all: Vec<_> =
            findings.iter().map(|(what, mend)| json!({"problem": what, "mend": mend})).collect();
        super::print_json(&json!({ "problems": all }));
    } else if findings.is_empty() {
        crate::exit::say!("no problems found");
    } else {
        for (what, mend) in &findings {
            crate::exit::say!("problem: {what}\n   mend: {mend}");
        }
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Differences })
}

fn examine(config: &Config) -> Vec<(String, String)> {
    let mut findings = vec![];
    let place = config.store.place();
    let standard = crate::standard::Standard::read(&config.standard);
    if let Err(failure) = &standard {
        findings.push((failure.to_string(), "set standard.version or standard.model".into()));
    }
    if let StoreUrl::Sqlite(file) = &place
        && !file.exists()
    {
        findings.push((
            format!("there is no store at {}", file.display()),
            "homeroom serve makes one; --data-dir names another folder".into(),
        ));
        return findings;
    }
    match Store::check(&place) {
        Ok(health) if health.problems.is_empty() => {
            if let Ok(standard) = standard {
                findings.extend(examine_rights(config, &standard.model));
            }
        }
        Ok(health) => findings.extend(health.problems.into_iter().map(|problem| {
            (problem, "homeroom restore BACKUP --yes, from the last good backup".into())
        })),
        Err(error) => {
            let mend = match error {
                StoreError::FromTheFuture { .. } => "run the Homeroom that made it, or a newer one",
                StoreError::Unusable(_) => {
                    "name the right folder with --data-dir, or homeroom restore BACKUP --yes"
                }
                _ => "homeroom restore BACKUP --yes, from the last good backup",
            };
            findings.push((error.to_string(), mend.into()));
        }
    }
    findings
}

/// Whether rights go by what the documents say.
fn examine_rights(config: &Config, model: &Arc<Model>) -> Vec<(String, String)> {
    const MEND: &str =
        "homeroom restore BACKUP --yes, or homeroom export and homeroom load into a new store";
    let snapshot = match crate::app::snapshot_within(config, RIGHTS_TIME_MAX) {
        Ok(snapshot) => snapshot,
        Err(failure) => return vec![(failure.to_string(), MEND.into())],
    };
    match homeroom_data::audit_rights(model, &snapshot) {
        Ok(problems) => problems.into_iter().map(|problem| (problem, MEND.into())).collect(),
        Err(error) => {
            vec![(format!("rights were not looked through: {error}"), "run it again".into())]
        }
    }
}

/// Longest time that documents are looked through for what rights go by.
const RIGHTS_TIME_MAX: Duration = Duration::from_hours(1);
