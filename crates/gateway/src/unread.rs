//! Large answers that their callers have not taken yet: all together they have a limit, as a caller
//! that does not read keeps what it asked for in memory for as long as the connection is quiet.

use std::sync::Arc;

use bytes::Bytes;
use homeroom_http::{Problem, Response};
use http_body_util::Full;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers up to this size are not counted: a connection's own buffers are larger.
const SMALL: usize = 64 << 10;

/// The room for large answers.
#[derive(Debug)]
pub(crate) struct Unread(Arc<Semaphore>);

/// An answer's bytes and its place; both go when the last byte is with the system.
struct Held {
    bytes: Bytes,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Unread {
    /// Room for so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / 1_024)))
    }

    /// Gives an answer its place.
    ///
    /// # Errors
    ///
    /// 503 when others hold all there is.
    pub(crate) fn hold(&self, response: Response) -> Result<Response, Problem> {
        let size = response.body().size_hint().lower();
        if size <= SMALL as u64 {
            return Ok(response);
        }
        let kib = u32::try_from(size.div_ceil(1_024)).unwrap_or(u32::MAX);
        let place = Arc::clone(&self.0).try_acquire_many_owned(kib).map_err(|_| {
            Problem::busy(1)
                .detail("The server holds as many large answers as it can that are not read yet.")
        })?;
        Ok(response.map(|body| {
            let bytes = body.into_inner().unwrap_or_default();
            Full::new(Bytes::from_owner(Held { bytes, _place: place }))
        }))
    }
}

#[cfg(test)]
mod tests {
    use homeroom_http::json_response;
    use http::StatusCode;
    use http_body_util::BodyExt as _;

    use super::*;

    fn answer(kib: usize) -> Response {
        json_response(StatusCode::OK, "x".repeat(kib << 10))
    }

    #[tokio::test]
    async fn large_answers_wait_for_room_and_give_it_back_when_they_are_read() {
        let unread = Unread::new(1 << 20);
        let first = unread.hold(answer(600)).unwrap();

        let second = unread.hold(answer(600));

        assert_eq!(second.unwrap_err().kind.status(), 503);
        assert!(unread.hold(answer(64)).is_ok(), "small ones are not counted");
        let read = first.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(read, "x".repeat(600 << 10));
        assert!(unread.hold(answer(600)).is_err(), "the bytes are still held");
        drop(read);
        assert!(unread.hold(answer(600)).is_ok());
    }

    #[test]
    fn an_answer_whose_caller_has_gone_gives_its_room_back() {
        let unread = Unread::new(1 << 20);

        drop(unread.hold(answer(1_024)).unwrap());

        assert!(unread.hold(answer(1_024)).is_ok());
    }
}
