//! Shows a run in progress on a terminal: requests due, answers, response times.

use std::collections::VecDeque;

use super::words::{self, clock, count, percent, share, time_ms};
use homeroom_load::outcome::Outcomes;
use homeroom_load::run::Interval;
use homeroom_load::stage::Stage;

/// The heights of a curve, one character each.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The most seconds that a curve shows.
const SECONDS_MAX: usize = 240;
/// The characters before a curve: its name and its latest value.
const BEFORE: usize = 22;
/// The most kinds of outcome that are named.
const ENDS_MAX: usize = 4;

/// The terminal display of a run.
#[derive(Debug, Clone)]
pub struct Board {
    title: String,
    plan: Vec<Stage>,
    last: VecDeque<Interval>,
    /// The number of requests that have ended, and how.
    answered: u64,
    ok: u64,
    outcomes: Outcomes,
}

impl Board {
    /// Returns a board without figures.
    pub fn new(scenario: &str, target: &str, plan: &[Stage]) -> Self {
        Self {
            title: format!("{} against {}", words::name(scenario), words::name(target)),
            plan: plan.to_vec(),
            last: VecDeque::new(),
            answered: 0,
            ok: 0,
            outcomes: Outcomes::new(),
        }
    }

    /// Adds a second of the run.
    pub fn take(&mut self, second: &Interval) {
        if self.last.len() == SECONDS_MAX {
            self.last.pop_front();
        }
        self.answered += second.answered;
        self.ok += second.ok;
        for (end, count) in &second.outcomes {
            *self.outcomes.entry(end.clone()).or_default() += count;
        }
        self.last.push_back(second.clone());
    }

    /// Returns the lines to show: always the same number, each at most `width` characters long.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let whole = |of: fn(&Interval) -> u64, second: &Interval| count(of(second));
        let curve = |name: &str, of: &dyn Fn(&Interval) -> f64, newest: String| {
            let room = width.saturating_sub(BEFORE).min(SECONDS_MAX);
            let from = self.last.len().saturating_sub(room);
            let values: Vec<f64> = self.last.range(from..).map(of).collect();
            format!("{name:<10}{newest:>10}  {}", drawn(&values))
        };
        let newest = self.last.back();
        let show = |text: &dyn Fn(&Interval) -> String| newest.map_or(String::new(), text);
        let lines = [
            self.title.clone(),
            self.place(),
            curve("due/s", &|s| s.due as f64, show(&|s| whole(|s| s.due, s))),
            curve("right/s", &|s| s.ok as f64, show(&|s| whole(|s| s.ok, s))),
            curve("p50", &|s| s.p50_ms, show(&|s| time_ms(s.p50_ms))),
            curve("p99", &|s| s.p99_ms, show(&|s| time_ms(s.p99_ms))),
            curve("in flight", &|s| s.in_flight as f64, show(&|s| whole(|s| s.in_flight, s))),
            self.ends(),
        ];
        lines.into_iter().map(|line| line.chars().take(width).collect()).collect()
    }

    /// Returns the current stage and how much of the run is over.
    fn place(&self) -> String {
        let seconds = self.last.back().map_or(0.0, |second| second.at_s + 1.0);
        let all: f64 = self.plan.iter().map(|stage| stage.duration.as_secs_f64()).sum();
        let mut end = 0.0;
        let at = self.plan.iter().position(|stage| {
            end += stage.duration.as_secs_f64();
            seconds <= end
        });
        let time = format!("{} of {}", clock(seconds.min(all)), clock(all));
        match at {
            Some(at) => {
                format!("{time}, stage {} of {}: {}", at + 1, self.plan.len(), self.plan[at])
            }
            None => format!("{time}, waiting for the last answers"),
        }
    }

    /// Returns how all requests so far ended.
    fn ends(&self) -> String {
        let failed = self.answered - self.ok.min(self.answered);
        let mut ends: Vec<(&String, &u64)> = self.outcomes.iter().collect();
        ends.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let named: Vec<String> = ends
            .iter()
            .take(ENDS_MAX)
            .map(|(end, many)| format!("{end} × {}", count(**many)))
            .collect();
        let failed = percent(share(failed, self.answered));
        format!("{:<10}{failed:>10}  {}", "failed", named.join(", "))
    }
}

/// Draws a curve from zero to its greatest value, which follows it.
fn drawn(values: &[f64]) -> String {
    let most = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let height = |value: f64| {
        let place = (value / most * HEIGHTS.len() as f64).ceil().max(1.0);
        HEIGHTS[at(place).min(HEIGHTS.len()) - 1]
    };
    values
        .iter()
        .map(|value| if value.is_finite() && *value > 0.0 { height(*value) } else { ' ' })
        .collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1 to 8")]
fn at(place: f64) -> usize {
    place as usize
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn second(at: u32, ok: u64, p99_ms: f64) -> Interval {
        Interval {
            at_s: at.into(),
            due: 100,
            answered: 100,
            ok,
            outcomes: [("200".to_owned(), ok), ("503".to_owned(), 100 - ok)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect(),
            p50_ms: 1.0,
            p99_ms,
            in_flight: 3,
            ..Interval::default()
        }
    }

    fn board() -> Board {
        let time = Duration::from_mins(1);
        let plan = [Stage::rate(100.0, time), Stage::rate(200.0, time)];
        Board::new("day", "http://x", &plan)
    }

    #[test]
    fn a_board_shows_the_progress_and_the_latest_figures() {
        let mut board = board();
        for at in 0..=60 {
            board.take(&second(at, if at == 60 { 90 } else { 100 }, 2.5));
        }

        let lines = board.lines(80);

        assert_eq!(lines[0], "day against http://x");
        assert_eq!(lines[1], "1:01 of 2:00, stage 2 of 2: 200/s 1m");
        assert!(lines[2].starts_with("due/s            100  ███"), "{}", lines[2]);
        assert!(lines[3].starts_with("right/s           90  ███"), "{}", lines[3]);
        assert!(lines[5].starts_with("p99           2.5 ms"), "{}", lines[5]);
        assert_eq!(lines[7], "failed       0.164 %  200 × 6,090, 503 × 10");
    }

    #[test]
    fn a_board_has_a_constant_number_of_lines_within_its_width() {
        let mut board = board();
        let empty = board.lines(40).len();
        for at in 0..600 {
            board.take(&second(at, 100, f64::from(at)));
        }

        for width in [0, 1, 21, 22, 40, 400] {
            let lines = board.lines(width);
            assert_eq!(lines.len(), empty);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}");
        }
        assert!(board.last.len() == SECONDS_MAX);
        assert_eq!(board.lines(80)[1], "2:00 of 2:00, waiting for the last answers");
    }

    #[test]
    fn a_sparkline_spans_zero_to_the_maximum() {
        assert_eq!(drawn(&[0.0, 1.0, 4.0, 8.0, f64::NAN]), " ▁▄█ ");
        assert_eq!(drawn(&[0.0, 0.0]), "");
    }
}
