//! What a caller checks and decides while a store is copied or put back.

use super::url::StoreUrl;
use crate::error::StoreError;
use crate::snapshot::Snapshot;
use crate::sql::Sql;

/// Decisions that a caller makes while a store is backed up.
pub trait BackingUp {
    /// Checks a copy before it gets its name. Returns what is wrong with it.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be checked; it then gets no name.
    fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError>;

    /// Is told how many rows are copied so far, where they are copied one by one.
    fn copied(&mut self, _rows: u64) {}
}

/// Decisions that a caller makes during a restore.
pub trait Restoring {
    /// Says what a database has that must not be lost, if anything; the store itself has found no
    /// keys in it. A file is kept under another name instead.
    ///
    /// # Errors
    ///
    /// The reason why that cannot be said; nothing is restored then.
    fn in_the_way(&mut self, _there: &Snapshot) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// Checks the file that is about to become the store; problems prevent that.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be checked; that also prevents it from becoming the store.
    fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError>;

    /// Compares the file that is about to become the store with the store that it replaces, if that
    /// can be read. Returns statements to run on the store first.
    ///
    /// # Errors
    ///
    /// The reason why it must not become the store.
    fn settle(
        &mut self,
        restored: &Snapshot,
        replaced: Result<&Snapshot, &StoreError>,
    ) -> Result<Vec<Sql>, StoreError>;

    /// Is told how many rows are copied so far, where they are copied one by one.
    fn copied(&mut self, _rows: u64) {}
}
