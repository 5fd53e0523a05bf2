//! Views in the database: schemas beside the store's own.

use std::collections::BTreeSet;
use std::future::Future;

use tokio_postgres::error::SqlState;

use super::connection::LOCK;
use crate::error::StoreError;
use crate::postgres::connection::{Connection, Connector, Role};
use crate::postgres::error::Fault;
use crate::postgres::migrate;
use crate::postgres::own_runtime::OwnRuntime;
use crate::store::PostgresUrl;
use crate::views::View;

/// The schema of a store whose URL names none. Views of a store elsewhere carry its schema's name,
/// so that several stores in a database do not collide.
const USUAL: &str = "public";

/// The list of Homeroom's views, with the version that was stored with them; other views are
/// untouched.
const MAKE_LIST: &str = "CREATE TABLE IF NOT EXISTS homeroom_views (schema_name text NOT NULL, \
     name text NOT NULL, version text NOT NULL, PRIMARY KEY (schema_name, name))";
const LIST: &str = "SELECT schema_name, name FROM homeroom_views ORDER BY schema_name, name";
const ADD: &str = "INSERT INTO homeroom_views (schema_name, name, version) VALUES (?1, ?2, ?3)";
const VERSION: &str = "SELECT version FROM homeroom_views LIMIT 1";
const OWN_SCHEMA: &str = "SELECT CAST(current_schema() AS text)";
const HAS_SCHEMA: &str = "SELECT 1 FROM pg_namespace WHERE nspname = ?1";

pub(crate) fn views_version(url: &PostgresUrl) -> Result<Option<String>, StoreError> {
    with(url, |connection| async move {
        match connection.query(VERSION, &[]).await {
            Ok(rows) => Ok(rows.first().map(|row| row.try_get(0)).transpose()?),
            Err(fault) if fault.has_code(&SqlState::UNDEFINED_TABLE) => Ok(None),
            Err(fault) => Err(fault),
        }
    })
}

pub(crate) fn replace_views(
    url: &PostgresUrl,
    views: &[View],
    version: &str,
) -> Result<(), StoreError> {
    let (views, version) = (views.to_vec(), version.to_owned());
    with(url, |connection| async move {
        connection.simple("BEGIN").await?;
        // One replacement at a time, even when nodes start together.
        migrate::hold(&connection).await?;
        let before = replace(&connection, &views, &version).await?;
        connection.simple("COMMIT").await?;
        if views.is_empty() {
            for schema in before {
                // A schema that still contains something, or belongs to another user, stays.
                let dropped = connection.simple(&format!("DROP SCHEMA {}", quoted(&schema))).await;
                if let Err(fault) = dropped {
                    tracing::debug!(?fault, schema, "a schema stays");
                }
            }
        }
        Ok(())
    })
}

/// Drops Homeroom's views and creates these. Returns the schemas that had some before.
async fn replace(
    connection: &Connection,
    views: &[View],
    version: &str,
) -> Result<BTreeSet<String>, Fault> {
    connection.simple(MAKE_LIST).await?;
    let mut before = BTreeSet::new();
    for row in connection.query(LIST, &[]).await? {
        let (schema, name): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let text = format!("DROP VIEW IF EXISTS {}", full(&schema, &name));
        connection.simple(&text).await.map_err(|fault| {
            let why = "another view or function depends on it; drop that first";
            in_words(fault, &SqlState::DEPENDENT_OBJECTS_STILL_EXIST, &schema, &name, why)
        })?;
        before.insert(schema);
    }
    if views.is_empty() {
        connection.simple("DROP TABLE homeroom_views").await?;
        return Ok(before);
    }
    connection.simple("DELETE FROM homeroom_views").await?;
    let rows = connection.query(OWN_SCHEMA, &[]).await?;
    let own: String =
        rows.first().ok_or_else(|| super::error::damaged("homeroom_store"))?.try_get(0)?;
    let schema_of = |view: &View| match own.as_str() {
        USUAL => view.schema.clone(),
        own => format!("{own}_{}", view.schema),
    };
    for schema in views.iter().map(schema_of).collect::<BTreeSet<_>>() {
        make_schema(connection, &schema).await?;
    }
    for view in views {
        let schema = schema_of(view);
        let made = format!("CREATE VIEW {} AS {}", full(&schema, &view.name), view.select);
        connection.simple(&made).await.map_err(|fault| {
            let why = "another object has this name; rename or drop it";
            in_words(fault, &SqlState::DUPLICATE_TABLE, &schema, &view.name, why)
        })?;
        connection.query(ADD, &[&schema, &view.name, &version]).await?;
    }
    Ok(before)
}

async fn make_schema(connection: &Connection, schema: &str) -> Result<(), Fault> {
    // Only a user that has to create a schema needs the right to do so.
    if !connection.query(HAS_SCHEMA, &[&schema]).await?.is_empty() {
        return Ok(());
    }
    let made = connection.simple(&format!("CREATE SCHEMA {}", quoted(schema))).await;
    made.map_err(|fault| match fault {
        fault if fault.has_code(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            StoreError::Unusable(format!(
                "the user may not create the schema {schema}; grant it CREATE on the database, or \
             create the schema and grant it CREATE on that"
            ))
            .into()
        }
        fault => fault,
    })
}

/// Runs a function on a connection of its own.
fn with<T, F>(
    url: &PostgresUrl,
    run: impl FnOnce(Connection) -> F + Send + 'static,
) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Fault>> + Send + 'static,
{
    let connector = Connector::new(url, None, LOCK, false)?;
    OwnRuntime::new()?.wait(async move {
        let done = async {
            let connection = connector.connect(Role::Writer).await?;
            migrate::expect_newest(&connection, connector.shown()).await?;
            run(connection).await
        };
        done.await.map_err(|fault: Fault| fault.told(|| StoreError::Deadline(LOCK)))
    })
}

fn in_words(fault: Fault, code: &SqlState, schema: &str, name: &str, why: &str) -> Fault {
    if fault.has_code(code) {
        StoreError::Unusable(format!("{schema}.{name}: {why}")).into()
    } else {
        fault
    }
}

fn full(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
