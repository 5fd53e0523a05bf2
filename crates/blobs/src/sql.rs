//! The SQL of this crate, in the dialect that both databases understand.

pub(crate) const ADD: &str = "INSERT INTO blob (id, bytes, sha256, owner_kind, created) \
     VALUES (?1, ?2, ?3, ?4, ?5)";

pub(crate) const FIND: &str =
    "SELECT id, bytes, sha256, owner_kind, created FROM blob WHERE id = ?1 AND removed IS NULL";

pub(crate) const REMOVE: &str = "UPDATE blob SET removed = ?2 WHERE id = ?1 AND removed IS NULL";

/// Ids that have a row, removed or not, from one to another.
pub(crate) const NAMED: &str =
    "SELECT id FROM blob WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT ?3";

/// Blobs that were removed long enough ago.
pub(crate) const REMOVED: &str =
    "SELECT id FROM blob WHERE removed <= ?1 ORDER BY removed LIMIT ?2";

pub(crate) const FORGET: &str = "DELETE FROM blob WHERE id = ?1 AND removed IS NOT NULL";

/// Blobs after an id, in order.
pub(crate) const PAGE: &str = "SELECT id, bytes, sha256, owner_kind, created FROM blob \
     WHERE id > ?1 AND removed IS NULL ORDER BY id LIMIT ?2";

pub(crate) const MARK: &str = "SELECT mark FROM blob_store WHERE name = 'mark'";

pub(crate) const REPLACE_MARK: &str = "INSERT INTO blob_store (name, mark) VALUES ('mark', ?1) \
     ON CONFLICT (name) DO UPDATE SET mark = excluded.mark";

pub(crate) const SET_MARK: &str = "INSERT INTO blob_store (name, mark) VALUES ('mark', ?1)";
