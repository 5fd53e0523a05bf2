//! One transaction of many plans, whose result is the same as if they had run one after the other.
//!
//! All plans ask together and decide on the same state. Then they are accepted in order, up to the
//! first that has read something that an earlier one writes. Plans that did so are restarted, in
//! the same transaction, on the state after the writes so far.

use tokio_postgres::types::ToSql;

use crate::error::StoreError;
use crate::lane::Lane;
use crate::plan::{Ask, Write};
use crate::postgres::connection::{Connection, in_order};
use crate::postgres::error::Fault;
use crate::postgres::error::damaged;
use crate::postgres::many;
use crate::postgres::reach::{ALL_VERSIONS, Memory, SCHEMA_VERSION, Versions};
use crate::postgres::writer::ask::{AskStatement, Found, KnownTargets, Questions};
use crate::postgres::writer::batch::Batch;
use crate::postgres::writer::hold::{HOLD_LANE, Held};
use crate::postgres::writer::prepared::{AllPrepared, Asked};
use crate::postgres::writer::statement::{Origin, Statement, texts_of_many};
use crate::postgres::writer::touch::{self, Changed, Touch};
use crate::store::{Job, Step};

/// The position of a plan: its job, and its index in the job.
pub(super) type Position = (usize, usize);

/// The result of a transaction before its commit.
pub(super) struct Prepared {
    /// Statements still to be executed; empty where nothing was written at all.
    pub(super) last: Vec<Statement>,
    /// The change version of each plan that ended with writes, or with none to do.
    pub(super) ended: Vec<(Position, i64)>,
    /// Whether a plan's plain SQL may have changed anything.
    pub(super) is_forgetful: bool,
    /// The version of the ties that it sets, if it changes some.
    pub(super) ties: Option<i64>,
}

/// The progress of a plan.
enum State {
    Asking(Vec<Ask>),
    /// Decided; [`None`] where there are no writes left to do.
    Decided(Option<Vec<Write>>),
}

struct Member {
    position: Position,
    state: State,
    /// What it has read.
    seen: Vec<Touch>,
}

/// Locks the counter until the commit: one writer at a time over all nodes.
const HOLD: &str = "SELECT id, cv FROM counter WHERE name = 'writer' FOR UPDATE";
const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Begins a transaction and runs plans in it up to its last statements. In a lane, no plan asks for
/// or writes anything but rows of lanes.
pub(super) async fn prepare(
    connection: &Connection,
    memory: &Memory,
    lane: Option<Lane>,
    jobs: &mut [Box<dyn Job>],
    positions: &[Position],
) -> Result<Prepared, Fault> {
    let mut members: Vec<Member> =
        positions.iter().map(|position| begin(jobs, *position)).collect();
    let mut held = Held::begun_with(lane);
    let first_locks = locks(&mut held, &members);
    let mut known = KnownTargets::new();
    let unread = AlreadyRead { ties: Ties::Unread(lane), access: None, targets: &known };
    let (found, counters) = ask(connection, memory, &members, first_locks, unread).await?;
    found.tell_targets(&mut known);
    let Counters { id, change_version, ties } = counters.ok_or_else(|| damaged("counter"))?;
    if lane.is_none() {
        memory.count(change_version)?;
    }
    let mut batch = Batch::new((id, change_version), ties.any(), lane, held);
    let mut access = ties.access();
    let mut ties = Some(ties);
    let mut has_written = false;
    let mut found = Some(found);
    let mut ended = vec![];
    let mut first = 0;
    loop {
        while members[first..].iter().any(|member| matches!(member.state, State::Asking(_))) {
            let mut answers = match found.take() {
                Some(found) => found,
                None => {
                    let mut writes = batch.take_statements();
                    if writes.iter().any(|write| write.origin.may_tie()) {
                        ties = None;
                    }
                    if writes.iter().any(|write| write.origin == Origin::Plan) {
                        access = None;
                    }
                    if !writes.is_empty() {
                        known.clear();
                    }
                    writes.extend(locks(&mut batch.held, &members[first..]));
                    let ties = ties.as_ref().map_or(Ties::Changed, Ties::Read);
                    let read = AlreadyRead { ties, access, targets: &known };
                    let found = ask(connection, memory, &members[first..], writes, read).await?.0;
                    found.tell_targets(&mut known);
                    found
                }
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
                ended.push((member.position, batch.add(writes)));
                changed.add(&touched);
            }
            first += 1;
        }
        if first == members.len() {
            let is_forgetful = batch.is_forgetful();
            let last = if has_written { batch.take_last() } else { vec![] };
            let ties = batch.ties_set();
            return Ok(Prepared { last, ended, is_forgetful, ties });
        }
        for member in &mut members[first..] {
            touched.clear();
            if let State::Decided(writes) = &member.state {
                writes.iter().flatten().for_each(|write| touch::of_write(write, &mut touched));
            }
            if changed.outdates(&member.seen) || changed.meets(&touched) {
                *member = begin(jobs, member.position);
            }
        }
    }
}

fn begin(jobs: &mut [Box<dyn Job>], position: Position) -> Member {
    let asks = jobs[position.0].begin(position.1, true);
    Member { position, state: State::Asking(asks), seen: vec![] }
}

/// Returns the statements that lock the lanes of the members' questions.
fn locks(held: &mut Held, members: &[Member]) -> Vec<Statement> {
    let asks = members.iter().filter_map(|member| match &member.state {
        State::Asking(asks) => Some(asks),
        State::Decided(_) => None,
    });
    asks.flatten().filter_map(|ask| held.for_ask(ask)).collect()
}

/// Gives a plan its answers and lets it decide.
fn decide(jobs: &mut [Box<dyn Job>], member: &mut Member, found: &mut Found) {
    let State::Asking(asks) = &member.state else { return };
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let answer = found.answer(ask);
        touch::of_ask(ask, &mut member.seen);
        touch::of_answer(&answer, &mut member.seen);
        answers.push(answer);
    }
    member.state = match jobs[member.position.0].decide(member.position.1, answers) {
        Step::Ask(more) => State::Asking(more),
        Step::Write(writes) => State::Decided(Some(writes)),
        Step::Ended => State::Decided(None),
    };
}

/// The counters that a transaction continues from.
struct Counters {
    id: i64,
    change_version: i64,
    ties: Versions,
}

/// The known state of the ties when a round trip begins.
#[derive(Clone, Copy)]
enum Ties<'v> {
    /// Unknown: the transaction begins with this flight, in a lane or with the counter.
    Unread(Option<Lane>),
    /// As committed.
    Read(&'v Versions),
    /// The transaction may have changed some of them itself.
    Changed,
}

/// The facts that a transaction already knows when a round trip begins.
#[derive(Clone, Copy)]
struct AlreadyRead<'v> {
    ties: Ties<'v>,
    /// The version of clients and their rights, unless the transaction may have changed it itself.
    access: Option<i64>,
    /// Targets that were looked up since it has last written something.
    targets: &'v KnownTargets,
}

/// Writes the given statements and then asks the members' questions, in one flight; climbs that are
/// not remembered take another flight. The first flight begins the transaction and returns the
/// counters.
async fn ask(
    connection: &Connection,
    memory: &Memory,
    members: &[Member],
    writes: Vec<Statement>,
    AlreadyRead { ties, access, targets }: AlreadyRead<'_>,
) -> Result<(Found, Option<Counters>), Fault> {
    let begins = if let Ties::Unread(lane) = ties { Begins::With(lane) } else { Begins::Not };
    let mut questions = Questions::default();
    for member in members {
        if let State::Asking(asks) = &member.state {
            for ask in asks {
                questions.add(ask);
            }
        }
    }
    // Before the transaction begins, it is assumed that no tie has changed since this node has last looked.
    let newest = memory.newest();
    let assumed = match ties {
        Ties::Unread(None) => Some(newest),
        Ties::Read(ties) => Some(ties.any()),
        Ties::Unread(Some(_)) | Ties::Changed => None,
    };
    if let Some(any) = assumed {
        questions.recall(memory, any);
    }
    let (questions, mut found) =
        questions.into_statements(begins != Begins::Not || access.is_some(), targets);
    let asked = fly(connection, memory, &writes, &questions, begins);
    let (rows, counters) = connection.answered(asked).await?;
    if let (Begins::With(None), Some(counters)) = (begins, &counters) {
        memory.saw(newest, counters.ties.any());
    }
    let begun = counters.as_ref().and_then(|counters| counters.ties.access());
    if let Some(version) = access.or(begun) {
        found.know_access(version);
    }
    for (question, rows) in questions.iter().zip(rows) {
        question.read(&rows, &mut found)?;
    }
    let ties = match ties {
        Ties::Unread(_) => counters.as_ref().map(|counters| &counters.ties),
        Ties::Read(ties) => Some(ties),
        Ties::Changed => None,
    };
    let again = found.confirm(ties.map(Versions::any) == assumed);
    if !again.is_empty() {
        let (rows, _) =
            connection.answered(fly(connection, memory, &[], &again, Begins::Not)).await?;
        for (question, rows) in again.iter().zip(rows) {
            question.read(&rows, &mut found)?;
        }
    }
    let climbs = found.climbs(memory, ties);
    if !climbs.is_empty() {
        let (rows, _) =
            connection.answered(fly(connection, memory, &[], &climbs, Begins::Not)).await?;
        for (question, rows) in climbs.iter().zip(rows) {
            question.read(&rows, &mut found)?;
        }
        if let Some(ties) = ties {
            found.keep_climbs(memory, ties);
        }
    }
    if let Some(ties) = ties {
        found.keep_ways(memory, ties);
    }
    Ok((found, counters))
}

/// Whether a transaction begins with a flight, and with which lane; without one, with the counter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    With(Option<Lane>),
    Not,
}

/// The rows of each question, and the counters.
type Flown = (Vec<Asked>, Option<Counters>);

async fn fly(
    connection: &Connection,
    memory: &Memory,
    writes: &[Statement],
    questions: &[AskStatement],
    begins: Begins,
) -> Result<Flown, Fault> {
    let epoch = memory.epoch();
    let texts = writes.iter().map(|write| write.text);
    let texts = texts.chain(questions.iter().map(|question| &*question.text));
    let (hold, versions) = match begins {
        Begins::With(Some(_)) => (HOLD_LANE, SCHEMA_VERSION),
        Begins::With(None) | Begins::Not => (HOLD, ALL_VERSIONS),
    };
    let mut prepared = AllPrepared::prepare(connection, texts.chain([hold, versions])).await?;
    prepared.add_for_many(connection, texts_of_many(writes), many::write).await?;
    let of_many = questions.iter().filter(|question| question.is_for_many());
    let of_many = of_many.map(|question| &*question.text);
    prepared.add_for_many(connection, of_many, many::question).await?;
    let begin = async {
        let Begins::With(lane) = begins else { return Ok(None) };
        let name = lane.map(Lane::name);
        let name: Option<&(dyn ToSql + Sync)> = name.as_ref().map(|name| name as _);
        let (begun, locked, ties) = tokio::join!(
            biased;
            connection.simple(BEGIN),
            connection.all(&prepared[hold], name.as_slice()),
            connection.all(&prepared[versions], &[])
        );
        begun?;
        let locked = locked?;
        let row = locked.first().ok_or_else(|| damaged(lane.map_or("counter", |_| "lane")))?;
        let ties = Versions::read(&ties?, epoch)?;
        // A migration also locks the counter and the lanes, so no newer one can come before this
        // transaction ends.
        memory.saw_schema(ties.schema().ok_or_else(|| damaged("homeroom_store"))?)?;
        let (id, change_version) = match lane {
            Some(_) => (0, 0),
            None => (row.try_get(0)?, row.try_get(1)?),
        };
        Ok(Some(Counters { id, change_version, ties }))
    };
    let write = in_order(writes.iter().map(|write| write.run(connection, &prepared)));
    let ask = in_order(questions.iter().map(|question| question.ask(connection, &prepared)));
    let (counters, written, answered) = tokio::join!(biased; begin, write, ask);
    let counters: Result<_, Fault> = counters;
    let counters = counters?;
    written.into_iter().collect::<Result<(), _>>()?;
    Ok((answered.into_iter().collect::<Result<_, _>>()?, counters))
}

/// Ends the given plans with an error.
pub(super) fn end_all(jobs: &mut [Box<dyn Job>], positions: &[Position], error: &StoreError) {
    for (job, plan) in positions {
        jobs[*job].end(*plan, Err(error.clone()));
    }
}
