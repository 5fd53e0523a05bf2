//! The SQL of this crate, in the dialect that both databases understand.

/// The number of queued jobs of an owner, and of all.
pub(crate) const WAITING: &str = "SELECT (SELECT count(*) FROM job WHERE state = 'queued' \
     AND owner = ?1), (SELECT count(*) FROM job WHERE state = 'queued')";

pub(crate) const ADD: &str = "INSERT INTO job (id, kind, owner, state, input, attempts, unwanted, \
     created, changed, due) VALUES (?1, ?2, ?3, 'queued', ?4, 0, 0, ?5, ?5, ?6)";

/// When something is to be done next with jobs of a kind: queued ones, and running ones.
pub(crate) const NEXT_DUE: &str = "SELECT (SELECT min(due) FROM job WHERE state = 'queued' \
     AND kind = ?1), (SELECT min(due) FROM job WHERE state = 'running' AND kind = ?1)";

/// Running jobs of a kind whose lease has ended.
pub(crate) const ABANDONED: &str = "SELECT id, attempts, unwanted FROM job \
     WHERE state = 'running' AND kind = ?1 AND due <= ?2 ORDER BY due LIMIT 64";

/// Ends the leases of all running jobs.
pub(crate) const END_LEASES: &str = "UPDATE job SET due = ?1 WHERE state = 'running' AND due > ?1";

/// The next job of each owner, those first whose owners have the fewest running and have waited
/// longest for a turn. From one owner to the next it is a look-up in an index, however many jobs an
/// owner has.
pub(crate) const TURNS: &str = "WITH RECURSIVE o (owner) AS (\
       SELECT (SELECT min(owner) FROM job WHERE state = 'queued') \
       UNION ALL \
       SELECT (SELECT min(j.owner) FROM job j WHERE j.state = 'queued' AND j.owner > o.owner) \
       FROM o WHERE o.owner IS NOT NULL), \
     f (owner, id, running, taken) AS (\
       SELECT o.owner, \
         (SELECT j.id FROM job j WHERE j.state = 'queued' AND j.owner = o.owner \
          AND j.kind = ?1 AND j.due <= ?2 ORDER BY j.due, j.id LIMIT 1), \
         (SELECT count(*) FROM job r WHERE r.state = 'running' AND r.owner = o.owner \
          AND r.kind = ?1), \
         COALESCE((SELECT t.taken FROM job_turn t WHERE t.kind = ?1 AND t.owner = o.owner), 0) \
       FROM o WHERE o.owner IS NOT NULL) \
     SELECT id FROM f WHERE id IS NOT NULL ORDER BY running, taken, id LIMIT ?3";

pub(crate) const TAKE: &str = "UPDATE job SET state = 'running', attempts = attempts + 1, \
     node = ?2, due = ?3, changed = ?4, progress = NULL WHERE id = ?1";

pub(crate) const TURN: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES (?1, ?2, ?3) \
     ON CONFLICT (kind, owner) DO UPDATE SET taken = excluded.taken";

pub(crate) const KEEP: &str = "UPDATE job SET due = ?2, progress = ?3, changed = ?4 WHERE id = ?1";

pub(crate) const END: &str = "UPDATE job SET state = ?2, result = ?3, error = ?4, progress = ?5, \
     due = ?6, changed = ?6, expires = ?7, unwanted = 0 WHERE id = ?1";

pub(crate) const REQUEUE: &str = "UPDATE job SET state = 'queued', attempts = ?2, error = ?3, \
     due = ?4, changed = ?5, expires = NULL, result = NULL, unwanted = 0 WHERE id = ?1";

pub(crate) const UNWANT: &str = "UPDATE job SET unwanted = 1, changed = ?2 WHERE id = ?1";

pub(crate) const FIND: &str = "SELECT id, kind, owner, state, input, attempts, node, unwanted, \
     progress, result, error, created, changed, due, expires FROM job WHERE id = ?1";

/// Jobs from the newest on; an empty text stands for any kind, owner or state.
pub(crate) const LIST: &str = "SELECT id, kind, owner, state, input, attempts, node, unwanted, \
     progress, result, error, created, changed, due, expires FROM job \
     WHERE (kind = ?1 OR ?1 = '') AND (owner = ?2 OR ?2 = '') AND (state = ?3 OR ?3 = '') \
     AND id < ?4 ORDER BY id DESC LIMIT ?5";

pub(crate) const FIGURES: &str = "SELECT kind, state, count(*), min(created) FROM job \
     GROUP BY kind, state ORDER BY kind, state";

/// Whether jobs have expired, and how many that have ended are kept.
pub(crate) const ENDED: &str = "SELECT (SELECT count(*) FROM job WHERE expires <= ?1), \
     (SELECT count(*) FROM job WHERE expires IS NOT NULL)";

pub(crate) const EXPIRE: &str = "DELETE FROM job WHERE id IN (SELECT id FROM job \
     WHERE expires IS NOT NULL ORDER BY expires LIMIT ?1)";

pub(crate) const FORGET_TURNS: &str = "DELETE FROM job_turn WHERE taken < ?1";
