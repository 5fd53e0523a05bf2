//! Merges the candidates to which many numbers lead, in order of creation, and reads the next few
//! of each number at a time.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::chunk::CHUNK_MAX;
use crate::id::KindId;
use crate::list::ListQuery;
use crate::select::Statement;
use crate::select::source::Source;

/// Most rows of one statement.
const ROWS_MAX: usize = 2 * CHUNK_MAX;
/// Fewest rows that are read for one number.
const EACH_MIN: usize = 4;

/// How candidates are found from a number.
pub(super) enum Lead {
    /// By the documents that refer to it.
    Referrers,
    /// By the items that it holds under a label.
    Items {
        /// The label.
        label: KindId,
        /// Whether ties of deleted documents count too.
        past: bool,
    },
}

/// The candidates of numbers, in order and without duplicates.
pub(super) struct Merge {
    text: Option<String>,
    lead: Lead,
    kind: i64,
    /// Numbers that may lead to further candidates.
    from: Vec<i64>,
    /// All candidates up to this one have been found.
    after: i64,
    upto: i64,
    /// How many rows are read for each number.
    each: usize,
    /// Candidates up to `after`.
    ready: VecDeque<i64>,
    /// Candidates after `after` that have been found so far.
    ahead: BTreeSet<i64>,
}

impl Merge {
    pub(super) fn new(query: &ListQuery, from: Vec<i64>, lead: Lead) -> Self {
        Self {
            text: None,
            lead,
            kind: query.kind.0.into(),
            from,
            after: query.after.0,
            upto: query.upto.0,
            each: 0,
            ready: VecDeque::new(),
            ahead: BTreeSet::new(),
        }
    }

    /// Returns whether there are no more candidates.
    pub(super) fn is_over(&self) -> bool {
        self.from.is_empty() && self.ready.is_empty() && self.ahead.is_empty()
    }

    /// Returns the next candidates, up to `enough`; fewer mean that these are the last.
    pub(super) async fn next<S: Source>(
        &mut self,
        source: &S,
        enough: usize,
    ) -> Result<Vec<i64>, S::Error> {
        while self.ready.len() < enough && !(self.from.is_empty() && self.ahead.is_empty()) {
            self.advance(source, enough - self.ready.len()).await?;
        }
        let count = enough.min(self.ready.len());
        Ok(self.ready.drain(..count).collect())
    }

    /// Finds more candidates. A number that returned fewer rows than asked for has no more. For the
    /// others everything up to their last candidate is known, so the result is complete up to the
    /// least of these.
    async fn advance<S: Source>(&mut self, source: &S, missing: usize) -> Result<(), S::Error> {
        let mut whole_upto = self.upto;
        if !self.from.is_empty() {
            let wished = (missing * 2 / self.from.len() + EACH_MIN).min(missing.max(EACH_MIN));
            let most = (ROWS_MAX / self.from.len()).max(EACH_MIN);
            self.each = wished.max(self.each * 2).min(most);
            let mut found: HashMap<i64, (usize, i64)> = HashMap::new();
            for row in source.numbers(&self.statement::<S>()).await? {
                let [from, candidate] = row[..] else { continue };
                let (count, last) = found.entry(from).or_insert((0, candidate));
                (*count, *last) = (*count + 1, candidate.max(*last));
                self.ahead.insert(candidate);
            }
            found.retain(|_, (count, _)| *count >= self.each);
            self.from.retain(|from| found.contains_key(from));
            whole_upto = found.values().map(|(_, last)| *last).min().unwrap_or(self.upto);
        }
        self.after = whole_upto;
        let rest = match whole_upto.checked_add(1) {
            Some(next) => self.ahead.split_off(&next),
            None => BTreeSet::new(),
        };
        self.ready.extend(std::mem::replace(&mut self.ahead, rest));
        Ok(())
    }

    /// Returns the statement that reads the next few candidates of each number.
    fn statement<S: Source>(&mut self) -> Statement {
        let (number, lead) = match self.lead {
            Lead::Referrers => (self.kind, None),
            Lead::Items { label, past } => (label.0.into(), Some(past)),
        };
        let text = self.text.get_or_insert_with(|| {
            let query = match lead {
                None => format!(
                    "SELECT t.source AS id FROM ref t WHERE t.target = n.x AND t.kind = ?2 \
                     AND t.source > ?3 AND t.source <= ?4{} ORDER BY id LIMIT ?5",
                    S::DIALECT.or_recent("n.x", "?2", ("?3", "?4"), "?5"),
                ),
                Some(past) => {
                    let of = |table: &str| {
                        format!(
                            "SELECT DISTINCT t.item AS id FROM {table} t WHERE t.label = ?2 \
                             AND t.holder = n.x AND t.item > ?3 AND t.item <= ?4 \
                             ORDER BY t.item LIMIT ?5"
                        )
                    };
                    if past {
                        format!(
                            "SELECT id FROM (SELECT id FROM ({}) a UNION SELECT id FROM ({}) b) u \
                             ORDER BY id LIMIT ?5",
                            of("tie"),
                            of("past_tie")
                        )
                    } else {
                        of("tie")
                    }
                }
            };
            format!(
                "SELECT n.x, {} FROM {} n {}",
                S::DIALECT.each_id(),
                S::DIALECT.numbers("?1"),
                S::DIALECT.each_of(&query)
            )
        });
        let each = i64::try_from(self.each).unwrap_or(i64::MAX);
        let from = S::DIALECT.list(self.from.iter().copied());
        let arguments = vec![from, number.into(), self.after.into(), self.upto.into(), each.into()];
        Statement { text: text.clone(), arguments }
    }
}
