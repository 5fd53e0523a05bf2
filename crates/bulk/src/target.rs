//! Where a load writes to.

use std::sync::Arc;

use homeroom_document::{Catalog, Documents};
use homeroom_store::{
    Answer, Ask, Decide, Decision, DirectLoad, DocumentId, KindId, NaturalKey, Plan, Refused, Sql,
    Store, StoreError, Submitted,
};

use crate::rights::Rights;

/// Number of keys that are read at a time.
const KEYS_AT_ONCE: i64 = 10_000;
/// Most keys of a kind that are read.
const KEYS_MAX: usize = 2_000_000;

/// A catalog, and the store or the direct load that documents are written to.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The model, bound to the store.
    pub catalog: &'a Arc<Catalog>,
    place: Place<'a>,
    /// The client with whose rights documents are written; [`None`] for a trusted load.
    rights: Option<&'a dyn Rights>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Store(&'a Store),
    Direct(&'a DirectLoad),
}

impl<'a> Target<'a> {
    /// Writes to an open store.
    pub(crate) fn store(documents: &'a Documents) -> Self {
        Self { catalog: &documents.catalog, place: Place::Store(&documents.store), rights: None }
    }

    /// Writes to an open store with the rights of a client.
    pub(crate) fn store_as(documents: &'a Documents, rights: &'a dyn Rights) -> Self {
        Self { rights: Some(rights), ..Self::store(documents) }
    }

    /// Returns the client with whose rights documents are written to a store, unless the load is
    /// trusted.
    pub(crate) fn rights(self) -> Option<(&'a dyn Rights, &'a Arc<Catalog>, &'a Store)> {
        match (self.rights, self.place) {
            (Some(rights), Place::Store(store)) => Some((rights, self.catalog, store)),
            _ => None,
        }
    }

    /// Writes to a store that is loaded directly.
    pub(crate) fn direct(catalog: &'a Arc<Catalog>, load: &'a DirectLoad) -> Self {
        Self { catalog, place: Place::Direct(load), rights: None }
    }

    /// Submits plans; batches are run in their order.
    pub(crate) fn submit<D: Decide>(self, plans: Vec<Plan<D>>) -> Submitted<D> {
        match self.place {
            Place::Store(store) => store.submit(plans),
            Place::Direct(load) => load.submit(plans),
        }
    }

    /// Returns the newest change version, or for a direct load the one before it.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn version(self) -> Result<i64, StoreError> {
        match self.place {
            Place::Store(store) => store.newest_change_version_blocking(),
            Place::Direct(load) => Ok(load.version_before()),
        }
    }

    /// Returns the keys of a kind's documents that have a version after one.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn written_after(
        self,
        kind: KindId,
        version: i64,
    ) -> Result<Vec<NaturalKey>, StoreError> {
        let Place::Store(store) = self.place else { return Ok(vec![]) };
        let text = "SELECT cv, key FROM doc WHERE kind = ?1 AND cv > ?2 ORDER BY cv LIMIT ?3";
        let (mut after, mut keys) = (version, vec![]);
        loop {
            let arguments = [i64::from(kind.0), after, KEYS_AT_ONCE].map(Into::into).into();
            let rows = store.query_blocking(Sql::new(text, arguments))?;
            for row in &rows {
                let [version, key] = &row[..] else { continue };
                after = version.as_integer().unwrap_or(after);
                let key = key.as_blob().and_then(|key| key.try_into().ok());
                keys.extend(key.map(NaturalKey));
            }
            let is_last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < KEYS_AT_ONCE;
            if is_last || keys.len() >= KEYS_MAX {
                return Ok(keys);
            }
        }
    }

    /// Whether there is a document that has an identity, as its own or as an abstract base's.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn has(self, key: NaturalKey) -> Result<bool, StoreError> {
        let load = match self.place {
            Place::Store(store) => return Ok(store.target_blocking(key)?.is_some()),
            Place::Direct(load) => load,
        };
        let found = ask(load, Ask::Target(key))?;
        Ok(matches!(found, Some(Answer::Target(Some(_)))))
    }

    /// Returns texts of a kind's documents, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// Returns an error of the store.
    pub(crate) fn texts(
        self,
        kind: KindId,
        after: DocumentId,
        limit: u16,
    ) -> Result<Vec<(DocumentId, String)>, StoreError> {
        let load = match self.place {
            Place::Store(store) => return store.texts_blocking(kind, after, limit),
            Place::Direct(load) => load,
        };
        let text = "SELECT id, body FROM doc WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        let arguments = [i64::from(kind.0), after.0, i64::from(limit)];
        let sql = Sql::new(text, arguments.map(Into::into).into());
        let Some(Answer::Rows(rows)) = ask(load, Ask::Sql(sql))? else { return Ok(vec![]) };
        let texts = rows.iter().filter_map(|row| {
            let id = DocumentId(row.first()?.as_integer()?);
            Some((id, row.get(1)?.as_text()?.to_owned()))
        });
        Ok(texts.collect())
    }
}

/// Asks a question after all batches before.
fn ask(load: &DirectLoad, question: Ask) -> Result<Option<Answer>, StoreError> {
    let decide = |found: Vec<Answer>| -> Decision<Option<Answer>, ()> {
        Decision::Write(vec![], found.into_iter().next())
    };
    let asked = load.submit(vec![Plan { ask: vec![question], decide }]).wait().pop();
    match asked {
        Some(Ok(ran)) => Ok(ran.value),
        Some(Err(Refused::Store(error))) => Err(error),
        Some(Err(Refused::Decision(()))) | None => Ok(None),
    }
}
