//! `homeroom load`.
#![expect(
    clippy::disallowed_methods,
    reason = "a folder for standard input is named by the moment"
)]

mod messages;
mod watch;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use homeroom_bulk::{LoadOptions, Prepared, Progress, STDIN_BYTES_MAX, Summary};
use homeroom_http::Timestamp;
use serde_json::json;

use self::messages::progress_text;
pub use self::messages::told;
use crate::app::{App, Configured};
use crate::command::terminal::ProgressLine;
use crate::config::Config;
use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};

/// Loads interchange XML, JSON and CSV, packed or not, in the order of their dependencies, whatever
/// file they are in. Records that cannot be loaded are rejected, with the reason and how to mend them.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Files:
  *.xml                    an interchange; a folder is searched for all files of these kinds
  students.jsonl           one document per line; the file is named after the endpoint or resource;
  students/1.json          also .ndjson, .json (lines or one array), or a folder of that name
  pupils.csv               one document per row, as [[map]] tables in a .toml file beside it or in
                           --map FILE say: file, resource, columns = {header = \"$.json.path\"}
  edfi/Student.csv         a table as `homeroom export --format csv` writes it, with those beside it
  *.gz, *.zip              any of these, packed
  manifest.json, list.xml  the files that an export's manifest, or another loader's list, names
  -                        standard input: lines {\"resource\": \"ed-fi/students\", \"document\": {…}},
                           or an interchange; it may be packed

Examples:
  homeroom load descriptors/ samples/ --results results.jsonl --rejects rejects/
  homeroom load Student.xml --dry-run
  homeroom load district/ --select students,schools --json
  homeroom load district/ --direct --data-dir new
  homeroom load export/manifest.json
  homeroom load district/ --results results.jsonl --resume
  homeroom load samples/ --delete
  homeroom load --watch /srv/drop
  homeroom load pupils.csv.gz --map mapping.toml
  curl -s https://sis.example.org/students.jsonl.gz | homeroom load -

The exit code is 0 when everything was loaded, 3 when records were rejected.")]
pub struct LoadArgs {
    /// Files and folders; `-` reads standard input
    #[arg(required_unless_present = "watch", conflicts_with = "watch", value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Writes every reject and the summary to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Writes the rejected records to this folder in their original form, so that you can mend
    /// them and load them again
    #[arg(long, value_name = "DIR")]
    rejects: Option<PathBuf>,
    #[command(flatten)]
    way: Way,
    /// Rejects records with what is ignored or guessed otherwise: members and elements that the model
    /// does not have, and dates such as 3/4/2026, which could begin with the month or the day
    #[arg(long)]
    strict: bool,
    /// Loads files as they arrive in this folder, until the command is ended. Each is taken once, when
    /// it no longer grows, and moved to done/ or failed/ in it, with its results
    #[arg(long, value_name = "DIR", conflicts_with_all = ["results", "rejects", "resume", "direct"])]
    watch: Option<PathBuf>,
    /// Reads the columns of CSV files by the `[[map]]` tables of this file
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Loads only these resources (endpoints or names, separated by commas)
    #[arg(long, value_name = "RESOURCES", value_delimiter = ',')]
    select: Vec<String>,
    /// Prints the rejects and the summary as JSON lines; with --results only the summary
    #[arg(long)]
    json: bool,
}

/// How documents are written.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Way {
    /// Checks everything and writes nothing to the store
    #[arg(long)]
    dry_run: bool,
    /// Takes the fastest path into a store that is empty and that no server has open: indexes are
    /// built at the end. The result is the same. It keeps no checkpoints to be continued at
    #[arg(long, conflicts_with_all = ["dry_run", "delete"])]
    direct: bool,
    /// Continues a load that was interrupted, at its last checkpoint. That stands beside the results,
    /// or in the data directory; the arguments must be the same. Loads with --direct, --delete or
    /// --dry-run have none
    #[arg(long, conflicts_with_all = ["dry_run", "direct", "delete"])]
    resume: bool,
    /// Takes back what the files brought: deletes the documents that they identify, those that refer
    /// to others first, and also those that were there before the files were loaded. What other
    /// documents still refer to is rejected
    #[arg(long, conflicts_with = "dry_run")]
    delete: bool,
}

/// Runs the command in the server that has the store open, or else in this process.
pub fn run(args: LoadArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    if args.way.resume && checkpoint(&args, &config).is_none() {
        return Err(Failure::Usage(
            "a load from the standard input, or with its results on the standard output, has no \
             checkpoint to go on from; load files, with --results FILE"
                .into(),
        ));
    }
    // A file that is unpacked, or recoded, stays open.
    crate::process::raise_open_files();
    if let Some(folder) = &args.watch {
        let mut load = |files: &[PathBuf], results: &Path| {
            let (paths, results) = (files.to_vec(), Some(results.to_owned()));
            let one = LoadArgs { paths, results, ..args.clone() };
            let Outcome { summary, .. } = once(&one, &config)?;
            tell(&summary, &one);
            Ok(summary)
        };
        return watch::run(folder, &mut load);
    }
    let Outcome { summary, seeded } = once(&args, &config)?;
    tell(&summary, &args);
    if !seeded.is_empty() && !args.json {
        crate::exit::say!("\nThe store is new; it also holds what every new one does: {seeded}.",);
    }
    Ok(if summary.is_clean() { Exit::Done } else { Exit::Rejects })
}

/// The result of a load, and what a store that it made was filled with.
struct Outcome {
    summary: Summary,
    seeded: String,
}

/// Loads once.
fn once(args: &LoadArgs, config: &Config) -> Result<Outcome, Failure> {
    let options = options(args, config);
    if control::is_served(config) && !(args.way.direct && config.store.is_shared()) {
        if args.way.direct {
            return Err(Failure::Usage(
                "a server has the store open, and a direct load needs a store that nothing else \
                 has open; load without --direct, or stop the server"
                    .into(),
            ));
        }
        let summary = showing(|progress| load_there(config, &options, progress))?;
        return Ok(Outcome { summary, seeded: String::new() });
    }
    if args.way.dry_run || args.way.delete {
        crate::app::refuse_absent(config)?;
    }
    expect_paths(&args.paths)?;
    let configured = Configured::read(config)?;
    let folder = DataFolder::make(&config.store.data_dir);
    let options = LoadOptions {
        // A store in a database does without a data directory that cannot be made.
        checkpoint: options.checkpoint.filter(|path| {
            !path.starts_with(&config.store.data_dir) || config.store.data_dir.is_dir()
        }),
        ..options
    };
    // What is refused here makes no store.
    let prepared = homeroom_bulk::prepare(configured.model(), &options)?;
    folder.keep();
    let runtime = super::serve::runtime()?;
    let app = runtime.block_on(App::open_as(config, configured))?;
    let summary = showing(|progress| {
        if args.way.direct {
            return load_directly(config, &app, prepared, progress);
        }
        Ok(prepared.load(&app.data.documents(), progress, &|| false)?)
    })?;
    Ok(Outcome { summary, seeded: app.seeded.clone() })
}

/// The data directory, in which results and checkpoints may be. It is removed again, if it was made, unless it
/// is kept.
struct DataFolder(Vec<PathBuf>);

impl DataFolder {
    /// Makes it, if that can be done.
    fn make(folder: &Path) -> Self {
        Self(homeroom_store::make_folder(folder).unwrap_or_default())
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        homeroom_store::remove_folders(&self.0);
    }
}

/// Closes the store, which is made and has its seed by now, and loads into its file.
fn load_directly(
    config: &Config,
    app: &App,
    prepared: Prepared<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Summary, Failure> {
    app.data.store.close();
    let catalog = &app.data.catalog;
    let seeded = homeroom_document::seeded(&catalog.model, app.standard.seed);
    let place = (&crate::app::store_options(config), &seeded[..]);
    Ok(prepared.load_directly(catalog, place, progress, &|| false)?)
}

/// Refuses a path at which there is nothing, before a store is made for the load.
fn expect_paths(paths: &[PathBuf]) -> Result<(), Failure> {
    match paths.iter().find(|path| *path != Path::new("-") && !path.exists()) {
        None => Ok(()),
        Some(path) => {
            let problem = format!("{}: there is no such file or folder", path.display());
            Err(Failure::Input { input: path.clone(), problem })
        }
    }
}

/// Lets the server load. The server reads the files itself, so their paths are made absolute, and
/// standard input and output are replaced by temporary files.
fn load_there(
    config: &Config,
    options: &LoadOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Summary, Failure> {
    let folder = Temporary::new()?;
    let whole = |path: &Path| {
        std::path::absolute(path).map_err(|e| Failure::because(&path.display().to_string(), e))
    };
    let stream = Path::new("-");
    let mut there = options.clone();
    for path in &mut there.paths {
        *path = if path == stream { folder.standard_input()? } else { whole(path)? };
    }
    there.checkpoint = options.checkpoint.as_deref().map(whole).transpose()?;
    there.map = options.map.as_deref().map(whole).transpose()?;
    let printed = folder.0.join("results.jsonl");
    there.results = match &options.results {
        Some(path) if path == stream => Some(printed.clone()),
        Some(path) => Some(whole(path)?),
        None => None,
    };
    there.rejects = options.rejects.as_deref().map(whole).transpose()?;
    let summary = control::request(config, Request::Load(there), &mut |value| {
        if let Ok(now) = serde_json::from_value(value) {
            progress(&now);
        }
    })?;
    if options.results.as_deref() == Some(stream) {
        let text = std::fs::read_to_string(&printed)
            .map_err(|e| Failure::because("reading the results", e))?;
        crate::exit::print(&text);
    }
    serde_json::from_value(summary).map_err(|e| Failure::because("reading the server's answer", e))
}

/// A folder that is removed when the value is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Self, Failure> {
        let name = format!("homeroom-load-{}-{}", std::process::id(), Timestamp::now().0);
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|e| Failure::because(&format!("making {}", path.display()), e))?;
        Ok(Self(path))
    }

    /// Copies standard input to a file; each line names its resource.
    fn standard_input(&self) -> Result<PathBuf, Failure> {
        let path = self.0.join("stdin");
        let mut input = std::io::stdin().lock().take(STDIN_BYTES_MAX + 1);
        let copied = std::fs::File::create(&path)
            .and_then(|mut file| std::io::copy(&mut input, &mut file))
            .map_err(|e| Failure::because("reading the standard input", e))?;
        if copied > STDIN_BYTES_MAX {
            let message = format!("-: more than {STDIN_BYTES_MAX} bytes; load it from a file");
            return Err(Failure::Usage(message));
        }
        Ok(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Shows the progress of `run`.
///
/// # Errors
///
/// The error of `run`.
fn showing(
    run: impl FnOnce(&mut dyn FnMut(&Progress)) -> Result<Summary, Failure>,
) -> Result<Summary, Failure> {
    let mut line = ProgressLine::new();
    let done = run(&mut |progress| line.show(|| progress_text(progress)));
    line.end();
    done
}

fn options(args: &LoadArgs, config: &Config) -> LoadOptions {
    let stdout = PathBuf::from("-");
    LoadOptions {
        paths: args.paths.clone(),
        map: args.map.clone(),
        results: args.results.clone().or(args.json.then_some(stdout)),
        rejects: args.rejects.clone(),
        dry_run: args.way.dry_run,
        delete: args.way.delete,
        checkpoint: checkpoint(args, config),
        resume: args.way.resume,
        strict: args.strict,
        select: args.select.clone(),
    }
}

/// Reports the result.
fn tell(summary: &Summary, args: &LoadArgs) {
    if !args.json {
        let hint = args
            .results
            .is_none()
            .then_some("--results FILE writes every reject, --rejects DIR the rejected records.");
        crate::exit::print(&told(summary, hint, args.way.delete));
    } else if args.results.is_some() {
        crate::exit::print(&format!("{}\n", json!({ "summary": summary })));
    }
}

/// Returns where checkpoints are kept: beside the results, or else in the data directory under a
/// name that depends on the paths. A load that cannot be continued has none.
fn checkpoint(args: &LoadArgs, config: &Config) -> Option<PathBuf> {
    let stream = Path::new("-");
    let Way { dry_run, direct, delete, .. } = args.way;
    if dry_run || direct || delete || args.paths.iter().any(|path| path == stream) {
        return None;
    }
    if let Some(results) = args.results.as_ref().filter(|path| *path != stream) {
        return Some(results.with_added_extension("checkpoint"));
    }
    // Results on the standard output cannot be continued.
    if args.json || args.results.is_some() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    for path in &args.paths {
        std::path::absolute(path).unwrap_or_else(|_| path.clone()).hash(&mut hasher);
    }
    Some(config.store.data_dir.join(format!("load-{:016x}.checkpoint", hasher.finish())))
}
