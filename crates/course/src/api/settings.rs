//! Settings over HTTP: of all courses, of a standard, of courses, versions and registrations.
//!
//! The value in force is the registration's, else the version's, else the course's, else the standard's,
//! else that of all courses, else the default.

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
use crate::package::Standard;
use crate::registration::Registration;
use crate::row::write;
use crate::settings::{KNOWN, Known, Levels, MASK, Settings, Type, found, read_settings};
use crate::sql;
use crate::version::Version;

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
/// Names the first that is not known, or whose value is of another type.
pub(crate) fn read_posted(posted: PostedSettings) -> Result<Settings, Error> {
    let pairs = posted.settings.into_iter();
    read_settings(pairs.map(|one| (one.setting_id, one.value.unwrap_or_default())))
}

/// Returns a value as it may be shown.
fn masked(known: &Known, value: &str) -> String {
    let is_hidden = known.kind == Type::Secret && !value.is_empty();
    if is_hidden { MASK.into() } else { value.to_owned() }
}

fn shown(levels: &Levels, with_metadata: bool) -> Value {
    let items = KNOWN.iter().map(|known| {
        let (source, value) = found(levels, known.name).unwrap_or(("default", known.default));
        let own = levels.first().and_then(|(_, settings)| settings.get(known.name));
        let mut item = json!({
            "id": known.name,
            "effectiveValue": masked(known, value),
            "effectiveValueSource": source,
            "explicitValue": own.map(|own| masked(known, own)),
        });
        if with_metadata {
            let words: &[&str] = if let Type::Word(words) = known.kind { words } else { &[] };
            let words = words.iter().map(|word| json!({ "value": word }));
            item["metadata"] = json!({
                "default": known.default,
                "dataType": known.kind.name(),
                "settingDescription": known.about,
                "level": "registration",
                "learningStandards": Standard::ALL.map(Standard::name),
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
    let standard = Standard::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name));
    let standard = standard.ok_or_else(|| {
        let names = Standard::ALL.map(Standard::name).join(", ");
        Error::Invalid(format!("learningStandard is one of {names}"))
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
    api.courses.change_level(level, without(&call)?, call.now.0).await?;
    Ok(done())
}

pub(crate) async fn get_of_course(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let version = api.courses.version(&course.id, course.newest, call.now.0).await?;
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

fn text_of(settings: &Settings) -> Result<String, Error> {
    serde_json::to_string(settings).map_err(|_| Error::damaged("settings"))
}

type Changing = dyn Fn(&mut Settings) + Send + Sync;

async fn change_course(api: &Api, call: &Call, change: Arc<Changing>) -> Result<(), Error> {
    let (id, now) = (call.params.get("course").to_owned(), call.now.0);
    let ask = Sql::new(sql::COURSE, vec![id.as_str().into()]);
    let course = id.clone();
    let changed = api.courses.change(ask, move |row| {
        let mut course = Course::of(row.ok_or_else(|| Error::no_course(&id))?)?;
        change(&mut course.settings);
        let text = text_of(&course.settings)?;
        let arguments = vec![id.as_str().into(), text.into(), now.into()];
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
        change(&mut version.settings);
        let text = text_of(&version.settings)?;
        let arguments = vec![id.as_str().into(), number.into(), text.into(), now.into()];
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
            change(&mut found.settings);
            let text = text_of(&found.settings)?;
            let arguments =
                vec![id.as_str().into(), found.instance.into(), text.into(), now.into()];
            Ok((vec![write(sql::REGISTRATION_SETTINGS, arguments)], ()))
        })
        .await
}

async fn posted(call: &mut Call) -> Result<Arc<Changing>, Error> {
    let sent: PostedSettings = body(call).await?;
    let new = read_posted(sent)?;
    Ok(Arc::new(move |known: &mut Settings| known.extend(new.clone())))
}

/// Returns the change that takes a setting away.
fn without(call: &Call) -> Result<Arc<Changing>, Error> {
    let name = call.params.get("setting").to_owned();
    if !KNOWN.iter().any(|known| known.name == name) {
        return Err(Error::Unknown(format!("setting {}", crate::error::shown(&name))));
    }
    Ok(Arc::new(move |known: &mut Settings| {
        known.remove(&name);
    }))
}

pub(crate) async fn post_of_course(api: Api, mut call: Call) -> Result<Response, Problem> {
    let change = posted(&mut call).await?;
    change_course(&api, &call, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_course(api: Api, call: Call) -> Result<Response, Problem> {
    change_course(&api, &call, without(&call)?).await?;
    Ok(done())
}

pub(crate) async fn post_of_version(api: Api, mut call: Call) -> Result<Response, Problem> {
    let change = posted(&mut call).await?;
    change_version(&api, &call, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    change_version(&api, &call, without(&call)?).await?;
    Ok(done())
}

pub(crate) async fn post_of_registration(api: Api, mut call: Call) -> Result<Response, Problem> {
    let change = posted(&mut call).await?;
    change_registration(&api, &call, None, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_registration(api: Api, call: Call) -> Result<Response, Problem> {
    change_registration(&api, &call, None, without(&call)?).await?;
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
    change_registration(&api, &call, instance, without(&call)?).await?;
    Ok(done())
}
