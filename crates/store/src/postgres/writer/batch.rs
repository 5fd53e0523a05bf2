//! Turns the writes of many plans into few statements.

use std::collections::{BTreeSet, HashMap};

use crate::id::DocumentId;
use crate::lane::Lane;
use crate::plan::{NewDocument, Tombstone, Write};
use crate::postgres::reach::{ANY, BUMP, UNKNOWN};
use crate::postgres::strict::ROWS_MAX;
use crate::postgres::value::{Column, Written};
use crate::postgres::writer::hold::Held;
use crate::postgres::writer::statement::{BYTES_MAX, Origin, Statement, arrays, foreign};
use crate::postgres::writer::together::together;
use crate::postgres::writer::touch::{self, Changed};
use crate::row::{Count, References, Row};
use crate::sql::Value;
use crate::tie::Tie;

/// Collects writes in order and returns statements with the same effects in the same order.
pub(super) struct Batch {
    pub(super) last_id: i64,
    pub(super) last_change_version: i64,
    /// Changes of the kept counts.
    tally: HashMap<Count, i64>,
    /// The version of the ties at its start, and the labels whose ties it has changed.
    ties: i64,
    changed_ties: BTreeSet<i32>,
    done: Vec<Statement>,
    open: Open,
    /// What the writes of the open part change.
    changed: Changed,
    /// The lane of its plans; without one, they may write documents.
    lane: Option<Lane>,
    /// The lanes whose rows the transaction may read and write.
    pub(super) held: Held,
}

/// Writes that do not affect each other.
#[derive(Default)]
struct Open {
    bytes: usize,
    created: Vec<(i64, i64, NewDocument)>,
    replaced: Vec<(i64, i64, NewDocument)>,
    deleted: Vec<(i64, Row, Tombstone)>,
    edges: Vec<Edge>,
    edges_gone: Vec<Edge>,
    ties: Vec<(Tie, i64)>,
    ties_gone: Vec<(Tie, i64)>,
    ties_past: Vec<(Tie, i64)>,
}

struct Edge {
    target: i64,
    kind: u16,
    source: i64,
}

impl Batch {
    /// Creates a batch that continues from a last id, a last change version and a version of the
    /// ties, in a transaction that holds some lanes.
    pub(super) fn new(
        (last_id, last_change_version): (i64, i64),
        ties: i64,
        lane: Option<Lane>,
        held: Held,
    ) -> Self {
        Self {
            last_id,
            last_change_version,
            lane,
            held,
            tally: HashMap::new(),
            ties,
            changed_ties: BTreeSet::new(),
            done: vec![],
            open: Open::default(),
            changed: Changed::default(),
        }
    }

    /// Adds a plan's writes. Returns its change version, 0 where no document is written.
    pub(super) fn add(&mut self, writes: Vec<Write>) -> i64 {
        let before = self.last_change_version;
        let mut touched = vec![];
        for write in writes {
            touched.clear();
            touch::of_write(&write, &mut touched);
            if self.changed.meets(&touched) || self.open.is_full() {
                self.close();
            }
            self.changed.add(&touched);
            self.take(write);
        }
        if self.last_change_version > before { self.last_change_version } else { 0 }
    }

    fn take(&mut self, write: Write) {
        self.done.extend(self.held.for_write(&write));
        match write {
            Write::Create(new) => self.create(new),
            Write::Replace { old, old_references, old_ties, new } => {
                self.replace(old, &old_references, &old_ties, new);
            }
            Write::Delete { row, ties, tombstone } => self.delete(*row, ties, tombstone),
            Write::Part(sql) => self.done.push(foreign(sql, Origin::Part)),
            Write::Rows(rows, sql) => {
                let rows = Some(rows);
                self.done.push(Statement { rows, ..foreign(sql, Origin::Part) });
            }
            Write::Sql(sql) => {
                self.close();
                self.changed_ties.insert(UNKNOWN);
                self.done.push(foreign(sql, Origin::Plan));
            }
        }
    }

    fn create(&mut self, mut new: NewDocument) {
        self.last_id += 1;
        self.last_change_version += 1;
        let id = self.last_id;
        new.references.name_itself(DocumentId(id));
        let packed = new.references.pack();
        let edges = References::targets(&packed).into_iter();
        self.open.edges.extend(edges.map(|to| Edge::new(to, new.kind.0, id)));
        self.open.ties.extend(new.ties.iter().map(|tie| (*tie, id)));
        *self.tally.entry(Count::of_document(new.kind, id)).or_default() += 1;
        self.open.bytes += new.body.len();
        self.open.created.push((id, self.last_change_version, new));
    }

    fn replace(
        &mut self,
        old: DocumentId,
        old_references: &[u8],
        old_ties: &[Tie],
        new: NewDocument,
    ) {
        self.last_change_version += 1;
        let before = References::targets(old_references);
        let after = References::targets(&new.references.pack());
        let edge = |to: &DocumentId| Edge::new(*to, new.kind.0, old.0);
        let gone = before.iter().filter(|target| after.binary_search(target).is_err());
        self.open.edges_gone.extend(gone.map(edge));
        let come = after.iter().filter(|target| before.binary_search(target).is_err());
        self.open.edges.extend(come.map(edge));
        let gone = old_ties.iter().filter(|tie| !new.ties.contains(tie));
        self.open.ties_gone.extend(gone.map(|tie| (*tie, old.0)));
        let come = new.ties.iter().filter(|tie| !old_ties.contains(tie));
        self.open.ties.extend(come.map(|tie| (*tie, old.0)));
        self.open.bytes += new.body.len();
        self.open.replaced.push((old.0, self.last_change_version, new));
    }

    fn delete(&mut self, row: Row, ties: Vec<Tie>, tombstone: Tombstone) {
        self.last_change_version += 1;
        let edges = References::targets(&row.references).into_iter();
        self.open.edges_gone.extend(edges.map(|to| Edge::new(to, row.kind.0, row.id.0)));
        for tie in ties {
            self.open.ties_gone.push((tie, row.id.0));
            self.open.ties_past.push((tie, row.id.0));
            *self.tally.entry(Count::PastTies(tie.label.0)).or_default() += 1;
        }
        *self.tally.entry(Count::of_document(row.kind, row.id.0)).or_default() -= 1;
        *self.tally.entry(Count::Tombstones(row.kind.0)).or_default() += 1;
        self.open.bytes += tombstone.key_values.len();
        self.open.deleted.push((self.last_change_version, row, tombstone));
    }

    /// Closes the open part: later writes see its effects.
    fn close(&mut self) {
        self.changed.clear();
        let ties = self.open.ties.iter().chain(&self.open.ties_gone);
        self.changed_ties.extend(ties.map(|(tie, _)| i32::from(tie.label.0)));
        std::mem::take(&mut self.open).into_statements(&mut self.done);
    }

    /// Returns whether a plan's plain SQL may have changed anything.
    pub(super) fn is_forgetful(&self) -> bool {
        self.changed_ties.contains(&UNKNOWN)
    }

    /// Returns the version of the ties that the last statements set, if they set one.
    pub(super) fn ties_set(&self) -> Option<i64> {
        (!self.changed_ties.is_empty()).then_some(self.ties + 1)
    }

    /// Returns the statements of everything added since the last call.
    pub(super) fn take_statements(&mut self) -> Vec<Statement> {
        self.close();
        together(std::mem::take(&mut self.done))
    }

    /// Returns the statements that end a transaction: counts, counters and versions of ties.
    pub(super) fn take_last(&mut self) -> Vec<Statement> {
        let mut statements = self.take_statements();
        let mut tally: Vec<_> = self.tally.drain().filter(|(_, n)| *n != 0).collect();
        tally.sort_unstable();
        for (text, is_of_documents) in [(TALLY, true), (GONE, false)] {
            let rows = tally.iter().filter_map(|(count, n)| match (count, count.gone()) {
                (Count::Documents(kind, block), _) if is_of_documents => Some((*kind, *block, *n)),
                (_, Some((part, kind))) if !is_of_documents => Some((kind, part, *n)),
                _ => None,
            });
            let rows: Vec<(u16, i64, i64)> = rows.collect();
            for some in rows.chunks(ROWS_MAX) {
                statements.push(arrays(
                    text,
                    vec![
                        Column::Kinds(some.iter().map(|(kind, ..)| (*kind).into()).collect()),
                        Column::Numbers(some.iter().map(|(_, place, _)| *place).collect()),
                        Column::Numbers(some.iter().map(|(.., n)| *n).collect()),
                    ],
                ));
            }
        }
        let mut labels: Vec<i32> = self.changed_ties.iter().copied().collect();
        if !labels.is_empty() {
            labels.push(ANY);
            let values = vec![Written(Value::Integer(self.ties + 1))];
            statements.push(Statement { values, ..arrays(BUMP, vec![Column::Kinds(labels)]) });
        }
        if self.lane.is_some() {
            return statements;
        }
        let numbers = [self.last_id, self.last_change_version];
        let values = numbers.map(|number| Written(Value::Integer(number))).into();
        statements.push(Statement { values, ..arrays(COUNT, vec![]) });
        statements
    }
}

impl Edge {
    fn new(target: DocumentId, kind: u16, source: i64) -> Self {
        Self { target: target.0, kind, source }
    }
}

impl Open {
    fn is_full(&self) -> bool {
        let rows = self.created.len().max(self.replaced.len()).max(self.deleted.len());
        rows >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    fn into_statements(self, out: &mut Vec<Statement>) {
        edges(REMOVE_EDGES, &self.edges_gone, out);
        ties(REMOVE_TIES, &self.ties_gone, out);
        ties(PAST_TIES, &self.ties_past, out);
        if !self.deleted.is_empty() {
            let ids = || Column::Numbers(self.deleted.iter().map(|(_, row, _)| row.id.0).collect());
            out.push(arrays(DELETE, vec![ids()]));
            out.push(arrays(DELETE_ALIAS, vec![ids()]));
            out.push(tombs(self.deleted));
        }
        if !self.replaced.is_empty() {
            out.push(replaced(self.replaced));
        }
        if !self.created.is_empty() {
            let aliases: Vec<_> = self
                .created
                .iter()
                .filter_map(|(id, _, new)| Some((*id, uuid::Uuid::from_bytes(new.alias?.0))))
                .collect();
            out.push(created(self.created));
            if !aliases.is_empty() {
                let (ids, keys) = aliases.into_iter().unzip();
                out.push(arrays(ALIAS, vec![Column::Numbers(ids), Column::Uuids(keys)]));
            }
        }
        edges(EDGES, &self.edges, out);
        ties(TIES, &self.ties, out);
    }
}

fn edges(text: &'static str, all: &[Edge], out: &mut Vec<Statement>) {
    for some in all.chunks(ROWS_MAX) {
        out.push(arrays(
            text,
            vec![
                Column::Numbers(some.iter().map(|edge| edge.target).collect()),
                Column::Kinds(some.iter().map(|edge| edge.kind.into()).collect()),
                Column::Numbers(some.iter().map(|edge| edge.source).collect()),
            ],
        ));
    }
}

fn ties(text: &'static str, all: &[(Tie, i64)], out: &mut Vec<Statement>) {
    for some in all.chunks(ROWS_MAX) {
        out.push(arrays(
            text,
            vec![
                Column::Kinds(some.iter().map(|(tie, _)| tie.label.0.into()).collect()),
                Column::Numbers(some.iter().map(|(tie, _)| tie.item).collect()),
                Column::Numbers(some.iter().map(|(tie, _)| tie.holder).collect()),
                Column::Numbers(some.iter().map(|(_, via)| *via).collect()),
            ],
        ));
    }
}

fn created(all: Vec<(i64, i64, NewDocument)>) -> Statement {
    let column =
        |of: fn(&(i64, i64, NewDocument)) -> i64| Column::Numbers(all.iter().map(of).collect());
    let uuids = |of: fn(&NewDocument) -> [u8; 16]| {
        Column::Uuids(all.iter().map(|(.., new)| uuid::Uuid::from_bytes(of(new))).collect())
    };
    let columns = vec![
        column(|(id, ..)| *id),
        uuids(|new| new.uuid.0),
        Column::Kinds(all.iter().map(|(.., new)| new.kind.0.into()).collect()),
        uuids(|new| new.key.0),
        column(|(_, version, _)| *version),
        column(|(.., new)| new.modified),
        Column::Bytes(all.iter().map(|(.., new)| new.references.pack()).collect()),
    ];
    with_texts(CREATE, columns, all.into_iter().map(|(.., new)| new.body))
}

fn replaced(all: Vec<(i64, i64, NewDocument)>) -> Statement {
    let columns = vec![
        Column::Numbers(all.iter().map(|(id, ..)| *id).collect()),
        Column::Numbers(all.iter().map(|(_, version, _)| *version).collect()),
        Column::Numbers(all.iter().map(|(.., new)| new.modified).collect()),
        Column::Bytes(all.iter().map(|(.., new)| new.references.pack()).collect()),
    ];
    with_texts(REPLACE, columns, all.into_iter().map(|(.., new)| new.body))
}

fn tombs(all: Vec<(i64, Row, Tombstone)>) -> Statement {
    let uuids = |of: fn(&Row) -> [u8; 16]| {
        Column::Uuids(all.iter().map(|(_, row, _)| uuid::Uuid::from_bytes(of(row))).collect())
    };
    let columns = vec![
        Column::Numbers(all.iter().map(|(version, ..)| *version).collect()),
        Column::Kinds(all.iter().map(|(_, row, _)| row.kind.0.into()).collect()),
        uuids(|row| row.uuid.0),
        uuids(|row| row.key.0),
        Column::Numbers(all.iter().map(|(.., tombstone)| tombstone.modified).collect()),
        Column::Bytes(
            all.iter().map(|(_, row, _)| References::marks_only(&row.references)).collect(),
        ),
        Column::Numbers(all.iter().map(|(_, row, _)| row.id.0).collect()),
    ];
    with_texts(TOMB, columns, all.into_iter().map(|(.., tombstone)| tombstone.key_values))
}

/// Puts the texts last, so that they can be moved.
fn with_texts(
    text: &'static str,
    mut columns: Vec<Column>,
    texts: impl Iterator<Item = String>,
) -> Statement {
    columns.push(Column::Texts(texts.collect()));
    arrays(text, columns)
}

const CREATE: &str = "INSERT INTO doc (id, uuid, kind, key, cv, modified, refs, body) \
     SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS uuid[]), CAST(?3 AS integer[]), \
     CAST(?4 AS uuid[]), CAST(?5 AS bigint[]), CAST(?6 AS bigint[]), CAST(?7 AS bytea[]), \
     CAST(?8 AS text[]))";
const REPLACE: &str = "UPDATE doc SET cv = n.cv, modified = n.modified, refs = n.refs, body = n.body \
     FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), \
     CAST(?4 AS bytea[]), CAST(?5 AS text[])) AS n (id, cv, modified, refs, body) \
     WHERE doc.id = n.id";
const DELETE: &str = "DELETE FROM doc WHERE id = ANY(CAST(?1 AS bigint[]))";
const DELETE_ALIAS: &str = "DELETE FROM alias WHERE id = ANY(CAST(?1 AS bigint[]))";
const TOMB: &str = "INSERT INTO tomb (cv, kind, uuid, key, modified, marks, number, key_values) \
     SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS integer[]), CAST(?3 AS uuid[]), \
     CAST(?4 AS uuid[]), CAST(?5 AS bigint[]), CAST(?6 AS bytea[]), CAST(?7 AS bigint[]), \
     CAST(?8 AS text[]))";
const ALIAS: &str = "INSERT INTO alias (id, key) \
     SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS uuid[]))";
const EDGES: &str = "INSERT INTO ref (target, kind, source) \
     SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS integer[]), CAST(?3 AS bigint[]))";
const REMOVE_EDGES: &str = "DELETE FROM ref USING \
     unnest(CAST(?1 AS bigint[]), CAST(?2 AS integer[]), CAST(?3 AS bigint[])) \
     AS g (target, kind, source) \
     WHERE ref.target = g.target AND ref.kind = g.kind AND ref.source = g.source";
const TIES: &str = "INSERT INTO tie (label, item, holder, via) \
     SELECT * FROM unnest(CAST(?1 AS integer[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), \
     CAST(?4 AS bigint[]))";
const PAST_TIES: &str = "INSERT INTO past_tie (label, item, holder, via) \
     SELECT * FROM unnest(CAST(?1 AS integer[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), \
     CAST(?4 AS bigint[]))";
const REMOVE_TIES: &str = "DELETE FROM tie USING \
     unnest(CAST(?1 AS integer[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[]), \
     CAST(?4 AS bigint[])) AS g (label, item, holder, via) \
     WHERE tie.label = g.label AND tie.item = g.item AND tie.holder = g.holder AND tie.via = g.via";
const TALLY: &str = "INSERT INTO tally (kind, block, n) \
     SELECT * FROM unnest(CAST(?1 AS integer[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[])) \
     ON CONFLICT (kind, block) DO UPDATE SET n = tally.n + excluded.n";
const GONE: &str = "INSERT INTO gone (kind, part, n) \
     SELECT k, p, c FROM unnest(CAST(?1 AS integer[]), CAST(?2 AS bigint[]), CAST(?3 AS bigint[])) \
     AS g (k, p, c) \
     ON CONFLICT (part, kind) DO UPDATE SET n = gone.n + excluded.n";
const COUNT: &str = "UPDATE counter SET id = ?1, cv = ?2 WHERE name = 'writer'";
