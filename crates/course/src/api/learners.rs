//! Learners over HTTP.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};

use super::answer::{Api, done};
use super::registrations::LearnerBody;
use super::request::{body, id};
use crate::error::Error;
use crate::learner::Learner;
use crate::removal::removal;
use crate::row::{Columns, write};
use crate::sql;

pub(crate) async fn update(api: Api, mut call: Call) -> Result<Response, Problem> {
    let mut sent: LearnerBody = body(&mut call).await?;
    let id = id(call.params.get("learner"), "the learner's id")?.to_owned();
    let known = api.courses.learner(&id).await?;
    let known =
        known.ok_or_else(|| Error::Unknown(format!("learner {}", crate::error::shown(&id))))?;
    sent.id = id;
    // What is not sent stays.
    sent.first_name = sent.first_name.or(Some(known.first_name));
    sent.last_name = sent.last_name.or(Some(known.last_name));
    sent.email = sent.email.or(Some(known.email));
    let learner = sent.read(known.tags)?;
    api.courses.write(vec![learner.put(call.now.0)]).await?;
    Ok(done())
}

/// Removes a learner with everything that was recorded, and those with the same address if one is named.
/// Then the files of the store have no byte of it either.
pub(crate) async fn erase(api: Api, call: Call) -> Result<Response, Problem> {
    let query = call.query()?;
    let mut ids = vec![call.params.get("learner").to_owned()];
    if let Some(email) = query.get("userEmail").filter(|email| !email.is_empty()) {
        for row in api.courses.list(sql::LEARNERS_BY_EMAIL, vec![email.into()]).await? {
            let learner = Learner::of(&row)?;
            if !ids.contains(&learner.id) {
                ids.push(learner.id);
            }
        }
    }
    for id in ids {
        loop {
            let arguments = vec![id.as_str().into(), 500.into()];
            let rows = api.courses.list(sql::REGISTRATION_IDS_OF_LEARNER, arguments).await?;
            for row in &rows {
                let registration = Columns::of(row, "a registration").text()?;
                api.courses.write(removal(&registration)).await?;
            }
            if rows.is_empty() {
                break;
            }
        }
        api.courses.write(vec![write(sql::LEARNER_DELETE, vec![id.into()])]).await?;
    }
    api.courses.store.erase_deleted().await.map_err(Error::from)?;
    Ok(done())
}
