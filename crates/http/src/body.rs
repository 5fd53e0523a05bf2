//! The body of a request, read once and within a limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use crate::problem::{Kind, Problem};

/// Longest wait for a whole body.
const BODY_TIME_MAX: Duration = Duration::from_mins(1);

/// A request's body, not yet read.
#[derive(Debug)]
pub enum RequestBody {
    /// Comes from a connection.
    Incoming(Incoming),
    /// Stands in memory.
    Bytes(Bytes),
}

impl RequestBody {
    /// Whether it is known that nothing comes.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Incoming(incoming) => incoming.is_end_stream(),
            Self::Bytes(bytes) => bytes.is_empty(),
        }
    }

    /// Reads the whole body, at most `limit` bytes and a minute.
    ///
    /// # Errors
    ///
    /// 413 beyond the limit, 408 after a minute, 400 where the connection breaks off.
    pub async fn read(self, limit: usize) -> Result<Bytes, Problem> {
        self.read_within(limit, BODY_TIME_MAX).await
    }

    /// As [`RequestBody::read`], within another time.
    ///
    /// # Errors
    ///
    /// As [`RequestBody::read`].
    pub async fn read_within(self, limit: usize, time_max: Duration) -> Result<Bytes, Problem> {
        let mut incoming = match self {
            Self::Bytes(bytes) if bytes.len() <= limit => return Ok(bytes),
            Self::Bytes(_) => return Err(too_large(limit)),
            Self::Incoming(incoming) => incoming,
        };
        let read = async move {
            let mut whole = BytesMut::new();
            let mut first = Bytes::new();
            while let Some(frame) = incoming.frame().await {
                let frame = frame.map_err(|_| {
                    Problem::of(Kind::BadRequest)
                        .detail("The request body ended before its declared length.")
                })?;
                let Ok(data) = frame.into_data() else { continue };
                if whole.len() + first.len() + data.len() > limit {
                    return Err(too_large(limit));
                }
                if first.is_empty() && whole.is_empty() {
                    first = data;
                } else {
                    if whole.is_empty() {
                        whole.extend_from_slice(&first);
                        first = Bytes::new();
                    }
                    whole.extend_from_slice(&data);
                }
            }
            Ok(if whole.is_empty() { first } else { whole.freeze() })
        };
        tokio::time::timeout(time_max, read).await.unwrap_or_else(|_| {
            Err(Problem::of(Kind::RequestTimeout).detail(format!(
                "The request body did not arrive within {} seconds.",
                time_max.as_secs()
            )))
        })
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::of(Kind::PayloadTooLarge)
        .detail(format!("The request body is larger than the {limit} bytes allowed here."))
        .hint("Send one document a request; load many records with the bulk service.")
}
