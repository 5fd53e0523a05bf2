//! Plain HTTP/1.1 connections that are driven by whoever waits for their answer.
//!
//! The usual pool gives each connection a task of its own, which passes on what it reads: for every
//! request and every part of an answer one task wakes another, often on another core. Here the waiting
//! task reads and writes itself. That suits a request that is short enough to be sent before anybody
//! reads its answer; a streamed one must move on although nobody does. Nothing else drives the connection, so nothing
//! that the task does to it need wake the task.
#![expect(clippy::disallowed_methods, reason = "connections rest for a limited time")]

use std::collections::HashMap;
use std::future::Future as _;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use crate::connect::Socket;
use crate::outgoing::Outgoing;
use crate::quiet::{QuietWaker, quietly};
use crate::url::Origin;

/// The longest time between two searches for connections that have rested for too long.
const SWEEP_MAX: Duration = Duration::from_secs(5);

/// The connections that rest between two requests. Clones share them.
#[derive(Clone)]
pub struct Resting(Arc<Shared>);

struct Shared {
    most: usize,
    time: Duration,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    by_origin: HashMap<Arc<Origin>, Vec<(Driven, Instant)>>,
    /// Whether a task searches for connections that have rested for too long.
    is_swept: bool,
}

/// A connection. Dropping it closes it.
struct Driven {
    sender: SendRequest<Outgoing>,
    /// Large, and often moved.
    connection: Box<Connection<TokioIo<Socket>, Outgoing>>,
    /// Rings when the answer of a request is late; [`None`] before the first.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Wakes the task that drives it.
    waker: QuietWaker,
}

/// A connection that is lent for a request. Dropping it closes it.
pub struct Lent {
    /// [`None`] once the connection has ended.
    driven: Option<Driven>,
    origin: Arc<Origin>,
    resting: Resting,
}

/// Why a request has no answer.
pub struct Unanswered {
    /// The reason.
    pub error: hyper::Error,
    /// The request, if nothing of it was sent.
    pub unsent: Option<Request<Outgoing>>,
}

impl Resting {
    /// Keeps at most this many connections to an origin, each for this long.
    pub fn new(most: usize, time: Duration) -> Self {
        Self(Arc::new(Shared { most, time, all: Mutex::default() }))
    }

    /// Takes a connection that rests.
    pub fn take(&self, origin: &Arc<Origin>) -> Option<Lent> {
        loop {
            let (driven, since) = self.0.lock().by_origin.get_mut(origin)?.pop()?;
            // Whether the server has closed it, or has sent what nobody asked for, is found out before anything
            // is sent.
            if since.elapsed() < self.0.time {
                return Some(self.lend(driven, origin));
            }
        }
    }

    /// Begins to speak HTTP/1.1 on a connection that was opened.
    ///
    /// # Errors
    ///
    /// The reason why it cannot.
    pub async fn begin(
        &self,
        socket: TokioIo<Socket>,
        origin: &Arc<Origin>,
    ) -> Result<Lent, hyper::Error> {
        let (sender, connection) = handshake(socket).await?;
        let connection = Box::new(connection);
        let waker = QuietWaker::default();
        Ok(self.lend(Driven { sender, connection, alarm: None, waker }, origin))
    }

    fn lend(&self, driven: Driven, origin: &Arc<Origin>) -> Lent {
        Lent { driven: Some(driven), origin: Arc::clone(origin), resting: self.clone() }
    }

    fn keep(&self, driven: Driven, origin: Arc<Origin>) {
        let mut all = self.0.lock();
        let resting = all.by_origin.entry(origin).or_default();
        if resting.len() >= self.0.most {
            return;
        }
        resting.push((driven, Instant::now()));
        if !all.is_swept
            && let Ok(runtime) = Handle::try_current()
        {
            all.is_swept = true;
            drop(runtime.spawn(sweep(Arc::downgrade(&self.0))));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connections that have rested for too long or were closed by the server. Returns whether
    /// none is left.
    fn sweep(&self) -> bool {
        let mut all = self.lock();
        all.by_origin.retain(|_, resting| {
            resting.retain_mut(|(driven, since)| since.elapsed() < self.time && driven.rests());
            !resting.is_empty()
        });
        all.is_swept = !all.by_origin.is_empty();
        !all.is_swept
    }
}

async fn sweep(shared: Weak<Shared>) {
    let Some(pause) = shared.upgrade().map(|shared| shared.time.min(SWEEP_MAX)) else { return };
    loop {
        tokio::time::sleep(pause).await;
        if shared.upgrade().is_none_or(|shared| shared.sweep()) {
            return;
        }
    }
}

impl Driven {
    /// Returns whether the connection is open and ready for a request.
    fn rests(&mut self) -> bool {
        self.drive(&mut nobody()).is_pending() && self.sender.is_ready()
    }

    /// Reads and writes what can be. Ready once the connection has ended.
    fn drive(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let waker = self.waker.of(context.waker());
        // Who waits for an answer gets the reason from there.
        Pin::new(&mut self.connection).poll(&mut Context::from_waker(waker)).map(drop)
    }
}

impl Lent {
    /// Sends a request and returns the head of its answer. `late` is asked whenever there is none yet, with the
    /// alarm of the connection.
    pub async fn ask<E>(
        &mut self,
        request: Request<Outgoing>,
        mut late: impl FnMut(&mut Option<Pin<Box<Sleep>>>, &mut Context<'_>) -> Poll<E>,
    ) -> Result<Result<Response<Incoming>, Unanswered>, E> {
        let sender = &mut self.driven.as_mut().expect("a connection is lent once").sender;
        let mut answering = pin!(quietly(|| sender.try_send_request(request)));
        std::future::poll_fn(|context| {
            self.drive(context);
            if let Poll::Ready(done) = answering.as_mut().poll(&mut nobody()) {
                return Poll::Ready(Ok(done.map_err(|mut failed| Unanswered {
                    unsent: failed.take_message(),
                    error: failed.into_error(),
                })));
            }
            // Without a connection there is a reason for that instead of an answer.
            self.driven.as_mut().map_or(Poll::Pending, |own| late(&mut own.alarm, context).map(Err))
        })
        .await
    }

    /// Returns the next frame of the answer's body.
    pub fn poll_frame(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, hyper::Error>>> {
        let read = |body: &mut Incoming| quietly(|| Pin::new(body).poll_frame(&mut nobody()));
        // The first look asks the connection for more.
        let first = read(body);
        if first.is_ready() || !self.drive(context) {
            return first;
        }
        read(body)
    }

    /// Lets the connection rest once its answer has been read. If some of the request is still to be
    /// sent, it is, and the connection closes afterwards.
    pub fn rest(mut self) {
        let Some(mut driven) = self.driven.take() else { return };
        if !driven.sender.is_ready() && driven.drive(&mut nobody()).is_ready() {
            return;
        }
        if driven.sender.is_ready() {
            self.resting.keep(driven, self.origin);
        } else if let Ok(runtime) = Handle::try_current() {
            let Driven { sender, connection, .. } = driven;
            drop(sender);
            drop(runtime.spawn(async { _ = connection.await }));
        }
    }

    /// Reads and writes what can be. Returns whether there was a connection to do so.
    fn drive(&mut self, context: &mut Context<'_>) -> bool {
        let Some(driven) = &mut self.driven else { return false };
        if driven.drive(context).is_ready() {
            self.driven = None;
        }
        true
    }
}

/// A context that wakes nobody: the connection, polled just before, wakes the task.
fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
