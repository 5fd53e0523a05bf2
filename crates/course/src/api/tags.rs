//! Tags of courses, registrations and learners over HTTP.

use std::collections::BTreeSet;

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use homeroom_store::Sql;
use serde::Deserialize;
use serde_json::json;

use super::answer::{Api, done, json};
use super::request::body;
use crate::error::Error;
use crate::row::{Columns, write};
use crate::sql;

/// Most tags of one thing.
const TAGS_MAX: usize = 200;
/// Most characters of a tag.
const TAG_CHARS_MAX: usize = 200;
/// Most things whose tags one request sets.
const BATCH_MAX: usize = 1_000;

/// What has tags.
#[derive(Debug, Clone, Copy)]
struct Tagged {
    /// The placeholder of its id.
    name: &'static str,
    find: &'static str,
    save: &'static str,
}

const COURSE: Tagged = Tagged { name: "course", find: sql::TAGS_OF_COURSE, save: sql::COURSE_TAGS };
const REGISTRATION: Tagged =
    Tagged { name: "registration", find: sql::TAGS_OF_REGISTRATION, save: sql::REGISTRATION_TAGS };
const LEARNER: Tagged =
    Tagged { name: "learner", find: sql::TAGS_OF_LEARNER, save: sql::LEARNER_TAGS };

/// Returns tags without duplicates.
///
/// # Errors
///
/// Where there are too many, or one is too long.
pub(crate) fn clean(tags: Vec<String>) -> Result<Vec<String>, Error> {
    let all: BTreeSet<String> =
        tags.into_iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    let is_long = |tag: &String| tag.chars().count() > TAG_CHARS_MAX || tag.contains(',');
    if all.len() > TAGS_MAX || all.iter().any(is_long) {
        return Err(Error::Invalid(format!(
            "there are at most {TAGS_MAX} tags of {TAG_CHARS_MAX} characters, without commas"
        )));
    }
    Ok(all.into_iter().collect())
}

#[derive(Debug, Deserialize)]
struct TagList {
    tags: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Batch {
    ids: Vec<String>,
    tags: Vec<String>,
}

async fn get(api: &Api, call: &Call, of: Tagged) -> Result<Response, Problem> {
    let id = call.params.get(of.name);
    let row = api.courses.row(of.find, vec![id.into()]).await?;
    let row = row.ok_or_else(|| unknown(of, id))?;
    let tags: Vec<String> = Columns::of(&row, "tags").json()?;
    Ok(json(&json!({ "tags": tags })))
}

fn unknown(of: Tagged, id: &str) -> Error {
    Error::Unknown(format!("{} {}", of.name, crate::error::shown(id)))
}

/// Changes the tags of one thing.
async fn change(
    api: &Api,
    of: Tagged,
    id: String,
    now: i64,
    change: impl Fn(Vec<String>) -> Vec<String> + Clone + Send + 'static,
) -> Result<(), Error> {
    let ask = Sql::new(of.find, vec![id.as_str().into()]);
    api.courses
        .change(ask, move |row| {
            let row = row.ok_or_else(|| unknown(of, &id))?;
            let tags = clean(change(Columns::of(row, "tags").json()?))?;
            let tags = serde_json::to_string(&tags).map_err(|_| Error::damaged("tags"))?;
            let arguments = vec![id.as_str().into(), tags.into(), now.into()];
            Ok((vec![write(of.save, arguments)], ()))
        })
        .await
}

async fn put(api: Api, mut call: Call, of: Tagged) -> Result<Response, Problem> {
    let TagList { tags } = body(&mut call).await?;
    let id = call.params.get(of.name).to_owned();
    change(&api, of, id, call.now.0, move |_| tags.clone()).await?;
    Ok(done())
}

async fn delete(api: Api, mut call: Call, of: Tagged) -> Result<Response, Problem> {
    let TagList { tags } = body(&mut call).await?;
    let id = call.params.get(of.name).to_owned();
    change(&api, of, id, call.now.0, move |mut known| {
        known.retain(|tag| !tags.contains(tag));
        known
    })
    .await?;
    Ok(done())
}

async fn put_all(api: Api, mut call: Call, of: Tagged) -> Result<Response, Problem> {
    let Batch { ids, tags } = body(&mut call).await?;
    if ids.len() > BATCH_MAX {
        return Err(Error::Invalid(format!("there are at most {BATCH_MAX} ids")).into());
    }
    for id in ids {
        let tags = tags.clone();
        change(&api, of, id, call.now.0, move |_| tags.clone()).await?;
    }
    Ok(done())
}

/// Makes the handlers of what has tags.
macro_rules! tagged {
    ($($get:ident $put:ident $delete:ident $of:ident;)*) => {$(
        pub(crate) async fn $get(api: Api, call: Call) -> Result<Response, Problem> {
            get(&api, &call, $of).await
        }

        pub(crate) async fn $put(api: Api, call: Call) -> Result<Response, Problem> {
            put(api, call, $of).await
        }

        pub(crate) async fn $delete(api: Api, call: Call) -> Result<Response, Problem> {
            delete(api, call, $of).await
        }
    )*};
}

tagged! {
    get_of_course put_of_course delete_of_course COURSE;
    get_of_registration put_of_registration delete_of_registration REGISTRATION;
    get_of_learner put_of_learner delete_of_learner LEARNER;
}

pub(crate) async fn put_of_courses(api: Api, call: Call) -> Result<Response, Problem> {
    put_all(api, call, COURSE).await
}

pub(crate) async fn put_of_registrations(api: Api, call: Call) -> Result<Response, Problem> {
    put_all(api, call, REGISTRATION).await
}

pub(crate) async fn put_of_learners(api: Api, call: Call) -> Result<Response, Problem> {
    put_all(api, call, LEARNER).await
}
