//! The record of a run.

use std::time::Duration;

use super::bins::Bins;
use super::counts::{Counts, Measured};
use super::ended::Ended;
use super::second::Second;
use super::times::{Times, growing, merge, micros, record, times};
use crate::outcome::Outcome;

/// One thread's record of a run.
#[derive(Debug)]
pub struct Recording {
    /// The records by stage.
    pub stages: Vec<Measured>,
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

impl Recording {
    /// Returns an empty record for stages that end at these moments.
    pub fn new(ends: Vec<u64>, steps: usize, bins: bool) -> Self {
        Self {
            stages: vec![Measured::default(); ends.len()],
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
    pub fn add(&mut self, ended: &Ended, second: &mut Second) {
        let response = micros(ended.done - ended.due);
        let lag = micros(ended.sent - ended.due);
        let stage = &mut self.stages[ended.stage];
        stage.counts.add(ended.outcome, ended.ok, ended.late);
        record(&mut stage.response, response);
        if ended.was_sent() {
            record(&mut stage.service, micros(ended.done - ended.sent));
            record(&mut stage.lag, lag);
            if !ended.late {
                record(&mut self.own_lag, lag);
            }
        }
        if let Some(step) = ended.step {
            let (counts, times) = &mut self.steps[step];
            counts.add(ended.outcome, ended.ok, ended.late);
            record(times, response);
        }
        if let Some(bins) = &mut self.bins {
            bins.add(ended);
        }
        second.counts.add(ended.outcome, ended.ok, ended.late);
        record(&mut second.response, response);
        if matches!(ended.outcome, Outcome::Status(_)) {
            self.add_answer(ended);
        }
    }

    /// Counts an answer for the stage in which it came; answers after the last stage count for
    /// none.
    fn add_answer(&mut self, ended: &Ended) {
        let came = self.ends.partition_point(|end| *end <= ended.done);
        let Some(stage) = self.stages.get_mut(came) else { return };
        stage.counts.add_within(ended.ok);
        if let Some(step) = ended.step {
            self.steps[step].0.add_within(ended.ok);
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

#[cfg(test)]
mod tests {
    use super::super::times::latency;
    use super::*;
    use crate::figures::Requests;

    fn ended(due: u64, done: u64, ok: bool) -> Ended {
        let outcome = Outcome::Status(if ok { 200 } else { 503 });
        Ended { stage: 0, step: Some(0), due, sent: due, done, outcome, ok, late: false }
    }

    #[test]
    fn a_request_is_counted_once_in_stage_step_and_second() {
        let mut recording = Recording::new(vec![1_000_000_000], 1, true);
        let mut second = Second::new(0);

        recording.add(&ended(0, 1_500_000, true), &mut second);
        recording.add(&ended(0, 2_500_000, false), &mut second);

        let stage = &recording.stages[0];
        assert_eq!((stage.counts.requests.total, stage.counts.requests.failed), (2, 1));
        assert_eq!((recording.steps[0].0.requests.total, second.counts.requests.ok), (2, 1));
        assert!((latency(&stage.response).mean - 2.0).abs() < 0.01);
    }

    #[test]
    fn an_answer_counts_in_the_stage_in_which_it_arrived() {
        let second = 1_000_000_000;
        let mut recording = Recording::new(vec![second, 2 * second], 1, false);
        let mut seen = Second::new(0);
        let mut add = |due, done, ok| recording.add(&ended(due, done, ok), &mut seen);

        add(0, second - 1, true);
        add(0, second, true);
        add(0, 2 * second - 1, false);
        add(0, 2 * second, true);

        let within = |counts: &Counts| (counts.answered_within, counts.ok_within);
        assert_eq!(recording.stages[0].counts.requests.total, 4);
        assert_eq!(within(&recording.stages[0].counts), (1, 1));
        assert_eq!(within(&recording.stages[1].counts), (2, 1));
        assert_eq!(within(&recording.steps[0].0), (3, 2));
    }

    #[test]
    fn a_request_that_was_not_sent_has_no_service_time() {
        let mut recording = Recording::new(vec![1_000_000_000], 1, false);
        let mut second = Second::new(0);
        let failed = ended(0, 5_000_000, false);

        let unsent = Ended { step: None, outcome: Outcome::Unsent, late: true, ..failed };
        recording.add(&unsent, &mut second);
        recording.add(&Ended { outcome: Outcome::NoRoom, ..failed }, &mut second);

        let stage = &recording.stages[0];
        assert_eq!((stage.response.len(), stage.counts.requests.failed), (2, 2));
        assert_eq!((stage.service.len(), stage.lag.len(), recording.own_lag.len()), (0, 0, 0));
    }

    #[test]
    fn an_interruption_ends_the_stage_and_its_open_requests_are_not_failures() {
        let mut recording = Recording::new(vec![1_000_000_000, 2_000_000_000], 1, false);
        let mut second = Second::new(0);

        recording.stop(500_000_000);
        recording.add(&ended(0, 600_000_000, true), &mut second);
        let cut = Ended { outcome: Outcome::Unfinished, ..ended(0, 700_000_000, false) };
        recording.add(&cut, &mut second);

        let counts = &recording.stages[0].counts;
        let Requests { total, ok, failed, .. } = counts.requests;
        assert_eq!((total, ok, failed, counts.answered_within), (2, 1, 0, 0));
        assert_eq!(counts.outcomes()["unfinished"], 1);
    }

    #[test]
    fn bins_count_the_requests_waiting_at_their_end() {
        let mut recording = Recording::new(vec![1_000_000_000], 1, true);
        let mut second = Second::new(0);
        let ms = 1_000_000;

        recording.add(&ended(0, 50 * ms, true), &mut second);
        recording.add(&ended(10 * ms, 250 * ms, true), &mut second);
        recording.add(&ended(120 * ms, 130 * ms, false), &mut second);
        let mut other = Recording::new(vec![1_000_000_000], 1, true);
        other.add(&ended(20 * ms, 150 * ms, true), &mut second);
        recording.merge(&other);

        let bins = recording.bins.as_ref().unwrap();
        assert_eq!(bins.windows_p99_ms(15.0).len(), 1);
        let bins = bins.finish();
        let waiting: Vec<u64> = bins.iter().map(|bin| bin.waiting).collect();
        assert_eq!(waiting, [2, 1]);
        assert_eq!((bins[0].due, bins[1].not_ok), (3, 1));
        assert!((bins[0].sum_ms - 420.0).abs() < 0.001);
    }
}
