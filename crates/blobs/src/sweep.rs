//! Removes bytes that no row names, and those whose row was removed.

use std::collections::BTreeSet;

use homeroom_store::{Answer, ChangedAt, Decision, Plan, Sql, Write};

use crate::blob::BlobId;
use crate::blobs::Blobs;
use crate::bucket::Listing;
use crate::error::BlobError;
use crate::folder::{Folder, old_files};
use crate::place::Kind;
use crate::{rows, sql};

/// Blobs whose rows are looked up, or removed, at a time.
const PAGE: usize = 500;

/// What a sweep has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Blobs that were never finished.
    pub unfinished: u64,
    /// Blobs that were written, and whose row was never committed.
    pub unnamed: u64,
    /// Blobs whose row was removed.
    pub removed: u64,
    /// Bytes of the two latter.
    pub bytes: u64,
}

impl Blobs {
    /// Removes bytes that belong to nobody, once they are older than the grace period. Several nodes
    /// may do this at the same time.
    ///
    /// # Errors
    ///
    /// The store's, or why a file cannot be removed. What was done before stays done.
    pub async fn sweep(&self, now: ChangedAt) -> Result<Swept, BlobError> {
        let mut swept = Swept::default();
        if !self.place.exists().await? {
            return Ok(swept);
        }
        self.claim().await?;
        let _alone = self.copying.write().await;
        let old = ChangedAt(now.0.saturating_sub(self.limits.grace_us()));
        self.sweep_removed(old, &mut swept).await?;
        match &*self.place.0 {
            Kind::Folder(_) => {
                for folder in self.place.on(Folder::folders).await? {
                    let files = self.place.on(move |_| old_files(&folder, old)).await?;
                    for some in files.chunks(PAGE) {
                        self.sweep_unnamed(some, &mut swept).await?;
                    }
                }
            }
            Kind::Bucket(bucket) => {
                let first = self.listed.first(now);
                let listing =
                    bucket.run(move |link| async move { Ok(Listing::from(&link, first)) });
                let mut listing = listing.await?;
                while let Some(found) = listing.next().await? {
                    let found = found.into_iter().filter(|object| object.changed <= old.0);
                    let mut ids: Vec<BlobId> = found.map(|object| object.id).collect();
                    ids.sort_unstable();
                    self.sweep_unnamed(&ids, &mut swept).await?;
                }
                self.listed.done(first, old, now);
            }
        }
        swept.unfinished = self.place.remove_unfinished(old).await?;
        Ok(swept)
    }

    /// Removes blobs whose row was removed: first the bytes, then the row, so that no bytes are left
    /// without it.
    async fn sweep_removed(&self, old: ChangedAt, swept: &mut Swept) -> Result<(), BlobError> {
        loop {
            let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
            let removed = Sql::new(sql::REMOVED, vec![old.0.into(), limit.into()]);
            let found = self.store.query(removed).await?;
            let ids = found.iter().map(|row| rows::id(row)).collect::<Result<Vec<_>, _>>()?;
            let forget = |id: &BlobId| rows::write(*id, sql::FORGET, vec![id.to_string().into()]);
            let writes: Vec<Write> = ids.iter().map(forget).collect();
            if writes.is_empty() {
                return Ok(());
            }
            for id in ids {
                let bytes = self.place.remove(id).await?;
                swept.bytes += bytes.unwrap_or(0);
                swept.removed += 1;
            }
            let decide = move |_: Vec<Answer>| Decision::<(), BlobError>::Write(writes.clone(), ());
            self.run(Plan { ask: vec![], decide }).await?;
        }
    }

    /// Removes those of the blobs, given in order, that have no row.
    async fn sweep_unnamed(&self, ids: &[BlobId], swept: &mut Swept) -> Result<(), BlobError> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(()) };
        let (last, mut from) = (last.to_string(), first.to_string());
        let mut named = BTreeSet::new();
        loop {
            let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
            let arguments = vec![from.as_str().into(), last.as_str().into(), limit.into()];
            let found = self.store.query(Sql::new(sql::NAMED, arguments)).await?;
            for row in &found {
                named.insert(rows::id(row)?);
            }
            match named.last() {
                Some(greatest) if found.len() == PAGE && greatest.to_string() > from => {
                    from = greatest.to_string();
                }
                _ => break,
            }
        }
        for id in ids.iter().copied().filter(|id| !named.contains(id)) {
            if let Some(bytes) = self.place.remove(id).await? {
                swept.bytes += bytes;
                swept.unnamed += 1;
            }
        }
        Ok(())
    }
}
