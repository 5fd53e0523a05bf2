//! The writer's page cache, which is small as long as the file is.
//!
//! Where SQLite divides a page between two others, it puts their numbers in order, and for a moment one of them has
//! the number of the page with the lock bytes, 1 GiB from the start of a file. At the end of a transaction it drops the
//! pages beyond the end of the file from its cache: if it has ever seen so high a number, it looks through all of the
//! cache for them. In a file that ends before the lock bytes nearly every transaction that adds rows amid others costs
//! that: with 128 MiB of pages up to a fifth of the writer's time. In a larger file no number is beyond the end.
//!
//! Source: SQLite file format, section 1.4 (the lock-byte page).

use rusqlite::Connection;

/// Where the lock bytes are in a file.
const LOCK_BYTES: i64 = 1 << 30;
/// The cache of a file that ends before them, in KiB: edges and identities reach their tables in order, so few pages
/// are used again.
const SMALL_KIB: u32 = 8_192;

/// The size of the writer's page cache.
pub(super) struct PageCache {
    kib_max: u32,
    page_bytes: i64,
    is_whole: bool,
}

impl PageCache {
    /// Gives a connection a cache that suits its file, of at most so many KiB.
    pub(super) fn of(connection: &Connection, kib_max: u32) -> rusqlite::Result<Self> {
        let page_bytes = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let mut cache = Self { kib_max, page_bytes, is_whole: false };
        connection.pragma_update(None, "cache_size", -i64::from(SMALL_KIB.min(kib_max)))?;
        cache.grow(connection)?;
        Ok(cache)
    }

    /// Makes the cache as large as it may be, once the file does not end before its lock bytes.
    pub(super) fn grow(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.is_whole {
            return Ok(());
        }
        let pages = connection.prepare_cached("PRAGMA page_count")?.query_row([], |row| row.get(0));
        if has_lock_bytes(pages?, self.page_bytes) {
            connection.pragma_update(None, "cache_size", -i64::from(self.kib_max))?;
            self.is_whole = true;
        }
        Ok(())
    }
}

/// Returns whether the page with the lock bytes is not beyond the end of a file.
fn has_lock_bytes(pages: i64, page_bytes: i64) -> bool {
    pages > LOCK_BYTES / page_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kib(connection: &Connection) -> i64 {
        connection.query_row("PRAGMA cache_size", [], |row| row.get::<_, i64>(0)).unwrap()
    }

    #[test]
    fn a_file_has_lock_bytes_from_the_first_page_after_a_gibibyte_on() {
        for page_bytes in [512, 4_096, 65_536] {
            let pages = LOCK_BYTES / page_bytes;

            assert!(!has_lock_bytes(pages, page_bytes));
            assert!(has_lock_bytes(pages + 1, page_bytes));
        }
    }

    #[test]
    fn the_cache_of_a_small_file_is_small_until_the_file_is_large_and_never_more_than_may_be() {
        for (kib_max, small) in [(131_072, SMALL_KIB), (2_048, 2_048)] {
            let connection = Connection::open_in_memory().unwrap();

            let mut cache = PageCache::of(&connection, kib_max).unwrap();
            cache.grow(&connection).unwrap();
            assert_eq!(kib(&connection), -i64::from(small));
            // As if its pages were as large.
            cache.page_bytes = LOCK_BYTES;
            connection.execute_batch("CREATE TABLE t (a); CREATE TABLE u (a)").unwrap();
            cache.grow(&connection).unwrap();

            assert_eq!(kib(&connection), -i64::from(kib_max));
        }
    }
}
