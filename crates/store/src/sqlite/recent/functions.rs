//! What is in memory, for SQL: functions that take the number of the reader's commit first.

use std::fmt::Write as _;
use std::sync::Arc;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result};

use super::edge::NUMBER_MAX;
use super::shared::Recent;

/// The number of the commit that a reader sees.
macro_rules! commit_seen {
    () => {
        "(SELECT number FROM recent)"
    };
}
pub(crate) use commit_seen;

/// The number of the document that has an identity.
macro_rules! number_of_key {
    ($key:literal) => {
        concat!(
            "coalesce(recent_identity(",
            $crate::sqlite::commit_seen!(),
            ", ",
            $key,
            "), (SELECT id FROM identity WHERE key = ",
            $key,
            "))"
        )
    };
}
pub(crate) use number_of_key;

/// Makes the functions known to a connection of this process.
pub(crate) fn provide(connection: &Connection, recent: &Arc<Recent>) -> Result<()> {
    // What a reader sees does not change while it reads.
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    let own = Arc::clone(recent);
    connection.create_scalar_function("recent_identity", 2, flags, move |call| {
        let key = call.get_raw(1).as_blob().ok().and_then(|key| key.try_into().ok());
        Ok(key.and_then(|key| own.identity(at(call)?, key)))
    })?;
    let own = Arc::clone(recent);
    connection.create_scalar_function("recent_edge", 4, flags, move |call| {
        let Some((target, kind)) = target(call)? else { return Ok(false) };
        let source = call.get(3)?;
        Ok(at(call).is_some_and(|at| own.has_edge(at, (target, kind, source))))
    })?;
    let own = Arc::clone(recent);
    connection.create_scalar_function("recent_kind", 3, flags, move |call| {
        let (target, after) = (call.get(1)?, call.get(2)?);
        Ok(at(call).and_then(|at| own.next_kind(at, target, after)))
    })?;
    let own = Arc::clone(recent);
    connection.create_scalar_function("recent_sources", 6, flags, move |call| sources(&own, call))
}

/// Returns the documents of a kind that refer to a target, after one number and up to another, as a
/// JSON array of at most so many numbers; all where that is negative.
fn sources(recent: &Recent, call: &Context<'_>) -> Result<String> {
    let mut out = String::from("[");
    let (after, upto, limit): (i64, i64, i64) = (call.get(3)?, call.get(4)?, call.get(5)?);
    let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
    if let (Some((target, kind)), Some(at)) = (target(call)?, at(call))
        && left > 0
    {
        let first = (target, kind, after.clamp(-1, NUMBER_MAX - 1) + 1);
        let last = (target, kind, upto.clamp(0, NUMBER_MAX));
        recent.each_edge(at, (first, last), |(_, _, source)| {
            let comma = if out.len() > 1 { "," } else { "" };
            _ = write!(out, "{comma}{source}");
            left -= 1;
            left > 0
        });
    }
    out.push(']');
    Ok(out)
}

/// Returns the number of the reader's commit.
fn at(call: &Context<'_>) -> Option<u64> {
    call.get::<i64>(0).ok().and_then(|at| u64::try_from(at).ok())
}

/// Returns a target and the kind of those that refer to it, if there can be such.
fn target(call: &Context<'_>) -> Result<Option<(i64, u16)>> {
    let (target, kind): (Option<i64>, i64) = (call.get(1)?, call.get(2)?);
    Ok(target.zip(u16::try_from(kind).ok()))
}
