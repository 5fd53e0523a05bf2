//! Gives interactions and objectives that an older Homeroom has saved the rows that they have now.

use homeroom_store::{Answer, Ask, Decision, Plan, Sql, Value};

use crate::courses::Courses;
use crate::error::Error;
use crate::items::Items;
use crate::row::{Columns, Row, asks_of, rows_of, write, writes_of};
use crate::run_time::ActivityState;
use crate::sql;

/// States that are read at a time.
const AT_A_TIME: i64 = 200;

/// States that have no rows yet: which there are, and one of them.
struct Part {
    name: &'static str,
    list: &'static str,
    state: &'static str,
    /// The columns of the key.
    columns: usize,
}

/// Attempts come after activities: they end meanwhile.
const PARTS: [Part; 2] = [
    Part { name: "activity", list: sql::CARRY_ACTIVITIES, state: sql::COMMIT_ACTIVITY, columns: 3 },
    Part { name: "attempt", list: sql::CARRY_ATTEMPTS, state: sql::ATTEMPT, columns: 4 },
];

impl Courses {
    /// Gives all interactions and objectives that have none their rows. Another process may do the same
    /// meanwhile, and learners may go on.
    ///
    /// # Errors
    ///
    /// The store's own. What was done until then stays done.
    pub(crate) async fn carry_items(&self) -> Result<(), Error> {
        for part in &PARTS {
            while let Some(last) = self.row(sql::CARRY, vec![part.name.into()]).await? {
                self.carry_some(part, last).await?;
            }
        }
        Ok(())
    }

    /// Does so for some states after a key.
    async fn carry_some(&self, part: &Part, mut last: Row) -> Result<(), Error> {
        last.truncate(part.columns);
        last.push(AT_A_TIME.into());
        let rows = self.list(part.list, last).await?;
        for row in &rows {
            self.carry_one(part, row.clone()).await?;
        }
        let Some(mut last) = rows.into_iter().last() else {
            return self.write(vec![write(sql::CARRY_ENDED, vec![part.name.into()])]).await;
        };
        last.resize(4, 0.into());
        let mut arguments: Vec<Value> = vec![part.name.into()];
        arguments.extend(last);
        self.write(vec![write(sql::CARRIED, arguments)]).await
    }

    async fn carry_one(&self, part: &Part, key: Row) -> Result<(), Error> {
        let registration = Columns::of(&key, "an activity").text()?;
        let ask = asks_of(&registration, vec![Ask::Part(Sql::new(part.state, key.clone()))]);
        let decide = move |found: Vec<Answer>| {
            let rows = rows_of(found.into_iter().next());
            let Some(row) = rows.first() else { return Decision::Write(vec![], ()) };
            let state: ActivityState = match Columns::of(row, "an activity").json() {
                Ok(state) => state,
                Err(error) => return Decision::Refuse(error),
            };
            let writes = Items::of(&state).writes(&Items::default(), &key[..3], false);
            Decision::Write(writes_of(&registration, writes), ())
        };
        self.run_apart(Plan { ask, decide }).await
    }
}
