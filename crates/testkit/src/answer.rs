//! An answer that has been read completely.

use bytes::Bytes;
use homeroom_http::Response;
use http::HeaderMap;
use http_body_util::BodyExt as _;
use serde_json::Value;

/// Prefix of every problem's type.
const URN: &str = "urn:ed-fi:api:";

/// An answer with its body.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.body);
        write!(f, "{} {}", self.status, text.chars().take(600).collect::<String>())
    }
}

impl Answer {
    /// Reads a response to its end.
    pub async fn read(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Returns the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the body as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns a header that must be present.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}"));
        value.to_str().unwrap()
    }

    /// Returns the path in `Location`, `/ed-fi/…/ID`.
    #[track_caller]
    pub fn location(&self) -> String {
        let location = self.header("location");
        let path = location.strip_prefix("http://homeroom.test/data/v3");
        path.unwrap_or_else(|| panic!("{location}")).to_owned()
    }

    /// Returns the `ETag`.
    #[track_caller]
    pub fn etag(&self) -> &str {
        self.header("etag")
    }

    /// Returns the ids of a list's documents.
    #[track_caller]
    pub fn ids(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{self:?}");
        let list = self.json();
        let items = list.as_array().unwrap_or_else(|| panic!("no list: {self:?}"));
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the problem in the answer after checking its form; `kind` is the type without the
    /// prefix that all types share.
    #[track_caller]
    pub fn problem(&self, status: u16, kind: &str) -> Value {
        match self.try_problem(status, kind) {
            Ok(problem) => problem,
            Err(what) => panic!("{what}"),
        }
    }

    /// Returns the answer if it has this status, else a description of it.
    pub fn expect(self, status: u16) -> Result<Self, String> {
        if self.status == status {
            Ok(self)
        } else {
            Err(format!("expected {status}, got {self:?}"))
        }
    }

    /// Does the same as [`Answer::problem`], but returns what is wrong instead of panicking.
    pub fn try_problem(&self, status: u16, kind: &str) -> Result<Value, String> {
        if self.status != status {
            return Err(format!("expected {status} {kind}, got {self:?}"));
        }
        let media = self.headers.get("content-type").and_then(|value| value.to_str().ok());
        if media != Some("application/problem+json") {
            return Err(format!("the content type is {media:?}"));
        }
        let body: Value = serde_json::from_slice(&self.body).map_err(|error| error.to_string())?;
        for name in ["detail", "type", "title", "correlationId"] {
            if body[name].as_str().is_none_or(str::is_empty) {
                return Err(format!("the problem has no {name}"));
            }
        }
        // Both members are present only if they have content.
        let nothing = vec![];
        let errors = body.get("errors").map(|errors| errors.as_array().filter(|e| !e.is_empty()));
        let errors = errors.unwrap_or(Some(&nothing)).ok_or("the problem has empty errors")?;
        if !errors.iter().all(Value::is_string) {
            return Err("an error is no text".into());
        }
        let nothing = serde_json::Map::new();
        let violations =
            body.get("validationErrors").map(|all| all.as_object().filter(|all| !all.is_empty()));
        let violations =
            violations.unwrap_or(Some(&nothing)).ok_or("the problem has empty validationErrors")?;
        if violations.values().any(|messages| messages.as_array().is_none_or(Vec::is_empty)) {
            return Err("a violation has no message".into());
        }
        if body["status"] != status || body["type"] != format!("{URN}{kind}") {
            return Err(format!("expected {status} {kind}, got {self:?}"));
        }
        Ok(body)
    }
}

/// Returns the JSON paths that a problem's violations name.
pub fn violated(problem: &Value) -> Vec<&str> {
    let all = problem["validationErrors"].as_object().into_iter();
    all.flat_map(|all| all.keys().map(String::as_str)).collect()
}
