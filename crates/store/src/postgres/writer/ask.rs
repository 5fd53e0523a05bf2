//! The questions of many plans as few statements.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::plan::{Answer, Ask};
use crate::postgres::error::Fault;
use crate::postgres::reach;
use crate::postgres::strict::ROWS_MAX;
use crate::postgres::value::{Column, bytes, document, kind, values};
use crate::row::Row;
use crate::sql::Sql;
use crate::tie::{Reached, Start, Way};

/// Questions, each once.
#[derive(Default)]
pub(super) struct Questions {
    keys: BTreeSet<[u8; 16]>,
    uuids: BTreeSet<[u8; 16]>,
    targets: BTreeSet<[u8; 16]>,
    referrers: BTreeSet<i64>,
    reaches: BTreeMap<Way, (BTreeSet<i64>, BTreeSet<[u8; 16]>)>,
    sql: Vec<Sql>,
}

/// A statement of questions, and how its rows are read.
pub(super) struct Question {
    pub(super) text: &'static str,
    of: Of,
    columns: Vec<Column>,
    sql: Option<Sql>,
}

#[derive(Clone)]
enum Of {
    Documents,
    Targets,
    Referrers,
    Reach(Way),
    Sql,
}

/// What carries an identity, and whether as its own.
type Target = (bool, (DocumentId, Uuid, KindId));

/// What was found, by what was asked.
#[derive(Default)]
pub(super) struct Found {
    by_key: HashMap<[u8; 16], Row>,
    by_uuid: HashMap<[u8; 16], Row>,
    targets: HashMap<[u8; 16], Target>,
    referrers: HashMap<i64, Vec<KindId>>,
    reached: HashMap<Way, HashMap<Start, Reached>>,
    /// In the order in which they were asked.
    sql: VecDeque<Answer>,
}

impl Questions {
    pub(super) fn add(&mut self, ask: &Ask) {
        match ask {
            Ask::Document(key) => _ = self.keys.insert(key.0),
            Ask::DocumentByUuid(uuid) => _ = self.uuids.insert(uuid.0),
            Ask::Target(key) => _ = self.targets.insert(key.0),
            Ask::Referrers(id) => _ = self.referrers.insert(id.0),
            Ask::Reach(start, way) => {
                let (numbers, keys) = self.reaches.entry(way.clone()).or_default();
                match start {
                    Start::Number(number) => _ = numbers.insert(*number),
                    Start::Document(key) => _ = keys.insert(key.0),
                }
            }
            Ask::Sql(sql) => self.sql.push(sql.clone()),
        }
    }

    pub(super) fn into_statements(self) -> Vec<Question> {
        let mut out = vec![];
        let mut uuids = |text, of: Of, all: BTreeSet<[u8; 16]>| {
            let all: Vec<_> = all.into_iter().map(uuid::Uuid::from_bytes).collect();
            for some in all.chunks(ROWS_MAX) {
                let columns = vec![Column::Uuids(some.to_vec())];
                out.push(Question { text, of: of.clone(), columns, sql: None });
            }
        };
        uuids(BY_KEY, Of::Documents, self.keys);
        uuids(BY_UUID, Of::Documents, self.uuids);
        uuids(TARGETS, Of::Targets, self.targets);
        let referrers: Vec<_> = self.referrers.into_iter().collect();
        for some in referrers.chunks(ROWS_MAX) {
            let columns = vec![Column::Numbers(some.to_vec())];
            out.push(Question { text: REFERRERS, of: Of::Referrers, columns, sql: None });
        }
        for (way, (numbers, keys)) in self.reaches {
            let numbers: Vec<_> = numbers.into_iter().collect();
            for some in numbers.chunks(ROWS_MAX) {
                let columns = reach::columns(Column::Numbers(some.to_vec()), &way);
                let (text, of) = (reach::text(&way, false), Of::Reach(way.clone()));
                out.push(Question { text, of, columns, sql: None });
            }
            let keys: Vec<_> = keys.into_iter().map(uuid::Uuid::from_bytes).collect();
            for some in keys.chunks(ROWS_MAX) {
                let columns = reach::columns(Column::Uuids(some.to_vec()), &way);
                let (text, of) = (reach::text(&way, true), Of::Reach(way.clone()));
                out.push(Question { text, of, columns, sql: None });
            }
        }
        out.extend(self.sql.into_iter().map(|sql| Question {
            text: sql.text,
            of: Of::Sql,
            columns: vec![],
            sql: Some(sql),
        }));
        out
    }
}

impl Question {
    pub(super) fn arguments(&self) -> Vec<&(dyn ToSql + Sync)> {
        let columns = self.columns.iter().map(|column| column as &(dyn ToSql + Sync));
        let sql = self.sql.iter().flat_map(|sql| &sql.arguments);
        columns.chain(sql.map(|value| value as &(dyn ToSql + Sync))).collect()
    }

    /// Takes the rows into what was found.
    pub(super) fn read(&self, rows: &[SqlRow], found: &mut Found) -> Result<(), Fault> {
        if let Of::Sql = self.of {
            let rows = rows.iter().map(values).collect::<Result<_, _>>()?;
            found.sql.push_back(Answer::Rows(rows));
            return Ok(());
        }
        if let Of::Reach(way) = &self.of {
            return reach::read(rows, way, found.reached.entry(way.clone()).or_default());
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
                    // Its own identity comes before a base's.
                    if is_own && !known.0 {
                        *known = (is_own, target);
                    }
                }
                Of::Referrers => {
                    found.referrers.entry(row.try_get(0)?).or_default().push(kind(row, 1)?);
                }
                Of::Reach(_) | Of::Sql => {}
            }
        }
        Ok(())
    }
}

impl Found {
    /// The answer to a question that was asked; those of statements in the order of asking.
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
            Ask::Reach(start, way) => {
                let reached = self.reached.get(way).and_then(|all| all.get(start));
                Answer::Reached(reached.cloned().unwrap_or_default())
            }
            Ask::Sql(_) => self.sql.pop_front().unwrap_or(Answer::Rows(vec![])),
        }
    }
}

const BY_KEY: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc \
     WHERE key = ANY(CAST(?1 AS uuid[]))";
const BY_UUID: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc \
     WHERE uuid = ANY(CAST(?1 AS uuid[]))";
const TARGETS: &str = "SELECT 0, d.key, d.id, d.uuid, d.kind FROM doc d \
     WHERE d.key = ANY(CAST(?1 AS uuid[])) \
     UNION ALL SELECT 1, a.key, d.id, d.uuid, d.kind FROM alias a JOIN doc d ON d.id = a.id \
     WHERE a.key = ANY(CAST(?1 AS uuid[]))";
/// A hop per kind: the next greater kind that has an edge, so hot targets cost no scan.
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
