//! Detects that the database is a copy, has gone back or has a new server, and makes it continue
//! above everything that was issued.
//!
//! A restored dump has tables with other numbers, a database cloned from another has its own
//! number, a rebuilt cluster has another identifier; after point-in-time recovery or a failover to
//! a standby the timeline differs. Some related databases do not report all of this; what is
//! missing is not compared.

use std::collections::HashMap;

use super::error::damaged;
use super::schema::refuse_newer;
use crate::copies::{ALL_KINDS, COPIED, Counted, Raised, now_us};
use crate::postgres::connection::Connection;
use crate::postgres::error::Fault;

/// The facts that identify where the store is: a name, and the statement that returns the value.
const FACTS: [(&str, &str); 4] = [
    ("system", "SELECT CAST(system_identifier AS text) FROM pg_control_system()"),
    ("timeline", "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"),
    ("database", "SELECT CAST(oid AS text) FROM pg_database WHERE datname = current_database()"),
    ("table", "SELECT CAST(CAST(CAST('counter' AS regclass) AS oid) AS text)"),
];

/// How the message ends for something that the server does not support.
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
/// Updates all labels at once: nothing that a node remembers of any label is valid any more.
const TIES: &str = "UPDATE tie_version SET version = ?1";
const MANAGED: &str = "INSERT INTO managed_last (kind, id) VALUES (?1, ?2) \
     ON CONFLICT (kind) DO UPDATE SET id = excluded.id";
const UNMARK: &str = "DELETE FROM place WHERE name = ?1";

/// The facts known about a place, by name.
type Facts = HashMap<String, String>;

/// Makes a database that is a copy continue above everything that may have been issued, before
/// anything is written to it. Returns where it continues, if it is a copy.
pub(super) async fn settle(connection: &Connection) -> Result<Option<Raised>, Fault> {
    let now = facts(connection).await?;
    let known = known(connection).await?;
    let is_new = |place: &Facts| now.keys().any(|name| !place.contains_key(name));
    if !is_copy(&known, &now) && !is_new(&known) {
        return Ok(None);
    }
    connection.simple("BEGIN").await?;
    let held = hold(connection).await?;
    // Another node may have done it in the meantime.
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
            "the database is a copy or has a new server: change versions continue above all that \
             may have been issued"
        );
    }
    Ok(raised)
}

/// Makes a database continue above everything that may have been issued, even if it does not look
/// like a copy, because the calling node has seen it further ahead or an operator asked for it.
/// Returns how far it had counted, and where it continues.
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

/// Makes a database whose rows were just replaced by an archive's, in the same transaction, continue
/// above everything that may have been issued. The archive's store had counted up to `own`, and the
/// database itself up to `before`; the archive was made at `moment`, in microseconds since 1970.
pub(super) async fn restored(
    connection: &Connection,
    own: Counted,
    before: Counted,
    moment: i64,
) -> Result<Raised, Fault> {
    let raised = own.max(before).raised(now_us().max(moment))?;
    write(connection, own, raised).await
}

/// Returns whether the store was in another place when it was last written to.
fn is_copy(known: &Facts, now: &Facts) -> bool {
    known.contains_key(COPIED)
        || now.iter().any(|(name, value)| known.get(name).is_some_and(|known| known != value))
}

fn moment(known: &Facts) -> i64 {
    let copied = known.get(COPIED).and_then(|moment| moment.parse().ok()).unwrap_or(0);
    now_us().max(copied)
}

/// Returns the facts that the server reports about the place.
async fn facts(connection: &Connection) -> Result<Facts, Fault> {
    let mut facts = Facts::new();
    for (name, text) in FACTS {
        match connection.answered(connection.query(text, &[])).await {
            Ok(rows) => {
                let value = rows.first().map(|row| row.try_get::<_, Option<String>>(0));
                facts.extend(value.transpose()?.flatten().map(|value| (name.to_owned(), value)));
            }
            // A feature that a related database lacks is not a lost connection.
            Err(Fault::Lost(why)) if why.ends_with(NOT_SUPPORTED) => {}
            Err(fault @ (Fault::Lost(_) | Fault::Again(_))) => return Err(fault),
            Err(fault) => tracing::debug!(?fault, name, "the server does not tell this"),
        }
    }
    Ok(facts)
}

async fn known(connection: &Connection) -> Result<Facts, Fault> {
    let rows = connection.answered(connection.query(KNOWN, &[])).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Locks the counter until the end of the transaction. Returns how far the store has counted.
pub(super) async fn hold(connection: &Connection) -> Result<Counted, Fault> {
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
