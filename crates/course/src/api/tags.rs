//! Tags of courses, registrations and learners over HTTP.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use serde::Deserialize;
use serde_json::json;

use super::answer::{Api, done, json};
use super::request::body;
use crate::error::Error;
use crate::tags::{Change, Tagged};

/// Most things whose tags one request changes.
const BATCH_MAX: usize = 1_000;

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
    let tags = api.courses.tags(of, call.params.get(of.name())).await?;
    Ok(json(&json!({ "tags": tags })))
}

async fn change(api: Api, mut call: Call, of: Tagged, change: Change) -> Result<Response, Problem> {
    let TagList { tags } = body(&mut call).await?;
    let thing = (of, call.params.get(of.name()).to_owned());
    api.courses.change_tags(change, [(thing, tags)].into(), call.now.0).await?;
    Ok(done())
}

/// Adds all the tags to all the things, or to none of them.
async fn put_all(api: Api, mut call: Call, of: Tagged) -> Result<Response, Problem> {
    let Batch { ids, tags } = body(&mut call).await?;
    if ids.len() > BATCH_MAX {
        return Err(Error::Invalid(format!("there are at most {BATCH_MAX} ids")).into());
    }
    let things = ids.into_iter().map(|id| ((of, id), tags.clone())).collect();
    api.courses.change_tags(Change::Add, things, call.now.0).await?;
    Ok(done())
}

/// Makes the handlers of what has tags.
macro_rules! tagged {
    ($($get:ident $put:ident $delete:ident $put_all:ident $of:ident;)*) => {$(
        pub(crate) async fn $get(api: Api, call: Call) -> Result<Response, Problem> {
            get(&api, &call, Tagged::$of).await
        }

        pub(crate) async fn $put(api: Api, call: Call) -> Result<Response, Problem> {
            change(api, call, Tagged::$of, Change::Add).await
        }

        pub(crate) async fn $delete(api: Api, call: Call) -> Result<Response, Problem> {
            change(api, call, Tagged::$of, Change::Remove).await
        }

        pub(crate) async fn $put_all(api: Api, call: Call) -> Result<Response, Problem> {
            put_all(api, call, Tagged::$of).await
        }
    )*};
}

tagged! {
    get_of_course put_of_course delete_of_course put_of_courses Course;
    get_of_registration put_of_registration delete_of_registration put_of_registrations Registration;
    get_of_learner put_of_learner delete_of_learner put_of_learners Learner;
}
