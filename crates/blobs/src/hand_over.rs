//! A place passes to a store that is put back there.
//!
//! The restored store gets a mark of its own: its original may still be in use elsewhere, and two
//! stores with one mark would sweep each other's blobs from one folder. Until the restored store is
//! in its place, the folder has both marks, so that whichever of the two is there after a kill can
//! use it.

use homeroom_store::{Snapshot, Sql, Uuid};

use crate::error::BlobError;
use crate::place::BlobPlace;
use crate::sql;

/// A place that is about to pass to a restored store.
#[derive(Debug)]
pub struct HandOver {
    place: BlobPlace,
    mark: String,
}

impl HandOver {
    /// Begins to give a place to a restored store. `replaced` is the store that it replaces, where
    /// that can be read. With `is_free`, no other store than that one can use the place, whatever
    /// mark it has.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotHandedOver`] where the blobs may be those of a store that is still in use;
    /// or why the place cannot be marked.
    pub fn begin(
        place: &BlobPlace,
        replaced: Option<&Snapshot>,
        is_free: bool,
    ) -> Result<Self, BlobError> {
        let mark = Uuid::new().to_string();
        let mut marks = place.marks_blocking()?;
        if !is_free && !marks.is_empty() {
            // A store that cannot be read does not tell whether the place is its own.
            let own = replaced.and_then(|store| store.rows(Sql::new(sql::MARK, vec![])).ok());
            let own = own.iter().flatten().filter_map(|row| row.first()?.as_text());
            let own: Vec<&str> = own.collect();
            if !marks.iter().any(|mark| own.contains(&mark.as_str())) {
                return Err(BlobError::NotHandedOver(place.to_string()));
            }
        }
        if place.exists_blocking()? {
            marks.insert(0, mark.clone());
            place.hand_over_blocking(Some(&marks.join("\n")))?;
        }
        Ok(Self { place: place.clone(), mark })
    }

    /// Returns the statement that gives the restored store its mark.
    pub fn row(&self) -> Sql {
        Sql::new(sql::REPLACE_MARK, vec![self.mark.as_str().into()])
    }

    /// Ends it, once the restored store is in its place.
    ///
    /// # Errors
    ///
    /// Why the place cannot be marked; the store does that itself, then, with its first blob.
    pub fn finish(self) -> Result<(), BlobError> {
        if self.place.exists_blocking()? {
            self.place.hand_over_blocking(Some(&self.mark))
        } else {
            Ok(())
        }
    }
}
