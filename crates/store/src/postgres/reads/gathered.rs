//! Reads of documents by their public ids: those that arrive while others are under way go together, as one
//! statement. So the more there are, the less each costs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_postgres::Row as SqlRow;

use crate::error::StoreError;
use crate::id::Uuid;
use crate::postgres::error::Fault;
use crate::postgres::reads::Reads;
use crate::postgres::told;
use crate::postgres::value::document;
use crate::row::Row;

/// Most statements that are under way at a time: each connection runs one, and has the next one at hand.
const FLIGHTS: usize = 4;
/// Most documents in one statement.
const TOGETHER_MAX: usize = 64;
/// The number of waiting reads from which on the abandoned ones are looked for.
const TIDY_FROM: usize = 64;

/// A document, and the version of the ties at that moment if it was asked for.
pub(in crate::postgres) type Found = (Row, Option<i64>);

/// The reads that wait for their turn.
#[derive(Default)]
pub(super) struct Gathering(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Vec<Wanted>,
    flights: usize,
    /// The number of waiting reads at which the abandoned ones are taken out.
    tidied_at: usize,
}

/// A read, and where its answer goes.
struct Wanted {
    uuid: Uuid,
    wants_ties: bool,
    answer: oneshot::Sender<Result<Option<Found>, StoreError>>,
}

impl Gathering {
    /// Returns the number of reads that wait for their turn.
    pub(super) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Finds a document, and the version of the ties if it is asked for.
    pub(super) async fn find(
        &self,
        reads: &Arc<Reads>,
        uuid: Uuid,
        wants_ties: bool,
    ) -> Result<Option<Found>, StoreError> {
        let (answer, answered) = oneshot::channel();
        if let Some(flight) = self.add(reads, Wanted { uuid, wants_ties, answer }) {
            // It goes on for the others, even if nobody waits for this one any more.
            reads.runtime.spawn(flight.run());
        }
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Adds a read. Returns the flight that has to begin for it, unless another one takes it along.
    fn add(&self, reads: &Arc<Reads>, wanted: Wanted) -> Option<Flight> {
        let mut state = self.state();
        state.waiting.push(wanted);
        if state.waiting.len() >= state.tidied_at.max(TIDY_FROM) {
            state.waiting.retain(|wanted| !wanted.answer.is_closed());
            state.tidied_at = state.waiting.len() * 2;
        }
        (state.flights < FLIGHTS).then(|| {
            state.flights += 1;
            Flight { reads: Arc::clone(reads), is_over: false }
        })
    }

    /// Takes as many waiting reads as go together, the oldest first.
    fn take(&self) -> Vec<Wanted> {
        let mut state = self.state();
        let together = state.waiting.len().min(TOGETHER_MAX);
        state.waiting.drain(..together).filter(|wanted| !wanted.answer.is_closed()).collect()
    }

    /// Ends a flight unless a read has come meanwhile. Returns whether it has ended.
    fn ends(&self) -> bool {
        let mut state = self.state();
        let is_over = state.waiting.is_empty();
        state.flights -= usize::from(is_over);
        is_over
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Statements one after the other, as long as there are reads that wait.
struct Flight {
    reads: Arc<Reads>,
    /// Whether it is not counted any more.
    is_over: bool,
}

impl Flight {
    async fn run(mut self) {
        loop {
            self.is_over = self.reads.gathering.ends();
            if self.is_over {
                return;
            }
            let wanted = self.reads.gathering.take();
            if wanted.is_empty() {
                continue;
            }
            match read(&self.reads, &wanted).await {
                Ok(found) => answer(wanted, found),
                Err(error) => {
                    for one in wanted {
                        _ = one.answer.send(Err(error.clone()));
                    }
                }
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.is_over {
            self.reads.gathering.state().flights -= 1;
        }
    }
}

async fn read(reads: &Reads, wanted: &[Wanted]) -> Result<Vec<Found>, StoreError> {
    let wants_ties = wanted.iter().any(|one| one.wants_ties);
    let uuids: Vec<_> = wanted.iter().map(|one| uuid::Uuid::from_bytes(one.uuid.0)).collect();
    let rows = match (&uuids[..], wants_ties) {
        ([one], false) => reads.probe(ONE, &[one]).await?,
        ([one], true) => reads.probe(ONE_WITH_TIES, &[one]).await?,
        (all, false) => reads.probe(MANY, &[&all]).await?,
        (all, true) => reads.probe(MANY_WITH_TIES, &[&all]).await?,
    };
    let found = |row: &SqlRow| {
        let ties = if wants_ties { row.try_get(8)? } else { None };
        Ok((document(row)?, ties))
    };
    rows.iter().map(found).collect::<Result<_, Fault>>().map_err(told)
}

/// Gives each read its document.
fn answer(wanted: Vec<Wanted>, found: Vec<Found>) {
    let mut asked: HashMap<Uuid, Vec<_>> = HashMap::new();
    for one in wanted {
        asked.entry(one.uuid).or_default().push(one.answer);
    }
    for found in found {
        let mut answers = asked.remove(&found.0.uuid).unwrap_or_default();
        let last = answers.pop();
        for answer in answers {
            _ = answer.send(Ok(Some(found.clone())));
        }
        if let Some(answer) = last {
            _ = answer.send(Ok(Some(found)));
        }
    }
    for answer in asked.into_values().flatten() {
        _ = answer.send(Ok(None));
    }
}

const ONE: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE uuid = ?1";
const ONE_WITH_TIES: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body, \
     (SELECT version FROM tie_version WHERE label = -1) FROM doc WHERE uuid = ?1";
const MANY: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc \
     WHERE uuid = ANY(CAST(?1 AS uuid[]))";
const MANY_WITH_TIES: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body, \
     (SELECT version FROM tie_version WHERE label = -1) FROM doc \
     WHERE uuid = ANY(CAST(?1 AS uuid[]))";
