//! What a direct load writes and remembers.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::edges::Edges;
use super::identities::Identities;
use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::plan::{ACCESS_VERSION, Answer, Ask, NewDocument, Write};
use crate::row::{Count, References, Row};
use crate::sqlite::lock::folder_of;
use crate::sqlite::probe;
use crate::sqlite::statements::{
    ADD_ALIAS, ADD_DOCUMENT, ADD_TIE, REMOVE_TIE, REPLACE, write_counts,
};
use crate::sqlite::value::rows;
use crate::store::{Job, Step};
use crate::tie::Tie;

/// The tables of a store while it is loaded.
pub(super) struct Tables {
    identities: Identities,
    /// [`None`] once a document was replaced: then the edges are derived at the end.
    edges: Option<Edges>,
    last_id: i64,
    last_change_version: i64,
    tally: HashMap<Count, i64>,
    /// Documents and bytes of text since the last commit.
    pub(super) uncommitted: (u64, usize),
}

/// The statements of a job.
pub(super) struct Statements<'c> {
    document: Statement<'c>,
    alias: Statement<'c>,
    tie: Statement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, StoreError> {
        Ok(Self {
            document: connection.prepare(ADD_DOCUMENT)?,
            alias: connection.prepare(ADD_ALIAS)?,
            tie: connection.prepare(ADD_TIE)?,
        })
    }
}

impl Tables {
    /// Reads what is in the store, which has little yet. `last` are its last number and change
    /// version.
    pub(super) fn read(connection: &Connection, last: (i64, i64)) -> Result<Self, StoreError> {
        let (last_id, last_change_version) = last;
        let mut identities = Identities::new(last_id);
        let text = "SELECT d.id, d.uuid, d.kind, d.key, a.key FROM doc d
                    LEFT JOIN alias a ON a.id = d.id ORDER BY d.id";
        let mut all = connection.prepare(text)?;
        let mut found = all.query([])?;
        while let Some(row) = found.next()? {
            let target = (DocumentId(row.get(0)?), Uuid(row.get(1)?), KindId(row.get(2)?));
            identities.add_existing(NaturalKey(row.get(3)?), target);
            if let Some(alias) = row.get(4)? {
                identities.add_alias(NaturalKey(alias));
            }
        }
        let folder = folder_of(connection.path().unwrap_or_default().as_ref());
        let edges = Some(Edges::new(folder));
        let (tally, uncommitted) = (HashMap::new(), (0, 0));
        Ok(Self { identities, edges, last_id, last_change_version, tally, uncommitted })
    }

    /// Returns the edges of all documents, if they are known. Gives the other memory back.
    pub(super) fn into_edges(self) -> Option<Edges> {
        self.edges
    }

    /// Runs a plan: asks, decides, writes. An error means that the transaction is lost.
    pub(super) fn run(
        &mut self,
        connection: &Connection,
        statements: &mut Statements<'_>,
        job: &mut dyn Job,
        plan: usize,
    ) -> Result<(), StoreError> {
        let mut ask = job.begin(plan, false);
        loop {
            let answers = ask.iter().map(|ask| self.answer(connection, ask));
            let found = match answers.collect::<Result<_, _>>() {
                Ok(found) => found,
                Err(error) if connection.is_autocommit() => return Err(error),
                Err(error) => {
                    job.end(plan, Err(error));
                    return Ok(());
                }
            };
            match job.decide(plan, found) {
                Step::Ended => return Ok(()),
                Step::Ask(more) => ask = more,
                Step::Write(writes) => {
                    let before = self.last_change_version;
                    for write in writes {
                        self.write(connection, statements, write)?;
                    }
                    let is_changed = self.last_change_version > before;
                    job.end(plan, Ok(if is_changed { self.last_change_version } else { 0 }));
                    return Ok(());
                }
            }
        }
    }

    /// Writes the counts of documents that have changed since the last commit.
    pub(super) fn write_counts(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.uncommitted = (0, 0);
        write_counts(connection, self.tally.drain())
    }

    fn answer(&self, connection: &Connection, ask: &Ask) -> Result<Answer, StoreError> {
        Ok(match ask {
            Ask::Document(key) => Answer::Document(self.document(connection, *key)?),
            Ask::DocumentByUuid(uuid) => Answer::Document(probe::by_uuid(connection, *uuid)?),
            Ask::Target(key) => Answer::Target(self.identities.target(*key)),
            Ask::AccessVersion => {
                Answer::AccessVersion(connection.query_row(ACCESS_VERSION, [], |row| row.get(0))?)
            }
            Ask::Part(sql) | Ask::Rows(_, sql) | Ask::Sql(sql) => {
                Answer::Rows(rows(connection, sql)?)
            }
            Ask::Referrers(_) | Ask::Reach(..) | Ask::Test(..) => {
                let message = "edges cannot be followed during a direct load";
                return Err(StoreError::Unusable(message.into()));
            }
        })
    }

    fn document(
        &self,
        connection: &Connection,
        key: NaturalKey,
    ) -> Result<Option<Row>, StoreError> {
        let Some((id, ..)) = self.identities.own(key) else { return Ok(None) };
        let text = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE id = ?1";
        let mut by_id = connection.prepare_cached(text)?;
        Ok(by_id.query_row([id.0], probe::document).optional()?)
    }

    fn write(
        &mut self,
        connection: &Connection,
        statements: &mut Statements<'_>,
        write: Write,
    ) -> Result<(), StoreError> {
        match write {
            Write::Create(new) => self.create(statements, new),
            Write::Replace { old, old_ties, new, .. } => {
                self.replace(connection, old, &old_ties, &new)
            }
            Write::Delete { .. } | Write::Part(_) | Write::Rows(..) | Write::Sql(_) => {
                let message = "a direct load only creates and replaces documents";
                Err(StoreError::Unusable(message.into()))
            }
        }
    }

    fn create(
        &mut self,
        statements: &mut Statements<'_>,
        mut new: NewDocument,
    ) -> Result<(), StoreError> {
        self.last_id += 1;
        self.last_change_version += 1;
        let id = self.last_id;
        new.references.name_itself(DocumentId(id));
        let packed = new.references.pack();
        statements.document.execute(params![
            id,
            new.uuid.0,
            new.kind.0,
            new.key.0,
            self.last_change_version,
            new.modified,
            packed,
            new.body
        ])?;
        self.identities.add(new.key, new.uuid, new.kind);
        if let Some(alias) = new.alias {
            statements.alias.execute(params![id, alias.0])?;
            self.identities.add_alias(alias);
        }
        if let Some(edges) = &mut self.edges {
            for target in References::targets(&packed) {
                edges.add((target.0, new.kind.0, id))?;
            }
        }
        for Tie { label, item, holder } in &new.ties {
            statements.tie.execute(params![label.0, item, holder, id])?;
        }
        *self.tally.entry(Count::of_document(new.kind, id)).or_default() += 1;
        self.uncommitted.0 += 1;
        self.uncommitted.1 += new.body.len() + packed.len();
        Ok(())
    }

    fn replace(
        &mut self,
        connection: &Connection,
        old: DocumentId,
        old_ties: &[Tie],
        new: &NewDocument,
    ) -> Result<(), StoreError> {
        self.edges = None;
        self.last_change_version += 1;
        let packed = new.references.pack();
        connection.prepare_cached(REPLACE)?.execute(params![
            old.0,
            self.last_change_version,
            new.modified,
            packed,
            new.body
        ])?;
        let tie = |text: &str, tie: &Tie| {
            let row = params![tie.label.0, tie.item, tie.holder, old.0];
            connection.prepare_cached(text)?.execute(row)
        };
        for gone in old_ties.iter().filter(|tie| !new.ties.contains(tie)) {
            tie(REMOVE_TIE, gone)?;
        }
        for come in new.ties.iter().filter(|tie| !old_ties.contains(tie)) {
            tie(ADD_TIE, come)?;
        }
        self.uncommitted.0 += 1;
        self.uncommitted.1 += new.body.len() + packed.len();
        Ok(())
    }
}
