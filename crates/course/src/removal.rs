//! The end of a registration.

use homeroom_store::Write;

use crate::notice::REGISTRATION_CHANGED;
use crate::row::write;
use crate::sql;

/// Returns the writes that remove all of a registration.
pub(crate) fn removal(id: &str) -> Vec<Write> {
    let mut all: Vec<Write> = [
        sql::TRACE_DELETE,
        sql::LAUNCHES_DELETE,
        sql::ACTIVITIES_DELETE,
        sql::ATTEMPTS_DELETE,
        sql::SESSIONS_DELETE,
        sql::REGISTRATION_DELETE,
    ]
    .into_iter()
    .map(|text| write(text, vec![id.into()]))
    .collect();
    all.push(write(sql::NOTICES_DELETE, vec![REGISTRATION_CHANGED.into(), id.into()]));
    all
}
