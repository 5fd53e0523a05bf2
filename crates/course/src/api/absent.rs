//! What clients of the Cloud and Engine API v2 may ask for and this server does not offer: each is
//! answered 501 with the reason, and not 404, so that a client knows that its address is right.

use std::future::{Ready, ready};

use homeroom_access::Call;
use homeroom_http::{Problem, Response};

use super::answer::Api;
use crate::error::Error;

/// The addresses below the prefix, each with the methods that the API v2 has there and what it is about.
pub(crate) const ABSENT: &[(&str, &str, About)] = &[
    ("GET POST", "/appManagement/applications", About::Applications),
    ("GET PUT DELETE", "/appManagement/applications/{application}", About::Applications),
    ("GET", "/appManagement/applicationList", About::Applications),
    ("GET POST", "/appManagement/{application}/credentials", About::Applications),
    ("PUT DELETE", "/appManagement/{application}/credentials/{credential}", About::Applications),
    ("POST", "/appManagement/token", About::Tokens),
    ("POST", "/oauth/authenticate/application/token", About::Tokens),
    ("GET POST", "/appManagement/subscriptions/authConfigurations", About::Authorizations),
    ("POST", "/registrations/ltiBasicOutcomes", About::Lti),
    ("GET POST PUT DELETE", "/lti/{*rest}", About::Lti),
    ("GET", "/courses/{course}/xAPIStatements", About::Statements),
    ("GET", "/courses/{course}/versions/{version}/xAPIStatements", About::Statements),
    ("GET", "/registrations/{registration}/xAPIStatements", About::Statements),
    ("GET", "/registrations/{registration}/instances/{instance}/xAPIStatements", About::Statements),
    ("GET POST PUT DELETE", "/xapi/{*rest}", About::Statements),
    ("GET POST", "/contentConnectors", About::Connectors),
    ("PUT DELETE", "/contentConnectors/{connector}", About::Connectors),
    ("GET POST PUT DELETE", "/dispatch/{*rest}", About::Dispatch),
    ("GET", "/invitations", About::Invitations),
    ("GET POST PUT DELETE", "/invitations/{*rest}", About::Invitations),
    ("GET", "/reporting/{*rest}", About::Reporting),
];

/// What is not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Applications,
    Tokens,
    Authorizations,
    Statements,
    Connectors,
    Dispatch,
    Invitations,
    Reporting,
    Lti,
}

impl About {
    fn message(self) -> &'static str {
        match self {
            Self::Applications => {
                "applications and their credentials are not managed here; use homeroom keys or the \
                 Admin API"
            }
            Self::Tokens => {
                "tokens are not issued here; ask POST /oauth/token with key and secret, or use \
                 Basic authentication"
            }
            Self::Authorizations => {
                "authorizations of subscriptions are not offered; send userName and password with \
                 the subscription"
            }
            Self::Statements => "xAPI statements are not offered yet",
            Self::Connectors => "connectors are not offered",
            Self::Dispatch => "dispatch is not offered",
            Self::Invitations => "invitations are not offered",
            Self::Lti => "LTI is not offered",
            Self::Reporting => "reports of this kind are not offered; read the registrations",
        }
    }
}

/// Says that this is not offered.
pub(crate) fn answer(about: About, _api: Api, _call: Call) -> Ready<Result<Response, Problem>> {
    ready(Err(Error::NotOffered(about.message().into()).into()))
}
