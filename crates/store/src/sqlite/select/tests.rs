//! Which indexes the statements use, and what lists of many documents return.

use std::cell::RefCell;
use std::ops::Range;

use rusqlite::StatementStatus;

use super::*;
use crate::condition::Condition;
use crate::id::KindId;
use crate::list::{Bounds, Leads, MarkTest};
use crate::select::Driver;
use crate::sqlite::open::open_file;
use crate::tie::Way;
use crate::{NaturalKey, Store};

/// Returns the steps of a statement's plan.
fn steps(statement: &Statement) -> Vec<String> {
    let store = Store::temporary(&[]).unwrap();
    let connection = store.shared().file.open_reader().unwrap();
    let text = format!("EXPLAIN QUERY PLAN {}", statement.text);
    let mut explain = connection.prepare(&text).unwrap();
    let arguments = params_from_iter(&statement.arguments);
    explain.query_map(arguments, |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn query() -> ListQuery {
    ListQuery { after: DocumentId(7), ..ListQuery::all(KindId(1)) }
}

fn text_condition() -> Condition {
    Condition::Text { paths: vec!["$.a".into()], value: "x".into(), fold: false }
}

const BODIES: &str = "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)";
const SORT: &str = "USE TEMP B-TREE FOR ORDER BY";

#[test]
fn a_plain_page_scans_ids_in_the_index_and_reads_only_its_own_bodies() {
    let steps = steps(&Statement::page(Dialect::Sqlite, &query(), Driver::Creation));

    assert_eq!(steps[1], "SEARCH d USING COVERING INDEX doc_kind_id (kind=? AND id>?)");
    assert_eq!(steps[3], BODIES, "{steps:?}");
    assert!(!steps.iter().any(|step| step == SORT), "{steps:?}");
}

#[test]
fn a_change_window_sorts_index_ids_without_reading_bodies() {
    let query = ListQuery { changed: Some((3, 9)), ..query() };

    let page = steps(&Statement::page(Dialect::Sqlite, &query, Driver::Changes));
    let count = steps(&Statement::count(Dialect::Sqlite, &query, Driver::Changes));

    let search = "SEARCH d USING COVERING INDEX doc_kind_cv (kind=? AND cv>? AND cv<?)";
    assert_eq!(page, ["CO-ROUTINE p", search, SORT, "SCAN p", BODIES]);
    assert_eq!(count, [search]);
}

#[test]
fn referrers_are_skipped_and_counted_without_reading_documents() {
    let targets = vec![DocumentId(3), DocumentId(4)];
    let query = ListQuery { targets, ..query() };
    let driver = Driver::Referrers(DocumentId(3));

    let page = steps(&Statement::page(Dialect::Sqlite, &query, driver));
    let count = steps(&Statement::count(Dialect::Sqlite, &query, driver));

    let search = "SEARCH r USING PRIMARY KEY (target=? AND kind=? AND source>?)";
    let other = "SEARCH o USING PRIMARY KEY (target=? AND kind=? AND source=?)";
    let place = |wanted: &str| page.iter().position(|step| step == wanted);
    // Those in the table are in order; those in memory, few, are sorted and merged with them.
    assert_eq!((&page[1][..], &page[2][..], &page[3][..]), ("MERGE (UNION ALL)", "LEFT", search));
    assert!(place(SORT) > place("RIGHT") && place("RIGHT").is_some(), "{page:?}");
    assert_eq!(page.iter().filter(|step| *step == SORT).count(), 1, "{page:?}");
    assert!(place(other).is_some() && page.last().unwrap() == BODIES, "{page:?}");
    assert!(count.iter().any(|step| step == search), "{count:?}");
    assert!(count.iter().all(|step| !step.contains("SEARCH d")), "{count:?}");
}

#[test]
fn an_identity_condition_uses_its_index_beside_other_conditions() {
    let key = Condition::Key(NaturalKey([1; 16]));
    let conditions = vec![text_condition(), key];
    let query = ListQuery { conditions, changed: Some((1, 2)), ..query() };

    let steps = steps(&Statement::page(Dialect::Sqlite, &query, Driver::Identity));

    assert_eq!(steps[1], "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)");
    let search = "SEARCH identity USING PRIMARY KEY (key=?)";
    assert!(steps.iter().any(|step| step == search), "{steps:?}");
}

#[test]
fn a_deep_offset_is_found_by_stored_counts_and_ids_alone() {
    let blocks = "SELECT block, n FROM tally WHERE kind = 1 ORDER BY block";
    let ids = "SELECT id FROM doc INDEXED BY doc_kind_id
               WHERE kind = 1 AND id > 5 ORDER BY id LIMIT 1 OFFSET 9";
    let plain = |text: &str| steps(&Statement { text: text.into(), arguments: vec![] });

    assert_eq!(plain(blocks), ["SEARCH tally USING PRIMARY KEY (kind=?)"]);
    assert_eq!(plain(ids), ["SEARCH doc USING COVERING INDEX doc_kind_id (kind=? AND id>?)"]);
}

/// Creates a store with `n` documents of kind 1, given SQL expressions of their change version and
/// body.
fn filled(n: i64, change_version: &str, body: &str) -> (Store, Connection) {
    let store = Store::temporary(&[]).unwrap();
    let connection = Connection::open(&store.shared().file.path).unwrap();
    connection
        .execute_batch(&format!(
            "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < {n})
             INSERT INTO doc SELECT id, randomblob(16), 1, randomblob(16), {change_version}, 0, x'', {body} FROM n"
        ))
        .unwrap();
    (store, connection)
}

#[test]
fn large_windows_give_the_same_pages_wherever_their_documents_begin() {
    // The first 12,000 documents were changed last, so the window's documents begin beyond a
    // bounded walk.
    let (_store, connection) = filled(36_000, "(id + 24000) % 36000", "'{}'");
    for window in [(24_001, i64::MAX), (0, 23_999), (0, 35_000), (9, 30)] {
        for (after, skip) in [(0, 0), (0, 7), (20, 3), (0, 15_000), (30_000, 0)] {
            let after = DocumentId(after);
            let query = ListQuery { changed: Some(window), after, skip, limit: 40, ..query() };
            let is_in = |id: i64| (window.0..=window.1).contains(&((id + 24_000) % 36_000));
            let all = (after.0 + 1..=36_000).filter(|id| is_in(*id)).map(DocumentId);

            let page = list(&connection, &query).unwrap();
            let number = count(&connection, &query).unwrap();

            let ids: Vec<_> = page.rows.iter().map(|row| row.id).collect();
            let skip = usize::try_from(skip).unwrap();
            let wanted: Vec<_> = all.clone().skip(skip).take(40).collect();
            assert_eq!(ids, wanted, "{window:?} {after:?} {skip}");
            assert_eq!(number, all.count() as u64, "{window:?} {after:?}");
        }
    }
}

#[test]
fn a_page_is_complete_or_refused() {
    let (_store, connection) = filled(7, "id", "printf('%.*c', 10 << 20, 'x')");
    let query = |limit| ListQuery { limit, ..ListQuery::all(KindId(1)) };

    let held = list(&connection, &query(6)).unwrap();
    let refused = list(&connection, &query(7));

    assert_eq!(held.rows.len(), 6);
    let Err(StoreError::TooLarge { bytes_max, fits }) = refused else { panic!("{refused:?}") };
    assert_eq!((bytes_max, fits), (64 << 20, 6));
}

/// A file that records what was read from it: for each statement, `documents` or `heads`, and how many.
struct Told<'a>(File<'a>, RefCell<Vec<(&'static str, usize)>>);

impl Source for Told<'_> {
    type Error = StoreError;

    const DIALECT: Dialect = Dialect::Sqlite;

    const ENDS_EARLY: bool = File::ENDS_EARLY;

    async fn documents(&self, sql: &Statement, bytes: &mut Bytes) -> Result<Vec<Row>, StoreError> {
        let rows = self.0.documents(sql, bytes).await?;
        self.1.borrow_mut().push(("documents", rows.len()));
        Ok(rows)
    }

    async fn heads(&self, sql: &Statement) -> Result<Vec<Head>, StoreError> {
        let heads = self.0.heads(sql).await?;
        self.1.borrow_mut().push(("heads", heads.len()));
        Ok(heads)
    }

    async fn numbers(&self, sql: &Statement) -> Result<Vec<Vec<i64>>, StoreError> {
        self.0.numbers(sql).await
    }
}

#[test]
fn a_bounded_page_reads_each_document_once_as_long_as_nearly_all_pass() {
    let (_store, connection) = filled(2_000, "id", "'{}'");
    connection.execute_batch("BEGIN").unwrap();
    for id in 1..=2_000_i64 {
        let marks = vec![Some(id % 1_000), Some(id % 10)];
        let packed = References { marks, ..References::default() }.pack();
        connection.execute("UPDATE doc SET refs = ?1 WHERE id = ?2", (packed, id)).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    let read = |mark, numbers: Range<i64>, skip, limit| {
        let test = MarkTest::OneOf { mark, numbers: numbers.collect::<Vec<_>>().into() };
        let bounds = Bounds(vec![vec![vec![test]]]);
        let query = ListQuery { bounds, skip, limit, ..ListQuery::all(KindId(1)) };
        let told = Told(File(&connection), RefCell::default());
        let page = at_once(select::list(&told, &query)).unwrap();
        let ids: Vec<i64> = page.rows.iter().map(|row| row.id.0).collect();
        (ids.len(), ids.first().copied().unwrap_or(0), told.1.into_inner())
    };

    // All pass, nine of ten, and one of ten.
    assert_eq!(read(0, 0..1_000, 0, 500), (500, 1, vec![("documents", 500)]));
    assert_eq!(read(0, 0..1_000, 0, 4), (4, 1, vec![("documents", 4)]));
    let few = vec![("documents", 10), ("documents", 16)];
    assert_eq!(read(1, 1..10, 0, 10), (10, 1, few));
    let twice = vec![("documents", 500), ("documents", 61)];
    assert_eq!(read(1, 0..9, 0, 500), (500, 1, twice));
    let by_marks = vec![("documents", 100), ("heads", 990), ("documents", 90)];
    assert_eq!(read(1, 0..1, 0, 100), (100, 10, by_marks));
    // What comes before the page is not read, and the page itself once.
    let behind = vec![("heads", 330), ("documents", 70), ("documents", 30)];
    assert_eq!(read(0, 0..1_000, 300, 100), (100, 301, behind));
}

#[test]
fn a_bounded_page_of_few_that_meet_a_condition_takes_few_statements() {
    let body = "iif(id % 500 = 0, '{\"a\":\"x\"}', '{}')";
    let (store, connection) = filled(20_000, "id", body);
    let marks = References { marks: vec![Some(100)], ..References::default() }.pack();
    connection.execute("UPDATE doc SET refs = ?1", [marks]).unwrap();
    // All refer to the first document, which is organization 100.
    let edges = "INSERT INTO tie VALUES (7, 100, 100, 1); INSERT INTO ref SELECT 1, 1, id FROM doc";
    connection.execute_batch(edges).unwrap();
    let way = Way { steps: [].into(), up: KindId(7), past: false };
    let test =
        MarkTest::Reaches { mark: 0, way, numbers: vec![100].into(), leads: Leads::Reference };
    let bounds = Bounds(vec![vec![vec![test]]]);
    let conditions = vec![text_condition()];
    let query = ListQuery { bounds, conditions, limit: 25, ..ListQuery::all(KindId(1)) };
    let reader = store.shared().file.open_reader().unwrap();
    let told = Told(File(&reader), RefCell::default());

    let page = at_once(select::list(&told, &query)).unwrap();

    let ids: Vec<i64> = page.rows.iter().map(|row| row.id.0).collect();
    assert_eq!(ids, (1..=25).map(|n| n * 500).collect::<Vec<_>>());
    // Not one for each few candidates: the share of those that pass is learned.
    assert!(told.1.borrow().len() <= 25, "{:?}", told.1);
}

#[test]
fn a_page_that_does_not_fit_tells_how_many_of_its_first_do_however_they_were_read() {
    let size = "printf('%.*c', iif(id <= 330, 100, 900) << 10, 'x')";
    let (_store, connection) = filled(400, "id", size);
    let marks = References { marks: vec![Some(1)], ..References::default() }.pack();
    connection.execute("UPDATE doc SET refs = ?1", [marks]).unwrap();
    let test = MarkTest::OneOf { mark: 0, numbers: vec![1].into() };
    let bounds = Bounds(vec![vec![vec![test]]]);
    let query =
        |limit| ListQuery { bounds: bounds.clone(), skip: 300, limit, ..ListQuery::all(KindId(1)) };

    let refused = list(&connection, &query(100));
    let held = list(&connection, &query(99));

    // 30 of 100 KiB and 70 of 900 KiB, with marks of 12 bytes: 99 are smaller than 64 MiB.
    let Err(StoreError::TooLarge { fits, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((fits, held.unwrap().rows.len()), (99, 99));
}

#[test]
fn a_statement_is_prepared_once_whatever_its_limit_is() {
    let store = Store::temporary(&[]).unwrap();
    let connection = store.shared().file.open_reader().unwrap();
    for limit in [1, 25, 500] {
        let query = ListQuery { limit, ..query() };
        list(&connection, &query).unwrap();
        let sql = Statement::page(Dialect::Sqlite, &query, Driver::Creation).text;

        let used = connection.prepare_cached(&sql).unwrap();

        assert!(used.get_status(StatementStatus::Run) > 0, "{sql}");
        assert_eq!(used.get_status(StatementStatus::RePrepare), 0, "{limit}: {sql}");
    }
}

#[test]
fn the_writer_prepares_a_statement_once_whatever_its_limit_is() {
    let file = std::env::temp_dir().join(format!("homeroom-plans-{}", crate::id::Uuid::new()));
    let (lock, writer) = open_file(&file, 4_096, 1_024).unwrap();
    for limit in [1, 25] {
        let sql = "SELECT id FROM doc ORDER BY id LIMIT ?1";
        let mut statement = writer.prepare_cached(sql).unwrap();
        statement.exists([limit]).unwrap();

        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{limit}");
    }
    drop((writer, lock));
    for ending in ["", "-wal", "-shm", ".lock"] {
        _ = std::fs::remove_file(format!("{}{ending}", file.display()));
    }
}
