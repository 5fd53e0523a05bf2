//! The job that loads an operation.
//!
//! It may run more than once for the same operation, after the end of a node: documents that are
//! stored already are unchanged then, and statuses and exceptions are written once, at the end.
#![expect(clippy::disallowed_methods, reason = "an operation ends at the moment when it is loaded")]

use std::sync::Arc;

use homeroom_access::{Holder, Recognized, Scope};
use homeroom_bulk::{
    FileCounts, LoadError, LoadOptions, Phase, Progress, Rights, Summary, load_as,
};
use homeroom_jobs::{Failed, Kind, Running, Stop};
use homeroom_store::{Answer, ChangedAt, Decision, Plan, Uuid};
use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt as _;

use crate::commit::{KIND, upload_fault};
use crate::end::{End, give_up, plan};
use crate::exceptions::ExceptionsOut;
use crate::limits::{ATTEMPTS_MAX, CAUSES_MAX, RUNNING_MAX};
use crate::operation::{Operation, UploadFile, operation, rows};
use crate::row::{read, write};
use crate::service::BulkService;
use crate::spool::Spool;
use crate::sql;
use crate::status::Status;

/// Returns the kind of the jobs that load operations. `loaded` gets the summary of each that has ended.
pub fn kind(service: &BulkService, loaded: impl Fn(&Summary) + Send + Sync + 'static) -> Kind {
    let (service, loaded) = (service.clone(), Arc::new(loaded));
    let load = move |running: Running| {
        let (service, loaded) = (service.clone(), Arc::clone(&loaded));
        async move { load(&service, running, &*loaded).await }
    };
    Kind { running_max: RUNNING_MAX, attempts_max: ATTEMPTS_MAX, ..Kind::new(KIND, load) }
}

/// The rights of the client that has uploaded.
struct Uploader {
    holder: Holder,
    runtime: tokio::runtime::Handle,
}

impl Rights for Uploader {
    fn now(&self) -> Result<Recognized, String> {
        self.holder.now().map_err(|problem| reason(&problem))
    }

    fn renewed(&self) -> Result<Recognized, String> {
        self.runtime.block_on(self.holder.renewed()).map_err(|problem| reason(&problem))
    }
}

fn reason(problem: &homeroom_http::Problem) -> String {
    let detail = problem.detail.as_deref().unwrap_or_else(|| problem.kind.detail());
    problem.errors.first().map_or(detail, String::as_str).to_owned()
}

/// Loads an operation.
async fn load(
    service: &BulkService,
    running: Running,
    loaded: &(dyn Fn(&Summary) + Send + Sync),
) -> Result<Value, Failed> {
    let id = running.input["operation"].as_str().and_then(Uuid::read);
    let id = id.ok_or_else(|| Failed::ForGood("the input names no operation".into()))?;
    let found = service.operation(id).await.map_err(|problem| again(&problem))?;
    let Some(operation) = found.filter(|operation| operation.status.is_with_job()) else {
        return Ok(json!({ "operation": id.to_string() }));
    };
    let outcome = attempt(service, &operation, Arc::new(running), loaded).await;
    if let Err(Failed::ForGood(_)) = &outcome {
        give_up(service, &operation, ChangedAt::now()).await.map_err(|problem| again(&problem))?;
    }
    outcome
}

async fn attempt(
    service: &BulkService,
    operation: &Operation,
    running: Arc<Running>,
    loaded: &(dyn Fn(&Summary) + Send + Sync),
) -> Result<Value, Failed> {
    start(service, operation).await?;
    let files = service.files(operation.id).await.map_err(|problem| again(&problem))?;
    let failed = |error: crate::spool::SpoolError| Failed::Again(error.to_string());
    let spool = Arc::new(Spool::new(&service.spool, operation, running.attempt).map_err(failed)?);
    for file in &files {
        if let Some(stop) = running.stop() {
            return Err(stopped(stop));
        }
        spool.add(service, file).await.map_err(failed)?;
    }
    let (summary, counts) = run(service, operation, &running, &spool).await?;
    end(service, operation, (&files, &counts), &spool, &summary).await?;
    loaded(&summary);
    Ok(json!({
        "operation": operation.id.to_string(),
        "loaded": summary.loaded,
        "unchanged": summary.unchanged,
        "rejected": summary.rejected,
    }))
}

/// Loads the files with the rights of the client, on a thread that may block.
async fn run(
    service: &BulkService,
    operation: &Operation,
    running: &Arc<Running>,
    spool: &Arc<Spool>,
) -> Result<(Summary, Vec<FileCounts>), Failed> {
    let organizations = operation.organizations.clone();
    let holder = Holder::new(&service.access, &operation.owner, Scope::Data, organizations);
    let uploader = Uploader { holder, runtime: tokio::runtime::Handle::current() };
    let documents = service.documents.clone();
    // The folder, not the files: a list of files that is given itself stands for the files that it
    // names, and a client must not name files of the server.
    let paths = vec![spool.folder.clone()];
    let options = LoadOptions { paths, results: Some(spool.results()), ..LoadOptions::default() };
    let (telling, kept) = (Arc::clone(running), Arc::clone(spool));
    let loading = tokio::task::spawn_blocking(move || {
        let mut progress = |progress: &Progress| telling.progress(told(progress));
        let is_stopped = || telling.stop().is_some();
        let loaded = load_as(&uploader, &documents, &options, &mut progress, &is_stopped);
        drop(kept);
        loaded
    });
    match loading.await {
        Err(error) => Err(Failed::Again(format!("the load ended: {error}"))),
        Ok(Ok(loaded)) => Ok(loaded),
        Ok(Err(LoadError::Stopped)) => Err(running.stop().map_or(Failed::GivenBack, stopped)),
        Ok(Err(error @ LoadError::NotAuthorized(_))) => Err(Failed::ForGood(error.to_string())),
        // All files are lists of files, which are passed over.
        Ok(Err(LoadError::Nothing)) => {
            let written = tokio::fs::write(spool.results(), b"").await;
            written.map_err(|error| Failed::Again(error.to_string()))?;
            Ok((Summary::default(), vec![]))
        }
        Ok(Err(error)) => {
            let folder = format!("{}/", spool.folder.display());
            let told = error.to_string().replace(&folder, "");
            Err(match error {
                LoadError::Path { .. } | LoadError::Input { .. } => Failed::ForGood(told),
                _ => Failed::Again(told),
            })
        }
    }
}

fn told(progress: &Progress) -> homeroom_jobs::Progress {
    let text = match progress.phase {
        Phase::Surveying => "reading",
        Phase::Loading => "loading",
        Phase::Completing => "completing",
    };
    let of = Some(progress.documents_in_all).filter(|_| progress.phase != Phase::Surveying);
    let text = format!("{text}; {} rejected", progress.rejected);
    homeroom_jobs::Progress { done: progress.documents, of, text }
}

fn stopped(stop: Stop) -> Failed {
    match stop {
        Stop::Cancelled => Failed::ForGood("the operation was cancelled".into()),
        Stop::ServerStops | Stop::LeaseLost => Failed::GivenBack,
    }
}

fn again(problem: &homeroom_http::Problem) -> Failed {
    Failed::Again(problem.internal.clone().unwrap_or_else(|| reason(problem)))
}

/// Says that the load has begun.
async fn start(service: &BulkService, of: &Operation) -> Result<(), Failed> {
    let (own, id) = (of.id, of.id.to_string());
    let ask = vec![read(own, sql::FIND, vec![id.as_str().into()])];
    let decide = move |found: Vec<Answer>| -> Decision<(), String> {
        let stored = rows(found.into_iter().next());
        let stored = stored.first().map(|row| operation(row)).transpose();
        let Ok(Some(stored)) = stored else {
            return Decision::Refuse("the operation is gone".into());
        };
        if stored.status != Status::Ready {
            return Decision::Write(vec![], ());
        }
        let started = Status::Started.name();
        let arguments = vec![id.as_str().into(), started.into()];
        let files = write(own, sql::SET_FILES, arguments);
        let (now, expires) = (ChangedAt::now().0, stored.expires.0);
        let arguments = vec![id.as_str().into(), started.into(), now.into(), expires.into()];
        Decision::Write(vec![files, write(own, sql::SET, arguments)], ())
    };
    let ran = service.run(Plan { ask, decide }).await;
    ran.map(|_| ()).map_err(|refused| {
        Failed::Again(match refused {
            homeroom_store::Refused::Decision(why) => why,
            homeroom_store::Refused::Store(error) => error.to_string(),
        })
    })
}

/// Writes the statuses and the exceptions of the files, and ends the operation.
async fn end(
    service: &BulkService,
    operation: &Operation,
    (files, counts): (&[UploadFile], &[FileCounts]),
    spool: &Spool,
    summary: &Summary,
) -> Result<(), Failed> {
    let failed = |error: String| Failed::Again(error);
    let mut outs: Vec<ExceptionsOut> = files.iter().map(ExceptionsOut::of).collect();
    let paths: Vec<String> =
        files.iter().map(|file| spool.path(file).display().to_string()).collect();
    let folder = format!("{}/", spool.folder.display());
    let results = tokio::fs::File::open(spool.results()).await;
    let results = results.map_err(|error| failed(error.to_string()))?;
    let mut lines = tokio::io::BufReader::new(results).lines();
    while let Some(line) = lines.next_line().await.map_err(|error| failed(error.to_string()))? {
        let reject: Value =
            serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
        let Some(file) = reject["file"].as_str() else { continue };
        // A record that repeats another was loaded.
        if reject["repeats"].is_object() {
            continue;
        }
        let Some(at) = paths.iter().position(|path| path == file) else { continue };
        let reject = without_folder(reject, &folder);
        outs[at].add(&service.blobs, &reject).await.map_err(|error| failed(error.to_string()))?;
    }
    let now = ChangedAt::now();
    let mut writes = vec![];
    let mut all = Status::Completed;
    for ((file, out), path) in files.iter().zip(outs).zip(&paths) {
        let id = file.id.to_string();
        let count = counts.iter().find(|count| count.file == *path);
        let (stored, rejected) = count.map_or((0, 0), |count| (count.stored, count.rejected));
        let is_empty = stored == 0 && rejected == 0;
        let status = if rejected == 0 && !is_empty { Status::Completed } else { Status::Error };
        if status == Status::Error {
            all = Status::Error;
        }
        let fault = if is_empty {
            upload_fault("The file has no record that this server knows.").into()
        } else {
            homeroom_store::Value::Null
        };
        let arguments = vec![id.as_str().into(), status.name().into(), fault];
        writes.push(write(operation.id, sql::SET_FILE, arguments));
        let written = out.finish(&service.blobs, now).await;
        if let Some(written) = written.map_err(|error| failed(error.to_string()))? {
            writes.push(written.row);
            let arguments = vec![id.as_str().into(), written.blob.into(), written.marks.into()];
            writes.push(write(operation.id, sql::SET_EXCEPTIONS, arguments));
        }
    }
    let mut summary = summary.clone();
    summary.causes.truncate(CAUSES_MAX);
    summary.warnings.truncate(CAUSES_MAX);
    let summary = serde_json::to_value(&summary).map_err(|error| failed(error.to_string()))?;
    let summary = without_folder(summary, &folder).to_string();
    let arguments = vec![operation.id.to_string().into(), summary.into()];
    writes.push(write(operation.id, sql::SET_SUMMARY, arguments));
    let end = End { status: all, writes };
    let plan = plan(operation, end, &[Status::Ready, Status::Started], now);
    let ran = service.run_with_blobs(plan).await;
    ran.map(|_| ()).map_err(|refused| match refused {
        homeroom_store::Refused::Decision(problem) => again(&problem),
        homeroom_store::Refused::Store(error) => failed(error.to_string()),
    })
}

/// Removes the folder of the server from all texts, so that files are named by their ids.
fn without_folder(value: Value, folder: &str) -> Value {
    match value {
        Value::String(text) if text.contains(folder) => text.replace(folder, "").into(),
        Value::Array(items) => items.into_iter().map(|item| without_folder(item, folder)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, without_folder(value, folder)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}
