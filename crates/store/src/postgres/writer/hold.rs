//! Which lanes a transaction holds, so that what it has read of their rows stays true.
//!
//! A lane's own transactions hold its row of `lane` from their beginning, and take only lanes that
//! come later in the order of names. A transaction that may write documents holds the counter first;
//! if its plans need a lane, it takes all of them, in the same order. So no two transactions wait for
//! each other, except where a plan needs two later lanes in the wrong order: then the database ends
//! one transaction, which is run again.

use std::collections::HashSet;

use crate::lane::Lane;
use crate::plan::{Ask, Write};
use crate::postgres::value::Written;
use crate::postgres::writer::statement::{Origin, Statement, arrays};
use crate::sql::Value;

/// Locks a lane until the commit.
pub(super) const HOLD_LANE: &str = "SELECT name FROM lane WHERE name = ?1 FOR UPDATE";
/// Locks all lanes, in one order.
const HOLD_LANES: &str = "SELECT name FROM lane ORDER BY name FOR UPDATE";

/// The lanes that a transaction holds.
#[derive(Debug)]
pub(super) struct Held {
    /// The lane of the transaction; without one, it holds the counter.
    own: Option<Lane>,
    all: bool,
    single: HashSet<Lane>,
}

/// What a question or a write needs.
enum Need {
    Nothing,
    One(Lane),
    All,
}

impl Held {
    /// Returns what a transaction holds that began with a lane, or with the counter.
    pub(super) fn begun_with(lane: Option<Lane>) -> Self {
        Self { own: lane, all: false, single: lane.into_iter().collect() }
    }

    /// Returns the statement that has to come before a question, if any.
    pub(super) fn for_ask(&mut self, ask: &Ask) -> Option<Statement> {
        self.take(match ask {
            Ask::Rows(rows, _) => Need::One(rows.lane()),
            // Its rows may be anybody's.
            Ask::Part(_) | Ask::Sql(_) => Need::All,
            Ask::Document(_)
            | Ask::DocumentByUuid(_)
            | Ask::Target(_)
            | Ask::Referrers(_)
            | Ask::Reach(..)
            | Ask::Test(..)
            | Ask::AccessVersion => Need::Nothing,
        })
    }

    /// Returns the statement that has to come before a write, if any.
    pub(super) fn for_write(&mut self, write: &Write) -> Option<Statement> {
        self.take(match write {
            Write::Rows(rows, _) => Need::One(rows.lane()),
            Write::Part(_) | Write::Sql(_) => Need::All,
            Write::Create(_) | Write::Replace { .. } | Write::Delete { .. } => Need::Nothing,
        })
    }

    fn take(&mut self, need: Need) -> Option<Statement> {
        let (text, values) = match need {
            Need::Nothing => return None,
            _ if self.all => return None,
            Need::One(lane) if self.own.is_some() => {
                if !self.single.insert(lane) {
                    return None;
                }
                (HOLD_LANE, vec![Written(Value::from(lane.name()))])
            }
            Need::One(_) | Need::All => {
                self.all = true;
                (HOLD_LANES, vec![])
            }
        };
        Some(Statement { values, origin: Origin::Lock, ..arrays(text, vec![]) })
    }
}
