//! `homeroom upload`.
#![expect(
    clippy::disallowed_methods,
    reason = "the school year is that of today, and the secret comes from the environment"
)]

mod files;
mod remote;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use homeroom_bulk::{LoadError, NotTaken, RESULTS, Summary, escaped_line};
use homeroom_bulk_api::FILES_MAX;
use homeroom_http::Timestamp;
use serde_json::{Value, json};

use self::files::{Source, find, fingerprint, parts};
use self::remote::Remote;
use crate::command::terminal::{ProgressLine, grouped, rate};
use crate::exit::{Exit, Failure};

/// Bytes of a chunk.
const CHUNK_BYTES: u64 = 16 << 20;
/// Exceptions that are read at a time.
const PAGE: usize = 100;
/// The pauses between two looks at an operation: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(250));
/// The variable with the secret.
const SECRET_VARIABLE: &str = "HOMEROOM_UPLOAD_SECRET";
/// Microseconds of a year.
const YEAR: i64 = 31_556_952_000_000;

/// Uploads files to a server, which loads them with the rights of a key: interchange XML and lines of
/// JSON, together and in the order of their dependencies. An upload that was broken off is taken up
/// again when the command is repeated.
#[derive(Debug, Args)]
#[command(after_help = "Files:
  *.xml                    an interchange; a folder is searched for all files of these kinds
  students.jsonl           one document per line; the file is named after the endpoint; also .ndjson
  all.jsonl                lines {\"resource\": \"ed-fi/students\", \"document\": {…}}
  students.json            one array of documents, or one document; it is sent as lines
  *.gz, *.zip              any of these, packed; they are unpacked here
  manifest.json, list.xml  the files that an export's manifest, or another loader's list, names
  CSV and other files are told by name, and all others are uploaded; more than 1,000 files are
  uploaded as several operations, one after the other

Examples:
  homeroom upload district/ --server https://ed.example.org --key K --secret S
  HOMEROOM_UPLOAD_SECRET=S homeroom upload Student.xml --server http://127.0.0.1:8080 --key K
  homeroom upload year/ --server http://127.0.0.1:8080 --key K --secret S --results results.jsonl

The exit code is 0 when everything was loaded, 3 when records were rejected, 4 when the server does
not accept the key, 5 when it cannot be reached or stays busy for five minutes.")]
pub struct UploadArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Address of the server
    #[arg(long, value_name = "URL")]
    server: String,
    /// Key with whose rights the files are loaded
    #[arg(long, value_name = "KEY")]
    key: String,
    /// Secret of the key; better set in the environment as `HOMEROOM_UPLOAD_SECRET`
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// School year of the operation's address; default: the current year
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(u16).range(1900..=2199))]
    school_year: Option<u16>,
    /// Trusts only certificates signed by one in this file (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Writes every reject and the summary to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Prints the rejects and the summary as JSON lines; with --results only the summary
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &UploadArgs) -> Result<Exit, Failure> {
    let begun = Instant::now();
    // Before anything is uploaded, as the file may not be written.
    let results = args.results.as_deref().map(|path| RESULTS.create(path)).transpose();
    let results = results.map_err(LoadError::from)?;
    // A file that is unpacked, or written as lines, stays open.
    crate::process::raise_open_files();
    let (sources, mut not_taken) = find(&args.paths)?;
    let mut ended = Ended { summary: Summary::default(), rejects: vec![], has_causes: true };
    if !sources.is_empty() {
        let runtime = super::serve::runtime()?;
        let (files, parts) = (sources.len(), parts(sources)?);
        if parts.len() > 1 {
            eprintln!(
                "{files} files are uploaded as {} operations, one after the other, because one has at \
                 most {FILES_MAX} files; what refers to records of a later one is rejected, and loaded \
                 when the command is repeated",
                parts.len()
            );
        }
        for mut sources in parts {
            if let Some(all) = runtime.block_on(upload(args, &mut sources, &mut not_taken))? {
                ended.add(all);
            }
        }
    }
    let (rejects, summary) = homeroom_bulk::rejects_of(&not_taken);
    ended.summary.add(summary);
    ended.rejects.extend(rejects.iter().map(|reject| json!(reject)));
    report(args, &ended, begun.elapsed(), results)
}

/// An operation that has ended.
struct Ended {
    summary: Summary,
    /// The rejects, as the loader writes them.
    rejects: Vec<Value>,
    /// Whether the summary has the causes of all rejects.
    has_causes: bool,
}

impl Ended {
    /// Adds an operation that came after these.
    fn add(&mut self, other: Self) {
        let seconds = self.summary.seconds + other.summary.seconds;
        self.summary.add(other.summary);
        self.summary.seconds = seconds;
        self.rejects.extend(other.rejects);
        self.has_causes &= other.has_causes;
    }
}

/// Uploads the files. Those that the server does not take are moved to the others that are not taken; if
/// none is left, there is no operation.
async fn upload(
    args: &UploadArgs,
    sources: &mut Vec<Source>,
    not_taken: &mut Vec<NotTaken>,
) -> Result<Option<Ended>, Failure> {
    let this_year = u16::try_from(1970 + Timestamp::now().0 / YEAR).unwrap_or(2_199);
    let year = args.school_year.unwrap_or(this_year);
    let trust = match &args.ca {
        None => None,
        Some(path) => Some(
            std::fs::read(path)
                .map_err(|error| Failure::Usage(format!("--ca: {}: {error}", path.display())))?,
        ),
    };
    let secret = args.secret.clone().or_else(|| std::env::var(SECRET_VARIABLE).ok());
    let secret = secret
        .ok_or_else(|| Failure::Usage(format!("--key needs --secret or {SECRET_VARIABLE}")))?;
    let mut remote = Remote::open(&args.server, (&args.key, &secret), year, trust).await?;
    let operation = loop {
        if sources.is_empty() {
            return Ok(None);
        }
        let fingerprint = fingerprint(sources);
        let begun = remote.find(&fingerprint).await?.filter(|operation| {
            ["Initialized", "Incomplete", "Ready", "Started"]
                .contains(&operation["status"].as_str().unwrap_or(""))
        });
        if let Some(operation) = begun {
            break operation;
        }
        match remote.create(sources, &fingerprint).await? {
            Ok(operation) => break operation,
            Err(refused) => refuse(sources, &refused, not_taken),
        }
    };
    let sources = &*sources;
    let id = text(&operation, "id")?.to_owned();
    let mut line = ProgressLine::new();
    let done = async {
        send(&mut remote, &operation, sources, &mut line).await?;
        wait(&mut remote, &id, &mut line).await
    };
    let ended = done.await;
    line.end();
    results(&mut remote, &ended?, sources).await.map(Some)
}

/// Moves the files that the server does not take to those that are not taken.
fn refuse(sources: &mut Vec<Source>, refused: &[(usize, String)], not_taken: &mut Vec<NotTaken>) {
    let why: HashMap<usize, &String> = refused.iter().map(|(at, why)| (*at, why)).collect();
    let mut at = 0;
    sources.retain(|source| {
        let why = why.get(&at);
        at += 1;
        if let Some(why) = why {
            not_taken.push(NotTaken::file(&source.path, format!("the server says {why:?}")));
        }
        why.is_none()
    });
}

fn text<'v>(value: &'v Value, member: &str) -> Result<&'v str, Failure> {
    let missing = || Failure::Failed(format!("the server's answer has no {member}"));
    value[member].as_str().ok_or_else(missing)
}

/// Uploads what has not arrived yet.
async fn send(
    remote: &mut Remote,
    operation: &Value,
    sources: &[Source],
    line: &mut ProgressLine,
) -> Result<(), Failure> {
    let files = operation["uploadFiles"].as_array().map_or(&[][..], Vec::as_slice);
    if files.len() != sources.len() {
        return Err(Failure::Failed("the server's operation has other files".into()));
    }
    let all: u64 = sources.iter().map(|source| source.bytes).sum();
    let mut sent = 0;
    for (source, file) in sources.iter().zip(files) {
        let id = text(file, "id")?;
        if !["Initialized", "Incomplete"].contains(&file["status"].as_str().unwrap_or("")) {
            sent += source.bytes;
            continue;
        }
        let arrived = if file["status"] == "Incomplete" {
            let upload = remote.get(&format!("uploads/{id}")).await?;
            chunks_of(&upload)
        } else {
            HashMap::new()
        };
        let failed =
            |error: std::io::Error| Failure::Failed(format!("{}: {error}", source.path.display()));
        let mut opened = File::open(&source.file.content).map_err(failed)?;
        let mut offset = 0;
        while offset < source.bytes {
            let bytes = CHUNK_BYTES.min(source.bytes - offset);
            if arrived.get(&offset) != Some(&bytes) {
                opened.seek(SeekFrom::Start(offset)).map_err(failed)?;
                let mut chunk = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
                (&mut opened).take(bytes).read_to_end(&mut chunk).map_err(failed)?;
                if chunk.len() as u64 != bytes {
                    return Err(Failure::Failed(format!(
                        "{}: the file has changed while it was uploaded; upload it again",
                        source.path.display()
                    )));
                }
                remote.chunk(id, offset, chunk.into()).await?;
            }
            offset += bytes;
            sent += bytes;
            line.show(|| format!("uploading: {} of {} MiB", sent >> 20, all >> 20));
        }
        remote.commit(id).await?;
    }
    Ok(())
}

/// Returns the chunks of a file that have arrived.
fn chunks_of(upload: &Value) -> HashMap<u64, u64> {
    let chunks = upload["chunks"].as_array().map_or(&[][..], Vec::as_slice).iter();
    chunks.filter_map(|chunk| Some((chunk["offset"].as_u64()?, chunk["size"].as_u64()?))).collect()
}

/// Waits until an operation has ended.
async fn wait(remote: &mut Remote, id: &str, line: &mut ProgressLine) -> Result<Value, Failure> {
    let mut pause = PAUSES.0;
    loop {
        let operation = remote.get(&format!("bulkOperations/{id}")).await?;
        match text(&operation, "status")? {
            "Completed" | "Error" => return Ok(operation),
            "Expired" => {
                return Err(Failure::Failed(
                    "the operation has expired before its files were uploaded; upload them again"
                        .into(),
                ));
            }
            _ => {}
        }
        let progress = &operation["progress"];
        line.show(|| match (progress["done"].as_u64(), progress["of"].as_u64()) {
            (Some(done), Some(of)) => format!(
                "{} of {} documents, {}",
                grouped(done),
                grouped(of),
                progress["text"].as_str().unwrap_or("")
            ),
            _ => "waiting for the server to load the files".into(),
        });
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Reads the rejects and the summary of an operation, with the names that the files have here.
async fn results(
    remote: &mut Remote,
    operation: &Value,
    sources: &[Source],
) -> Result<Ended, Failure> {
    let id = text(operation, "id")?;
    let files = operation["uploadFiles"].as_array().map_or(&[][..], Vec::as_slice);
    let names: HashMap<String, Named> = files
        .iter()
        .zip(sources)
        .filter_map(|(file, source)| {
            let folder = format!("{}/", file["interchangeType"].as_str().unwrap_or(""));
            let own = source.path.display().to_string();
            Some((file["id"].as_str()?.to_owned(), Named { own, folder }))
        })
        .collect();
    let mut rejects = vec![];
    for file in files.iter().filter(|file| file["status"] == "Error") {
        let file = text(file, "id")?;
        let mut offset = 0;
        loop {
            let path =
                format!("bulkOperations/{id}/exceptions/{file}?offset={offset}&limit={PAGE}");
            let page = remote.get(&path).await?;
            let page = page.as_array().map_or(&[][..], Vec::as_slice);
            rejects.extend(page.iter().map(|reject| as_loader_writes(reject, &names)));
            if page.len() < PAGE {
                break;
            }
            offset += page.len();
        }
    }
    let summary = match &operation["summary"] {
        Value::Null => Summary { rejected: rejects.len() as u64, ..Summary::default() },
        summary => serde_json::from_value(renamed(summary.clone(), &names))
            .map_err(|error| Failure::because("reading the server's answer", error))?,
    };
    let has_causes = !summary.causes.is_empty() || rejects.is_empty();
    Ok(Ended { summary, rejects, has_causes })
}

/// What a file is called.
struct Named {
    /// Its path here.
    own: String,
    /// The folder that the server puts it in if it has lines of JSON.
    folder: String,
}

/// Returns an exception as the loader writes a reject.
fn as_loader_writes(exception: &Value, names: &HashMap<String, Named>) -> Value {
    let file =
        exception["uploadFileId"].as_str().and_then(|id| names.get(id)).map(|named| &named.own);
    let mut reject = json!({ "file": file });
    if let (Some(all), Some(members)) = (reject.as_object_mut(), exception.as_object()) {
        let own = members.iter().filter(|(name, _)| !matches!(&***name, "id" | "uploadFileId"));
        all.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    }
    renamed(reject, names)
}

/// Replaces the names that the server gives to files, their ids with an ending, in all texts.
fn renamed(value: Value, names: &HashMap<String, Named>) -> Value {
    match value {
        Value::String(text) => renamed_text(text, names).into(),
        Value::Array(items) => items.into_iter().map(|item| renamed(item, names)).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, renamed(value, names)));
            members.collect::<serde_json::Map<_, _>>().into()
        }
        other => other,
    }
}

fn renamed_text(mut text: String, names: &HashMap<String, Named>) -> String {
    // Most texts name no file.
    if !text.contains(".xml") && !text.contains(".jsonl") {
        return text;
    }
    for (id, Named { own, folder }) in
        names.iter().filter(|(id, _)| text.contains(&***id)).collect::<Vec<_>>()
    {
        for name in [format!("{folder}{id}.jsonl"), format!("{id}.jsonl"), format!("{id}.xml")] {
            text = text.replace(&name, own);
        }
    }
    text
}

/// Returns a reject as a line that begins with its file, like those of the loader.
fn line_of(reject: &Value) -> String {
    let mut rest = reject.clone();
    let file = rest.as_object_mut().and_then(|all| all.remove("file")).unwrap_or_default();
    let rest = rest.to_string();
    format!("{{\"file\":{file},{}", rest.strip_prefix('{').unwrap_or(&rest))
}

/// Prints what has become of the records.
fn report(
    args: &UploadArgs,
    ended: &Ended,
    took: Duration,
    results: Option<File>,
) -> Result<Exit, Failure> {
    let summary = json!({ "summary": ended.summary });
    let lines = ended.rejects.iter().map(line_of).chain([summary.to_string()]);
    let has_results = results.is_some();
    if let Some(results) = results {
        let failed = |error| Failure::because("writing the results", error);
        let mut out = BufWriter::new(results);
        for line in lines.clone() {
            writeln!(out, "{line}").map_err(failed)?;
        }
        out.flush().map_err(failed)?;
    }
    if args.json {
        let from = if has_results { ended.rejects.len() } else { 0 };
        for line in lines.skip(from) {
            crate::exit::print(&format!("{line}\n"));
        }
    } else {
        let hint = (!has_results).then_some("--results FILE writes every reject.");
        crate::exit::print(&super::load::told(&ended.summary, hint, false));
        let seconds = took.as_secs_f64();
        crate::exit::say!(
            "\nwith the transfer and the waiting: {seconds:.1} s, {} documents/s",
            grouped(rate(ended.summary.documents, seconds))
        );
        if !ended.has_causes {
            for reject in &ended.rejects {
                let (file, message) = (&reject["file"], &reject["message"]);
                crate::exit::say!(
                    "\n{}: {}",
                    escaped_line(file.as_str().unwrap_or("")),
                    escaped_line(message.as_str().unwrap_or(""))
                );
            }
        }
    }
    let is_clean = ended.summary.is_clean() && ended.rejects.is_empty();
    Ok(if is_clean { Exit::Done } else { Exit::Rejects })
}
