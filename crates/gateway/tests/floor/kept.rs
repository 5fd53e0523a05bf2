//! A body that is kept as a blob, and a job about it: both in one plan, on each store.
#![expect(clippy::disallowed_methods, reason = "blobs and jobs are dated")]

use std::sync::Arc;
use std::time::Duration;

use homeroom_access::{ApiClient, Call};
use homeroom_blobs::{BlobError, BlobId, BlobPlace, Blobs, Limits, Swept};
use homeroom_http::{
    Body, BodyLimits, Guard, Kind, Problem, Response, Route, handler, json_response,
};
use homeroom_jobs::{Failed, JobError, JobId, Jobs, NewJob, Runner, Running, State, Times};
use homeroom_store::{Answer, ChangedAt, Decision, Plan, Refused, Store};
use homeroom_testkit::{Folder, TestApp, USUAL, trial};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::part::SMALL_MAX;
use crate::support::Server;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(30);
/// More than the time for which bytes that nobody owns are kept, in microseconds.
const LATER: i64 = 4_000_000_000;

/// The state of the part's routes.
struct Kept {
    blobs: Blobs,
    jobs: Jobs,
}

impl Kept {
    fn routes(self: &Arc<Self>) -> Vec<Route<ApiClient>> {
        let data = Guard::Token { scope: "data" };
        vec![
            Route::new(Method::PUT, "/floor/kept", data, handler(self, keep))
                .with_body(BodyLimits::of_bytes(SMALL_MAX)),
            Route::new(Method::GET, "/floor/kept/{blob}", data, handler(self, show)),
        ]
    }
}

/// Keeps the body, and queues a job that counts its bytes: both are there, or neither is.
async fn keep(kept: Arc<Kept>, mut call: Call) -> Result<Response, Problem> {
    let failed = |error: BlobError| Problem::internal(error);
    let now = ChangedAt::now();
    let mut body = call.stream_body()?;
    let mut writing = kept.blobs.begin("floor").await.map_err(failed)?;
    while let Some(bytes) = body.next().await? {
        writing.write(&bytes).await.map_err(failed)?;
    }
    let written = writing.finish(now).await.map_err(failed)?;
    let blob = written.blob().clone();
    let row = written.row(now).map_err(failed)?;
    let input = json!({"blob": blob.id.to_string(), "bytes": blob.bytes});
    let new = NewJob::new("count", "floor", input);
    let job = kept.jobs.prepare(new, now).map_err(Problem::internal)?;
    let id = job.id();
    let plan = Plan {
        ask: vec![job.ask()],
        decide: move |found: Vec<Answer>| match job.write(found.into_iter().next()) {
            Ok(queued) => Decision::Write(vec![row.clone(), queued], ()),
            Err(error) => Decision::Refuse(error),
        },
    };
    match kept.jobs.store().run_in(homeroom_blobs::LANE, plan).await {
        Ok(_) => {}
        Err(Refused::Decision(JobError::Full { .. })) => return Err(Problem::busy(1)),
        Err(_) => return Err(Problem::internal("the plan was not run")),
    }
    kept.jobs.wake();
    let answer = json!({"blob": blob.id.to_string(), "job": id});
    Ok(json_response(StatusCode::CREATED, answer.to_string()))
}

/// Returns the bytes of a blob.
async fn bytes(blobs: &Blobs, text: &str) -> Option<Vec<u8>> {
    let blob = blobs.find(BlobId::read(text)?).await.ok()??;
    let mut reading = blobs.read(blob.id, blob.bytes, 0..blob.bytes).await.ok()?;
    let mut all = vec![];
    while let Some(bytes) = reading.next().await.ok()? {
        all.extend_from_slice(&bytes);
    }
    Some(all)
}

async fn show(kept: Arc<Kept>, call: Call) -> Result<Response, Problem> {
    let found = bytes(&kept.blobs, call.params.get("blob")).await;
    let found = found.ok_or_else(|| Problem::of(Kind::NotFound))?;
    Ok(http::Response::new(Body::from(found)))
}

/// A server with these routes, its blobs and jobs.
struct Trial {
    name: String,
    server: Server,
    kept: Arc<Kept>,
    store: Store,
    _folder: Folder,
    bearer: String,
}

async fn on_each(limits: homeroom_jobs::Limits) -> Vec<Trial> {
    let mut trials = vec![];
    for (name, store) in trial::on_each(&[]).unwrap() {
        let folder = Folder::new();
        let blobs = Blobs::new(BlobPlace::folder(folder.path()), store.clone(), Limits::default());
        let kept = Arc::new(Kept { blobs, jobs: Jobs::new(store.clone(), limits) });
        let app = TestApp::on(&name, USUAL, store.clone()).await;
        let server = Server::offering(app, kept.routes());
        let bearer = server.key().await.bearer;
        trials.push(Trial { name, server, kept, store, _folder: folder, bearer });
    }
    trials
}

impl Trial {
    async fn send(&self, method: Method, path: &str, body: &str) -> (u16, Vec<u8>) {
        let headers = [("authorization", self.bearer.as_str())];
        let answer = self.server.send(method, path, &headers, body).await;
        (answer.status.as_u16(), answer.body.to_vec())
    }

    /// Removes what nobody owns, as if its time were over.
    async fn sweep(&self) -> Swept {
        self.kept.blobs.sweep(ChangedAt(ChangedAt::now().0 + LATER)).await.unwrap()
    }

    /// Counts the jobs that wait or have ended.
    async fn jobs(&self) -> usize {
        let counted = homeroom_store::Sql::new("SELECT id FROM job", vec![]);
        self.store.look_up(counted).await.unwrap().len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_is_kept_and_a_job_reads_it() {
    for trial in on_each(homeroom_jobs::Limits::default()).await {
        let body = "a line of the body\n".repeat(40_000);

        let (status, answer) = trial.send(Method::PUT, "/floor/kept", &body).await;

        assert_eq!(status, 201, "{}", trial.name);
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let path = format!("/floor/kept/{}", answer["blob"].as_str().unwrap());
        let blobs = trial.kept.blobs.clone();
        let count = move |job: Running| {
            let blobs = blobs.clone();
            async move {
                let text = job.input["blob"].as_str().unwrap_or_default();
                let found = bytes(&blobs, text).await;
                let found = found.ok_or_else(|| Failed::ForGood("there is no blob".into()))?;
                Ok(json!(found.len()))
            }
        };
        let kinds = vec![homeroom_jobs::Kind::new("count", count)];
        let runner = Runner::start(&trial.kept.jobs, kinds, Times::default());
        let id: JobId = serde_json::from_value(answer["job"].clone()).unwrap();
        let ended = tokio::time::timeout(PATIENCE, async {
            loop {
                let job = trial.kept.jobs.find(id).await.unwrap().unwrap();
                if job.state.is_ended() {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let ended = ended.await.unwrap();
        assert_eq!((ended.state, ended.result), (State::Done, Some(json!(body.len()))));
        runner.stop(PATIENCE).await;
        assert_eq!(trial.sweep().await, Swept::default(), "{}", trial.name);
        let (status, found) = trial.send(Method::GET, &path, "").await;
        assert_eq!((status, found == body.as_bytes()), (200, true), "{}", trial.name);
    }
}

#[tokio::test]
async fn a_body_that_is_refused_leaves_neither_blob_nor_job() {
    let full = homeroom_jobs::Limits { queued_max: 0, ..homeroom_jobs::Limits::default() };
    for trial in on_each(full).await {
        let large = "x".repeat(SMALL_MAX + 1);

        let (too_large, _) = trial.send(Method::PUT, "/floor/kept", &large).await;
        let (full, _) = trial.send(Method::PUT, "/floor/kept", "small").await;

        assert_eq!((too_large, full), (413, 503), "{}", trial.name);
        assert_eq!(trial.jobs().await, 0, "{}", trial.name);
        let swept = trial.sweep().await;
        assert_eq!((swept.unnamed, swept.removed, swept.bytes), (1, 0, 5), "{}", trial.name);
    }
}
