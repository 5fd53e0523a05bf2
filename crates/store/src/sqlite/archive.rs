//! A store's file as an archive of a store that is elsewhere: filled with its rows, and read again.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::carried::{Batch, Table};
use crate::copies::{COPIED, Counted};
use crate::error::StoreError;
use crate::sqlite::open::{bring_up_to_date, make_private, make_tables, open_existing};
use crate::sqlite::{place, recent};

/// Tables that are true of one store only, and what a file keeps in a table of its own.
const OWN: [&str; 4] = ["high_water", "identity", "place", "recent"];
/// Page cache of the connection that fills or reads an archive, in KiB.
const CACHE_KIB: u32 = 65_536;

/// Returns the tables that an archive carries.
pub(crate) fn carried() -> Result<Vec<Table>, StoreError> {
    let connection = Connection::open_in_memory()?;
    make_tables(&connection)?;
    let mut names = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
    )?;
    let names = names.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    let names = names.into_iter().filter(|name| !OWN.contains(&name.as_str()));
    names.map(|name| table(&connection, name)).collect()
}

fn table(connection: &Connection, name: String) -> Result<Table, StoreError> {
    let mut about =
        connection.prepare("SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid")?;
    let about = about.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let about = about.collect::<Result<Vec<(String, i64)>, _>>()?;
    let mut key: Vec<_> = about.iter().filter(|(_, place)| *place > 0).collect();
    key.sort_by_key(|(_, place)| *place);
    let key = key.into_iter().map(|(name, _)| name.clone()).collect();
    Ok(Table { name, columns: about.into_iter().map(|(name, _)| name).collect(), key })
}

/// An archive that is being filled; nobody else may see it yet.
pub(crate) struct Filling {
    connection: Connection,
    inserts: Vec<String>,
    /// The statements that make the indexes, once the rows are there.
    indexes: Vec<String>,
}

impl Filling {
    /// Makes a store's file without any rows.
    pub(crate) fn begin(file: &Path, tables: &[Table]) -> Result<Self, StoreError> {
        make_private(file)?;
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // What is lost in a crash is begun again.
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.pragma_update(None, "synchronous", "off")?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
        make_tables(&connection)?;
        let mut indexes = connection.prepare(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
        )?;
        let found = indexes.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found = found.collect::<Result<Vec<(String, String)>, _>>()?;
        drop(indexes);
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for (name, _) in &found {
            connection.execute_batch(&format!("DROP INDEX \"{name}\""))?;
        }
        for table in tables {
            connection.execute_batch(&format!("DELETE FROM \"{}\"", table.name))?;
        }
        let insert = |table: &Table| {
            let values: Vec<_> = (1..=table.columns.len()).map(|at| format!("?{at}")).collect();
            let (columns, values) = (table.columns(), values.join(", "));
            format!("INSERT INTO \"{}\" ({columns}) VALUES ({values})", table.name)
        };
        let inserts = tables.iter().map(insert).collect();
        let indexes = found.into_iter().map(|(_, sql)| sql).collect();
        Ok(Self { connection, inserts, indexes })
    }

    /// Adds rows.
    pub(crate) fn add(&self, batch: &Batch) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(&self.inserts[batch.table])?;
        for row in &batch.rows {
            insert.execute(rusqlite::params_from_iter(row))?;
        }
        Ok(())
    }

    /// Ends a file whose store has issued numbers of documents up to `number`.
    pub(crate) fn finish(self, number: i64) -> Result<(), StoreError> {
        for index in &self.indexes {
            self.connection.execute_batch(index)?;
        }
        let high_water = "INSERT INTO high_water (name, id) VALUES ('doc', ?1)";
        self.connection.execute(high_water, [number])?;
        recent::fill_identities(&self.connection)?;
        recent::note_all_moved(&self.connection)?;
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

/// An archive that is read; nobody writes to it.
pub(crate) struct Reading(Connection);

impl Reading {
    /// Opens an archive with the newest tables.
    pub(crate) fn open(file: &Path) -> Result<Self, StoreError> {
        Ok(Self(open_existing(file, CACHE_KIB)?.0))
    }

    /// Returns how far the store had counted.
    pub(crate) fn counted(&self) -> Result<Counted, StoreError> {
        place::counted(&self.0)
    }

    /// Returns the moment at which the archive was made, in microseconds since 1970; 0 if it does
    /// not say.
    pub(crate) fn moment(&self) -> Result<i64, StoreError> {
        let moment = place::value(&self.0, COPIED)?;
        Ok(moment.and_then(|moment| moment.parse().ok()).unwrap_or(0))
    }

    /// Gives all rows of the tables, in order of their keys.
    pub(crate) fn each(
        &self,
        tables: &[Table],
        give: &mut dyn FnMut(Batch) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for (at, table) in tables.iter().enumerate() {
            let (columns, key) = (table.columns(), table.key());
            let text = format!("SELECT {columns} FROM \"{}\" ORDER BY {key}", table.name);
            let mut statement = self.0.prepare(&text)?;
            let mut rows = statement.query([])?;
            let mut batch = Batch::of(at);
            while let Some(row) = rows.next()? {
                let values =
                    (0..table.columns.len()).map(|column| value(table, row.get_ref(column)?));
                if batch.add(values.collect::<Result<_, _>>()?) {
                    give(std::mem::replace(&mut batch, Batch::of(at)))?;
                }
            }
            give(batch)?;
        }
        Ok(())
    }
}

/// Reads a value that the store has written; its tables have no fractions.
fn value(table: &Table, value: ValueRef<'_>) -> Result<crate::sql::Value, StoreError> {
    use crate::sql::Value;
    let damaged = || StoreError::Unusable(format!("a row of the table {} is damaged", table.name));
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Text(text) => {
            Value::Text(std::str::from_utf8(text).map_err(|_| damaged())?.to_owned())
        }
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        ValueRef::Real(_) => return Err(damaged()),
    })
}

/// Brings a copy of an archive up to date.
pub(crate) fn renew(file: &Path) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "journal_mode", "delete")?;
    bring_up_to_date(&connection, file)?;
    recent::complete(&connection)?;
    place::forget_seal(&connection)?;
    connection.close().map_err(|(_, error)| error.into())
}
