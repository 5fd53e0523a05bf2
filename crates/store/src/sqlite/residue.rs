//! Bytes of former pages between the rows of those that took their place.
//!
//! A page that is freed and taken again within one transaction, such as a part of a long value that becomes
//! the page of a table which grows, keeps what stood between its new list of cells and its first cell:
//! `secure_delete=fast` does not look there. Nothing reads those bytes, so they can be zeroed in the file, as
//! long as the log is empty and the writer has no copy of a page in memory that it would write again.
//!
//! Source: SQLite database file format, §1.3 (header), §1.6 (b-tree pages); `balance_deeper` of SQLite 3.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

/// Pages that are read at once.
const PAGES_AT_ONCE: usize = 256;
/// Number of pages from which the first byte of an overflow page, which is the highest of a page's
/// number, could be that of a b-tree page.
const PAGES_MAX: u64 = 0x0200_0000;
/// Bytes of the file's header, after which its first page begins.
const HEADER_BYTES: usize = 100;

/// Zeroes such bytes in a store's file. Returns the number of pages that had some.
///
/// # Errors
///
/// Those of the file; [`io::ErrorKind::Unsupported`] for a file of more than 2^25 pages.
pub(crate) fn clear(file: &File) -> io::Result<u64> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    let page_bytes = match number(&header, 16) {
        1 => 65_536,
        bytes => bytes,
    };
    let usable = page_bytes.saturating_sub(usize::from(header[20]));
    let Some(pages) = file.metadata()?.len().checked_div(page_bytes as u64) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if pages >= PAGES_MAX {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let zeros = vec![0; page_bytes];
    let mut buffer = vec![0; page_bytes * PAGES_AT_ONCE];
    let (mut page, mut cleared) = (0_u64, 0);
    while page < pages {
        let count = usize::try_from(pages - page).unwrap_or(PAGES_AT_ONCE).min(PAGES_AT_ONCE);
        let read = &mut buffer[..count * page_bytes];
        file.read_exact_at(read, page * page_bytes as u64)?;
        for one in read.chunks_exact(page_bytes) {
            let start = if page == 0 { HEADER_BYTES } else { 0 };
            if let Some(gap) = gap(&one[..usable], start)
                && one[gap.clone()].iter().any(|byte| *byte != 0)
            {
                let at = page * page_bytes as u64 + gap.start as u64;
                file.write_all_at(&zeros[..gap.len()], at)?;
                cleared += 1;
            }
            page += 1;
        }
    }
    if cleared > 0 {
        file.sync_data()?;
    }
    Ok(cleared)
}

/// Returns where a b-tree page has neither a list of cells nor cells; [`None`] for other pages. `start` is
/// where its header begins.
fn gap(page: &[u8], start: usize) -> Option<Range<usize>> {
    let header_bytes = match page.get(start)? {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    page.get(start + header_bytes - 1)?;
    let (free, cells) = (number(page, start + 1), number(page, start + 3));
    let content = match number(page, start + 5) {
        0 => 65_536,
        content => content,
    };
    let list = start + header_bytes..start + header_bytes + 2 * cells;
    let is_page = list.end <= content
        && content <= page.len()
        && (free == 0 || (content..page.len()).contains(&free))
        && list.clone().step_by(2).all(|at| (content..page.len()).contains(&number(page, at)));
    is_page.then_some(list.end..content)
}

/// Reads two bytes of a page.
fn number(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::id::Uuid;

    /// Frees the pages of a long value, and takes them again for a table that grows.
    fn fill(connection: &Connection, page_bytes: usize) {
        connection.execute_batch("CREATE TABLE a (b TEXT); CREATE TABLE c (b TEXT)").unwrap();
        connection.execute("INSERT INTO a VALUES (?1)", ["unwanted ".repeat(page_bytes)]).unwrap();
        connection.execute_batch("BEGIN; DELETE FROM a").unwrap();
        for _ in 0..60 {
            let row = "needed ".repeat(page_bytes / 100);
            connection.execute("INSERT INTO c VALUES (?1)", [row]).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }

    #[test]
    fn what_former_pages_have_left_is_zeroed_and_the_store_is_whole() {
        for page_bytes in [512, 4_096, 65_536] {
            let path = std::env::temp_dir().join(format!("homeroom-residue-{}", Uuid::new()));
            let file =
                File::options().create(true).truncate(false).read(true).write(true).open(&path);
            let file = file.unwrap();
            let connection = Connection::open(&path).unwrap();
            let bytes = i64::try_from(page_bytes).unwrap();
            connection.pragma_update(None, "page_size", bytes).unwrap();
            connection.pragma_update(None, "secure_delete", "fast").unwrap();
            fill(&connection, page_bytes);
            let rows = |connection: &Connection| -> Vec<String> {
                let mut ask = connection.prepare("SELECT b FROM c ORDER BY rowid").unwrap();
                ask.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
            };
            let before = rows(&connection);
            // Free pages are left out: another step zeroes them.
            connection.execute_batch("PRAGMA shrink_memory").unwrap();
            let used = |bytes: &[u8]| {
                let pages = bytes.chunks_exact(page_bytes).enumerate().skip(1);
                let gaps = pages.filter_map(|(_, page)| Some(&page[gap(page, 0)?]));
                gaps.filter(|gap| gap.windows(8).any(|word| word == b"unwanted")).count()
            };

            assert!(used(&std::fs::read(&path).unwrap()) > 0, "{page_bytes}: there is something");

            let cleared = clear(&file).unwrap();

            assert_eq!(used(&std::fs::read(&path).unwrap()), 0, "{page_bytes}");
            assert_eq!(clear(&file).unwrap(), 0, "{page_bytes}: {cleared} pages were cleared");
            let again = Connection::open(&path).unwrap();
            assert_eq!(rows(&again), before, "{page_bytes}");
            let is_whole: String =
                again.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(is_whole, "ok");
            drop((again, connection, file));
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn only_pages_of_rows_have_a_gap() {
        let mut page = vec![7_u8; 512];
        assert_eq!(gap(&page, 0), None, "an overflow page");
        page[..8].copy_from_slice(&[13, 0, 0, 0, 1, 1, 0, 0]);
        page[8..10].copy_from_slice(&300_u16.to_be_bytes());
        assert_eq!(gap(&page, 0), Some(10..256));
        page[8..10].copy_from_slice(&200_u16.to_be_bytes());
        assert_eq!(gap(&page, 0), None, "a cell before the first cell");
        page[3..5].copy_from_slice(&u16::MAX.to_be_bytes());
        assert_eq!(gap(&page, 0), None);
        assert_eq!(gap(&page[..4], 0), None);
    }
}
