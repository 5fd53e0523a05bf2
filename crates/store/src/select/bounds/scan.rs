//! Where a list with bounds looks for its documents.

use crate::id::KindId;
use crate::list::{Leads, ListQuery};
use crate::row::References;
use crate::select::bounds::check::{Check, Checks};
use crate::select::bounds::{CHUNK_MAX, CHUNK_MIN, after, array};
use crate::select::statement::tests;
use crate::select::{Driver, Head, Source, Statement, driver};
use crate::sql::Value;

/// Most documents whose referrers are merged.
const TARGETS_MAX: usize = 1_000;
/// Runs of numbers that a kind is first thought to be cut into.
const RUNS: i64 = 64;
/// A run's shortest length.
const RUN_MIN: i64 = 1_024;

/// Goes through candidates in order of creation.
pub(super) struct Scan {
    mode: Mode,
    /// Everything up to this number was looked at.
    after: i64,
    /// How many candidates pass, of those that were looked at.
    share: f64,
    is_over: bool,
}

enum Mode {
    /// The list's own candidates.
    Base(Driver),
    /// What refers to these documents, by runs of numbers.
    Referrers(Runs),
    /// The items of a label that these numbers hold, by runs of numbers.
    Items(Runs, KindId, bool),
    /// These documents.
    Documents(Vec<i64>),
}

/// Runs of numbers, each as long as the last one makes it look right.
struct Runs {
    /// The numbers that drive.
    from: Value,
    length: i64,
    /// The least number that a document of the kind can have here, and the greatest.
    first: i64,
    last: i64,
}

impl Scan {
    /// Chooses where to look.
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
        let after = match &mode {
            Mode::Referrers(runs) | Mode::Items(runs, ..) => runs.first - 1,
            Mode::Base(_) | Mode::Documents(_) => query.after.0,
        };
        Ok(Self { mode, after, share: 1.0, is_over })
    }

    async fn choose<S: Source>(
        source: &S,
        query: &ListQuery,
        checks: &Checks,
    ) -> Result<Mode, S::Error> {
        if !query.is_pointed() && query.targets.is_empty() {
            let plain = checks.necessary().filter(|check| check.steps.is_empty());
            let narrowest = plain
                .filter(|check| check.leads.is_some() && check.set.documents.len() <= TARGETS_MAX)
                .min_by_key(|check| check.set.documents.len());
            if let Some(check) = narrowest {
                let documents = check.set.documents.clone();
                return match check.leads {
                    Some(Leads::Itself) => Ok(Mode::Documents(documents)),
                    _ => Ok(Mode::Referrers(Runs::begin(source, query, documents).await?)),
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

    /// Goes the steps of a check backwards, as long as that is not far.
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
                    "SELECT t.item FROM {} h {} {table} t ON t.label = ?2 AND t.holder = h.x",
                    S::DIALECT.numbers("?1"),
                    S::DIALECT.join()
                )
            };
            let all = if check.past {
                format!("{} UNION {}", select("tie"), select("past_tie"))
            } else {
                select("tie")
            };
            let text = format!("SELECT DISTINCT item FROM ({all} LIMIT {}) i", TARGETS_MAX * 2);
            let arguments = vec![array(holders.iter().copied()), i64::from(label.0).into()];
            let rows = source.numbers(&Statement { text, arguments }).await?;
            if rows.len() > TARGETS_MAX {
                return Ok(None);
            }
            holders = rows.into_iter().flatten().collect();
        }
        let runs = Runs::begin(source, query, holders).await?;
        Ok(Some(match first {
            Some(label) => Mode::Items(runs, label, check.past),
            None => Mode::Referrers(runs),
        }))
    }

    /// The next candidates with their marks, about as many as `wanted` ones need; [`None`] after
    /// the last.
    pub(super) async fn next<S: Source>(
        &mut self,
        source: &S,
        query: &ListQuery,
        marks: usize,
        wanted: usize,
    ) -> Result<Option<Vec<Head>>, S::Error> {
        if self.is_over {
            return Ok(None);
        }
        let enough = self.enough(wanted);
        let heads = match &mut self.mode {
            Mode::Base(driver) => {
                // A window's changes are sorted anew each time.
                let enough = if *driver == Driver::Changes { CHUNK_MAX * 4 } else { enough };
                let query = after(query, self.after);
                let statement = Statement::heads(S::DIALECT, &query, *driver, marks, enough);
                let heads = source.heads(&statement).await?;
                self.is_over = heads.len() < enough;
                heads
            }
            Mode::Documents(documents) => {
                let statement = of_documents::<S>(query, documents, marks);
                self.is_over = true;
                source.heads(&statement).await?
            }
            Mode::Referrers(runs) => {
                let table = ("ref t ON t.target = n.x AND t.kind = ?2", "t.source");
                let table = (table.0, table.1, i64::from(query.kind.0));
                let (ids, end) = runs.next(source, self.after, table, enough).await?;
                (self.after, self.is_over) = (end, end >= runs.last);
                source.heads(&of_documents::<S>(query, &ids, marks)).await?
            }
            Mode::Items(runs, label, past) => {
                let ties = if *past {
                    "(SELECT label, item, holder FROM tie UNION ALL \
                      SELECT label, item, holder FROM past_tie) t \
                     ON t.holder = n.x AND t.label = ?2"
                } else {
                    "tie t ON t.holder = n.x AND t.label = ?2"
                };
                let table = (ties, "t.item", i64::from(label.0));
                let (ids, end) = runs.next(source, self.after, table, enough).await?;
                (self.after, self.is_over) = (end, end >= runs.last);
                source.heads(&of_documents::<S>(query, &ids, marks)).await?
            }
        };
        if let (Mode::Base(_), Some((last, _))) = (&self.mode, heads.last()) {
            self.after = *last;
        }
        Ok(Some(heads))
    }

    /// How many candidates `wanted` ones are thought to need.
    fn enough(&self, wanted: usize) -> usize {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate, cut to its bounds"
        )]
        let enough = (wanted.min(CHUNK_MAX) as f64 / self.share * 1.1) as usize;
        enough.clamp(CHUNK_MIN, CHUNK_MAX)
    }

    /// Learns how many candidates have passed.
    pub(super) fn learn(&mut self, looked_at: usize, passed: usize) {
        if looked_at > 0 {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let share = passed as f64 / looked_at as f64;
            self.share = share.clamp(0.01, 1.0);
        }
    }
}

impl Runs {
    async fn begin<S: Source>(
        source: &S,
        query: &ListQuery,
        from: Vec<i64>,
    ) -> Result<Self, S::Error> {
        let text = "SELECT (SELECT COALESCE(min(id), 0) FROM doc WHERE kind = ?1), \
             (SELECT COALESCE(max(id), 0) FROM doc WHERE kind = ?1)";
        let arguments = vec![i64::from(query.kind.0).into()];
        let rows = source.numbers(&Statement { text: text.to_owned(), arguments }).await?;
        let (lowest, highest) = match rows.first().map(Vec::as_slice) {
            Some([lowest, highest]) => (*lowest, *highest),
            _ => (0, 0),
        };
        let first = lowest.max(query.after.0.saturating_add(1));
        let last = highest.min(query.upto.0);
        let length = (last.saturating_sub(first) / RUNS).max(RUN_MIN);
        Ok(Self { from: array(from), length, first, last })
    }

    /// The numbers of the next run's candidates, and where the run ends. `table` are the rows of a
    /// driving number, the column of theirs that is a document's number, and what the join asks for.
    async fn next<S: Source>(
        &mut self,
        source: &S,
        after: i64,
        (table, id, argument): (&str, &str, i64),
        enough: usize,
    ) -> Result<(Vec<i64>, i64), S::Error> {
        let Some(next) = self.seek(source, after, (table, id, argument)).await? else {
            return Ok((vec![], self.last));
        };
        let after = next - 1;
        let end = after.saturating_add(self.length).min(self.last);
        let text = format!(
            "SELECT DISTINCT {id} AS id FROM {} n {} {table} AND {id} > ?3 AND {id} <= ?4 \
             ORDER BY id LIMIT {enough}",
            S::DIALECT.numbers("?1"),
            S::DIALECT.join(),
        );
        let arguments = vec![self.from.clone(), argument.into(), after.into(), end.into()];
        let rows = source.numbers(&Statement { text, arguments }).await?;
        let ids: Vec<i64> = rows.into_iter().flatten().collect();
        let is_cut = ids.len() >= enough;
        let end = ids.last().copied().filter(|_| is_cut).unwrap_or(end);
        let found = i64::try_from(ids.len()).unwrap_or(i64::MAX);
        let enough = i64::try_from(enough).unwrap_or(i64::MAX);
        let longest = self.length.saturating_mul(8);
        let wished = self.length.saturating_mul(enough).checked_div(found).unwrap_or(longest);
        self.length = wished.clamp((self.length / 8).max(RUN_MIN), longest.max(RUN_MIN));
        Ok((ids, end))
    }
}

impl Runs {
    /// The least candidate after a number, so that gaps are stepped over.
    async fn seek<S: Source>(
        &self,
        source: &S,
        after: i64,
        (table, id, argument): (&str, &str, i64),
    ) -> Result<Option<i64>, S::Error> {
        let (of, joined_by) = table.split_once(" ON ").unwrap_or((table, "TRUE"));
        let text = format!(
            "SELECT COALESCE(min(f), 0) FROM (SELECT (SELECT {id} FROM {of} WHERE {joined_by} \
             AND {id} > ?3 AND {id} <= ?4 ORDER BY {id} LIMIT 1) AS f FROM {} n) s",
            S::DIALECT.numbers("?1"),
        );
        let arguments = vec![self.from.clone(), argument.into(), after.into(), self.last.into()];
        let rows = source.numbers(&Statement { text, arguments }).await?;
        Ok(rows.first().and_then(|row| row.first()).copied().filter(|next| *next > 0))
    }
}

fn of_documents<S: Source>(query: &ListQuery, documents: &[i64], marks: usize) -> Statement {
    let head = i64::try_from(References::head_bytes(marks)).unwrap_or(i64::MAX);
    let mut arguments: Vec<Value> = vec![
        array(documents.iter().copied()),
        head.into(),
        i64::from(query.kind.0).into(),
        query.after.0.into(),
        query.upto.0.into(),
    ];
    let mut bind = |value: Value| {
        arguments.push(value);
        format!("?{}", arguments.len())
    };
    let mut filter = vec!["d.kind = ?3 AND d.id > ?4 AND d.id <= ?5".to_owned()];
    filter.extend(tests(S::DIALECT, query, &mut bind));
    let text = format!(
        "SELECT d.id, substr(d.refs, 1, {}) FROM {} n {} doc d ON d.id = n.x \
         WHERE {} ORDER BY d.id",
        S::DIALECT.whole("?2"),
        S::DIALECT.numbers("?1"),
        S::DIALECT.join(),
        filter.join(" AND "),
    );
    Statement { text, arguments }
}
