//! Converts values between the driver and the store.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::error::StoreError;
use crate::id::{NaturalKey, Uuid};
use crate::sql::{Sql, Value};

/// Runs a statement and reads all its rows.
pub(crate) fn rows(connection: &Connection, sql: &Sql) -> Result<Vec<Vec<Value>>, StoreError> {
    let mut statement = connection.prepare_cached(sql.text)?;
    let columns = statement.column_count();
    let mut found = statement.query(rusqlite::params_from_iter(&sql.arguments))?;
    let mut out = vec![];
    while let Some(row) = found.next()? {
        let mut values = Vec::with_capacity(columns);
        for at in 0..columns {
            values.push(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the store's columns hold no fractions"
                )]
                ValueRef::Real(number) => Value::Integer(number as i64),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
            });
        }
        out.push(values);
    }
    Ok(out)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Returns identities as a JSON array of hex texts.
pub(super) fn list_of_keys(keys: &[NaturalKey]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("\"{}\"", Uuid(key.0))).collect();
    format!("[{}]", keys.join(","))
}
