//! Reads of documents by their public ids: those that arrive while others are under way go together, as one
//! statement. So the more there are, the less each costs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_postgres::Row as SqlRow;

use crate::error::StoreError;
use crate::id::Uuid;
use crate::postgres::error::{Fault, told};
use crate::postgres::reads::{PROBES, Reads};
use crate::postgres::value::{bytes, document};
use crate::row::Row;

/// Most statements that are under way on each connection: one at work, and the next one at hand.
const FLIGHTS: usize = 2;
/// Most documents in one statement.
const TOGETHER_MAX: usize = 64;
/// The number of waiting reads from which on the abandoned ones are looked for.
const TIDY_FROM: usize = 64;

/// A document, and the version of the ties at that moment if it was asked for.
pub(super) type Found = (Row, Option<i64>);

/// The reads that wait for their turn.
pub(super) struct Gathering {
    reads: Arc<Reads>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Wanted>,
    /// The flights of each connection.
    flights: [usize; PROBES],
    /// The slot of the next flight, if its connection is not busier than the others.
    next_slot: usize,
    /// The number of reads that are under way.
    flown: usize,
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
    pub(super) fn new(reads: Arc<Reads>) -> Arc<Self> {
        Arc::new(Self { reads, state: Mutex::default() })
    }

    /// Returns the number of reads that wait for their turn or are under way, beyond the number of statements.
    pub(super) fn unanswered(&self) -> usize {
        let state = self.state();
        let statements: usize = state.flights.iter().sum();
        (state.waiting.len() + state.flown).saturating_sub(statements)
    }

    /// Finds a document by its public id, and the version of the ties at that moment if it is asked for.
    pub(super) async fn find(
        self: &Arc<Self>,
        uuid: Uuid,
        wants_ties: bool,
    ) -> Result<Option<Found>, StoreError> {
        let (answer, answered) = oneshot::channel();
        let finding = async {
            if let Some(flight) = self.add(Wanted { uuid, wants_ties, answer }) {
                // It goes on for the others, even if nobody waits for this one any more.
                self.reads.spawn(flight.run());
            }
            answered.await.unwrap_or_else(|_| Err(self.reads.lost()))
        };
        self.reads.within(async { finding.await.map_err(Fault::Own) }).await
    }

    /// Adds a read. Returns the flight that has to begin for it, unless another one takes it along.
    fn add(self: &Arc<Self>, wanted: Wanted) -> Option<Flight> {
        let mut state = self.state();
        state.waiting.push(wanted);
        if state.waiting.len() >= state.tidied_at.max(TIDY_FROM) {
            state.waiting.retain(|wanted| !wanted.answer.is_closed());
            state.tidied_at = state.waiting.len() * 2;
        }
        // Of two connections that are equally busy, they take turns.
        let first = state.next_slot;
        let slots = (0..PROBES).map(|at| (first + at) % PROBES);
        let slot = slots.min_by_key(|slot| state.flights[*slot])?;
        if state.flights[slot] >= FLIGHTS {
            return None;
        }
        state.flights[slot] += 1;
        state.next_slot = (slot + 1) % PROBES;
        Some(Flight { gathering: Arc::clone(self), slot, flown: 0, is_over: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Statements on one connection, one after the other, as long as there are reads that wait.
struct Flight {
    gathering: Arc<Gathering>,
    /// The connection's slot.
    slot: usize,
    /// The number of its reads that are under way.
    flown: usize,
    /// Whether it is not counted any more.
    is_over: bool,
}

impl Flight {
    async fn run(mut self) {
        while let Some(wanted) = self.next() {
            let mut found = self.read(self.slot, &wanted).await;
            if matches!(found, Err(StoreError::Away(_))) {
                found = self.read((self.slot + 1) % PROBES, &wanted).await;
            }
            match found {
                Ok(found) => answer(wanted, found),
                Err(error) => {
                    for one in wanted {
                        _ = one.answer.send(Err(error.clone()));
                    }
                }
            }
        }
    }

    /// Takes as many waiting reads as go together, the oldest first. Without any, the flight has ended.
    fn next(&mut self) -> Option<Vec<Wanted>> {
        let mut state = self.gathering.state();
        state.flown -= std::mem::take(&mut self.flown);
        let together = state.waiting.len().min(TOGETHER_MAX);
        let mut wanted: Vec<_> = state.waiting.drain(..together).collect();
        if wanted.is_empty() {
            state.flights[self.slot] -= 1;
            self.is_over = true;
            return None;
        }
        wanted.retain(|wanted| !wanted.answer.is_closed());
        self.flown = wanted.len();
        state.flown += self.flown;
        Some(wanted)
    }

    /// Reads documents in one statement. Each is found, or cannot be read, for itself.
    async fn read(&self, slot: usize, wanted: &[Wanted]) -> Result<Vec<OneFound>, StoreError> {
        let wants_ties = wanted.iter().any(|one| one.wants_ties);
        let uuids: Vec<_> = wanted.iter().map(|one| uuid::Uuid::from_bytes(one.uuid.0)).collect();
        let rows = match (&uuids[..], wants_ties) {
            ([], _) => return Ok(vec![]),
            ([one], false) => self.gathering.reads.probe_on(slot, ONE, &[one]).await?,
            ([one], true) => self.gathering.reads.probe_on(slot, ONE_WITH_TIES, &[one]).await?,
            (all, false) => self.gathering.reads.probe_on(slot, MANY, &[&all]).await?,
            (all, true) => self.gathering.reads.probe_on(slot, MANY_WITH_TIES, &[&all]).await?,
        };
        let found = |row: &SqlRow| {
            let ties = if wants_ties { row.try_get(8)? } else { None };
            Ok((document(row)?, ties))
        };
        let one = |row: &SqlRow| Ok((Uuid(bytes(row, 1)?), found(row).map_err(told)));
        rows.iter().map(one).collect::<Result<_, Fault>>().map_err(told)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.gathering.state();
        state.flown -= self.flown;
        state.flights[self.slot] -= 1;
        if state.flights == [0; PROBES] {
            // Nobody would take them along: the store's runtime has ended, or a flight has panicked.
            state.waiting.clear();
        }
    }
}

/// A public id, and its document or why that cannot be read.
type OneFound = (Uuid, Result<Found, StoreError>);

/// Gives each read its document.
fn answer(wanted: Vec<Wanted>, found: Vec<OneFound>) {
    let mut asked: HashMap<Uuid, Vec<_>> = HashMap::new();
    for one in wanted {
        asked.entry(one.uuid).or_default().push(one.answer);
    }
    for (uuid, found) in found {
        let mut answers = asked.remove(&uuid).unwrap_or_default();
        let last = answers.pop();
        for answer in answers {
            _ = answer.send(found.clone().map(Some));
        }
        if let Some(answer) = last {
            _ = answer.send(found.map(Some));
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
