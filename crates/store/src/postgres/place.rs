//! Whether the database is a copy, has gone back or has a new server, and where it goes on then.
//!
//! A dump that was brought back has tables of other numbers, a database that was made after another
//! a number of its own, a cluster that was made anew another identifier; one that was recovered to a
//! point in time and a standby that took over are on another timeline. Not every related database
//! tells all of this; what is not told is not held against what was known.

use std::collections::HashMap;

use crate::copies::{ALL_KINDS, COPIED, Counted, Raised, now_us};
use crate::postgres::connection::Connection;
use crate::postgres::error::Fault;
use crate::postgres::migrate::{damaged, refuse_newer};

/// What is known of where the store is: a name, and the statement that tells it.
const FACTS: [(&str, &str); 4] = [
    ("system", "SELECT CAST(system_identifier AS text) FROM pg_control_system()"),
    ("timeline", "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"),
    ("database", "SELECT CAST(oid AS text) FROM pg_database WHERE datname = current_database()"),
    ("table", "SELECT CAST(CAST(CAST('counter' AS regclass) AS oid) AS text)"),
];

/// How a message ends of something that the server does not have.
const NOT_SUPPORTED: &str = "(SQLSTATE 0A000)";

const KNOWN: &str = "SELECT name, value FROM place";
const PUT: &str = "INSERT INTO place (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const HOLD: &str = "SELECT id, cv FROM counter WHERE name = 'writer' FOR UPDATE";
const OTHERS: &str = "SELECT (SELECT coalesce(max(version), 0) FROM access_version), \
     (SELECT coalesce(max(version), 0) FROM tie_version), \
     (SELECT coalesce(max(id), 0) FROM managed_last)";
const PASS_OVER: &str = "INSERT INTO passed_over (first, last) VALUES (?1, ?2) \
     ON CONFLICT (first) DO UPDATE SET last = excluded.last";
const COUNTER: &str = "UPDATE counter SET id = ?1, cv = ?1 WHERE name = 'writer'";
const ACCESS: &str = "UPDATE access_version SET version = ?1 WHERE id = 1";
/// All at once: nothing that a node remembers of any label holds any more.
const TIES: &str = "UPDATE tie_version SET version = ?1";
const MANAGED: &str = "INSERT INTO managed_last (kind, id) VALUES (?1, ?2) \
     ON CONFLICT (kind) DO UPDATE SET id = excluded.id";
const UNMARK: &str = "DELETE FROM place WHERE name = ?1";

/// What is known of a place, by name.
type Place = HashMap<String, String>;

/// Has a database that is a copy go on above all that may have been given out, before anybody
/// writes to it; gives where it goes on, if it is one.
pub(super) async fn settle(connection: &Connection) -> Result<Option<Raised>, Fault> {
    let now = facts(connection).await?;
    let known = known(connection).await?;
    let is_new = |place: &Place| now.keys().any(|name| !place.contains_key(name));
    if !is_copy(&known, &now) && !is_new(&known) {
        return Ok(None);
    }
    connection.simple("BEGIN").await?;
    let held = hold(connection).await?;
    // Another node may have done it meanwhile.
    let known = self::known(connection).await?;
    let raised = if is_copy(&known, &now) {
        Some(write(connection, held, held.raised(moment(&known))?).await?)
    } else {
        None
    };
    for (name, value) in &now {
        connection.query(PUT, &[name, value]).await?;
    }
    connection.answered(connection.simple("COMMIT")).await?;
    if let Some(raised) = &raised {
        tracing::warn!(
            version = raised.version,
            "the database is a copy or has a new server: change versions go on above all that may \
             have been given out"
        );
    }
    Ok(raised)
}

/// Has a database go on above all that may have been given out, whether or not it looks like a
/// copy; the node that asks has seen it further than it is, or somebody says so. Gives how far it
/// had counted, and where it goes on.
pub(super) async fn raise(
    connection: &Connection,
    others: Counted,
) -> Result<(Counted, Raised), Fault> {
    let now = facts(connection).await?;
    connection.simple("BEGIN").await?;
    let held = hold(connection).await?;
    let known = known(connection).await?;
    let raised = held.max(others).raised(moment(&known))?;
    let raised = write(connection, held, raised).await?;
    for (name, value) in &now {
        connection.query(PUT, &[name, value]).await?;
    }
    connection.answered(connection.simple("COMMIT")).await?;
    Ok((held, raised))
}

/// Whether the store was in another place when it was last written to.
fn is_copy(known: &Place, now: &Place) -> bool {
    known.contains_key(COPIED)
        || now.iter().any(|(name, value)| known.get(name).is_some_and(|known| known != value))
}

fn moment(known: &Place) -> i64 {
    let copied = known.get(COPIED).and_then(|moment| moment.parse().ok()).unwrap_or(0);
    now_us().max(copied)
}

/// What the server tells of where the store is.
async fn facts(connection: &Connection) -> Result<Place, Fault> {
    let mut facts = Place::new();
    for (name, text) in FACTS {
        match connection.answered(connection.query(text, &[])).await {
            Ok(rows) => {
                let value = rows.first().map(|row| row.try_get::<_, Option<String>>(0));
                facts.extend(value.transpose()?.flatten().map(|value| (name.to_owned(), value)));
            }
            // What a related database does not have is no lost connection.
            Err(Fault::Lost(why)) if why.ends_with(NOT_SUPPORTED) => {}
            Err(fault @ (Fault::Lost(_) | Fault::Again(_))) => return Err(fault),
            Err(fault) => tracing::debug!(?fault, name, "the server does not tell this"),
        }
    }
    Ok(facts)
}

async fn known(connection: &Connection) -> Result<Place, Fault> {
    let rows = connection.answered(connection.query(KNOWN, &[])).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Holds the counter till the end of the transaction; gives how far the store has counted.
async fn hold(connection: &Connection) -> Result<Counted, Fault> {
    let rows = connection.answered(connection.query(HOLD, &[])).await?;
    let row = rows.first().ok_or_else(|| damaged("counter"))?;
    refuse_newer(connection).await?;
    let others = connection.query(OTHERS, &[]).await?;
    let other = others.first().ok_or_else(|| damaged("access_version"))?;
    Ok(Counted {
        number: row.try_get(0)?,
        change_version: row.try_get(1)?,
        access: other.try_get(0)?,
        ties: other.try_get(1)?,
        managed: other.try_get(2)?,
    })
}

async fn write(connection: &Connection, held: Counted, raised: Raised) -> Result<Raised, Fault> {
    let (version, first) = (raised.version, held.change_version + 1);
    if first <= version {
        connection.query(PASS_OVER, &[&first, &version]).await?;
    }
    for text in [COUNTER, ACCESS, TIES] {
        connection.query(text, &[&version]).await?;
    }
    connection.query(MANAGED, &[&ALL_KINDS, &raised.managed]).await?;
    connection.query(UNMARK, &[&COPIED]).await?;
    Ok(raised)
}
