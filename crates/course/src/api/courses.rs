//! Courses over HTTP.

use homeroom_access::Call;
use homeroom_http::{Problem, Query, Response};
use homeroom_store::Sql;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, counted, done, json, number};
use super::listed::{After, Key, Kind, Listed, PAGE, given, opened, sealed};
use super::request::{body, flag};
use crate::answers::Position;
use crate::course::Course;
use crate::courses::Courses;
use crate::error::Error;
use crate::package::{Activity, ActivityType};
use crate::report::{moment, scaled_passing_score};
use crate::row::{Columns, write};
use crate::sql;
use crate::version::Version;

/// Most characters of a title.
const TITLE_CHARS_MAX: usize = 1_000;

/// The list of courses.
static COURSES: Kind = Kind {
    name: "courses",
    moment: "updated",
    fields: &["course_id", "title", "tags"],
    others: &["includeCourseMetadata", "includeRegistrationCount"],
};

/// The list of a course's versions.
static VERSIONS: Kind = Kind { name: "versions", fields: &[], ..COURSES };

pub(crate) async fn list(api: Api, call: Call) -> Result<Response, Problem> {
    let query = call.query()?;
    let secret = api.courses.page_secret(call.now.0).await?;
    let asked = Listed::read(&COURSES, &query, &secret)?;
    let order = asked.order(&sql::lists::COURSES, "created_desc")?;
    let (arguments, _) = asked.page(order);
    let rows = api.courses.list(order.pages[0], arguments).await?;
    let mut shown = vec![];
    for row in rows.iter().take(PAGE) {
        let course = Course::of(row)?;
        let version = api.courses.version(&course.id, course.current, call.now.0).await?;
        shown.push(course_shown(&api.courses, &course, &version, &asked.query, false).await?);
    }
    let mut answer = json!({ "courses": shown });
    if let Some(last) = rows.get(PAGE - 1).filter(|_| rows.len() > PAGE) {
        let after = After(Key::of(last)?, Course::of(last)?.id, 0);
        answer["more"] = asked.more(after, &secret).into();
    }
    let count = if asked.is_counted(&query) {
        let rows = api.courses.list(sql::lists::COURSES_COUNT, asked.filters()).await?;
        rows.first().and_then(|row| row.first()?.as_integer())
    } else {
        None
    };
    Ok(counted(&answer, count))
}

pub(crate) async fn get(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let version = api.courses.version(&course.id, course.current, call.now.0).await?;
    let query = call.query()?;
    Ok(json(&course_shown(&api.courses, &course, &version, &query, true).await?))
}

/// Answers how the interactions and objectives of a course went.
pub(crate) async fn answers(api: Api, call: Call) -> Result<Response, Problem> {
    let course = call.params.get("course");
    let query = call.query()?;
    let secret = api.courses.page_secret(call.now.0).await?;
    let list = format!("answers of {course}");
    let from = match given(&query, "more") {
        Some(more) => opened(more, &list, &secret)?,
        None => Position::default(),
    };
    let found = api.courses.answers(course, from, PAGE).await?;
    let more = found.next.as_ref().map(|next| sealed(next, &list, &secret));
    let mut answer = found.shown(course);
    if let Some(more) = more {
        answer["more"] = more.into();
    }
    Ok(json(&answer))
}

pub(crate) async fn get_version(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let version = api.courses.version(&course.id, number(&call, "version")?, call.now.0).await?;
    let query = call.query()?;
    Ok(json(&course_shown(&api.courses, &course, &version, &query, true).await?))
}

pub(crate) async fn versions(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let query = call.query()?;
    let secret = api.courses.page_secret(call.now.0).await?;
    let asked = Listed::read(&VERSIONS, &query, &secret)?;
    let mut shown = vec![];
    for version in api.courses.versions(&course.id).await? {
        if asked.has(version.created, updated(&course, &version)) {
            shown.push(course_shown(&api.courses, &course, &version, &query, true).await?);
        }
    }
    Ok(json(&json!({ "courses": shown })))
}

pub(crate) async fn delete(api: Api, call: Call) -> Result<Response, Problem> {
    api.courses.delete_course(call.params.get("course"), call.now.0).await?;
    Ok(done())
}

pub(crate) async fn delete_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    api.courses.delete_version(call.params.get("course"), version, call.now.0).await?;
    Ok(done())
}

#[derive(Debug, Deserialize)]
struct CurrentVersion {
    version: i64,
}

/// Makes a version the one that new registrations get: an earlier one, or a later one again.
pub(crate) async fn put_current(api: Api, mut call: Call) -> Result<Response, Problem> {
    let CurrentVersion { version } = body(&mut call).await?;
    api.courses.make_current(call.params.get("course"), version, call.now.0).await?;
    Ok(done())
}

#[derive(Debug, Deserialize)]
struct Title {
    title: String,
}

pub(crate) async fn put_title(api: Api, mut call: Call) -> Result<Response, Problem> {
    let Title { title } = body(&mut call).await?;
    if title.trim().is_empty() || title.chars().count() > TITLE_CHARS_MAX {
        let message = format!("title has 1 to {TITLE_CHARS_MAX} characters");
        return Err(Error::Invalid(message).into());
    }
    let (id, now) = (call.params.get("course").to_owned(), call.now.0);
    let ask = Sql::new(sql::COURSE, vec![id.as_str().into()]);
    let course = id.clone();
    let change = api.courses.change(ask, move |row| {
        let found = Course::of(row.ok_or_else(|| Error::no_course(&course))?)?;
        let of_version =
            vec![course.as_str().into(), found.current.into(), title.as_str().into(), now.into()];
        let of_course = vec![course.as_str().into(), title.as_str().into(), now.into()];
        Ok((vec![write(sql::COURSE_TITLE, of_course), write(sql::VERSION_TITLE, of_version)], ()))
    });
    change.await?;
    api.courses.forget(&id);
    Ok(done())
}

/// Returns a course with one of its versions, as the API shows it.
pub(crate) async fn course_shown(
    courses: &Courses,
    course: &Course,
    version: &Version,
    query: &Query,
    with_tree: bool,
) -> Result<Value, Error> {
    let mut shown = json!({
        "id": course.id,
        "title": version.title,
        "xapiActivityId": format!("urn:homeroom:course:{}", percent(&course.id)),
        "created": moment(version.created),
        "updated": moment(updated(course, version)),
        "version": version.version,
        "current": version.version == course.current,
        "activityId": version.tree.id,
        "courseLearningStandard": version.standard.shown(),
        "tags": course.tags,
        "dispatched": false,
    });
    if flag(query, "includeRegistrationCount") {
        let row = courses.row(sql::REGISTRATIONS_OF_COURSE, vec![course.id.as_str().into()]);
        let count = row.await?.map(|row| Columns::of(&row, "a count").number()).transpose()?;
        shown["registrationCount"] = count.unwrap_or(0).into();
    }
    if flag(query, "includeCourseMetadata") {
        let language = version.about.languages.first().cloned().unwrap_or_default();
        shown["metadata"] = json!({
            "title": version.title,
            "titleLanguage": language,
            "description": version.about.description.clone().unwrap_or_default(),
            "descriptionLanguage": language,
            "duration": version.about.duration,
            "keywords": [],
        });
    }
    if with_tree {
        shown["rootActivity"] = activity_shown(&version.tree);
    }
    Ok(shown)
}

/// Returns when a version was changed; the current one is changed with its course.
fn updated(course: &Course, version: &Version) -> i64 {
    let is_current = version.version == course.current;
    if is_current { version.updated.max(course.updated) } else { version.updated }
}

fn percent(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn activity_shown(activity: &Activity) -> Value {
    let kind = match activity.kind {
        ActivityType::Sco => "SCO",
        ActivityType::Aggregation => "AGGREGATION",
        ActivityType::Asset | ActivityType::Media | ActivityType::Link => "ASSET",
    };
    json!({
        "externalIdentifier": activity.id,
        "itemIdentifier": activity.id,
        "resourceIdentifier": activity.resource.clone().unwrap_or_default(),
        "activityType": kind,
        "href": activity.href.clone().unwrap_or_default(),
        "scaledPassingScore": scaled_passing_score(activity).map(|score| score.to_string()),
        "title": activity.title,
        "children": activity.children.iter().map(activity_shown).collect::<Vec<_>>(),
    })
}
