//! Creates, migrates and checks the tables.
#![expect(clippy::disallowed_methods, reason = "checks of the tables have a time limit")]

use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;

use crate::copies::now_us;
use crate::error::StoreError;
use crate::health::{CHECKS, TOO_OLD_TO_CHECK};
use crate::migration::{HAS_DOCUMENTS, MIGRATIONS, Migration, is_too_old, newest, too_old};
use crate::postgres::connection::{Connection, Connector, Role};
use crate::postgres::error::Fault;
use crate::postgres::place;
use crate::store::Health;

use super::schema::version;
use super::schema::{VERSION, find_version, not_newer};

/// How often a migration step is tried while another node's is in the way.
const TRIES: u32 = 40;
/// Longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long the last transaction of a node that is gone is remembered, in microseconds: a week.
const NODE_KEPT_US: i64 = 7 * 24 * 3_600 * 1_000_000;

/// A table with one row, which holds the version; a migration locks the row.
const MAKE_VERSION: &str = "CREATE TABLE IF NOT EXISTS homeroom_store (name text NOT NULL PRIMARY KEY, \
     version bigint NOT NULL)";
const FIRST_VERSION: &str = "INSERT INTO homeroom_store (name, version) VALUES ('schema', 0) \
     ON CONFLICT (name) DO NOTHING";
const HOLD_VERSION: &str = "SELECT version FROM homeroom_store WHERE name = 'schema' FOR UPDATE";
const HOLD_COUNTER: &str = "SELECT id FROM counter WHERE name = 'writer' FOR UPDATE";
/// Waits for the transactions of all lanes, and keeps further ones waiting.
const HOLD_LANES: &str = "SELECT name FROM lane ORDER BY name FOR UPDATE";
/// The version that brought lanes.
const LANES_SINCE: i64 = 20;
const SET_VERSION: &str = "UPDATE homeroom_store SET version = ?1 WHERE name = 'schema'";
const FORGET_NODES: &str = "DELETE FROM node WHERE seen < ?1";

/// Brings the tables up to date. Nodes that start at the same time wait for each other.
pub(super) async fn migrate(connector: &Connector, schema: Option<&str>) -> Result<(), StoreError> {
    let cannot = |fault: Fault| {
        let why = fault.told(|| StoreError::Failed("it took too long".into()));
        match why {
            StoreError::FromTheFuture { .. } | StoreError::Unusable(_) => why,
            why => StoreError::Unusable(format!(
                "cannot open {}: {why}; look at the address, the server, the user's rights \
                 (CREATE on the schema) and how many connections it may have",
                connector.shown()
            )),
        }
    };
    let connection = connector.connect(Role::Writer).await.map_err(cannot)?;
    if let Some(schema) = schema {
        connection.simple(&format!("CREATE SCHEMA {schema}")).await.map_err(cannot)?;
    }
    let mut tries = 0;
    loop {
        match steps(&connection, connector.shown()).await {
            Ok(()) => break,
            // When two nodes create the same table at once, one of them is told that it exists.
            Err(Fault::Again(_)) if tries < TRIES => {}
            Err(fault) => return Err(cannot(fault)),
        }
        _ = connection.simple("ROLLBACK").await;
        tries += 1;
        tokio::time::sleep(PAUSE_MAX.min(Duration::from_millis(5) * tries)).await;
    }
    let mut tries = 0;
    while let Err(fault) = place::settle(&connection).await {
        _ = connection.simple("ROLLBACK").await;
        if !matches!(fault, Fault::Again(_)) || tries == TRIES {
            return Err(cannot(fault));
        }
        tries += 1;
    }
    let old = now_us() - NODE_KEPT_US;
    connection.query(FORGET_NODES, &[&old]).await.map_err(cannot)?;
    Ok(())
}

async fn steps(connection: &Connection, shown: &str) -> Result<(), Fault> {
    let found = match find_version(connection, VERSION).await {
        // Only a user that has to create the tables needs the right to do so.
        Err(fault) if fault.has_code(&SqlState::UNDEFINED_TABLE) => {
            connection.simple(MAKE_VERSION).await.map_err(taken)?;
            None
        }
        found => found?,
    };
    let found = match found {
        Some(found) => found,
        // The table was created a moment ago, here or by another node that has not got further.
        None => {
            connection.simple(FIRST_VERSION).await?;
            version(connection, VERSION).await?
        }
    };
    not_newer(found)?;
    if is_too_old(found) && version(connection, HAS_DOCUMENTS).await? > 0 {
        return Err(too_old(shown).into());
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > found) {
        step(connection, migration).await?;
    }
    Ok(())
}

async fn step(connection: &Connection, migration: &Migration) -> Result<(), Fault> {
    connection.simple("BEGIN").await?;
    let found = version(connection, HOLD_VERSION).await?;
    if found < migration.version {
        // A writing node also locks this row and then checks the version. So an older node's
        // transaction ends before this one begins, or finds the new version and writes nothing.
        if found > 0 {
            version(connection, HOLD_COUNTER).await?;
        }
        if found >= LANES_SINCE {
            connection.query(HOLD_LANES, &[]).await?;
        }
        tracing::info!(version = migration.version, name = migration.name, "migrates the store");
        // Texts compare by their bytes, as in SQLite, whatever the database's locale.
        let text = migration.postgres.replace(" TEXT", " TEXT COLLATE \"C\"");
        connection.simple(&text).await?;
        connection.query(SET_VERSION, &[&migration.version]).await?;
    }
    connection.simple("COMMIT").await
}

/// Returns the version of the tables. Refuses a database without tables, or with tables that are
/// newer than this program knows.
async fn made(connection: &Connection, shown: &str) -> Result<i64, Fault> {
    let found = version(connection, VERSION).await.map_err(|fault| match fault {
        Fault::Own(StoreError::Failed(why)) | Fault::Everybody(StoreError::Failed(why)) => {
            StoreError::Unusable(format!("{shown} contains no Homeroom store: {why}")).into()
        }
        other => other,
    })?;
    not_newer(found)?;
    Ok(found)
}

/// Refuses a database whose tables are not of the newest version that this program knows.
pub(super) async fn expect_newest(connection: &Connection, shown: &str) -> Result<(), Fault> {
    if made(connection, shown).await? < newest() {
        return Err(StoreError::Unusable(format!(
            "{shown} was made by an older Homeroom; start this version on it once to migrate it"
        ))
        .into());
    }
    Ok(())
}

/// Locks the tables' version until the end of the transaction, as a migration does. Refuses one
/// that is newer than this program knows.
pub(super) async fn hold(connection: &Connection) -> Result<(), Fault> {
    not_newer(version(connection, HOLD_VERSION).await?)
}

/// Treats a table that was created at the same moment as no error.
fn taken(fault: Fault) -> Fault {
    let codes = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    if codes.iter().any(|code| fault.has_code(code)) {
        return Fault::Again("another process has just created it".into());
    }
    fault
}

/// Looks for damage, as far as time permits.
pub(super) async fn check(connector: &Connector, time_max: Duration) -> Result<Health, StoreError> {
    let end = Instant::now() + time_max;
    let told = |fault: Fault| fault.told(|| StoreError::Failed("the look took too long".into()));
    let connection = connector.connect(Role::List).await.map_err(told)?;
    let mut health = Health::default();
    if made(&connection, connector.shown()).await.map_err(told)? < newest() {
        health.left_out.push(TOO_OLD_TO_CHECK.into());
        return Ok(health);
    }
    connection
        .simple("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await
        .map_err(told)?;
    let is_late = || Instant::now() >= end;
    for (what, text) in CHECKS.iter().chain(OWN_CHECKS) {
        if is_late() {
            health.left_out.push(format!("whether {what}"));
            continue;
        }
        match connection.query(text, &[]).await {
            Ok(rows) => {
                if let Some(row) = rows.first() {
                    let hit: String = row.try_get(0).map_err(|error| told(error.into()))?;
                    health.problems.push(format!("{what} (for example {hit})"));
                }
            }
            // The time-out has ended the transaction, and no time is left.
            Err(Fault::Late) => health.left_out.push(format!("whether {what}")),
            Err(_) if is_late() => health.left_out.push(format!("whether {what}")),
            Err(fault) => return Err(told(fault)),
        }
    }
    if is_late() {
        health.left_out.push("whether a document is not JSON".into());
        return Ok(health);
    }
    match connection.query(PARSE, &[]).await {
        Err(fault) if fault.has_code(&SqlState::INVALID_TEXT_REPRESENTATION) => {
            health.problems.push("a document is not JSON".into());
        }
        Err(Fault::Late) => health.left_out.push("whether a document is not JSON".into()),
        parsed => _ = parsed.map_err(told)?,
    }
    Ok(health)
}

/// Checks that only this database can make.
const OWN_CHECKS: &[(&str, &str)] = &[
    (
        "a document has a number that will be issued again",
        "SELECT 'document ' || d.id FROM counter c JOIN doc d ON d.id > c.id WHERE c.name = 'writer' LIMIT 1",
    ),
    (
        "a document has a change version that will be issued again",
        "SELECT 'document ' || d.id FROM counter c JOIN doc d ON d.cv > c.cv WHERE c.name = 'writer' LIMIT 1",
    ),
    (
        "a number that a document had will be issued again",
        "SELECT 'document ' || t.number FROM counter c JOIN tomb t ON t.number > c.id WHERE c.name = 'writer' LIMIT 1",
    ),
    (
        "a tie of a deleted document has a number that will be issued again",
        "SELECT 'document ' || t.via FROM counter c JOIN past_tie t ON t.via > c.id WHERE c.name = 'writer' LIMIT 1",
    ),
    (
        "a deletion has a change version that will be issued again",
        "SELECT 'change version ' || t.cv FROM counter c JOIN tomb t ON t.cv > c.cv WHERE c.name = 'writer' LIMIT 1",
    ),
    (
        "change versions that were passed over will be issued again",
        "SELECT 'change version ' || p.last FROM counter c JOIN passed_over p ON p.last > c.cv OR p.last > c.id WHERE c.name = 'writer' LIMIT 1",
    ),
    (
        "the counter has lost its row",
        "SELECT CAST('writer' AS text) WHERE NOT EXISTS (SELECT 1 FROM counter WHERE name = 'writer')",
    ),
];

/// Fails on a document that is not JSON.
const PARSE: &str = "SELECT count(*) FROM doc WHERE CAST(body AS json) IS NULL";
