//! Settings over HTTP: of all courses, of a standard, of courses, versions and registrations.
//!
//! The value in force is the registration's, else the version's, else the course's, else the standard's,
//! else that of all courses, else the default.

use std::collections::BTreeSet;
use std::sync::Arc;

use homeroom_access::Call;
use homeroom_http::{Problem, Query, Response};
use homeroom_store::Sql;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, done, json, number};
use super::request::body;
use crate::course::Course;
use crate::error::Error;
use crate::level::Level;
use crate::registration::Registration;
use crate::row::{json_column, write};
use crate::settings::{
    Changing, KNOWN, Levels, MASK, NO_EFFECT, Settings, Type, add, found, known_setting,
    read_settings, take,
};
use crate::sql;
use crate::version::Version;

/// The standards that have settings of their own: those of the API, of which some have no courses here.
const STANDARDS: [&str; 11] = [
    "SCORM11",
    "SCORM12",
    "SCORM20042NDEDITION",
    "SCORM20043RDEDITION",
    "SCORM20044THEDITION",
    "AICC",
    "XAPI",
    "CMI5",
    "LTI13",
    "MEDIA",
    "WEBLINK",
];

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PostedSettings {
    #[serde(default)]
    settings: Vec<Posted>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Posted {
    setting_id: String,
    #[serde(default)]
    value: Option<String>,
}

/// Reads settings.
///
/// # Errors
///
/// Names the first that cannot be one, or whose value is of another type.
pub(crate) fn read_posted(posted: PostedSettings) -> Result<Settings, Error> {
    let pairs = posted.settings.into_iter();
    read_settings(pairs.map(|one| (one.setting_id, one.value.unwrap_or_default())))
}

/// Returns a value as it may be shown.
fn masked(kind: Type, value: &str) -> String {
    let is_hidden = kind == Type::Secret && !value.is_empty();
    if is_hidden { MASK.into() } else { value.to_owned() }
}

/// Returns the settings that are known, and those that some level has besides.
fn shown(levels: &Levels, with_metadata: bool) -> Value {
    let others = levels.iter().flat_map(|(_, settings)| settings.keys());
    let others: BTreeSet<&str> =
        others.map(String::as_str).filter(|name| known_setting(name).is_none()).collect();
    let known = KNOWN.iter().map(|one| (one.name, one.kind, one.default, one.about));
    let others = others.into_iter().map(|name| (name, Type::Text, "", NO_EFFECT));
    let items = known.chain(others).map(|(name, kind, default, about)| {
        let (source, value) = found(levels, name).unwrap_or(("default", default));
        let own = levels.first().and_then(|(_, settings)| settings.get(name));
        let mut item = json!({
            "id": name,
            "effectiveValue": masked(kind, value),
            "effectiveValueSource": source,
            "explicitValue": own.map(|own| masked(kind, own)),
        });
        if with_metadata {
            let words: &[&str] = if let Type::Word(words) = kind { words } else { &[] };
            let words = words.iter().map(|word| json!({ "value": word }));
            item["metadata"] = json!({
                "default": default,
                "dataType": kind.name(),
                "settingDescription": about,
                "level": "registration",
                "learningStandards": STANDARDS,
                "learningStandardVariant": "either",
                "validValues": words.collect::<Vec<_>>(),
            });
        }
        item
    });
    json!({ "settingItems": items.collect::<Vec<_>>() })
}

fn answer(call: &Call, levels: &Levels) -> Result<Response, Problem> {
    let with_metadata = super::request::flag(&call.query()?, "includeMetadata");
    Ok(json(&shown(levels, with_metadata)))
}

/// Reads the level that a request is about: all courses, or those of a standard.
fn level_of(query: &Query) -> Result<Level, Error> {
    let Some(name) = query.get("learningStandard").filter(|name| !name.is_empty()) else {
        return Ok(Level::Application);
    };
    let standard = STANDARDS.into_iter().find(|one| one.eq_ignore_ascii_case(name));
    let standard = standard.ok_or_else(|| {
        Error::Invalid(format!("learningStandard is one of {}", STANDARDS.join(", ")))
    })?;
    let is_single = match query.get("singleSco").map(str::to_ascii_lowercase).as_deref() {
        None | Some("") => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err(Error::Invalid("singleSco is true or false".into())),
    };
    Ok(Level::Standard(standard, is_single))
}

pub(crate) async fn get_of_application(api: Api, call: Call) -> Result<Response, Problem> {
    let level = level_of(&call.query()?)?;
    answer(&call, &api.courses.level(level, call.now.0).await?)
}

pub(crate) async fn post_of_application(api: Api, mut call: Call) -> Result<Response, Problem> {
    let level = level_of(&call.query()?)?;
    let change = posted(&mut call).await?;
    api.courses.change_level(level, change, call.now.0).await?;
    Ok(done())
}

pub(crate) async fn delete_of_application(api: Api, call: Call) -> Result<Response, Problem> {
    let level = level_of(&call.query()?)?;
    api.courses.change_level(level, without(&call), call.now.0).await?;
    Ok(done())
}

pub(crate) async fn get_of_course(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let version = api.courses.version(&course.id, course.current, call.now.0).await?;
    let mut levels = vec![("course", course.settings)];
    levels.extend(api.courses.levels_above(&version, call.now.0).await?);
    answer(&call, &levels)
}

pub(crate) async fn get_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let course = call.params.get("course");
    let version = api.courses.version(course, number(&call, "version")?, call.now.0).await?;
    answer(&call, &api.courses.levels_of(&version, call.now.0).await?)
}

pub(crate) async fn get_of_registration(api: Api, call: Call) -> Result<Response, Problem> {
    of_instance(&api, &call, None).await
}

pub(crate) async fn get_of_instance(api: Api, call: Call) -> Result<Response, Problem> {
    let instance = Some(number(&call, "instance")?);
    of_instance(&api, &call, instance).await
}

async fn of_instance(api: &Api, call: &Call, instance: Option<i64>) -> Result<Response, Problem> {
    let found = api.courses.registration(call.params.get("registration"), instance).await?;
    let version = api.courses.version(&found.course, found.version, call.now.0).await?;
    let mut levels = vec![("registration", found.settings)];
    levels.extend(api.courses.levels_of(&version, call.now.0).await?);
    answer(call, &levels)
}

async fn change_course(api: &Api, call: &Call, change: Arc<Changing>) -> Result<(), Error> {
    let (id, now) = (call.params.get("course").to_owned(), call.now.0);
    let ask = Sql::new(sql::COURSE, vec![id.as_str().into()]);
    let course = id.clone();
    let changed = api.courses.change(ask, move |row| {
        let mut course = Course::of(row.ok_or_else(|| Error::no_course(&id))?)?;
        change(&mut course.settings)?;
        let settings = json_column(&course.settings, "settings")?;
        let arguments = vec![id.as_str().into(), settings, now.into()];
        Ok((vec![write(sql::COURSE_SETTINGS, arguments)], ()))
    });
    changed.await?;
    api.courses.forget(&course);
    Ok(())
}

async fn change_version(api: &Api, call: &Call, change: Arc<Changing>) -> Result<(), Problem> {
    let (id, now) = (call.params.get("course").to_owned(), call.now.0);
    let number = number(call, "version")?;
    let ask = Sql::new(sql::VERSION, vec![id.as_str().into(), number.into()]);
    let course = id.clone();
    let changed = api.courses.change(ask, move |row| {
        let mut version = Version::of(row.ok_or_else(|| Error::no_course(&id))?)?;
        change(&mut version.settings)?;
        let settings = json_column(&version.settings, "settings")?;
        let arguments = vec![id.as_str().into(), number.into(), settings, now.into()];
        Ok((vec![write(sql::VERSION_SETTINGS, arguments)], ()))
    });
    changed.await?;
    api.courses.forget(&course);
    Ok(())
}

async fn change_registration(
    api: &Api,
    call: &Call,
    instance: Option<i64>,
    change: Arc<Changing>,
) -> Result<(), Error> {
    let (id, now) = (call.params.get("registration").to_owned(), call.now.0);
    let ask = match instance {
        None => Sql::new(sql::REGISTRATION, vec![id.as_str().into()]),
        Some(instance) => Sql::new(sql::INSTANCE, vec![id.as_str().into(), instance.into()]),
    };
    api.courses
        .change(ask, move |row| {
            let mut found = Registration::of(row.ok_or_else(|| Error::no_registration(&id))?)?;
            change(&mut found.settings)?;
            let settings = json_column(&found.settings, "settings")?;
            let arguments = vec![id.as_str().into(), found.instance.into(), settings, now.into()];
            Ok((vec![write(sql::REGISTRATION_SETTINGS, arguments)], ()))
        })
        .await
}

async fn posted(call: &mut Call) -> Result<Arc<Changing>, Error> {
    let sent: PostedSettings = body(call).await?;
    let new = read_posted(sent)?;
    Ok(Arc::new(move |known: &mut Settings| add(known, new.clone())))
}

/// Returns the change that takes a setting away.
fn without(call: &Call) -> Arc<Changing> {
    let name = call.params.get("setting").to_owned();
    Arc::new(move |known: &mut Settings| take(known, &name))
}

pub(crate) async fn post_of_course(api: Api, mut call: Call) -> Result<Response, Problem> {
    let change = posted(&mut call).await?;
    change_course(&api, &call, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_course(api: Api, call: Call) -> Result<Response, Problem> {
    change_course(&api, &call, without(&call)).await?;
    Ok(done())
}

pub(crate) async fn post_of_version(api: Api, mut call: Call) -> Result<Response, Problem> {
    let change = posted(&mut call).await?;
    change_version(&api, &call, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    change_version(&api, &call, without(&call)).await?;
    Ok(done())
}

pub(crate) async fn post_of_registration(api: Api, mut call: Call) -> Result<Response, Problem> {
    let change = posted(&mut call).await?;
    change_registration(&api, &call, None, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_registration(api: Api, call: Call) -> Result<Response, Problem> {
    change_registration(&api, &call, None, without(&call)).await?;
    Ok(done())
}

pub(crate) async fn post_of_instance(api: Api, mut call: Call) -> Result<Response, Problem> {
    let instance = Some(number(&call, "instance")?);
    let change = posted(&mut call).await?;
    change_registration(&api, &call, instance, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_instance(api: Api, call: Call) -> Result<Response, Problem> {
    let instance = Some(number(&call, "instance")?);
    change_registration(&api, &call, instance, without(&call)).await?;
    Ok(done())
}
