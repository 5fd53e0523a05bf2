//! Watches the windows of a running test and decides when its parts end: a pure state machine.

use std::time::Duration;

use super::level::Level;
use super::plan::LearnersPlan;
use super::progress::Progress;
use super::result::{Hold, LearnersResult, WindowRow, completed, crossings, held, sustained};

/// What to do after a second of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Go on.
    GoOn,
    /// Allow only this many simulated learners from now on.
    Allow(u32),
    /// End the test.
    End,
}

/// How long after its end a window is judged: a request that has no answer by then takes longer than
/// any threshold.
const GRACE_S: f64 = 5.0;
/// The length of a window, in seconds.
const WINDOW_S: f64 = 10.0;

/// Decides when the ramp ends and how many learners are then held.
#[derive(Debug)]
pub struct Controller {
    plan: LearnersPlan,
    rows: Vec<WindowRow>,
    /// The number of modelled learners at the end of each window.
    users: Vec<u32>,
    hold: Option<(f64, u32)>,
    through: bool,
}

impl Controller {
    /// Returns the controller of a test. With `through`, an unacceptable level does not end the ramp.
    pub fn new(plan: LearnersPlan, through: bool) -> Self {
        Self { plan, rows: vec![], users: vec![], hold: None, through }
    }

    /// Takes note of a second: the time since the run began in seconds, and how many simulated
    /// learners are there. `window` returns the 99th percentile of a window by its number.
    pub fn second(
        &mut self,
        at_s: f64,
        active: u32,
        window: impl Fn(usize) -> Option<f64>,
    ) -> Advice {
        if at_s >= WINDOW_S * (self.users.len() + 1) as f64 {
            self.users.push(self.plan.modelled(active));
        }
        while self.rows.len() < self.users.len()
            && at_s >= WINDOW_S * (self.rows.len() + 1) as f64 + GRACE_S
        {
            let number = self.rows.len();
            let p99_ms = window(number).unwrap_or(0.0);
            self.rows.push(WindowRow::judged(number, self.users[number], p99_ms));
        }
        self.advise(at_s)
    }

    /// Returns the number of modelled learners at the end of a window.
    pub fn users(&self, window: usize) -> Option<u32> {
        self.users.get(window).copied()
    }

    /// Returns since when which number of modelled learners was held, if it came to that.
    pub fn hold(&self) -> Option<Hold> {
        self.hold.map(|(from_s, learners)| Hold { learners, from_s, ..Hold::default() })
    }

    fn advise(&mut self, at_s: f64) -> Advice {
        let seconds = |time: Duration| time.as_secs_f64();
        if let Some((from_s, _)) = self.hold {
            let is_over = at_s >= from_s + seconds(self.plan.hold);
            return if is_over { Advice::End } else { Advice::GoOn };
        }
        let is_broken = !self.through && sustained(&self.rows, Level::Unacceptable).is_some();
        if !is_broken && at_s < seconds(self.plan.ramp + self.plan.stay) {
            return Advice::GoOn;
        }
        if self.plan.hold.is_zero() {
            return Advice::End;
        }
        let found = held(&self.rows, Level::Ideal).learners;
        self.hold = Some((at_s, found));
        Advice::Allow(found.div_ceil(self.plan.compress.max(1)))
    }
}

/// Returns what a test found, once it is over.
pub fn results(plan: LearnersPlan, controller: &Controller, progress: &Progress) -> LearnersResult {
    let mut rows = vec![];
    for (number, window) in progress.windows().iter().enumerate() {
        // The last window may have been cut short.
        let Some(users) = controller.users(number) else { break };
        let judged = WindowRow::judged(number, users, window.p99_ms().unwrap_or(0.0));
        rows.push(WindowRow {
            requests: window.sent,
            failed: window.failed,
            launches_per_minute: window.launches as f64 * 60.0 / WINDOW_S,
            ..judged
        });
    }
    // What came after the number that was found was set is no part of the ramp.
    let hold = controller.hold().map(|hold| completed(hold, &rows));
    let until = hold.map_or(f64::INFINITY, |hold| hold.from_s);
    let ramp: Vec<WindowRow> = rows.iter().copied().filter(|row| row.at_s < until).collect();
    LearnersResult {
        plan,
        crossings: crossings(&ramp),
        held: Level::ALL[..3].iter().map(|level| held(&ramp, *level)).collect(),
        hold,
        sessions: progress.sessions(),
        posts: progress.posts(),
        windows: rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(hold_s: u64) -> LearnersPlan {
        LearnersPlan {
            learners: 1_000,
            ramp: Duration::from_secs(100),
            stay: Duration::from_secs(20),
            hold: Duration::from_secs(hold_s),
            posts: 60,
            every: Duration::from_secs(20),
            compress: 2,
        }
    }

    /// Runs a test in virtual time against a server whose response time depends on its learners;
    /// returns what was advised and when.
    fn run(plan: LearnersPlan, through: bool, p99_ms: impl Fn(f64) -> f64) -> Vec<(u32, Advice)> {
        let mut controller = Controller::new(plan, through);
        let mut advised = vec![];
        for second in 1..1_000 {
            let at_s = f64::from(second);
            let seats = |at_s: f64| (at_s / 100.0).min(1.0) * 500.0;
            let window = |number: usize| Some(p99_ms(2.0 * seats(10.0 * (number + 1) as f64)));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few")]
            let advice = controller.second(at_s, seats(at_s) as u32, window);
            if advice != Advice::GoOn {
                advised.push((second, advice));
            }
            if advice == Advice::End {
                break;
            }
        }
        advised
    }

    #[test]
    fn a_test_that_stays_ideal_runs_to_its_end_and_holds_everybody() {
        let fast = |_: f64| 20.0;

        assert_eq!(run(plan(0), false, fast), [(120, Advice::End)]);
        assert_eq!(run(plan(300), false, fast), [(120, Advice::Allow(500)), (420, Advice::End)]);
    }

    #[test]
    fn an_unacceptable_level_ends_the_ramp_and_the_last_ideal_number_is_held() {
        // 300 learners are ideal, from 350 on nothing is acceptable.
        let slow = |learners: f64| if learners < 350.0 { 100.0 } else { 9_000.0 };

        let ended = run(plan(0), false, slow);
        let held = run(plan(50), false, slow);
        let through = run(plan(0), true, slow);

        // The windows that end at 40 s and 50 s are the first two; the second is judged at 55 s.
        assert_eq!(ended, [(55, Advice::End)]);
        assert_eq!(held, [(55, Advice::Allow(150)), (105, Advice::End)]);
        assert_eq!(through, [(120, Advice::End)]);
    }

    #[test]
    fn one_slow_window_is_no_level() {
        let controller = |number: usize| Some(if number == 3 { 9_000.0 } else { 30.0 });
        let mut watched = Controller::new(plan(0), false);

        let ended = (1..=120)
            .find(|second| watched.second(f64::from(*second), 10, controller) == Advice::End);

        assert_eq!(ended, Some(120));
    }
}
