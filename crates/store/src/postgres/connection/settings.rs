//! Settings of a session, by the role of its connection.

use std::time::Duration;

/// How long a transaction may be idle before the server ends it, so that a node that dies within
/// one does not block the others for longer.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// The same for a transaction that copies the whole store, whose other end may be slow.
const IDLE_IN_COPY: Duration = Duration::from_mins(10);

/// The role of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Role {
    /// Transactions of the writer.
    Writer,
    /// Index look-ups, many at the same time.
    Probe,
    /// Lists, one at a time.
    List,
    /// One consistent state of the store, read page by page.
    Snapshot,
    /// All rows of the store, out of it or into it, in one transaction.
    Copy,
}

/// Returns the statements that set a session up, whose reads end after `deadline`.
pub(super) fn settings(role: Role, schema: Option<&str>, deadline: Duration) -> Vec<String> {
    let mut settings = vec!["SET client_min_messages = warning".to_owned()];
    let mut set = |name: &str, value: &str| settings.push(format!("SET {name} = {value}"));
    if let Some(schema) = schema {
        set("search_path", schema);
    }
    set("jit", "off");
    if role == Role::Copy {
        set("statement_timeout", "0");
        set("lock_timeout", &LOCK.as_millis().to_string());
        let idle = IDLE_IN_COPY.as_millis().to_string();
        set("idle_in_transaction_session_timeout", &idle);
    } else if role == Role::Writer {
        set("default_transaction_isolation", "'read committed'");
        set("statement_timeout", "0");
        set("lock_timeout", &LOCK.as_millis().to_string());
        let idle = IDLE_IN_TRANSACTION.as_millis().to_string();
        set("idle_in_transaction_session_timeout", &idle);
    } else {
        set("statement_timeout", &deadline.as_millis().max(1).to_string());
    }
    if role == Role::Snapshot {
        // A reader may be slow, but one that is gone must not keep old rows alive for longer.
        let idle = deadline.as_millis().max(1).to_string();
        set("idle_in_transaction_session_timeout", &idle);
        // A page follows an index; another plan would compute all remaining rows for each page.
        for name in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
            set(name, "off");
        }
    }
    if matches!(role, Role::List | Role::Snapshot | Role::Copy) {
        // The best plan of a list depends on its arguments.
        set("plan_cache_mode", "force_custom_plan");
    } else {
        // Each of these statements uses a unique index; a plan made while the tables were empty
        // must stay good when they are full.
        for name in ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"] {
            set(name, "off");
        }
        set("plan_cache_mode", "force_generic_plan");
    }
    if matches!(role, Role::Writer | Role::Copy) {
        // Answers wait for the disk, however the database is configured, now or later: a
        // setting made by the session survives when the server reloads its configuration.
        settings.push(
            "SELECT set_config('synchronous_commit', CASE s.now WHEN 'off' THEN 'on' \
             ELSE s.now END, false) FROM (SELECT current_setting('synchronous_commit')) AS s (now)"
                .to_owned(),
        );
    }
    settings
}

/// Returns the same settings as statements of one transaction, for a session that others use, too.
pub(super) fn of_transaction(role: Role, deadline: Duration) -> String {
    let local = |set: String| match set.strip_prefix("SET ") {
        Some(rest) => format!("SET LOCAL {rest}"),
        None => set.replace(", false)", ", true)"),
    };
    let all: Vec<_> = settings(role, None, deadline).into_iter().map(local).collect();
    all.join("; ")
}

/// Longest wait for another node's transaction.
pub(in crate::postgres) const LOCK: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_a_transaction_does_not_outlive_it() {
        for role in [Role::Writer, Role::Probe, Role::List, Role::Snapshot, Role::Copy] {
            let all = of_transaction(role, Duration::from_secs(5));

            for set in all.split("; ") {
                let is_local = set.starts_with("SET LOCAL ") || set.contains(", true)");
                assert!(is_local, "{role:?}: {set}");
            }
        }
    }
}
