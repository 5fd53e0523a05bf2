//! The requests of a cell: the same message again and again, with tokens in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use homeroom_load::engine::{Answer, Reaction, Request, Source, StepFacts};
use homeroom_load::outcome::Outcome;

/// What all users of a cell send and expect.
#[derive(Debug)]
pub struct Calls {
    /// The path of the API below the target, with a leading slash.
    pub path: String,
    /// The message.
    pub body: Vec<u8>,
    /// The header line of each token, drawn round robin by all users together; empty for none.
    tokens: Vec<Vec<u8>>,
    next: AtomicUsize,
    /// The length of a right answer's body in bytes.
    pub answer_bytes: u64,
}

impl Calls {
    /// Returns the calls of a cell with a pool of tokens.
    pub fn new(path: String, body: Vec<u8>, tokens: &[String], answer_bytes: u64) -> Self {
        let line = |token: &String| format!("Authorization: Bearer {token}\r\n").into_bytes();
        let tokens = tokens.iter().map(line).collect();
        Self { path, body, tokens, next: AtomicUsize::new(0), answer_bytes }
    }

    /// Returns the header line of the next token.
    fn token(&self) -> &[u8] {
        if self.tokens.is_empty() {
            return b"";
        }
        &self.tokens[self.next.fetch_add(1, Ordering::Relaxed) % self.tokens.len()]
    }
}

/// One sending thread's source of a cell's requests.
#[derive(Debug)]
pub struct GatewaySource {
    steps: [StepFacts; 1],
    calls: Arc<Calls>,
}

impl GatewaySource {
    /// Returns a source of these calls.
    pub fn new(calls: Arc<Calls>) -> Self {
        let step = StepFacts {
            name: "call".into(),
            group: String::new(),
            method: "POST".into(),
            keeps_body: false,
        };
        Self { steps: [step], calls }
    }
}

impl Source for GatewaySource {
    type Client = ();

    fn steps(&self) -> &[StepFacts] {
        &self.steps
    }

    fn client(&mut self, _: u32) {}

    fn next(&mut self, (): &mut (), request: &mut Request) -> usize {
        request.path.extend_from_slice(self.calls.path.as_bytes());
        request.headers.extend_from_slice(b"Content-Type: application/json\r\n");
        request.headers.extend_from_slice(self.calls.token());
        request.body.extend_from_slice(&self.calls.body);
        0
    }

    fn answered(&mut self, (): &mut (), _: usize, answer: &Answer<'_>) -> Reaction {
        let is_success = matches!(answer.outcome, Outcome::Status(200..=299));
        let ok = is_success && answer.length == self.calls.answer_bytes;
        Reaction { ok, pause: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> [GatewaySource; 2] {
        let tokens = ["one", "two", "three"].map(str::to_owned);
        let calls = Arc::new(Calls::new("/apis/echo/1.0.0".into(), b"{}".to_vec(), &tokens, 7));
        [GatewaySource::new(calls.clone()), GatewaySource::new(calls)]
    }

    #[test]
    fn tokens_are_drawn_in_turn_by_all_threads_together() {
        let [mut a, mut b] = source();
        let drawn = |source: &mut GatewaySource| {
            let mut request = Request::default();
            source.next(&mut (), &mut request);
            let text = String::from_utf8(request.headers).unwrap();
            text.split("Bearer ").nth(1).unwrap().trim().to_owned()
        };

        let tokens = [drawn(&mut a), drawn(&mut b), drawn(&mut a), drawn(&mut b)];

        assert_eq!(tokens, ["one", "two", "three", "one"]);
    }

    #[test]
    fn an_answer_of_another_length_is_an_error() {
        let [mut source, _] = source();
        let mut is_ok = |status, length| {
            let outcome = Outcome::Status(status);
            let answer = Answer { outcome, headers: &[], body: b"", length };
            source.answered(&mut (), 0, &answer).ok
        };

        assert_eq!([is_ok(200, 7), is_ok(200, 6), is_ok(401, 7)], [true, false, false]);
    }
}
