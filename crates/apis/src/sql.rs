//! The SQL of this crate, in the dialect that both databases understand.

/// The version of the last change, that of the last one that removed something, and whether all is still in one row,
/// as earlier versions of the program had it.
pub(crate) const STATE: &str = "SELECT s.version, s.removed, \
     CAST(CASE WHEN p.definition = '' THEN 0 ELSE 1 END AS BIGINT) \
     FROM published_state AS s JOIN published AS p ON p.id = s.id WHERE s.id = 1";

pub(crate) const VERSION: &str = "SELECT version FROM published_state WHERE id = 1";

pub(crate) const SET_VERSION: &str = "UPDATE published_state SET version = ?1 WHERE id = 1";

pub(crate) const SET_REMOVED: &str =
    "UPDATE published_state SET version = ?1, removed = ?1 WHERE id = 1";

/// Items of a kind from a version and a name on, in the order of their last changes.
pub(crate) const CHANGED: &str = "SELECT name, place, version, definition FROM published_item \
     WHERE kind = ?1 AND (version, name) > (?2, ?3) ORDER BY version, name LIMIT 200";

pub(crate) const NAMES: &str = "SELECT kind, name FROM published_item";

/// The texts of a kind by their names, of which there are [`TEXTS_NAMES`].
pub(crate) const TEXTS: &str = "SELECT name, definition FROM published_item WHERE kind = ?1 \
     AND name IN (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

pub(crate) const TEXTS_NAMES: usize = 16;

/// What was there already stays of the version with which it was published first.
pub(crate) const PUT: &str = "INSERT INTO published_item (kind, name, place, version, definition, since) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?4) ON CONFLICT (kind, name) DO UPDATE SET place = excluded.place, \
     version = excluded.version, definition = excluded.definition";

pub(crate) const MOVE: &str =
    "UPDATE published_item SET place = ?3, version = ?4 WHERE kind = ?1 AND name = ?2";

pub(crate) const REMOVE: &str = "DELETE FROM published_item WHERE kind = ?1 AND name = ?2";

/// What earlier versions of the program wrote: everything as one text.
pub(crate) const WHOLE: &str = "SELECT definition FROM published WHERE id = 1";

/// Its version stays, so that a node of an earlier version serves on what it has.
pub(crate) const FORGET_WHOLE: &str = "UPDATE published SET definition = '' WHERE id = 1";

/// Subscriptions that have changed after a version.
pub(crate) const SUBSCRIPTIONS: &str =
    "SELECT api_key, plan, apis, scopes FROM subscription WHERE version > ?1 ORDER BY api_key";

pub(crate) const SUBSCRIBE: &str = "INSERT INTO subscription (api_key, plan, apis, scopes, version) \
     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (api_key) DO UPDATE SET plan = excluded.plan, \
     apis = excluded.apis, scopes = excluded.scopes, version = excluded.version";

/// The plans that keys in force have. Who the keys are is the access part's to say; what is asked of its
/// table is only which of them are revoked or gone.
pub(crate) const PLANS_IN_USE: &str = "SELECT s.plan, s.api_key FROM subscription AS s \
     JOIN api_client AS c ON c.api_key = s.api_key \
     WHERE s.plan IS NOT NULL AND c.revoked IS NULL ORDER BY s.plan, s.api_key";

pub(crate) const KEY: &str =
    "SELECT api_key FROM api_client WHERE api_key = ?1 AND revoked IS NULL";

/// What a caller has used of a quota in a unit of time: by kind and name of the owner, counter, caller and beginning.
pub(crate) const USED: &str = "SELECT u.calls FROM published_item AS p JOIN quota_use AS u \
     ON u.kind = p.kind AND u.owner = p.name AND u.since = p.since \
     WHERE p.kind = ?1 AND p.name = ?2 AND u.counter = ?3 AND u.caller = ?4 AND u.begun = ?5";

/// Adds to it, as long as the owner is published.
pub(crate) const ADD_USE: &str = "INSERT INTO quota_use (kind, owner, since, counter, caller, begun, ends, calls) \
     SELECT p.kind, p.name, p.since, CAST(?3 AS TEXT), CAST(?4 AS TEXT), CAST(?5 AS BIGINT), CAST(?6 AS BIGINT), \
     CAST(?7 AS BIGINT) FROM published_item AS p WHERE p.kind = ?1 AND p.name = ?2 \
     ON CONFLICT (kind, owner, since, counter, caller, begun) DO UPDATE SET calls = quota_use.calls + excluded.calls";

/// What callers of all that is published have used in units of time that are not over, after a row, in the order of
/// their keys.
pub(crate) const USED_AFTER: &str = "SELECT u.kind, u.owner, u.since, u.counter, u.caller, u.begun, u.calls \
     FROM quota_use AS u WHERE (u.kind, u.owner, u.since, u.counter, u.caller, u.begun) > (?1, ?2, ?3, ?4, ?5, ?6) \
     AND u.ends > ?7 AND EXISTS \
     (SELECT 1 FROM published_item AS p WHERE p.kind = u.kind AND p.name = u.owner AND p.since = u.since) \
     ORDER BY u.kind, u.owner, u.since, u.counter, u.caller, u.begun LIMIT 1000";

pub(crate) const COUNT_USE: &str = "SELECT count(*) FROM quota_use";

/// Of what was withdrawn there are rows: kind, name, the version with which it was published, and how many.
pub(crate) const WITHDRAWN_USE: &str = "SELECT u.kind, u.owner, u.since, count(*) FROM quota_use AS u \
     WHERE NOT EXISTS \
     (SELECT 1 FROM published_item AS p WHERE p.kind = u.kind AND p.name = u.owner AND p.since = u.since) \
     GROUP BY u.kind, u.owner, u.since";

pub(crate) const REMOVE_WITHDRAWN: &str = "DELETE FROM quota_use \
     WHERE (kind, owner, since, counter, caller, begun) IN \
     (SELECT kind, owner, since, counter, caller, begun FROM quota_use \
     WHERE kind = ?1 AND owner = ?2 AND since = ?3 LIMIT ?4)";

pub(crate) const COUNT_ENDED: &str = "SELECT count(*) FROM quota_use WHERE ends <= ?1";

pub(crate) const REMOVE_ENDED: &str = "DELETE FROM quota_use \
     WHERE (kind, owner, since, counter, caller, begun) IN \
     (SELECT kind, owner, since, counter, caller, begun FROM quota_use WHERE ends <= ?1 LIMIT ?2)";

/// How many calls those have that have called least, of so many rows the one with the most.
pub(crate) const LEAST_USE: &str =
    "SELECT max(calls) FROM (SELECT calls FROM quota_use ORDER BY calls LIMIT ?1) AS least";

pub(crate) const COUNT_LEAST: &str = "SELECT count(*) FROM quota_use WHERE calls <= ?1";

pub(crate) const REMOVE_LEAST: &str = "DELETE FROM quota_use \
     WHERE (kind, owner, since, counter, caller, begun) IN \
     (SELECT kind, owner, since, counter, caller, begun FROM quota_use WHERE calls <= ?1 LIMIT ?2)";
