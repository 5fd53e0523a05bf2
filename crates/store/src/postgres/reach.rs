//! What can be reached over ties, for many beginnings in one statement.

use std::collections::HashMap;

use tokio_postgres::Row as SqlRow;

use crate::id::NaturalKey;
use crate::postgres::error::Fault;
use crate::postgres::value::{Column, bytes};
use crate::tie::{Reached, Start, Way};

/// The arguments of [`text`]: the beginnings, and the labels in order.
pub(super) fn columns(from: Column, way: &Way) -> Vec<Column> {
    let labels = way.steps.iter().chain([&way.up]).map(|label| label.0.into()).collect();
    vec![from, Column::Kinds(labels)]
}

/// The statement that follows a way from numbers, or from the documents of identities.
pub(super) fn text(way: &Way, is_from_keys: bool) -> &'static str {
    match (is_from_keys, way.past) {
        (false, false) => NUMBERS,
        (false, true) => NUMBERS_PAST,
        (true, false) => KEYS,
        (true, true) => KEYS_PAST,
    }
}

/// Reads rows of beginning, steps done, number; takes them into what was found.
pub(super) fn read(
    rows: &[SqlRow],
    way: &Way,
    found: &mut HashMap<Start, Reached>,
) -> Result<(), Fault> {
    let last = way.steps.len() + 1;
    for row in rows {
        let start = match row.try_get::<_, Option<i64>>(0)? {
            Some(number) => Start::Number(number),
            None => Start::Document(NaturalKey(bytes(row, 1)?)),
        };
        let step = usize::try_from(row.try_get::<_, i32>(2)?).unwrap_or(last);
        let number = row.try_get(3)?;
        let reached = found.entry(start).or_default();
        reached.seen.push((way.label(step), number));
        if step == last {
            reached.numbers.push(number);
        }
    }
    for reached in found.values_mut() {
        reached.numbers.sort_unstable();
        reached.numbers.dedup();
    }
    Ok(())
}

/// A hop follows the label of its step, the last label again and again; of each beginning every
/// number comes once a step, so circles end.
macro_rules! follow {
    ($from:literal, $start:literal, $ties:literal) => {
        concat!(
            "WITH RECURSIVE hop (start, step, number) AS (",
            $from,
            " UNION \
             SELECT h.start, LEAST(h.step + 1, cardinality(CAST(?2 AS integer[]))), t.holder \
             FROM hop h JOIN ",
            $ties,
            " t.label = (CAST(?2 AS integer[]))\
                [LEAST(h.step + 1, cardinality(CAST(?2 AS integer[])))] \
             AND t.item = h.number) SELECT ",
            $start,
            ", step, number FROM hop"
        )
    };
}

const NUMBERS: &str = follow!(
    "SELECT s, 0, s FROM unnest(CAST(?1 AS bigint[])) s",
    "start, CAST(NULL AS uuid)",
    "tie t ON"
);
const NUMBERS_PAST: &str = follow!(
    "SELECT s, 0, s FROM unnest(CAST(?1 AS bigint[])) s",
    "start, CAST(NULL AS uuid)",
    "(SELECT label, item, holder, 0 AS past FROM tie \
     UNION ALL SELECT label, item, holder, 1 FROM past_tie) t \
     ON (t.past = 0 OR h.step + 1 < cardinality(CAST(?2 AS integer[]))) AND"
);
const KEYS: &str = follow!(
    "SELECT s.key, 0, s.id FROM ( \
       SELECT d.key, d.id FROM doc d WHERE d.key = ANY(CAST(?1 AS uuid[])) \
       UNION ALL SELECT a.key, a.id FROM alias a WHERE a.key = ANY(CAST(?1 AS uuid[]))) s",
    "CAST(NULL AS bigint), start",
    "tie t ON"
);
const KEYS_PAST: &str = follow!(
    "SELECT s.key, 0, s.id FROM ( \
       SELECT d.key, d.id FROM doc d WHERE d.key = ANY(CAST(?1 AS uuid[])) \
       UNION ALL SELECT a.key, a.id FROM alias a WHERE a.key = ANY(CAST(?1 AS uuid[]))) s",
    "CAST(NULL AS bigint), start",
    "(SELECT label, item, holder, 0 AS past FROM tie \
     UNION ALL SELECT label, item, holder, 1 FROM past_tie) t \
     ON (t.past = 0 OR h.step + 1 < cardinality(CAST(?2 AS integer[]))) AND"
);
