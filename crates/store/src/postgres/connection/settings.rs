//! What a session is told, by what its connection is for.

use std::time::Duration;

use crate::postgres::connection::{Connector, LOCK};

/// How long a transaction may do nothing before the server ends it: a node that dies in one keeps
/// the others waiting no longer.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Role {
    /// Transactions of the one writer.
    Writer,
    /// Single index entries, for many at a time.
    Probe,
    /// Lists, for one at a time.
    List,
    /// One moment of the store, read page by page.
    Snapshot,
}

impl Connector {
    /// Statements that set a session up.
    pub(super) fn settings(&self, role: Role) -> Vec<String> {
        let mut settings = vec!["SET client_min_messages = warning".to_owned()];
        let mut set = |name: &str, value: &str| settings.push(format!("SET {name} = {value}"));
        if let Some(schema) = &self.schema {
            set("search_path", schema);
        }
        set("jit", "off");
        if role == Role::Writer {
            set("default_transaction_isolation", "'read committed'");
            set("statement_timeout", "0");
            set("lock_timeout", &LOCK.as_millis().to_string());
            let idle = IDLE_IN_TRANSACTION.as_millis().to_string();
            set("idle_in_transaction_session_timeout", &idle);
        } else {
            set("statement_timeout", &self.deadline.as_millis().max(1).to_string());
        }
        if role == Role::Snapshot {
            // Who reads may be slow; who is gone keeps no old rows longer than that.
            let idle = self.deadline.as_millis().max(1).to_string();
            set("idle_in_transaction_session_timeout", &idle);
            // A page follows an index; another plan would find all the rest for each page.
            for name in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
                set(name, "off");
            }
        }
        if matches!(role, Role::List | Role::Snapshot) {
            // What a list looks for decides how it is found.
            set("plan_cache_mode", "force_custom_plan");
        } else {
            // Each of these statements goes by a unique index; a plan that was made while the
            // tables were empty must stay good when they are full.
            for name in ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"] {
                set(name, "off");
            }
            set("plan_cache_mode", "force_generic_plan");
        }
        if role == Role::Writer {
            // An answer comes after the disk, whatever the database is told to do, now or later: what
            // a session sets itself stays when the server reads its configuration again.
            settings.push(
                "SELECT set_config('synchronous_commit', CASE s.now WHEN 'off' THEN 'on' \
                 ELSE s.now END, false) FROM (SELECT current_setting('synchronous_commit')) AS s (now)"
                    .to_owned(),
            );
        }
        settings
    }
}
