//! Room for large answers until their callers have read them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use homeroom_http::{Body, BodyError, BudgetFigures, Problem, Response, STREAM_BYTES};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::budget::{Capacity, Holders, Kind as HolderKind, Refused, Taken};
use crate::budgets::Budgets;
use crate::callers::Callers;
use crate::limits::Limits;

/// Answers up to this size are not counted: a connection's own buffers are larger.
pub(crate) const SMALL_ANSWER: u64 = 16 << 10;
/// HTTP/2 answers up to this size are covered by what the open request takes. The limit is lower
/// because many answers can wait on one connection.
pub(crate) const SMALL_STREAM_ANSWER: u64 = 1 << 10;
/// How often, and with what pause, an answer retries for room that stalled callers give back.
const ROOM_ROUNDS: u32 = 20;
const ROOM_PAUSE: Duration = Duration::from_millis(25);

/// The budgets of answers, and the answers that wait for them.
pub(crate) struct AnswerRoom {
    budgets: Arc<Budgets>,
    callers: Arc<Callers>,
    /// Room for answers that wait for their budget, for keys and for public routes.
    waiting: WaitingRoom,
    public_waiting: WaitingRoom,
}

/// Room for answers that wait, in KiB.
struct WaitingRoom {
    name: &'static str,
    size: usize,
    free: Semaphore,
    refused: AtomicU64,
}

impl WaitingRoom {
    fn new(name: &'static str, bytes: usize) -> Self {
        let size = (bytes >> 10).clamp(1, Semaphore::MAX_PERMITS);
        Self { name, size, free: Semaphore::new(size), refused: AtomicU64::new(0) }
    }

    /// Takes room for an answer; one that is larger than all of the room takes all of it.
    fn take(&self, bytes: u64) -> Option<SemaphorePermit<'_>> {
        let kib = usize::try_from(bytes.div_ceil(1 << 10)).unwrap_or(self.size).min(self.size);
        let taken = self.free.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX));
        taken.inspect_err(|_| _ = self.refused.fetch_add(1, Ordering::Relaxed)).ok()
    }

    fn figures(&self) -> BudgetFigures {
        BudgetFigures {
            name: self.name,
            size: (self.size as u64) << 10,
            used: (self.size.saturating_sub(self.free.available_permits()) as u64) << 10,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl AnswerRoom {
    /// Creates the room, with no answer in it.
    pub(crate) fn new(budgets: &Arc<Budgets>, callers: &Arc<Callers>, limits: &Limits) -> Self {
        let public = limits.waiting_public_answer_bytes;
        Self {
            budgets: Arc::clone(budgets),
            callers: Arc::clone(callers),
            waiting: WaitingRoom::new("waiting_answers", limits.waiting_answer_bytes),
            public_waiting: WaitingRoom::new("waiting_public_answers", public),
        }
    }

    /// Returns the figures of the answers that wait for room.
    pub(crate) fn figures(&self) -> [BudgetFigures; 2] {
        [self.waiting.figures(), self.public_waiting.figures()]
    }

    /// Takes room for a large answer, until its last byte has been handed to the system. A stream
    /// takes the room of what is under way of it.
    ///
    /// # Errors
    ///
    /// 503 when there is no room.
    pub(crate) async fn hold(
        &self,
        capacity: Capacity,
        holders: &Holders,
        small: u64,
        response: Response,
    ) -> Result<Response, Problem> {
        let size = match response.body().as_whole() {
            Some(bytes) if bytes.len() as u64 <= small => return Ok(response),
            Some(bytes) => bytes.len() as u64,
            None => STREAM_BYTES as u64,
        };
        let place = match self.budgets.take(capacity, holders, size) {
            Ok(place) => place,
            Err(refused) => Box::pin(self.wait_for_room(capacity, holders, size, refused)).await?,
        };
        Ok(response.map(|body| {
            if body.is_stream() {
                return Body::stream(HeldStream { body, place: Arc::new(place) });
            }
            body.map(|bytes| Bytes::from_owner(HeldBytes { bytes, _place: place }))
        }))
    }

    /// Closes connections that read their answers too slowly, and waits briefly for the room that
    /// this frees. When only the asking holder's share is used up, only that holder's connections
    /// are closed. The waiting answer is in memory already, so waiting answers have a limit of
    /// their own.
    async fn wait_for_room(
        &self,
        capacity: Capacity,
        holders: &Holders,
        size: u64,
        mut refused: Refused,
    ) -> Result<Taken, Refused> {
        let waiting = match capacity {
            Capacity::PublicAnswers => &self.public_waiting,
            _ => &self.waiting,
        };
        let Some(_waits) = waiting.take(size) else { return Err(refused) };
        for _ in 0..ROOM_ROUNDS {
            let of = match refused.share_of() {
                None => None,
                // A connection's own share is freed only when its caller reads.
                Some(HolderKind::Connection) => return Err(refused),
                Some(HolderKind::Address | HolderKind::Key) => holders.owner.as_ref(),
            };
            if !self.callers.close_stalled(capacity, of) {
                return Err(refused);
            }
            tokio::time::sleep(ROOM_PAUSE).await;
            refused = match self.budgets.take(capacity, holders, size) {
                Ok(place) => return Ok(place),
                Err(refused) => refused,
            };
        }
        Err(refused)
    }
}

/// An answer's bytes and their place; both are released when the last byte has been handed to the
/// system.
struct HeldBytes {
    bytes: Bytes,
    _place: Taken,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// An answer's stream. Its place is released when its last part has been handed to the system.
struct HeldStream {
    body: Body,
    place: Arc<Taken>,
}

/// A part of a stream.
struct HeldPart {
    bytes: Bytes,
    _place: Arc<Taken>,
}

impl AsRef<[u8]> for HeldPart {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for HeldStream {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let held = |bytes| Bytes::from_owner(HeldPart { bytes, _place: Arc::clone(&self.place) });
        Poll::Ready(next.map(|next| Ok(next?.map_data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
