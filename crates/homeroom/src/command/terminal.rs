//! What commands show to people who wait.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// The line on stderr that says how far a long command is: a terminal has one that changes,
/// anything else gets a new one now and then.
pub struct ProgressLine {
    is_terminal: bool,
    is_shown: bool,
    last: Instant,
}

impl ProgressLine {
    /// A line that is not shown yet.
    pub fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), is_shown: false, last: Instant::now() }
    }

    /// Shows a text, unless the last was shown only just now.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        let wait =
            if self.is_terminal { Duration::from_millis(100) } else { Duration::from_secs(10) };
        if self.last.elapsed() < wait {
            return;
        }
        self.last = Instant::now();
        self.is_shown = true;
        let text = text();
        let mut stderr = std::io::stderr().lock();
        _ = if self.is_terminal {
            write!(stderr, "\r\u{1b}[K{text}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{text}")
        };
    }

    /// Takes the line away.
    pub fn end(&mut self) {
        if self.is_terminal && self.is_shown {
            eprint!("\r\u{1b}[K");
        }
    }
}

/// Lines on stderr that change in place.
pub struct Canvas {
    drawn: usize,
}

impl Canvas {
    /// A canvas, where stderr is a terminal that can move its cursor and has room for so many lines.
    pub fn new(lines: usize) -> Option<Self> {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let rows = size().map_or(0, |(rows, _)| rows);
        (std::io::stderr().is_terminal() && !is_dumb && rows > lines).then_some(Self { drawn: 0 })
    }

    /// How many characters a line may have.
    pub fn width() -> usize {
        size().map_or(80, |(_, columns)| columns)
    }

    /// Draws lines over those that were drawn before; no line is longer than [`Self::width`].
    pub fn draw(&mut self, lines: &[String]) {
        let mut text = self.back();
        for line in lines {
            text.push_str(line);
            text.push_str("\u{1b}[K\n");
        }
        self.drawn = lines.len();
        let mut stderr = std::io::stderr().lock();
        _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// Takes the lines away.
    pub fn end(&mut self) {
        let text = self.back() + "\u{1b}[J";
        self.drawn = 0;
        _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn back(&self) -> String {
        if self.drawn > 0 { format!("\r\u{1b}[{}A", self.drawn) } else { String::new() }
    }
}

/// Rows and columns of the terminal at stderr.
fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some((size.ws_row.into(), size.ws_col.into())).filter(|(_, columns)| *columns > 0)
}

/// Whole documents a second.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate for people: three digits are enough, and it is neither negative nor huge"
)]
pub fn rate(documents: u64, seconds: f64) -> u64 {
    if seconds > 0.0 { (documents as f64 / seconds).round() as u64 } else { 0 }
}

/// The number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
