//! Blobs as objects in a bucket of an S3-compatible store.
//!
//! `PREFIX/AAAAAA/ID` has the bytes of a blob and `PREFIX/store` the mark of the store: the names of a
//! folder of blobs ([`crate::folder`]). What is on its way is in a file without a name in the spool
//! folder, or in a multipart upload.
//!
//! All requests are made on a thread of their own, so that commands without a runtime make them as the
//! server does.

mod counts;
mod download;
mod link;
mod listing;
mod marks;
mod road;
mod settings;
mod trouble;
mod upload;
mod uploads;

use std::fs::File;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, RetryConfig};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};

pub use counts::BucketFigures;
pub(crate) use download::Download;
pub(crate) use link::Link;
pub(crate) use listing::Listing;
pub use settings::BucketSettings;

use crate::blob::BlobId;
use crate::error::BlobError;
use counts::Counts;
use link::Ended;
use road::Road;

/// How often a request is sent again, and for how long at most.
const RETRIES: usize = 4;
const RETRY_TIME: Duration = Duration::from_mins(1);
const PAUSES: BackoffConfig = BackoffConfig {
    init_backoff: Duration::from_millis(100),
    max_backoff: Duration::from_secs(5),
    base: 2.0,
};
/// Most parts of blobs that are in memory at a time, on their way to the bucket.
const PARTS_MAX: usize = 4;

/// A bucket, to which nothing is sent before it is needed.
pub(crate) struct Bucket {
    settings: BucketSettings,
    counts: Arc<Counts>,
    connected: OnceLock<Result<Connected, BlobError>>,
}

struct Connected {
    /// [`Some`] until the bucket is dropped.
    runtime: Option<Runtime>,
    link: Link,
}

impl Bucket {
    pub(crate) fn new(settings: BucketSettings) -> Self {
        Self { settings, counts: Arc::default(), connected: OnceLock::new() }
    }

    pub(crate) fn settings(&self) -> &BucketSettings {
        &self.settings
    }

    pub(crate) fn figures(&self) -> BucketFigures {
        self.counts.figures()
    }

    fn connect(&self) -> Result<Connected, BlobError> {
        let settings = &self.settings;
        let cannot = |why: String, mend| BlobError::Bucket {
            doing: "use",
            place: settings.to_string(),
            why,
            mend,
            is_passing: false,
        };
        let client = road::client();
        let client = client.map_err(|error| cannot(error.to_string(), "correct that"))?;
        let road = Road { client, counts: Arc::clone(&self.counts) };
        let retry =
            RetryConfig { backoff: PAUSES, max_retries: RETRIES, retry_timeout: RETRY_TIME };
        let mut builder = AmazonS3Builder::new();
        for (name, value) in &settings.aws {
            if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
                builder = builder.with_config(key, value);
            }
        }
        let base = settings.base();
        let endpoint = if settings.is_host {
            base.as_str()
        } else {
            base.strip_suffix(&settings.bucket).unwrap_or(&base).trim_end_matches('/')
        };
        let key = AmazonS3ConfigKey::S3Endpoint;
        builder = builder
            .with_config(key, endpoint)
            .with_allow_http(true)
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_virtual_hosted_style_request(settings.is_host)
            // Not every store can remove several objects by one request, and one is enough here.
            .with_disable_bulk_delete(true)
            .with_retry(retry)
            .with_http_connector(road.clone());
        if let Some((id, secret)) = &settings.key {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        }
        let built = builder.build();
        let store = built.map_err(|error| {
            cannot(error.to_string(), "set blobs.access_key_id and blobs.secret_access_key")
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("blobs-bucket")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| cannot(error.to_string(), "allow more threads"))?;
        let (settings, parts) = (Arc::new(settings.clone()), Arc::new(Semaphore::new(PARTS_MAX)));
        Ok(Connected { runtime: Some(runtime), link: Link { store, road, settings, parts } })
    }

    fn connected(&self) -> Result<(&Handle, Link), BlobError> {
        let connected = self.connected.get_or_init(|| self.connect()).as_ref();
        let Connected { runtime, link } = connected.map_err(Clone::clone)?;
        let runtime = runtime.as_ref().expect("only dropping the bucket takes its runtime");
        Ok((runtime.handle(), link.clone()))
    }

    /// Does work on the bucket's thread. If the returned future is dropped, the work ends.
    pub(crate) async fn run<T, F>(&self, work: impl FnOnce(Link) -> F) -> Result<T, BlobError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, BlobError>> + Send + 'static,
    {
        let (handle, link) = self.connected()?;
        let mut task = Ended(handle.spawn(work(link)));
        (&mut task.0).await.unwrap_or_else(|error| Err(BlobError::broken(&self.settings, &error)))
    }

    /// Does work on the bucket's thread, for a caller that may block.
    pub(crate) fn wait<T, F>(&self, work: impl FnOnce(Link) -> F) -> Result<T, BlobError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, BlobError>> + Send + 'static,
    {
        let (handle, link) = self.connected()?;
        let work = work(link);
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        handle.spawn(async move {
            _ = tell.send(work.await);
        });
        told.recv().unwrap_or_else(|error| Err(BlobError::broken(&self.settings, &error)))
    }

    /// Makes a file without a name for what is on its way.
    pub(crate) fn spool(&self) -> Result<File, BlobError> {
        upload::spool(&self.settings.spool)
    }

    /// Uploads a file. If the returned future is dropped, the upload is given up; what is there already, a
    /// sweep removes.
    pub(crate) async fn upload(&self, id: BlobId, file: File, bytes: u64) -> Result<(), BlobError> {
        let (handle, link) = self.connected()?;
        let (_waits, gone) = oneshot::channel::<()>();
        let task = handle.spawn(upload::upload(link, id, file, bytes, gone));
        task.await.unwrap_or_else(|error| Err(BlobError::broken(&self.settings, &error)))
    }

    /// Uploads a file, for a caller that may block.
    pub(crate) fn upload_blocking(
        &self,
        id: BlobId,
        file: File,
        bytes: u64,
    ) -> Result<(), BlobError> {
        let (_waits, gone) = oneshot::channel::<()>();
        self.wait(move |link| upload::upload(link, id, file, bytes, gone))
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        if let Some(Ok(connected)) = self.connected.get_mut()
            && let Some(runtime) = connected.runtime.take()
        {
            // It may be dropped where nobody may wait.
            runtime.shutdown_background();
        }
    }
}
