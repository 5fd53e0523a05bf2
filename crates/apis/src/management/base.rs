//! What the requests of management have in common.

use homeroom_http::{Problem, Response};

/// Below this path everything is managed.
pub(super) const BASE: &str = "/adminapi/gateway/v1";

/// How a request is answered.
pub(super) type Answered = Result<Response, Problem>;
