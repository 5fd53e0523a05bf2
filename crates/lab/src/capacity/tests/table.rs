//! Produces the table in the documentation of `capacity`, with every simulated server, and checks
//! what holds for all of them. With `HOMEROOM_LONG` set it runs 60 seeds each, as for the table,
//! and prints it:
//!
//! `HOMEROOM_LONG=1 cargo test --release -p homeroom-lab --lib capacity::tests::table -- --nocapture`

use std::collections::BTreeMap;

use super::*;

/// A simulated server with its name and what it holds, as in the table.
struct Row(&'static str, &'static str, World);

fn rows() -> Vec<Row> {
    let quiet = World::quiet(400.0);
    let pauses = |every, seconds| World {
        slow: Some((every, (0.999_99, 0.999_99), (seconds, seconds))),
        ..quiet.clone()
    };
    vec![
        Row("quiet, fast (one seed)", "20,000", World::quiet(20_000.0)),
        Row("quiet", "395-404", quiet.clone()),
        Row("quiet, Poisson arrivals", "395-404", World { poisson: true, ..quiet.clone() }),
        Row("quiet, slow", "19-20.4", World::quiet(20.0)),
        Row("slow-downs of 10-60 % for 0.5-4 s about every 15 s", "352-396", World::noisy(400.0)),
        Row("the same, faster", "1,144-1,290", World::noisy(1_300.0)),
        Row(
            "queue without end, time-out 10 s",
            "395-406",
            World { full: Full::Queues, ..quiet.clone() },
        ),
        Row(
            "the same with the slow-downs",
            "360-396",
            World { full: Full::Queues, ..World::noisy(400.0) },
        ),
        Row(
            "queue without end, work grows while it waits",
            "372-383",
            World { full: Full::Queues, collapse: 0.5, ..quiet.clone() },
        ),
        Row(
            "at most 50 inside",
            "380-392",
            World { full: Full::AtMost(50), workers: 8, ..quiet.clone() },
        ),
        Row(
            "at most 8 inside, 8 workers",
            "186-200",
            World { full: Full::AtMost(8), workers: 8, ..quiet.clone() },
        ),
        Row("pauses of 1 s about every 30 s", "364-400", pauses(30.0, 1.0)),
        Row("pauses of 2 s about every 20 s", "200-360", pauses(20.0, 2.0)),
        Row(
            "loses a third in ten minutes",
            "600 to 400",
            World { drift: -0.000_5, ..World::quiet(600.0) },
        ),
        Row(
            "gains a third in ten minutes",
            "400 to 530",
            World { drift: 0.000_5, ..quiet.clone() },
        ),
        Row("0.08 % errors", "395-404", World { errors: 0.000_8, ..quiet.clone() }),
        Row("1 % errors", "none", World { errors: 0.01, ..quiet.clone() }),
        Row("only errors", "none", World { errors: 1.0, ..quiet.clone() }),
        Row("generator that can do 500", "400", World { generator: 500.0, ..quiet.clone() }),
        Row("host takes a fifth", "320", World { steal: (0.2, 0.0), ..quiet.clone() }),
        Row(
            "host takes a fifth after 200 s",
            "400, then 320",
            World { steal: (0.2, 200.0), ..quiet },
        ),
    ]
}

#[test]
fn every_simulated_server_has_ordered_levels_that_a_valid_trial_confirms() {
    let is_long = std::env::var_os("HOMEROOM_LONG").is_some();
    let seeds = if is_long { 60 } else { 2 };
    for Row(name, held, world) in rows() {
        let seeds = if name.contains("one seed") { u64::from(is_long) } else { seeds };
        let found: Vec<Capacity> =
            (0..seeds).map(|seed| searched(&world, seed, &Constants::default())).collect();
        for (seed, one) in found.iter().enumerate() {
            is_conservative(one, &format!("{name}, seed {seed}"));
        }
        for seed in 0..2 * seeds {
            let quick = searched(&world, seed, &Constants::quick());
            is_conservative(&quick, &format!("{name}, quick, seed {seed}"));
        }
        if is_long {
            println!("{}", row(name, held, &found));
        }
    }
}

/// Checks the order of the levels, and that each rests on trials that were not void.
fn is_conservative(one: &Capacity, name: &str) {
    let by = &one.constants;
    let [stable, burst, failure] = [one.levels.stable(), one.levels.burst(), one.levels.failure()];
    assert!(stable.rate <= burst.rate && burst.rate <= failure.rate, "{name}: {:?}", one.levels);
    let valid = |rate: f64, seconds: f64, such: &dyn Fn(&Tried) -> bool| {
        one.trials.iter().any(|tried| {
            (tried.rate / rate - 1.0).abs() < 1e-4
                && tried.seconds >= seconds
                && !tried.verdict.is_void()
                && such(tried)
        })
    };
    for (level, not_ok) in [(stable, by.goals.stable.not_ok), (burst, by.goals.burst_not_ok)] {
        assert_eq!(level.at_least.is_some(), !level.found && level.rate > 0.0, "{name}: {level:?}");
        let seconds = if level.found { by.window_s } else { 0.0 };
        let kept = |tried: &Tried| tried.not_ok_share <= not_ok + 1e-9;
        assert!(
            level.rate <= 0.0 || valid(level.rate, seconds, &kept),
            "{name}: {level:?} was not kept: {:?}",
            one.trials
        );
    }
    let passed = |tried: &Tried| {
        tried.verdict == TrialVerdict::Passed && tried.behind <= by.goals.stable.behind
    };
    assert!(stable.rate <= 0.0 || valid(stable.rate, 0.0, &passed), "{name}: {:?}", one.trials);
    let peak = one.trials.iter().map(|tried| tried.goodput).fold(0.0, f64::max);
    let broke = |tried: &Tried| {
        tried.not_ok_share > by.goals.failure_not_ok
            || tried.goodput < by.goals.failure_goodput * peak
    };
    assert!(
        !failure.found || valid(failure.rate, by.window_s, &broke),
        "{name}: {failure:?} did not break"
    );
}

#[test]
fn a_search_with_void_confirmations_reports_the_best_valid_trial_as_a_lower_bound() {
    // The server answers 23,000 of 25,600; at some point the host begins to take time.
    let mut seen = 0;
    for seed in 0..14_u8 {
        let since = 8.0 + 2.0 * f64::from(seed);
        let world = World { full: Full::Queues, steal: (0.1, since), ..World::quiet(23_000.0) };
        let constants = Constants { start_rate: 3_200.0, ..Constants::quick() };

        let found = searched(&world, seed.into(), &constants);

        is_conservative(&found, &format!("seed {seed}"));
        let stable = found.levels.stable();
        assert!(stable.rate <= 23_000.0 * 1.01, "seed {seed}: {stable:?}, {:?}", found.trials);
        let holds = found.trials.iter().filter(|tried| tried.phase == Phase::Confirm);
        let void = holds.clone().filter(|tried| tried.verdict.is_void());
        if void.clone().count() > 0 && void.count() == holds.count() {
            seen += 1;
            assert!(!stable.found && stable.at_least.is_some(), "seed {seed}: {stable:?}");
            assert!(found.verdict.is_at_least(), "seed {seed}: {:?}", found.verdict);
        }
    }
    assert!(seen > 0, "no search had void holds alone");
}

fn row(name: &str, held: &str, found: &[Capacity]) -> String {
    let of = |value: &dyn Fn(&Capacity) -> f64| {
        let values: Vec<f64> = found.iter().map(value).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        (median(&values), least, most)
    };
    let mut verdicts = BTreeMap::<&str, usize>::new();
    for one in found {
        *verdicts.entry(one.verdict.name()).or_default() += 1;
    }
    let mut verdicts: Vec<_> = verdicts.into_iter().collect();
    verdicts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let verdicts: Vec<String> =
        verdicts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let (stable, least, most) = of(&|one| one.levels.stable().rate);
    let (burst, failure) =
        (of(&|one| one.levels.burst().rate).0, of(&|one| one.levels.failure().rate).0);
    let (seconds, _, longest) = of(&|one| one.seconds);
    format!(
        "| {name} | {held} | {stable:.0} ({least:.0}-{most:.0}) | {burst:.0} | {failure:.0} | \
         {seconds:.0} ({longest:.0}) | {} |",
        verdicts.join(", ")
    )
}
