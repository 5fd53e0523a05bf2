//! What is posted to a receiver: body, credentials, signature; and what became of it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use homeroom_client::{Client, Error as Lost, Request, Url};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::report::Detail;
use crate::settings::{
    Levels, POST_BACK_AUTH, POST_BACK_FORMAT, POST_BACK_PASSWORD, POST_BACK_SECRET, POST_BACK_URL,
    POST_BACK_USER, in_force,
};
use crate::signature::signature;
use crate::subscription::Definition;

/// Most bytes that are read of a receiver's answer, so that its connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A receiver, and how it is told.
#[derive(Clone, PartialEq)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    /// Whether it gets a form; else JSON.
    pub(crate) is_form: bool,
    pub(crate) user: String,
    pub(crate) password: String,
    /// The secret of the signature; the server's own if it is empty.
    pub(crate) secret: String,
    pub(crate) format: Format,
}

impl std::fmt::Debug for Receiver {
    /// Hides the credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Receiver")
    }
}

/// How much is told of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The course.
    Course,
    /// Its activities, too.
    Activity,
    /// All that was recorded.
    Full,
}

impl Format {
    /// Reads its name, in any case; another text is the shortest.
    pub(crate) fn read(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "full" => Self::Full,
            "activity" => Self::Activity,
            _ => Self::Course,
        }
    }

    /// Returns what a report of this format has.
    pub(crate) fn detail(self) -> Detail {
        match self {
            Self::Course => Detail::default(),
            Self::Activity => Detail { children: true, ..Detail::default() },
            Self::Full => Detail { children: true, interactions: true, runtime: true },
        }
    }

    /// Leaves out what a report of this format does not have.
    pub(crate) fn cut(self, mut report: Value) -> Value {
        if let (Self::Course, Some(members)) = (self, report.as_object_mut()) {
            members.remove("activityDetails");
        }
        report
    }
}

impl Receiver {
    /// Returns the receiver that settings name, if they name one.
    pub(crate) fn of_settings(levels: &Levels) -> Option<Self> {
        let of = |name: &str| in_force(levels, name).to_owned();
        let url = of(POST_BACK_URL);
        (!url.is_empty()).then(|| Self {
            url,
            is_form: of(POST_BACK_AUTH) != "httpbasic",
            user: of(POST_BACK_USER),
            password: of(POST_BACK_PASSWORD),
            secret: of(POST_BACK_SECRET),
            format: Format::read(&of(POST_BACK_FORMAT)),
        })
    }

    /// Returns the receiver of a subscription.
    pub(crate) fn of_subscription(definition: &Definition) -> Self {
        Self {
            url: definition.url.clone(),
            is_form: false,
            user: definition.user_name.clone(),
            password: definition.password.clone(),
            secret: definition.secret.clone(),
            format: Format::read(&definition.body_format),
        }
    }

    /// Returns the receiver of the end of an import.
    pub(crate) fn of_url(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            is_form: false,
            user: String::new(),
            password: String::new(),
            secret: String::new(),
            format: Format::Course,
        }
    }

    fn body(&self, content: &Value) -> String {
        if !self.is_form {
            return content.to_string();
        }
        let mut body = format!("data={}", encoded(&content.to_string()));
        for (name, value) in [("username", &self.user), ("password", &self.password)] {
            if !value.is_empty() {
                _ = write!(body, "&{name}={}", encoded(value));
            }
        }
        body
    }

    fn request(
        &self,
        url: Url,
        (id, now): (&str, i64),
        secret: &str,
        content: &Value,
    ) -> Result<Request, Lost> {
        let body = self.body(content);
        let media = if self.is_form {
            "application/x-www-form-urlencoded; charset=UTF-8"
        } else {
            "application/json; charset=UTF-8"
        };
        let second = now.div_euclid(1_000_000);
        let secret = if self.secret.is_empty() { secret } else { &self.secret };
        let mut request = Request::post(url, body.clone())
            .header("content-type", media)?
            .header("user-agent", concat!("Homeroom/", env!("CARGO_PKG_VERSION")))?
            .header("webhook-id", id)?
            .header("webhook-timestamp", &second.to_string())?
            .header("webhook-signature", &signature(secret, id, second, &body))?;
        let has_credentials = !self.user.is_empty() || !self.password.is_empty();
        if !self.is_form && has_credentials {
            let pair = STANDARD.encode(format!("{}:{}", self.user, self.password));
            request = request.header("authorization", &format!("Basic {pair}"))?;
        }
        Ok(request)
    }

    /// Posts something. `id` is the same whenever it is tried again.
    ///
    /// # Errors
    ///
    /// [`Unposted`] says whether it may succeed later, and why it did not, with the receiver's host but
    /// nothing of its path.
    pub(crate) async fn post(
        &self,
        client: &Client,
        (id, now): (&str, i64),
        secret: &str,
        content: &Value,
    ) -> Result<u16, Unposted> {
        let url = Url::parse(&self.url)
            .map_err(|_| Unposted::for_good("the receiver's address is no URL".into()))?;
        let host = url.origin().host.clone();
        let request = self
            .request(url, (id, now), secret, content)
            .map_err(|_| Unposted::for_good(format!("the request to {host} cannot be made")))?;
        let answer = client.send(request).await.map_err(|lost| Unposted::of(&host, &lost))?;
        let status = answer.status().as_u16();
        _ = answer.whole(ANSWER_BYTES_MAX).await;
        if status < 400 {
            return Ok(status);
        }
        Err(Unposted { is_final: false, why: format!("{host} answered {status}") })
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Why something was not posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unposted {
    /// Whether no other attempt can succeed.
    pub(crate) is_final: bool,
    pub(crate) why: String,
}

impl Unposted {
    fn for_good(why: String) -> Self {
        Self { is_final: true, why }
    }

    fn of(host: &str, lost: &Lost) -> Self {
        if let Lost::Refused { range, .. } = lost {
            return Self::for_good(format!(
                "{host} is {range}, to which nothing is sent unless courses.private_addresses \
                 permits it"
            ));
        }
        let phase =
            lost.phase().map_or_else(|| "before it was sent".into(), |phase| phase.to_string());
        Self { is_final: false, why: format!("{host} cannot be reached: {phase}") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::Settings;

    #[test]
    fn settings_name_the_receiver_and_the_form_of_its_message() {
        let of = |pairs: &[(&str, &str)]| {
            let settings: Settings =
                pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            Receiver::of_settings(&vec![("registration", settings)])
        };
        let content = json!({ "a": "b c" });

        assert_eq!(of(&[]), None);
        let form =
            of(&[(POST_BACK_URL, "http://a/"), (POST_BACK_USER, "u&"), (POST_BACK_PASSWORD, "p")]);
        assert_eq!(
            form.unwrap().body(&content),
            "data=%7B%22a%22%3A%22b%20c%22%7D&username=u%26&password=p"
        );
        let basic = of(&[
            (POST_BACK_URL, "http://a/"),
            (POST_BACK_AUTH, "httpbasic"),
            (POST_BACK_USER, "u"),
        ]);
        let basic = basic.unwrap();
        assert_eq!(basic.body(&content), r#"{"a":"b c"}"#);
        let url = Url::parse("http://a/").unwrap();
        let request = basic.request(url, ("m", 5_000_000), "s", &content).unwrap();
        assert_eq!(request.headers["authorization"], "Basic dTo=");
        assert_eq!(request.headers["webhook-timestamp"], "5");
    }
}
