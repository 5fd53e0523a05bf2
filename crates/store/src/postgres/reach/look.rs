//! Follows ways for readers.

use tokio_postgres::types::ToSql;

use super::reaching::{ReachStatement, Reaching};
use super::statements::{VERSION, VERSIONS};
use super::{Memory, Versions};
use crate::error::StoreError;
use crate::postgres::error::Fault;
use crate::postgres::reads::{BoundStatement, Reads};
use crate::postgres::value::arguments;
use crate::tie::{Reached, Start, Way};
use crate::waiting::Busy;

/// How often a look-up is repeated because the ties changed during it.
const TRIES: usize = 20;

/// Follows ways, all on one state of the ties.
pub(in crate::postgres) async fn look(
    reads: &Reads,
    memory: &Memory,
    from: &[(Start, Way)],
) -> Result<Vec<Reached>, StoreError> {
    for _ in 0..TRIES {
        let (before, epoch) = (memory.newest(), memory.epoch());
        let mut reaching = Reaching::default();
        for (start, way) in from {
            reaching.add(*start, way);
        }
        let steps = reaching.steps();
        let Some(state) = ask(reads, epoch, &mut reaching, steps).await? else { continue };
        memory.saw(before, state.any());
        let climbs = reaching.climbs(memory, Some(&state));
        if !climbs.is_empty() {
            match ask(reads, epoch, &mut reaching, climbs).await? {
                Some(later) if later.any() == state.any() => reaching.keep_climbs(memory, &state),
                _ => continue,
            }
        }
        reaching.keep_ways(memory, &state);
        return Ok(from.iter().map(|(start, way)| reaching.answer(*start, way)).collect());
    }
    Err(StoreError::Busy(Busy::Changing))
}

/// Runs the look-ups, and returns the versions of the ties if none has changed meanwhile.
async fn ask(
    reads: &Reads,
    epoch: u64,
    reaching: &mut Reaching,
    questions: Vec<ReachStatement>,
) -> Result<Option<Versions>, StoreError> {
    let told = |fault: Fault| fault.told(|| StoreError::Failed("it took too long".into()));
    let arguments: Vec<Vec<&(dyn ToSql + Sync)>> =
        questions.iter().map(|question| arguments(&question.columns)).collect();
    let mut all: Vec<BoundStatement<'_>> = vec![(VERSIONS, &[])];
    all.extend(questions.iter().zip(&arguments).map(|(question, a)| (&*question.text, &**a)));
    if !questions.is_empty() {
        all.push((VERSION, &[]));
    }
    let found = reads.probe_all(&all).await?;
    let Some((versions, rest)) = found.split_first() else { return Ok(None) };
    let state = Versions::read(versions, epoch).map_err(told)?;
    for (question, rows) in questions.iter().zip(rest) {
        reaching.read(&question.of, rows).map_err(told)?;
    }
    let is_same = match rest.get(questions.len()).and_then(|rows| rows.first()) {
        Some(row) => row.try_get::<_, i64>(0).map_err(|error| told(error.into()))? == state.any(),
        None => questions.is_empty(),
    };
    Ok(is_same.then_some(state))
}
