//! The answers to the lines of a batch.

use std::io::Write as _;

use homeroom_http::{Kind, Problem, Response};
use http::{HeaderValue, StatusCode, header};

use super::limits::BATCH_ANSWER_BYTES_MAX;

/// Media type of the answers.
const MEDIA: &str = "application/x-ndjson";

/// The answers so far, one JSON object a line.
pub(super) struct Answers<'a> {
    correlation_id: &'a str,
    text: Vec<u8>,
}

impl<'a> Answers<'a> {
    /// Begins the answers to a request.
    pub(super) fn new(correlation_id: &'a str) -> Self {
        Self { correlation_id, text: vec![] }
    }

    /// Answers a line whose document is stored, in this version.
    pub(super) fn written(
        &mut self,
        line: usize,
        status: StatusCode,
        location: &str,
        version: i64,
    ) {
        let status = status.as_u16();
        let location = serde_json::Value::from(location);
        self.line(format_args!(
            "{{\"line\":{line},\"status\":{status},\"location\":{location},\"etag\":\"\\\"{version}\\\"\"}}"
        ));
    }

    /// Answers a line that was refused.
    pub(super) fn refused(&mut self, line: usize, mut problem: Problem) {
        if let Some(internal) = &problem.internal {
            let correlation_id = self.correlation_id;
            tracing::error!(correlation_id, line, error = internal, "failed");
        }
        if self.text.len() > BATCH_ANSWER_BYTES_MAX {
            problem = brief(problem.kind);
        }
        let status = problem.kind.status().as_u16();
        let body = problem.body(self.correlation_id);
        let body = String::from_utf8_lossy(&body);
        self.line(format_args!("{{\"line\":{line},\"status\":{status},\"problem\":{body}}}"));
    }

    /// Whether no line has an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to memory does not fail.
        _ = writeln!(self.text, "{text}");
    }

    /// Returns the answer to the request.
    pub(super) fn into_response(self) -> Response {
        let mut response = http::Response::new(self.text.into());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA));
        response
    }
}

/// Returns a problem without details, for answers that are long already.
fn brief(kind: Kind) -> Problem {
    Problem::of(kind).hint("Send this line again to get the details: the answers are too long.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_come_without_details_but_with_every_line() {
        let mut answers = Answers::new("c-1");
        let long = Problem::of(Kind::BadRequest).error("x".repeat(1 << 20));

        for line in 1..=40 {
            answers.refused(line, long.clone());
        }

        assert!(answers.text.len() < BATCH_ANSWER_BYTES_MAX + (2 << 20));
        let lines = answers.text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
        let numbers: Vec<u64> = lines.map(|line| line["line"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
    }
}
