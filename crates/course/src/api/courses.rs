//! Courses over HTTP.

use homeroom_access::Call;
use homeroom_http::{Problem, Query, Response};
use homeroom_store::Sql;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, counted, done, json, number};
use super::request::{PAGE, body, flag, listed, more};
use crate::course::Course;
use crate::courses::Courses;
use crate::error::Error;
use crate::package::{Activity, ActivityType};
use crate::report::moment;
use crate::row::{Columns, write};
use crate::sql;
use crate::version::Version;

/// Most characters of a title.
const TITLE_CHARS_MAX: usize = 1_000;

pub(crate) async fn list(api: Api, call: Call) -> Result<Response, Problem> {
    let query = call.query()?;
    let asked = listed(&query)?;
    let (moment, id, _) = asked.after.clone();
    let [tag, other_tags @ ..] = asked.tags;
    let mut arguments = vec![
        moment.into(),
        id.into(),
        asked.updated.0.into(),
        asked.updated.1.into(),
        asked.created.0.into(),
        asked.created.1.into(),
        asked.filter.as_str().into(),
        tag.as_str().into(),
        i64::try_from(PAGE + 1).unwrap_or(i64::MAX).into(),
    ];
    arguments.extend(other_tags.iter().map(|tag| tag.as_str().into()));
    let rows = api.courses.list(sql::COURSES, arguments).await?;
    let all = rows.iter().map(Course::of).collect::<Result<Vec<_>, _>>()?;
    let mut shown = vec![];
    for course in all.iter().take(PAGE) {
        let version = api.courses.version(&course.id, course.newest, call.now.0).await?;
        shown.push(course_shown(&api.courses, course, &version, &query, false).await?);
    }
    let mut answer = json!({ "courses": shown });
    if let Some(last) = all.get(PAGE - 1).filter(|_| all.len() > PAGE) {
        answer["more"] = more(last.created, &last.id, 0).into();
    }
    let count = if asked.is_counted {
        let mut arguments = vec![
            asked.updated.0.into(),
            asked.updated.1.into(),
            asked.created.0.into(),
            asked.created.1.into(),
            asked.filter.into(),
            tag.into(),
        ];
        arguments.extend(other_tags.into_iter().map(Into::into));
        let row = api.courses.list(sql::COURSES_COUNT, arguments).await?;
        row.first().and_then(|row| row.first()?.as_integer())
    } else {
        None
    };
    Ok(counted(&answer, count))
}

pub(crate) async fn get(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let version = api.courses.version(&course.id, course.newest, call.now.0).await?;
    let query = call.query()?;
    Ok(json(&course_shown(&api.courses, &course, &version, &query, true).await?))
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
    let mut shown = vec![];
    for version in api.courses.versions(&course.id).await? {
        shown.push(course_shown(&api.courses, &course, &version, &query, true).await?);
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
            vec![course.as_str().into(), found.newest.into(), title.as_str().into(), now.into()];
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
        "updated": moment(version.updated.max(course.updated)),
        "version": version.version,
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
            "keywords": [],
        });
    }
    if with_tree {
        shown["rootActivity"] = activity_shown(&version.tree);
    }
    Ok(shown)
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
    let passing = activity.mastery_score.as_deref().and_then(|score| score.parse::<f64>().ok());
    json!({
        "externalIdentifier": activity.id,
        "itemIdentifier": activity.id,
        "resourceIdentifier": activity.resource.clone().unwrap_or_default(),
        "activityType": kind,
        "href": activity.href.clone().unwrap_or_default(),
        "scaledPassingScore": passing.map(|score| (score / 100.0).to_string()),
        "title": activity.title,
        "children": activity.children.iter().map(activity_shown).collect::<Vec<_>>(),
    })
}
