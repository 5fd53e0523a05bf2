//! Chooses where a list with bounds searches for its documents.

use super::chunk::{CHUNK_MAX, CHUNK_MIN, after};
use crate::list::{Leads, ListQuery};
use crate::row::References;
use crate::select::bounds::check::{Check, Checks};
use crate::select::bounds::merge::{Lead, Merge};
use crate::select::driver::driver;
use crate::select::source::{Head, Source};
use crate::select::statement::tests;
use crate::select::{Driver, Statement};
use crate::sql::Value;

/// Most documents whose referrers are merged.
const TARGETS_MAX: usize = 1_000;
/// A scan of candidates in order of creation.
pub(super) struct Scan {
    mode: Mode,
    /// Everything up to this number has been examined.
    after: i64,
    /// The share of examined candidates that passed.
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
        Ok(Self { mode, after: query.after.0, share: 1.0, is_over })
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

    /// Returns the next candidates with their marks, about as many as `wanted` results need;
    /// [`None`] after the last.
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
                // A window's changes are sorted again each time.
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
            Mode::Merge(merge) => {
                let ids = merge.next(source, enough).await?;
                self.is_over = merge.is_over();
                source.heads(&of_documents::<S>(query, &ids, marks)).await?
            }
        };
        if let (Mode::Base(_), Some((last, _))) = (&self.mode, heads.last()) {
            self.after = *last;
        }
        Ok(Some(heads))
    }

    /// Estimates how many candidates are needed for `wanted` results.
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

    /// Records how many candidates have passed.
    pub(super) fn learn(&mut self, looked_at: usize, passed: usize) {
        if looked_at > 0 {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let share = passed as f64 / looked_at as f64;
            self.share = share.clamp(0.01, 1.0);
        }
    }
}

fn of_documents<S: Source>(query: &ListQuery, documents: &[i64], marks: usize) -> Statement {
    let head = i64::try_from(References::head_bytes(marks)).unwrap_or(i64::MAX);
    let mut arguments: Vec<Value> = vec![
        S::DIALECT.list(documents.iter().copied()),
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
        "SELECT d.id, substr(d.refs, 1, {}) FROM {} n {} WHERE {}",
        S::DIALECT.whole("?2"),
        S::DIALECT.numbers("?1"),
        S::DIALECT.each("doc", "d", "d.id = n.x"),
        filter.join(" AND "),
    );
    Statement { text, arguments }
}
