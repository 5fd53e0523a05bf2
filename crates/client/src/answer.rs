//! An answer: its head as soon as it arrives, its body as a whole or in parts.
#![expect(clippy::disallowed_methods, reason = "each phase of a request has a time limit")]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::response::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::driven::Lent;
use crate::error::{Error, Phase, Tried};
use crate::outgoing::Progress;
use crate::permits::Permit;
use crate::stall::rings;
use crate::times::end_of;
use crate::url::Url;

/// The most bytes of an unwanted body that are read so that its connection can be reused.
const DISCARD_MAX: usize = 64 << 10;
/// The longest time for reading an unwanted body.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// An answer whose head has arrived. Its `Debug` form shows no header and no query.
pub struct Answer {
    head: Parts,
    url: Url,
    body: AnswerBody,
}

/// An answer with its whole body. Its `Debug` form shows neither headers nor body.
#[derive(Clone)]
pub struct WholeAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The body of an answer, to be read in parts.
///
/// The request counts as in progress until this body has been read to its end or dropped, and the
/// request's own body has been sent. Dropping it early closes the connection, or resets the stream on
/// HTTP/2, and stops sending the request's body. After it has been read to its end, the rest of the
/// request's body is still sent, as long as the connection accepts it.
pub struct AnswerBody {
    content: Incoming,
    /// The connection, where reading this body drives it.
    lent: Option<Lent>,
    limits: BodyLimits,
    /// Rings when the next part is late. It is set while there is nothing to read.
    alarm: Option<Pin<Box<Sleep>>>,
    is_set: bool,
    /// What was read ahead, or what broke off meanwhile.
    ahead: Option<Result<Bytes, Error>>,
    /// The permit of the request; `None` once this body has been read to its end.
    permit: Option<Permit>,
    upload: Arc<Progress>,
}

/// The request to which a body belongs, and the time limits of the body.
#[derive(Debug, Clone)]
pub struct BodyLimits {
    /// The request.
    pub tried: Tried,
    /// The longest time between two parts.
    pub gap: Duration,
    /// The end of the time for the whole request, and how long that time was.
    pub until: Option<(Instant, Duration)>,
}

impl Answer {
    /// Takes a response that has arrived.
    pub(crate) fn new(
        (response, mut lent): (http::Response<Incoming>, Option<Lent>),
        limits: BodyLimits,
        permit: Permit,
        upload: Arc<Progress>,
    ) -> Self {
        let (head, content) = response.into_parts();
        let permit = (!content.is_end_stream()).then_some(permit);
        if content.is_end_stream() {
            _ = lent.take().map(Lent::rest);
        }
        let url = limits.tried.url.clone();
        Self {
            head,
            url,
            body: AnswerBody {
                content,
                lent,
                limits,
                alarm: None,
                is_set: false,
                ahead: None,
                permit,
                upload,
            },
        }
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns the URL that answered; it differs from the request's if a redirect was followed.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if it has more than `limit` bytes; otherwise what kept it from being read.
    pub async fn whole(mut self, limit: usize) -> Result<WholeAnswer, Error> {
        let too_large = |tried: &Tried| Error::TooLarge { tried: tried.clone(), limit };
        let declared = self.body.size_hint().lower();
        if declared > limit as u64 {
            return Err(too_large(&self.body.limits.tried));
        }
        let mut body = BytesMut::new();
        while let Some(part) = self.body.part().await? {
            if body.len() + part.len() > limit {
                return Err(too_large(&self.body.limits.tried));
            }
            body.extend_from_slice(&part);
        }
        let Parts { status, headers, .. } = self.head;
        Ok(WholeAnswer { status, headers, body: body.freeze() })
    }

    /// Returns the body, to be read in parts.
    pub fn into_body(self) -> AnswerBody {
        self.body
    }

    /// Returns the headers, and the body, to be read in parts.
    pub fn into_parts(self) -> (HeaderMap, AnswerBody) {
        (self.head.headers, self.body)
    }

    /// Reads a short body to its end, so that its connection can be used again. Ends the request's own
    /// body if some of it is left.
    pub(crate) async fn discard(self) {
        let upload = Arc::clone(&self.body.upload);
        _ = tokio::time::timeout(DISCARD_TIME, self.whole(DISCARD_MAX)).await;
        upload.abandon();
    }
}

impl WholeAnswer {
    /// Returns the value of a header, if the answer has it and it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl AnswerBody {
    /// Returns the next part of the body; `None` at its end.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or the part does not come in time.
    pub async fn part(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(frame) = self.frame().await {
            if let Ok(part) = frame?.into_data() {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    /// Returns the whole body if it states that it has at most `most` bytes and they are all there already.
    ///
    /// # Errors
    ///
    /// The body, of which nothing is lost, where that is not so, or it comes by HTTP/2 or TLS.
    pub fn at_hand(self, most: u64) -> impl Future<Output = Result<Bytes, Self>> {
        let mut body = Some(self);
        std::future::poll_fn(move |context| {
            // The first poll is ready, so there is no second one.
            let Some(mut body) = body.take() else { return Poll::Pending };
            Poll::Ready(body.take_at_hand(most, context).ok_or(body))
        })
    }

    /// Takes the whole body if all of it has arrived. Otherwise the body keeps what has arrived.
    fn take_at_hand(&mut self, most: u64, context: &mut Context<'_>) -> Option<Bytes> {
        match self.size_hint().exact() {
            Some(0) if self.is_end_stream() => return Some(Bytes::new()),
            // No trailer follows on HTTP/1.1, since the length is stated.
            Some(length) if length <= most && self.lent.is_some() => {}
            _ => return None,
        }
        while !self.content.is_end_stream() {
            let polled = self.poll_content(context);
            let Poll::Ready(Some(part)) = polled else { break };
            let part = part.map(|frame| frame.into_data().unwrap_or_default());
            self.ahead = Some(match (self.ahead.take(), part) {
                (Some(Ok(before)), Ok(part)) => Ok([before, part].concat().into()),
                (None | Some(Err(_)), part) => part,
                (_, Err(error)) => Err(error),
            });
            if !matches!(self.ahead, Some(Ok(_))) {
                break;
            }
        }
        match self.ahead.take() {
            Some(Ok(whole)) if self.content.is_end_stream() => Some(whole),
            ahead => {
                self.ahead = ahead;
                None
            }
        }
    }

    fn late(&self) -> Option<Error> {
        let (until, limit) = self.limits.until?;
        let tried = self.limits.tried.clone();
        (Instant::now() >= until).then_some(Error::TimedOut { tried, phase: Phase::Total, limit })
    }

    /// Sets the alarm unless it is set. Returns the error of a part that is late.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Error> {
        if !self.is_set {
            let next = end_of(Instant::now(), self.limits.gap);
            let until = self.limits.until.map_or(next, |(until, _)| until.min(next));
            match &mut self.alarm {
                Some(alarm) => alarm.as_mut().reset(until),
                None => self.alarm = Some(Box::pin(tokio::time::sleep_until(until))),
            }
            self.is_set = true;
        }
        std::task::ready!(
            self.alarm.as_mut().map_or(Poll::Pending, |alarm| rings(alarm.as_mut(), context))
        );
        let (tried, limit) = (self.limits.tried.clone(), self.limits.gap);
        Poll::Ready(self.late().unwrap_or(Error::TimedOut { tried, phase: Phase::Body, limit }))
    }
}

impl AnswerBody {
    /// Returns the next frame that comes from the connection.
    fn poll_content(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self;
        let polled = match &mut this.lent {
            Some(lent) => lent.poll_frame(&mut this.content, context),
            None => Pin::new(&mut this.content).poll_frame(context),
        };
        let Poll::Ready(polled) = polled else {
            return this.wait(context).map(|error| Some(Err(error)));
        };
        this.is_set = false;
        if polled.is_none() || this.content.is_end_stream() {
            this.permit = None;
            _ = this.lent.take().map(Lent::rest);
        } else if let Some(error) = this.late() {
            return Poll::Ready(Some(Err(error)));
        }
        let tried = &this.limits.tried;
        Poll::Ready(polled.map(|frame| {
            frame.map_err(|error| Error::Failed {
                tried: tried.clone(),
                phase: Phase::Body,
                cause: Arc::new(error),
            })
        }))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(ahead) = self.ahead.take() {
            return Poll::Ready(Some(ahead.map(Frame::data)));
        }
        self.poll_content(context)
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = match &self.ahead {
            Some(Ok(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        match self.content.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + ahead),
            None => self.content.size_hint(),
        }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        if self.permit.is_some() {
            self.upload.abandon();
        }
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Answer");
        shown.field("status", &self.head.status).field("url", &self.url);
        shown.field("length", &self.body.size_hint().exact()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WholeAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("WholeAnswer");
        shown.field("status", &self.status).field("length", &self.body.len());
        shown.finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerBody").field("tried", &self.limits.tried).finish_non_exhaustive()
    }
}
