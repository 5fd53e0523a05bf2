//! Tests of the verdict that a report gives on a run.

mod made_up;

use std::time::Duration;

use homeroom_lab::report::{Judgement, Paint, Report, html, judge, markdown, summary};
use homeroom_load::run::{Requests, RunFile};
use homeroom_load::stage::{Load, Stage};

#[test]
fn a_load_that_was_answered_in_time_is_held() {
    let verdict = judge(&made_up::held());

    assert_eq!(verdict.judgement, Judgement::Held);
    assert_eq!(verdict.headline, "Held 300 requests/s");
    assert!(verdict.generator.good && verdict.host.good && verdict.connections.good);
}

#[test]
fn the_held_load_is_the_highest_below_the_first_failure() {
    let mut run = made_up::stages();
    run.stages[1].requests.failed = 60;
    run.stages[1].requests.ok -= 60;

    let verdict = judge(&run);

    assert_eq!(verdict.judgement, Judgement::Partly);
    assert_eq!(verdict.headline, "Held 50 requests/s, not 100");
    assert_eq!(verdict.stages[1].why_not, ["0.999 % failed"]);
    assert!(verdict.stages[2].held());
}

#[test]
fn a_load_that_is_not_held_after_a_spike_is_not_held() {
    let mut run = made_up::stages();
    run.stages[5].stage = Stage::rate(50.0, Duration::from_mins(1));

    let verdict = judge(&run);

    assert_eq!(verdict.judgement, Judgement::NotHeld);
    assert_eq!(verdict.headline, "Did not hold 50 requests/s");
}

#[test]
fn a_load_with_growing_waits_is_not_held() {
    let mut run = made_up::held();
    for (second, interval) in run.intervals.iter_mut().enumerate() {
        interval.in_flight = second as u64;
    }

    let verdict = judge(&run);

    assert_eq!(verdict.stages[0].why_not, ["the wait grew by 667 ms"]);
}

/// Returns a run of one stage at 1,000/s with this many requests waiting at the end of each second.
fn paced(waiting: &[u64]) -> RunFile {
    let mut run = made_up::held();
    let seconds = waiting.len();
    let asked = Stage::rate(1_000.0, Duration::from_secs(seconds as u64));
    run.plan = vec![asked];
    run.intervals.truncate(seconds);
    let mut before = 0;
    for (interval, now) in run.intervals.iter_mut().zip(waiting) {
        (interval.due, interval.answered) = (1_000, 1_000 + before - now);
        (interval.ok, interval.in_flight) = (interval.answered, 20);
        before = *now;
    }
    // All requests are answered in the end, and fast enough.
    let total = 1_000 * seconds as u64;
    run.requests = Requests { total, ok: total, failed: 0, late: 0 };
    let stage = &mut run.stages[0];
    (stage.stage, stage.seconds, stage.requests) = (asked, seconds as f64, run.requests);
    stage.answered_per_s = (total - before) as f64 / seconds as f64;
    stage.goodput = stage.answered_per_s;
    run
}

#[test]
fn a_load_is_held_only_if_answers_keep_up_and_every_form_agrees() {
    let short = |share: &str| {
        let more = "a stage of less than 6 s does not show whether the rest was only under way";
        Some(format!("{share} answered in time; {more}"))
    };
    let behind = |share: &str| Some(format!("answers fell behind by {share} of what was asked"));
    let steady = |seconds: usize, waiting: u64| vec![waiting; seconds];
    let growing = |seconds: u64, by: u64| (1..=seconds).map(|second| second * by).collect();
    for (what, waiting, why_not) in [
        ("all in time", steady(2, 0), None),
        ("a per cent under way", steady(2, 20), None),
        ("more, in a second", steady(1, 101), short("89.9 %")),
        ("more, in two", growing(2, 101), short("89.9 %")),
        ("more, in five", growing(5, 12), short("98.8 %")),
        ("many under way all the time", steady(6, 400), None),
        ("many under way for long", steady(60, 900), None),
        ("a queue that came and went", vec![0, 0, 500, 900, 500, 90, 90, 95, 99], None),
        ("a queue that grows", growing(6, 101), behind("8.77 %")),
        ("a slow queue, seen for long", growing(60, 15), behind("1.35 %")),
        ("a slower one", growing(60, 11), None),
    ] {
        let run = paced(&waiting);

        let verdict = judge(&run);

        let why_not: Vec<String> = why_not.into_iter().collect();
        assert_eq!(verdict.stages[0].why_not, why_not, "{what}");
        let says = if why_not.is_empty() { "Held 1,000" } else { "Did not hold 1,000" };
        let headline = format!("{says} requests/s");
        let report = Report::of(&run);
        assert_eq!(verdict.headline, headline, "{what}");
        for form in [summary(&report, Paint::Plain), html(&report), markdown(&report)] {
            assert!(form.contains(&headline), "{what}: {form}");
            assert!(why_not.iter().all(|why| form.contains(why)), "{what}: {form}");
        }
    }
}

#[test]
fn a_ramp_is_held_if_waiting_requests_grow_no_faster_than_the_rate() {
    let ramp = |behind: bool| {
        let mut run = paced(&[0; 60]);
        run.stages[0].stage.load = Load::Rate { from: 0.0, to: 1_000.0 };
        let (mut before, mut total) = (0, 0);
        for (second, interval) in run.intervals.iter_mut().enumerate() {
            let due = 1_000 * second as u64 / 60;
            // Each waits half a second; or the server answers only 600/s.
            let waiting = if behind { (before + due).saturating_sub(600) } else { due / 2 };
            (interval.due, interval.answered) = (due, before + due - waiting);
            (before, total) = (waiting, total + due);
        }
        let stage = &mut run.stages[0];
        (stage.requests.total, stage.requests.ok) = (total, total);
        stage.answered_per_s = (total - before) as f64 / 60.0;
        stage.goodput = stage.answered_per_s;
        run
    };

    assert_eq!(judge(&ramp(false)).headline, "Held 0 to 1,000 requests/s");
    assert_eq!(judge(&ramp(true)).headline, "Did not hold 0 to 1,000 requests/s");
}

#[test]
fn a_request_that_was_never_sent_is_reported() {
    let mut run = made_up::held();
    run.stages[0].outcomes.insert("unsent".into(), 1);

    let verdict = judge(&run);

    assert_eq!(verdict.stages[0].why_not, ["1 request never sent"]);
}

#[test]
fn a_server_is_not_judged_by_a_generator_that_was_the_limit() {
    let mut run = made_up::stages();
    run.generator.cpu_share_max = 0.93;

    let verdict = judge(&run);

    assert_eq!(verdict.judgement, Judgement::NotJudged);
    assert_eq!(verdict.headline, "At least 300 requests/s: the generator was the limit");
    assert_eq!(verdict.generator.because, "its own lag p99 0.08 ms, busiest thread 93 % of a core");
}

#[test]
fn a_load_held_with_a_late_generator_counts() {
    let mut run = made_up::held();
    run.own_lag_ms.p99 = 8.0;

    let verdict = judge(&run);

    assert_eq!((verdict.judgement, verdict.generator.good), (Judgement::Held, false));
}

#[test]
fn send_lag_with_all_connections_busy_is_not_the_generators_fault() {
    let mut run = made_up::stages();
    run.send_lag_ms.p99 = 900.0;
    run.requests.late = run.requests.total / 10;

    let verdict = judge(&run);

    assert!(verdict.generator.good && !verdict.connections.good);
    let because = "10 % of the requests waited for one of 500 connections";
    assert_eq!(verdict.connections.because, because);
}

#[test]
fn a_server_is_not_judged_on_a_noisy_host() {
    let mut run = made_up::stages();
    run.generator.steal_share = 0.09;

    let verdict = judge(&run);

    assert_eq!(verdict.headline, "At least 300 requests/s: the host was noisy");
}

#[test]
fn a_run_without_requests_is_not_judged() {
    let mut run = made_up::few();
    run.requests = homeroom_load::run::Requests::default();
    run.stages.clear();

    let verdict = judge(&run);

    assert_eq!(verdict.judgement, Judgement::NotJudged);
    assert_eq!(verdict.headline, "Nothing was sent");
}

#[test]
fn an_interrupted_run_is_judged_by_its_recorded_part() {
    let mut run = made_up::held();
    run.interrupted_s = Some(30.4);
    run.stages[0].seconds = 30.4;
    run.outcomes.insert("unfinished".into(), 12);

    let (verdict, summary) = (judge(&run), summary(&Report::of(&run), Paint::Plain));

    assert_eq!(verdict.headline, "Interrupted after 30 s: held 300 requests/s");
    assert!(summary.contains("30 s of 5 min were sent; 12 requests without"), "{summary}");
    assert!(html(&Report::of(&run)).contains("30 s of 5 min were sent"));
}

#[test]
fn an_interrupted_ramp_is_judged_by_its_recorded_part() {
    let mut run = made_up::held();
    run.stages[0].stage.load = Load::Rate { from: 100.0, to: 500.0 };
    run.stages[0].stage.duration = Duration::from_secs(100);
    (run.interrupted_s, run.stages[0].seconds) = (Some(25.0), 25.0);

    assert_eq!(judge(&run).headline, "Interrupted after 25 s: held 100 to 200 requests/s");
}

#[test]
fn a_server_is_not_judged_by_connections_that_this_machine_could_not_open() {
    let mut run = made_up::held();
    let tenth = run.requests.total / 10;
    run.outcomes.insert("no-room".into(), tenth);
    run.stages[0].requests.failed = tenth;

    let verdict = judge(&run);

    assert_eq!(verdict.headline, "Not judged: the generator was the limit");
    assert!(verdict.generator.because.ends_with("no socket, port or address on this machine"));
}
