//! What a caller shows to be recognized, and what happens when this node does not know it yet.

use std::sync::Arc;

use homeroom_http::{Credential, Problem, Timestamp};
use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, HeaderValue};

use crate::access::Access;
use crate::client::ApiClient;
use crate::recognized::Recognized;

/// Header of an API key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The credentials of a request, as its headers have them.
#[derive(Debug, Clone)]
pub struct Credentials {
    authorization: Option<HeaderValue>,
    api_key: Option<HeaderValue>,
}

/// Why a caller is not recognized.
#[derive(Debug)]
pub enum Unrecognized {
    /// Its key or secret is not in the registry, as this process has read it. They may have been
    /// made a moment ago by another.
    Unknown(Problem),
    /// Another reason.
    Other(Problem),
}

impl From<Problem> for Unrecognized {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

impl From<Unrecognized> for Problem {
    fn from(unrecognized: Unrecognized) -> Self {
        match unrecognized {
            Unrecognized::Unknown(problem) | Unrecognized::Other(problem) => problem,
        }
    }
}

impl Credentials {
    /// Returns the credentials of a request. With two `Authorization` headers it is unclear which one
    /// is meant, so neither is used.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let first = sent.next().cloned();
        let authorization =
            if sent.next().is_some() { Some(HeaderValue::from_static("")) } else { first };
        Self { authorization, api_key: headers.get(API_KEY).cloned() }
    }

    /// Returns credentials that a request has in its body instead.
    pub fn of_authorization(value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""));
        Self { authorization: Some(value), api_key: None }
    }

    /// Returns whether the request has no credentials in its headers.
    pub fn is_empty(&self) -> bool {
        self.authorization.is_none() && self.api_key.is_none()
    }
}

impl Access {
    /// Recognizes the caller by one of these credentials and lets it into `scope`, in the state of the
    /// registry that this process has.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`].
    pub fn recognize_by(
        &self,
        by: &[Credential],
        credentials: &Credentials,
        scope: &str,
        now: Timestamp,
    ) -> Result<Arc<ApiClient>, Unrecognized> {
        Ok(self.recognized_by(by, credentials, scope, now)?.client)
    }

    pub(crate) fn recognized_by(
        &self,
        by: &[Credential],
        credentials: &Credentials,
        scope: &str,
        now: Timestamp,
    ) -> Result<Recognized, Unrecognized> {
        let authorization =
            credentials.authorization.as_ref().map(|value| value.to_str().unwrap_or(""));
        if by.contains(&Credential::ApiKey)
            && authorization.is_none()
            && let Some(value) = &credentials.api_key
        {
            return self.recognize_api_key(value.to_str().unwrap_or(""), scope, now);
        }
        let is_basic = |header: &str| {
            header.trim_start().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"))
        };
        let prefers_basic = by.first() == Some(&Credential::Basic);
        match authorization {
            Some(header) if by.contains(&Credential::Basic) && is_basic(header) => {
                self.recognize_basic(header, scope, now)
            }
            None if prefers_basic => self.recognize_basic("", scope, now),
            _ => self.recognize_token(authorization, scope, now),
        }
    }
}
