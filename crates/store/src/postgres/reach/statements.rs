//! The SQL of ways and of the versions of ties.

use std::fmt::Write as _;

use crate::tie::Way;

/// The row of `tie_version` that every change of ties increments.
pub(in crate::postgres) const ANY: i32 = -1;
/// The row that is incremented by a change whose labels are unknown.
pub(in crate::postgres) const UNKNOWN: i32 = -2;

/// Reads all versions of ties.
pub(in crate::postgres) const VERSIONS: &str = "SELECT label, version FROM tie_version";
/// Pseudo-label for the version of clients and their rights, read when a transaction begins.
pub(super) const ACCESS: i32 = -3;
/// Pseudo-label for the version of the tables.
pub(super) const SCHEMA: i32 = -4;
/// Reads the versions of ties, of clients and their rights, and of the tables, when a writing
/// transaction begins.
pub(in crate::postgres) const ALL_VERSIONS: &str = "SELECT label, version FROM tie_version \
     UNION ALL SELECT -3, version FROM access_version WHERE id = 1 \
     UNION ALL SELECT -4, version FROM homeroom_store WHERE name = 'schema'";
/// Reads the version of the tables alone, when a transaction of a lane begins.
pub(in crate::postgres) const SCHEMA_VERSION: &str = "SELECT CAST(-4 AS integer), version FROM homeroom_store \
     WHERE name = 'schema'";
/// Reads the version of the last change of any tie.
pub(super) const VERSION: &str = "SELECT version FROM tie_version WHERE label = -1";
/// Sets a version for labels.
pub(in crate::postgres) const BUMP: &str = "INSERT INTO tie_version (label, version) \
     SELECT l, CAST(?2 AS bigint) FROM unnest(CAST(?1 AS integer[])) l \
     ON CONFLICT (label) DO UPDATE SET version = excluded.version";

/// Returns each starting item with every number that it leads to over a label, to any depth, each
/// number once, so that cycles end. `OFFSET 0` makes PostgreSQL plan the subquery separately, which
/// makes it use the index.
pub(super) const CLIMBS: &str = "WITH RECURSIVE hop (start, number) AS ( \
       SELECT s.x, t.holder FROM unnest(CAST(?1 AS bigint[])) s (x) \
       CROSS JOIN LATERAL (SELECT holder FROM tie WHERE label = (CAST(?2 AS integer[]))[1] \
         AND item = s.x OFFSET 0) t \
       UNION \
       SELECT h.start, t.holder FROM hop h \
       CROSS JOIN LATERAL (SELECT holder FROM tie WHERE label = (CAST(?2 AS integer[]))[1] \
         AND item = h.number OFFSET 0) t) \
     SELECT start, number FROM hop";

const FROM_NUMBERS: &str =
    "(SELECT CAST(NULL AS uuid) AS key, x AS id FROM unnest(CAST(?1 AS bigint[])) x)";
const FROM_KEYS: &str = "(SELECT key, id FROM doc WHERE key = ANY(CAST(?1 AS uuid[])) \
     UNION ALL SELECT key, id FROM alias WHERE key = ANY(CAST(?1 AS uuid[])))";

/// Returns the statement that follows the steps of a way from numbers, or from the documents of
/// identities. Its rows are identity, number, and the holder after each step, null from the step
/// that leads nowhere.
pub(super) fn steps(way: &Way, is_from_keys: bool) -> String {
    let from = if is_from_keys { FROM_KEYS } else { FROM_NUMBERS };
    let (mut columns, mut joins) = (String::from("s.key, s.id"), String::new());
    let mut item = String::from("s.id");
    for step in 1..=way.steps.len() {
        let select = |table: &str| {
            format!(
                "SELECT holder FROM {table} \
                 WHERE label = (CAST(?2 AS integer[]))[{step}] AND item = {item}"
            )
        };
        let all = if way.past {
            format!("{} UNION ALL {}", select("tie"), select("past_tie"))
        } else {
            select("tie")
        };
        _ = write!(joins, " LEFT JOIN LATERAL ({all} OFFSET 0) t{step} ON TRUE");
        item = format!("t{step}.holder");
        _ = write!(columns, ", {item}");
    }
    format!("SELECT {columns} FROM {from} s{joins}")
}
