//! Records requests during a run, in counts and histograms.

mod bins;

use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::Histogram;

use crate::outcome::{Outcome, Outcomes};
use crate::run::{Interval, Latency, Requests};
pub use bins::{BIN_SECONDS, Bin, Bins, WINDOW_SECONDS};

/// A histogram of times in microseconds, to three digits; its range grows as needed.
pub type Times = Histogram<u64>;

/// Returns an empty histogram of times.
pub fn times() -> Times {
    growing(3)
}

fn growing(digits: u8) -> Times {
    let mut times = Times::new(digits).expect("so many digits are possible");
    times.auto(true);
    times
}

/// Counts of requests and of how they ended.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The totals.
    pub requests: Requests,
    /// Answers that came within a stage's own time, whenever their requests were due …
    pub answered_within: u64,
    /// … and how many of them were as expected.
    pub ok_within: u64,
    /// Counts by status from 100 to 599; others are rare.
    statuses: Vec<(Outcome, u64)>,
}

impl Counts {
    /// Counts a request.
    pub fn add(&mut self, outcome: Outcome, ok: bool, late: bool) {
        self.requests.total += 1;
        self.requests.ok += u64::from(ok);
        self.requests.failed += u64::from(!ok && outcome != Outcome::Unfinished);
        self.requests.late += u64::from(late);
        self.add_outcome(outcome, 1);
    }

    /// Counts an answer that came within a stage's own time.
    fn add_within(&mut self, ok: bool) {
        self.answered_within += 1;
        self.ok_within += u64::from(ok);
    }

    /// Adds the counts of another record.
    pub fn merge(&mut self, other: &Self) {
        self.requests.total += other.requests.total;
        self.requests.ok += other.requests.ok;
        self.requests.failed += other.requests.failed;
        self.requests.late += other.requests.late;
        self.answered_within += other.answered_within;
        self.ok_within += other.ok_within;
        for (outcome, count) in &other.statuses {
            self.add_outcome(*outcome, *count);
        }
    }

    /// Returns the counts by the outcome's name.
    pub fn outcomes(&self) -> Outcomes {
        self.statuses.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
    }

    fn add_outcome(&mut self, outcome: Outcome, count: u64) {
        match self.statuses.iter_mut().find(|(of, _)| *of == outcome) {
            Some((_, counted)) => *counted += count,
            None => self.statuses.push((outcome, count)),
        }
    }
}

/// The record of some requests: all of a stage, or all of a step.
#[derive(Debug, Clone)]
pub struct Seen {
    /// How they ended.
    pub counts: Counts,
    /// The times from the due moment to the end of the answer.
    pub response: Times,
    /// The times from sending to the end of the answer; requests that were never sent have none.
    pub service: Times,
    /// The times from the due moment to sending.
    pub lag: Times,
}

impl Default for Seen {
    fn default() -> Self {
        Self { counts: Counts::default(), response: times(), service: times(), lag: times() }
    }
}

impl Seen {
    /// Adds the requests of another record.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        merge(&mut self.response, &other.response);
        merge(&mut self.service, &other.service);
        merge(&mut self.lag, &other.lag);
    }
}

/// Adds one histogram to another.
///
/// # Panics
///
/// Never for histograms made by [`times`], which grow as needed.
pub fn merge(into: &mut Times, from: &Times) {
    into.add(from).expect("both grow as they must");
}

/// Encodes a histogram for a file: `HdrHistogram` V2, deflated, base64.
pub fn encoded(times: &Times) -> String {
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

    let mut bytes = vec![];
    let done = V2DeflateSerializer::new().serialize(times, &mut bytes);
    done.map_or_else(
        |_| String::new(),
        |_| base64::engine::general_purpose::STANDARD.encode(&bytes),
    )
}

/// Decodes a histogram from a file.
pub fn decoded(text: &str) -> Option<Times> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// A request that has ended. Moments are in nanoseconds since the run began.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    /// The number of its stage.
    pub stage: usize,
    /// The number of its step; `None` if the request was never made.
    pub step: Option<usize>,
    /// When it was due.
    pub due: u64,
    /// When it was sent.
    pub sent: u64,
    /// When it ended.
    pub done: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the outcome is as expected.
    pub ok: bool,
    /// Whether it had to wait for a connection.
    pub late: bool,
}

impl Over {
    /// Returns whether it was sent: a request that was not has no service time.
    fn was_sent(&self) -> bool {
        self.step.is_some() && self.outcome != Outcome::NoRoom
    }
}

/// The record of one second of a run.
#[derive(Debug, Clone)]
pub struct Second {
    /// Its number, from 0.
    pub number: u64,
    /// The requests that ended in it.
    pub counts: Counts,
    /// Their response times.
    pub response: Times,
    /// The requests of modelled clients that were due in it; those of a rate are known beforehand.
    pub due: u64,
    /// The requests that waited for an answer at its end.
    pub in_flight: u64,
    /// When sending was told to end, in nanoseconds since the run began; `None` if it was not by
    /// then.
    pub stopped_at: Option<u64>,
}

impl Second {
    /// Returns an empty record of the second with this number.
    pub fn new(number: u64) -> Self {
        Self {
            number,
            counts: Counts::default(),
            response: times(),
            due: 0,
            in_flight: 0,
            stopped_at: None,
        }
    }

    /// Adds another thread's record of the same second.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        merge(&mut self.response, &other.response);
        self.due += other.due;
        self.in_flight += other.in_flight;
        self.stopped_at = self.stopped_at.max(other.stopped_at);
    }

    /// Returns the moment before which requests of a rate count as due by its end, in nanoseconds
    /// since the run began. None is due after sending was told to end.
    pub fn due_before(&self) -> u64 {
        let end = (self.number + 1) * 1_000_000_000;
        self.stopped_at.map_or(end, |stopped| end.min(stopped + 1))
    }

    /// Returns a row of a run file; `due` is the number of requests due at a rate.
    pub fn interval(&self, due: u64) -> Interval {
        let latency = latency(&self.response);
        Interval {
            at_s: self.number as f64,
            due: due + self.due,
            answered: self.counts.requests.total,
            ok: self.counts.requests.ok,
            outcomes: self.counts.outcomes(),
            mean_ms: latency.mean,
            p50_ms: latency.p50,
            p99_ms: latency.p99,
            max_ms: latency.max,
            in_flight: self.in_flight,
        }
    }
}

/// One thread's record of a run.
#[derive(Debug)]
pub struct Share {
    /// The records by stage.
    pub stages: Vec<Seen>,
    /// When each stage ends, in nanoseconds since the run began.
    ends: Vec<u64>,
    /// When sending was told to end, in nanoseconds since the run began.
    pub stopped_at: Option<u64>,
    /// The counts and response times by step.
    pub steps: Vec<(Counts, Times)>,
    /// The lag of requests for which a connection was free: the generator's own lag.
    pub own_lag: Times,
    /// The record by tenths of a second, if it is wanted.
    pub bins: Option<Bins>,
    /// The requests that were given up when the run ended.
    pub abandoned: u64,
    /// The thread's processor time.
    pub cpu: Duration,
    /// How long the thread sent and waited.
    pub wall: Duration,
}

impl Share {
    /// Returns an empty record for stages that end at these moments.
    pub fn new(ends: Vec<u64>, steps: usize, bins: bool) -> Self {
        Self {
            stages: vec![Seen::default(); ends.len()],
            ends,
            stopped_at: None,
            steps: (0..steps).map(|_| (Counts::default(), growing(2))).collect(),
            own_lag: times(),
            bins: bins.then(Bins::default),
            abandoned: 0,
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
        }
    }

    /// Counts a request that has ended.
    pub fn add(&mut self, over: &Over, second: &mut Second) {
        let response = micros(over.done - over.due);
        let lag = micros(over.sent - over.due);
        let stage = &mut self.stages[over.stage];
        stage.counts.add(over.outcome, over.ok, over.late);
        record(&mut stage.response, response);
        if over.was_sent() {
            record(&mut stage.service, micros(over.done - over.sent));
            record(&mut stage.lag, lag);
            if !over.late {
                record(&mut self.own_lag, lag);
            }
        }
        if let Some(step) = over.step {
            let (counts, times) = &mut self.steps[step];
            counts.add(over.outcome, over.ok, over.late);
            record(times, response);
        }
        if let Some(bins) = &mut self.bins {
            bins.add(over);
        }
        second.counts.add(over.outcome, over.ok, over.late);
        record(&mut second.response, response);
        if matches!(over.outcome, Outcome::Status(_)) {
            self.add_answer(over);
        }
    }

    /// Counts an answer for the stage in which it came; answers after the last stage count for
    /// none.
    fn add_answer(&mut self, over: &Over) {
        let came = self.ends.partition_point(|end| *end <= over.done);
        let Some(stage) = self.stages.get_mut(came) else { return };
        stage.counts.add_within(over.ok);
        if let Some(step) = over.step {
            self.steps[step].0.add_within(over.ok);
        }
    }

    /// Ends the stages when sending is told to end.
    pub fn stop(&mut self, now: u64) {
        self.stopped_at = Some(now);
        for end in &mut self.ends {
            *end = now.min(*end);
        }
    }

    /// Adds another thread's record of the same run.
    pub fn merge(&mut self, other: &Self) {
        for (into, from) in self.stages.iter_mut().zip(&other.stages) {
            into.merge(from);
        }
        for (into, from) in self.steps.iter_mut().zip(&other.steps) {
            into.0.merge(&from.0);
            merge(&mut into.1, &from.1);
        }
        merge(&mut self.own_lag, &other.own_lag);
        if let (Some(into), Some(from)) = (&mut self.bins, &other.bins) {
            into.merge(from);
        }
        self.stopped_at = self.stopped_at.max(other.stopped_at);
        self.abandoned += other.abandoned;
        self.cpu += other.cpu;
        self.wall = self.wall.max(other.wall);
    }
}

/// Records a time; the histogram grows, so it takes every value.
fn record(into: &mut Times, micros: u64) {
    _ = into.record(micros);
}

fn micros(nanoseconds: u64) -> u64 {
    nanoseconds.div_ceil(1000)
}

/// Returns a histogram's figures in milliseconds.
pub fn latency(times: &Times) -> Latency {
    let ms = |us: u64| us as f64 / 1e3;
    let at = |percentile: f64| ms(times.value_at_quantile(percentile / 100.0));
    if times.is_empty() {
        return Latency::default();
    }
    Latency {
        mean: times.mean() / 1e3,
        sd: times.stdev() / 1e3,
        min: ms(times.min()),
        p50: at(50.0),
        p75: at(75.0),
        p90: at(90.0),
        p95: at(95.0),
        p98: at(98.0),
        p99: at(99.0),
        p99_9: at(99.9),
        max: ms(times.max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(due: u64, done: u64, ok: bool) -> Over {
        let outcome = Outcome::Status(if ok { 200 } else { 503 });
        Over { stage: 0, step: Some(0), due, sent: due, done, outcome, ok, late: false }
    }

    #[test]
    fn a_histogram_survives_its_file_form() {
        let mut found = times();
        for value in [1, 20, 300, 4_000, 50_000, 600_000_000] {
            found.record(value).unwrap();
        }

        let read = decoded(&encoded(&found)).unwrap();

        assert_eq!(read, found);
        assert!(decoded("no histogram").is_none());
    }

    #[test]
    fn a_request_is_counted_once_in_stage_step_and_second() {
        let mut share = Share::new(vec![1_000_000_000], 1, true);
        let mut second = Second::new(0);

        share.add(&over(0, 1_500_000, true), &mut second);
        share.add(&over(0, 2_500_000, false), &mut second);

        let stage = &share.stages[0];
        assert_eq!((stage.counts.requests.total, stage.counts.requests.failed), (2, 1));
        assert_eq!((share.steps[0].0.requests.total, second.counts.requests.ok), (2, 1));
        assert!((latency(&stage.response).mean - 2.0).abs() < 0.01);
    }

    #[test]
    fn an_answer_counts_for_the_rate_of_the_stage_in_which_it_came() {
        let second = 1_000_000_000;
        let mut share = Share::new(vec![second, 2 * second], 1, false);
        let mut seen = Second::new(0);
        let mut add = |due, done, ok| share.add(&over(due, done, ok), &mut seen);

        add(0, second - 1, true);
        add(0, second, true);
        add(0, 2 * second - 1, false);
        add(0, 2 * second, true);

        let within = |counts: &Counts| (counts.answered_within, counts.ok_within);
        assert_eq!(share.stages[0].counts.requests.total, 4);
        assert_eq!(within(&share.stages[0].counts), (1, 1));
        assert_eq!(within(&share.stages[1].counts), (2, 1));
        assert_eq!(within(&share.steps[0].0), (3, 2));
    }

    #[test]
    fn what_never_left_has_no_service_time() {
        let mut share = Share::new(vec![1_000_000_000], 1, false);
        let mut second = Second::new(0);
        let failed = over(0, 5_000_000, false);

        let unsent = Over { step: None, outcome: Outcome::Unsent, late: true, ..failed };
        share.add(&unsent, &mut second);
        share.add(&Over { outcome: Outcome::NoRoom, ..failed }, &mut second);

        let stage = &share.stages[0];
        assert_eq!((stage.response.len(), stage.counts.requests.failed), (2, 2));
        assert_eq!((stage.service.len(), stage.lag.len(), share.own_lag.len()), (0, 0, 0));
    }

    #[test]
    fn an_interruption_ends_the_stage_and_what_it_cuts_off_is_no_failure() {
        let mut share = Share::new(vec![1_000_000_000, 2_000_000_000], 1, false);
        let mut second = Second::new(0);

        share.stop(500_000_000);
        share.add(&over(0, 600_000_000, true), &mut second);
        let cut = Over { outcome: Outcome::Unfinished, ..over(0, 700_000_000, false) };
        share.add(&cut, &mut second);

        let counts = &share.stages[0].counts;
        let Requests { total, ok, failed, .. } = counts.requests;
        assert_eq!((total, ok, failed, counts.answered_within), (2, 1, 0, 0));
        assert_eq!(counts.outcomes()["unfinished"], 1);
    }

    #[test]
    fn bins_tell_who_waited_at_their_end() {
        let mut share = Share::new(vec![1_000_000_000], 1, true);
        let mut second = Second::new(0);
        let ms = 1_000_000;

        share.add(&over(0, 50 * ms, true), &mut second);
        share.add(&over(10 * ms, 250 * ms, true), &mut second);
        share.add(&over(120 * ms, 130 * ms, false), &mut second);
        let mut other = Share::new(vec![1_000_000_000], 1, true);
        other.add(&over(20 * ms, 150 * ms, true), &mut second);
        share.merge(&other);

        let bins = share.bins.as_ref().unwrap();
        assert_eq!(bins.windows_p99_ms(15.0).len(), 1);
        let bins = bins.finish();
        let waiting: Vec<u64> = bins.iter().map(|bin| bin.waiting).collect();
        assert_eq!(waiting, [2, 1]);
        assert_eq!((bins[0].due, bins[1].not_ok), (3, 1));
        assert!((bins[0].sum_ms - 420.0).abs() < 0.001);
    }
}
