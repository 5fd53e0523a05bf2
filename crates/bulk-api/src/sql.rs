//! The SQL of this crate, in the dialect that both databases understand.

pub(crate) const ADD: &str = "INSERT INTO bulk_operation (id, owner, school_year, status, \
     organizations, fingerprint, created, changed, expires) \
     VALUES (?1, ?2, ?3, 'Initialized', ?4, ?5, ?6, ?6, ?7)";

pub(crate) const ADD_FILE: &str = "INSERT INTO bulk_file (id, operation, place, format, interchange, \
     bytes, status) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'Initialized')";

/// Operations of an owner that have not ended, and the bytes of their files.
pub(crate) const OPEN: &str = "SELECT count(DISTINCT o.id), CAST(COALESCE(sum(f.bytes), 0) AS BIGINT) \
     FROM bulk_operation o JOIN bulk_file f ON f.operation = o.id \
     WHERE o.owner = ?1 AND o.status IN ('Initialized', 'Incomplete', 'Ready', 'Started')";

pub(crate) const FIND: &str = "SELECT id, owner, school_year, status, organizations, job, summary, \
     created, expires FROM bulk_operation WHERE id = ?1";

/// Operations of an owner in a year, from the newest on; an empty text stands for any fingerprint.
pub(crate) const LIST: &str = "SELECT id, owner, school_year, status, organizations, job, summary, \
     created, expires FROM bulk_operation WHERE owner = ?1 AND school_year = ?2 \
     AND (fingerprint = ?3 OR ?3 = '') ORDER BY id DESC LIMIT ?4";

pub(crate) const FILES: &str = "SELECT id, operation, format, interchange, bytes, status, fault, \
     exceptions, marks FROM bulk_file WHERE operation = ?1 ORDER BY place";

pub(crate) const FIND_FILE: &str = "SELECT id, operation, format, interchange, bytes, status, fault, \
     exceptions, marks FROM bulk_file WHERE id = ?1";

pub(crate) const CHUNKS: &str =
    "SELECT first_byte, bytes, blob FROM bulk_chunk WHERE file = ?1 ORDER BY first_byte";

/// The number of chunks of an operation.
pub(crate) const CHUNKS_OF_OPERATION: &str = "SELECT count(*) FROM bulk_chunk c \
     JOIN bulk_file f ON f.id = c.file WHERE f.operation = ?1";

/// The blobs of an operation's chunks.
pub(crate) const BLOBS: &str = "SELECT c.blob FROM bulk_chunk c JOIN bulk_file f ON f.id = c.file \
     WHERE f.operation = ?1";

pub(crate) const PUT_CHUNK: &str = "INSERT INTO bulk_chunk (file, first_byte, bytes, blob) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (file, first_byte) \
     DO UPDATE SET bytes = excluded.bytes, blob = excluded.blob";

pub(crate) const REMOVE_CHUNKS: &str = "DELETE FROM bulk_chunk WHERE file IN \
     (SELECT id FROM bulk_file WHERE operation = ?1)";

pub(crate) const SET: &str = "UPDATE bulk_operation SET status = ?2, changed = ?3, expires = ?4 \
     WHERE id = ?1";

pub(crate) const SET_JOB: &str = "UPDATE bulk_operation SET job = ?2 WHERE id = ?1";

pub(crate) const SET_SUMMARY: &str = "UPDATE bulk_operation SET summary = ?2 WHERE id = ?1";

pub(crate) const SET_FILE: &str = "UPDATE bulk_file SET status = ?2, fault = ?3 WHERE id = ?1";

pub(crate) const SET_FILES: &str = "UPDATE bulk_file SET status = ?2 WHERE operation = ?1";

pub(crate) const SET_EXCEPTIONS: &str =
    "UPDATE bulk_file SET exceptions = ?2, marks = ?3 WHERE id = ?1";

/// Operations for which something is to be done: those that expire, and those whose job may have
/// ended without them.
pub(crate) const DUE: &str = "SELECT id, owner, school_year, status, organizations, job, summary, \
     created, expires FROM bulk_operation WHERE expires <= ?1 ORDER BY expires LIMIT ?2";

pub(crate) const REMOVE_FILES: &str = "DELETE FROM bulk_file WHERE operation = ?1";

pub(crate) const REMOVE: &str = "DELETE FROM bulk_operation WHERE id = ?1";
