//! Which other server has answered a request.

use std::sync::Arc;
use std::time::Duration;

/// The upstream that was asked to answer a request, as the log of requests tells it. It is an extension of
/// the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    /// The URL below which it was asked.
    pub upstream: Arc<str>,
    /// From the first attempt to the head of the answer, or to the last failure.
    pub time: Duration,
    /// How many upstreams were asked, or one how often.
    pub attempts: u32,
}
