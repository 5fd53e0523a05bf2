//! What the set-up asks of a target, and how it goes there: the only way out of this module.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

pub use crate::client::Reply;

/// How often an answer that asks for patience is asked again.
const TRIES_MAX: u32 = 5;
/// Longest wait before that.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How much of an answer is shown.
const SHOWN_MAX: usize = 300;

/// A way to a target: sends a request and waits for its answer.
pub trait Api {
    /// Where it is, and who asks.
    fn access(&self) -> &Access;

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// Says why there is no whole answer.
    fn send(&mut self, ask: &Ask<'_>) -> Result<Reply, ApiError>;

    /// Waits, as an answer asked for it.
    fn wait(&mut self, time: Duration);
}

/// Where a target's root is on its server, and the key.
#[derive(Clone, Default)]
pub struct Access {
    /// The path of the root, without a last `/`: empty, or such as `/WebApi/v7.3`.
    pub root: String,
    /// The key.
    pub key: String,
    /// Its secret.
    pub secret: String,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("root", &self.root).finish_non_exhaustive()
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Its method.
    pub method: &'a str,
    /// Path and query, from the first `/`.
    pub path: &'a str,
    /// The value of `Authorization`; empty for none.
    pub authorization: &'a str,
    /// The type of the body; empty for none.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Why the target could not be asked.
#[derive(Debug, Error)]
pub enum ApiError {
    /// No whole answer came.
    #[error("no answer to {method} {path}: {why}")]
    Unanswered {
        /// The method.
        method: String,
        /// The path.
        path: String,
        /// Why.
        why: String,
    },
    /// The set-up was told to stop.
    #[error("told to stop")]
    Stopped,
    /// An answer that ends the set-up.
    #[error("{method} {path} was answered {status}: {shown}")]
    Refused {
        /// The method.
        method: String,
        /// The path.
        path: String,
        /// The status.
        status: u16,
        /// The beginning of the body.
        shown: String,
    },
    /// An answer that cannot be understood.
    #[error("the answer to GET {path} {why}")]
    Strange {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Reply {
    /// Whether it is a success.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The id in `Location`: the last segment of its path.
    pub fn id(&self) -> Option<String> {
        let path = self.location.as_deref()?.split('?').next()?;
        path.trim_end_matches('/').rsplit('/').next().map(str::to_owned)
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// What it says of what went wrong: status, detail, and what was found to be wrong where.
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

/// A target that knows the key: requests go with a token, which is renewed when it is over.
pub struct Session<'a> {
    api: &'a mut dyn Api,
    token_path: String,
    authorization: String,
    /// How many requests were sent.
    pub requests: u64,
}

impl<'a> Session<'a> {
    /// A session without a token.
    pub fn new(api: &'a mut dyn Api) -> Self {
        Self { api, token_path: String::new(), authorization: String::new(), requests: 0 }
    }

    /// Where the target is, and who asks.
    pub fn access(&self) -> &Access {
        self.api.access()
    }

    /// Gets a token.
    ///
    /// # Errors
    ///
    /// If the target cannot be asked or does not take the key.
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

    /// What the target says of the token; null if it does not tell.
    ///
    /// # Errors
    ///
    /// If the target cannot be asked.
    pub fn token_info(&mut self, path: &str) -> Result<Value, ApiError> {
        let token = self.authorization.trim_start_matches("Bearer ").to_owned();
        let form = format!("token={}", encoded(&token));
        let reply =
            self.patient("POST", path, "application/x-www-form-urlencoded", form.as_bytes())?;
        Ok(if reply.is_ok() { reply.json() } else { Value::Null })
    }

    /// Sends a request with the token; waits and asks again where the answer says so.
    ///
    /// # Errors
    ///
    /// If the target cannot be asked.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> Result<Reply, ApiError> {
        let content_type = if body.is_empty() { "" } else { "application/json" };
        let reply = self.patient(method, path, content_type, body.as_bytes())?;
        if reply.status == 401 && !self.token_path.is_empty() {
            self.log_in(&self.token_path.clone())?;
            return self.patient(method, path, content_type, body.as_bytes());
        }
        Ok(reply)
    }

    /// Reads JSON.
    ///
    /// # Errors
    ///
    /// If the target cannot be asked, refuses, or answers something else.
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
            |error| ApiError::Strange { path: path.into(), why: format!("is no JSON: {error}") };
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
            let reply = self.api.send(&Ask { method, path, authorization, content_type, body })?;
            let wants_patience = matches!(reply.status, 429 | 503);
            if !wants_patience || tries == TRIES_MAX {
                return Ok(reply);
            }
            let wait = Duration::from_secs(reply.retry_after_s.unwrap_or(1).max(1));
            self.api.wait(wait.min(WAIT_MAX));
        }
    }
}

/// A value in a form or a query.
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
