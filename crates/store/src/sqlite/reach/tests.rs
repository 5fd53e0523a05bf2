//! What readers remember, at each moment of a commit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use rusqlite::hooks::Authorization;

use super::{ChangedTies, SharedTies};
use crate::id::{KindId, Uuid};
use crate::tie::{Start, Way};

const AT: KindId = KindId(1);
const ABOVE: KindId = KindId(2);

/// A file with ties, which is removed when the value is dropped.
struct File(PathBuf);

impl File {
    /// Makes persons 1 and 2, who are at the organization 10, and an organization 20.
    fn new() -> Self {
        let file = Self(std::env::temp_dir().join(format!("homeroom-ties-{}", Uuid::new())));
        std::fs::create_dir(&file.0).unwrap();
        let ties = "CREATE TABLE tie (label, item, holder);
             CREATE TABLE past_tie (label, item, holder);
             INSERT INTO tie VALUES (1, 1, 10), (1, 2, 10), (2, 10, 10), (2, 20, 20);";
        let connection = file.open();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(ties).unwrap();
        file
    }

    fn open(&self) -> Connection {
        Connection::open(self.0.join("ties.db")).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The writer, in the middle of a transaction or not.
struct Writer {
    connection: Connection,
    ties: Arc<SharedTies>,
}

impl Writer {
    /// Gives an item another holder, in a transaction that is about to be committed.
    fn change(&self, label: KindId, item: i64, holder: i64) {
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let text = "UPDATE tie SET holder = ?3 WHERE label = ?1 AND item = ?2";
        self.connection.execute(text, (label.0, item, holder)).unwrap();
        let mut changed = ChangedTies::default();
        changed.add(label, item);
        self.ties.forget(&changed);
    }

    /// Ends the transaction.
    fn end(&self, how: &str) {
        self.connection.execute_batch(how).unwrap();
        self.ties.settle();
    }
}

fn of_person(person: i64) -> (i64, Way) {
    (person, Way { steps: [AT].into(), up: ABOVE, past: false })
}

/// Looks up where a person's ways lead, on a connection whose snapshot may be older.
fn look(ties: &SharedTies, connection: &Connection, version: u64, person: i64) -> Vec<i64> {
    let (number, way) = of_person(person);
    let found = ties.look(connection, version, &[(Start::Number(number), way)]).unwrap();
    found[0].numbers.to_vec()
}

/// Begins and looks up.
fn look_now(ties: &SharedTies, connection: &Connection, person: i64) -> Vec<i64> {
    let (number, way) = of_person(person);
    let version = ties.begin(&[(Start::Number(number), way)]);
    look(ties, connection, version, person)
}

fn all() -> (File, Arc<SharedTies>, Writer, Connection) {
    let (file, ties) = (File::new(), Arc::<SharedTies>::default());
    let writer = Writer { connection: file.open(), ties: Arc::clone(&ties) };
    let reader = file.open();
    (file, ties, writer, reader)
}

#[test]
fn a_document_is_judged_by_the_ties_of_its_state_at_each_moment_of_a_commit() {
    let (_file, ties, writer, reader) = all();
    let leads = |version, person, to| ties.all_lead(version, &[of_person(person)], &[to]);
    let before = ties.version();
    assert_eq!(leads(before, 1, 10), None);
    assert_eq!([1, 2].map(|person| look_now(&ties, &reader, person)), [[10], [10]]);
    assert_eq!((leads(before, 1, 10), leads(before, 1, 20)), (Some(true), Some(false)));

    writer.change(AT, 1, 20);

    // The commit may be visible at any moment now.
    let during = ties.version();
    assert_eq!((leads(before, 1, 10), leads(before, 2, 10)), (None, None));
    assert_eq!((leads(during, 1, 10), leads(during, 1, 20)), (None, None));
    assert_eq!(leads(during, 2, 10), Some(true), "the transaction does not change it");
    assert_eq!(look_now(&ties, &reader, 1), [10]);
    assert_eq!(leads(during, 1, 10), None, "it is not remembered");

    writer.connection.execute_batch("COMMIT").unwrap();

    assert_eq!(look_now(&ties, &reader, 1), [20]);
    assert_eq!((leads(during, 1, 10), leads(during, 1, 20)), (None, None));

    ties.settle();

    let after = ties.version();
    assert_eq!(leads(after, 1, 20), None, "it was found before all readers saw the commit");
    assert_eq!(look_now(&ties, &reader, 1), [20]);
    assert_eq!((leads(after, 1, 10), leads(after, 1, 20)), (Some(false), Some(true)));
    assert_eq!((leads(before, 1, 10), leads(during, 2, 10)), (None, None));
    assert_eq!(leads(after, 2, 10), Some(true), "it is still remembered");
}

#[test]
fn what_a_lost_transaction_has_changed_is_looked_up_again() {
    let (_file, ties, writer, reader) = all();
    look_now(&ties, &reader, 1);
    let before = ties.version();

    writer.change(AT, 1, 20);
    assert_eq!(look_now(&ties, &reader, 1), [10]);
    writer.end("ROLLBACK");

    let after = ties.version();
    assert_ne!(before, after);
    assert_eq!(ties.all_lead(after, &[of_person(1)], &[10]), None);
    assert_eq!(look_now(&ties, &reader, 1), [10]);
    assert_eq!(ties.all_lead(after, &[of_person(1)], &[10]), Some(true));
}

#[test]
fn a_look_in_an_older_snapshot_takes_nothing_from_newer_memory() {
    let (file, ties, writer, reader) = all();
    let version = ties.begin(&[(Start::Number(1), of_person(1).1)]);
    reader.execute_batch("BEGIN; SELECT * FROM tie").unwrap();
    writer.change(AT, 1, 20);
    writer.end("COMMIT");
    writer.change(ABOVE, 10, 20);
    writer.end("COMMIT");
    assert_eq!(look_now(&ties, &file.open(), 2), [20]);

    // The person left the organization before it came below the other one.
    assert_eq!(look(&ties, &reader, version, 1), [10]);

    assert_eq!(ties.all_lead(ties.version(), &[of_person(1)], &[10]), None);
    assert_eq!(ties.all_lead(ties.version(), &[of_person(2)], &[20]), Some(true));
}

#[test]
fn a_look_that_began_with_older_memory_asks_its_newer_snapshot_again() {
    let (file, ties, writer, _) = all();
    look_now(&ties, &file.open(), 1);
    // Changes that forget climbs leave what is known of the person.
    writer.change(ABOVE, 20, 20);
    writer.end("COMMIT");
    let mut reader = file.open();
    let is_done = AtomicBool::new(false);
    // The first statement is prepared after the person's holders were taken from memory, and before the snapshot.
    let change = move |_: rusqlite::hooks::AuthContext<'_>| {
        if !is_done.swap(true, Ordering::Relaxed) {
            writer.change(AT, 1, 20);
            writer.end("COMMIT");
            writer.connection.execute_batch("INSERT INTO tie VALUES (2, 10, 30)").unwrap();
            writer.change(ABOVE, 10, 30);
            writer.end("COMMIT");
        }
        Authorization::Allow
    };
    reader.execute_batch("BEGIN").unwrap();
    reader.authorizer(Some(change)).unwrap();

    assert_eq!(look_now(&ties, &reader, 1), [20]);

    assert_eq!(ties.all_lead(ties.version(), &[of_person(1)], &[20]), None);
}

#[test]
fn memory_is_kept_as_long_as_readers_ask() {
    let (_file, ties, writer, reader) = all();
    for person in 3..20_000 {
        look_now(&ties, &reader, person);
    }
    let version = ties.version();
    look_now(&ties, &reader, 1);
    let is_known = || ties.all_lead(version, &[of_person(1)], &[10]) == Some(true);

    assert!(!ties.shrink() && is_known());
    assert!(!ties.shrink() && is_known());
    assert!(!ties.shrink());
    assert!(ties.shrink());

    assert!(!is_known());
    writer.change(AT, 1, 20);
    writer.end("COMMIT");
    assert_eq!(look_now(&ties, &reader, 1), [20]);
}
