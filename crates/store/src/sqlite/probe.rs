//! Reads of one index entry, executed immediately on the calling thread's own connection.
//!
//! Beginning a read costs SQLite two locks of the file, which all threads share; that is more than
//! the read itself. So a connection stays in its read transaction as long as nothing was committed
//! since. A checkpoint that needs the log to be free ends that transaction from outside.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::row::Row;
use crate::sqlite::file::HeldFile;
use crate::sqlite::recent::{Reading, commit_seen, number_of_key};

/// Most stores that a thread remembers; a thread outlives the stores that tests open in turn.
const REMEMBERED_MAX: usize = 4;

thread_local! {
    static OWN: RefCell<Vec<(u64, Arc<Mutex<Probe>>)>> = const { RefCell::new(vec![]) };
}

/// A store's connections for probes, and which of its states they may show.
pub(crate) struct Probes {
    all: Mutex<Vec<Arc<Mutex<Probe>>>>,
    /// Open connections that no thread has taken yet.
    spare: Mutex<Vec<Connection>>,
    /// Transactions committed since the store was opened.
    commits: AtomicU64,
    /// Whether transactions may stay open between two reads.
    may_stay: AtomicBool,
}

/// A thread's connection.
struct Probe {
    /// [`None`] once the store is closed, or when it became unusable.
    connection: Option<Connection>,
    /// The number of commits when the open transaction began, and the read that it is.
    seen: Option<(u64, Reading)>,
}

impl Probes {
    pub(crate) fn new() -> Self {
        let (all, spare) = (Mutex::default(), Mutex::default());
        Self { all, spare, commits: AtomicU64::new(0), may_stay: AtomicBool::new(true) }
    }

    /// Opens connections for future threads, so that none later fails because no file descriptors
    /// are left.
    pub(crate) fn provide(&self, file: &HeldFile, count: usize) -> Result<(), StoreError> {
        let open = |_| file.open_reader();
        let opened = (0..count).map(open).collect::<Result<Vec<_>, _>>()?;
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).extend(opened);
        Ok(())
    }

    /// Runs `probe` on this thread's connection to the store.
    pub(crate) fn on_this_thread<T>(
        &self,
        file: &HeldFile,
        probe: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.on_own(file, |own| own.look(self, file, probe))
    }

    /// Does the same in a transaction that begins now, and so shows what any other has shown before.
    pub(crate) fn anew_on_this_thread<T>(
        &self,
        file: &HeldFile,
        probe: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.on_own(file, |own| {
            own.end();
            own.look(self, file, probe)
        })
    }

    fn on_own<T>(
        &self,
        file: &HeldFile,
        look: impl FnOnce(&mut Probe) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if file.is_closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        OWN.with_borrow_mut(|own| {
            let at = match own.iter().position(|(number, _)| *number == file.number) {
                Some(at) => at,
                None => {
                    if own.len() >= REMEMBERED_MAX {
                        own.clear();
                    }
                    own.push((file.number, self.open(file)?));
                    own.len() - 1
                }
            };
            look(&mut own[at].1.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// Records a commit: later reads show it.
    pub(crate) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
    }

    /// Ends transactions that show an older state, so that the log can be copied back.
    pub(crate) fn end_stale(&self) {
        let commits = self.commits.load(Ordering::Acquire);
        self.each(|probe| {
            if probe.seen.as_ref().is_some_and(|(seen, _)| *seen != commits) {
                probe.end();
            }
        });
    }

    /// Runs a function while no transaction stays open between two reads.
    pub(crate) fn while_ended<T>(&self, run: impl FnOnce() -> T) -> T {
        self.may_stay.store(false, Ordering::SeqCst);
        self.each(Probe::end);
        let done = run();
        self.may_stay.store(true, Ordering::SeqCst);
        done
    }

    /// Closes all connections.
    pub(crate) fn close(&self) {
        self.each(|probe| {
            probe.end();
            drop(probe.connection.take());
        });
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn each(&self, run: impl Fn(&mut Probe)) {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for probe in all {
            run(&mut probe.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn open(&self, file: &HeldFile) -> Result<Arc<Mutex<Probe>>, StoreError> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match spare {
            Some(spare) => Some(spare),
            None => Some(file.open_reader()?),
        };
        let probe = Arc::new(Mutex::new(Probe { connection, seen: None }));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops connections that no thread remembers any more.
        all.retain(|probe| Arc::strong_count(probe) > 1);
        if file.is_closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        all.push(Arc::clone(&probe));
        Ok(probe)
    }
}

impl Probe {
    fn look<T>(
        &mut self,
        probes: &Probes,
        file: &HeldFile,
        look: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let commits = probes.commits.load(Ordering::Acquire);
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != commits) {
            self.end();
            let reading = file.recent.enter();
            let connection = opened(&mut self.connection, file)?;
            // All statements of a look see one state, so it has a transaction even where that may not stay.
            connection.prepare_cached("BEGIN")?.execute([])?;
            self.seen = Some((commits, reading));
            let found = look(connection);
            if found.is_err() || !probes.may_stay.load(Ordering::SeqCst) {
                self.end();
            }
            return found;
        }
        look(opened(&mut self.connection, file)?)
    }

    fn end(&mut self) {
        let Some(connection) = self.connection.as_ref() else { return };
        let Some((_, reading)) = self.seen.take() else { return };
        let ended = connection.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
        if ended.is_err() && !connection.is_autocommit() {
            // A connection that cannot end its transaction would show an old state forever.
            tracing::error!("a read transaction could not be ended");
            self.connection = None;
        }
        drop(reading);
    }
}

/// Returns the connection, or a new one if it became unusable.
fn opened<'a>(
    connection: &'a mut Option<Connection>,
    file: &HeldFile,
) -> Result<&'a Connection, StoreError> {
    let opened = match connection.take() {
        Some(opened) => opened,
        None if file.is_closed.load(Ordering::Acquire) => return Err(StoreError::Closed),
        None => file.open_reader()?,
    };
    Ok(connection.insert(opened))
}

/// Reads a document from [`crate::row::COLUMNS`].
pub(crate) fn document(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        id: DocumentId(row.get(0)?),
        uuid: Uuid(row.get(1)?),
        kind: KindId(row.get(2)?),
        key: NaturalKey(row.get(3)?),
        change_version: row.get(4)?,
        modified: row.get(5)?,
        references: row.get(6)?,
        body: row.get(7)?,
    })
}

pub(crate) fn by_uuid(connection: &Connection, uuid: Uuid) -> Result<Option<Row>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE uuid = ?1",
    )?;
    Ok(statement.query_row([uuid.0], document).optional()?)
}

pub(crate) fn by_key(connection: &Connection, key: NaturalKey) -> Result<Option<Row>, StoreError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE id = ",
        number_of_key!("?1")
    ))?;
    Ok(statement.query_row([key.0], document).optional()?)
}

/// Finds the document that has an identity, as its own or as an abstract base's.
pub(crate) fn target(
    connection: &Connection,
    key: NaturalKey,
) -> Result<Option<(DocumentId, Uuid, KindId)>, StoreError> {
    let read =
        |row: &SqlRow<'_>| Ok((DocumentId(row.get(0)?), Uuid(row.get(1)?), KindId(row.get(2)?)));
    let mut own = connection.prepare_cached(concat!(
        "SELECT id, uuid, kind FROM doc WHERE id = ",
        number_of_key!("?1")
    ))?;
    if let Some(found) = own.query_row([key.0], read).optional()? {
        return Ok(Some(found));
    }
    let mut base = connection.prepare_cached(
        "SELECT d.id, d.uuid, d.kind FROM alias a JOIN doc d ON d.id = a.id WHERE a.key = ?1",
    )?;
    Ok(base.query_row([key.0], read).optional()?)
}

pub(crate) fn referrers(
    connection: &Connection,
    target: DocumentId,
) -> Result<Vec<KindId>, StoreError> {
    // One hop per kind: the next greater kind that has an edge, so popular targets cost no scan.
    let mut next = connection.prepare_cached(concat!(
        "SELECT min(kind) FROM (
             SELECT (SELECT kind FROM ref WHERE target = ?1 AND kind > ?2 AND source <> ?1
                     ORDER BY kind LIMIT 1) AS kind
             UNION ALL SELECT recent_kind(",
        commit_seen!(),
        ", ?1, ?2))",
    ))?;
    let mut kinds = vec![];
    let mut last: i64 = -1;
    while kinds.len() < 20 {
        let Some(kind) = next.query_row([target.0, last], |row| row.get::<_, Option<i64>>(0))?
        else {
            break;
        };
        last = kind;
        kinds.push(KindId(u16::try_from(kind).unwrap_or(u16::MAX)));
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Store;

    #[test]
    fn every_reading_connection_is_open_from_the_start() {
        let store = Store::temporary(&[]).unwrap();
        let file = store.shared().file.path.canonicalize().unwrap();
        let open = |file: &Path| {
            let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            links.filter(|link| std::fs::read_link(link.path()).is_ok_and(|to| to == file)).count()
        };
        let before = open(&file);

        let nobody = crate::Uuid::new();
        for _ in 0..20 {
            assert!(store.document_blocking(nobody).unwrap().is_none());
            let sql = crate::Sql::new("SELECT count(*) FROM doc", vec![]);
            assert_eq!(store.query_blocking(sql).unwrap().len(), 1);
        }

        assert_eq!(open(&file), before);
    }

    #[test]
    fn an_unusable_connection_is_replaced() {
        let store = Store::temporary(&[]).unwrap();
        assert_eq!(store.newest_change_version_blocking().unwrap(), 0);
        let nobody = crate::Uuid::new();
        assert!(store.document_blocking(nobody).unwrap().is_none());
        store.shared().probes.each(|probe| {
            probe.end();
            probe.connection = None;
        });

        let found = store.document_blocking(nobody);
        store.close();
        let closed = store.document_blocking(nobody);

        assert!(found.unwrap().is_none());
        assert!(matches!(closed, Err(crate::StoreError::Closed)));
    }
}
