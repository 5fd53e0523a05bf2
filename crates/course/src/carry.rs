//! Gives interactions and objectives that an older Homeroom has saved the rows that they have now.

use homeroom_store::{Answer, Decision, Plan, Value, Write};

use crate::courses::Courses;
use crate::error::Error;
use crate::items::Items;
use crate::row::{Columns, Row, asks_of, read, rows_of, write, writes_of};
use crate::run_time::ActivityState;
use crate::sql;

/// States that are looked for at a time.
const AT_A_TIME: i64 = 200;
/// States to which one transaction gives their rows.
const TOGETHER: usize = 20;

/// States that have no rows yet: which there are, and one of them.
struct Part {
    name: &'static str,
    list: &'static str,
    state: &'static str,
    /// The columns of the key.
    columns: usize,
}

/// Activities first: an activity's attempt may end during the run and is then found among the attempts.
const PARTS: [Part; 2] = [
    Part { name: "activity", list: sql::CARRY_ACTIVITIES, state: sql::COMMIT_ACTIVITY, columns: 3 },
    Part { name: "attempt", list: sql::CARRY_ATTEMPTS, state: sql::ATTEMPT, columns: 4 },
];

impl Courses {
    /// Returns whether some interactions and objectives may have no rows yet.
    pub(crate) async fn is_carrying(&self) -> Result<bool, Error> {
        Ok(self.row(sql::CARRYING, vec![]).await?.is_some())
    }

    /// Gives the interactions and objectives of about so many states their rows. Another process may do the same
    /// meanwhile, and learners may go on. Returns how many states were looked at: none if all have rows.
    ///
    /// # Errors
    ///
    /// The store's own. What was done until then stays done.
    pub(crate) async fn carry_items(&self, most: usize) -> Result<usize, Error> {
        let mut count = 0;
        for part in &PARTS {
            while count < most
                && let Some(last) = self.row(sql::CARRY, vec![part.name.into()]).await?
            {
                count += self.carry_some(part, last).await?;
            }
        }
        Ok(count)
    }

    /// Does so for some states after a key, and returns how many these were.
    async fn carry_some(&self, part: &Part, mut last: Row) -> Result<usize, Error> {
        last.truncate(part.columns);
        last.push(AT_A_TIME.into());
        let keys = self.list(part.list, last).await?;
        for together in keys.chunks(TOGETHER) {
            self.carry_together(part, together.to_vec()).await?;
        }
        let count = keys.len();
        let Some(mut last) = keys.into_iter().last() else {
            self.write(vec![write(sql::CARRY_ENDED, vec![part.name.into()])]).await?;
            return Ok(count);
        };
        last.resize(4, 0.into());
        let mut arguments: Vec<Value> = vec![part.name.into()];
        arguments.extend(last);
        self.write(vec![write(sql::CARRIED, arguments)]).await?;
        Ok(count)
    }

    async fn carry_together(&self, part: &Part, keys: Vec<Row>) -> Result<(), Error> {
        let mut ask = vec![];
        for key in &keys {
            let one = read(part.state, key.clone());
            ask.extend(asks_of(&registration_of(key)?, vec![one]));
        }
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            let mut writes = vec![];
            for (key, answer) in keys.iter().zip(found) {
                match rows_of(Some(answer)).first().map_or(Ok(vec![]), |state| added(key, state)) {
                    Ok(more) => writes.extend(more),
                    Err(error) => {
                        let registration = registration_of(key).unwrap_or_default();
                        tracing::warn!(registration, %error, "interactions get no rows");
                    }
                }
            }
            Decision::Write(writes, ())
        };
        self.run(Plan { ask, decide }).await
    }
}

fn registration_of(key: &[Value]) -> Result<String, Error> {
    Columns::of(key, "an activity").text()
}

/// Returns the writes of the rows of a state.
fn added(key: &[Value], state: &[Value]) -> Result<Vec<Write>, Error> {
    let state: ActivityState = Columns::of(state, "an activity").json()?;
    let writes = Items::of(&state).writes(&Items::default(), &key[..3], false);
    Ok(writes_of(&registration_of(key)?, writes))
}
