//! Progress display for people who wait for a command.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// The progress line of a long command on stderr: on a terminal it changes in place, elsewhere a
/// new line is printed from time to time.
pub struct ProgressLine {
    is_terminal: bool,
    is_shown: bool,
    last: Instant,
}

impl ProgressLine {
    /// Returns a line that is not shown yet.
    pub fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), is_shown: false, last: Instant::now() }
    }

    /// Shows a text, unless the last one was shown only a moment ago.
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

    /// Removes the line.
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
    /// Returns a canvas if stderr is a terminal that can move its cursor and has room for `lines`
    /// lines.
    pub fn new(lines: usize) -> Option<Self> {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let rows = size().map_or(0, |(rows, _)| rows);
        (std::io::stderr().is_terminal() && !is_dumb && rows > lines).then_some(Self { drawn: 0 })
    }

    /// Returns how many characters a line may have.
    pub fn width() -> usize {
        size().map_or(80, |(_, columns)| columns)
    }

    /// Draws lines over the previous ones; no line is longer than [`Self::width`].
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

    /// Removes the lines.
    pub fn end(&mut self) {
        let text = self.back() + "\u{1b}[J";
        self.drawn = 0;
        _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn back(&self) -> String {
        if self.drawn > 0 { format!("\r\u{1b}[{}A", self.drawn) } else { String::new() }
    }
}

/// Returns the rows and columns of the terminal on stderr.
fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some((size.ws_row.into(), size.ws_col.into())).filter(|(_, columns)| *columns > 0)
}

/// Returns the number of whole documents per second.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate for people: three digits are enough, and it is neither negative nor huge"
)]
pub fn rate(documents: u64, seconds: f64) -> u64 {
    if seconds > 0.0 { (documents as f64 / seconds).round() as u64 } else { 0 }
}

/// Formats a number with commas between thousands.
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
