//! `POST /data/v3/batch`: many documents in one request, a line each, and an answer for each line.
//!
//! The lines are read as they arrive, a chunk at a time. A chunk is checked and its plans are put
//! into the writer's queue together; while they are written, the next chunk is read. Each record is
//! authorized and answered as a POST of its document would be.

mod answers;
mod limits;
mod line;
mod lines;

use std::collections::VecDeque;
use std::sync::Arc;

use homeroom_access::{ApiClient, Begun, Call, Caller, Planner, Scope, authorize_upsert};
use homeroom_document::Refusal;
use homeroom_document::plan::{self, Precondition, Save};
use homeroom_document::validate::Document;
use homeroom_http::{Problem, Response};
use homeroom_model::ResourceId;
use homeroom_store::{ChangedAt, Plan};

use self::answers::Answers;
use self::limits::CHUNKS_AHEAD;
use self::line::Line;
use self::lines::{Lines, Sent};
use crate::blocking;
use crate::problem::{of_plan, of_refusal};
use crate::request::body;
use crate::{DataState, refuse_snapshot, respond, strict};

pub(crate) use self::limits::BODY;

pub use self::limits::{BATCH_ANSWER_BYTES_MAX, BATCH_BYTES_MAX, BATCH_LINES_MAX};

/// Takes documents, a line each, and answers a line for each.
pub(crate) async fn post(state: DataState, mut call: Call) -> Result<Response, Problem> {
    lines::expect_lines(&call)?;
    refuse_snapshot(&call)?;
    strict::expect_only(&call, &[])?;
    let _place = state.api.batches.take(&call.client().key)?;
    let batch = Arc::new(Batch {
        caller: Caller::of(&call, Scope::Data),
        is_strict: strict::is_asked(&call.headers),
        now: ChangedAt(call.now.0),
        base_url: call.base_url.clone(),
        correlation_id: call.correlation_id.clone(),
        state,
    });
    let mut lines = Lines::of(call.stream_body()?);
    let mut answers = Answers::new(&batch.correlation_id);
    let mut running = VecDeque::new();
    while let Some(chunk) = lines.next_chunk().await {
        running.push_back(Arc::clone(&batch).begin(chunk).await?);
        if running.len() > CHUNKS_AHEAD
            && let Some(chunk) = running.pop_front()
        {
            batch.end(chunk, &mut answers).await;
        }
    }
    for chunk in running {
        batch.end(chunk, &mut answers).await;
    }
    // What was read is answered; where the rest could not be read, the last line says why. The status
    // is that of what was taken: one of a refusal would say that nothing was stored.
    match lines.trouble() {
        None => {}
        Some((_, problem)) if answers.is_empty() => return Err(problem),
        Some((line, problem)) => answers.refused(line, problem),
    }
    let answer = answers.into_response();
    Ok(if batch.is_strict { strict::applied(answer) } else { answer })
}

/// What all records of a request share.
struct Batch {
    state: DataState,
    caller: Caller,
    is_strict: bool,
    now: ChangedAt,
    base_url: String,
    correlation_id: String,
}

/// A chunk whose plans are in the writer's queue.
struct Chunk {
    /// The lines in order; [`None`] is one whose document is on its way.
    lines: Vec<(usize, Option<Line>)>,
    /// The resources of the documents on their way.
    resources: Vec<ResourceId>,
    begun: Begun<Save>,
}

impl Batch {
    /// Checks the records of a chunk and puts their plans into the writer's queue.
    async fn begin(self: Arc<Self>, chunk: Vec<Sent>) -> Result<Chunk, Problem> {
        let places = Arc::clone(&self.state.api.work.batch_checks);
        let check = move || {
            let DataState { api, access } = &self.state;
            let client = self.caller.again(access).map(|recognized| recognized.client);
            let (mut lines, mut documents) = (vec![], vec![]);
            for Sent { number, text } in chunk {
                let line = match &client {
                    Ok(client) => line::read(&api.catalog, client, text, self.is_strict),
                    Err(problem) => Line::Refused(problem.clone()),
                };
                match line {
                    Line::Document(document) => {
                        documents.push(*document);
                        lines.push((number, None));
                    }
                    other => lines.push((number, Some(other))),
                }
            }
            let resources = documents.iter().map(|document| document.resource).collect();
            let begun = self.caller.begin_all(access, &api.store, documents, &*self);
            Chunk { lines, resources, begun }
        };
        blocking::run(&places, check).await
    }

    /// Waits for the plans of a chunk and answers its lines.
    async fn end(&self, chunk: Chunk, answers: &mut Answers<'_>) {
        let DataState { api, access } = &self.state;
        let outcomes = chunk.begun.outcomes(&self.caller, access, &api.store, self).await;
        let mut outcomes = chunk.resources.into_iter().zip(outcomes);
        for (number, line) in chunk.lines {
            let problem = match line {
                Some(Line::Refused(problem)) => problem,
                Some(Line::Invalid(resource, invalid)) => {
                    body::invalid_document(api, api.catalog.model.resource(resource), invalid).await
                }
                Some(Line::Document(_)) | None => match outcomes.next() {
                    Some((resource, Ok(ran))) => {
                        let resource = api.catalog.model.resource(resource);
                        let location = respond::location(&self.base_url, resource, ran.value.uuid);
                        let status = respond::status_of_post(ran.value.effect);
                        let version = respond::version_of(ran.value, ran.change_version);
                        answers.written(number, status, &location, version);
                        continue;
                    }
                    Some((_, Err(refused))) => of_plan(refused),
                    None => Problem::internal("a document of a batch has no outcome"),
                },
            };
            answers.refused(number, problem);
        }
    }
}

impl Planner for Batch {
    type Sent = Document;
    type Decide = Save;

    fn plan(&self, client: &ApiClient, document: Document) -> Result<Plan<Save>, Problem> {
        let catalog = &self.state.api.catalog;
        let grant = authorize_upsert(client, catalog.model.resource(document.resource))?;
        Ok(plan::upsert(catalog, document, grant, Precondition::default(), self.now))
    }

    fn back(&self, decide: Save) -> Document {
        decide.into_document()
    }

    fn refused(&self, refusal: Refusal) -> Problem {
        of_refusal(refusal)
    }
}
