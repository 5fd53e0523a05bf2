//! The body of a request on its way, and how far it has got.
#![expect(clippy::disallowed_methods, reason = "each phase of a request has a time limit")]

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::permits::Permit;
use crate::request::Stream;
use crate::stall::Alarm;

/// The most bytes of a whole body that are handed to the connection at once.
const PART_MAX: usize = 64 << 10;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Part = Result<Frame<Bytes>, BoxError>;

/// A body on its way.
pub struct Outgoing {
    content: Content,
    progress: Arc<Progress>,
    /// Rings when a stream has nothing to send for too long. Nobody else would notice once the answer is
    /// there.
    alarm: Alarm,
    /// The permit of the request. The answer shares it; it is returned when both are dropped.
    _permit: Arc<Permit>,
}

/// What is sent.
pub enum Content {
    /// The rest of a whole body.
    Whole(Bytes),
    /// A stream, and how many bytes of it are left if that was declared.
    Streamed(Stream, Option<u64>),
}

/// How far a request has got.
pub struct Progress {
    state: Mutex<State>,
    done: Notify,
    /// Wakes the body while it waits for its stream.
    waker: Mutex<Option<Waker>>,
}

/// What is known of a request on its way.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// When the connection last took a part; before the first part, when it took the request.
    pub moved: Instant,
    /// Whether the connection has taken everything.
    pub is_done: bool,
    /// Whether the stream ended with an error.
    pub is_broken: bool,
    /// Whether nobody waits for the answer any more.
    pub is_abandoned: bool,
}

impl Outgoing {
    /// Starts a body. The second value tells how far it has got.
    pub fn new(content: Content, alarm: Alarm, permit: Arc<Permit>) -> (Self, Arc<Progress>) {
        let is_done = content.is_sent();
        let state = State { moved: Instant::now(), is_done, is_broken: false, is_abandoned: false };
        let progress = Arc::new(Progress {
            state: Mutex::new(state),
            done: Notify::new(),
            waker: Mutex::default(),
        });
        (Self { content, progress: Arc::clone(&progress), alarm, _permit: permit }, progress)
    }

    /// Returns why the body ends before it was sent, if it does.
    fn ended(&self) -> Option<BoxError> {
        if self.progress.state().is_abandoned {
            return Some("nobody waits for the answer any more".into());
        }
        self.alarm.over().map(Into::into)
    }
}

impl Content {
    fn is_sent(&self) -> bool {
        match self {
            Self::Whole(rest) => rest.is_empty(),
            Self::Streamed(_, Some(left)) => *left == 0,
            Self::Streamed(stream, None) => stream.is_end_stream(),
        }
    }
}

impl Progress {
    /// Returns how far the request has got.
    pub fn state(&self) -> State {
        *self.lock()
    }

    /// Notes that the connection has taken something.
    pub fn moved(&self) {
        self.lock().moved = Instant::now();
    }

    /// Waits until the connection has taken everything.
    pub async fn done(&self) {
        self.done.notified().await;
    }

    /// Ends the body before it was sent, and with it the connection or the stream of HTTP/2.
    pub fn abandon(&self) {
        self.lock().is_abandoned = true;
        if let Some(waker) = self.waker().take() {
            waker.wake();
        }
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, is_done: bool) {
        self.moved();
        if is_done && !std::mem::replace(&mut self.lock().is_done, true) {
            self.done.notify_one();
        }
    }
}

/// Takes a part off the length that was declared. The end and every part must agree with it.
fn measured(part: Option<Part>, left: &mut Option<u64>) -> Option<Part> {
    let Some(left) = left else { return part };
    match part {
        Some(Ok(frame)) => {
            let length = frame.data_ref().map_or(0, |data| data.len() as u64);
            let Some(rest) = left.checked_sub(length) else {
                return Some(Err("the stream is longer than its declared length".into()));
            };
            *left = rest;
            Some(Ok(frame))
        }
        None if *left > 0 => Some(Err("the stream is shorter than its declared length".into())),
        other => other,
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Part>> {
        let this = &mut *self;
        if let Some(error) = this.ended() {
            return Poll::Ready(Some(Err(error)));
        }
        match &mut this.content {
            Content::Whole(rest) => {
                if rest.is_empty() {
                    return Poll::Ready(None);
                }
                let part = rest.split_to(rest.len().min(PART_MAX));
                this.progress.note(rest.is_empty());
                Poll::Ready(Some(Ok(Frame::data(part))))
            }
            Content::Streamed(stream, left) => {
                let polled = stream.as_mut().poll_frame(context).map(|part| measured(part, left));
                let part = match this.alarm.watch(polled, context) {
                    Poll::Ready(Ok(part)) => part,
                    Poll::Ready(Err(stalled)) => return Poll::Ready(Some(Err(stalled.into()))),
                    Poll::Pending => {
                        *this.progress.waker() = Some(context.waker().clone());
                        // The request may have been abandoned before the waker was there.
                        return this.ended().map_or(Poll::Pending, |e| Poll::Ready(Some(Err(e))));
                    }
                };
                match &part {
                    Some(Ok(_)) => this.progress.note(this.content.is_sent()),
                    Some(Err(_)) => this.progress.lock().is_broken = true,
                    None => this.progress.note(true),
                }
                Poll::Ready(part)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_sent()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(rest) => SizeHint::with_exact(rest.len() as u64),
            Content::Streamed(_, Some(left)) => SizeHint::with_exact(*left),
            Content::Streamed(stream, None) => stream.size_hint(),
        }
    }
}
