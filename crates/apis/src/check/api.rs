//! Checks an API by itself: its names, who may call it, and how it changes what it passes on.

use homeroom_access::Scope;
use homeroom_client::{Url, is_place};
use homeroom_http::Cors;
use http::header::{EXPECT, TE};
use http::{HeaderName, HeaderValue};

use super::findings::Findings;
use super::syntax::{PARTS, check_name, check_rate, check_segment, names_nothing, network};
use super::upstreams::check_targets;
use crate::definition::{Api, Headers, Security};
use crate::limits::By;
use crate::operations::{Operations, names};
use crate::target::fault_of_path;
use crate::transform::{OPERATIONS_MAX, Operation, Transform};

/// Most issuers of an API.
const ISSUERS_MAX: usize = 16;
/// Most seconds by which clocks may differ.
const LEEWAY_SECONDS_MAX: u64 = 300;
/// Most limits of an API.
const LIMITS_MAX: usize = 32;

/// Adds all that is wrong with an API by itself. `document` is what its OpenAPI document says.
pub(super) fn check_api(api: &Api, document: Option<&str>, findings: &mut Findings<'_>) {
    check_name("name", &api.name, findings);
    check_segment("context", &api.context, findings);
    check_segment("version", &api.version, findings);
    match (&api.part, api.upstream.is_empty(), api.groups.is_empty()) {
        (None, true, true) => findings.add("upstream", "state upstream = [\"http://…\"] or part"),
        (Some(_), false, _) | (Some(_), _, false) => {
            findings.add("part", "an API has either upstreams or a part");
        }
        (None, false, false) => {
            findings.add("groups", "an API has either upstream or groups of upstreams");
        }
        (Some(part), true, true) if PARTS.iter().all(|(name, _)| name != part) => {
            let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
            findings.add("part", format!("there is no part {part}; parts: {}", known.join(", ")));
        }
        _ => {}
    }
    check_targets(api, findings);
    check_scopes(api, findings);
    if api.validate && api.openapi.is_none() {
        findings.add("validate", "requests are checked by a document: state openapi");
    }
    check_issuers(api, findings);
    let names_some = api.limits.0.iter().any(|limit| !limit.operations.is_empty());
    let operations = document.filter(|_| names_some).and_then(|text| names(text).ok());
    check_limits(api, operations.as_deref(), findings);
    if let Some(name) = &api.openapi {
        match document {
            None => {
                let message = format!(
                    "there is no document {name} that can be read: it is a file \
                    beside this one, or a member of `documents` in a request"
                );
                findings.add("openapi", message);
            }
            Some(text) => {
                if let Err(error) = Operations::read(text, &[], api.validate) {
                    findings.add("openapi", error.in_document(name));
                }
            }
        }
    }
    check_transform("transform.request", &api.transform.request, findings);
    check_transform("transform.response", &api.transform.response, findings);
    check_target(api, findings);
    check_headers("request_headers", &api.request_headers, findings);
    check_headers("response_headers", &api.response_headers, findings);
    for (number, origin) in api.cors_origins.iter().enumerate() {
        if !Cors::is_origin(origin) {
            let message = format!(
                "`{origin}` is no origin as browsers send it; write https://app.example.org without a \
                path, or * for all"
            );
            findings.add(&format!("cors_origins[{number}]"), message);
        }
    }
    if api.cors_credentials
        && (api.cors_origins.is_empty() || api.cors_origins.iter().any(|o| o == "*"))
    {
        findings.add("cors_credentials", "credentials are for origins that are named, not for all");
    }
    for (member, networks) in [("allow", &api.allow), ("deny", &api.deny)] {
        for (number, text) in networks.iter().enumerate() {
            if network(text).is_none() {
                let message = format!("`{text}` is no network; write 10.0.0.0/8 or 192.0.2.7");
                findings.add(&format!("{member}[{number}]"), message);
            }
        }
    }
}

fn check_scopes(api: &Api, findings: &mut Findings<'_>) {
    if api.security == Security::None && !api.scopes.is_empty() {
        findings.add("scopes", "callers of an API without security have no scopes");
    }
    for (number, scope) in api.scopes.iter().enumerate() {
        // RFC 6749 §3.3.
        let is_plain = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E);
        if scope.is_empty() || scope.len() > 255 || !scope.bytes().all(is_plain) {
            let message =
                "no key can have it: a scope has 1 to 255 letters, digits and signs, and no blank";
            findings.add(&format!("scopes[{number}]"), message);
        }
        if Scope::read(scope).is_some() {
            let message = format!("{scope} is a scope of this server; choose another name");
            findings.add(&format!("scopes[{number}]"), message);
        }
    }
}

fn check_issuers(api: &Api, findings: &mut Findings<'_>) {
    if !api.issuers.is_empty() && api.security != Security::Oauth2 {
        findings.add("issuers", "issuers are for APIs whose security is oauth2");
    }
    if !api.issuers.is_empty() && api.part.is_some() {
        findings.add("issuers", "a part of this server takes its own tokens only; use upstreams");
    }
    if api.issuers.len() > ISSUERS_MAX {
        findings.add("issuers", format!("an API has at most {ISSUERS_MAX} issuers"));
    }
    for (number, issuer) in api.issuers.iter().enumerate() {
        let place = |member: &str| format!("issuers[{number}].{member}");
        if issuer.issuer.is_empty() || issuer.issuer.len() > 1_000 {
            findings.add(&place("issuer"), "state the name that tokens have in `iss`");
        }
        if api.issuers[..number].iter().any(|other| other.issuer == issuer.issuer) {
            findings.add(&place("issuer"), format!("{} is there twice", issuer.issuer));
        }
        if let Err(error) = Url::parse(&issuer.jwks) {
            findings.add(&place("jwks"), error.to_string());
        }
        let names = issuer.audience.names();
        if names.is_empty() || names.iter().any(String::is_empty) {
            findings.add(&place("audience"), "state the audience that tokens name in `aud`");
        }
        if issuer.leeway.0.as_secs() > LEEWAY_SECONDS_MAX {
            let message = format!("clocks may differ by at most {LEEWAY_SECONDS_MAX} seconds");
            findings.add(&place("leeway"), message);
        }
    }
}

fn check_limits(api: &Api, operations: Option<&[String]>, findings: &mut Findings<'_>) {
    if api.limits.0.len() > LIMITS_MAX {
        findings.add("limits", format!("an API has at most {LIMITS_MAX} limits"));
    }
    for (number, limit) in api.limits.0.iter().enumerate() {
        let path = api.limits.path_of(number);
        let mut add =
            |member: &str, message: &str| findings.add(&format!("{path}.{member}"), message);
        let by = |by| limit.by.0.contains(&by);
        match (limit.requests_per_second, limit.quota) {
            (None, None) => add("", "a limit states requests_per_second, quota, or both"),
            (None, Some(_)) if limit.burst.is_some() => {
                add("burst", "a burst is one of requests_per_second, which is missing");
            }
            _ => {}
        }
        if limit.burst == Some(0) {
            add("burst", "a burst is at least 1");
        }
        if (1..limit.by.0.len()).any(|at| limit.by.0[..at].contains(&limit.by.0[at])) {
            add("by", "it names something twice");
        }
        if by(By::Key) && api.security == Security::None {
            add("by", "callers of an API without security have no key; count by address");
        }
        if by(By::Claim) != limit.claim.is_some() {
            add("claim", "by = \"claim\" and the name of a claim belong together");
        }
        if by(By::Claim) && api.security != Security::Oauth2 {
            add("by", "only tokens have claims: state security = \"oauth2\"");
        }
        if api.openapi.is_none() && (by(By::Operation) || !limit.operations.is_empty()) {
            add("operations", "operations are those of a document: state openapi");
        }
        for (at, operation) in limit.operations.iter().enumerate() {
            if operations.is_some_and(|known| !known.contains(operation)) {
                let message = format!(
                    "the document has no operation {operation}; write it as GET /items/{{id}}"
                );
                add(&format!("operations[{at}]"), &message);
            }
        }
        if let Some(rate) = limit.requests_per_second {
            check_rate(&format!("{path}.requests_per_second"), rate, findings);
        }
    }
}

fn check_transform(member: &str, operations: &[Operation], findings: &mut Findings<'_>) {
    if operations.len() > OPERATIONS_MAX {
        findings.add(member, format!("a transform has at most {OPERATIONS_MAX} operations"));
    }
    if let Err((number, error)) = Transform::new(operations) {
        findings.add(&format!("{member}[{number}].{}", error.member), error.reason);
    }
}

fn check_target(api: &Api, findings: &mut Findings<'_>) {
    if api.request_path.len() > OPERATIONS_MAX {
        findings.add("request_path", format!("there are at most {OPERATIONS_MAX} changes"));
    }
    for (number, change) in api.request_path.iter().enumerate() {
        for (member, path) in [("from", &change.from), ("to", &change.to)] {
            if let Some(fault) = fault_of_path(path) {
                findings.add(&format!("request_path[{number}].{member}"), fault.into_owned());
            }
        }
    }
    let query = &api.request_query;
    if query.set.len() + query.remove.len() > OPERATIONS_MAX {
        findings.add("request_query", format!("there are at most {OPERATIONS_MAX} changes"));
    }
    for (name, value) in &query.set {
        // URLs are in the logs of many servers.
        if is_place(value) {
            let message = "a secret is sent in a header and not in a URL: use request_headers";
            findings.add(&format!("request_query.set.{name}"), message);
        }
    }
}

fn check_headers(member: &str, headers: &Headers, findings: &mut Findings<'_>) {
    for (name, value) in &headers.set {
        let place = format!("{member}.set.{name}");
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            findings.add(&place, "it is no name of a header");
        }
        let is_own = |own: &&HeaderName| own.as_str().eq_ignore_ascii_case(name);
        if homeroom_client::OWN_HEADERS.iter().chain([&TE, &EXPECT]).any(|own| is_own(&own)) {
            let message = "it is about the connection or the length of the body, or names the upstream: it is \
                           written by whoever sends the message, and cannot be set";
            findings.add(&place, message);
        }
        if names_nothing(value) {
            findings.add(&place, "it names no place; write env:NAME or file:PATH");
        }
        if HeaderValue::from_str(value).is_err() {
            findings.add(&place, "HTTP does not allow this value in a header");
        }
    }
    for name in &headers.remove {
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            findings.add(&format!("{member}.remove"), format!("`{name}` is no name of a header"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::check::Finding;

    const DOCUMENT: &str = r#"{"openapi": "3.1.0", "paths": {"/a": {"get": {}}}}"#;

    /// What is wrong with an API that has these members besides those that every API has.
    fn found(members: &Value) -> Vec<Finding> {
        let mut api = json!({"name": "a", "context": "a", "version": "v1", "security": "oauth2"});
        let has = |member: &str| members.get(member).is_some();
        if !["upstream", "groups", "part"].into_iter().any(has) {
            api["upstream"] = json!(["http://a"]);
        }
        api.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let api: Api = serde_json::from_value(api).unwrap();
        let mut found = vec![];
        let document = api.openapi.as_deref().and_then(|name| match name {
            "d" => Some(DOCUMENT),
            "broken" => Some("{"),
            _ => None,
        });
        check_api(&api, document, &mut Findings { found: &mut found, path: "api".into() });
        let own = |one: Finding| Finding::at(one.path.trim_start_matches("api."), one.message);
        found.into_iter().map(own).collect()
    }

    /// Members of an API besides those that every API has, the member that is wrong, and what is said of it.
    const FAULTS: &[(&str, &str, &str)] = &[
        (r#"{"name": "a/b"}"#, "name", "a name has 1 to 100"),
        (r#"{"context": ".."}"#, "context", "it is one segment"),
        (r#"{"version": "v 1"}"#, "version", "it is one segment"),
        (r#"{"scopes": ["a"], "security": "none"}"#, "scopes", "have no scopes"),
        (r#"{"scopes": ["a b"]}"#, "scopes[0]", "no key can have it"),
        (r#"{"scopes": ["a", ""]}"#, "scopes[1]", "no key can have it"),
        (r#"{"scopes": ["data"]}"#, "scopes[0]", "a scope of this server"),
        (r#"{"upstream": []}"#, "upstream", "state upstream"),
        (r#"{"part": "data", "upstream": ["http://a"]}"#, "part", "either upstreams or a part"),
        (r#"{"part": "nope"}"#, "part", "there is no part nope; parts: data,"),
        (
            r#"{"upstream": ["http://a"], "groups": [{"upstream": ["http://b"], "weight": 1}]}"#,
            "groups",
            "either upstream or groups",
        ),
        (r#"{"validate": true}"#, "validate", "state openapi"),
        (r#"{"openapi": "nope"}"#, "openapi", "there is no document nope"),
        (r#"{"openapi": "broken"}"#, "openapi", "broken:"),
        (
            r#"{"security": "api-key", "issuers": [{"issuer": "i", "jwks": "http://i", "audience": "a"}]}"#,
            "issuers",
            "whose security is oauth2",
        ),
        (
            r#"{"part": "data", "issuers": [{"issuer": "i", "jwks": "http://i", "audience": "a"}]}"#,
            "issuers",
            "takes its own tokens only",
        ),
        (
            r#"{"issuers": [{"issuer": "i", "jwks": "http://i", "audience": "a"}, {"issuer": "i", "jwks": "http://i", "audience": "a"}]}"#,
            "issuers[1].issuer",
            "is there twice",
        ),
        (
            r#"{"issuers": [{"issuer": "", "jwks": "http://i", "audience": "a"}]}"#,
            "issuers[0].issuer",
            "in `iss`",
        ),
        (r#"{"issuers": [{"issuer": "i", "jwks": "x", "audience": "a"}]}"#, "issuers[0].jwks", ""),
        (
            r#"{"issuers": [{"issuer": "i", "jwks": "http://i", "audience": []}]}"#,
            "issuers[0].audience",
            "in `aud`",
        ),
        (
            r#"{"issuers": [{"issuer": "i", "jwks": "http://i", "audience": "a", "leeway": "301s"}]}"#,
            "issuers[0].leeway",
            "at most 300 seconds",
        ),
        (r#"{"limits": {"by": "key"}}"#, "limits", "or both"),
        (r#"{"limits": {"quota": "1/day", "burst": 2}}"#, "limits.burst", "is missing"),
        (r#"{"limits": {"requests_per_second": 1, "burst": 0}}"#, "limits.burst", "at least 1"),
        (
            r#"{"limits": {"by": ["key", "key"], "quota": "1/day"}}"#,
            "limits.by",
            "names something twice",
        ),
        (
            r#"{"limits": {"by": "key", "quota": "1/day"}, "security": "none"}"#,
            "limits.by",
            "count by address",
        ),
        (r#"{"limits": {"by": "claim", "quota": "1/day"}}"#, "limits.claim", "belong together"),
        (
            r#"{"limits": {"by": "claim", "claim": "c", "quota": "1/day"}, "security": "mtls"}"#,
            "limits.by",
            "only tokens have claims",
        ),
        (
            r#"{"limits": {"by": "operation", "quota": "1/day"}}"#,
            "limits.operations",
            "state openapi",
        ),
        (
            r#"{"limits": {"operations": ["GET /b"], "quota": "1/day"}, "openapi": "d"}"#,
            "limits.operations[0]",
            "no operation GET /b",
        ),
        (
            r#"{"limits": [{"quota": "1/day"}, {"requests_per_second": 0}]}"#,
            "limits[1].requests_per_second",
            "a rate is more than 0",
        ),
        (
            r#"{"transform": {"request": [{"op": "drop", "path": "a"}]}}"#,
            "transform.request[0].path",
            "",
        ),
        (r#"{"request_path": [{"from": "a", "to": "/b"}]}"#, "request_path[0].from", ""),
        (r#"{"request_path": [{"from": "/a", "to": "b"}]}"#, "request_path[0].to", ""),
        (
            r#"{"request_query": {"set": {"a": "env:A"}}}"#,
            "request_query.set.a",
            "use request_headers",
        ),
        (
            r#"{"request_headers": {"set": {"a b": "1"}}}"#,
            "request_headers.set.a b",
            "no name of a header",
        ),
        (
            r#"{"request_headers": {"set": {"Host": "1"}}}"#,
            "request_headers.set.Host",
            "cannot be set",
        ),
        (
            r#"{"response_headers": {"set": {"a": "env:"}}}"#,
            "response_headers.set.a",
            "it names no place",
        ),
        (
            r#"{"request_headers": {"set": {"a": "\n"}}}"#,
            "request_headers.set.a",
            "does not allow this value",
        ),
        (
            r#"{"request_headers": {"remove": ["a b"]}}"#,
            "request_headers.remove",
            "no name of a header",
        ),
        (r#"{"cors_origins": ["a"]}"#, "cors_origins[0]", "is no origin"),
        (r#"{"cors_credentials": true}"#, "cors_credentials", "that are named"),
        (r#"{"allow": ["x"]}"#, "allow[0]", "is no network"),
        (r#"{"deny": ["1.2.3.4/33"]}"#, "deny[0]", "is no network"),
    ];

    const FAULTS_OF_UPSTREAMS: &[(&str, &str, &str)] = &[
        (r#"{"upstream": ["http://a?b"]}"#, "upstream[0]", "has no query"),
        (r#"{"upstream": ["ftp://a"]}"#, "upstream[0]", ""),
        (
            r#"{"groups": [{"upstream": [], "weight": 1}]}"#,
            "groups[0].upstream",
            "at least one upstream",
        ),
        (
            r#"{"groups": [{"upstream": ["http://a"], "weight": 10001}]}"#,
            "groups[0].weight",
            "at most 10000",
        ),
        (r#"{"groups": [{"upstream": ["http://a"], "weight": 0}]}"#, "groups", "a weight above 0"),
        (r#"{"sticky": "key"}"#, "sticky", "state groups"),
        (
            r#"{"sticky": "key", "groups": [{"upstream": ["http://a"], "weight": 1}], "security": "none"}"#,
            "sticky",
            "have no key",
        ),
        (r#"{"peer": {"host": "a"}, "part": "data"}"#, "peer", "is no peer"),
        (
            r#"{"timeouts": {"connect": "1s"}, "part": "data"}"#,
            "timeouts.connect",
            "for upstreams only",
        ),
        (r#"{"health": {"path": "/"}, "part": "data"}"#, "health", "for upstreams only"),
        (r#"{"balance": "least-requests", "part": "data"}"#, "balance", "for upstreams only"),
        (r#"{"breaker": {"failures": 1}, "part": "data"}"#, "breaker", "for upstreams only"),
        (r#"{"retries": {"attempts": 1}, "part": "data"}"#, "retries", "for upstreams only"),
        (r#"{"peer": {"host": "a/b"}}"#, "peer.host", "is no host"),
        (r#"{"peer": {"ca": "file:"}, "upstream": ["https://a"]}"#, "peer.ca", "it names no place"),
        (r#"{"peer": {"ca": "x"}, "upstream": ["https://a"]}"#, "peer.ca", "no certificate in PEM"),
        (r#"{"peer": {"ca": "file:/a"}}"#, "peer.ca", "for upstreams of https"),
        (
            r#"{"peer": {"certificate": "file:/c", "key": "x"}, "upstream": ["https://a"]}"#,
            "peer.key",
            "a key is not written here",
        ),
        (
            r#"{"peer": {"certificate": "file:/c"}, "upstream": ["https://a"]}"#,
            "peer.key",
            "state key",
        ),
        (
            r#"{"peer": {"key": "file:/k"}, "upstream": ["https://a"]}"#,
            "peer.certificate",
            "state certificate",
        ),
        (r#"{"health": {"path": "x"}}"#, "health.path", "does not begin with a slash"),
        (r#"{"hash": "key"}"#, "hash", "it counts with balance"),
        (r#"{"hash": "x", "balance": "consistent-hash"}"#, "hash", "is none of address"),
        (r#"{"breaker": {"failures": 0}}"#, "breaker.failures", "at least one call"),
        (
            r#"{"breaker": {"rest": "9s", "rest_max": "8s"}}"#,
            "breaker.rest",
            "longer than rest_max",
        ),
        (r#"{"breaker": {"share": 1.1}}"#, "breaker.share", "from 0 to 1"),
        (r#"{"retries": {"attempts": 0}}"#, "retries.attempts", "at most 10 times"),
        (r#"{"retries": {"attempts": 11}}"#, "retries.attempts", "at most 10 times"),
        (r#"{"retries": {"share": -0.1}}"#, "retries.share", "from 0 to 1"),
        (r#"{"retries": {"methods": ["get"]}}"#, "retries.methods[0]", "write it as GET"),
        (r#"{"retries": {"methods": ["CONNECT"]}}"#, "retries.methods[0]", "is no method"),
    ];

    #[test]
    fn each_fault_of_an_api_is_told_with_its_member() {
        assert_eq!(found(&json!({})), []);
        for (members, path, message) in FAULTS.iter().chain(FAULTS_OF_UPSTREAMS) {
            let found = found(&serde_json::from_str(members).unwrap());

            let is_told = |one: &Finding| one.path == *path && one.message.contains(message);
            assert!(found.iter().any(is_told), "{members}: {found:?}");
        }
    }

    #[test]
    fn whatever_an_api_has_several_of_is_bounded() {
        let group = json!({"upstream": ["http://a"], "weight": 1});
        let issuer = json!({"issuer": "i", "jwks": "http://i", "audience": "a"});
        let drop = json!({"op": "drop", "path": "/a"});
        for (member, value, most) in [
            ("upstream", json!("http://a"), 64),
            ("groups", group, 16),
            ("issuers", issuer, 16),
            ("limits", json!({"quota": "1/day"}), 32),
            ("request_path", json!({"from": "/a", "to": "/b"}), OPERATIONS_MAX),
        ] {
            let is_told = |count: usize| {
                let found = found(&json!({member: vec![value.clone(); count]}));
                found.iter().any(|one| one.path == member && one.message.contains("at most"))
            };
            assert!(is_told(most + 1) && !is_told(most), "{member}");
        }
        let many = json!({"transform": {"response": vec![drop; OPERATIONS_MAX + 1]}});
        assert!(found(&many).iter().any(|one| one.path == "transform.response"));
    }
}
