//! Progress display for people who wait for a command.
#![expect(clippy::disallowed_methods, reason = "a progress line is drawn from time to time")]

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The least time between two texts on a terminal, and elsewhere.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// The progress line of a long command on stderr: on a terminal it changes in place, elsewhere a
/// new line is printed from time to time.
pub struct ProgressLine {
    /// The line of a terminal.
    line: Option<ProgressBar>,
    last: Instant,
}

impl ProgressLine {
    /// Returns a line that is not shown yet.
    pub fn new() -> Self {
        let line = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_msg}").expect("the template is sound");
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
        });
        Self { line, last: Instant::now() }
    }

    /// Shows a text, unless the last one was shown only a moment ago.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        if self.last.elapsed() < if self.line.is_some() { WAITS.0 } else { WAITS.1 } {
            return;
        }
        self.last = Instant::now();
        match &self.line {
            Some(line) => line.set_message(text()),
            None => _ = writeln!(std::io::stderr().lock(), "{}", text()),
        }
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Lines on stderr that change in place.
pub struct Canvas {
    terminal: Term,
    drawn: usize,
}

impl Canvas {
    /// Returns a canvas if stderr is a terminal that can move its cursor and has room for `lines`
    /// lines.
    pub fn new(lines: usize) -> Option<Self> {
        let terminal = Term::stderr();
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let rows = terminal.size_checked().map_or(0, |(rows, _)| usize::from(rows));
        let has_room = terminal.is_term() && !is_dumb && rows > lines;
        has_room.then_some(Self { terminal, drawn: 0 })
    }

    /// Returns how many characters a line may have.
    pub fn width() -> usize {
        let size = Term::stderr().size_checked().filter(|(_, columns)| *columns > 0);
        size.map_or(80, |(_, columns)| columns.into())
    }

    /// Draws lines over the previous ones; no line is longer than [`Self::width`].
    pub fn draw(&mut self, lines: &[String]) {
        _ = self.try_draw(lines);
    }

    /// Removes the lines.
    pub fn end(&mut self) {
        _ = self.terminal.clear_last_lines(self.drawn);
        self.drawn = 0;
    }

    /// Writes over the old lines instead of clearing them first, so that nothing flickers.
    fn try_draw(&mut self, lines: &[String]) -> std::io::Result<()> {
        self.terminal.move_cursor_up(self.drawn)?;
        self.drawn = lines.len();
        for line in lines {
            self.terminal.write_line(&format!("\r{line}\u{1b}[K"))?;
        }
        self.terminal.clear_to_end_of_screen()
    }
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
