//! Compares B with A: runs them in turns and gives an interval of the ratio for each figure.
//!
//! A machine's speed drifts, so runs made one after the other say little. Here they alternate, A B
//! B A and then B A A B, and each block of four gives one pair.
//!
//! Source: Hoefler & Belli, Scientific benchmarking of parallel computing systems (SC15).

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::statistics::{Estimate, Resampling, mean, paired_difference, paired_ratio};

/// The settings of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonSettings {
    /// The number of blocks of four runs; at least two.
    pub blocks: u32,
    /// The smallest effect that matters, as a share.
    pub effect: f64,
    /// The smallest effect on the share of errors that matters, as a difference.
    pub error_effect: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The seed of random draws.
    pub seed: u64,
}

impl Default for ComparisonSettings {
    fn default() -> Self {
        Self { blocks: 5, effect: 0.03, error_effect: 0.001, confidence: 0.95, seed: 1 }
    }
}

/// The number of draws for each interval.
const DRAWS: u32 = 2_000;

/// The side that a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The baseline.
    A,
    /// The side that is judged.
    B,
}

/// The figures of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Expected answers per second.
    pub goodput: f64,
    /// The mean response time in milliseconds.
    pub mean_ms: f64,
    /// The median response time in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile of the response time in milliseconds.
    pub p99_ms: f64,
    /// The share that did not end as expected.
    pub error_share: f64,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The names of A and B.
    pub names: [String; 2],
    /// The settings of the comparison.
    pub settings: ComparisonSettings,
    /// The runs of A, in order.
    pub a: Vec<RunFigures>,
    /// The runs of B, in order.
    pub b: Vec<RunFigures>,
    /// One row per figure.
    pub rows: Vec<ComparedFigure>,
    /// Worse if any figure is worse; better if any is better and none is worse; same if all are the
    /// same. Unclear if neither side gave an expected answer.
    pub verdict: Difference,
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigure {
    /// The figure's name.
    pub name: String,
    /// The mean of A's runs.
    pub a: f64,
    /// The mean of B's runs.
    pub b: f64,
    /// The ratio of B to A; for errors the difference B − A. `None` if it cannot be computed.
    pub change: Option<Estimate>,
    /// The conclusion about this figure.
    pub verdict: Difference,
}

/// How B compares with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// B is better with confidence, by an effect that matters.
    Better,
    /// B is worse with confidence, by an effect that matters.
    Worse,
    /// There is no effect that matters.
    Same,
    /// The runs do not decide it; more runs may.
    Unclear,
}

impl Difference {
    /// Returns the verdict as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }
}

/// A figure, and which direction is good.
struct Figure {
    name: &'static str,
    of: fn(&RunFigures) -> f64,
    more_is_better: bool,
    /// Whether it is a share, which may be zero and so is compared by difference.
    is_share: bool,
}

const FIGURES: &[Figure] = &[
    Figure { name: "goodput /s", of: |seen| seen.goodput, more_is_better: true, is_share: false },
    Figure { name: "mean ms", of: |seen| seen.mean_ms, more_is_better: false, is_share: false },
    Figure { name: "p50 ms", of: |seen| seen.p50_ms, more_is_better: false, is_share: false },
    Figure { name: "p99 ms", of: |seen| seen.p99_ms, more_is_better: false, is_share: false },
    Figure { name: "errors", of: |seen| seen.error_share, more_is_better: false, is_share: true },
];

/// Runs both sides in turns and compares them.
///
/// # Errors
///
/// The closure's error, if a run could not be made.
pub fn compare<E>(
    names: [String; 2],
    settings: ComparisonSettings,
    mut run: impl FnMut(Side) -> Result<RunFigures, E>,
) -> Result<Comparison, E> {
    let (mut a, mut b) = (vec![], vec![]);
    for side in order(settings.blocks) {
        let seen = run(side)?;
        match side {
            Side::A => a.push(seen),
            Side::B => b.push(seen),
        }
    }
    Ok(judge(names, settings, a, b))
}

/// Compares runs that were made in the order of [`order`].
pub fn judge(
    names: [String; 2],
    settings: ComparisonSettings,
    a: Vec<RunFigures>,
    b: Vec<RunFigures>,
) -> Comparison {
    let rows: Vec<ComparedFigure> =
        FIGURES.iter().map(|figure| row(figure, settings, &a, &b)).collect();
    let any = |verdict| rows.iter().any(|row| row.verdict == verdict);
    let verdict = if nobody_answers(&a, &b) {
        Difference::Unclear
    } else if any(Difference::Worse) {
        Difference::Worse
    } else if any(Difference::Better) {
        Difference::Better
    } else if any(Difference::Unclear) {
        Difference::Unclear
    } else {
        Difference::Same
    };
    Comparison { names, settings, a, b, rows, verdict }
}

fn nobody_answers(a: &[RunFigures], b: &[RunFigures]) -> bool {
    a.iter().chain(b).all(|seen| seen.goodput <= 0.0)
}

impl Comparison {
    /// Returns whether neither side gave an expected answer; then there is nothing to compare.
    pub fn nobody_answers(&self) -> bool {
        nobody_answers(&self.a, &self.b)
    }

    /// Returns the result in a few words.
    pub fn says(&self) -> String {
        if self.nobody_answers() {
            "neither gave a right answer".into()
        } else {
            format!("B is {}", self.verdict.word())
        }
    }
}

/// Returns the order of runs: A B B A, B A A B, and so on; at least two blocks.
pub fn order(blocks: u32) -> Vec<Side> {
    use Side::{A, B};
    (0..blocks.max(2))
        .flat_map(|block| if block % 2 == 0 { [A, B, B, A] } else { [B, A, A, B] })
        .collect()
}

/// Formats a comparison as a text table.
pub fn table(comparison: &Comparison) -> String {
    let [a, b] = &comparison.names;
    let mut text = format!("A  {a}\nB  {b}\n\n");
    let line = |name: &str, a: &str, b: &str, change: &str, interval: &str, is: &str| {
        format!("{name:<12}{a:>12}{b:>12}{change:>10}  {interval:<20}{is}\n")
    };
    text.push_str(&line("figure", "A", "B", "change", "interval", "B is"));
    for row in &comparison.rows {
        let share = row.name == "errors";
        let shown = |value: f64| {
            if share { format!("{:.3} %", value * 100.0) } else { figures(value) }
        };
        let percent = |value: f64| {
            if share {
                format!("{:+.3}", value * 100.0)
            } else {
                format!("{:+.1} %", (value - 1.0) * 100.0)
            }
        };
        let (change, interval) = row.change.map_or_else(
            || ("-".to_owned(), "-".to_owned()),
            |of| (percent(of.value), format!("{} to {}", percent(of.low), percent(of.high))),
        );
        let (a, b, is) = (shown(row.a), shown(row.b), row.verdict.word());
        text.push_str(&line(&row.name, &a, &b, &change, &interval, is));
    }
    let _ = writeln!(
        text,
        "\n{}: {} runs each in turns, {:.0} % intervals, effects below {:.0} % do not matter",
        upper_first(&comparison.says()),
        comparison.a.len(),
        comparison.settings.confidence * 100.0,
        comparison.settings.effect * 100.0,
    );
    text
}

fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().to_string())
        + letters.as_str()
}

fn figures(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}

fn row(
    figure: &Figure,
    settings: ComparisonSettings,
    a: &[RunFigures],
    b: &[RunFigures],
) -> ComparedFigure {
    let values = |seen: &[RunFigures]| seen.iter().map(figure.of).collect::<Vec<f64>>();
    let (a, b) = (values(a), values(b));
    // Two runs of each side form a block.
    let pairs: Vec<(f64, f64)> =
        a.chunks(2).zip(b.chunks(2)).map(|(a, b)| (mean(a), mean(b))).collect();
    let how = Resampling { draws: DRAWS, confidence: settings.confidence, seed: settings.seed };
    let (change, none, effect) = if figure.is_share {
        (paired_difference(&pairs, how), 0.0, settings.error_effect)
    } else {
        (paired_ratio(&pairs, how), 1.0, settings.effect)
    };
    let verdict = change
        .map_or(Difference::Unclear, |change| verdict(change, none, effect, figure.more_is_better));
    ComparedFigure { name: figure.name.into(), a: mean(&a), b: mean(&b), change, verdict }
}

fn verdict(change: Estimate, none: f64, effect: f64, more_is_better: bool) -> Difference {
    let sure = change.low > none || change.high < none;
    let matters = (change.value - none).abs() >= effect;
    let small = change.low > none - effect && change.high < none + effect;
    match (sure, matters) {
        (true, true) if (change.value > none) == more_is_better => Difference::Better,
        (true, true) => Difference::Worse,
        (true, false) => Difference::Same,
        (false, _) if small => Difference::Same,
        (false, _) => Difference::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares runs on a machine that drifts by a third and has 2 % noise; B takes `times` as long
    /// as A.
    fn on_a_drifting_machine(times: f64, noise: f64, seed: u64) -> Comparison {
        let mut rng = fastrand::Rng::with_seed(seed * 7_919);
        let mut moment = 0.0;
        let names = ["old".to_owned(), "new".to_owned()];
        let found = compare::<()>(names, ComparisonSettings::default(), |side| {
            moment += 1.0;
            let drift = 1.0 + 0.33 * (moment / 7.0f64).sin();
            let shaken = 1.0 + noise * ((0..12).map(|_| rng.f64()).sum::<f64>() - 6.0);
            let by = drift * shaken * if side == Side::B { times } else { 1.0 };
            Ok(RunFigures {
                goodput: 5_000.0 / by,
                mean_ms: 4.0 * by,
                p50_ms: 3.0 * by,
                p99_ms: 20.0 * by,
                error_share: 0.0,
            })
        });
        found.unwrap()
    }

    #[test]
    fn a_tenth_more_time_is_worse_and_less_is_better() {
        for seed in 0..20 {
            assert_eq!(on_a_drifting_machine(1.1, 0.01, seed).verdict, Difference::Worse, "{seed}");
            assert_eq!(
                on_a_drifting_machine(0.9, 0.01, seed).verdict,
                Difference::Better,
                "{seed}"
            );
        }
    }

    #[test]
    fn equal_sides_are_rarely_reported_as_different() {
        let differ = (0..100)
            .filter(|seed| {
                let verdict = on_a_drifting_machine(1.0, 0.02, *seed).verdict;
                matches!(verdict, Difference::Better | Difference::Worse)
            })
            .count();

        assert!(differ <= 5, "{differ} of 100");
    }

    #[test]
    fn a_significant_but_small_effect_is_the_same_and_noise_is_unclear() {
        assert_eq!(on_a_drifting_machine(1.01, 0.001, 1).rows[0].verdict, Difference::Same);
        assert_eq!(on_a_drifting_machine(1.0, 0.3, 1).rows[0].verdict, Difference::Unclear);
    }

    #[test]
    fn errors_are_compared_by_their_difference() {
        let names = || ["a".to_owned(), "b".to_owned()];
        let seen = |error_share| RunFigures {
            goodput: 100.0,
            mean_ms: 1.0,
            p50_ms: 1.0,
            p99_ms: 1.0,
            error_share,
        };

        let more = judge(
            names(),
            ComparisonSettings::default(),
            vec![seen(0.0); 10],
            vec![seen(0.02); 10],
        );
        let none =
            judge(names(), ComparisonSettings::default(), vec![seen(0.0); 10], vec![seen(0.0); 10]);

        assert_eq!((more.rows[4].verdict, more.verdict), (Difference::Worse, Difference::Worse));
        assert_eq!(none.verdict, Difference::Same);
    }

    #[test]
    fn two_sides_without_a_correct_answer_are_not_the_same() {
        let names = || ["a".to_owned(), "b".to_owned()];
        let fails = || RunFigures {
            mean_ms: 1.0,
            p50_ms: 1.0,
            p99_ms: 1.0,
            error_share: 1.0,
            goodput: 0.0,
        };
        let right = || RunFigures { error_share: 0.0, goodput: 100.0, ..fails() };

        let neither =
            judge(names(), ComparisonSettings::default(), vec![fails(); 10], vec![fails(); 10]);
        let one =
            judge(names(), ComparisonSettings::default(), vec![right(); 10], vec![fails(); 10]);

        assert_eq!(neither.verdict, Difference::Unclear);
        assert!(table(&neither).contains("\nNeither gave a right answer: 10 runs each"));
        assert_eq!((one.verdict, one.nobody_answers()), (Difference::Worse, false));
    }

    #[test]
    fn the_order_of_runs_cancels_a_steady_drift() {
        let order = order(2);

        let places = |of: Side| -> usize { (0..8).filter(|place| order[*place] == of).sum() };
        assert_eq!(order[..4], [Side::A, Side::B, Side::B, Side::A]);
        assert_eq!(places(Side::A), places(Side::B));
    }

    #[test]
    fn a_failed_run_ends_the_comparison() {
        let mut runs = 0;

        let found = compare(["a".into(), "b".into()], ComparisonSettings::default(), |_| {
            runs += 1;
            if runs == 3 { Err("no connection") } else { Ok(RunFigures::default()) }
        });

        assert_eq!((found.unwrap_err(), runs), ("no connection", 3));
    }

    #[test]
    fn the_table_states_each_difference_and_the_verdict() {
        let text = table(&on_a_drifting_machine(1.1, 0.0, 1));

        let mean = text.lines().find(|line| line.starts_with("mean ms")).unwrap();
        assert!(mean.contains("+10.0 %") && mean.ends_with("worse"), "{text}");
        assert!(text.contains("B is worse: 10 runs each in turns"), "{text}");
    }
}
