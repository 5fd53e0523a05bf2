//! Executes each write as statements.

use rusqlite::{OptionalExtension, params};

use crate::error::StoreError;
use crate::id::{DocumentId, NaturalKey};
use crate::plan::{NewDocument, Tombstone, Write};
use crate::row::{Count, References, Row};
use crate::sql::Sql;
use crate::sqlite::statements::{ADD_ALIAS, ADD_DOCUMENT, ADD_TIE, REMOVE_TIE, REPLACE};
use crate::sqlite::writer::Writer;
use crate::tie::Tie;

const ADD_PAST_TIE: &str =
    "INSERT INTO past_tie (label, item, holder, via) VALUES (?1, ?2, ?3, ?4)";

impl Writer {
    /// Executes one write and records in `tally` how it changes the kept counts.
    pub(super) fn write(
        &mut self,
        write: &mut Write,
        tally: &mut Vec<(Count, i64)>,
    ) -> Result<(), StoreError> {
        match write {
            Write::Create(new) => self.create(new, tally),
            Write::Replace { old, old_references, old_ties, new } => {
                self.replace(*old, old_references, old_ties, new)
            }
            Write::Delete { row, ties, tombstone } => self.delete(row, ties, tombstone, tally),
            Write::Part(sql) | Write::Rows(_, sql) => self.execute(sql),
            Write::Sql(sql) => {
                // It may change anything.
                self.targets.forget_all();
                self.recent.forget_absent();
                self.ties.forget();
                self.changed_ties.add_any();
                self.access_version = None;
                self.shared.commits.note_forgetting();
                self.execute(sql)
            }
        }
    }

    fn execute(&self, sql: &Sql) -> Result<(), StoreError> {
        let arguments = rusqlite::params_from_iter(&sql.arguments);
        self.connection.prepare_cached(sql.text)?.execute(arguments)?;
        Ok(())
    }

    fn create(
        &mut self,
        new: &mut NewDocument,
        tally: &mut Vec<(Count, i64)>,
    ) -> Result<(), StoreError> {
        self.last_id += 1;
        self.last_change_version += 1;
        let id = self.last_id;
        new.references.name_itself(DocumentId(id));
        let packed = new.references.pack();
        self.connection.prepare_cached(ADD_DOCUMENT)?.execute(params![
            id,
            new.uuid.0,
            new.kind.0,
            new.key.0,
            self.last_change_version,
            new.modified,
            packed,
            new.body
        ])?;
        self.recent.add_identity(&self.connection, new.key, id)?;
        if let Some(alias) = new.alias {
            self.connection.prepare_cached(ADD_ALIAS)?.execute(params![id, alias.0])?;
        }
        for target in References::targets(&packed) {
            self.edge(target, new.kind.0, id)?;
        }
        for tie in &new.ties {
            self.tie(ADD_TIE, tie, id)?;
        }
        let target = (DocumentId(id), new.uuid, new.kind);
        for key in std::iter::once(new.key).chain(new.alias) {
            self.targets.found(key, target);
        }
        tally.push((Count::of_document(new.kind, id), 1));
        Ok(())
    }

    fn replace(
        &mut self,
        old: DocumentId,
        old_references: &[u8],
        old_ties: &[Tie],
        new: &NewDocument,
    ) -> Result<(), StoreError> {
        self.last_change_version += 1;
        let packed = new.references.pack();
        self.connection.prepare_cached(REPLACE)?.execute(params![
            old.0,
            self.last_change_version,
            new.modified,
            packed,
            new.body
        ])?;
        let before = References::targets(old_references);
        let after = References::targets(&packed);
        for gone in before.iter().filter(|target| after.binary_search(target).is_err()) {
            self.remove_edge(*gone, new.kind.0, old.0)?;
        }
        for come in after.iter().filter(|target| before.binary_search(target).is_err()) {
            self.edge(*come, new.kind.0, old.0)?;
        }
        for gone in old_ties.iter().filter(|tie| !new.ties.contains(tie)) {
            self.tie(REMOVE_TIE, gone, old.0)?;
        }
        for come in new.ties.iter().filter(|tie| !old_ties.contains(tie)) {
            self.tie(ADD_TIE, come, old.0)?;
        }
        Ok(())
    }

    fn delete(
        &mut self,
        row: &Row,
        ties: &[Tie],
        tombstone: &Tombstone,
        tally: &mut Vec<(Count, i64)>,
    ) -> Result<(), StoreError> {
        self.last_change_version += 1;
        for target in References::targets(&row.references) {
            self.remove_edge(target, row.kind.0, row.id.0)?;
        }
        for tie in ties {
            self.tie(REMOVE_TIE, tie, row.id.0)?;
            self.tie(ADD_PAST_TIE, tie, row.id.0)?;
            tally.push((Count::PastTies(tie.label.0), 1));
        }
        self.connection.prepare_cached("DELETE FROM doc WHERE id = ?1")?.execute([row.id.0])?;
        self.recent.remove_identity(&self.connection, row.key)?;
        self.targets.forget(row.key);
        let mut remove_alias =
            self.connection.prepare_cached("DELETE FROM alias WHERE id = ?1 RETURNING key")?;
        let alias = remove_alias.query_row([row.id.0], |alias| alias.get(0)).optional()?;
        drop(remove_alias);
        if let Some(alias) = alias {
            self.targets.forget(NaturalKey(alias));
        }
        if row.id.0 == self.last_id {
            self.remember_last_id()?;
        }
        self.connection
            .prepare_cached(
                "INSERT INTO tomb (cv, kind, uuid, key, key_values, modified, marks, number)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                self.last_change_version,
                row.kind.0,
                row.uuid.0,
                row.key.0,
                tombstone.key_values,
                tombstone.modified,
                References::marks_only(&row.references),
                row.id.0
            ])?;
        tally.push((Count::of_document(row.kind, row.id.0), -1));
        tally.push((Count::Tombstones(row.kind.0), 1));
        Ok(())
    }

    /// Saves the number of the last document, which is being deleted: it must not be assigned
    /// again.
    fn remember_last_id(&self) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO high_water (name, id) VALUES ('doc', ?1)
                 ON CONFLICT (name) DO UPDATE SET id = excluded.id",
            )?
            .execute([self.last_id])?;
        Ok(())
    }

    fn tie(&mut self, text: &str, tie: &Tie, via: i64) -> Result<(), StoreError> {
        self.ties.changed(tie.label, tie.item);
        self.changed_ties.add(tie.label, tie.item);
        let row = params![tie.label.0, tie.item, tie.holder, via];
        self.connection.prepare_cached(text)?.execute(row)?;
        Ok(())
    }

    fn edge(&mut self, target: DocumentId, kind: u16, source: i64) -> Result<(), StoreError> {
        self.recent.add_edge(&self.connection, (target.0, kind, source))
    }

    fn remove_edge(
        &mut self,
        target: DocumentId,
        kind: u16,
        source: i64,
    ) -> Result<(), StoreError> {
        self.recent.remove_edge(&self.connection, (target.0, kind, source))
    }
}
