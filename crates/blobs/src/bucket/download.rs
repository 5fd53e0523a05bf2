//! Reads a range of an object as it is asked for. Where the network dies in the middle, it is read on.

use std::future::poll_fn;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use object_store::{Error, GetOptions, GetRange, ObjectStore as _};
use tokio::sync::mpsc;

use super::link::{Ended, Link, is_bucket_missing};
use super::trouble::code;
use crate::blob::BlobId;
use crate::error::BlobError;
use crate::limits::CHUNK_BYTES;

/// Pieces that are read ahead.
const AHEAD: usize = 2;
/// How often a range is read on after it has broken off, without a byte in between.
const RESUMES: u32 = 4;
/// The pause before the first of these; it doubles.
const PAUSE: Duration = Duration::from_millis(100);

type Pieces = BoxStream<'static, object_store::Result<Bytes>>;

impl Link {
    /// Begins to read a range of a blob.
    pub(crate) async fn read(self, id: BlobId, range: Range<u64>) -> Result<Download, BlobError> {
        Download::begin(self, id, range).await
    }
}

/// A range of an object that is being read. The download pauses while the reader does not take
/// the bytes that have arrived.
pub(crate) struct Download {
    pieces: mpsc::Receiver<Result<Bytes, BlobError>>,
    _task: Option<Ended<()>>,
}

impl Download {
    /// Sends the request, and waits for the head of the answer.
    pub(crate) async fn begin(
        link: Link,
        id: BlobId,
        range: Range<u64>,
    ) -> Result<Self, BlobError> {
        let (tell, pieces) = mpsc::channel(AHEAD);
        if range.is_empty() {
            return Ok(Self { pieces, _task: None });
        }
        let stream = get(&link, id, range.clone()).await?;
        let task = tokio::spawn(carry(link, id, range, stream, tell));
        Ok(Self { pieces, _task: Some(Ended(task)) })
    }

    /// Returns the next bytes; [`None`] at the end of the range.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
        self.pieces.recv().await.transpose()
    }
}

async fn get(link: &Link, id: BlobId, range: Range<u64>) -> Result<Pieces, BlobError> {
    let left = range.end - range.start;
    let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
    match link.store.get_opts(&link.path(id), options).await {
        Ok(found) => Ok(found.into_stream()),
        Err(error) if code(&error).as_deref() == Some("InvalidRange") => Err(ended(id, left)),
        Err(Error::NotFound { source, .. }) if !is_bucket_missing(&*source) => {
            Err(BlobError::missing(id))
        }
        Err(error) => Err(link.trouble("read a blob of", &error)),
    }
}

async fn carry(
    link: Link,
    id: BlobId,
    mut range: Range<u64>,
    mut stream: Pieces,
    tell: mpsc::Sender<Result<Bytes, BlobError>>,
) {
    let mut resumes = 0;
    loop {
        let mut error = match poll_fn(|context| stream.as_mut().poll_next(context)).await {
            Some(Ok(mut bytes)) => {
                resumes = 0;
                range.start += bytes.len() as u64;
                while !bytes.is_empty() {
                    let piece = bytes.split_to(bytes.len().min(CHUNK_BYTES));
                    if tell.send(Ok(piece)).await.is_err() {
                        return;
                    }
                }
                continue;
            }
            None if range.is_empty() => return,
            // The object itself has no more bytes.
            None => {
                _ = tell.send(Err(ended(id, range.end - range.start))).await;
                return;
            }
            Some(Err(error)) => link.trouble("read a blob of", &error),
        };
        if range.is_empty() {
            return;
        }
        loop {
            if resumes == RESUMES || !matches!(error, BlobError::Bucket { is_passing: true, .. }) {
                _ = tell.send(Err(error)).await;
                return;
            }
            tokio::time::sleep(PAUSE * 2_u32.pow(resumes)).await;
            resumes += 1;
            match get(&link, id, range.clone()).await {
                Ok(again) => {
                    stream = again;
                    break;
                }
                Err(other) => error = other,
            }
        }
    }
}

fn ended(id: BlobId, left: u64) -> BlobError {
    BlobError::Damaged { id, why: format!("its last {left} bytes are missing") }
}
