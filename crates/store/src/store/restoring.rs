//! What a caller checks and decides while a store is copied or put back.

use super::url::StoreUrl;
use crate::error::StoreError;
use crate::snapshot::Snapshot;
use crate::sql::Sql;

/// Checks a copy before it gets its name. Returns what is wrong with it.
pub type Look<'a> = dyn FnMut(&StoreUrl) -> Result<Vec<String>, StoreError> + 'a;

/// Decisions that a caller makes during a restore.
pub trait Restoring {
    /// Checks the file that is about to become the store; problems prevent that.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be checked; that also prevents it from becoming the store.
    fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError>;

    /// Compares the file that is about to become the store with the store that it replaces, if that
    /// can be read. Returns statements to run on the file first.
    ///
    /// # Errors
    ///
    /// The reason why it must not become the store.
    fn settle(
        &mut self,
        restored: &Snapshot,
        replaced: Result<&Snapshot, &StoreError>,
    ) -> Result<Vec<Sql>, StoreError>;
}
