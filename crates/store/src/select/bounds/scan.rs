//! Chooses where a list with bounds searches for its documents.

use super::chunk::{CHUNK_MAX, CHUNK_MIN, More, after};
use super::kept::Kept;
use crate::list::{Leads, ListQuery};
use crate::row::{References, columns};
use crate::select::bounds::check::{Check, Checks};
use crate::select::bounds::merge::{Lead, Merge};
use crate::select::driver::driver;
use crate::select::source::{Head, Source};
use crate::select::statement::tests;
use crate::select::{Driver, Statement};
use crate::sql::Value;

/// Most documents whose referrers are merged.
const TARGETS_MAX: usize = 1_000;

/// The factor by which more candidates are examined than are expected to be needed.
const SPARE: f64 = 1.1;
/// Candidates are read whole if at least this share of them is expected to pass.
const KEPT_SHARE_MIN: f64 = 0.8;
/// Fewest that are read whole at once: a few more cost less than another chunk.
const KEPT_MIN: usize = 16;

/// A scan of candidates in order of creation.
pub(super) struct Scan {
    mode: Mode,
    /// Everything up to this number has been examined.
    after: i64,
    /// How many candidates the last chunk had; a chunk of numbers counts those, too, that fail the list's own tests.
    looked_at: usize,
    /// The share of them that passed.
    share: f64,
    is_over: bool,
}

enum Mode {
    /// The list's own candidates.
    Base(Driver),
    /// The documents to which numbers lead.
    Merge(Merge),
    /// A fixed set of documents.
    Documents(Vec<i64>),
}

impl Scan {
    /// Chooses the candidates to scan.
    pub(super) async fn begin<S: Source>(
        source: &S,
        query: &ListQuery,
        checks: &Checks,
    ) -> Result<Self, S::Error> {
        let (mode, is_over) = if checks.is_hopeless() {
            (Mode::Documents(vec![]), true)
        } else {
            (Self::choose(source, query, checks).await?, false)
        };
        Ok(Self { mode, after: query.after.0, looked_at: 0, share: 1.0, is_over })
    }

    async fn choose<S: Source>(
        source: &S,
        query: &ListQuery,
        checks: &Checks,
    ) -> Result<Mode, S::Error> {
        if !query.is_pointed() && query.targets.is_empty() && query.among.is_none() {
            let plain = checks.necessary().filter(|check| check.steps.is_empty());
            let narrowest = plain
                .filter(|check| check.leads.is_some() && check.set.documents.len() <= TARGETS_MAX)
                .min_by_key(|check| check.set.documents.len());
            if let Some(check) = narrowest {
                let documents = check.set.documents.clone();
                return match check.leads {
                    Some(Leads::Itself) => Ok(Mode::Documents(documents)),
                    _ => Ok(Mode::Merge(Merge::new(query, documents, Lead::Referrers))),
                };
            }
            for check in checks.necessary().filter(|check| !check.steps.is_empty()) {
                if let Some(mode) = Self::by_steps(source, query, check).await? {
                    return Ok(mode);
                }
            }
        }
        let driver = match driver(source, query).await? {
            Driver::Walk => Driver::Creation,
            driver => driver,
        };
        Ok(Mode::Base(driver))
    }

    /// Follows the steps of a check backwards, as long as they lead to few documents.
    async fn by_steps<S: Source>(
        source: &S,
        query: &ListQuery,
        check: &Check,
    ) -> Result<Option<Mode>, S::Error> {
        if check.set.documents.len() > TARGETS_MAX {
            return Ok(None);
        }
        let mut holders: Vec<i64> = check.set.numbers().collect();
        let (first, others) = match (&check.steps[..], check.leads) {
            ([first, others @ ..], Some(Leads::Itself)) => (Some(*first), others),
            (all, _) => (None, all),
        };
        for label in others.iter().rev() {
            let select = |table: &str| {
                format!(
                    "SELECT t.item FROM {} h {}",
                    S::DIALECT.numbers("?1"),
                    S::DIALECT.each(table, "t", "t.label = ?2 AND t.holder = h.x")
                )
            };
            let all = if check.past {
                format!("{} UNION {}", select("tie"), select("past_tie"))
            } else {
                select("tie")
            };
            let text = format!("SELECT DISTINCT item FROM ({all} LIMIT {}) i", TARGETS_MAX * 2);
            let arguments =
                vec![S::DIALECT.list(holders.iter().copied()), i64::from(label.0).into()];
            let rows = source.numbers(&Statement { text, arguments }).await?;
            if rows.len() > TARGETS_MAX {
                return Ok(None);
            }
            holders = rows.into_iter().flatten().collect();
        }
        let lead = match first {
            Some(label) => Lead::Items { label, past: check.past },
            None => Lead::Referrers,
        };
        Ok(Some(Mode::Merge(Merge::new(query, holders, lead))))
    }

    /// Returns the next candidates with their marks, about as many as are needed to find `more`; [`None`] after the
    /// last. Those of the page are read whole and kept if nearly all are expected to pass.
    pub(super) async fn next<S: Source>(
        &mut self,
        source: &S,
        query: &ListQuery,
        marks: usize,
        more: &More,
        kept: &mut Kept,
    ) -> Result<Option<Vec<Head>>, S::Error> {
        if self.is_over {
            return Ok(None);
        }
        // A whole set is made and sorted again for each chunk, so its chunks must be few.
        let is_set = matches!(self.mode, Mode::Base(Driver::Among | Driver::Changes));
        let may_keep = S::ENDS_EARLY && !is_set && !kept.is_full();
        let keeps = may_keep && more.before == 0 && self.share >= KEPT_SHARE_MIN;
        let enough = if keeps && self.share >= 1.0 {
            self.enough(more.page, 1.0)
        } else if keeps {
            self.enough(more.page, SPARE).max(KEPT_MIN)
        } else if may_keep && more.before > 0 {
            // What comes before the page is examined apart from it.
            self.enough(more.before, SPARE).max(CHUNK_MIN)
        } else {
            self.enough(more.before.saturating_add(more.page), SPARE).max(CHUNK_MIN)
        };
        let chunk = match &mut self.mode {
            Mode::Base(driver) => {
                let enough = if *driver == Driver::Changes { CHUNK_MAX * 4 } else { enough };
                Chunk::Query(after(query, self.after), *driver, enough)
            }
            Mode::Documents(documents) => {
                self.is_over = true;
                Chunk::Numbers(std::mem::take(documents))
            }
            Mode::Merge(merge) => {
                let numbers = merge.next(source, enough).await?;
                self.is_over = merge.is_over();
                Chunk::Numbers(numbers)
            }
        };
        let read = if keeps && chunk.count_max() <= enough {
            kept.read(source, &chunk.documents::<S>(query), marks).await?
        } else {
            None
        };
        let heads = match read {
            Some(heads) => heads,
            None => source.heads(&chunk.heads::<S>(query, marks)).await?,
        };
        self.looked_at = match chunk {
            Chunk::Query(_, _, count) => {
                self.is_over = heads.len() < count;
                self.after = heads.last().map_or(self.after, |(last, _)| *last);
                heads.len()
            }
            Chunk::Numbers(numbers) => numbers.len(),
        };
        Ok(Some(heads))
    }

    /// Estimates how many candidates are needed for `wanted` results, and takes `spare` times as many.
    fn enough(&self, wanted: usize, spare: f64) -> usize {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate, cut to its bounds"
        )]
        let enough = (wanted.min(CHUNK_MAX) as f64 / self.share * spare) as usize;
        enough.min(CHUNK_MAX)
    }

    /// Records how many candidates of the last chunk have passed.
    pub(super) fn learn(&mut self, passed: usize) {
        if self.looked_at > 0 {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let share = passed as f64 / self.looked_at as f64;
            self.share = share.clamp(0.01, 1.0);
        }
    }
}

/// The candidates that are examined at once.
enum Chunk {
    /// The first few of a query.
    Query(ListQuery, Driver, usize),
    /// Those of these documents that pass the list's own tests.
    Numbers(Vec<i64>),
}

impl Chunk {
    /// Returns how many there can be.
    fn count_max(&self) -> usize {
        match self {
            Self::Query(_, _, count) => *count,
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Returns the statement for their numbers and first marks.
    fn heads<S: Source>(&self, list: &ListQuery, marks: usize) -> Statement {
        match self {
            Self::Query(query, driver, count) => {
                Statement::heads(S::DIALECT, query, *driver, marks, *count)
            }
            Self::Numbers(numbers) => {
                let bytes = i64::try_from(References::head_bytes(marks)).unwrap_or(i64::MAX);
                let columns = format!("d.id, substr(d.refs, 1, {})", S::DIALECT.whole("?5"));
                of_numbers::<S>(&columns, list, numbers, Some(bytes.into()))
            }
        }
    }

    /// Returns the statement for the documents.
    fn documents<S: Source>(&self, list: &ListQuery) -> Statement {
        match self {
            Self::Query(query, driver, count) => {
                let limit = u32::try_from(*count).unwrap_or(u32::MAX);
                let query = ListQuery { limit, skip: 0, ..query.clone() };
                Statement::page(S::DIALECT, &query, *driver)
            }
            Self::Numbers(numbers) => of_numbers::<S>(&columns("d"), list, numbers, None),
        }
    }
}

/// Returns a statement for columns of those documents, by their numbers, that pass the list's own tests. The
/// columns may name one more argument, `?5`.
fn of_numbers<S: Source>(
    columns: &str,
    list: &ListQuery,
    numbers: &[i64],
    more: Option<Value>,
) -> Statement {
    let mut arguments: Vec<Value> = vec![
        S::DIALECT.list(numbers.iter().copied()),
        i64::from(list.kind.0).into(),
        list.after.0.into(),
        list.upto.0.into(),
    ];
    arguments.extend(more);
    let mut bind = |value: Value| {
        arguments.push(value);
        format!("?{}", arguments.len())
    };
    let mut filter = vec!["d.kind = ?2 AND d.id > ?3 AND d.id <= ?4".to_owned()];
    filter.extend(tests(S::DIALECT, list, &mut bind));
    let text = format!(
        "SELECT {columns} FROM {} n {} WHERE {}",
        S::DIALECT.numbers("?1"),
        S::DIALECT.each("doc", "d", "d.id = n.x"),
        filter.join(" AND "),
    );
    Statement { text, arguments }
}
