//! The end of a registration, or of one of its instances.

use homeroom_store::{Answer, Decision, Plan, Write};

use crate::courses::Courses;
use crate::error::Error;
use crate::notice::REGISTRATION_CHANGED;
use crate::row::{Columns, read, rows_of, write};
use crate::sql;

/// Returns the writes that remove all of a registration.
pub(crate) fn removal(id: &str) -> Vec<Write> {
    let mut all: Vec<Write> = [
        sql::TRACE_DELETE,
        sql::LAUNCHES_DELETE,
        sql::ACTIVITIES_DELETE,
        sql::ATTEMPTS_DELETE,
        sql::INTERACTIONS_DELETE,
        sql::OBJECTIVES_DELETE,
        sql::SESSIONS_DELETE,
        sql::REGISTRATION_DELETE,
    ]
    .into_iter()
    .map(|text| write(text, vec![id.into()]))
    .collect();
    all.push(write(sql::NOTICES_DELETE, vec![REGISTRATION_CHANGED.into(), id.into()]));
    all
}

/// Returns the writes that remove all of an instance. The traces go while their launches are there.
fn removal_of_instance(id: &str, instance: i64) -> Vec<Write> {
    let mut all: Vec<Write> = [
        sql::TRACES_OF_INSTANCE_DELETE,
        sql::LAUNCHES_OF_INSTANCE_DELETE,
        sql::ACTIVITIES_OF_INSTANCE_DELETE,
        sql::ATTEMPTS_OF_INSTANCE_DELETE,
        sql::INTERACTIONS_OF_INSTANCE_DELETE,
        sql::OBJECTIVES_OF_INSTANCE_DELETE,
        sql::SESSIONS_OF_INSTANCE_DELETE,
        sql::INSTANCE_DELETE,
    ]
    .into_iter()
    .map(|text| write(text, vec![id.into(), instance.into()]))
    .collect();
    let notices = vec![REGISTRATION_CHANGED.into(), id.into(), instance.into()];
    all.push(write(sql::NOTICES_OF_INSTANCE_DELETE, notices));
    all
}

impl Courses {
    /// Removes an instance with all that belongs to it; with the last one, the registration.
    pub(crate) async fn delete_instance(&self, id: &str, instance: i64) -> Result<(), Error> {
        let ask = vec![read(sql::INSTANCE_NUMBERS, vec![id.into()])];
        let own = id.to_owned();
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            let rows = rows_of(found.into_iter().next());
            let numbers = rows.iter().map(|row| Columns::of(row, "an instance").number());
            match numbers.collect::<Result<Vec<_>, _>>() {
                Err(error) => Decision::Refuse(error),
                Ok(all) if !all.contains(&instance) => {
                    Decision::Refuse(Error::no_instance(&own, instance))
                }
                Ok(all) if all.len() == 1 => Decision::Write(removal(&own), ()),
                Ok(_) => Decision::Write(removal_of_instance(&own, instance), ()),
            }
        };
        self.run(Plan { ask, decide }).await?;
        self.launch_cache.forget(id);
        Ok(())
    }

    /// Removes a registration with all that belongs to it.
    pub(crate) async fn delete_registration(&self, id: &str) -> Result<(), Error> {
        self.write(removal(id)).await?;
        self.launch_cache.forget(id);
        Ok(())
    }
}
