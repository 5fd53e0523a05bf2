//! Lists with bounds: tests of a document's marks, or of another document to which it leads. If few
//! documents qualify, they are found through the edges that lead to them; if many do, in order of
//! creation.

mod check;
mod chunk;
mod kept;
mod merge;
mod sample;
mod scan;
mod through;

use crate::id::DocumentId;
use crate::list::{ListQuery, Page};

use super::source::Source;

use self::chunk::More;
use check::Checks;
use kept::Kept;
use sample::Sample;
use scan::Scan;

pub(super) use sample::run_size;
use through::Throughs;

/// Returns a page of a list with bounds.
pub(super) async fn page<S: Source>(source: &S, query: &ListQuery) -> Result<Page, S::Error> {
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let mut skip = usize::try_from(query.skip).unwrap_or(usize::MAX);
    let mut ids: Vec<i64> = vec![];
    let all = More { before: skip, page: limit };
    let mut pass = |found: Vec<i64>| {
        let passed_over = skip.min(found.len());
        skip -= passed_over;
        ids.extend(found.into_iter().skip(passed_over).take(limit - ids.len()));
        More { before: skip, page: limit - ids.len() }
    };
    let mut kept = Kept::default();
    walk(source, query, all, &mut kept, &mut pass).await?;
    let rows = kept.documents(source, &ids).await?;
    Ok(Page { rows, is_cut: false })
}

/// Returns the number of all documents within bounds.
pub(super) async fn count<S: Source>(source: &S, query: &ListQuery) -> Result<u64, S::Error> {
    let mut count = 0;
    let mut pass = |found: Vec<i64>| {
        count += found.len() as u64;
        More::ALL
    };
    walk(source, query, More::ALL, &mut Kept::default(), &mut pass).await?;
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
        More::ALL
    };
    walk(source, query, More::ALL, &mut Kept::default(), &mut pass).await?;
    Ok(sample.cuts(parts, smallest))
}

/// Passes the numbers of qualifying documents, in order, to `pass`, which returns how many more it
/// wants; ends when there are none. Documents that are read whole along the way are kept.
async fn walk<S: Source>(
    source: &S,
    query: &ListQuery,
    mut more: More,
    kept: &mut Kept,
    pass: &mut impl FnMut(Vec<i64>) -> More,
) -> Result<(), S::Error> {
    let mut checks = Checks::prepare(source, &query.bounds).await?;
    let mut throughs = Throughs::of(&query.through);
    let marks = checks.marks.max(throughs.marks);
    let mut scan = Scan::begin(source, query, &checks).await?;
    while let Some(heads) = scan.next(source, query, marks, &more, kept).await? {
        let within = checks.filter(source, heads).await?;
        let found = throughs.filter(source, within).await?;
        scan.learn(found.len());
        more = pass(found);
        if more.is_none() {
            break;
        }
    }
    Ok(())
}
