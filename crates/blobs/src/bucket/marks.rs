//! The mark of a bucket: the store whose blobs it has.

use object_store::path::Path;
use object_store::{Error, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use super::link::{Link, is_bucket_missing};
use super::trouble::is_unknown_to_store;
use crate::error::BlobError;
use crate::folder::MARK;

/// Most bytes of an object with marks.
const MARK_BYTES_MAX: usize = 4 << 10;
/// How often the mark is looked at while others may be setting it.
const CLAIMS_MAX: usize = 5;

impl Link {
    fn mark_path(&self) -> Path {
        Path::from(self.settings.key(MARK))
    }

    /// Marks the bucket as `mark`'s if it has no mark. Returns the mark that it has.
    pub(crate) async fn claim(self, mark: String) -> Result<String, BlobError> {
        let path = self.mark_path();
        for _ in 0..CLAIMS_MAX {
            if let Some(found) = self.text().await? {
                if found != mark && found.lines().any(|own| own == mark) {
                    // As in a folder: a restore was killed while it handed the bucket over.
                    self.hand_over(Some(mark.clone())).await?;
                    return Ok(mark);
                }
                return Ok(found);
            }
            let create = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            let put = self.store.put_opts(&path, PutPayload::from(mark.clone()), create).await;
            match put {
                // Read again: a store may ignore the condition, and then the last one has won.
                Ok(_) | Err(Error::AlreadyExists { .. }) => {}
                Err(error) if is_unknown_to_store(&error) => {
                    let put = self.store.put(&path, PutPayload::from(mark.clone())).await;
                    put.map_err(|error| self.trouble("mark", &error))?;
                }
                Err(error) => return Err(self.trouble("mark", &error)),
            }
        }
        Err(BlobError::Bucket {
            doing: "mark",
            place: self.settings.to_string(),
            why: "the mark that was put there is not there".into(),
            mend: "use a store that has what was put there at once",
            is_passing: false,
        })
    }

    /// Returns the marks of the stores that may use the bucket.
    pub(crate) async fn marks(self) -> Result<Vec<String>, BlobError> {
        let found = self.text().await?;
        Ok(found.iter().flat_map(|text| text.lines()).map(str::to_owned).collect())
    }

    async fn text(&self) -> Result<Option<String>, BlobError> {
        let unreadable = |error: Error| self.trouble("read the mark of", &error);
        let path = self.mark_path();
        let got = match self.store.get(&path).await {
            Ok(got) => got,
            Err(Error::NotFound { source, .. }) if !is_bucket_missing(&*source) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        if got.meta.size > MARK_BYTES_MAX as u64 {
            return Ok(Some(String::new()));
        }
        let bytes = got.bytes().await.map_err(unreadable)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Marks the bucket as the one of a store, whatever mark it has.
    pub(crate) async fn hand_over(&self, mark: Option<String>) -> Result<(), BlobError> {
        let path = self.mark_path();
        let done = match mark {
            Some(mark) => self.store.put(&path, PutPayload::from(mark)).await.map(|_| ()),
            None => self.store.delete(&path).await,
        };
        match done {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.trouble("mark", &error)),
        }
    }
}
