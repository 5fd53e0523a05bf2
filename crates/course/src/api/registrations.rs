//! Registrations, their launches and their reports over HTTP.

use std::collections::BTreeMap;

use homeroom_access::Call;
use homeroom_http::{Problem, Query, Response};
use homeroom_store::Uuid;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, counted, done, json, number};
use super::listed::{After, Key, Kind, Listed, PAGE, limit, no_such_page};
use super::post_back::PostBack;
use super::request::{body, flag, id};
use super::settings::{PostedSettings, read_posted};
use crate::error::Error;
use crate::launch::{EXPIRY_SECONDS, EXPIRY_SECONDS_MAX};
use crate::launch_record::{LaunchOptions, exit_of};
use crate::learner::NamedLearner;
use crate::options::micros;
use crate::registration::{NewRegistration, Registration};
use crate::report::{Attempts, Detail, moment, report};
use crate::run_time::Outcome;
use crate::sql;
use crate::tags::{Change, Tagged, clean};

/// Most characters of a learner's names and address.
const NAME_CHARS_MAX: usize = 1_000;

/// A learner as the API sends it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LearnerBody {
    pub(crate) id: String,
    pub(crate) first_name: Option<String>,
    pub(crate) last_name: Option<String>,
    pub(crate) email: Option<String>,
}

impl LearnerBody {
    pub(crate) fn read(self, tags: Vec<String>) -> Result<NamedLearner, Error> {
        let id = id(&self.id, "learner.id")?.to_owned();
        let short = |text: Option<String>, what: &str| {
            if text.as_ref().is_some_and(|text| text.chars().count() > NAME_CHARS_MAX) {
                let message = format!("learner.{what} has more than {NAME_CHARS_MAX} characters");
                return Err(Error::Invalid(message));
            }
            Ok(text)
        };
        Ok(NamedLearner {
            id,
            first_name: short(self.first_name, "firstName")?,
            last_name: short(self.last_name, "lastName")?,
            email: short(self.email, "email")?,
            tags,
        })
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Create {
    course_id: String,
    registration_id: String,
    learner: LearnerBody,
    #[serde(default)]
    learner_tags: Vec<String>,
    #[serde(default)]
    course_tags: Vec<String>,
    #[serde(default)]
    registration_tags: Vec<String>,
    #[serde(default)]
    post_back: Option<PostBack>,
    #[serde(default)]
    initial_settings: Option<PostedSettings>,
    #[serde(default)]
    initial_registration_state: Option<Value>,
    #[serde(default)]
    xapi_registration_id: Option<String>,
}

fn read_new(create: Create, version: Option<i64>) -> Result<NewRegistration, Error> {
    if create.initial_registration_state.as_ref().is_some_and(|state| !state.is_null()) {
        let message = "initialRegistrationState is not offered; create the registration without it";
        return Err(Error::NotOffered(message.into()));
    }
    let mut settings = create.initial_settings.map(read_posted).transpose()?.unwrap_or_default();
    if let Some(post_back) = create.post_back {
        settings.extend(post_back.settings()?);
    }
    Ok(NewRegistration {
        id: id(&create.registration_id, "registrationId")?.to_owned(),
        course: id(&create.course_id, "courseId")?.to_owned(),
        version,
        learner: create.learner.read(clean(create.learner_tags)?)?,
        settings,
        tags: clean(create.registration_tags)?,
        course_tags: clean(create.course_tags)?,
        xapi: xapi_of(create.xapi_registration_id)?,
    })
}

/// Returns the id under which xAPI knows a registration: the one that is sent, or a new one.
fn xapi_of(sent: Option<String>) -> Result<String, Error> {
    let id = match sent.filter(|id| !id.is_empty()) {
        None => Uuid::new(),
        Some(text) => Uuid::read(&text)
            .ok_or_else(|| Error::Invalid("xapiRegistrationId is no UUID".into()))?,
    };
    let hex = id.to_string();
    let (parts, mut all) = ([0..8, 8..12, 12..16, 16..20, 20..32], vec![]);
    all.extend(parts.into_iter().filter_map(|part| hex.get(part)));
    Ok(all.join("-"))
}

pub(crate) async fn create(api: Api, mut call: Call) -> Result<Response, Problem> {
    let create: Create = body(&mut call).await?;
    let query = call.query()?;
    let version = match query.get("courseVersion").filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(
            text.parse().map_err(|_| Error::Invalid("courseVersion is a whole number".into()))?,
        ),
    };
    api.courses.register(read_new(create, version)?, call.now.0).await?;
    Ok(done())
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LinkBody {
    expiry: Option<i64>,
    redirect_on_exit_url: Option<String>,
    tracking: Option<bool>,
    force_review: Option<bool>,
    start_sco: Option<String>,
    culture: Option<String>,
    css_url: Option<String>,
    learner_tags: Vec<String>,
    course_tags: Vec<String>,
    registration_tags: Vec<String>,
    additionalvalues: Vec<Value>,
    launch_auth: Option<Value>,
}

impl LinkBody {
    /// Returns the tags that a launch adds to its registration, course and learner.
    fn tags(&self, of: &Registration) -> BTreeMap<(Tagged, String), Vec<String>> {
        [
            (Tagged::Registration, &of.id, &self.registration_tags),
            (Tagged::Course, &of.course, &self.course_tags),
            (Tagged::Learner, &of.learner, &self.learner_tags),
        ]
        .into_iter()
        .filter(|(_, _, tags)| !tags.is_empty())
        .map(|(kind, id, tags)| ((kind, id.clone()), tags.clone()))
        .collect()
    }

    fn read(self) -> Result<(LaunchOptions, i64), Error> {
        for (is_sent, name) in [
            (!self.additionalvalues.is_empty(), "additionalvalues"),
            (self.launch_auth.is_some_and(|auth| !auth.is_null()), "launchAuth"),
        ] {
            if is_sent {
                let message = format!("{name} is not offered; ask for the link without it");
                return Err(Error::NotOffered(message));
            }
        }
        let short = |text: Option<String>, what: &str| {
            let text = text.unwrap_or_default();
            if text.len() > 4_096 || text.chars().any(char::is_control) {
                return Err(Error::Invalid(format!("{what} is too long or cannot be shown")));
            }
            Ok(text)
        };
        let expiry = match self.expiry.unwrap_or(0) {
            0 => EXPIRY_SECONDS,
            seconds if (1..=EXPIRY_SECONDS_MAX).contains(&seconds) => seconds,
            _ => {
                let message =
                    format!("expiry is a number of seconds from 1 to {EXPIRY_SECONDS_MAX}");
                return Err(Error::Invalid(message));
            }
        };
        let exit_url = exit_of(&short(self.redirect_on_exit_url, "redirectOnExitUrl")?)?;
        let options = LaunchOptions {
            exit_url,
            is_untracked: self.tracking == Some(false),
            is_review: self.force_review == Some(true),
            start: short(self.start_sco, "startSco")?,
            culture: short(self.culture, "culture")?,
            css_url: short(self.css_url, "cssUrl")?,
        };
        Ok((options, expiry))
    }
}

async fn link(
    api: &Api,
    call: &Call,
    registration: &str,
    asked: LinkBody,
) -> Result<Response, Problem> {
    let found = api.courses.registration(registration, None).await?;
    let tags = asked.tags(&found);
    let (options, expiry) = asked.read()?;
    let version = (found.course.as_str(), found.version);
    let known = api.courses.version(version.0, version.1, call.now.0).await?;
    if !options.start.is_empty() && known.tree.find(&options.start).is_none() {
        let message = "startSco is no activity of the course";
        return Err(Error::Invalid(message.into()).into());
    }
    if !tags.is_empty() {
        api.courses.change_tags(Change::Add, tags, call.now.0).await?;
    }
    let secret =
        api.courses.add_launch(Some(&found), version, &options, expiry, call.now.0).await?;
    Ok(linked(api, call, &secret))
}

fn linked(api: &Api, call: &Call, secret: &str) -> Response {
    json(&json!({ "launchLink": format!("{}/play/{secret}", api.origins.api(call)) }))
}

pub(crate) async fn launch_link(api: Api, mut call: Call) -> Result<Response, Problem> {
    let asked: LinkBody = body(&mut call).await?;
    let registration = call.params.get("registration").to_owned();
    link(&api, &call, &registration, asked).await
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateWithLink {
    registration: Create,
    #[serde(default)]
    launch_link: LinkBody,
}

pub(crate) async fn create_with_launch_link(api: Api, mut call: Call) -> Result<Response, Problem> {
    let CreateWithLink { registration, launch_link } = body(&mut call).await?;
    let new = read_new(registration, None)?;
    let id = new.id.clone();
    api.courses.register(new, call.now.0).await?;
    link(&api, &call, &id, launch_link).await
}

pub(crate) async fn preview(api: Api, call: Call) -> Result<Response, Problem> {
    let version = api.courses.course(call.params.get("course")).await?.current;
    previewed(&api, call, version).await
}

pub(crate) async fn preview_of_version(api: Api, call: Call) -> Result<Response, Problem> {
    let version = number(&call, "version")?;
    previewed(&api, call, version).await
}

/// Launches a course for nobody: nothing is recorded.
async fn previewed(api: &Api, mut call: Call, version: i64) -> Result<Response, Problem> {
    let asked: LinkBody = body(&mut call).await?;
    let (options, expiry) = asked.read()?;
    let course = call.params.get("course");
    api.courses.version(course, version, call.now.0).await?;
    let secret =
        api.courses.add_launch(None, (course, version), &options, expiry, call.now.0).await?;
    Ok(linked(api, &call, &secret))
}

fn detail_of(query: &Query) -> Detail {
    Detail {
        children: flag(query, "includeChildResults"),
        interactions: flag(query, "includeInteractionsAndObjectives"),
        runtime: flag(query, "includeRuntime"),
    }
}

async fn reported(
    api: &Api,
    registration: &Registration,
    detail: Detail,
    now: i64,
) -> Result<Value, Error> {
    let version = api.courses.version(&registration.course, registration.version, now).await?;
    let learner = api.courses.learner(&registration.learner).await?;
    let key = (registration.id.as_str(), registration.instance);
    let states = api.courses.states(key.0, key.1).await?;
    let ended = if detail.runtime || detail.interactions {
        api.courses.ended_attempts(key.0, key.1).await?
    } else {
        BTreeMap::new()
    };
    let attempts = Attempts { states: &states, ended: &ended };
    Ok(report(registration, &version, learner.as_ref(), attempts, detail))
}

pub(crate) async fn get(api: Api, call: Call) -> Result<Response, Problem> {
    let registration = api.courses.registration(call.params.get("registration"), None).await?;
    let detail = detail_of(&call.query()?);
    Ok(json(&reported(&api, &registration, detail, call.now.0).await?))
}

pub(crate) async fn get_instance(api: Api, call: Call) -> Result<Response, Problem> {
    let instance = Some(number(&call, "instance")?);
    let registration = api.courses.registration(call.params.get("registration"), instance).await?;
    let detail = detail_of(&call.query()?);
    Ok(json(&reported(&api, &registration, detail, call.now.0).await?))
}

/// The list of registrations.
static REGISTRATIONS: Kind = Kind {
    name: "registrations",
    moment: "created",
    fields: &["registration_id", "course_title", "learner_first_name", "learner_last_name", "tags"],
    others: &[
        "courseId",
        "learnerId",
        "includeChildResults",
        "includeInteractionsAndObjectives",
        "includeRuntime",
    ],
};

/// The list of a registration's instances.
static INSTANCES: Kind =
    Kind { name: "instances", moment: "updated", fields: &[], ..REGISTRATIONS };

pub(crate) async fn list(api: Api, call: Call) -> Result<Response, Problem> {
    let query = call.query()?;
    let secret = api.courses.page_secret(call.now.0).await?;
    let asked = Listed::read(&REGISTRATIONS, &query, &secret)?;
    let order = asked.order(&sql::lists::REGISTRATIONS, "created_desc")?;
    let text = |name: &str| asked.query.get(name).unwrap_or_default().to_owned();
    let (course, learner) = (text("courseId"), text("learnerId"));
    let (mut arguments, instance) = asked.page(order);
    arguments.push(instance.into());
    let [all, of_learner, of_course] = order.pages;
    let statement = match (course.as_str(), learner.as_str()) {
        ("", "") => all,
        ("", learner) => {
            arguments.push(learner.into());
            of_learner
        }
        (course, learner) => {
            arguments.extend([course.into(), learner.into()]);
            of_course
        }
    };
    let rows = api.courses.list(statement, arguments).await?;
    let detail = detail_of(&asked.query);
    let mut shown = vec![];
    for row in rows.iter().take(PAGE) {
        shown.push(reported(&api, &Registration::of(row)?, detail, call.now.0).await?);
    }
    let mut answer = json!({ "registrations": shown });
    if let Some(row) = rows.get(PAGE - 1).filter(|_| rows.len() > PAGE) {
        let last = Registration::of(row)?;
        let after = After(Key::of(row)?, last.id, last.instance);
        answer["more"] = asked.more(after, &secret).into();
    }
    let count = if asked.is_counted(&query) {
        let mut arguments = asked.filters();
        arguments.extend([course.into(), learner.into()]);
        let rows = api.courses.list(sql::lists::REGISTRATIONS_COUNT, arguments).await?;
        rows.first().and_then(|row| row.first()?.as_integer())
    } else {
        None
    };
    Ok(counted(&answer, count))
}

pub(crate) async fn instances(api: Api, call: Call) -> Result<Response, Problem> {
    let query = call.query()?;
    let id = call.params.get("registration");
    api.courses.registration(id, None).await?;
    let secret = api.courses.page_secret(call.now.0).await?;
    let asked = Listed::read(&INSTANCES, &query, &secret)?;
    let mut arguments = vec![id.into(), asked.instance().into()];
    let moments = [asked.updated.0, asked.updated.1, asked.created.0, asked.created.1];
    arguments.extend(moments.map(Into::into));
    arguments.push(limit());
    let rows = api.courses.list(sql::lists::INSTANCES, arguments).await?;
    let detail = detail_of(&asked.query);
    let mut shown = vec![];
    for row in rows.iter().take(PAGE) {
        shown.push(reported(&api, &Registration::of(row)?, detail, call.now.0).await?);
    }
    let mut answer = json!({ "registrations": shown });
    if let Some(row) = rows.get(PAGE - 1).filter(|_| rows.len() > PAGE) {
        let last = Registration::of(row)?;
        let after = After(Key::Moment(last.created), last.id, last.instance);
        answer["more"] = asked.more(after, &secret).into();
    }
    Ok(json(&answer))
}

pub(crate) async fn add_instance(api: Api, call: Call) -> Result<Response, Problem> {
    api.courses.add_instance(call.params.get("registration"), call.now.0).await?;
    Ok(done())
}

pub(crate) async fn delete(api: Api, call: Call) -> Result<Response, Problem> {
    let id = call.params.get("registration");
    api.courses.registration(id, None).await?;
    api.courses.delete_registration(id).await?;
    Ok(done())
}

pub(crate) async fn delete_instance(api: Api, call: Call) -> Result<Response, Problem> {
    let (id, instance) = (call.params.get("registration"), number(&call, "instance")?);
    api.courses.registration(id, Some(instance)).await?;
    api.courses.delete_instance(id, instance).await?;
    Ok(done())
}

/// Forgets what the newest instance has saved and how it was launched; it is for the newest version of the
/// course from then on.
pub(crate) async fn reset(api: Api, call: Call) -> Result<Response, Problem> {
    api.courses.reset(call.params.get("registration"), call.now.0).await?;
    Ok(done())
}

/// Forgets global objectives and shared data.
pub(crate) async fn reset_global(api: Api, call: Call) -> Result<Response, Problem> {
    api.courses.reset_global(call.params.get("registration"), call.now.0).await?;
    Ok(done())
}

pub(crate) async fn history(api: Api, call: Call) -> Result<Response, Problem> {
    launched(&api, &call, None).await
}

pub(crate) async fn history_of_instance(api: Api, call: Call) -> Result<Response, Problem> {
    launched(&api, &call, Some(number(&call, "instance")?)).await
}

async fn launched(api: &Api, call: &Call, instance: Option<i64>) -> Result<Response, Problem> {
    if flag(&call.query()?, "includeHistoryLog") {
        let message = "historyLog is not offered; read the calls of a launch at \
                       /registrations/{registrationId}/launches/{launchId}/trace";
        return Err(Error::NotOffered(message.into()).into());
    }
    let id = call.params.get("registration");
    let found = api.courses.registration(id, instance).await?;
    let states = api.courses.states(id, found.instance).await?;
    let mut shown = vec![];
    let before = match call.query()?.get("more").filter(|more| !more.is_empty()) {
        None => None,
        Some(more) => Some(launch_of(more).ok_or_else(no_such_page)?),
    };
    let (launches, is_more) = api.courses.launches(id, Some(found.instance), before).await?;
    let more = launches.first().filter(|_| is_more);
    let more = more.map(|first| format!("{}.{}", first.created, first.id));
    for launch in launches {
        let known = found.progress.launches.get(&launch.id).or(launch.result.as_ref());
        // Of a launch from before an upgrade, the time is with the activities.
        let before = states.values().filter(|state| state.launch == launch.id);
        let before = before.map(|state| state.session).sum::<u64>();
        let time = known.map_or(0, |known| known.time).saturating_add(before);
        let outcome = known.and_then(|known| known.outcome).unwrap_or(Outcome::UNKNOWN);
        let mut one = json!({
            "id": launch.id,
            "launchHistoryId": launch.id,
            "instance": launch.instance,
            "launchTime": moment(launch.created),
            "completionStatus": outcome.completion.name(),
            "successStatus": outcome.success.name(),
            "totalSecondsTracked": time as f64 / 100.0,
        });
        if let Some(score) = outcome.score {
            one["score"] = json!({ "scaled": crate::report::percent(score) });
        }
        if let Some(known) = known {
            one["lastRuntimeUpdate"] = moment(known.last).into();
            let silence = call.now.0.saturating_sub(known.last);
            let is_silent = silence > micros(api.courses.options.silence);
            if known.is_ended || is_silent {
                one["exitTime"] = moment(known.last).into();
                let is_timed_out = known.is_timed_out || !known.is_ended;
                one["endedBy"] = if is_timed_out { "time-out" } else { "exit" }.into();
            }
        }
        shown.push(one);
    }
    let mut answer = json!({ "launchHistory": shown });
    if let Some(more) = more {
        answer["more"] = more.into();
    }
    Ok(json(&answer))
}

/// Reads where a page of a launch history ends.
fn launch_of(more: &str) -> Option<(i64, String)> {
    let (created, id) = more.split_once('.')?;
    let is_id = id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some((created.parse().ok()?, id.to_owned())).filter(|_| is_id)
}

/// Answers with the calls of content during a launch.
pub(crate) async fn trace(api: Api, call: Call) -> Result<Response, Problem> {
    let (registration, wanted) = (call.params.get("registration"), call.params.get("launch"));
    let after = match call.query()?.get("more").filter(|more| !more.is_empty()) {
        None => 0,
        Some(more) => more.parse().map_err(|_| no_such_page())?,
    };
    let (commits, more) = api.courses.calls(registration, wanted, after).await?;
    let mut answer = json!({ "launch": wanted, "commits": commits });
    if let Some(more) = more {
        answer["more"] = more.to_string().into();
    }
    Ok(json(&answer))
}
