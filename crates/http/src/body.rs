//! The body of a request: read whole or as a stream, within limits on size, time and rate.
#![expect(clippy::disallowed_methods, reason = "a body has a time limit and a least rate")]

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::problem::{Kind, Problem};
use crate::quiet::quietly;

/// Initial buffer size of a body that does not arrive at once.
const BUFFER_BYTES_MIN: usize = 4 << 10;
/// Room that a streamed body takes: what has arrived and is not yet consumed.
pub const STREAM_BYTES: usize = 128 << 10;

/// Limits of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Most bytes; 0 for a route whose requests have no body.
    pub bytes: usize,
    /// Longest time for the whole body to arrive.
    pub time: Duration,
    /// How long a body may arrive more slowly than `rate`.
    pub grace: Duration,
    /// Bytes per second at which a body must arrive on average after `grace`.
    pub rate: u64,
}

impl BodyLimits {
    /// Limits of a route whose requests have no body.
    pub const NONE: Self = Self::of_bytes(0);

    /// Returns the usual limits of a body of at most this many bytes: one minute, and 16 KiB per
    /// second after 10 s.
    pub const fn of_bytes(bytes: usize) -> Self {
        let (time, grace) = (Duration::from_mins(1), Duration::from_secs(10));
        Self { bytes, time, grace, rate: 16 << 10 }
    }

    /// Returns the same limits with another time for the whole body.
    #[must_use]
    pub const fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// Returns how long a body may take of which this many bytes have arrived.
    fn time_for(&self, bytes: usize) -> Duration {
        let at_rate = Duration::from_millis(bytes as u64 * 1_000 / self.rate.max(1));
        self.time.min(self.grace.saturating_add(at_rate))
    }

    fn too_large(&self) -> Problem {
        Problem::of(Kind::PayloadTooLarge)
            .detail(format!(
                "The request body is larger than the {} bytes allowed here.",
                self.bytes
            ))
            .hint("Send one document per request; load many records with `homeroom load`.")
    }

    fn too_slow(&self) -> Problem {
        Problem::of(Kind::RequestTimeout).detail(format!(
            "The request body did not arrive in time: it must be complete after {} seconds, and \
             after {} seconds at least {} KiB must arrive per second.",
            self.time.as_secs(),
            self.grace.as_secs().min(self.time.as_secs()),
            self.rate >> 10,
        ))
    }
}

/// Admits a body: grants room for its bytes, and what the request needs once it is complete.
pub trait Admission: Debug + Send + Sync {
    /// Takes room for more bytes, before they are kept.
    ///
    /// # Errors
    ///
    /// 503 where there is no room.
    fn grow(&self, bytes: usize) -> Result<(), Problem>;

    /// Records that a streamed body made progress.
    fn moved(&self);

    /// Takes what a request needs once its body is complete.
    ///
    /// # Errors
    ///
    /// The wait for room, where there is none.
    fn whole(self: Arc<Self>) -> Result<(), InTurn>;
}

/// A wait for room, which ends with 503 where none comes in time.
pub type InTurn = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

/// A request's body, not yet read.
#[derive(Debug)]
pub enum RequestBody {
    /// Arrives over a connection.
    Incoming(Coming),
    /// Arrives over a connection and takes room as it does.
    Admitted(Coming, Arc<dyn Admission>),
    /// Is in memory.
    Bytes(Bytes),
}

/// A body that arrives over a connection, with what was looked at of it before anybody asked for it.
#[derive(Debug)]
pub struct Coming {
    ahead: Option<Result<Bytes, hyper::Error>>,
    rest: Incoming,
}

impl RequestBody {
    /// Returns whether the body is known to be empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Incoming(incoming) | Self::Admitted(incoming, _) => incoming.is_end_stream(),
            Self::Bytes(bytes) => bytes.is_empty(),
        }
    }

    /// Returns the same body. If it states that it has at most `most` bytes, and all of them have arrived with its
    /// head, it is in memory then: in the buffer of its connection, where they are anyway.
    ///
    /// The task must be that of the connection, and the request none whose caller waits to be told to send the body.
    pub fn at_hand(self, most: u64) -> impl Future<Output = Self> {
        let mut body = Some(self);
        std::future::poll_fn(move |context| {
            // The first poll is ready, so there is no second one.
            let Some(body) = body.take() else { return Poll::Pending };
            Poll::Ready(body.taken_at_hand(most, context))
        })
    }

    fn taken_at_hand(self, most: u64, context: &Context<'_>) -> Self {
        let Self::Incoming(mut coming) = self else { return self };
        let is_short = coming.rest.size_hint().exact().is_some_and(|all| all <= most);
        if !is_short || coming.ahead.is_some() {
            return Self::Incoming(coming);
        }
        let mut nobody = Context::from_waker(Waker::noop());
        let next = quietly(|| Pin::new(&mut coming.rest).poll_frame(&mut nobody));
        if let Poll::Ready(next) = next {
            let data = |frame: Frame<Bytes>| frame.into_data().unwrap_or_default();
            coming.ahead = next.map(|next| next.map(data));
            if !coming.rest.is_end_stream() {
                // The connection reads on after all.
                context.waker().wake_by_ref();
            }
        }
        match coming.ahead.take() {
            Some(Ok(whole)) if coming.rest.is_end_stream() => Self::Bytes(whole),
            ahead => Self::Incoming(Coming { ahead, ..coming }),
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

    /// Reads the whole body into memory.
    ///
    /// # Errors
    ///
    /// 413 beyond the limit on bytes, 408 when the body arrives too slowly, 400 where the connection
    /// breaks off, 503 where there is no room.
    pub async fn read(self, limits: BodyLimits) -> Result<Bytes, Problem> {
        let (incoming, admission) = match self {
            Self::Bytes(bytes) if bytes.len() <= limits.bytes => return Ok(bytes),
            Self::Bytes(_) => return Err(limits.too_large()),
            Self::Incoming(incoming) => (incoming, None),
            Self::Admitted(incoming, admission) => (incoming, Some(admission)),
        };
        let arriving = Arriving::new(Source::Incoming(incoming), limits);
        let whole = read(arriving, admission.as_deref()).await?;
        if let Some(admission) = admission
            && let Err(wait) = admission.whole()
        {
            wait.await?;
        }
        Ok(whole)
    }

    /// Returns the body as a stream, whose next bytes are read from the connection only when they
    /// are asked for.
    ///
    /// # Errors
    ///
    /// 503 where there is no room for another stream. The stream itself ends with the errors of
    /// [`RequestBody::read`].
    pub fn stream(self, limits: BodyLimits) -> Result<BodyStream, Problem> {
        let (source, admission) = match self {
            Self::Bytes(bytes) => (Source::Bytes(bytes), None),
            Self::Incoming(incoming) => (Source::Incoming(incoming), None),
            Self::Admitted(incoming, admission) => (Source::Incoming(incoming), Some(admission)),
        };
        if let Some(admission) = &admission {
            admission.grow(STREAM_BYTES)?;
        }
        Ok(BodyStream { arriving: Arriving::new(source, limits), admission, waits: None })
    }
}

impl Coming {
    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.ahead.take() {
            Some(ahead) => Poll::Ready(Some(ahead.map(Frame::data))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = match &self.ahead {
            Some(Ok(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        match self.rest.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + ahead),
            None => self.rest.size_hint(),
        }
    }
}

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> Self {
        Self::Incoming(Coming { ahead: None, rest: body })
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

/// A request's body as a stream of bytes. Trailers are passed over.
pub struct BodyStream {
    arriving: Arriving,
    admission: Option<Arc<dyn Admission>>,
    /// The wait for room once all has arrived.
    waits: Option<InTurn>,
}

impl Debug for BodyStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyStream").field("arriving", &self.arriving).finish_non_exhaustive()
    }
}

impl BodyStream {
    /// Returns the next bytes; [`None`] at the end.
    ///
    /// # Errors
    ///
    /// The same as [`RequestBody::read`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let Some(frame) = self.frame().await.transpose()? else { return Ok(None) };
        Ok(Some(frame.into_data().unwrap_or_default()))
    }

    /// Reads ahead until the body ends, has more than `most` bytes, or `time` is over. Returns what has
    /// arrived, and whether that is all. A stream has room for [`STREAM_BYTES`].
    ///
    /// # Errors
    ///
    /// The same as [`RequestBody::read`].
    pub async fn read_ahead(
        &mut self,
        most: usize,
        time: Duration,
    ) -> Result<(Bytes, bool), Problem> {
        let until = Instant::now() + time;
        let mut ahead = Vec::new();
        while ahead.len() <= most {
            let Ok(next) = tokio::time::timeout_at(until, self.next()).await else {
                return Ok((ahead.into(), false));
            };
            let Some(data) = next? else { return Ok((ahead.into(), true)) };
            ahead.extend_from_slice(&data);
        }
        Ok((ahead.into(), false))
    }

    /// Returns how many bytes have arrived.
    pub fn bytes(&self) -> usize {
        self.arriving.bytes
    }
}

impl HttpBody for BodyStream {
    type Data = Bytes;
    type Error = Problem;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Problem>>> {
        if let Some(waits) = &mut self.waits {
            let room = ready!(waits.as_mut().poll(cx));
            self.waits = None;
            return Poll::Ready(room.err().map(Err));
        }
        let next = ready!(self.arriving.poll(cx));
        match (&next, &self.admission) {
            (Some(Ok(_)), Some(admission)) => admission.moved(),
            (None, Some(_)) => {
                if let Some(Err(waits)) = self.admission.take().map(Admission::whole) {
                    self.waits = Some(waits);
                    return self.poll_frame(cx);
                }
            }
            _ => {}
        }
        Poll::Ready(next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.admission.is_none() && self.waits.is_none() && self.arriving.source.is_end()
    }

    fn size_hint(&self) -> SizeHint {
        self.arriving.source.size_hint()
    }
}

/// Where a body comes from.
#[derive(Debug)]
enum Source {
    Incoming(Coming),
    Bytes(Bytes),
}

impl Source {
    fn is_end(&self) -> bool {
        match self {
            Self::Incoming(incoming) => incoming.is_end_stream(),
            Self::Bytes(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Incoming(incoming) => incoming.size_hint(),
            Self::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

/// A body that arrives within its limits.
#[derive(Debug)]
struct Arriving {
    source: Source,
    limits: BodyLimits,
    begun: Instant,
    bytes: usize,
    /// Made when the body has to be waited for.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Arriving {
    fn new(source: Source, limits: BodyLimits) -> Self {
        Self { source, limits, begun: Instant::now(), bytes: 0, timer: None }
    }

    /// Returns the next bytes; [`None`] at the end.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Problem>>> {
        let data = match &mut self.source {
            Source::Bytes(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Source::Bytes(bytes) => std::mem::take(bytes),
            Source::Incoming(incoming) => loop {
                match incoming.poll_frame(cx) {
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(data) = frame.into_data() {
                            break data;
                        }
                    }
                    Poll::Ready(Some(Err(_))) => {
                        return Poll::Ready(Some(Err(Problem::of(Kind::BadRequest)
                            .detail("The request body ended before its declared length."))));
                    }
                    Poll::Pending => {
                        let deadline = self.begun + self.limits.time_for(self.bytes);
                        let timer =
                            self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
                        if timer.deadline() != deadline {
                            timer.as_mut().reset(deadline);
                        }
                        ready!(timer.as_mut().poll(cx));
                        return Poll::Ready(Some(Err(self.limits.too_slow())));
                    }
                }
            },
        };
        self.bytes += data.len();
        if self.bytes > self.limits.bytes {
            return Poll::Ready(Some(Err(self.limits.too_large())));
        }
        Poll::Ready(Some(Ok(data)))
    }
}

async fn read(mut arriving: Arriving, admission: Option<&dyn Admission>) -> Result<Bytes, Problem> {
    let limit = arriving.limits.bytes;
    let mut whole = Vec::new();
    while let Some(data) = std::future::poll_fn(|cx| arriving.poll(cx)).await.transpose()? {
        if whole.is_empty() && arriving.source.is_end() {
            return Ok(data);
        }
        // A piece is copied, because it keeps the buffer that it came in alive.
        let more = growth(&whole, data.len(), arriving.source.size_hint().upper(), limit);
        if more > 0 {
            if let Some(admission) = admission {
                admission.grow(more)?;
            }
            whole.reserve_exact(whole.capacity() + more - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_body_grows_with_its_bytes_up_to_the_limit() {
        let limits = BodyLimits::of_bytes(10 << 20);
        for (bytes, seconds) in [(0, 10), (100, 10), (160 << 10, 20), (10 << 20, 60)] {
            assert_eq!(limits.time_for(bytes).as_secs(), seconds, "{bytes}");
        }
        let short = limits.within(Duration::from_secs(5));
        assert_eq!(short.time_for(10 << 20).as_secs(), 5);
    }

    #[test]
    fn a_buffer_grows_with_what_has_arrived_and_not_with_what_is_announced() {
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

    #[tokio::test]
    async fn a_stream_of_bytes_in_memory_has_the_same_limit() {
        let limits = BodyLimits::of_bytes(4);
        let mut fits = RequestBody::Bytes("four".into()).stream(limits).unwrap();
        assert_eq!(fits.next().await.unwrap().unwrap(), "four");
        assert!(fits.next().await.unwrap().is_none());

        let mut long = RequestBody::Bytes("fives".into()).stream(limits).unwrap();
        assert_eq!(long.next().await.unwrap_err().kind, Kind::PayloadTooLarge);
    }

    /// Room that comes after a while.
    #[derive(Debug)]
    struct Late(tokio::sync::Semaphore);

    impl Admission for Late {
        fn grow(&self, _bytes: usize) -> Result<(), Problem> {
            Ok(())
        }

        fn moved(&self) {}

        fn whole(self: Arc<Self>) -> Result<(), InTurn> {
            Err(Box::pin(async move {
                let room = self.0.acquire().await.map_err(|_| Problem::busy(1))?;
                room.forget();
                Ok(())
            }))
        }
    }

    #[tokio::test]
    async fn a_stream_that_has_arrived_waits_for_room_before_it_ends() {
        for (comes, is_well) in [(true, true), (false, false)] {
            let late = Arc::new(Late(tokio::sync::Semaphore::new(0)));
            let source = Source::Bytes(Bytes::from_static(b"all"));
            let arriving = Arriving::new(source, BodyLimits::of_bytes(9));
            let admission: Option<Arc<dyn Admission>> = Some(late.clone());
            let mut stream = BodyStream { arriving, admission, waits: None };
            assert_eq!(stream.next().await.unwrap().as_deref(), Some(&b"all"[..]));

            let mut end = Box::pin(stream.next());
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(end.as_mut().poll(&mut cx).is_pending());
            if comes {
                late.0.add_permits(1);
            } else {
                late.0.close();
            }

            assert_eq!(end.await.is_ok_and(|end| end.is_none()), is_well);
            assert!(HttpBody::is_end_stream(&stream));
        }
    }
}
