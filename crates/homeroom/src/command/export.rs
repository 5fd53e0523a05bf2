//! `homeroom export`.
#![expect(clippy::disallowed_methods, reason = "an export has its moment from the command")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::{Args, ValueEnum};
use homeroom_export::{ExportError, ExportOptions, ExportProgress, Manifest};
use homeroom_store::ChangedAt;
use serde_json::json;

use crate::app::{chain, snapshot_within};
use crate::command::terminal::{ProgressLine, grouped, rate};
use crate::config::{ConfigArgs, HumanDuration};
use crate::exit::{Exit, Failure};
use crate::signals::told_to_stop;
use crate::standard::Standard;

/// Exports documents to files, all of them or those changed since a change version. The export
/// shows the store at one moment and works whether or not a server has it open.
#[derive(Debug, Args)]
#[command(after_help = "Files:
  jsonl    ed-fi/students.jsonl …: documents as the API serves them; homeroom load takes them
  csv      edfi/Student.csv, edfi/StudentIdentificationDocument.csv …: tables as the ODS has them
  parquet  the same tables, with types
  manifest.json is written last: a folder without it is not a complete export

Examples:
  homeroom export --out export/
  homeroom export --format parquet --out export/ --resource students,studentSchoolAssociations
  homeroom export --out night/ --since 48210 --json
  homeroom export --out - --resource schools | homeroom load - --data-dir other/")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct ExportArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Folder for the files, created if necessary; `-` writes JSON lines to standard output
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Format of the files
    #[arg(long, value_enum, default_value = "jsonl")]
    format: ExportFormat,
    /// Exports only what was changed or deleted after this change version
    #[arg(long, value_name = "V")]
    since: Option<i64>,
    /// Only these resources (endpoints or names, separated by commas)
    #[arg(long, value_name = "RESOURCES", value_delimiter = ',')]
    resource: Vec<String>,
    /// Also exports deletions; --since implies it, except on standard output
    #[arg(long)]
    deletes: bool,
    /// Compresses JSON lines and CSV with gzip; Parquet is always compressed
    #[arg(long)]
    compress: bool,
    /// Writes a file for every table, even without rows
    #[arg(long)]
    all_tables: bool,
    /// How to treat text in CSV that a spreadsheet would run as a formula; the manifest records it
    #[arg(long, value_enum, default_value = "escape")]
    csv_formulas: Formulas,
    /// Replaces an earlier export in the folder
    #[arg(long)]
    force: bool,
    /// Longest time to read the store, whose log keeps growing meanwhile
    #[arg(long, value_name = "TIME", default_value = "4h")]
    time_limit: HumanDuration,
    /// Prints a summary as JSON: change version, documents, files
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// One document per line
    Jsonl,
    /// Tables
    Csv,
    /// Tables with column types
    Parquet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Formulas {
    /// Put an apostrophe in front of it
    Escape,
    /// Write it unchanged
    Keep,
}

/// Runs the command.
pub fn run(args: ExportArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let is_stream = args.out.as_os_str() == "-";
    refuse_contradictions(&args, is_stream)?;
    let options = ExportOptions {
        format: match args.format {
            ExportFormat::Jsonl => homeroom_export::Format::Jsonl,
            ExportFormat::Csv => homeroom_export::Format::Csv,
            ExportFormat::Parquet => homeroom_export::Format::Parquet,
        },
        folder: (!is_stream).then(|| args.out.clone()),
        since: args.since,
        resources: args.resource.clone(),
        deletes: args.deletes || (args.since.is_some() && !is_stream),
        compress: args.compress,
        replace: args.force,
        even_empty: args.all_tables,
        formulas: match args.csv_formulas {
            Formulas::Escape => homeroom_export::Formulas::Escape,
            Formulas::Keep => homeroom_export::Formulas::Keep,
        },
    };
    let standard = Standard::read(&config.standard)?;
    let begun = Instant::now();
    let snapshot = snapshot_within(&config, args.time_limit.0)?;
    let stopped = stop_when_told()?;
    let mut line = ProgressLine::new();
    let done = homeroom_export::export(
        &standard.model,
        &snapshot,
        &options,
        ChangedAt::now(),
        &|| stopped.load(Ordering::Relaxed),
        &mut |progress| line.show(|| progress_text(progress)),
    );
    line.end();
    let manifest = match done {
        Ok(manifest) => manifest,
        // A reader that closes the stream early is not an error.
        Err(ExportError::Closed) if is_stream => return Ok(Exit::Done),
        Err(error) => return Err(failure(&error)),
    };
    tell(&args, is_stream, &manifest, begun.elapsed().as_secs_f64());
    if manifest.left_out.is_empty() { Ok(Exit::Done) } else { Err(not_whole(&manifest)) }
}

/// Says what the export lacks because the model does not have it.
fn not_whole(manifest: &Manifest) -> Failure {
    let kinds: Vec<String> = manifest
        .left_out
        .iter()
        .map(|(kind, count)| format!("{kind} ({} documents)", grouped(*count)))
        .collect();
    Failure::Failed(format!(
        "the export would be incomplete: the model does not have {}; use the same extensions as \
         the server (standard.extensions), or name resources with --resource",
        kinds.join(", ")
    ))
}

fn refuse_contradictions(args: &ExportArgs, is_stream: bool) -> Result<(), Failure> {
    let wrong = match (is_stream, args.format) {
        (true, ExportFormat::Csv | ExportFormat::Parquet) => {
            "only JSON lines can be written to standard output"
        }
        (true, ExportFormat::Jsonl) if args.compress => {
            "standard output cannot be compressed; pipe it through gzip"
        }
        (true, ExportFormat::Jsonl) if args.json => {
            "standard output is already used for the documents"
        }
        (_, ExportFormat::Jsonl) if args.all_tables => "JSON lines have no tables",
        _ => return Ok(()),
    };
    Err(Failure::Usage(wrong.into()))
}

fn tell(args: &ExportArgs, is_stream: bool, manifest: &Manifest, seconds: f64) {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    if args.json {
        super::print_json(&json!({
            "out": args.out,
            "format": manifest.format,
            "since": manifest.since,
            "changeVersion": manifest.change_version,
            "documents": manifest.documents,
            "deletes": manifest.deletes,
            "resources": manifest.resources,
            "leftOut": manifest.left_out,
            "files": manifest.files.len(),
            "bytes": bytes,
            "seconds": seconds,
        }));
        return;
    }
    let deletes = match manifest.deletes {
        0 => String::new(),
        some => format!(" and {} deletes", grouped(some)),
    };
    let text = format!(
        "{} documents{deletes} at change version {} ({:.1} s, {} documents/s); next time: --since {}",
        grouped(manifest.documents),
        manifest.change_version,
        seconds,
        grouped(rate(manifest.documents, seconds)),
        manifest.change_version,
    );
    if is_stream {
        eprintln!("{text}");
    } else {
        crate::exit::say!("{text}");
        crate::exit::say!(
            "{} files of {} bytes in {}",
            manifest.files.len(),
            grouped(bytes),
            args.out.display()
        );
    }
}

fn progress_text(progress: &ExportProgress) -> String {
    format!(
        "{} of {} documents, {}/s, {}",
        grouped(progress.documents),
        grouped(progress.documents_in_all),
        grouped(rate(progress.documents, progress.seconds)),
        progress.resource,
    )
}

/// Returns a flag that is set when the process is told to stop.
fn stop_when_told() -> Result<Arc<AtomicBool>, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stopped);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("waiting for signals", error))?;
    let told = {
        let _entered = runtime.enter();
        told_to_stop()
    };
    let wait = move || {
        runtime.block_on(told);
        flag.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(wait)
        .map_err(|error| Failure::because("waiting for signals", error))?;
    Ok(stopped)
}

fn failure(error: &ExportError) -> Failure {
    let text = chain(error);
    match error {
        ExportError::UnknownResource(_)
        | ExportError::NotEmpty(_)
        | ExportError::Foreign(_)
        | ExportError::BeforeSince { .. } => Failure::Usage(text),
        ExportError::Refused(error) if error.is_refusal() => Failure::Usage(text),
        ExportError::Interrupted => Failure::Interrupted(text),
        ExportError::File { .. }
        | ExportError::DiskFull(_)
        | ExportError::Closed
        | ExportError::Refused(_)
        | ExportError::Store(_)
        | ExportError::Document { .. } => Failure::Failed(text),
    }
}
