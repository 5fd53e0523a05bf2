//! What a report says of a run.

mod made_up;

use std::time::Duration;

use homeroom_lab::report::{Judgement, Paint, Report, html, judge, summary};
use homeroom_lab::stage::{Load, Stage};

#[test]
fn a_load_that_was_answered_in_time_is_held() {
    let verdict = judge(&made_up::held());

    assert_eq!(verdict.judgement, Judgement::Held);
    assert_eq!(verdict.headline, "Held 300 requests/s");
    assert!(verdict.generator.good && verdict.host.good && verdict.connections.good);
}

#[test]
fn the_load_that_was_held_is_the_highest_below_the_first_that_was_not() {
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
fn requests_that_wait_longer_and_longer_are_no_load_held() {
    let mut run = made_up::held();
    for (second, interval) in run.intervals.iter_mut().enumerate() {
        interval.in_flight = second as u64;
    }

    let verdict = judge(&run);

    assert_eq!(verdict.stages[0].why_not, ["the wait grew by 667 ms"]);
}

#[test]
fn a_request_that_was_never_sent_is_told() {
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
fn a_load_that_was_held_in_spite_of_a_late_generator_was_held() {
    let mut run = made_up::held();
    run.own_lag_ms.p99 = 8.0;

    let verdict = judge(&run);

    assert_eq!((verdict.judgement, verdict.generator.good), (Judgement::Held, false));
}

#[test]
fn lag_while_every_connection_waits_is_not_the_generators() {
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
    run.requests = homeroom_lab::run::Requests::default();
    run.stages.clear();

    let verdict = judge(&run);

    assert_eq!(verdict.judgement, Judgement::NotJudged);
    assert_eq!(verdict.headline, "Nothing was sent");
}

#[test]
fn an_interrupted_run_is_judged_by_what_was_there() {
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
fn an_interrupted_ramp_is_judged_as_far_as_it_came() {
    let mut run = made_up::held();
    run.stages[0].stage.load = Load::Rate { from: 100.0, to: 500.0 };
    run.stages[0].stage.duration = Duration::from_secs(100);
    (run.interrupted_s, run.stages[0].seconds) = (Some(25.0), 25.0);

    assert_eq!(judge(&run).headline, "Interrupted after 25 s: held 100 to 200 requests/s");
}

#[test]
fn a_server_is_not_judged_by_connections_that_never_left() {
    let mut run = made_up::held();
    let tenth = run.requests.total / 10;
    run.outcomes.insert("no-room".into(), tenth);
    run.stages[0].requests.failed = tenth;

    let verdict = judge(&run);

    assert_eq!(verdict.headline, "Not judged: the generator was the limit");
    assert!(verdict.generator.because.ends_with("no socket, port or address on this machine"));
}
