//! `homeroom backup | doctor`.

use std::path::PathBuf;

use clap::Args;
use homeroom_document::AuditProgress;
use homeroom_store::{Store, StoreError, StoreUrl};
use serde_json::json;

use crate::command::terminal::ProgressLine;
use crate::config::Config;
use crate::config::{ConfigArgs, HumanDuration};
use crate::control::Request;
use crate::control::{self, Far};
use crate::exit::{Exit, Failure};
use crate::health::{self, Looked};
use crate::standard::Standard;

/// Copies the store to a new file while it is in use, and checks the copy.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  homeroom backup /backups/homeroom-2026-11-21.db")]
pub struct BackupArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The new file
    to: PathBuf,
    /// Longest time to check the copy for damage; the command reports what it did not check
    #[arg(long, value_name = "TIME", default_value = "1h")]
    time_max: HumanDuration,
}

/// Checks configuration and store, and says how to fix each problem.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  homeroom doctor --data-dir /var/lib/homeroom")]
pub struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Skips the slow part: comparing everything with the documents' texts
    #[arg(long)]
    quick: bool,
    /// Longest time; the command reports what it did not check by then
    #[arg(long, value_name = "TIME", default_value = "1h")]
    time_max: HumanDuration,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Runs `backup`.
pub fn backup(args: BackupArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let to = std::path::absolute(&args.to).map_err(|e| Failure::because("the backup's path", e))?;
    let mut line = ProgressLine::new();
    let time_max_ms = u64::try_from(args.time_max.0.as_millis()).unwrap_or(u64::MAX);
    let request = Request::Backup { to: to.clone(), time_max_ms };
    let done = control::request(&config, request, &mut |now| {
        if let Ok(now) = serde_json::from_value::<Far>(now) {
            health::shown(&mut line)(AuditProgress { documents: now.documents, in_all: now.of });
        }
    });
    line.end();
    let looked: Looked = serde_json::from_value(done?["looked"].take()).unwrap_or_default();
    for misfit in &looked.misfits {
        eprintln!("note: {misfit}");
    }
    for part in &looked.left_out {
        eprintln!("the copy was not checked completely; left out: {part}");
    }
    crate::exit::say!("{}", to.display());
    Ok(Exit::Done)
}

/// Runs `doctor`.
pub fn doctor(args: DoctorArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let Examined { findings, left_out, documents } = examine(&config, &args);
    if args.json {
        let all: Vec<_> =
            findings.iter().map(|(what, mend)| json!({"problem": what, "mend": mend})).collect();
        super::print_json(&json!({
            "problems": all, "leftOut": left_out, "documents": documents,
        }));
    } else {
        for (what, mend) in &findings {
            crate::exit::say!("problem: {what}\n   mend: {mend}");
        }
        match (findings.is_empty(), left_out.is_empty()) {
            (true, true) => crate::exit::say!("no problems found"),
            (true, false) => crate::exit::say!("no problems found in what was checked"),
            (false, _) => {}
        }
        for part in &left_out {
            crate::exit::say!("not checked: {part}");
        }
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Differences })
}

/// The report of `doctor`.
#[derive(Default)]
struct Examined {
    /// Problems, each with what to do about it.
    findings: Vec<(String, String)>,
    left_out: Vec<String>,
    documents: u64,
}

const RESTORE: &str = "homeroom restore BACKUP --yes, from the last good backup";
const STORE_ANEW: &str = "send these documents again with PUT, in the form that this Homeroom \
                          accepts; if that is not possible, homeroom restore BACKUP --yes";

fn examine(config: &Config, args: &DoctorArgs) -> Examined {
    let mut out = Examined::default();
    let mut found = |what: String, mend: &str| out.findings.push((what, mend.to_owned()));
    let place = config.store.place();
    let standard = Standard::read(&config.standard);
    if let Err(failure) = &standard {
        found(failure.to_string(), "set standard.version or standard.model");
    }
    if let StoreUrl::Sqlite(file) = &place
        && !file.exists()
    {
        found(
            format!("there is no store at {}", file.display()),
            "create one with homeroom serve, or choose another folder with --data-dir",
        );
        return out;
    }
    let looked = match &standard {
        Ok(standard) => {
            let mut line = ProgressLine::new();
            let looked = health::look(
                &place,
                standard,
                args.time_max.0,
                args.quick,
                &mut health::shown(&mut line),
            );
            line.end();
            looked
        }
        Err(_) => Store::check_within(&place, args.time_max.0).map(|health| Looked {
            problems: health.problems,
            left_out: health.left_out,
            ..Looked::default()
        }),
    };
    match looked {
        Ok(looked) => {
            looked.problems.into_iter().for_each(|problem| found(problem, RESTORE));
            looked.misfits.into_iter().for_each(|misfit| found(misfit, STORE_ANEW));
            out.left_out = looked.left_out;
            out.documents = looked.documents;
        }
        Err(error) => {
            let mend = match error {
                StoreError::FromTheFuture { .. } => {
                    "run the Homeroom version that made it, or a newer one"
                }
                StoreError::Unusable(_) => {
                    "name the right folder with --data-dir, or homeroom restore BACKUP --yes"
                }
                _ => RESTORE,
            };
            found(error.to_string(), mend);
        }
    }
    out
}
