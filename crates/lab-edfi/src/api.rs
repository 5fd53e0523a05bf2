//! The requests of the set-up: the only way from this module to a target.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

/// How many times a request is repeated when its answer asks the client to wait.
const TRIES_MAX: u32 = 5;
/// The longest wait before such a repetition.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The longest part of an answer that is shown.
const SHOWN_MAX: usize = 300;

/// A client of the target: sends a request and waits for its answer.
pub trait Api {
    /// Returns where the target is and which key is used.
    fn access(&self) -> &Access;

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// Says why no complete answer came.
    fn send(&mut self, ask: &ApiRequest<'_>) -> Result<Reply, ApiError>;

    /// Waits for as long as an answer asked.
    fn wait(&mut self, time: Duration);
}

/// The path of a target's root on its server, and the key.
#[derive(Clone, Default)]
pub struct Access {
    /// The path of the root without a trailing `/`: empty, or such as `/WebApi/v7.3`.
    pub root: String,
    /// The key's public part, the client id.
    pub key: String,
    /// The key's secret.
    pub secret: String,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("root", &self.root).finish_non_exhaustive()
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct ApiRequest<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path and query, beginning with `/`.
    pub path: &'a str,
    /// The value of `Authorization`; empty for none.
    pub authorization: &'a str,
    /// The media type of the body; empty for none.
    pub content_type: &'a str,
    /// The request body; empty for none.
    pub body: &'a [u8],
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer's status.
    pub status: u16,
    /// The `Location` header, if there is one.
    pub location: Option<String>,
    /// The `Retry-After` header in seconds, if there is one.
    pub retry_after_s: Option<u64>,
    /// The answer's body.
    pub body: Vec<u8>,
}

/// Why a request to the target failed.
#[derive(Debug, Error)]
pub enum ApiError {
    /// No complete answer came.
    #[error("no answer to {method} {path}: {why}")]
    Unanswered {
        /// The request's method.
        method: String,
        /// The request's path.
        path: String,
        /// The cause.
        why: String,
    },
    /// The set-up was told to stop.
    #[error("stopped before it had finished")]
    Stopped,
    /// The target refused a request that the set-up cannot do without.
    #[error("{method} {path} was answered {status}: {shown}")]
    Refused {
        /// The request's method.
        method: String,
        /// The request's path.
        path: String,
        /// The answer's status.
        status: u16,
        /// The beginning of the body.
        shown: String,
    },
    /// The target's answer could not be understood.
    #[error("the answer to GET {path} {why}")]
    Strange {
        /// The request's path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Reply {
    /// Returns whether the status is a success.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the id from `Location`: the last segment of its path.
    pub fn id(&self) -> Option<String> {
        let path = self.location.as_deref()?.split('?').next()?;
        path.trim_end_matches('/').rsplit('/').next().map(str::to_owned)
    }

    /// Returns the body as JSON, or null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Describes an error answer: its status, its detail, and its validation errors with their
    /// paths.
    pub fn complaint(&self) -> String {
        let problem = self.json();
        let mut words = vec![self.status.to_string()];
        for name in ["detail", "message", "error_description", "error"] {
            words.extend(problem[name].as_str().map(str::to_owned));
            if words.len() > 1 {
                break;
            }
        }
        for (place, found) in problem["validationErrors"].as_object().into_iter().flatten() {
            let found: Vec<&str> =
                found.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            words.push(format!("{place}: {}", found.join(" ")));
        }
        let errors = problem["errors"].as_array().into_iter().flatten();
        words.extend(errors.filter_map(|error| error.as_str().map(str::to_owned)));
        if words.len() == 1 && !self.body.is_empty() {
            words.push(String::from_utf8_lossy(&self.body).into_owned());
        }
        words.join(" | ").chars().take(SHOWN_MAX).collect()
    }
}

/// Requests to a target with a token, which is renewed when it expires.
pub struct Session<'a> {
    api: &'a mut dyn Api,
    token_path: String,
    authorization: String,
    /// The number of requests sent so far.
    pub requests: u64,
}

impl<'a> Session<'a> {
    /// Returns a session without a token.
    pub fn new(api: &'a mut dyn Api) -> Self {
        Self { api, token_path: String::new(), authorization: String::new(), requests: 0 }
    }

    /// Returns where the target is and which key is used.
    pub fn access(&self) -> &Access {
        self.api.access()
    }

    /// Requests a token.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached or rejects the key.
    pub fn log_in(&mut self, token_path: &str) -> Result<(), ApiError> {
        token_path.clone_into(&mut self.token_path);
        let Access { key, secret, .. } = self.api.access();
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}",
            encoded(key),
            encoded(secret)
        );
        self.authorization.clear();
        let form_type = "application/x-www-form-urlencoded";
        let reply = self.patient("POST", token_path, form_type, form.as_bytes())?;
        let answer = reply.json();
        match answer["access_token"].as_str().filter(|_| reply.is_ok()) {
            Some(token) => self.authorization = format!("Bearer {token}"),
            None => {
                return Err(ApiError::Refused {
                    method: "POST".into(),
                    path: token_path.into(),
                    status: reply.status,
                    shown: reply.complaint(),
                });
            }
        }
        Ok(())
    }

    /// Returns what the target says about the token, or null if it says nothing.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn token_info(&mut self, path: &str) -> Result<Value, ApiError> {
        let token = self.authorization.trim_start_matches("Bearer ").to_owned();
        let form = format!("token={}", encoded(&token));
        let reply =
            self.patient("POST", path, "application/x-www-form-urlencoded", form.as_bytes())?;
        Ok(if reply.is_ok() { reply.json() } else { Value::Null })
    }

    /// Sends a request with the token; waits and repeats it where the answer asks for that.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Reply, ApiError> {
        let content_type = if body.is_empty() { "" } else { "application/json" };
        let reply = self.patient(method, path, content_type, body.as_bytes())?;
        if reply.status == 401 && !self.token_path.is_empty() {
            self.log_in(&self.token_path.clone())?;
            return self.patient(method, path, content_type, body.as_bytes());
        }
        Ok(reply)
    }

    /// Reads a JSON document.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached, refuses the request, or answers with something else.
    pub fn read(&mut self, path: &str) -> Result<Value, ApiError> {
        let reply = self.send("GET", path, "")?;
        if !reply.is_ok() {
            return Err(ApiError::Refused {
                method: "GET".into(),
                path: path.into(),
                status: reply.status,
                shown: reply.complaint(),
            });
        }
        let strange =
            |error| ApiError::Strange { path: path.into(), why: format!("is not JSON: {error}") };
        serde_json::from_slice(&reply.body).map_err(strange)
    }

    fn patient(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<Reply, ApiError> {
        let mut tries = 0;
        loop {
            tries += 1;
            self.requests += 1;
            let authorization = &self.authorization;
            let reply =
                self.api.send(&ApiRequest { method, path, authorization, content_type, body })?;
            let wants_patience = matches!(reply.status, 429 | 503);
            if !wants_patience || tries == TRIES_MAX {
                return Ok(reply);
            }
            let wait = Duration::from_secs(reply.retry_after_s.unwrap_or(1).max(1));
            self.api.wait(wait.min(WAIT_MAX));
        }
    }
}

/// Percent-encodes a value for a form or a query.
pub fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_a_create_names_the_id() {
        let location = Some("https://x/data/v3/ed-fi/schools/12ab".into());

        let reply = Reply { status: 201, location, ..Reply::default() };

        assert_eq!(reply.id().as_deref(), Some("12ab"));
    }
}
