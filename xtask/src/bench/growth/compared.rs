//! Figures of several sizes side by side, and how the last compares with the first.

use crate::bench::figures::Bound;
use crate::bench::machine::spread;
use crate::house::Done;

/// How many times as slow the last size may be as the first one.
const SLOWER_MAX: f64 = 1.3;
/// How many times as large a document may be; a hundredth is what pages are filled unevenly.
const LARGER_MAX: f64 = 1.01;

/// Returns whose turn it is: for even numbers the first store begins, for odd ones the last.
pub fn turn_of(turn: usize, stores: usize, number: usize) -> usize {
    if number.is_multiple_of(2) { turn } else { stores - 1 - turn }
}

/// How the last size's figure is compared with the first one's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is only told.
    Told,
    /// A time: the last by the first.
    Slower,
    /// A rate: the first by the last.
    Rarer,
    /// A size: the last by the first.
    Larger,
    /// What failed: nothing may at any size.
    Failed,
}

/// The values of one figure at each size.
struct Figure {
    what: String,
    digits: usize,
    kind: Kind,
    values: Vec<Vec<f64>>,
}

impl Figure {
    /// Returns how many times as slow, rare or large the last size is as the first one, or how much failed at all
    /// of them, and what is required. Where a size lacks the figure, this is no number, which holds no bound.
    fn judged(&self) -> Option<(f64, Bound)> {
        let medians: Vec<f64> = self.values.iter().map(|values| spread(values).0).collect();
        let is_whole = medians.iter().all(|median| median.is_finite());
        let (first, last) = match medians[..] {
            [first, .., last] if is_whole => (first, last),
            [only] => (only, only),
            _ => (f64::NAN, f64::NAN),
        };
        match self.kind {
            Kind::Told => None,
            Kind::Slower => Some((last / first, Bound::AtMost(SLOWER_MAX))),
            Kind::Rarer => Some((first / last, Bound::AtMost(SLOWER_MAX))),
            Kind::Larger => Some((last / first, Bound::AtMost(LARGER_MAX))),
            Kind::Failed if !is_whole => Some((f64::NAN, Bound::AtMost(0.0))),
            Kind::Failed => Some((self.values.iter().flatten().sum(), Bound::AtMost(0.0))),
        }
    }
}

/// The figures of all sizes, in the order in which they were first known.
pub struct Figures {
    sizes: Vec<usize>,
    all: Vec<Figure>,
}

impl Figures {
    /// Returns none as yet.
    pub fn new(sizes: &[usize]) -> Self {
        Self { sizes: sizes.to_vec(), all: vec![] }
    }

    /// Adds a value of a size, shown with this many decimals.
    pub fn push(&mut self, at: usize, what: &str, digits: usize, kind: Kind, value: f64) {
        let known = self.all.iter().position(|figure| figure.what == what);
        let known = known.unwrap_or_else(|| {
            let values = vec![vec![]; self.sizes.len()];
            self.all.push(Figure { what: what.to_owned(), digits, kind, values });
            self.all.len() - 1
        });
        self.all[known].values[at].push(value);
    }

    /// Prints all figures, and says which bounds are missed.
    pub fn judge(&self) -> Done {
        let sizes: Vec<String> = self.sizes.iter().map(|size| format!("about {size}")).collect();
        println!(
            "| median (least – greatest) | {} | last : first (rates: first : last) | |\n|---|{}---:|---|",
            sizes.join(" | "),
            "---:|".repeat(sizes.len()),
        );
        let mut missed = vec![];
        for figure in &self.all {
            let digits = figure.digits;
            let shown = figure.values.iter().map(|values| {
                let (median, least, greatest) = spread(values);
                match values.len() {
                    0 => String::new(),
                    1 => format!("{median:.digits$}"),
                    _ => format!("{median:.digits$} ({least:.digits$} – {greatest:.digits$})"),
                }
            });
            let shown: Vec<String> = shown.collect();
            let (mut factor, mut required) = (String::new(), String::new());
            if let Some((judged, bound)) = figure.judged() {
                (factor, required) = match figure.kind {
                    Kind::Failed => (format!("{judged} in all"), bound.told()),
                    _ if judged.is_nan() => ("a size lacks it".into(), bound.told()),
                    _ => (format!("{judged:.3}"), bound.told()),
                };
                if !bound.holds(judged) {
                    missed.push(format!("{}: {factor}, {required}", figure.what));
                }
            }
            println!("| {} | {} | {factor} | {required} |", figure.what, shown.join(" | "));
        }
        println!();
        if missed.is_empty() { Ok(()) } else { Err(format!("missed:\n{}", missed.join("\n"))) }
    }
}
