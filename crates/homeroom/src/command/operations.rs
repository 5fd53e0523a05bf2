//! `homeroom backup | restore | doctor`.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use homeroom_store::{Options, Store, StoreError};
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
    println!("{}", to.display());
    Ok(Exit::Done)
}

/// Runs `restore`.
pub fn restore(args: RestoreArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    if !args.yes {
        return Err(Failure::Usage("restore replaces the store; confirm with --yes".into()));
    }
    let health = Store::check(&args.from).map_err(|e| Failure::because("the backup", e))?;
    if let Some(problem) = health.problems.first() {
        return Err(Failure::Failed(format!("the backup is damaged: {problem}")));
    }
    let file = config.store.file();
    if file.exists() {
        close_properly(&file)?;
    }
    let doing = |what: &str| format!("{what} {}", file.display());
    let folder = config.store.data_dir.as_path();
    std::fs::create_dir_all(folder).map_err(|e| Failure::because(&doing("making room for"), e))?;
    let fresh = with_ending(&file, ".restored");
    copy(&args.from, &fresh).map_err(|e| Failure::because(&doing("copying to"), e))?;
    let old = with_ending(&file, ".before-restore");
    let mut kept = String::new();
    if file.exists() {
        // What stands in the log of a store that cannot be opened goes along with it.
        for ending in ["-wal", "-shm"] {
            _ = std::fs::remove_file(with_ending(&old, ending));
        }
        std::fs::rename(&file, &old).map_err(|e| Failure::because(&doing("keeping"), e))?;
        _ = std::fs::rename(with_ending(&file, "-wal"), with_ending(&old, "-wal"));
        kept = format!("; the store before is {}", old.display());
    }
    for ending in ["-wal", "-shm"] {
        _ = std::fs::remove_file(with_ending(&file, ending));
    }
    std::fs::rename(&fresh, &file).map_err(|e| Failure::because(&doing("replacing"), e))?;
    println!("restored {}{kept}", file.display());
    Ok(Exit::Done)
}

/// Finds a running server by its lock and takes in the log of a crashed one. A store that cannot
/// be opened for another reason is what a restore mends.
fn close_properly(file: &Path) -> Result<(), Failure> {
    match Store::open(&Options::for_file(file)) {
        Err(error @ StoreError::InUse(_)) => Err(Failure::because("replacing the store", error)),
        Err(error) => {
            tracing::warn!(%error, "the store before cannot be opened; it is kept as it is");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Copies a file to one that only its owner may read, and waits until it is on disk.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    _ = std::fs::remove_file(to);
    let mut copy = OpenOptions::new().create_new(true).write(true).mode(0o600).open(to)?;
    std::io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()
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
        println!("no problems found");
    } else {
        for (what, mend) in &findings {
            println!("problem: {what}\n   mend: {mend}");
        }
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Differences })
}

fn examine(config: &Config) -> Vec<(String, String)> {
    let mut findings = vec![];
    let file = config.store.file();
    if let Err(failure) =
        crate::standard::Standard::read(&config.standard.version, config.standard.model.as_deref())
    {
        findings.push((failure.to_string(), "set standard.version or standard.model".into()));
    }
    if !file.exists() {
        findings.push((
            format!("there is no store at {}", file.display()),
            "homeroom serve makes one; --data-dir names another folder".into(),
        ));
        return findings;
    }
    match Store::check(&file) {
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

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
