//! Learners over HTTP.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use homeroom_store::Sql;

use super::answer::{Api, done};
use super::registrations::LearnerBody;
use super::request::{body, id};
use crate::error::Error;
use crate::learner::Learner;
use crate::row::{Columns, write};
use crate::sql;

/// Registrations that are found at a time, to be removed.
const REGISTRATIONS_AT_A_TIME: i64 = 500;

pub(crate) async fn update(api: Api, mut call: Call) -> Result<Response, Problem> {
    let mut sent: LearnerBody = body(&mut call).await?;
    let id = id(call.params.get("learner"), "the learner's id")?.to_owned();
    sent.id.clone_from(&id);
    let named = sent.read(vec![])?;
    let now = call.now.0;
    let ask = Sql::new(sql::LEARNER, vec![id.as_str().into()]);
    let change = api.courses.change(ask, move |row| {
        let unknown = || Error::Unknown(format!("learner {}", crate::shown::shown(&id)));
        let known = Learner::of(row.ok_or_else(unknown)?)?;
        let learner = named.clone().joined(Some(known))?;
        Ok((vec![learner.put(now)], ()))
    });
    change.await?;
    Ok(done())
}

/// Removes a learner with everything that was recorded. Then the files of the store have no byte of it
/// either. Clients send `userEmail` with the address of the person who asks, which selects nobody.
pub(crate) async fn erase(api: Api, call: Call) -> Result<Response, Problem> {
    let id = call.params.get("learner").to_owned();
    loop {
        let arguments = vec![id.as_str().into(), REGISTRATIONS_AT_A_TIME.into()];
        let rows = api.courses.list(sql::REGISTRATION_IDS_OF_LEARNER, arguments).await?;
        for row in &rows {
            let registration = Columns::of(row, "a registration").text()?;
            api.courses.delete_registration(&registration).await?;
        }
        if rows.is_empty() {
            break;
        }
    }
    api.courses.write(vec![write(sql::LEARNER_DELETE, vec![id.into()])]).await?;
    api.courses.store.erase_deleted().await.map_err(Error::from)?;
    Ok(done())
}
