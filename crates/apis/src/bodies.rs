//! Bodies on their way: of requests to upstreams, and of their answers.
#![expect(clippy::disallowed_methods, reason = "an answer has a time limit")]

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use homeroom_client::{Request, Url};
use homeroom_gateway::{Share, Turn};
use homeroom_http::{BodyError, BodyStream, Problem};
use http::{HeaderMap, Method};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// A request's body on its way to an upstream.
pub(crate) enum Sent {
    Whole(Bytes),
    Stream(Upload, Option<u64>),
}

impl Sent {
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// Returns whether all of it can be sent to another upstream after one that has got nothing.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Stream(upload, _) => !upload.state().has_begun,
        }
    }

    /// Returns for how long an upstream that was asked at `asked` has had all of it; [`None`] while any of it
    /// is still to come from its caller, or its end waits for its turn.
    pub(crate) fn there_for(&self, asked: Instant) -> Option<Duration> {
        match self {
            Self::Whole(_) => Some(asked.elapsed()),
            Self::Stream(upload, _) => upload.over_for(),
        }
    }

    /// Makes a request with it.
    pub(crate) fn request(&self, method: Method, url: Url, headers: HeaderMap) -> Request {
        let mut request = Request::new(method, url);
        request.headers = headers;
        match self {
            Self::Whole(bytes) => request.body(bytes.clone()),
            Self::Stream(upload, length) => request.stream(upload.clone(), *length),
        }
    }
}

type Entering = Pin<Box<dyn Future<Output = Result<Turn, Problem>> + Send>>;

/// A body that is passed on while it arrives; clones are the same body.
///
/// It holds the place of a stream on its way. Its end is held back until it is the call's turn: what
/// answers works on a request when it has all of it.
#[derive(Clone)]
pub(crate) struct Upload(Arc<Mutex<Uploading>>);

struct Uploading {
    /// What was read ahead.
    ahead: Bytes,
    stream: BodyStream,
    /// The bytes to come, if they were declared.
    left: Option<u64>,
    /// Whether any of it may have been sent.
    has_begun: bool,
    /// Begins to wait for a turn.
    enter: Option<Entering>,
    end: End,
    place: Option<Share>,
    turn: Option<Turn>,
    /// Why it broke off, so that its caller is told and not its upstream blamed.
    broken: Option<Problem>,
}

enum End {
    NotYet,
    /// Waits for its turn with its last bytes.
    Waiting(Entering, Option<Bytes>),
    Over,
}

impl Upload {
    pub(crate) fn new(
        (ahead, stream): (Bytes, BodyStream),
        length: Option<u64>,
        place: Share,
        enter: impl Future<Output = Result<Turn, Problem>> + Send + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(Uploading {
            ahead,
            stream,
            left: length,
            has_begun: false,
            enter: Some(Box::pin(enter)),
            end: End::NotYet,
            place: Some(place),
            turn: None,
            broken: None,
        })))
    }

    /// Returns why it broke off, if it did.
    pub(crate) fn broken(&self) -> Option<Problem> {
        self.state().broken.take()
    }

    /// Returns whether all of it is there, and only its turn is waited for.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.state().end, End::Waiting(..))
    }

    /// Returns how long ago its turn came, and with it its end; [`None`] before.
    pub(crate) fn over_for(&self) -> Option<Duration> {
        self.state().turn.as_ref().map(Turn::age)
    }

    /// Returns the turn, if it has come.
    pub(crate) fn turn(&self) -> Option<Turn> {
        self.state().turn.take()
    }

    fn state(&self) -> MutexGuard<'_, Uploading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Uploading {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Problem>>> {
        self.has_begun = true;
        loop {
            match &mut self.end {
                End::NotYet => {}
                End::Over => return Poll::Ready(None),
                End::Waiting(entering, last) => {
                    let entered = ready!(entering.as_mut().poll(cx));
                    let last = last.take();
                    self.end = End::Over;
                    self.turn = Some(entered?);
                    self.place = None;
                    return Poll::Ready(last.map(Ok));
                }
            }
            let next = if self.ahead.is_empty() {
                let next = ready!(Pin::new(&mut self.stream).poll_frame(cx)).transpose()?;
                next.map(|frame| frame.into_data().unwrap_or_default())
            } else {
                Some(std::mem::take(&mut self.ahead))
            };
            if let (Some(data), Some(left)) = (&next, &mut self.left) {
                *left = left.saturating_sub(data.len() as u64);
            }
            if next.is_some() && self.left != Some(0) {
                return Poll::Ready(next.map(Ok));
            }
            self.end = match self.enter.take() {
                Some(entering) => End::Waiting(entering, next),
                None => End::Over,
            };
        }
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let mut state = self.state();
        let next = ready!(state.poll(cx));
        Poll::Ready(next.map(|next| {
            next.map(Frame::data).map_err(|problem| {
                state.broken = Some(problem);
                std::io::Error::other("the caller's body broke off")
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state().end, End::Over)
    }
}

/// An upstream's body on its way to the caller; what it holds is dropped when it is.
pub(crate) struct Answering<B, H> {
    body: B,
    _held: H,
}

impl<B, H> Answering<B, H> {
    pub(crate) fn new(body: B, held: H) -> Self {
        Self { body, _held: held }
    }
}

impl<B: Unpin, H> Unpin for Answering<B, H> {}

impl<B, H> HttpBody for Answering<B, H>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that breaks off when nothing of it has come for a while, or its time is over.
pub(crate) struct Timed<B> {
    body: B,
    gap: Duration,
    until: Option<Instant>,
    alarm: Pin<Box<Sleep>>,
}

impl<B> Timed<B> {
    pub(crate) fn new(body: B, gap: Duration, until: Option<Instant>) -> Self {
        let alarm = Box::pin(sleep_until(alarm_at(gap, until)));
        Self { body, gap, until, alarm }
    }
}

impl<B> HttpBody for Timed<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let is_over = self.until.is_some_and(|until| until <= Instant::now());
        if !is_over && let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(cx) {
            let next_alarm = alarm_at(self.gap, self.until);
            self.alarm.as_mut().reset(next_alarm);
            return Poll::Ready(next.map(|frame| frame.map_err(Into::into)));
        }
        if !is_over {
            ready!(self.alarm.as_mut().poll(cx));
        }
        Poll::Ready(Some(Err("the answer did not go on in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn alarm_at(gap: Duration, until: Option<Instant>) -> Instant {
    let next = Instant::now() + gap;
    until.map_or(next, |until| until.min(next))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::sync::mpsc;
    use tokio::time::sleep;

    use super::*;

    /// A body of what somebody sends.
    struct Sending(mpsc::Receiver<&'static str>);

    impl HttpBody for Sending {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            let next = ready!(self.0.poll_recv(cx));
            Poll::Ready(next.map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes())))))
        }
    }

    /// What arrives of a body of four parts, one every eight seconds, and the seconds until it ends.
    async fn arrives(gap: u64, whole: Option<u64>) -> (usize, bool, u64) {
        let begun = Instant::now();
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            for _ in 0..4 {
                sleep(Duration::from_secs(8)).await;
                _ = sender.send("part").await;
            }
        });
        let until = whole.map(|seconds| begun + Duration::from_secs(seconds));
        let mut body = Timed::new(Sending(receiver), Duration::from_secs(gap), until);
        let mut parts = 0;
        loop {
            match body.frame().await {
                Some(Ok(_)) => parts += 1,
                ended => return (parts, ended.is_none(), begun.elapsed().as_secs()),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_ends_when_nothing_comes_for_too_long_or_its_time_is_over() {
        assert_eq!(arrives(10, None).await, (4, true, 32));
        assert_eq!(arrives(5, None).await, (0, false, 5));
        assert_eq!(arrives(10, Some(20)).await, (2, false, 20));
    }
}
