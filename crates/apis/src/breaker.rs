//! When an upstream is left alone: it could not be reached, or has failed too often in a row.
//!
//! A breaker is closed while calls go well. Opened, it keeps calls away for a while that grows each time;
//! half-open, it lets one call try.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::StatusCode;

use crate::definition;

/// A call that tries has so long before another may, in milliseconds.
const TRIAL_MS: u64 = 5_000;
/// Calls that cannot be repeated try only after it has waited this long for another, in milliseconds.
const TRIAL_WAIT_MS: u64 = 1_000;

/// The breaker of an upstream. Moments are milliseconds since any fixed one.
#[derive(Debug)]
pub(crate) struct Breaker {
    rules: Rules,
    state: Mutex<State>,
    /// Whether it is closed and no call has failed since one went well. Then nothing is locked: calls have nothing to
    /// ask, and those that go well have nothing to record.
    is_calm: AtomicBool,
}

/// When it opens, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    failures: u32,
    rest_ms: u64,
    rest_max_ms: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that failed in a row.
    failures: u32,
    /// How often it has opened without being closed for long.
    times: u32,
    open: Option<Open>,
    /// When it was closed the last time.
    closed_at: u64,
    /// How often it has opened at all.
    opened: u64,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    until: u64,
    /// Whether finding out that the upstream still fails takes long.
    is_slow: bool,
    /// Until when the call that tries has time.
    trial_until: u64,
}

/// A call that tries. Where it ends without a record of how it went, another call may try.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    breaker: &'a Breaker,
    until: u64,
}

/// How a call ended, as far as its upstream's state is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// There was an answer.
    Well,
    /// There was one that says that what is behind the upstream fails.
    Badly,
    /// There was none, although there was a connection.
    Unanswered,
    /// No connection could be opened; `is_slow` if that took all the time that it may.
    Unreachable {
        /// Whether the time for connecting was used up.
        is_slow: bool,
    },
}

impl Ended {
    /// Returns how a call ended that got an answer with this status.
    pub(crate) fn with(status: StatusCode) -> Self {
        match status.as_u16() {
            502..=504 => Self::Badly,
            _ => Self::Well,
        }
    }
}

/// What a breaker says to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Go.
    Closed,
    /// One call may try.
    HalfOpen,
    /// Only if there is no other upstream: that it still fails is known at once.
    LastResort,
    /// Stay away.
    Open,
}

impl From<&definition::Breaker> for Rules {
    fn from(stated: &definition::Breaker) -> Self {
        let ms = |time: crate::units::Time| u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX);
        Self {
            failures: stated.failures,
            rest_ms: ms(stated.rest),
            rest_max_ms: ms(stated.rest_max),
        }
    }
}

impl Breaker {
    /// Creates a closed breaker.
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, state: Mutex::default(), is_calm: AtomicBool::new(true) }
    }

    /// Returns what it says at a moment.
    pub(crate) fn standing(&self, now: u64) -> Standing {
        if self.is_calm() {
            return Standing::Closed;
        }
        match self.state().open {
            None => Standing::Closed,
            Some(open) if open.until <= now && open.trial_until <= now => Standing::HalfOpen,
            Some(open) if open.is_slow => Standing::Open,
            Some(_) => Standing::LastResort,
        }
    }

    /// Returns whether it has been half-open for so long that calls of any kind may try.
    pub(crate) fn waits_for_a_trial(&self, now: u64) -> bool {
        let since = |open: Open| open.until.max(open.trial_until).saturating_add(TRIAL_WAIT_MS);
        self.state().open.is_some_and(|open| since(open) <= now)
    }

    /// Returns in how many milliseconds a call may try; 0 if it is not open.
    pub(crate) fn rests_for(&self, now: u64) -> u64 {
        let until = self.state().open.map_or(0, |open| open.until.max(open.trial_until));
        until.saturating_sub(now)
    }

    /// Returns how often it has opened.
    pub(crate) fn opened(&self) -> u64 {
        self.state().opened
    }

    /// Lets a call try, if it is half-open and no other call tries.
    pub(crate) fn try_one(&self, now: u64) -> Option<Trial<'_>> {
        match &mut self.state().open {
            Some(open) if open.until <= now && open.trial_until <= now => {
                open.trial_until = now.saturating_add(TRIAL_MS);
                Some(Trial { breaker: self, until: open.trial_until })
            }
            _ => None,
        }
    }

    /// Records how a call ended. `may_open` says whether enough other upstreams are left for it to open
    /// because of answers; without any, an answer is all that callers can get.
    pub(crate) fn record(&self, ended: Ended, may_open: bool, now: u64) {
        if ended == Ended::Well && self.is_calm() {
            return;
        }
        let mut state = self.state();
        let is_resting = state.open.is_some_and(|open| now < open.until);
        match ended {
            Ended::Well => {
                state.failures = 0;
                // A call that began before it opened tells nothing about now.
                if state.open.is_some_and(|open| !is_resting || !open.is_slow) {
                    state.close(now);
                }
            }
            Ended::Badly | Ended::Unanswered => {
                state.failures = state.failures.saturating_add(1);
                let has_tried_in_vain = state.open.is_some() && !is_resting;
                let is_too_often = state.failures >= self.rules.failures
                    && (may_open || ended == Ended::Unanswered);
                if has_tried_in_vain || (is_too_often && !is_resting) {
                    state.open(self.rules, true, now);
                }
            }
            Ended::Unreachable { .. } if is_resting => {}
            Ended::Unreachable { is_slow } => state.open(self.rules, is_slow, now),
        }
        self.has_changed(&state);
    }

    /// Records that a probe was answered well: an upstream that could not be reached can be.
    pub(crate) fn is_reached(&self, now: u64) {
        let mut state = self.state();
        if state.open.is_some_and(|open| !open.is_slow || open.until <= now) {
            state.close(now);
        }
        self.has_changed(&state);
    }

    /// Returns whether it is closed and no call has failed since one went well.
    pub(crate) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Acquire)
    }

    /// Notes what the state is now, before it is unlocked.
    fn has_changed(&self, state: &State) {
        self.is_calm.store(state.open.is_none() && state.failures == 0, Ordering::Release);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        match &mut self.breaker.state().open {
            Some(open) if open.trial_until == self.until => open.trial_until = 0,
            _ => {}
        }
    }
}

impl State {
    fn open(&mut self, rules: Rules, is_slow: bool, now: u64) {
        let has_gone_well =
            self.open.is_none() && now - self.closed_at.min(now) > rules.rest_max_ms;
        self.times = if has_gone_well { 1 } else { self.times.saturating_add(1) };
        let doubled = 1_u64.checked_shl(self.times - 1).unwrap_or(u64::MAX);
        let rest = rules.rest_ms.saturating_mul(doubled).min(rules.rest_max_ms);
        self.failures = 0;
        self.opened += u64::from(self.open.is_none());
        self.open = Some(Open { until: now.saturating_add(rest), is_slow, trial_until: 0 });
    }

    fn close(&mut self, now: u64) {
        self.open = None;
        self.failures = 0;
        self.closed_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { failures: 3, rest_ms: 1_000, rest_max_ms: 4_000 };
    const REFUSED: Ended = Ended::Unreachable { is_slow: false };
    const SILENT: Ended = Ended::Unreachable { is_slow: true };

    #[test]
    fn it_opens_after_failures_in_a_row_and_lets_one_call_try() {
        let breaker = Breaker::new(RULES);
        for ended in [Ended::Badly, Ended::Badly, Ended::Well, Ended::Badly, Ended::Badly] {
            breaker.record(ended, true, 0);
            assert_eq!(breaker.standing(0), Standing::Closed);
        }

        breaker.record(Ended::Badly, true, 0);
        assert_eq!(breaker.standing(999), Standing::Open);
        assert!(breaker.try_one(999).is_none());
        assert_eq!(breaker.standing(1_000), Standing::HalfOpen);
        let trial = breaker.try_one(1_000);
        assert!(trial.is_some());
        assert!(breaker.try_one(1_000).is_none(), "one call tries at a time");
        assert_eq!(breaker.standing(1_000), Standing::Open);
        breaker.record(Ended::Well, true, 1_100);
        assert_eq!(breaker.standing(1_100), Standing::Closed);
    }

    #[test]
    fn a_trial_that_tells_nothing_lets_another_call_try_and_one_that_has_told_undoes_nothing() {
        let breaker = Breaker::new(RULES);
        breaker.record(SILENT, true, 0);

        let malformed = breaker.try_one(1_000);
        assert_eq!(breaker.standing(1_000), Standing::Open);
        drop(malformed);
        assert_eq!(breaker.standing(1_000), Standing::HalfOpen);

        let slow = breaker.try_one(1_000).unwrap();
        let next = breaker.try_one(1_000 + TRIAL_MS).unwrap();
        drop(slow);
        assert!(breaker.try_one(1_000 + TRIAL_MS).is_none(), "the next one still tries");
        breaker.record(SILENT, true, 7_000);
        drop(next);
        assert_eq!(breaker.rests_for(7_000), 2_000);
        assert_eq!(breaker.standing(8_999), Standing::Open);
    }

    #[test]
    fn its_rest_grows_and_is_short_again_after_a_good_while() {
        let breaker = Breaker::new(RULES);
        let mut now = 100_000;
        for rest in [1_000, 2_000, 4_000, 4_000] {
            breaker.record(SILENT, true, now);
            assert_eq!(breaker.standing(now + rest - 1), Standing::Open, "{rest}");
            now += rest;
            assert!(breaker.try_one(now).is_some(), "{rest}");
        }
        breaker.record(Ended::Well, true, now);

        breaker.record(SILENT, true, now + 4_001);
        assert_eq!(breaker.standing(now + 4_001 + 1_000), Standing::HalfOpen);
    }

    #[test]
    fn failures_do_not_open_it_where_too_many_others_are_open_but_being_unreachable_does() {
        let breaker = Breaker::new(RULES);
        for _ in 0..10 {
            breaker.record(Ended::Badly, false, 0);
        }
        assert_eq!(breaker.standing(0), Standing::Closed);

        breaker.record(REFUSED, false, 0);
        assert_eq!(breaker.standing(0), Standing::LastResort);
        breaker.record(REFUSED, false, 500);
        assert_eq!(breaker.standing(1_000), Standing::HalfOpen, "the second one was told already");
        breaker.record(Ended::Well, false, 1_000);
        assert_eq!(breaker.standing(1_000), Standing::Closed);
    }

    #[test]
    fn without_answers_it_opens_even_if_no_other_upstream_is_left() {
        let breaker = Breaker::new(RULES);
        for _ in 0..3 {
            assert_eq!(breaker.standing(0), Standing::Closed);
            breaker.record(Ended::Unanswered, false, 0);
        }

        assert_eq!((breaker.standing(0), breaker.opened()), (Standing::Open, 1));
        assert_eq!((breaker.rests_for(0), breaker.rests_for(1_000)), (1_000, 0));
        assert!(!breaker.waits_for_a_trial(1_999) && breaker.waits_for_a_trial(2_000));
        assert!(breaker.try_one(1_000).is_some());
        breaker.record(Ended::Unanswered, false, 1_300);
        assert_eq!((breaker.standing(1_300), breaker.opened()), (Standing::Open, 1));
        assert_eq!(breaker.rests_for(1_300), 2_000, "it rests longer");
    }

    #[test]
    fn a_last_resort_that_goes_well_closes_it_and_a_late_answer_does_not() {
        let (refused, failed) = (Breaker::new(RULES), Breaker::new(RULES));
        refused.record(REFUSED, true, 0);
        for _ in 0..3 {
            failed.record(Ended::Badly, true, 0);
        }

        refused.record(Ended::Well, true, 10);
        failed.record(Ended::Well, true, 10);

        assert_eq!(refused.standing(10), Standing::Closed);
        assert_eq!(failed.standing(10), Standing::Open);
        failed.is_reached(10);
        assert_eq!(failed.standing(10), Standing::Open, "a probe says nothing about calls");
        failed.is_reached(1_000);
        assert_eq!(failed.standing(1_000), Standing::Closed);
    }
}
