//! Subscriptions over HTTP.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use homeroom_store::{Answer as Found, Decision, Plan, Uuid};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, done, json};
use super::request::body;
use crate::error::Error;
use crate::notice::{COURSE_IMPORT, REGISTRATION_CHANGED};
use crate::row::{self, json_column, rows_of, write};
use crate::settings::{MASK, is_web};
use crate::sql;
use crate::subscription::{Definition, SUBSCRIPTIONS_MAX, Subscription};

/// The topics, with the changes of each.
const TOPICS: [(&str, &[&str]); 2] = [
    (
        REGISTRATION_CHANGED,
        &["CompletionChanged", "SuccessChanged", "ScoreChanged", "SessionEnded"],
    ),
    (COURSE_IMPORT, &["Success", "Failed"]),
];
/// The formats of a registration.
const FORMATS: [&str; 3] = ["Course", "Activity", "Full"];
/// Most characters of a name, a password and a secret.
const TEXT_CHARS_MAX: usize = 1_000;

/// What is sent of a subscription, with the members that are not offered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    #[serde(flatten)]
    definition: Definition,
    #[serde(default)]
    auth_id: Option<String>,
    #[serde(default)]
    filters: Vec<Value>,
}

/// Returns the word of a list that a text is, in any case.
fn word(words: &[&str], text: &str) -> Option<String> {
    words.iter().find(|word| word.eq_ignore_ascii_case(text)).map(|word| (*word).to_owned())
}

fn read(sent: Sent) -> Result<Definition, Error> {
    let Sent { mut definition, auth_id, filters } = sent;
    if auth_id.is_some_and(|id| !id.is_empty()) {
        let message = "authId is not offered; send userName and password for Basic authentication";
        return Err(Error::NotOffered(message.into()));
    }
    if !filters.is_empty() {
        return Err(Error::NotOffered("filters are not offered; filter by subtopics".into()));
    }
    let topics = TOPICS.map(|(topic, _)| topic);
    definition.topic = word(&topics, &definition.topic)
        .ok_or_else(|| Error::Invalid(format!("topic is one of {}", topics.join(", "))))?;
    let known = TOPICS.iter().find(|(topic, _)| *topic == definition.topic);
    let known = known.map_or(&[][..], |(_, subtopics)| subtopics);
    for subtopic in &mut definition.subtopics {
        *subtopic = word(known, subtopic).ok_or_else(|| {
            let message = format!("subtopics of {} are {}", definition.topic, known.join(", "));
            Error::Invalid(message)
        })?;
    }
    definition.body_format = word(&FORMATS, &definition.body_format)
        .ok_or_else(|| Error::Invalid(format!("bodyFormat is one of {}", FORMATS.join(", "))))?;
    if !is_web(&definition.url) {
        return Err(Error::Invalid("url is an http or https address".into()));
    }
    let texts = [&definition.user_name, &definition.password, &definition.secret];
    if texts.iter().any(|text| text.chars().count() > TEXT_CHARS_MAX) {
        let message =
            format!("userName, password and secret have at most {TEXT_CHARS_MAX} characters");
        return Err(Error::Invalid(message));
    }
    Ok(definition)
}

fn shown(subscription: &Subscription) -> Value {
    let mut definition = json!(subscription.definition);
    for secret in ["password", "secret"] {
        if definition.get(secret).is_some() {
            definition[secret] = MASK.into();
        }
    }
    json!({ "id": subscription.id, "definition": definition })
}

pub(crate) async fn create(api: Api, mut call: Call) -> Result<Response, Problem> {
    let definition = read(body(&mut call).await?)?;
    let (id, now) = (Uuid::new().to_string(), call.now.0);
    let kept = json_column(&definition, "a subscription")?;
    let own = id.clone();
    let ask = vec![row::read(sql::SUBSCRIPTIONS, vec![SUBSCRIPTIONS_MAX.into()])];
    let decide = move |found: Vec<Found>| -> Decision<(), Error> {
        let count = rows_of(found.into_iter().next()).len();
        if i64::try_from(count).unwrap_or(i64::MAX) >= SUBSCRIPTIONS_MAX {
            let message = format!("there are at most {SUBSCRIPTIONS_MAX} subscriptions");
            return Decision::Refuse(Error::Conflict(message));
        }
        let arguments = vec![own.as_str().into(), kept.clone(), now.into()];
        Decision::Write(vec![write(sql::SUBSCRIPTION_PUT, arguments)], ())
    };
    api.courses.run(Plan { ask, decide }).await?;
    api.courses.forget_subscriptions();
    Ok(json(&json!({ "result": id })))
}

async fn known(api: &Api, call: &Call) -> Result<Subscription, Error> {
    let id = call.params.get("subscription");
    let found = api.courses.subscription(id).await?;
    found.ok_or_else(|| Error::Unknown(format!("subscription {}", crate::shown::shown(id))))
}

pub(crate) async fn list(api: Api, call: Call) -> Result<Response, Problem> {
    let query = call.query()?;
    let topic = query.get("topic").unwrap_or_default();
    let rows = api.courses.list(sql::SUBSCRIPTIONS, vec![SUBSCRIPTIONS_MAX.into()]).await?;
    let all = rows.iter().map(Subscription::of).collect::<Result<Vec<_>, _>>()?;
    let all = all
        .iter()
        .filter(|one| topic.is_empty() || one.definition.topic.eq_ignore_ascii_case(topic));
    Ok(json(&json!({ "subscriptions": all.map(shown).collect::<Vec<_>>() })))
}

pub(crate) async fn get(api: Api, call: Call) -> Result<Response, Problem> {
    Ok(json(&shown(&known(&api, &call).await?)))
}

/// Replaces a subscription. A password or secret that is sent as it is shown stays.
pub(crate) async fn put(api: Api, mut call: Call) -> Result<Response, Problem> {
    let old = known(&api, &call).await?;
    let mut definition = read(body(&mut call).await?)?;
    for (new, old) in [
        (&mut definition.password, &old.definition.password),
        (&mut definition.secret, &old.definition.secret),
    ] {
        if new == MASK {
            new.clone_from(old);
        }
    }
    let kept = json_column(&definition, "a subscription")?;
    let arguments = vec![old.id.into(), kept, call.now.0.into()];
    api.courses.write(vec![write(sql::SUBSCRIPTION_PUT, arguments)]).await?;
    api.courses.forget_subscriptions();
    Ok(done())
}

pub(crate) async fn delete(api: Api, call: Call) -> Result<Response, Problem> {
    let old = known(&api, &call).await?;
    api.courses.write(vec![write(sql::SUBSCRIPTION_DELETE, vec![old.id.into()])]).await?;
    api.courses.forget_subscriptions();
    Ok(done())
}
