//! The body of a request while it is sent, and its progress.
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

/// A body that is being sent.
pub struct Outgoing {
    content: Content,
    progress: Arc<Progress>,
    /// Rings when a stream has nothing to send for too long. Nobody else would notice once the
    /// answer is there.
    alarm: Alarm,
    /// The permit of the request. The answer shares it; it is returned when both are dropped.
    _permit: Permit,
}

/// The source of the bytes to send.
pub enum Content {
    /// The rest of a whole body.
    Whole(Bytes),
    /// A stream, and the number of bytes left if its length was declared.
    Streamed(Stream, Option<u64>),
}

/// The progress of a request.
pub struct Progress {
    state: Mutex<State>,
    done: Notify,
    /// Wakes the body while it waits for its stream.
    waker: Mutex<Option<Waker>>,
}

/// The state of a request that is being sent.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// The time at which the connection last accepted a part, or the request before the first part.
    pub moved: Instant,
    /// Whether the connection has accepted everything.
    pub is_done: bool,
    /// Whether the stream ended with an error.
    pub is_broken: bool,
    /// Whether the caller has abandoned the request.
    pub is_abandoned: bool,
}

impl Outgoing {
    /// Starts sending a body. The second value reports the progress.
    pub fn new(content: Content, alarm: Alarm, permit: Permit) -> (Self, Arc<Progress>) {
        let is_done = content.is_sent();
        let state = State { moved: Instant::now(), is_done, is_broken: false, is_abandoned: false };
        let progress = Arc::new(Progress {
            state: Mutex::new(state),
            done: Notify::new(),
            waker: Mutex::default(),
        });
        (Self { content, progress: Arc::clone(&progress), alarm, _permit: permit }, progress)
    }

    /// Returns the reason why the body ends early, if it does.
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
    /// Returns the state of the request.
    pub fn state(&self) -> State {
        *self.lock()
    }

    /// Records that the connection has accepted something.
    pub fn moved(&self) {
        self.lock().moved = Instant::now();
    }

    /// Waits until the connection has accepted everything.
    pub async fn done(&self) {
        self.done.notified().await;
    }

    /// Ends the body early, and with it the connection, or the stream on HTTP/2.
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

/// Subtracts a part from the declared length; a stream that is longer or shorter is an error.
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
