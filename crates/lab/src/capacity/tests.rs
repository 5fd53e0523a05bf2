//! Runs the search against a simulated server, in virtual time.
//!
//! A simulated server with pauses or errors of its own has no sharp limit. The rates at which 80
//! and 20 of 100 holds of 45 s pass were counted once for each such server, over 60 holds per rate;
//! the tests contain them as two numbers.

mod simulated;
mod table;

use simulated::{Full, Simulated, World};

use super::*;
use crate::statistics::median;

/// Returns how many seeds a test runs; each takes about ten minutes of virtual time.
fn seeds() -> u64 {
    if std::env::var_os("HOMEROOM_LONG").is_some() { 60 } else { 7 }
}

fn searched(world: &World, seed: u64, constants: &Constants) -> Capacity {
    let mut driver = Simulated::new(world.clone(), seed);
    let ceiling = Ceiling { rate: Some(world.generator), seconds: 15.0 };
    let Ok(found) = find(constants, ceiling, &mut driver);
    found
}

fn all(world: &World) -> Vec<Capacity> {
    (0..seeds()).map(|seed| searched(world, seed, &Constants::default())).collect()
}

/// Runs half as many seeds, for tests that need no median.
fn some(world: &World) -> Vec<Capacity> {
    (0..seeds().div_ceil(2)).map(|seed| searched(world, seed, &Constants::default())).collect()
}

fn typical(found: &[Capacity], of: impl Fn(&Capacity) -> f64) -> f64 {
    median(&found.iter().map(of).collect::<Vec<f64>>())
}

/// Checks that every clean result is within a tenth of the truth.
fn no_silent_error(found: &[Capacity], from: f64, to: f64) {
    for (seed, one) in found.iter().enumerate() {
        let near = (from * 0.9..=to * 1.1).contains(&one.levels.stable().rate);
        assert!(
            near || one.verdict != Verdict::Clean,
            "seed {seed}: {:.0} is called clean, the truth is {from:.0} to {to:.0}: {:?}",
            one.levels.stable().rate,
            one.trials
        );
    }
}

/// Checks the median of seven results, and the time.
fn typically_right(found: &[Capacity], truth: f64) {
    let (stable, seconds) =
        (typical(found, |of| of.levels.stable().rate), typical(found, |of| of.seconds));
    assert!((stable / truth - 1.0).abs() <= 0.05, "{stable:.0} for {truth:.0}");
    assert!(seconds <= 600.0, "{seconds} s");
    for one in found {
        assert!(one.seconds <= 625.0, "{} s", one.seconds);
    }
}

#[test]
fn the_capacity_of_a_quiet_server_is_found_within_5_percent_and_called_clean() {
    let found = all(&World::quiet(400.0));

    typically_right(&found, 400.0);
    no_silent_error(&found, 400.0, 400.0);
    assert!(found.iter().all(|one| one.verdict == Verdict::Clean));
    // The queue holds two seconds of work: 30 s at 1.08 fill it, 30 s at 1.17 overflow it by 10 %.
    assert!((392.0..=440.0).contains(&typical(&found, |one| one.levels.burst().rate)));
    assert!((430.0..=500.0).contains(&typical(&found, |one| one.levels.failure().rate)));
    for one in &found {
        assert!(
            one.levels.stable().rate <= one.levels.burst().rate
                && one.levels.burst().rate < one.levels.failure().rate
        );
    }
}

#[test]
fn rates_from_twenty_to_thousands_a_second_are_found_in_ten_minutes() {
    typically_right(&all(&World::quiet(20.0)), 19.4);
    let rates: &[f64] =
        if std::env::var_os("HOMEROOM_LONG").is_some() { &[2_000.0, 20_000.0] } else { &[2_000.0] };
    for rate in rates {
        let found = searched(&World::quiet(*rate), 1, &Constants::default());
        typically_right(&[found], *rate);
    }
}

#[test]
fn the_capacity_of_a_noisy_server_is_found_within_5_percent_in_the_median() {
    for rate in [400.0, 1_300.0] {
        let world = World::noisy(rate);

        let found = all(&world);

        typically_right(&found, world.mean_capacity());
        no_silent_error(&found, world.mean_capacity(), world.mean_capacity());
    }
}

#[test]
fn the_overload_behaviour_of_a_server_does_not_bias_the_result() {
    let quiet = World::quiet(400.0);
    for (world, from, to) in [
        (World { full: Full::Queues, ..quiet.clone() }, 395.0, 406.0),
        (World { full: Full::Queues, collapse: 0.5, ..quiet.clone() }, 372.0, 383.0),
        (World { full: Full::AtMost(50), workers: 8, ..quiet.clone() }, 380.0, 392.0),
        (World { full: Full::AtMost(8), workers: 8, ..quiet.clone() }, 186.0, 200.0),
        (World { poisson: true, ..quiet.clone() }, 395.0, 404.0),
        (World { errors: 0.000_8, ..quiet }, 395.0, 404.0),
        (World { full: Full::Queues, ..World::noisy(400.0) }, 360.0, 396.0),
    ] {
        let found = some(&world);

        no_silent_error(&found, from, to);
        typically_right(&found, f64::midpoint(from, to));
    }
}

#[test]
fn the_capacity_of_a_server_with_pauses_is_right_or_not_called_clean() {
    let pauses = |every, seconds| World {
        slow: Some((every, (0.999_99, 0.999_99), (seconds, seconds))),
        ..World::quiet(400.0)
    };

    no_silent_error(&some(&pauses(30.0, 1.0)), 364.0, 400.0);
    // Occasionally no long pause falls into a hold; then the result is the same as without pauses.
    no_silent_error(&some(&pauses(20.0, 2.0)), 220.0, 400.0);
}

#[test]
fn a_server_that_shrinks_or_grows_is_called_unsteady() {
    for (capacity, drift) in [(600.0, -0.000_5), (400.0, 0.000_5)] {
        let found = some(&World { drift, ..World::quiet(capacity) });

        let clean = found.iter().filter(|one| one.verdict == Verdict::Clean).count();
        assert!(clean * 20 <= found.len(), "{clean} of {}", found.len());
        // The server gains or loses a third in ten minutes, so the result lies in between.
        no_silent_error(&found, 400.0, 600.0);
    }
}

#[test]
fn a_server_that_answers_only_errors_is_called_failing_at_once() {
    for one in some(&World { errors: 1.0, ..World::quiet(400.0) }) {
        assert_eq!(one.verdict, Verdict::TargetFailing);
        assert!(one.seconds < 60.0 && !one.levels.stable().found);
        assert!(one.reasons[0].contains("100.00 % not ok"), "{:?}", one.reasons);
    }
}

#[test]
fn a_server_with_a_few_errors_at_any_load_is_never_called_clean() {
    let found = some(&World { errors: 0.01, ..World::quiet(400.0) });

    assert!(found.iter().all(|one| one.verdict != Verdict::Clean));
    let failing = found.iter().filter(|one| one.verdict == Verdict::TargetFailing).count();
    assert!(failing * 2 > found.len(), "{failing} of {}", found.len());
}

#[test]
fn a_limited_generator_gives_half_its_own_rate_as_a_lower_bound() {
    for one in some(&World { generator: 500.0, ..World::quiet(400.0) }) {
        assert_eq!(one.verdict, Verdict::GeneratorLimited);
        assert!(
            (one.levels.stable().rate - 250.0).abs() < 1e-9 && one.levels.stable().high.is_none()
        );
    }
}

#[test]
fn a_late_unchecked_generator_is_reported_as_the_limit() {
    let world = World { generator: 300.0, ..World::quiet(400.0) };
    for seed in 0..seeds() {
        let mut driver = Simulated::new(world.clone(), seed);
        let ceiling = Ceiling { rate: None, seconds: 0.0 };

        let Ok(found) = find(&Constants::default(), ceiling, &mut driver);

        assert_eq!(found.verdict, Verdict::GeneratorLimited, "{:?}", found.reasons);
        assert!(
            (200.0..=301.0).contains(&found.levels.stable().rate),
            "{:?}",
            found.levels.stable()
        );
    }
}

#[test]
fn a_host_that_steals_time_is_reported() {
    let found = some(&World { steal: (0.2, 0.0), ..World::quiet(400.0) });

    for one in &found {
        assert_eq!(one.verdict, Verdict::HostNoisy, "{:?}", one.reasons);
        assert!(one.levels.stable().rate <= 320.0 * 1.06);
    }
    let later = some(&World { steal: (0.2, 200.0), ..World::quiet(400.0) });
    no_silent_error(&later, 400.0, 400.0);
}

#[test]
fn the_requested_maximum_rate_limits_the_search() {
    let constants = Constants { rate_max: Some(120.0), ..Constants::default() };

    let found = searched(&World::quiet(400.0), 1, &constants);

    assert_eq!(found.verdict, Verdict::LimitOfSearch);
    assert!(
        (found.levels.stable().rate - 120.0).abs() < 1e-9 && found.levels.stable().high.is_none()
    );
    assert!(found.trials.iter().all(|tried| tried.rate <= 120.0));
}

#[test]
fn a_time_budget_is_kept_and_reported_if_it_is_too_short() {
    let constants = Constants::default().within(260.0);

    let found = searched(&World::quiet(400.0), 1, &constants);

    assert!(found.seconds <= 285.0, "{}", found.seconds);
    assert_eq!(found.verdict, Verdict::OutOfTime);
    assert!(found.reasons[0].contains("time ran out"), "{:?}", found.reasons);
}

#[test]
fn a_different_goal_finds_a_different_level() {
    let mut constants = Constants::default();
    constants.goals.stable = StableGoal::p99(60.0);

    let found = searched(&World::quiet(400.0), 1, &constants);

    // At 95 % of its capacity this server's 99th percentile is far above 60 ms.
    assert!((250.0..=380.0).contains(&found.levels.stable().rate), "{:?}", found.levels.stable());
    assert_eq!(found.verdict, Verdict::Clean, "{:?}", found.reasons);
}

#[test]
fn the_same_trials_give_the_same_file_and_it_can_be_read_back() {
    let one = searched(&World::noisy(400.0), 3, &Constants::default());
    let other = searched(&World::noisy(400.0), 3, &Constants::default());

    let text = serde_json::to_string(&one).unwrap();

    assert_eq!(text, serde_json::to_string(&other).unwrap());
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    for level in ["stable", "burst", "failure"] {
        assert!(read[level]["rate"].is_number(), "{level}");
        assert!(read[level].get("low").is_some() && read[level].get("high").is_some());
    }
    assert!(read["phases"]["narrow"].is_number() && read["constants"]["goals"].is_object());
    serde_json::from_str::<Capacity>(&text).unwrap();
}

#[test]
fn a_stopped_search_reports_its_findings() {
    let whole = searched(&World::quiet(400.0), 1, &Constants::default());
    let most = u32::try_from(whole.trials.len()).unwrap();

    for trials in [0, 1, most / 2, most - 1] {
        let mut driver = Simulated::new(World::quiet(400.0), 1);
        driver.stops_after = Some(trials);
        let Ok(found) =
            find(&Constants::default(), Ceiling { rate: None, seconds: 0.0 }, &mut driver);

        assert_eq!(found.trials.len(), trials as usize);
        assert_eq!(found.verdict, Verdict::Interrupted, "after {trials}");
        assert!(
            found.levels.stable().rate <= whole.levels.stable().high.unwrap(),
            "after {trials}"
        );
        assert!(found.reasons[0].contains("it was stopped"), "{found:?}");
        let blames_time = |why: &String| why.contains("time ran out") || why.contains("no time");
        assert!(!found.reasons.iter().any(blames_time), "{:?}", found.reasons);
    }
}

#[test]
fn the_constants_decide_how_much_time_is_reserved() {
    let of = |constants: Constants| (constants.budget_s, constants.reserve_share);

    assert_eq!(of(Constants::default()), (600.0, 1.0));
    assert_eq!(of(Constants::default().within(1_200.0)), (1_200.0, 1.0));
    assert_eq!(of(Constants::quick()), (60.0, 0.1));
    // The reserves matter to the search: without any it confirms until the time is over.
    let keeps = searched(&World::quiet(400.0), 1, &Constants::default().within(260.0));
    let nothing = Constants { reserve_share: 0.0, ..Constants::default().within(260.0) };
    let spends = searched(&World::quiet(400.0), 1, &nothing);
    let searched_s = |of: &Capacity| {
        [Phase::Bracket, Phase::Narrow, Phase::Confirm]
            .iter()
            .filter_map(|phase| of.phases.get(phase))
            .sum::<f64>()
    };
    assert!(searched_s(&spends) > searched_s(&keeps));
}

#[test]
fn a_longer_drain_is_planned_for() {
    let long = Constants { drain_s: 60.0, ..Constants::default() };
    let mut driver = Simulated::new(World::quiet(400.0), 1);
    let ceiling = Ceiling { rate: None, seconds: 0.0 };
    let search = super::search::Search::new(&long, ceiling, &mut driver);

    // Two drains, one after the overload and one after the check: 600 - 25 - 2 * 60.
    assert!((search.left_s(Phase::Unhealthy) - 455.0).abs() < 1e-9);
}
