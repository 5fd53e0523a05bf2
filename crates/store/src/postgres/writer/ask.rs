//! Turns the questions of many plans into few statements.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use crate::dialect::Dialect;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::plan::{ACCESS_VERSION, Answer, Ask, Target};
use crate::postgres::connection::Connection;
use crate::postgres::error::Fault;
use crate::postgres::reach::Reaching;
use crate::postgres::reach::{self, Memory, Versions};
use crate::postgres::strict::ROWS_MAX;
use crate::postgres::value::{Column, bytes, document, kind, values, values_from};
use crate::postgres::writer::prepared::{AllPrepared, Asked};
use crate::postgres::writer::statement::BYTES_MAX;
use crate::row::Row;
use crate::select::through;
use crate::sql::{Sql, Value};
use crate::through::{DocumentTest, Passed};
use crate::tie::Start;

/// Questions, without duplicates.
#[derive(Default)]
pub(super) struct Questions {
    keys: BTreeSet<[u8; 16]>,
    uuids: BTreeSet<[u8; 16]>,
    targets: BTreeSet<[u8; 16]>,
    referrers: BTreeSet<i64>,
    reaching: Reaching,
    tests: Vec<(Arc<DocumentTest>, BTreeSet<Start>)>,
    asks_access: bool,
    /// Plain SQL, and whether it only reads rows of a part.
    sql: Vec<(Sql, bool)>,
}

/// A statement that answers questions, and how its rows are read.
pub(super) struct AskStatement {
    pub(super) text: Cow<'static, str>,
    of: Of,
    columns: Vec<Column>,
    values: Vec<Value>,
    /// The values of further questions of the same text.
    more: Vec<Vec<Value>>,
}

#[derive(Clone)]
enum Of {
    Documents,
    Targets,
    Referrers,
    Reach(reach::Of),
    Tests(Arc<DocumentTest>, Arc<[Start]>),
    Access,
    /// Plain SQL, with the places of the questions among all such.
    Sql(Vec<usize>),
}

/// The document that has an identity, and whether the identity is its own.
type FoundTarget = (bool, Target);

/// Documents by identities that were looked up in the present state of a transaction.
pub(super) type KnownTargets = HashMap<[u8; 16], Option<FoundTarget>>;

/// Answers, by what was asked.
#[derive(Default)]
pub(super) struct Found {
    by_key: HashMap<[u8; 16], Row>,
    by_uuid: HashMap<[u8; 16], Row>,
    targets: HashMap<[u8; 16], FoundTarget>,
    /// The identities that were looked up for this.
    looked_up: Vec<[u8; 16]>,
    referrers: HashMap<i64, Vec<KindId>>,
    reaching: Reaching,
    passed: Vec<(Arc<DocumentTest>, HashMap<Start, Passed>)>,
    access: Option<i64>,
    /// Answers of plain SQL, in the order of the questions.
    sql: VecDeque<Answer>,
}

impl Questions {
    pub(super) fn add(&mut self, ask: &Ask) {
        match ask {
            Ask::Document(key) => _ = self.keys.insert(key.0),
            Ask::DocumentByUuid(uuid) => _ = self.uuids.insert(uuid.0),
            Ask::Target(key) => _ = self.targets.insert(key.0),
            Ask::Referrers(id) => _ = self.referrers.insert(id.0),
            Ask::Reach(start, way) => self.reaching.add(*start, way),
            Ask::Test(start, test) => {
                let known = self.tests.iter_mut().find(|(other, _)| other == test);
                match known {
                    Some((_, starts)) => _ = starts.insert(*start),
                    None => self.tests.push((Arc::clone(test), BTreeSet::from([*start]))),
                }
            }
            Ask::AccessVersion => self.asks_access = true,
            Ask::Rows(_, sql) => self.sql.push((sql.clone(), true)),
            Ask::Part(sql) | Ask::Sql(sql) => self.sql.push((sql.clone(), false)),
        }
    }

    /// Takes from memory where ways have led to at this version of all ties, instead of asking; see
    /// [`Found::confirm`].
    pub(super) fn recall(&mut self, memory: &Memory, any: i64) {
        self.targets.extend(self.reaching.recall(memory, any));
    }

    /// Takes the targets that are known already.
    fn known(&mut self, known: &KnownTargets) -> HashMap<[u8; 16], FoundTarget> {
        let mut found = HashMap::new();
        self.targets.retain(|key| match known.get(key) {
            Some(target) => {
                found.extend(target.map(|target| (*key, target)));
                false
            }
            None => true,
        });
        found
    }

    /// Returns the statements, and the object that collects their answers. The version of clients
    /// and their rights is asked for unless the transaction knows it already.
    pub(super) fn into_statements(
        mut self,
        knows_access: bool,
        known: &KnownTargets,
    ) -> (Vec<AskStatement>, Found) {
        let mut out = vec![];
        let targets = self.known(known);
        let looked_up = self.targets.iter().copied().collect();
        if self.asks_access && !knows_access {
            out.push(AskStatement::of(ACCESS_VERSION, Of::Access, vec![]));
        }
        let mut uuids = |text: &'static str, of: Of, all: BTreeSet<[u8; 16]>| {
            let all: Vec<_> = all.into_iter().map(uuid::Uuid::from_bytes).collect();
            for some in all.chunks(ROWS_MAX) {
                let columns = vec![Column::Uuids(some.to_vec())];
                out.push(AskStatement::of(text, of.clone(), columns));
            }
        };
        uuids(BY_KEY, Of::Documents, self.keys);
        uuids(BY_UUID, Of::Documents, self.uuids);
        uuids(TARGETS, Of::Targets, self.targets);
        let referrers: Vec<_> = self.referrers.into_iter().collect();
        for some in referrers.chunks(ROWS_MAX) {
            let columns = vec![Column::Numbers(some.to_vec())];
            out.push(AskStatement::of(REFERRERS, Of::Referrers, columns));
        }
        out.extend(self.reaching.steps().into_iter().map(AskStatement::of_reach));
        for (test, starts) in self.tests {
            let starts: Vec<Start> = starts.into_iter().collect();
            for some in starts.chunks(ROWS_MAX) {
                let of = Of::Tests(Arc::clone(&test), some.into());
                let statements = through::statements(Dialect::Postgres, some, &test);
                out.extend(statements.into_iter().map(|statement| AskStatement {
                    text: statement.text.into(),
                    of: of.clone(),
                    columns: vec![],
                    values: statement.arguments,
                    more: vec![],
                }));
            }
        }
        let sql = vec![Answer::Rows(vec![]); self.sql.len()].into();
        plain(self.sql, &mut out);
        (out, Found { reaching: self.reaching, targets, looked_up, sql, ..Found::default() })
    }
}

impl AskStatement {
    fn of(text: &'static str, of: Of, columns: Vec<Column>) -> Self {
        Self { text: text.into(), of, columns, values: vec![], more: vec![] }
    }

    fn of_reach(statement: reach::ReachStatement) -> Self {
        let reach::ReachStatement { text, columns, of } = statement;
        Self { text: text.into(), of: Of::Reach(of), columns, values: vec![], more: vec![] }
    }

    /// Returns whether it has several rows of values.
    pub(super) fn is_for_many(&self) -> bool {
        !self.more.is_empty()
    }

    /// Asks it.
    pub(super) async fn ask(
        &self,
        connection: &Connection,
        prepared: &AllPrepared<'_>,
    ) -> Result<Asked, Fault> {
        if !self.is_for_many() {
            let one = &prepared[&*self.text];
            return Ok(Asked::Rows(connection.all(one, &self.arguments()).await?));
        }
        let rows: Vec<&[Value]> =
            [&self.values].into_iter().chain(&self.more).map(|values| &values[..]).collect();
        let numbers: Vec<i64> = (0_i64..).take(rows.len()).collect();
        prepared.run(connection, &self.text, &rows, Some(&numbers)).await
    }

    fn arguments(&self) -> Vec<&(dyn ToSql + Sync)> {
        let columns = self.columns.iter().map(|column| column as &(dyn ToSql + Sync));
        columns.chain(self.values.iter().map(|value| value as &(dyn ToSql + Sync))).collect()
    }

    /// Adds a statement's rows to the answers.
    pub(super) fn read(&self, asked: &Asked, found: &mut Found) -> Result<(), Fault> {
        if let Of::Sql(places) = &self.of {
            return read_plain(asked, places, &mut found.sql);
        }
        let Asked::Rows(rows) = asked else { return Ok(()) };
        if let Of::Reach(of) = &self.of {
            return found.reaching.read(of, rows);
        }
        if let Of::Tests(test, starts) = &self.of {
            return read_tests(rows, test, starts, found);
        }
        for row in rows {
            match self.of {
                Of::Documents => {
                    let document = document(row)?;
                    if self.text == BY_KEY {
                        found.by_key.insert(document.key.0, document);
                    } else {
                        found.by_uuid.insert(document.uuid.0, document);
                    }
                }
                Of::Targets => {
                    let is_own = row.try_get::<_, i32>(0)? == 0;
                    let target = (DocumentId(row.try_get(2)?), Uuid(bytes(row, 3)?), kind(row, 4)?);
                    let known = found.targets.entry(bytes(row, 1)?).or_insert((is_own, target));
                    // A document's own identity takes precedence over a base's.
                    if is_own && !known.0 {
                        *known = (is_own, target);
                    }
                }
                Of::Referrers => {
                    found.referrers.entry(row.try_get(0)?).or_default().push(kind(row, 1)?);
                }
                Of::Access => found.access = Some(row.try_get(0)?),
                Of::Reach(_) | Of::Tests(..) | Of::Sql(_) => {}
            }
        }
        Ok(())
    }
}

impl Found {
    /// Adds the version of clients and their rights, which the transaction knows.
    pub(super) fn know_access(&mut self, version: i64) {
        self.access = Some(version);
    }

    /// Returns the questions for climbs that are not remembered for this state.
    pub(super) fn climbs(
        &mut self,
        memory: &Memory,
        state: Option<&Versions>,
    ) -> Vec<AskStatement> {
        self.reaching.climbs(memory, state).into_iter().map(AskStatement::of_reach).collect()
    }

    /// Confirms what [`Questions::recall`] has taken, if all ties have that version still. Returns the
    /// questions for everything else.
    pub(super) fn confirm(&mut self, is_same: bool) -> Vec<AskStatement> {
        let number = |key: &[u8; 16]| self.targets.get(key).map(|(_, target)| target.0.0);
        let asked = self.reaching.confirm(is_same, number);
        asked.into_iter().map(AskStatement::of_reach).collect()
    }

    /// Stores the climbs of this state in memory.
    pub(super) fn keep_climbs(&self, memory: &Memory, state: &Versions) {
        self.reaching.keep_climbs(memory, state);
    }

    /// Stores in memory where ways have led to in this state.
    pub(super) fn keep_ways(&self, memory: &Memory, state: &Versions) {
        self.reaching.keep_ways(memory, state);
    }

    /// Adds the targets that were looked up.
    pub(super) fn tell_targets(&self, known: &mut KnownTargets) {
        known.extend(self.looked_up.iter().map(|key| (*key, self.targets.get(key).copied())));
    }

    /// Returns the answer to a question; answers of plain SQL come in the order of the questions.
    pub(super) fn answer(&mut self, ask: &Ask) -> Answer {
        match ask {
            Ask::Document(NaturalKey(key)) => Answer::Document(self.by_key.get(key).cloned()),
            Ask::DocumentByUuid(Uuid(uuid)) => Answer::Document(self.by_uuid.get(uuid).cloned()),
            Ask::Target(NaturalKey(key)) => {
                Answer::Target(self.targets.get(key).map(|(_, target)| *target))
            }
            Ask::Referrers(id) => {
                Answer::Referrers(self.referrers.get(&id.0).cloned().unwrap_or_default())
            }
            Ask::Reach(start, way) => Answer::Reached(self.reaching.answer(*start, way)),
            Ask::Test(start, test) => {
                let of_test = self.passed.iter().find(|(other, _)| other == test);
                let known = of_test.and_then(|(_, known)| known.get(start)).copied();
                let unknown = Passed { by_referrers: test.has_referrers(), ..Passed::default() };
                Answer::Passed(known.unwrap_or(unknown))
            }
            Ask::AccessVersion => {
                // If the row is missing, this version equals no other, so nobody is recognized.
                Answer::AccessVersion(self.access.unwrap_or(i64::MIN))
            }
            Ask::Part(_) | Ask::Rows(..) | Ask::Sql(_) => {
                self.sql.pop_front().unwrap_or(Answer::Rows(vec![]))
            }
        }
    }
}

/// Adds the statements for plain SQL. Questions about rows of parts that have one text go together.
fn plain(all: Vec<(Sql, bool)>, out: &mut Vec<AskStatement>) {
    // By text and number of arguments, the last such statement and its bytes.
    let mut joinable: HashMap<(&'static str, usize), (usize, usize)> = HashMap::new();
    for (place, (sql, may_join)) in all.into_iter().enumerate() {
        let bytes: usize = sql.arguments.iter().map(Value::bytes).sum();
        let form = (sql.text, sql.arguments.len());
        let last = joinable.get_mut(&form).filter(|_| may_join);
        if let Some((at, together)) = last
            && let Some(AskStatement { of: Of::Sql(places), more, .. }) = out.get_mut(*at)
            && places.len() < ROWS_MAX
            && *together + bytes <= BYTES_MAX
        {
            *together += bytes;
            places.push(place);
            more.push(sql.arguments);
            continue;
        }
        if may_join {
            joinable.insert(form, (out.len(), bytes));
        }
        out.push(AskStatement {
            text: sql.text.into(),
            of: Of::Sql(vec![place]),
            columns: vec![],
            values: sql.arguments,
            more: vec![],
        });
    }
}

/// Reads the rows of plain SQL into the answers at their places.
fn read_plain(
    asked: &Asked,
    places: &[usize],
    answers: &mut VecDeque<Answer>,
) -> Result<(), Fault> {
    let mut add = |number: usize, row: Vec<Value>| {
        let place = places.get(number).and_then(|place| answers.get_mut(*place));
        if let Some(Answer::Rows(rows)) = place {
            rows.push(row);
        }
    };
    match asked {
        Asked::Rows(rows) => {
            for row in rows {
                add(0, values(row)?);
            }
        }
        Asked::Numbered(rows) => {
            for row in rows {
                let number = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(usize::MAX);
                add(number, values_from(row, 1)?);
            }
        }
        Asked::Each(all) => {
            for (number, rows) in all.iter().enumerate() {
                for row in rows {
                    add(number, values(row)?);
                }
            }
        }
    }
    Ok(())
}

fn read_tests(
    rows: &[SqlRow],
    test: &Arc<DocumentTest>,
    starts: &[Start],
    found: &mut Found,
) -> Result<(), Fault> {
    let unknown = Passed { by_referrers: test.has_referrers(), ..Passed::default() };
    let mut all = vec![unknown; starts.len()];
    for row in rows {
        through::take(&[row.try_get(0)?, row.try_get(1)?, row.try_get(2)?], &mut all)?;
    }
    let known = starts.iter().copied().zip(all).filter(|(_, passed)| passed.document.is_some());
    match found.passed.iter_mut().find(|(other, _)| other == test) {
        Some((_, of_test)) => of_test.extend(known),
        None => found.passed.push((Arc::clone(test), known.collect())),
    }
    Ok(())
}

const BY_KEY: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc \
     WHERE key = ANY(CAST(?1 AS uuid[]))";
const BY_UUID: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc \
     WHERE uuid = ANY(CAST(?1 AS uuid[]))";
const TARGETS: &str = "SELECT 0, d.key, d.id, d.uuid, d.kind FROM doc d \
     WHERE d.key = ANY(CAST(?1 AS uuid[])) \
     UNION ALL SELECT 1, a.key, d.id, d.uuid, d.kind FROM alias a JOIN doc d ON d.id = a.id \
     WHERE a.key = ANY(CAST(?1 AS uuid[]))";
/// One hop per kind: the next greater kind that has an edge, so popular targets cost no scan.
const REFERRERS: &str = "SELECT t.id, h.kind FROM unnest(CAST(?1 AS bigint[])) AS t (id) \
     CROSS JOIN LATERAL ( \
       WITH RECURSIVE hop (kind, n) AS ( \
         (SELECT r.kind, 1 FROM ref r WHERE r.target = t.id AND r.source <> t.id \
          ORDER BY r.kind LIMIT 1) \
         UNION ALL \
         SELECT (SELECT r.kind FROM ref r WHERE r.target = t.id AND r.kind > hop.kind \
                 AND r.source <> t.id ORDER BY r.kind LIMIT 1), hop.n + 1 \
         FROM hop WHERE hop.kind IS NOT NULL AND hop.n < 20) \
       SELECT kind FROM hop WHERE kind IS NOT NULL) h \
     ORDER BY t.id, h.kind";
