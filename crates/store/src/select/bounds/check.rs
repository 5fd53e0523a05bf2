//! The tests of bounds, with the sets of numbers that pass them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::chunk::pairs;
use crate::id::KindId;
use crate::list::{Bounds, Leads, MarkTest};
use crate::select::Statement;
use crate::select::source::{Head, Source};
use crate::tie::{Steps, Way};

/// The tests of a list's bounds, prepared.
pub(super) struct Checks {
    groups: Vec<Vec<Vec<Check>>>,
    /// The number of a document's first marks that the tests read.
    pub(super) marks: usize,
}

/// A test of a mark.
pub(super) struct Check {
    pub(super) mark: usize,
    /// The steps from the mark to a number that passes.
    pub(super) steps: Steps,
    pub(super) past: bool,
    pub(super) leads: Option<Leads>,
    pub(super) set: Arc<Set>,
    /// The results for numbers whose steps have been followed.
    known: HashMap<i64, bool>,
}

/// The sets found so far, by label, direction, and the numbers from which they start.
type Sets = HashMap<(KindId, bool, Arc<[i64]>), Arc<Set>>;

/// The numbers that pass.
#[derive(Default)]
pub(super) struct Set {
    numbers: HashSet<i64>,
    /// The documents that tie these numbers to themselves.
    pub(super) documents: Vec<i64>,
}

impl Checks {
    /// Prepares the tests by finding their sets of numbers.
    pub(super) async fn prepare<S: Source>(source: &S, bounds: &Bounds) -> Result<Self, S::Error> {
        let mut sets = Sets::new();
        let mut groups = vec![];
        let mut marks = 0;
        for group in &bounds.0 {
            let mut alternatives = vec![];
            for alternative in group {
                let mut checks = vec![];
                for test in alternative {
                    marks = marks.max(test.mark() + 1);
                    checks.push(Check::of(source, test, &mut sets).await?);
                }
                alternatives.push(checks);
            }
            groups.push(alternatives);
        }
        Ok(Self { groups, marks })
    }

    /// Returns the tests that every document within the bounds passes.
    pub(super) fn necessary(&self) -> impl Iterator<Item = &Check> {
        let single = self.groups.iter().filter(|group| group.len() == 1);
        single.flat_map(|group| &group[0])
    }

    /// Returns whether no document can pass.
    pub(super) fn is_hopeless(&self) -> bool {
        let is_hopeless = |checks: &Vec<Check>| checks.iter().any(|c| c.set.numbers.is_empty());
        self.groups.iter().any(|group| group.iter().all(is_hopeless))
    }

    /// Returns the documents that are within the bounds.
    pub(super) async fn filter<S: Source>(
        &mut self,
        source: &S,
        heads: Vec<Head>,
    ) -> Result<Vec<Head>, S::Error> {
        let mut left = heads;
        for group in &mut self.groups {
            let mut passed: HashSet<i64> = HashSet::new();
            for alternative in group {
                let mut some: Vec<&Head> =
                    left.iter().filter(|(id, _)| !passed.contains(id)).collect();
                for check in alternative {
                    check.learn(source, &some).await?;
                    some.retain(|(_, marks)| check.passes(marks));
                }
                passed.extend(some.iter().map(|(id, _)| *id));
            }
            left.retain(|(id, _)| passed.contains(id));
        }
        Ok(left)
    }
}

impl Check {
    async fn of<S: Source>(source: &S, test: &MarkTest, sets: &mut Sets) -> Result<Self, S::Error> {
        let no_steps: Steps = [].into();
        let (mark, steps, past, leads, label, is_up, numbers) = match test {
            MarkTest::OneOf { mark, numbers } => {
                let numbers = numbers.iter().copied().collect();
                let set = Arc::new(Set { numbers, documents: vec![] });
                let (steps, known) = (no_steps, HashMap::new());
                return Ok(Self { mark: *mark, steps, past: false, leads: None, set, known });
            }
            MarkTest::Reaches { mark, way: Way { steps, up, past }, numbers, leads } => {
                (*mark, *steps, *past, *leads, *up, false, numbers)
            }
            MarkTest::ReachedFrom { mark, label, numbers, leads } => {
                (*mark, no_steps, false, *leads, *label, true, numbers)
            }
        };
        let key = (label, is_up, Arc::clone(numbers));
        let set = match sets.get(&key) {
            Some(set) => Arc::clone(set),
            None => {
                let set = Arc::new(Set::find(source, label, is_up, numbers).await?);
                sets.insert(key, Arc::clone(&set));
                set
            }
        };
        Ok(Self { mark, steps, past, leads: Some(leads), set, known: HashMap::new() })
    }

    /// Follows the steps from marks that have not been seen before.
    async fn learn<S: Source>(&mut self, source: &S, heads: &[&Head]) -> Result<(), S::Error> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let marks = heads.iter().filter_map(|(_, marks)| marks.get(self.mark).copied().flatten());
        let new: HashSet<i64> = marks.filter(|mark| !self.known.contains_key(mark)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut reached: HashMap<i64, Vec<i64>> =
            new.iter().map(|mark| (*mark, vec![*mark])).collect();
        for label in self.steps.iter() {
            let items: HashSet<i64> = reached.values().flatten().copied().collect();
            let holders = self.holders(source, *label, &items).await?;
            for numbers in reached.values_mut() {
                let next = numbers.iter().filter_map(|number| holders.get(number)).flatten();
                *numbers = next.copied().collect();
            }
        }
        for (mark, numbers) in reached {
            let passes = numbers.iter().any(|number| self.set.numbers.contains(number));
            self.known.insert(mark, passes);
        }
        Ok(())
    }

    async fn holders<S: Source>(
        &self,
        source: &S,
        label: KindId,
        items: &HashSet<i64>,
    ) -> Result<HashMap<i64, Vec<i64>>, S::Error> {
        let select = |table: &str| {
            format!(
                "SELECT t.item, t.holder FROM {} i {}",
                S::DIALECT.numbers("?1"),
                S::DIALECT.each(table, "t", "t.label = ?2 AND t.item = i.x")
            )
        };
        let text = if self.past {
            format!("{} UNION {}", select("tie"), select("past_tie"))
        } else {
            select("tie")
        };
        let arguments = vec![S::DIALECT.list(items.iter().copied()), i64::from(label.0).into()];
        pairs(source, &Statement { text, arguments }).await
    }

    fn passes(&self, marks: &[Option<i64>]) -> bool {
        let Some(mark) = marks.get(self.mark).copied().flatten() else { return false };
        if self.steps.is_empty() {
            self.set.numbers.contains(&mark)
        } else {
            self.known.get(&mark).copied().unwrap_or(false)
        }
    }
}

impl Set {
    /// Returns the numbers that lead over `label` to one of `numbers`, or that these lead to
    /// (`is_up`), including `numbers` themselves.
    async fn find<S: Source>(
        source: &S,
        label: KindId,
        is_up: bool,
        numbers: &[i64],
    ) -> Result<Self, S::Error> {
        let (from, to) = if is_up { ("item", "holder") } else { ("holder", "item") };
        let text = format!(
            "WITH RECURSIVE set_of (x) AS ( \
               SELECT x FROM {} n UNION \
               SELECT t.{to} FROM set_of s {}) \
             SELECT s.x, COALESCE(t.via, 0) FROM set_of s {}",
            S::DIALECT.numbers("?1"),
            S::DIALECT.each("tie", "t", &format!("t.label = ?2 AND t.{from} = s.x")),
            S::DIALECT.each_or_null("tie", "t", "t.label = ?2 AND t.item = s.x AND t.holder = s.x"),
        );
        let label = i64::from(label.0).into();
        let arguments = vec![S::DIALECT.list(numbers.iter().copied()), label];
        let mut set = Self::default();
        for row in source.numbers(&Statement { text, arguments }).await? {
            set.numbers.extend(row.first());
            set.documents.extend(row.get(1).filter(|via| **via > 0));
        }
        set.documents.sort_unstable();
        set.documents.dedup();
        Ok(set)
    }

    /// Returns all numbers that pass.
    pub(super) fn numbers(&self) -> impl Iterator<Item = i64> + '_ {
        self.numbers.iter().copied()
    }
}
