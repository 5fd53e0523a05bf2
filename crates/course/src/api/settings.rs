//! Settings of courses, versions and registrations over HTTP.
//!
//! The value in force is the registration's, else the version's, else the course's, else the default.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use homeroom_store::Sql;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, done, json, number};
use super::request::body;
use crate::course::Course;
use crate::error::Error;
use crate::registration::Registration;
use crate::row::write;
use crate::sql;
use crate::version::{Settings, Version};

/// Most characters of a value.
const VALUE_CHARS_MAX: usize = 4_000;

/// A setting: its name, its type, its default, and what it does here.
struct Known {
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    about: &'static str,
}

const NO_EFFECT: &str = "Kept for clients that set it; it has no effect on this server yet.";

/// The settings that can be set.
const KNOWN: &[Known] = &[
    Known {
        name: "PlayerCommCommitFrequency",
        kind: "int",
        default: "20000",
        about: "Milliseconds between two commits of the player.",
    },
    of_no_effect("PlayerCommMaxFailedSubmissions", "int", "3"),
    of_no_effect("PlayerLaunchType", "string", "frameset"),
    of_no_effect("PlayerScoLaunchType", "string", "frameset"),
    of_no_effect("PlayerStatusRollupModeValue", "string", "status-provided-by-course"),
    of_no_effect("PlayerScoreRollupModeValue", "string", "average-same-as-scorm-engine"),
    of_no_effect("PlayerScoreOverridesStatus", "boolean", "false"),
    of_no_effect("PlayerResetRunTimeData", "string", "never"),
    of_no_effect("PlayerLaunchCompletedRegsAsNoCredit", "boolean", "false"),
    of_no_effect("PlayerAllowCompleteStatusChange", "boolean", "true"),
    of_no_effect("PlayerFinishCausesImmediateCommit", "boolean", "true"),
    of_no_effect("PlayerWrapScoWindowWithApi", "boolean", "false"),
    of_no_effect("WhenToRestartRegistration", "string", "never"),
    of_no_effect("ApiUseSignedLaunchLinks", "boolean", "true"),
];

const fn of_no_effect(name: &'static str, kind: &'static str, default: &'static str) -> Known {
    Known { name, kind, default, about: NO_EFFECT }
}

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
    let mut all = Settings::new();
    for Posted { setting_id, value } in posted.settings {
        let shown = crate::error::shown(&setting_id);
        let known = KNOWN.iter().find(|known| known.name == setting_id);
        let known = known.ok_or_else(|| Error::Invalid(format!("{shown} is no setting")))?;
        let value = value.unwrap_or_default();
        let fits = match known.kind {
            "int" => value.parse::<u32>().is_ok(),
            "boolean" => matches!(value.as_str(), "true" | "false"),
            _ => value.chars().count() <= VALUE_CHARS_MAX,
        };
        if !fits {
            return Err(Error::Invalid(format!("the value of {shown} is of type {}", known.kind)));
        }
        all.insert(setting_id, value);
    }
    Ok(all)
}

/// The settings of each level, the nearest first, with the name of its source in the API.
type Levels = Vec<(&'static str, Settings)>;

fn shown(levels: &Levels, with_metadata: bool) -> Value {
    let items = KNOWN.iter().map(|known| {
        let found = levels
            .iter()
            .find_map(|(source, settings)| Some((*source, settings.get(known.name)?.as_str())));
        let (source, value) = found.unwrap_or(("default", known.default));
        let own = levels.first().and_then(|(_, settings)| settings.get(known.name));
        let mut item = json!({
            "id": known.name,
            "effectiveValue": value,
            "effectiveValueSource": source,
            "explicitValue": own,
        });
        if with_metadata {
            item["metadata"] = json!({
                "default": known.default,
                "dataType": known.kind,
                "settingDescription": known.about,
                "level": source,
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

pub(crate) async fn get_of_course(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    answer(&call, &vec![("course", course.settings)])
}

pub(crate) async fn get_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let course = api.courses.course(call.params.get("course")).await?;
    let version = api.courses.version(&course.id, number(&call, "version")?, call.now.0).await?;
    answer(&call, &vec![("course", version.settings.clone()), ("course", course.settings)])
}

pub(crate) async fn get_of_registration(api: Api, call: Call) -> Result<Response, Problem> {
    let found = api.courses.registration(call.params.get("registration"), None).await?;
    let course = api.courses.course(&found.course).await?;
    let version = api.courses.version(&found.course, found.version, call.now.0).await?;
    let levels = vec![
        ("registration", found.settings),
        ("course", version.settings.clone()),
        ("course", course.settings),
    ];
    answer(&call, &levels)
}

fn text_of(settings: &Settings) -> Result<String, Error> {
    serde_json::to_string(settings).map_err(|_| Error::damaged("settings"))
}

type Changing = dyn Fn(&mut Settings) + Send + Sync;

async fn change_course(
    api: &Api,
    call: &Call,
    change: std::sync::Arc<Changing>,
) -> Result<(), Error> {
    let (id, now) = (call.params.get("course").to_owned(), call.now.0);
    let ask = Sql::new(sql::COURSE, vec![id.as_str().into()]);
    api.courses
        .change(ask, move |row| {
            let mut course = Course::of(row.ok_or_else(|| Error::no_course(&id))?)?;
            change(&mut course.settings);
            let text = text_of(&course.settings)?;
            let arguments = vec![id.as_str().into(), text.into(), now.into()];
            Ok((vec![write(sql::COURSE_SETTINGS, arguments)], ()))
        })
        .await
}

async fn change_version(
    api: &Api,
    call: &Call,
    change: std::sync::Arc<Changing>,
) -> Result<(), Problem> {
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
    change: std::sync::Arc<Changing>,
) -> Result<(), Error> {
    let (id, now) = (call.params.get("registration").to_owned(), call.now.0);
    let ask = Sql::new(sql::REGISTRATION, vec![id.as_str().into()]);
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

async fn posted(call: &mut Call) -> Result<std::sync::Arc<Changing>, Error> {
    let sent: PostedSettings = body(call).await?;
    let new = read_posted(sent)?;
    Ok(std::sync::Arc::new(move |known: &mut Settings| known.extend(new.clone())))
}

fn without(call: &Call) -> std::sync::Arc<Changing> {
    let name = call.params.get("setting").to_owned();
    std::sync::Arc::new(move |known: &mut Settings| {
        known.remove(&name);
    })
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
    change_registration(&api, &call, change).await?;
    Ok(done())
}

pub(crate) async fn delete_of_registration(api: Api, call: Call) -> Result<Response, Problem> {
    change_registration(&api, &call, without(&call)).await?;
    Ok(done())
}
