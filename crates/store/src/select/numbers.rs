//! Statements whose rows are whole numbers.

use super::source::Source;
use super::statement::Statement;
use crate::error::StoreError;
use crate::id::KindId;
use crate::sql::Value;

pub(super) fn kind(kind: KindId) -> Value {
    i64::from(kind.0).into()
}

pub(super) fn sql(text: &str, arguments: Vec<Value>) -> Statement {
    Statement { text: text.to_owned(), arguments }
}

pub(super) async fn one<S: Source>(
    source: &S,
    text: &str,
    of: Vec<Value>,
) -> Result<u64, S::Error> {
    Ok(first(source.numbers(&sql(text, of)).await?)?)
}

/// Returns the single number of a count.
pub(super) fn first(rows: Vec<Vec<i64>>) -> Result<u64, StoreError> {
    let n = rows.first().and_then(|row| row.first());
    n.map(|n| n.unsigned_abs()).ok_or_else(|| StoreError::Failed("a count gave nothing".into()))
}
