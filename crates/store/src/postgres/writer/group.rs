//! One transaction of many plans, which comes out as if they had run one after the other.
//!
//! All plans ask together and decide on the same state. Then they are taken in order, as far as
//! none has seen what one before it writes; those that have are begun again on the state that the
//! writes so far leave, in the same transaction.

use std::collections::HashMap;

use tokio_postgres::Row as SqlRow;

use crate::error::StoreError;
use crate::plan::{Ask, Write};
use crate::postgres::connection::{Connection, in_order};
use crate::postgres::error::Fault;
use crate::postgres::migrate::damaged;
use crate::postgres::writer::ask::{Found, Question, Questions};
use crate::postgres::writer::batch::{Batch, Statement};
use crate::postgres::writer::touch::{self, Changed, Touch};
use crate::store::{Job, Step};

/// A plan's place: which job, which of its plans.
pub(super) type Place = (usize, usize);

/// What a transaction has come to, before its commit.
pub(super) struct Prepared {
    /// What is left to be written; nothing where nothing was written at all.
    pub(super) last: Vec<Statement>,
    /// The change version of each plan that ended with writes or without need of any.
    pub(super) ended: Vec<(Place, i64)>,
}

/// How far a plan is.
enum State {
    Asking(Vec<Ask>),
    /// Refused where there are no writes to do.
    Decided(Option<Vec<Write>>),
}

struct Member {
    place: Place,
    state: State,
    /// What it has looked at.
    seen: Vec<Touch>,
}

/// Holds the counter until the commit: one writer at a time over all nodes.
const HOLD: &str = "SELECT id, cv FROM counter WHERE name = 'writer' FOR UPDATE";
const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Begins a transaction and runs plans in it up to what must be written last.
pub(super) async fn prepare(
    connection: &Connection,
    jobs: &mut [Box<dyn Job>],
    places: &[Place],
) -> Result<Prepared, Fault> {
    let mut members: Vec<Member> = places.iter().map(|place| begin(jobs, *place)).collect();
    let (found, counters) = ask(connection, &members, vec![], true).await?;
    let (id, version) = counters.ok_or_else(|| damaged("counter"))?;
    let mut batch = Batch::new(id, version);
    let mut has_written = false;
    let mut found = Some(found);
    let mut ended = vec![];
    let mut first = 0;
    loop {
        while members[first..].iter().any(|member| matches!(member.state, State::Asking(_))) {
            let mut answers = match found.take() {
                Some(found) => found,
                None => ask(connection, &members[first..], batch.take_statements(), false).await?.0,
            };
            for member in &mut members[first..] {
                decide(jobs, member, &mut answers);
            }
        }
        let mut changed = Changed::default();
        let mut touched = vec![];
        while let Some(member) = members.get_mut(first) {
            let State::Decided(writes) = &mut member.state else { break };
            touched.clear();
            writes.iter().flatten().for_each(|write| touch::of_write(write, &mut touched));
            if changed.outdates(&member.seen) || changed.meets(&touched) {
                break;
            }
            if let Some(writes) = writes.take() {
                has_written |= !writes.is_empty();
                ended.push((member.place, batch.add(writes)));
                changed.add(&touched);
            }
            first += 1;
        }
        if first == members.len() {
            let last = if has_written { batch.take_last() } else { vec![] };
            return Ok(Prepared { last, ended });
        }
        for member in &mut members[first..] {
            touched.clear();
            if let State::Decided(writes) = &member.state {
                writes.iter().flatten().for_each(|write| touch::of_write(write, &mut touched));
            }
            if changed.outdates(&member.seen) || changed.meets(&touched) {
                *member = begin(jobs, member.place);
            }
        }
    }
}

fn begin(jobs: &mut [Box<dyn Job>], place: Place) -> Member {
    let asks = jobs[place.0].begin(place.1, true);
    Member { place, state: State::Asking(asks), seen: vec![] }
}

/// Gives a plan that is asking its answers and lets it decide.
fn decide(jobs: &mut [Box<dyn Job>], member: &mut Member, found: &mut Found) {
    let State::Asking(asks) = &member.state else { return };
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let answer = found.answer(ask);
        touch::of_ask(ask, &mut member.seen);
        touch::of_answer(&answer, &mut member.seen);
        answers.push(answer);
    }
    member.state = match jobs[member.place.0].decide(member.place.1, answers) {
        Step::Ask(more) => State::Asking(more),
        Step::Write(writes) => State::Decided(Some(writes)),
        Step::Ended => State::Decided(None),
    };
}

/// Writes what is given and then asks what members want to know, in one flight; with `is_first`
/// it begins the transaction before that and gives the counters.
async fn ask(
    connection: &Connection,
    members: &[Member],
    writes: Vec<Statement>,
    is_first: bool,
) -> Result<(Found, Option<(i64, i64)>), Fault> {
    let mut questions = Questions::default();
    for member in members {
        if let State::Asking(asks) = &member.state {
            for ask in asks {
                questions.add(ask);
            }
        }
    }
    let questions = questions.into_statements();
    let asked = fly(connection, &writes, &questions, is_first);
    let (rows, counters) = connection.answered(asked).await?;
    let mut found = Found::default();
    for (question, rows) in questions.iter().zip(rows) {
        question.read(&rows, &mut found)?;
    }
    Ok((found, counters))
}

/// The rows of each question, and the counters.
type Flown = (Vec<Vec<SqlRow>>, Option<(i64, i64)>);

async fn fly(
    connection: &Connection,
    writes: &[Statement],
    questions: &[Question],
    is_first: bool,
) -> Result<Flown, Fault> {
    let texts = writes.iter().map(|write| write.text);
    let texts = texts.chain(questions.iter().map(|question| &*question.text));
    let prepared = prepare_all(connection, texts).await?;
    let hold = connection.prepared(HOLD).await?;
    let begin = async {
        if !is_first {
            return Ok(None);
        }
        let (begun, counters) =
            tokio::join!(biased; connection.simple(BEGIN), connection.all(&hold, &[]));
        begun?;
        let counters = counters?;
        let row = counters.first().ok_or_else(|| damaged("counter"))?;
        Ok(Some((row.try_get(0)?, row.try_get(1)?)))
    };
    let write = in_order(writes.iter().map(|write| run(connection, &prepared, write)));
    let ask = in_order(questions.iter().map(|question| async {
        connection.all(&prepared[&*question.text], &question.arguments()).await
    }));
    let (counters, written, answered) = tokio::join!(biased; begin, write, ask);
    let counters: Result<_, Fault> = counters;
    let counters = counters?;
    written.into_iter().collect::<Result<(), _>>()?;
    Ok((answered.into_iter().collect::<Result<_, _>>()?, counters))
}

/// Runs a statement that writes.
pub(super) async fn run(
    connection: &Connection,
    prepared: &AllPrepared<'_>,
    statement: &Statement,
) -> Result<(), Fault> {
    connection.execute(&prepared[statement.text], &statement.arguments()).await
}

/// Statements by their texts.
pub(super) type AllPrepared<'t> = HashMap<&'t str, tokio_postgres::Statement>;

/// Prepares what a flight needs, so that nothing in it waits for that.
pub(super) async fn prepare_all<'t>(
    connection: &Connection,
    texts: impl Iterator<Item = &'t str>,
) -> Result<AllPrepared<'t>, Fault> {
    let mut all = AllPrepared::new();
    for text in texts {
        if !all.contains_key(text) {
            all.insert(text, connection.prepared(text).await?);
        }
    }
    Ok(all)
}

/// The error of a plan that could not be run to its end.
pub(super) fn end_all(jobs: &mut [Box<dyn Job>], places: &[Place], error: &StoreError) {
    for (job, plan) in places {
        jobs[*job].end(*plan, Err(error.clone()));
    }
}
