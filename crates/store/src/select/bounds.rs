//! Lists with bounds: tests of a document's marks, or of another document to which it leads. If few
//! documents qualify, they are found through the edges that lead to them; if many do, in order of
//! creation.

mod check;
mod chunk;
mod merge;
mod sample;
mod scan;
mod through;
mod whole;

use crate::id::DocumentId;
use crate::list::{ListQuery, Page};

use super::source::Source;

use self::chunk::CHUNK_MAX;
use check::Checks;
use sample::Sample;
use scan::Scan;

pub(super) use sample::run_size;
use through::Throughs;
use whole::Whole;

/// Returns a page of a list with bounds.
pub(super) async fn page<S: Source>(source: &S, query: &ListQuery) -> Result<Page, S::Error> {
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let mut skip = query.skip;
    let mut ids: Vec<i64> = vec![];
    let mut pass = |found: Vec<i64>| {
        let passed_over = usize::try_from(skip).unwrap_or(usize::MAX).min(found.len());
        skip -= passed_over as u64;
        ids.extend(found.into_iter().skip(passed_over).take(limit - ids.len()));
        let left = usize::try_from(skip).unwrap_or(usize::MAX);
        if ids.len() == limit { 0 } else { left.saturating_add(limit - ids.len()) }
    };
    let wanted = limit.saturating_add(usize::try_from(query.skip).unwrap_or(usize::MAX));
    // What is skipped need not be read whole.
    let mut whole = (query.skip == 0).then(Whole::default);
    walk(source, query, wanted, whole.as_mut(), &mut pass).await?;
    let rows = whole.unwrap_or_default().documents(source, &ids).await?;
    Ok(Page { rows, is_cut: false })
}

/// Returns the number of all documents within bounds.
pub(super) async fn count<S: Source>(source: &S, query: &ListQuery) -> Result<u64, S::Error> {
    let mut count = 0;
    let mut pass = |found: Vec<i64>| {
        count += found.len() as u64;
        CHUNK_MAX
    };
    walk(source, query, CHUNK_MAX, None, &mut pass).await?;
    Ok(count)
}

/// Divides all documents of a list into at most `parts` runs of about equal size, of which only the
/// last may be much smaller than the others or than `smallest`. Returns the last document of each run
/// except the last, or [`None`] where there is none.
pub(super) async fn cuts<S: Source>(
    source: &S,
    query: &ListQuery,
    parts: u64,
    smallest: u64,
) -> Result<Option<Vec<DocumentId>>, S::Error> {
    let mut sample = Sample::default();
    let mut pass = |found: Vec<i64>| {
        for id in found {
            sample.take(id);
        }
        CHUNK_MAX
    };
    walk(source, query, CHUNK_MAX, None, &mut pass).await?;
    Ok(sample.cuts(parts, smallest))
}

/// Passes the numbers of qualifying documents, in order, to `pass`, which returns how many more it
/// wants; ends at zero. Documents that are read whole on the way are added to `whole`.
async fn walk<S: Source>(
    source: &S,
    query: &ListQuery,
    mut wanted: usize,
    mut whole: Option<&mut Whole>,
    pass: &mut impl FnMut(Vec<i64>) -> usize,
) -> Result<(), S::Error> {
    let mut checks = Checks::prepare(source, &query.bounds).await?;
    let mut throughs = Throughs::of(&query.through);
    let marks = checks.marks.max(throughs.marks);
    let mut scan = Scan::begin(source, query, &checks).await?;
    while let Some(heads) = scan.next(source, query, marks, wanted, whole.as_deref_mut()).await? {
        let within = checks.filter(source, heads).await?;
        let found = throughs.filter(source, within).await?;
        scan.learn(found.len());
        wanted = pass(found);
        if wanted == 0 {
            break;
        }
    }
    Ok(())
}
