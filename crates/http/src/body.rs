//! The body of a request, read once and within limits on size and time.
#![expect(clippy::disallowed_methods, reason = "a body has a time limit and a least rate")]

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::problem::{Kind, Problem};

/// Longest wait for a whole body.
const BODY_TIME_MAX: Duration = Duration::from_mins(1);
/// How long a body may arrive more slowly than [`BODY_RATE_MIN`].
const BODY_GRACE: Duration = Duration::from_secs(10);
/// Bytes per second at which a body must arrive on average after [`BODY_GRACE`].
const BODY_RATE_MIN: u64 = 16 << 10;
/// Initial buffer size of a body that does not arrive at once.
const BUFFER_BYTES_MIN: usize = 4 << 10;

/// Admits a body: grants room for its bytes, and what the request needs once it is complete.
pub trait Admission: Debug + Send + Sync {
    /// Takes room for more bytes, before they are kept.
    ///
    /// # Errors
    ///
    /// 503 where there is no room.
    fn grow(&self, bytes: usize) -> Result<(), Problem>;

    /// Takes what a request needs once its body is complete.
    ///
    /// # Errors
    ///
    /// 503 where there is no room.
    fn whole(&self) -> Result<(), Problem>;
}

/// A request's body, not yet read.
#[derive(Debug)]
pub enum RequestBody {
    /// Arrives over a connection.
    Incoming(Incoming),
    /// Arrives over a connection and takes room as it does.
    Admitted(Incoming, Arc<dyn Admission>),
    /// Is in memory.
    Bytes(Bytes),
}

impl RequestBody {
    /// Returns whether the body is known to be empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Incoming(incoming) | Self::Admitted(incoming, _) => incoming.is_end_stream(),
            Self::Bytes(bytes) => bytes.is_empty(),
        }
    }

    /// Returns the same body, which takes room as it arrives.
    #[must_use]
    pub fn admitted(self, by: Arc<dyn Admission>) -> Self {
        match self {
            Self::Incoming(incoming) | Self::Admitted(incoming, _) => Self::Admitted(incoming, by),
            Self::Bytes(bytes) => Self::Bytes(bytes),
        }
    }

    /// Reads the whole body, at most `limit` bytes and within a minute.
    ///
    /// # Errors
    ///
    /// 413 beyond the limit, 408 after a minute or when the body arrives too slowly, 400 where the
    /// connection breaks off, 503 where there is no room.
    pub async fn read(self, limit: usize) -> Result<Bytes, Problem> {
        self.read_within(limit, BODY_TIME_MAX).await
    }

    /// Does the same as [`RequestBody::read`], within another time.
    ///
    /// # Errors
    ///
    /// The same as [`RequestBody::read`].
    pub async fn read_within(self, limit: usize, time_max: Duration) -> Result<Bytes, Problem> {
        let (incoming, admission) = match self {
            Self::Bytes(bytes) if bytes.len() <= limit => return Ok(bytes),
            Self::Bytes(_) => return Err(too_large(limit)),
            Self::Incoming(incoming) => (incoming, None),
            Self::Admitted(incoming, admission) => (incoming, Some(admission)),
        };
        let whole = read(incoming, admission.as_deref(), limit, time_max).await?;
        if let Some(admission) = admission {
            admission.whole()?;
        }
        Ok(whole)
    }
}

async fn read(
    mut incoming: Incoming,
    admission: Option<&dyn Admission>,
    limit: usize,
    time_max: Duration,
) -> Result<Bytes, Problem> {
    let begun = Instant::now();
    let mut whole = Vec::new();
    loop {
        let deadline = begun + time_for(whole.len(), time_max);
        let Ok(frame) = timeout_at(deadline, incoming.frame()).await else {
            return Err(too_slow(time_max));
        };
        let Some(frame) = frame else { return Ok(whole.into()) };
        let frame = frame.map_err(|_| {
            Problem::of(Kind::BadRequest)
                .detail("The request body ended before its declared length.")
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        if whole.is_empty() && incoming.is_end_stream() {
            return Ok(data);
        }
        // A piece is copied, because it keeps the buffer that it came in alive.
        let more = growth(&whole, data.len(), incoming.size_hint().upper(), limit);
        if more > 0 {
            if let Some(admission) = admission {
                admission.grow(more)?;
            }
            whole.reserve_exact(whole.capacity() + more - whole.len());
        }
        whole.extend_from_slice(&data);
    }
}

/// Returns how long a body may take of which this many bytes have arrived.
fn time_for(bytes: usize, time_max: Duration) -> Duration {
    time_max.min(BODY_GRACE + Duration::from_millis(bytes as u64 * 1_000 / BODY_RATE_MIN))
}

/// Returns by how many bytes a buffer grows to take `more`: it doubles, but not beyond what may
/// still arrive.
fn growth(buffer: &Vec<u8>, more: usize, to_come: Option<u64>, limit: usize) -> usize {
    let needed = buffer.len() + more;
    if needed <= buffer.capacity() {
        return 0;
    }
    let to_come = to_come.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
    let most = needed.saturating_add(to_come).min(limit.max(needed));
    (buffer.capacity() * 2).max(BUFFER_BYTES_MIN).clamp(needed, most) - buffer.capacity()
}

fn too_large(limit: usize) -> Problem {
    Problem::of(Kind::PayloadTooLarge)
        .detail(format!("The request body is larger than the {limit} bytes allowed here."))
        .hint("Send one document per request; load many records with `homeroom load`.")
}

fn too_slow(time_max: Duration) -> Problem {
    Problem::of(Kind::RequestTimeout).detail(format!(
        "The request body did not arrive in time: it must be complete after {} seconds, and after \
         {} seconds at least {} KiB must arrive per second.",
        time_max.as_secs(),
        BODY_GRACE.as_secs().min(time_max.as_secs()),
        BODY_RATE_MIN >> 10,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_time_by_the_bytes_that_have_come_and_never_more_than_all_bodies() {
        for (bytes, seconds) in [(0, 10), (100, 10), (160 << 10, 20), (10 << 20, 60)] {
            assert_eq!(time_for(bytes, BODY_TIME_MAX).as_secs(), seconds, "{bytes}");
        }
        assert_eq!(time_for(10 << 20, Duration::from_secs(5)).as_secs(), 5);
    }

    #[test]
    fn a_buffer_grows_by_what_has_come_and_not_by_what_is_announced() {
        let mut buffer = Vec::new();
        let mut taken = 0;
        for piece in [1, 5_000, 1, 100_000] {
            let more = growth(&buffer, piece, Some(10 << 20), 10 << 20);
            buffer.reserve_exact(buffer.capacity() + more - buffer.len());
            buffer.extend(std::iter::repeat_n(0, piece));
            taken += more;

            assert_eq!(taken, buffer.capacity());
            assert!(taken <= (2 * buffer.len()).max(BUFFER_BYTES_MIN), "{taken}");
        }

        assert_eq!(growth(&Vec::new(), 100, Some(20), 1_000), 120, "no more than is to come");
        assert_eq!(growth(&Vec::new(), 100, None, 150), 150, "no more than may come");
        assert_eq!(growth(&Vec::with_capacity(8), 8, None, 150), 0);
    }
}
