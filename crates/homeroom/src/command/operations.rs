//! `homeroom backup | doctor`.
#![expect(clippy::disallowed_methods, reason = "doctor has a time limit")]

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use homeroom_document::AuditProgress;
use homeroom_store::{Store, StoreError, StoreUrl};
use serde_json::json;

use crate::command::terminal::{ProgressLine, grouped};
use crate::config::Config;
use crate::config::{ConfigArgs, HumanDuration};
use crate::control::Request;
use crate::control::{self, Far};
use crate::exit::{Exit, Failure};
use crate::health::{self, Looked};
use crate::process::Space;
use crate::standard::Standard;

/// Copies the store, a file or a database, to a new file while it is in use, and checks the copy. Its
/// blobs, if it has any, are copied to the folder FILE.blobs beside it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  homeroom backup /backups/homeroom-2026-11-21.db
  homeroom backup --store postgres://homeroom@db.example.org/ods /backups/ods.db --json

A backup of either kind of store can be restored into either kind. It keeps what is erased from the store later:
delete it in time, and erase learners again after a restore.")]
pub struct BackupArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The new file
    to: PathBuf,
    /// Longest time to check the copy for damage; the command reports what it did not check
    #[arg(long, value_name = "TIME", default_value = "1h")]
    time_max: HumanDuration,
    /// Prints JSON
    #[arg(long)]
    json: bool,
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
    let done =
        control::request(&config, request, &mut |now| match serde_json::from_value::<Far>(now) {
            Ok(Far::Copied { rows }) => health::copied(&mut line, rows),
            Ok(Far::Checked { documents, of }) => {
                health::shown(&mut line)(AuditProgress { documents, in_all: of });
            }
            Err(_) => {}
        });
    line.end();
    let mut done = done?;
    let looked: Looked = serde_json::from_value(done["looked"].take()).unwrap_or_default();
    if args.json {
        super::print_json(&json!({
            "backup": to,
            "changeVersion": done["changeVersion"],
            "documentsChecked": looked.documents,
            "blobs": done["blobs"],
            "misfits": looked.misfits,
            "leftOut": looked.left_out,
        }));
        return Ok(Exit::Done);
    }
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
    let Examined { findings, left_out, documents, blobs, free_bytes } = examine(&config, &args);
    if args.json {
        let all: Vec<_> =
            findings.iter().map(|(what, mend)| json!({"problem": what, "mend": mend})).collect();
        super::print_json(&json!({
            "problems": all, "leftOut": left_out, "documents": documents, "blobs": blobs,
            "freeBytes": free_bytes,
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
    blobs: u64,
    /// Free space on the store's disk, in bytes, where the store is a file.
    free_bytes: Option<u64>,
}

/// Says how little space is left on the disk of a store of this size, if that is a problem: less
/// than the write-ahead log usually becomes at most, or less than a copy of the store.
fn scarce(space: Space, store_bytes: u64, log_bytes: u64) -> Option<String> {
    let mib = |bytes: u64| grouped(bytes >> 20);
    if space.free < log_bytes {
        let needed = mib(log_bytes);
        Some(format!("{} MiB are free; the write-ahead log may need {needed}", mib(space.free)))
    } else if space.free < store_bytes {
        let (free, needed) = (mib(space.free), mib(store_bytes));
        Some(format!("{free} MiB are free; a backup on this disk or a restore needs {needed}"))
    } else {
        None
    }
}

const RESTORE: &str = "homeroom restore BACKUP --yes, from the last good backup";
const PUT_BACK: &str = "copy the blob's file from a backup's folder BACKUP.blobs to the same place in \
                        the folder or bucket of the blobs; without one, remove what names the blob";
const REACH: &str = "do what it says and run homeroom doctor again; the settings are in [blobs]";
const STORE_ANEW: &str = "send these documents again with PUT, in the form that this Homeroom \
                          accepts; if that is not possible, homeroom restore BACKUP --yes";

fn examine(config: &Config, args: &DoctorArgs) -> Examined {
    let mut out = Examined::default();
    let findings = &mut out.findings;
    let mut found = |what: String, mend: &str| findings.push((what, mend.to_owned()));
    let place = config.store.place();
    let standard = Standard::read(&config.standard);
    if let Err(failure) = &standard {
        found(failure.to_string(), "set standard.version or standard.model");
    }
    if let StoreUrl::Sqlite(file) = &place
        && let Some(space) = Space::at(file)
    {
        out.free_bytes = Some(space.free);
        let bytes = |ending: &str| {
            let mut name = file.clone().into_os_string();
            name.push(ending);
            std::fs::metadata(name).map_or(0, |about| about.len())
        };
        if let Some(what) = scarce(space, bytes("") + bytes("-wal"), config.store.log_bytes()) {
            let place = file.parent().unwrap_or(file).display();
            found(
                format!("{place}: {what}"),
                "free space there, or move the store to another disk",
            );
        }
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
    let begun = Instant::now();
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
            let left = args.time_max.0.saturating_sub(begun.elapsed());
            let blobs = health::look_at_blobs(&config.blob_place(), &place, left, args.quick);
            match blobs {
                Ok(checked) => {
                    checked.problems.into_iter().for_each(|problem| found(problem, PUT_BACK));
                    checked.unreachable.into_iter().for_each(|problem| found(problem, REACH));
                    out.left_out.extend(checked.left_out);
                    out.blobs = checked.blobs;
                }
                Err(error) => out.left_out.push(format!("the blobs: {error}")),
            }
            let left = args.time_max.0.saturating_sub(begun.elapsed());
            let courses = (!args.quick).then(|| health::look_at_courses(&place, left));
            match courses.unwrap_or_else(|| Ok(homeroom_course::Checked::default())) {
                Ok(checked) => {
                    checked.problems.into_iter().for_each(|problem| found(problem, RESTORE));
                    out.left_out.extend(checked.left_out);
                }
                Err(error) => out.left_out.push(format!("the states of activities: {error}")),
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_space_is_a_problem() {
        let space = |free| Space { free, size: 1 << 40 };

        let log = 64 << 20;
        assert!(scarce(space(log - 1), 0, log).unwrap().ends_with("may need 64"));
        assert!(scarce(space(1 << 30), 2 << 30, log).unwrap().contains("2,048"));
        assert_eq!(scarce(space(2 << 30), 1 << 30, log), None);
    }
}
