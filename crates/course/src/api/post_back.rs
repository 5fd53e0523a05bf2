//! Where results are posted, over HTTP: with a registration, and tried out.

use homeroom_access::Call;
use homeroom_http::{Problem, Response};
use homeroom_store::Uuid;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Api, done, json};
use super::request::body;
use crate::error::Error;
use crate::message::Receiver;
use crate::report::moment;
use crate::settings::{
    POST_BACK_AUTH, POST_BACK_FORMAT, POST_BACK_PASSWORD, POST_BACK_URL, POST_BACK_USER, Settings,
    read_settings,
};

/// How results of a registration are posted, as the API sends it.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PostBack {
    url: Option<String>,
    auth_type: Option<String>,
    user_name: Option<String>,
    password: Option<String>,
    results_format: Option<String>,
    legacy: Option<bool>,
}

impl std::fmt::Debug for PostBack {
    /// Hides the credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostBack")
    }
}

impl PostBack {
    /// Returns the settings that say the same.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] names the member that cannot be used; [`Error::NotOffered`] for results in the
    /// form of version 1.
    pub(crate) fn settings(self) -> Result<Settings, Error> {
        let Some(url) = self.url.filter(|url| !url.is_empty()) else {
            return Ok(Settings::new());
        };
        if self.legacy == Some(true) {
            let message = "postBack.legacy is not offered; results are posted as JSON";
            return Err(Error::NotOffered(message.into()));
        }
        let mut pairs = vec![(POST_BACK_URL, url)];
        let word = |text: Option<String>| {
            text.filter(|text| !text.is_empty() && !text.eq_ignore_ascii_case("UNDEFINED"))
        };
        pairs.extend(word(self.auth_type).map(|text| (POST_BACK_AUTH, text)));
        pairs.extend(word(self.results_format).map(|text| (POST_BACK_FORMAT, text)));
        pairs.extend(self.user_name.map(|text| (POST_BACK_USER, text)));
        pairs.extend(self.password.map(|text| (POST_BACK_PASSWORD, text)));
        read_settings(pairs.into_iter().map(|(name, value)| (name.to_owned(), value))).map_err(
            |error| match error {
                Error::Invalid(message) => Error::Invalid(format!("postBack: {message}")),
                other => other,
            },
        )
    }
}

/// Posts an example of a result, once.
pub(crate) async fn test(api: Api, mut call: Call) -> Result<Response, Problem> {
    let asked: PostBack = body(&mut call).await?;
    let settings = asked.settings()?;
    let receiver = Receiver::of_settings(&vec![("registration", settings)])
        .ok_or_else(|| Error::Invalid("the member url is missing".into()))?;
    let client = api.courses.posting().map_err(Problem::internal)?;
    let secret = api.courses.signing_secret(call.now.0).await?;
    let (id, now) = (Uuid::new().to_string(), call.now.0);
    let content = receiver.format.cut(example(now));
    let posted = receiver.post(&client, (&id, now), &secret, &content).await;
    posted.map_err(|unposted| {
        Error::Invalid(format!("the example was not posted: {}", unposted.why))
    })?;
    Ok(done())
}

/// Returns a result of nobody.
fn example(now: i64) -> Value {
    json!({
        "id": "example-registration",
        "instance": 0,
        "updated": moment(now),
        "registrationCompletion": "COMPLETED",
        "registrationCompletionAmount": 1.0,
        "registrationSuccess": "PASSED",
        "score": { "scaled": 87.0 },
        "totalSecondsTracked": 60.0,
        "course": { "id": "example-course", "title": "An example", "version": 0 },
        "learner": { "id": "example-learner", "firstName": "Ann", "lastName": "Example" },
        "activityDetails": {
            "id": "example", "title": "An example", "attempts": 1,
            "activityCompletion": "COMPLETED", "activitySuccess": "PASSED", "children": [],
        },
    })
}

/// Answers with the secret with which the server signs what it posts.
pub(crate) async fn secret(api: Api, call: Call) -> Result<Response, Problem> {
    let secret = api.courses.signing_secret(call.now.0).await?;
    Ok(json(&json!({ "result": secret })))
}
