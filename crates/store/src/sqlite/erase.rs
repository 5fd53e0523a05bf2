//! Removes the bytes that deleted rows have left in the files.
//!
//! SQLite zeroes what is deleted within a page (`secure_delete=fast`), but pages that become free keep
//! their bytes until they are used again, and so does the write-ahead log. All free pages are therefore
//! filled with zeros, and the log is emptied.
//! Then what former pages have left between the rows of others is zeroed in the file.

use rusqlite::Connection;

use crate::error::StoreError;
use crate::sqlite::checkpoint;
use crate::sqlite::shared::Shared;

/// Pages that one transaction fills.
const PAGES_MAX: i64 = 16_384;
/// How often the writer tries to empty the log while readers use it, about a second in all; then it goes on,
/// and tries again after each transaction and while nothing comes.
const TRIES: u32 = 50;

/// Removes such bytes if somebody has asked for it, between two transactions of the writer.
pub(crate) fn serve(connection: &Connection, shared: &Shared) {
    let waiting = shared.erasures.take();
    if waiting.is_empty() {
        if shared.erasures.is_log_left() {
            checkpoint::empty(connection, shared);
        }
        return;
    }
    let done = fill(connection);
    if let Err(error) = &done {
        tracing::warn!(%error, "the bytes of deleted rows could not be removed");
    }
    shared.erasures.log_may_be_left();
    let is_empty = (0..TRIES).any(|_| checkpoint::empty(connection, shared));
    if !is_empty {
        tracing::info!("readers keep the write-ahead log; it is emptied when they have ended");
    }
    for one in waiting {
        _ = one.send(done.clone());
    }
}

/// Fills all free pages with zeros.
fn fill(connection: &Connection) -> Result<(), StoreError> {
    let number = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
    let page_bytes: i64 = number("page_size")?;
    connection.execute_batch("DROP TABLE IF EXISTS erasing")?;
    if number("freelist_count")? == 0 {
        return Ok(());
    }
    connection.execute_batch("CREATE TABLE erasing (bytes BLOB)")?;
    loop {
        let free: i64 = number("freelist_count")?;
        if free == 0 {
            break;
        }
        let bytes = value_of_pages(page_bytes, free.min(PAGES_MAX));
        connection.execute("INSERT INTO erasing (bytes) VALUES (zeroblob(?1))", [bytes])?;
    }
    // The pages are free again, and a page that is free is not written: what is in the file are zeros.
    connection.execute_batch("DROP TABLE erasing")?;
    Ok(())
}

/// Returns the bytes of a value that fills so many pages to their ends, besides the start of its row.
///
/// Source: SQLite database file format, §1.6 (payload that spills onto overflow pages), §2.1 (records).
fn value_of_pages(page_bytes: i64, pages: i64) -> i64 {
    // A page gives four bytes to the number of the next one.
    let row = (page_bytes - 12) * 32 / 255 - 23 + pages * (page_bytes - 4);
    // The row begins with the length of its header, in one byte, and that of the value: seven bits a byte.
    let length_bytes = |value: i64| (1..9).find(|bytes| (2 * value + 12) >> (7 * bytes) == 0);
    let fits = |bytes: &i64| length_bytes(row - 1 - bytes) == Some(*bytes);
    row - 1 - (1..9).find(fits).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Uuid;

    #[test]
    fn free_pages_are_filled_to_their_ends() {
        for page_bytes in [512, 4_096, 65_536] {
            let name = format!("homeroom-erase-{page_bytes}-{}", Uuid::new());
            let path = std::env::temp_dir().join(name);
            let connection = Connection::open(&path).unwrap();
            connection.pragma_update(None, "page_size", page_bytes).unwrap();
            connection.pragma_update(None, "secure_delete", "fast").unwrap();
            connection.execute_batch("CREATE TABLE a (b TEXT)").unwrap();
            let words = || {
                let bytes = std::fs::read(&path).unwrap();
                bytes.windows(8).filter(|window| *window == b"unwanted").count()
            };
            for count in [1, 70, 900, 9_000] {
                connection
                    .execute("INSERT INTO a VALUES (?1)", ["unwanted".repeat(count)])
                    .unwrap();
            }
            connection.execute_batch("DELETE FROM a").unwrap();
            assert!(words() > 0, "{page_bytes}: free pages keep their bytes");

            fill(&connection).unwrap();

            assert_eq!(words(), 0, "{page_bytes}");
            drop(connection);
            std::fs::remove_file(path).unwrap();
        }
    }
}
