//! Problem details: the answer when a request cannot be fulfilled.
//!
//! Source: RFC 9457, with the members and types of the Ed-Fi ODS/API 7.3.

use std::collections::BTreeMap;

use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::response::{Body, Response};
use crate::via::Via;

/// What went wrong with a document, by JSON path.
pub type Violations = BTreeMap<String, Vec<String>>;

macro_rules! kinds {
    ($($kind:ident, $status:literal, $urn:literal, $title:literal, $detail:literal;)*) => {
        /// A kind of problem. Each row of the table has status, type, title and the usual detail.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = concat!("`urn:ed-fi:api:", $urn, "`, ", stringify!($status), ".")] $kind,)*
        }

        impl Kind {
            /// Every kind, in the table's order.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the HTTP status.
            pub fn status(self) -> StatusCode {
                let code: u16 = match self { $(Self::$kind => $status,)* };
                StatusCode::from_u16(code).expect("the table holds valid statuses")
            }

            /// Returns the `type` member.
            pub fn urn(self) -> &'static str {
                match self { $(Self::$kind => concat!("urn:ed-fi:api:", $urn),)* }
            }

            /// Returns the `title` member.
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)* }
            }

            /// Returns the `detail` member that is used where a problem sets none.
            pub fn detail(self) -> &'static str {
                match self { $(Self::$kind => $detail,)* }
            }
        }
    };
}

kinds! {
    BadRequest, 400, "bad-request", "Bad Request", "The request is malformed; see errors.";
    DataValidationFailed, 400, "bad-request:data-validation-failed", "Data Validation Failed", "The document is invalid; validationErrors lists each violation with its path.";
    KeyChangeNotSupported, 400, "bad-request:data-validation-failed:key-change-not-supported", "Key Change Not Supported", "The identifying values of this resource cannot be changed; delete the document and create it again.";
    ParameterValidationFailed, 400, "bad-request:parameter-validation-failed", "Parameter Validation Failed", "A query parameter has an invalid value; see errors.";
    ProfileMalformed, 400, "profile:invalid-profile-usage", "Invalid Profile Usage", "The media type does not name a profile in the form that this method requires.";
    AuthenticationFailed, 401, "security:authentication", "Authentication Failed", "The caller could not be authenticated.";
    AccessDenied, 403, "security:authorization", "Authorization Denied", "Access to the resource could not be authorized.";
    AccessDeniedResource, 403, "security:authorization:access-denied:resource", "Authorization Denied", "The claim set of this key grants nothing on this resource.";
    AccessDeniedAction, 403, "security:authorization:access-denied:action", "Authorization Denied", "The claim set of this key does not grant this action on this resource.";
    NamespaceMismatch, 403, "security:authorization:namespace:access-denied:namespace-mismatch", "Authorization Denied", "The namespace begins with none of the prefixes of this key.";
    NamespaceRequired, 403, "security:authorization:namespace:access-denied:namespace-required", "Authorization Denied", "The document has no namespace, and this key is authorized by namespace.";
    NamespaceUninitialized, 403, "security:authorization:namespace:invalid-data:namespace-uninitialized", "Authorization Denied", "The stored document has no namespace, and this key is authorized by namespace.";
    NoNamespaces, 403, "security:authorization:namespace:invalid-client:no-namespaces", "Authorization Denied", "This key has no namespace prefixes, and this resource is authorized by them.";
    ElementRequired, 403, "security:authorization:relationships:access-denied:element-required", "Authorization Denied", "The document lacks a value that the authorization of this key checks.";
    ElementUninitialized, 403, "security:authorization:relationships:invalid-data:element-uninitialized", "Authorization Denied", "The stored document lacks a value that the authorization of this key checks.";
    ViewElementRequired, 403, "security:authorization:custom-view:access-denied:element-required", "Authorization Denied", "The document lacks a value that a custom view of this key checks.";
    ViewElementUninitialized, 403, "security:authorization:custom-view:invalid-data:element-uninitialized", "Authorization Denied", "The stored document lacks a value that a custom view of this key checks.";
    OwnershipMismatch, 403, "security:authorization:ownership:access-denied:ownership-mismatch", "Authorization Denied", "The stored document belongs to another owner, and this key is authorized by ownership.";
    OwnershipUninitialized, 403, "security:authorization:ownership:invalid-data:ownership-uninitialized", "Authorization Denied", "The stored document has no owner, and this key is authorized by ownership.";
    NotFound, 404, "not-found", "Not Found", "Nothing exists at this address.";
    MethodNotAllowed, 405, "method-not-allowed", "Method Not Allowed", "The method is not allowed at this address; the Allow header lists the methods that are.";
    SnapshotsMethodNotAllowed, 405, "snapshots:method-not-allowed", "Method Not Allowed with Snapshots", "A snapshot cannot be changed; omit the Use-Snapshot header.";
    ProfileNotAcceptable, 406, "profile:invalid-profile-usage", "Invalid Profile Usage", "The profile that the Accept header names is not available on this server.";
    RequestTimeout, 408, "request-timeout", "Request Timeout", "The request did not arrive in time.";
    UnresolvedReference, 409, "data-conflict:unresolved-reference", "Unresolved Reference", "A referenced document does not exist.";
    DependentItemExists, 409, "data-conflict:dependent-item-exists", "Dependent Item Exists", "Other documents still refer to this one.";
    NonUniqueIdentity, 409, "data-conflict:non-unique-identity", "Identifying Values Are Not Unique", "Another document already has these identifying values.";
    MultiUserConflict, 409, "data-conflict:multi-user-conflict", "Conflict With Another User", "Another request changed the document at the same moment; try again.";
    SessionForgotten, 409, "data-conflict:session-forgotten", "Session Forgotten", "The page was opened so long ago that it is not known any more what of it was saved; open the course again.";
    Gone, 410, "gone", "Gone", "What was at this address has ended for good; ask for a new link.";
    OptimisticLockFailed, 412, "optimistic-lock-failed", "Optimistic Lock Failed", "What is stored does not meet the condition of If-Match or If-None-Match.";
    PayloadTooLarge, 413, "payload-too-large", "Payload Too Large", "The request body is larger than this address allows.";
    UnsupportedMediaType, 415, "unsupported-media-type", "Unsupported Media Type", "This address accepts application/json.";
    ProfileUnsupported, 415, "profile:invalid-profile-usage", "Invalid Profile Usage", "The profile that the Content-Type header names is not available on this server.";
    TooManyTokens, 429, "security:authentication:too-many-tokens", "Too Many Tokens", "This key already has the maximum number of valid tokens; use them until they expire.";
    TooManyRequests, 429, "too-many-requests", "Too Many Requests", "This client sends too many requests; wait as long as Retry-After says.";
    HeadersTooLarge, 431, "headers-too-large", "Request Header Fields Too Large", "The request's header is larger than allowed.";
    Internal, 500, "system", "System Error", "The server failed; its log has details under this correlation id.";
    SecurityConfiguration, 500, "system:configuration:security", "Security Configuration Error", "No authorization strategy is configured for this request.";
    NotImplemented, 501, "not-implemented", "Not Implemented", "This part of the API is not implemented.";
    BadGateway, 502, "bad-gateway", "Bad Gateway", "The server behind this API did not answer as HTTP requires.";
    ServiceUnavailable, 503, "service-unavailable", "Service Unavailable", "The server is overloaded; try again after the time in Retry-After.";
    GatewayTimeout, 504, "gateway-timeout", "Gateway Timeout", "The server behind this API did not answer in time.";
}

/// A problem on its way to the caller. It is one pointer wide, so that results stay small.
#[derive(Debug, Clone)]
pub struct Problem(Box<ProblemParts>);

/// The contents of a [`Problem`].
#[derive(Debug, Clone)]
pub struct ProblemParts {
    /// Kind of problem.
    pub kind: Kind,
    /// What happened, in one sentence.
    pub detail: Option<String>,
    /// Violations of a document, by JSON path.
    pub violations: Violations,
    /// Violations that belong to no path in the document.
    pub errors: Vec<String>,
    /// How to mend it.
    pub hint: Option<String>,
    /// Header lines of the answer.
    pub headers: Vec<(header::HeaderName, HeaderValue)>,
    /// The name of the budget or queue that is used up, if that is the problem.
    pub budget: Option<&'static str>,
    /// Detail for the log, which the caller never sees.
    pub internal: Option<String>,
    /// The client whom the refused request named, for the log.
    pub named: Option<Named>,
    /// The upstream that was asked, for the log.
    pub via: Option<Via>,
}

/// A client whom a request named: on a refusal, and as an extension of the answer where a part learns it
/// itself. It goes to the log of requests and never to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its key.
    pub key: String,
    /// Name of its application.
    pub client: String,
}

impl std::ops::Deref for Problem {
    type Target = ProblemParts;

    fn deref(&self) -> &ProblemParts {
        &self.0
    }
}

impl std::ops::DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut ProblemParts {
        &mut self.0
    }
}

#[derive(Serialize)]
struct Members<'a> {
    detail: &'a str,
    r#type: &'a str,
    title: &'a str,
    status: u16,
    #[serde(rename = "correlationId")]
    correlation_id: &'a str,
    #[serde(rename = "validationErrors", skip_serializing_if = "Violations::is_empty")]
    validation_errors: &'a Violations,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    errors: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Problem {
    /// Creates a problem of a kind, with the kind's usual detail.
    pub fn of(kind: Kind) -> Self {
        Self(Box::new(ProblemParts {
            kind,
            detail: None,
            violations: Violations::new(),
            errors: vec![],
            hint: None,
            headers: vec![],
            budget: None,
            internal: None,
            named: None,
            via: None,
        }))
    }

    /// Creates the problem for a failure of the server; `source` goes to the log only.
    pub fn internal(source: impl std::fmt::Display) -> Self {
        let mut problem = Self::of(Kind::Internal);
        problem.internal = Some(source.to_string());
        problem
    }

    /// Creates a 503 with `Retry-After` in seconds.
    pub fn busy(retry_after_seconds: u32) -> Self {
        Self::of(Kind::ServiceUnavailable).header(header::RETRY_AFTER, retry_after_seconds.into())
    }

    /// Sets the sentence that says what happened.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Sets the name of the budget or queue that is used up.
    #[must_use]
    pub fn budget(mut self, name: impl Into<Option<&'static str>>) -> Self {
        self.budget = name.into();
        self
    }

    /// Sets the hint that says how to mend it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a violation that belongs to no path.
    #[must_use]
    pub fn error(mut self, error: impl Into<String>) -> Self {
        self.errors.push(error.into());
        self
    }

    /// Sets the violations of a document.
    #[must_use]
    pub fn violations(mut self, violations: Violations) -> Self {
        self.violations = violations;
        self
    }

    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Returns the body as the caller reads it.
    ///
    /// # Panics
    ///
    /// Never: the members are text and numbers.
    pub fn body(&self, correlation_id: &str) -> Vec<u8> {
        serde_json::to_vec(&Members {
            detail: self.detail.as_deref().unwrap_or_else(|| self.kind.detail()),
            r#type: self.kind.urn(),
            title: self.kind.title(),
            status: self.kind.status().as_u16(),
            correlation_id,
            validation_errors: &self.violations,
            errors: &self.errors,
            hint: self.hint.as_deref(),
        })
        .expect("text and numbers can be written as JSON")
    }

    /// Returns the whole answer.
    pub fn into_response(self, correlation_id: &str) -> Response {
        let mut response = http::Response::new(Body::from(self.body(correlation_id)));
        *response.status_mut() = self.kind.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        for (name, value) in self.0.headers {
            headers.append(name, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_all_members_of_the_contract() {
        let violations: Violations = [("$.a".to_owned(), vec!["c".to_owned()])].into();
        let problem =
            Problem::of(Kind::UnresolvedReference).error("a").hint("b").violations(violations);

        let body: serde_json::Value = serde_json::from_slice(&problem.body("c-1")).unwrap();

        assert_eq!(
            body,
            serde_json::json!({
                "detail": "A referenced document does not exist.",
                "type": "urn:ed-fi:api:data-conflict:unresolved-reference",
                "title": "Unresolved Reference",
                "status": 409,
                "correlationId": "c-1",
                "validationErrors": {"$.a": ["c"]},
                "errors": ["a"],
                "hint": "b",
            })
        );
    }

    #[test]
    fn a_problem_without_particulars_has_no_members_for_them() {
        for kind in Kind::ALL {
            let body = Problem::of(*kind).body("c-1");
            let body: serde_json::Map<String, serde_json::Value> =
                serde_json::from_slice(&body).unwrap();

            let mut names: Vec<&str> = body.keys().map(String::as_str).collect();
            names.sort_unstable();
            assert_eq!(names, ["correlationId", "detail", "status", "title", "type"], "{kind:?}");
        }
    }

    #[test]
    fn each_type_stands_once_with_a_status() {
        let of = |kind: &Kind| (kind.urn(), kind.status());
        for kind in Kind::ALL {
            assert_eq!(Kind::ALL.iter().filter(|k| of(k) == of(kind)).count(), 1, "{kind:?}");
            assert!(!kind.urn().ends_with(':'), "{kind:?}");
        }
    }
}
