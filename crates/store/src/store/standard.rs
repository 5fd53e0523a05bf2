//! The data standard of a store's documents.

use crate::error::StoreError;
use crate::plan::{Answer, Ask, Decision, Plan, Refused, Write};
use crate::snapshot::Snapshot;
use crate::sql::{Sql, Value};
use crate::store::handle::Store;

const FOUND: &str = "SELECT schema_name, version FROM standard WHERE id = 1";
const KEEP: &str = "INSERT INTO standard (id, schema_name, version) VALUES (1, ?1, ?2) \
     ON CONFLICT (id) DO UPDATE SET schema_name = ?1, version = ?2";

/// A data standard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandardName {
    /// Its schema, `ed-fi`.
    pub schema: String,
    /// Its version, `5.2.0`.
    pub version: String,
}

impl std::fmt::Display for StandardName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.schema, self.version)
    }
}

impl StandardName {
    /// Returns the standard that the rows of [`FOUND`] name.
    fn of(rows: &[Vec<Value>]) -> Option<Self> {
        let row = rows.first()?;
        let text = |at: usize| Some(row.get(at)?.as_text()?.to_owned());
        Some(Self { schema: text(0)?, version: text(1)? })
    }
}

impl Snapshot {
    /// Returns the standard that the store's documents follow, if it is recorded.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn standard(&self) -> Result<Option<StandardName>, StoreError> {
        Ok(StandardName::of(&self.rows(Sql::new(FOUND, vec![]))?))
    }
}

/// Why the standard was not kept.
enum Other {
    Standard(StandardName),
    Store(StoreError),
}

impl Store {
    /// Compares a standard with the one that the store's documents follow. Records it where none is
    /// recorded yet, or where it may `replace` another. Returns the other standard if that one
    /// stays.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn keep_standard(
        &self,
        standard: StandardName,
        replace: bool,
    ) -> Result<Option<StandardName>, StoreError> {
        let decide = move |found: Vec<Answer>| -> Decision<(), Other> {
            let Some(Answer::Rows(rows)) = found.into_iter().next() else {
                return Decision::Refuse(Other::Store(StoreError::Closed));
            };
            match StandardName::of(&rows) {
                Some(kept) if kept == standard => Decision::Write(vec![], ()),
                Some(other) if !replace => Decision::Refuse(Other::Standard(other)),
                Some(_) | None => {
                    let StandardName { schema, version } = standard.clone();
                    let keep = Sql::new(KEEP, vec![schema.into(), version.into()]);
                    Decision::Write(vec![Write::Sql(keep)], ())
                }
            }
        };
        let ask = vec![Ask::Sql(Sql::new(FOUND, vec![]))];
        match self.run_blocking(Plan { ask, decide }) {
            Ok(_) => Ok(None),
            Err(Refused::Decision(Other::Standard(other))) => Ok(Some(other)),
            Err(Refused::Decision(Other::Store(error)) | Refused::Store(error)) => Err(error),
        }
    }
}
