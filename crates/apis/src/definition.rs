//! What is published, as files state it: plans and APIs.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::limits::Limits;
use crate::quota::Quota;
use crate::transform::Operation;
use crate::units::{Size, Time};

/// Everything that is published.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The plans by which calls are limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<Plan>,
    /// The APIs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apis: Vec<Api>,
}

/// A definition with the documents that it names.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub struct Published {
    /// Plans and APIs.
    pub definition: Definition,
    /// The text of each OpenAPI document, by the name that APIs give it.
    pub documents: BTreeMap<String, String>,
}

/// A plan: how many calls a key may send to all its APIs together.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Calls per second, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<f64>,
    /// Calls at once after a pause; one second's worth by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Calls in a minute, hour, day or month, such as `10000/day`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// Upstreams that get a share of an API's calls.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The URLs of its upstreams.
    pub upstream: Vec<String>,
    /// Its share of the calls: its weight of all weights together.
    pub weight: u32,
}

/// What calls have in common that go to the same group of upstreams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sticky {
    /// The caller's key; `key`.
    Key,
    /// The caller's address; `address`.
    Address,
    /// The value of a header; `header:NAME`.
    Header(String),
}

impl Serialize for Sticky {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Key => to.serialize_str("key"),
            Self::Address => to.serialize_str("address"),
            Self::Header(name) => to.serialize_str(&format!("header:{name}")),
        }
    }
}

impl<'de> Deserialize<'de> for Sticky {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match (text.as_str(), text.strip_prefix("header:")) {
            ("key", _) => Ok(Self::Key),
            ("address", _) => Ok(Self::Address),
            (_, Some(name)) if http::HeaderName::from_bytes(name.as_bytes()).is_ok() => {
                Ok(Self::Header(name.to_owned()))
            }
            _ => Err(D::Error::custom(format!(
                "`{text}` is nothing to go by; write key, address or header:NAME"
            ))),
        }
    }
}

/// How callers of an API are recognized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// By a token of `/oauth/token`.
    #[default]
    Oauth2,
    /// By key and secret in the header `X-API-Key: KEY.SECRET`.
    ApiKey,
    /// By a certificate that is registered with the key.
    Mtls,
    /// Not at all.
    None,
}

/// An issuer of tokens outside of this server, which an API trusts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// Its name, as tokens have it in `iss`.
    pub issuer: String,
    /// The URL of its public keys, a JSON Web Key Set.
    pub jwks: String,
    /// The audiences, one of which a token names in `aud`.
    pub audience: Audience,
    /// By how much its clock and this server's may differ.
    #[serde(default = "half_a_minute")]
    pub leeway: Time,
}

/// One audience or several.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Audience {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Audience {
    /// Returns the names.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }

    /// Returns whether it has a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().iter().any(|own| own == name)
    }
}

/// How an API's upstreams are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// One after the other.
    #[default]
    RoundRobin,
    /// The one with the fewest open requests.
    LeastRequests,
    /// Always the same one for the same caller, as long as it is well.
    ConsistentHash,
}

/// When a call is sent again.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Most times that a call is sent. An upstream to which no connection can be opened at once does not
    /// count.
    pub attempts: u32,
    /// The methods of calls that are sent again although an upstream may have got them.
    pub methods: Vec<String>,
    /// The share of all calls that may be sent again.
    pub share: f64,
}

impl Default for Retries {
    fn default() -> Self {
        let methods = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].map(str::to_owned).to_vec();
        Self { attempts: 2, methods, share: 0.2 }
    }
}

/// When an upstream that fails is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Breaker {
    /// Calls that fail in a row: no answer in time, a broken connection, 502, 503 or 504.
    pub failures: u32,
    /// How long it is left alone the first time; each further time twice as long.
    pub rest: Time,
    /// How long it is left alone at most.
    pub rest_max: Time,
    /// The share of all upstreams that answers of 502, 503 and 504 may keep away at a time, and never the
    /// last one. Those that cannot be reached or do not answer are kept away even so.
    pub share: f64,
}

impl Default for Breaker {
    fn default() -> Self {
        let [rest, rest_max] = [1, 10].map(|s| Time(std::time::Duration::from_secs(s)));
        Self { failures: 5, rest, rest_max, share: 0.5 }
    }
}

/// Time limits of the phases of a call, where they are others than `timeout`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// The longest time for opening a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Time>,
    /// The longest time from the end of the request to the head of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Time>,
    /// The longest time between two parts of a body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Time>,
    /// The longest time for the whole call, with the bodies and all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Time>,
}

/// By what names and certificates the upstreams of an API and this server know each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The host that is sent to them and that their certificates name, instead of that of their URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The authorities, in PEM, that have signed their certificates, instead of those that the system trusts. A
    /// value `env:NAME` or `file:PATH` is read where the API is served; so are the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The certificate, in PEM, that this server shows to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Its private key, by its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Peer {
    /// Returns the values that may be elsewhere, by their members.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("ca", &self.ca), ("certificate", &self.certificate), ("key", &self.key)];
        all.into_iter().filter_map(|(member, value)| Some((member, value.as_deref()?)))
    }
}

/// How upstreams are probed.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// The path that is asked for, below the upstream's URL.
    pub path: String,
    /// The pause between two probes.
    #[serde(default = "a_second")]
    pub interval: Time,
}

/// Changes of JSON bodies.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Transforms {
    /// Changes of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request: Vec<Operation>,
    /// Changes of answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response: Vec<Operation>,
}

/// Changes of headers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Headers {
    /// Headers that are set. A value `env:NAME` or `file:PATH` is read where the API is served.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Headers that are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// Changes of a query.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueryChanges {
    /// Members that are set, instead of those that a caller sends.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Members that are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// Another beginning of a path.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PathChange {
    /// The segments with which the path below the API's own begins.
    pub from: String,
    /// What takes their place.
    pub to: String,
}

/// A published API: what answers below `/apis/{context}/{version}`, and for whom.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// Its name, by which keys subscribe to it.
    pub name: String,
    /// The first segment of its path.
    pub context: String,
    /// The second segment of its path.
    pub version: String,
    /// The URLs of its upstreams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream: Vec<String>,
    /// Groups of upstreams, each with a share of the calls; instead of `upstream`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What calls have in common that go to the same group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Sticky>,
    /// The part of this server that answers instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The plan of keys that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// How callers are recognized.
    #[serde(default)]
    pub security: Security,
    /// The issuers outside of this server whose tokens it accepts as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<Issuer>,
    /// The file of its OpenAPI document, which says what operations it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openapi: Option<String>,
    /// Whether requests are checked by that document, and refused before they reach an upstream.
    #[serde(default, skip_serializing_if = "is_default")]
    pub validate: bool,
    /// The scopes that a key needs for operations that ask for none of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Limits: one table for all calls together, or a list, each by what it counts.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// The longest wait for the head of an upstream's answer, and between two parts of it.
    #[serde(default = "half_a_minute")]
    pub timeout: Time,
    /// Time limits of the phases of a call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
    /// By what names and certificates its upstreams and this server know each other.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer: Peer,
    /// How upstreams are probed; without it, only calls tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// How upstreams are chosen.
    #[serde(default, skip_serializing_if = "is_round_robin")]
    pub balance: Balance,
    /// By what a consistent hash chooses: `address`, `key` or `header:NAME`; by the address without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// When an upstream that fails is left alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub breaker: Breaker,
    /// When a call is sent again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retries: Retries,
    /// Most bytes of a request's body.
    #[serde(default = "ten_mib")]
    pub max_body: Size,
    /// Most bytes of a request's header, names and values; without it, those that the server takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_header: Option<Size>,
    /// Changes of JSON bodies.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transform: Transforms,
    /// Other beginnings of paths; the first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_path: Vec<PathChange>,
    /// Changes of the query.
    #[serde(default, skip_serializing_if = "is_default")]
    pub request_query: QueryChanges,
    /// Changes of the headers of requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub request_headers: Headers,
    /// Changes of the headers of answers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_headers: Headers,
    /// Whether `Location` and `Content-Location` of answers stay as an upstream or a part has written them; those
    /// that lead to itself lead to this API otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_location: bool,
    /// Origins whose pages may call it; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cors_origins: Vec<String>,
    /// Whether those pages may have cookies and client certificates sent along.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cors_credentials: bool,
    /// Networks from which it may be called; all without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "some")]
    pub allow: Vec<String>,
    /// Networks from which it may not be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// Reads a list that has to have something: an empty one could mean all as well as none.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let list = Vec::<String>::deserialize(from)?;
    if list.is_empty() {
        return Err(D::Error::custom(
            "an empty list allows nobody and would be read as all; leave it out to allow all",
        ));
    }
    Ok(list)
}

fn a_second() -> Time {
    Time(std::time::Duration::from_secs(1))
}

fn half_a_minute() -> Time {
    Time(std::time::Duration::from_secs(30))
}

fn ten_mib() -> Size {
    Size(10 << 20)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_round_robin(balance: &Balance) -> bool {
    *balance == Balance::default()
}

impl Api {
    /// Returns the path below which it answers.
    pub fn base(&self) -> String {
        let [context, version] = [&self.context, &self.version].map(|text| text.trim_matches('/'));
        format!("{}/{context}/{version}", homeroom_gateway::LIVE_BASE)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::upstream::CONNECT_TIME_MAX;

    #[test]
    fn the_guide_says_what_holds_where_nothing_is_stated() {
        let guide = include_str!("../../../docs/guides/publish-an-api.md");
        let (_, stated) = guide.split_once("Where nothing is stated:").unwrap();
        let (stated, _) = stated.split_once("\n\n").unwrap();
        let stated = stated.replace('\n', " ");
        let api = json!({"name": "a", "context": "a", "version": "v1",
            "health": {"path": "/"},
            "issuers": [{"issuer": "i", "jwks": "http://i", "audience": "a"}]});
        let api: Api = serde_json::from_value(api).unwrap();
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown = |time: Time| text(serde_json::to_value(time).unwrap());
        let Breaker { failures, rest, rest_max, share } = api.breaker;
        let (rest, rest_max) = (shown(rest), shown(rest_max));
        let Retries { attempts, methods, share: of_all } = &api.retries;
        let (last, first) = methods.split_last().unwrap();
        let preflight = homeroom_http::Cors::default().max_age.as_secs();

        for expected in [
            format!("`timeout` is {}", shown(api.timeout)),
            format!("`max_body` {}", text(serde_json::to_value(api.max_body).unwrap())),
            format!("`connect` is `timeout` and at most {}s", CONNECT_TIME_MAX.as_secs()),
            format!("the `interval` of `health` is {}", shown(api.health.unwrap().interval)),
            format!(
                "`{{failures = {failures}, rest = \"{rest}\", rest_max = \"{rest_max}\", share = {share}}}`"
            ),
            format!(
                "`{{attempts = {attempts}, share = {of_all}}}` for {} and {last}",
                first.join(", ")
            ),
            format!("`balance` is `{}`", text(serde_json::to_value(api.balance).unwrap())),
            format!("`leeway` is {}", shown(api.issuers[0].leeway)),
            format!("a preflight for {preflight} s"),
        ] {
            assert!(stated.contains(&expected), "{expected}");
        }
        assert_eq!(api.timeouts, Timeouts::default(), "`first_byte` and `idle` are `timeout`");
    }
}
