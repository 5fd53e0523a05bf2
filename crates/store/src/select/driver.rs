//! Chooses the index that finds the documents of a list with the least work.

use super::numbers::{first, kind, one};
use super::source::Source;
use super::statement::{Driver, Statement, WALK_MAX};
use crate::dialect::EVERY_NUMBER;
use crate::id::{DocumentId, KindId};
use crate::list::ListQuery;

/// Most referrers of a target that are counted to find the target with the fewest.
const NARROW_MAX: i64 = 1_000;

/// Windows of up to this many changes are sorted at once.
const WINDOW_SMALL: i64 = 20_000;

/// Chooses the index that finds the documents of a page with the least work.
pub(super) async fn driver<S: Source>(source: &S, query: &ListQuery) -> Result<Driver, S::Error> {
    if query.among.is_some() {
        return Ok(Driver::Among);
    }
    if query.is_pointed() {
        return Ok(Driver::Identity);
    }
    if let Some(target) = narrowest(source, query).await? {
        return Ok(Driver::Referrers(target));
    }
    let Some(window) = query.changed else { return Ok(Driver::Creation) };
    let wanted = query.skip.saturating_add(query.limit.into());
    Ok(if window_is_small(source, query.kind, window).await? {
        Driver::Changes
    } else if !query.conditions.is_empty() {
        Driver::Creation
    } else if wanted <= WALK_MAX.unsigned_abs() {
        Driver::Walk
    } else {
        Driver::Changes
    })
}

/// Returns the target with the fewest referrers of the kind, counting up to [`NARROW_MAX`] of each.
async fn narrowest<S: Source>(
    source: &S,
    query: &ListQuery,
) -> Result<Option<DocumentId>, S::Error> {
    if query.targets.len() < 2 {
        return Ok(query.targets.first().copied());
    }
    let recent = S::DIALECT.or_recent("?1", "?2", EVERY_NUMBER, &NARROW_MAX.to_string());
    let text = format!(
        "SELECT count(*) FROM (SELECT source FROM ref WHERE target = ?1 AND kind = ?2{recent} \
         LIMIT {NARROW_MAX}) r"
    );
    let mut best = None;
    for target in &query.targets {
        let n = one(source, &text, vec![target.0.into(), kind(query.kind)]).await?;
        if best.is_none_or(|(least, _)| n < least) {
            best = Some((n, *target));
        }
    }
    Ok(best.map(|(_, target)| target))
}

async fn window_is_small<S: Source>(
    source: &S,
    of: KindId,
    (min, max): (i64, i64),
) -> Result<bool, S::Error> {
    let text = format!(
        "SELECT count(*) FROM (SELECT 1 FROM doc{} WHERE kind = ?1 AND cv BETWEEN ?2 AND ?3 LIMIT ?4) d",
        S::DIALECT.by_index("doc_kind_cv")
    );
    let arguments = vec![kind(of), min.into(), max.into(), (WINDOW_SMALL + 1).into()];
    let n = first(source.numbers(&Statement { text, arguments }).await?)?;
    Ok(n <= WINDOW_SMALL.unsigned_abs())
}
