//! Records by tenths of a second, by which trials are judged.

use super::ended::Ended;
use super::times::{Times, latency, merge, micros, record, times};

/// The length of a [`Bin`] in seconds.
pub const BIN_SECONDS: f64 = 0.1;

/// The length of the windows of [`Bins::windows_p99_ms`] in seconds.
pub const WINDOW_SECONDS: f64 = 10.0;

/// What happened to the requests that were due within a tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// How many requests were due.
    pub due: u64,
    /// How many of them did not end as expected.
    pub not_ok: u64,
    /// The sum of their response times from the due moment, in milliseconds. A request without an
    /// answer counts with the time after which it was given up.
    pub sum_ms: f64,
    /// The requests that waited for an answer or a connection at its end.
    pub waiting: u64,
}

const BIN_NANOSECONDS: u64 = 100_000_000;
const WINDOW_NANOSECONDS: u64 = 10_000_000_000;

/// Requests by the tenth of a second in which they were due.
#[derive(Debug, Clone, Default)]
pub struct Bins {
    tenths: Vec<Bin>,
    /// How many requests ended in each tenth.
    ended: Vec<u64>,
    /// Response times by the window in which the request was due.
    windows: Vec<Times>,
}

impl Bins {
    /// Counts a request that has ended.
    pub(super) fn add(&mut self, ended: &Ended) {
        let bin = place(&mut self.tenths, ended.due);
        bin.due += 1;
        bin.not_ok += u64::from(!ended.ok);
        bin.sum_ms += (ended.done - ended.due) as f64 / 1e6;
        *place(&mut self.ended, ended.done) += 1;
        let window = self.window(ended.due / WINDOW_NANOSECONDS);
        record(window, micros(ended.done - ended.due));
    }

    fn window(&mut self, number: u64) -> &mut Times {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        while self.windows.len() <= number {
            self.windows.push(times());
        }
        &mut self.windows[number]
    }

    /// Returns the 99th percentile of the response time of each window, in milliseconds. The last
    /// window includes the remainder of a trial of `seconds` seconds.
    pub fn windows_p99_ms(&self, seconds: f64) -> Vec<f64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let whole = ((seconds / WINDOW_SECONDS) as usize).max(1);
        let mut windows = self.windows.clone();
        while windows.len() > whole {
            let rest = windows.pop().unwrap_or_else(times);
            merge(&mut windows[whole - 1], &rest);
        }
        windows.iter().map(|window| latency(window).p99).collect()
    }

    /// Adds another thread's record.
    pub(super) fn merge(&mut self, other: &Self) {
        for (at, bin) in other.tenths.iter().enumerate() {
            let into = place(&mut self.tenths, at as u64 * BIN_NANOSECONDS);
            into.due += bin.due;
            into.not_ok += bin.not_ok;
            into.sum_ms += bin.sum_ms;
        }
        for (at, ended) in other.ended.iter().enumerate() {
            *place(&mut self.ended, at as u64 * BIN_NANOSECONDS) += ended;
        }
        for (at, window) in other.windows.iter().enumerate() {
            merge(self.window(at as u64), window);
        }
    }

    /// Returns the bins in order, each with the number of requests that waited at its end.
    pub fn finish(&self) -> Vec<Bin> {
        let mut waiting = 0;
        let mut bins = self.tenths.clone();
        let ended = self.ended.iter().chain(std::iter::repeat(&0));
        for (bin, ended) in bins.iter_mut().zip(ended) {
            waiting += bin.due;
            waiting = waiting.saturating_sub(*ended);
            bin.waiting = waiting;
        }
        bins
    }
}

fn place<T: Default + Clone>(list: &mut Vec<T>, at: u64) -> &mut T {
    let at = usize::try_from(at / BIN_NANOSECONDS).unwrap_or(usize::MAX);
    if list.len() <= at {
        list.resize(at + 1, T::default());
    }
    &mut list[at]
}
