//! The blobs of a store, as all its users share them.

use std::ops::Range;
use std::sync::Arc;

use homeroom_store::{
    Answer, Ask, ChangedAt, Decide, Decision, Plan, Sql, Store, StoreError, Uuid, Write,
};
use tokio::sync::{OnceCell, RwLock};

use crate::blob::{Blob, BlobId};
use crate::error::BlobError;
use crate::limits::{Limits, OWNER_KIND_BYTES_MAX};
use crate::listed::ListedTo;
use crate::place::BlobPlace;
use crate::read::Reading;
use crate::rows::LANE;
use crate::write::{Writing, Written};
use crate::{rows, sql};

/// The blobs of a store; clones share them.
#[derive(Debug, Clone)]
pub struct Blobs {
    pub(crate) place: BlobPlace,
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    /// Whether the place is known to be this store's.
    claimed: Arc<OnceCell<()>>,
    /// How far a bucket has been listed by sweeps.
    pub(crate) listed: Arc<ListedTo>,
    /// Held for reading while somebody copies blobs, and for writing by a sweep.
    pub(crate) copying: Arc<RwLock<()>>,
}

impl Blobs {
    /// Returns the blobs of a store at a place; nothing is touched yet.
    pub fn new(place: BlobPlace, store: Store, limits: Limits) -> Self {
        Self {
            place,
            store,
            limits,
            claimed: Arc::default(),
            listed: Arc::default(),
            copying: Arc::default(),
        }
    }

    /// Returns the limits of blobs.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the place of the blobs.
    pub fn place(&self) -> &BlobPlace {
        &self.place
    }

    /// Begins to write a blob for an owner of a kind, such as `course-package`.
    ///
    /// # Errors
    ///
    /// [`BlobError::Foreign`], [`BlobError::DiskFull`], or why there can be no file.
    ///
    /// # Panics
    ///
    /// If the name of the kind has more than 64 bytes: it is a word of the code.
    pub async fn begin(&self, owner_kind: &str) -> Result<Writing, BlobError> {
        assert!(owner_kind.len() <= OWNER_KIND_BYTES_MAX, "{owner_kind} is too long");
        self.claim().await?;
        let id = BlobId(Uuid::new());
        let file = self.place.create(id).await?;
        Ok(Writing::new(self.place.clone(), id, file, owner_kind, self.limits))
    }

    /// Commits the row of a blob, in a plan of its own. A part that has a row which names the blob
    /// adds [`Written::row`] to its own plan instead.
    ///
    /// # Errors
    ///
    /// [`BlobError::Late`], or the store's.
    pub async fn keep(&self, written: Written, now: ChangedAt) -> Result<Blob, BlobError> {
        let row = written.row(now)?;
        let decide = move |_: Vec<Answer>| Decision::<(), BlobError>::Write(vec![row.clone()], ());
        self.run(Plan { ask: vec![], decide }).await?;
        Ok(written.into_blob())
    }

    /// Finds a blob.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn find(&self, id: BlobId) -> Result<Option<Blob>, BlobError> {
        let rows = self.store.look_up(Sql::new(sql::FIND, vec![id.to_string().into()])).await?;
        Ok(rows.first().map(|row| rows::blob(row)).transpose()?)
    }

    /// Opens a range of the bytes of a blob that has so many; what is beyond its end is left out.
    ///
    /// # Errors
    ///
    /// [`BlobError::Damaged`] where the bytes are missing, or why they cannot be read.
    pub async fn read(
        &self,
        id: BlobId,
        bytes: u64,
        range: Range<u64>,
    ) -> Result<Reading, BlobError> {
        let range = range.start.min(bytes)..range.end.min(bytes);
        let length = range.end.saturating_sub(range.start);
        Ok(Reading::new(id, self.place.read(id, range).await?, length))
    }

    /// Opens a blob as a file, for readers that seek and block. One in a bucket is fetched into the
    /// spool folder first.
    ///
    /// # Errors
    ///
    /// [`BlobError::Damaged`] where the bytes are missing, or why they cannot be read.
    pub async fn open(&self, blob: &Blob) -> Result<std::fs::File, BlobError> {
        self.place.open(blob).await
    }

    /// Returns the write that removes a blob, for the plan that removes what names it. Its bytes are
    /// swept after a while, so that whoever reads them meanwhile gets them all.
    pub fn removal(id: BlobId, now: ChangedAt) -> Write {
        rows::write(id, sql::REMOVE, vec![id.to_string().into(), now.0.into()])
    }

    /// Removes a blob, in a plan of its own.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn remove(&self, id: BlobId, now: ChangedAt) -> Result<(), BlobError> {
        let row = Self::removal(id, now);
        let decide = move |_: Vec<Answer>| Decision::<(), BlobError>::Write(vec![row.clone()], ());
        self.run(Plan { ask: vec![], decide }).await
    }

    /// Keeps sweeps of this process away while somebody copies blobs, on a thread that may block.
    pub fn hold_blocking(&self) -> tokio::sync::OwnedRwLockReadGuard<()> {
        loop {
            if let Ok(held) = Arc::clone(&self.copying).try_read_owned() {
                return held;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Makes sure that the place has no other store's blobs.
    pub(crate) async fn claim(&self) -> Result<(), BlobError> {
        let claiming = async {
            let mark = self.mark().await?;
            let found = self.place.claim(mark.clone()).await?;
            if found != mark {
                return Err(BlobError::Foreign(self.place.to_string()));
            }
            Ok(())
        };
        self.claimed.get_or_try_init(|| claiming).await?;
        Ok(())
    }

    /// Returns the mark of the store, which it gets with its first blob.
    async fn mark(&self) -> Result<String, BlobError> {
        let new = Uuid::new().to_string();
        let decide = move |found: Vec<Answer>| {
            let Some(Answer::Rows(rows)) = found.into_iter().next() else {
                return Decision::Refuse(BlobError::Store(StoreError::Closed));
            };
            match rows.first().and_then(|row| row.first()?.as_text()) {
                Some(mark) => Decision::Write(vec![], mark.to_owned()),
                None => {
                    let set = Sql::new(sql::SET_MARK, vec![new.as_str().into()]);
                    Decision::Write(vec![Write::Rows(LANE.all(), set)], new.clone())
                }
            }
        };
        let ask = vec![Ask::Rows(LANE.all(), Sql::new(sql::MARK, vec![]))];
        self.run(Plan { ask, decide }).await
    }

    pub(crate) async fn run<D>(&self, plan: Plan<D>) -> Result<D::Done, BlobError>
    where
        D: Decide<Refusal = BlobError>,
    {
        Ok(self.store.run_in(LANE, plan).await?.value)
    }
}
