//! Checks a definition: everything that would keep an API from being served.

use std::collections::HashSet;

use homeroom_client::{Network, Url};
use homeroom_http::Cors;
use http::header::{EXPECT, TE};
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::balance::HashBy;
use crate::definition::{
    Api, Balance, Definition, Headers, Peer, Plan, Published, Security, Sticky,
};
use crate::index::Index;
use crate::limits::By;
use crate::operations::{Operations, names, remarks};
use crate::target::fault_of_path;
use crate::transform::{OPERATIONS_MAX, Operation, Transform};

/// Most APIs and plans of a definition.
pub const APIS_MAX: usize = 20_000;
/// Most upstreams of an API.
const UPSTREAMS_MAX: usize = 64;
/// Most issuers of an API.
const ISSUERS_MAX: usize = 16;
/// Most seconds by which clocks may differ.
const LEEWAY_SECONDS_MAX: u64 = 300;
/// Most groups of upstreams of an API.
const GROUPS_MAX: usize = 16;
/// Most times that a call is sent.
const ATTEMPTS_MAX: u32 = 10;
/// Largest weight of a group.
const WEIGHT_MAX: u32 = 10_000;
/// Most limits of an API.
const LIMITS_MAX: usize = 32;
/// Most characters of a name.
const NAME_MAX: usize = 100;

/// The parts of this server that an API may publish, and where they are.
pub(crate) const PARTS: &[(&str, &str)] = &[
    ("data", "/data/v3"),
    ("metadata", "/metadata"),
    ("change-queries", "/changeQueries/v1"),
    ("composites", "/composites/v1"),
    ("learning", "/learning/api/v2"),
];

/// Something that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    /// The file, if it came from one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The line, from 1; 0 where it is not known.
    #[serde(default)]
    pub line: usize,
    /// The member, such as `apis[0].upstream`.
    pub path: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => {}
            (file, 0) => write!(f, "{file}: ")?,
            (file, line) => write!(f, "{file}:{line}: ")?,
        }
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Collects findings below a path.
struct Findings<'a> {
    found: &'a mut Vec<Finding>,
    path: String,
}

impl Findings<'_> {
    fn add(&mut self, member: &str, message: impl Into<String>) {
        let dot = if member.is_empty() || member.starts_with('[') { "" } else { "." };
        let path = format!("{}{dot}{member}", self.path).trim_end_matches('.').to_owned();
        let message = message.into();
        self.found.push(Finding { file: String::new(), line: 0, path, message });
    }
}

/// What else is published, or will be.
#[derive(Clone, Copy)]
pub(crate) enum Others<'a> {
    /// Nothing else is published.
    None,
    /// The index lists what else is published.
    Are(&'a Index),
    /// The caller does not know what else is published, as a command that reads one file.
    Unknown,
}

/// Returns all that is wrong with a definition.
pub fn check(published: &Published) -> Vec<Finding> {
    check_alone(published, Others::None)
}

/// Returns all that is wrong with a definition whose documents are beside it.
pub(crate) fn check_alone(published: &Published, others: Others<'_>) -> Vec<Finding> {
    let text = |document: &str| published.documents.get(document).map(String::as_str);
    check_beside(&published.definition, others, &|_| true, &text)
}

/// Returns what may be meant, and what its author should know: it keeps no API from being served.
pub(crate) fn hints(published: &Published) -> Vec<Finding> {
    let mut found = vec![];
    let definition = &published.definition;
    let plans: HashSet<&String> = definition.plans.iter().map(|plan| &plan.name).collect();
    for (number, api) in definition.apis.iter().enumerate() {
        let mut findings = Findings { found: &mut found, path: format!("apis[{number}]") };
        if let Some(plan) = api.plan.as_ref().filter(|plan| !plans.contains(plan)) {
            let message = format!("the plan {plan} is not here; it has to be published already");
            findings.add("plan", message);
        }
        let document = api.openapi.as_ref().and_then(|name| published.documents.get(name));
        let Some(Ok(remarks)) = document.map(|text| remarks(text)) else { continue };
        if api.security != Security::None && !remarks.open.is_empty() {
            let names = remarks.open.join(", ");
            let message = format!(
                "the document lets everybody call {names}; here every call of the API needs its security. \
                 Publish them as an API of their own with security = \"none\""
            );
            findings.add("security", message);
        }
        if api.validate && !remarks.unchecked.is_empty() {
            let names = remarks.unchecked.join(", ");
            findings
                .add("validate", format!("bodies of these media types are not checked: {names}"));
        }
    }
    found
}

/// Returns all that is wrong with a definition that is to be published beside `others`, of which it replaces
/// those of its names. `is_new` tells APIs that have not been checked before, and `text` what a document says.
pub(crate) fn check_beside<'a>(
    definition: &Definition,
    others: Others<'_>,
    is_new: &dyn Fn(&Api) -> bool,
    text: &dyn Fn(&str) -> Option<&'a str>,
) -> Vec<Finding> {
    let is_unknown = matches!(others, Others::Unknown);
    let others = if let Others::Are(index) = others { Some(index) } else { None };
    let mut found = vec![];
    let mut names = HashSet::new();
    for (number, plan) in definition.plans.iter().enumerate() {
        let mut findings = Findings { found: &mut found, path: format!("plans[{number}]") };
        if !names.insert(&plan.name) {
            findings.add("name", format!("there are two plans called {}", plan.name));
        }
        check_plan(plan, &mut findings);
    }
    let plans = names;
    let own: HashSet<&str> = definition.apis.iter().map(|api| api.name.as_str()).collect();
    let is_there = |plan: &String| others.is_some_and(|others| others.plan(plan).is_some());
    let other_at = |base: &str| others?.at(base).filter(|other| !own.contains(other));
    let (mut names, mut bases) = (HashSet::new(), HashSet::new());
    for (number, api) in definition.apis.iter().enumerate() {
        let mut findings = Findings { found: &mut found, path: format!("apis[{number}]") };
        if !names.insert(&api.name) {
            findings.add("name", format!("there are two APIs called {}", api.name));
        }
        let base = api.base();
        if !bases.insert(base.to_ascii_lowercase()) || other_at(&base).is_some() {
            let message = format!("another API has {base}; choose another version");
            findings.add("context", message);
        }
        let is_missing = |plan: &&String| !is_unknown && !plans.contains(plan) && !is_there(plan);
        if let Some(plan) = api.plan.as_ref().filter(is_missing) {
            findings.add("plan", format!("there is no plan {plan}; define it under [[plans]]"));
        }
        if is_new(api) {
            let text = api.openapi.as_deref().and_then(text);
            check_api(api, text, &mut findings);
        }
    }
    let all = others.map_or(0, |others| {
        let plans = others.plans().filter(|kept| !plans.contains(&kept.item.name)).count();
        plans + others.apis().len() - own.iter().filter(|own| others.api(own).is_some()).count()
    });
    if all + definition.apis.len() + definition.plans.len() > APIS_MAX {
        let mut findings = Findings { found: &mut found, path: String::new() };
        findings.add("", format!("there are more than {APIS_MAX} APIs and plans"));
    }
    found
}

fn check_plan(plan: &Plan, findings: &mut Findings<'_>) {
    check_name("name", &plan.name, findings);
    match plan.requests_per_second {
        Some(rate) => check_rate("requests_per_second", rate, findings),
        None if plan.quota.is_none() => {
            findings.add("", "a plan limits calls: state requests_per_second, quota, or both");
        }
        None => {}
    }
    if plan.burst == Some(0) {
        findings.add("burst", "a burst is at least 1");
    }
}

fn check_rate(member: &str, rate: f64, findings: &mut Findings<'_>) {
    if !(rate > 0.0 && rate <= 1e6) {
        findings.add(member, "a rate is more than 0 and at most 1,000,000 calls per second");
    }
}

fn check_name(member: &str, name: &str, findings: &mut Findings<'_>) {
    let is_plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    if name.trim().is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(is_plain) {
        let message = "a name has 1 to 100 letters, digits, blanks, dots, hyphens and underscores";
        findings.add(member, message);
    }
}

fn check_segment(member: &str, segment: &str, findings: &mut Findings<'_>) {
    let segment = segment.trim_matches('/');
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let is_dots = segment == "." || segment == "..";
    if segment.is_empty() || segment.len() > NAME_MAX || is_dots || !segment.bytes().all(is_plain) {
        let message = "it is one segment of a path: letters, digits, hyphens, dots, underscores";
        findings.add(member, message);
    }
}

fn check_api(api: &Api, document: Option<&str>, findings: &mut Findings<'_>) {
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
    check_upstreams("upstream", &api.upstream, findings);
    check_scopes(api, findings);
    check_groups(api, findings);
    check_peer(api, findings);
    if let Some(health) = api.health.as_ref().filter(|health| !health.path.starts_with('/')) {
        findings.add("health.path", format!("`{}` does not begin with a slash", health.path));
    }
    if api.validate && api.openapi.is_none() {
        findings.add("validate", "requests are checked by a document: state openapi");
    }
    check_issuers(api, findings);
    check_choice(api, findings);
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
                if let Err(reason) = Operations::read(text, &[], api.validate) {
                    findings.add("openapi", format!("{name}: {reason}"));
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
    }
}

fn check_choice(api: &Api, findings: &mut Findings<'_>) {
    match &api.hash {
        Some(_) if api.balance != Balance::ConsistentHash => {
            findings.add("hash", "it counts with balance = \"consistent-hash\" only");
        }
        Some(text) if HashBy::read(text).is_none() => {
            findings.add("hash", format!("`{text}` is none of address, key and header:NAME"));
        }
        _ => {}
    }
    let breaker = &api.breaker;
    if breaker.failures == 0 {
        findings.add("breaker.failures", "at least one call has failed");
    }
    if breaker.rest.0 > breaker.rest_max.0 {
        findings.add("breaker.rest", "it is longer than rest_max");
    }
    if !(0.0..=1.0).contains(&breaker.share) {
        findings.add("breaker.share", "a share is a number from 0 to 1");
    }
    let retries = &api.retries;
    if !(1..=ATTEMPTS_MAX).contains(&retries.attempts) {
        let message = format!("a call is sent at least once and at most {ATTEMPTS_MAX} times");
        findings.add("retries.attempts", message);
    }
    if !(0.0..=1.0).contains(&retries.share) {
        findings.add("retries.share", "a share is a number from 0 to 1");
    }
    for (number, method) in retries.methods.iter().enumerate() {
        let is_known = method.parse().is_ok_and(|method: http::Method| {
            method != http::Method::CONNECT && method.as_str().chars().all(char::is_uppercase)
        });
        if !is_known {
            let message = format!("`{method}` is no method; write it as GET");
            findings.add(&format!("retries.methods[{number}]"), message);
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

fn check_upstreams(member: &str, upstreams: &[String], findings: &mut Findings<'_>) {
    if upstreams.len() > UPSTREAMS_MAX {
        findings.add(member, format!("there are at most {UPSTREAMS_MAX} upstreams"));
    }
    for (number, upstream) in upstreams.iter().enumerate() {
        let place = format!("{member}[{number}]");
        match Url::parse(upstream) {
            Ok(url) if url.path_and_query().contains('?') => {
                findings.add(&place, "the URL of an upstream has no query");
            }
            Ok(_) => {}
            Err(error) => findings.add(&place, error.to_string()),
        }
    }
}

fn check_groups(api: &Api, findings: &mut Findings<'_>) {
    if api.groups.len() > GROUPS_MAX {
        findings.add("groups", format!("an API has at most {GROUPS_MAX} groups"));
    }
    for (number, group) in api.groups.iter().enumerate() {
        if group.upstream.is_empty() {
            findings
                .add(&format!("groups[{number}].upstream"), "a group has at least one upstream");
        }
        if group.weight > WEIGHT_MAX {
            let message = format!("a weight is at most {WEIGHT_MAX}");
            findings.add(&format!("groups[{number}].weight"), message);
        }
        check_upstreams(&format!("groups[{number}].upstream"), &group.upstream, findings);
    }
    if !api.groups.is_empty() && api.groups.iter().all(|group| group.weight == 0) {
        findings.add("groups", "one group at least has a weight above 0");
    }
    match &api.sticky {
        Some(_) if api.groups.is_empty() => {
            findings.add("sticky", "it says which group calls go to: state groups");
        }
        Some(Sticky::Key) if api.security == Security::None => {
            findings.add("sticky", "callers of an API without security have no key");
        }
        _ => {}
    }
}

fn check_peer(api: &Api, findings: &mut Findings<'_>) {
    let peer = &api.peer;
    if *peer != Peer::default() && api.part.is_some() {
        findings.add("peer", "a part of this server is no peer; use upstreams");
    }
    if let Some(host) = &peer.host {
        let url = Url::parse(&format!("http://{host}"));
        if !url.is_ok_and(|url| url.path_and_query() == "/" && !host.contains(['/', '?', '#'])) {
            findings.add(
                "peer.host",
                format!("`{host}` is no host; write api.example.org or api:8443"),
            );
        }
    }
    let mut urls = api.upstream.iter().chain(api.groups.iter().flat_map(|group| &group.upstream));
    let is_secure = urls.any(|url| url.starts_with("https:"));
    for (member, value) in peer.values() {
        let place = format!("peer.{member}");
        let is_place = is_place(value);
        if is_place && names_nothing(value) {
            findings.add(&place, "it names no place; write env:NAME or file:PATH");
        }
        if member == "key" && !is_place {
            findings
                .add(&place, "a key is not written here: name its place, env:NAME or file:PATH");
        } else if !is_place && !value.contains("-----BEGIN CERTIFICATE-----") {
            findings.add(&place, "it is no certificate in PEM; write file:PATH or env:NAME");
        }
        if !is_secure {
            findings.add(&place, "certificates are for upstreams of https://…");
        }
    }
    match (&peer.certificate, &peer.key) {
        (Some(_), None) => {
            findings.add("peer.key", "a certificate is shown with its key: state key");
        }
        (None, Some(_)) => {
            findings.add("peer.certificate", "a key belongs to a certificate: state certificate");
        }
        _ => {}
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

/// Returns whether a value is elsewhere.
fn is_place(value: &str) -> bool {
    value.starts_with("env:") || value.starts_with("file:")
}

/// Returns whether a value is elsewhere, and nobody says where.
fn names_nothing(value: &str) -> bool {
    matches!(value, "env:" | "file:")
}

/// Reads a network, or an address as the network of it alone.
pub(crate) fn network(text: &str) -> Option<Network> {
    text.parse().ok()
}
