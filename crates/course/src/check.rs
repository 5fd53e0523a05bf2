//! Looks for damage: states of activities that cannot be read.

use homeroom_store::{Snapshot, Sql, StoreError, Value};

use crate::row::{Columns, Row};
use crate::run_time::ActivityState;
use crate::shown::shown;
use crate::sql;

/// States that are read at a time.
const AT_A_TIME: i64 = 20;
/// Most problems that are described.
const PROBLEMS_MAX: usize = 20;

/// The result of a look at the states of activities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Descriptions of damage.
    pub problems: Vec<String>,
    /// Descriptions of what was not checked.
    pub left_out: Vec<String>,
}

/// Checks that the state of every activity that the store has can be read, also those of attempts that have ended.
///
/// # Errors
///
/// The store's own.
pub fn check(snapshot: &Snapshot, is_late: &dyn Fn() -> bool) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    let mut bad = 0;
    for (text, columns) in [(sql::STATES, 3), (sql::STATES_OF_ATTEMPTS, 4)] {
        let mut last: Row = vec!["".into(), 0.into(), "".into(), 0.into()];
        loop {
            if is_late() {
                checked
                    .left_out
                    .push("states of courses' activities: the time limit was reached".into());
                return Ok(checked);
            }
            last.truncate(columns);
            last.push(AT_A_TIME.into());
            let rows = snapshot.rows(Sql::new(text, last))?;
            for problem in rows.iter().filter_map(|row| problem(row, columns)) {
                bad += 1;
                if bad <= PROBLEMS_MAX {
                    checked.problems.push(problem);
                }
            }
            let Some(row) = rows.into_iter().last() else { break };
            last = row;
        }
    }
    if bad > PROBLEMS_MAX {
        let more = bad - PROBLEMS_MAX;
        checked.problems.push(format!("{more} more states of activities cannot be read"));
    }
    Ok(checked)
}

/// Says what is wrong with a state, which comes after its key.
fn problem(row: &[Value], columns: usize) -> Option<String> {
    let (key, state) = row.split_at_checked(columns)?;
    if Columns::of(state, "an activity").json::<ActivityState>().is_ok() {
        return None;
    }
    let text = |at: usize| shown(key.get(at).and_then(Value::as_text).unwrap_or_default());
    Some(format!("the state of activity {} of registration {} cannot be read", text(2), text(0)))
}
