//! Requests for a course's files: a text as a whole, a film in parts.

use std::io::Write as _;
use std::time::Duration;

use homeroom_load::engine::{Answer, Reaction, Request, Source, StepFacts};
use homeroom_load::outcome::Outcome;

/// The size of the parts of a film that a browser asks for, in bytes.
const PART_BYTES: u64 = 64 * 1024;
/// The parts of a film that are asked for, one after the other.
const PARTS: u64 = 15;

/// A source of requests for a text and, every other time, for a part of a film.
#[derive(Debug)]
pub struct ContentSource {
    steps: [StepFacts; 2],
    paths: [String; 2],
    number: u64,
}

impl ContentSource {
    /// Returns a source for the paths of a text and of a film.
    pub fn new(paths: &[String; 2]) -> Self {
        let steps = ["file", "film by Range"].map(|name| StepFacts {
            name: name.into(),
            group: "content".into(),
            method: "GET".into(),
            keeps_body: false,
        });
        Self { steps, paths: paths.clone(), number: 0 }
    }
}

impl Source for ContentSource {
    type Client = ();

    fn steps(&self) -> &[StepFacts] {
        &self.steps
    }

    fn client(&mut self, _: u32) {}

    fn next(&mut self, (): &mut (), request: &mut Request) -> usize {
        let step = usize::from(self.number % 2 == 1);
        request.path.extend_from_slice(self.paths[step].as_bytes());
        if step == 1 {
            let begin = self.number / 2 % PARTS * PART_BYTES;
            let end = begin + PART_BYTES - 1;
            _ = write!(request.headers, "Range: bytes={begin}-{end}\r\n");
        }
        self.number += 1;
        step
    }

    fn answered(&mut self, (): &mut (), step: usize, answer: &Answer<'_>) -> Reaction {
        let ok = match step {
            0 => answer.outcome == Outcome::Status(200),
            _ => answer.outcome == Outcome::Status(206) && answer.length == PART_BYTES,
        };
        Reaction { ok, pause: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_asked_for_as_a_whole_and_the_film_in_parts() {
        let mut source = ContentSource::new(&["/c/text.txt".into(), "/c/film.mp4".into()]);
        let mut asked = |_: usize| {
            let mut request = Request::default();
            source.next(&mut (), &mut request);
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (text(request.path), text(request.headers))
        };

        let found: Vec<(String, String)> = (0..4).map(&mut asked).collect();

        assert_eq!(found[0], ("/c/text.txt".into(), String::new()));
        assert_eq!(found[1], ("/c/film.mp4".into(), "Range: bytes=0-65535\r\n".into()));
        assert_eq!(found[3].1, "Range: bytes=65536-131071\r\n");
    }

    #[test]
    fn a_film_that_comes_as_a_whole_is_an_error() {
        let mut source = ContentSource::new(&["/a".into(), "/b".into()]);
        let mut is_ok = |step, status, length| {
            let outcome = Outcome::Status(status);
            source.answered(&mut (), step, &Answer { outcome, headers: &[], body: b"", length }).ok
        };

        assert_eq!([is_ok(0, 200, 9), is_ok(1, 206, 65_536)], [true, true]);
        assert_eq!([is_ok(1, 200, 65_536), is_ok(1, 206, 5)], [false, false]);
    }
}
