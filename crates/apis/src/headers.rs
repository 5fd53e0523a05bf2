//! Headers on their way through: what belongs to one connection stays on it, and the upstream learns
//! who asks.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, ETAG, EXPECT, FORWARDED, HOST,
    HeaderName, IF_MATCH, IF_RANGE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, RANGE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::definition::{self, Security};

/// Headers that are about one connection.
///
/// Source: RFC 9110 §7.6.1, RFC 2616 §13.5.1, RFC 7540 §3.2.1. `Proxy` is no header of HTTP; scripts read it
/// as the address of a proxy.
const OF_ONE_CONNECTION: [HeaderName; 13] = [
    CONNECTION,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy"),
    PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    EXPECT,
];

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
/// Headers that this server writes itself, or removes.
static OF_THIS_PROXY: [HeaderName; 6] = [
    X_FORWARDED_FOR,
    X_FORWARDED_PROTO,
    X_FORWARDED_HOST,
    X_FORWARDED_PORT,
    X_FORWARDED_PREFIX,
    FORWARDED,
];
/// Headers by which other proxies name the caller, and headers that replace the path: upstreams believe them
/// of whoever stands before them, which is this server.
static OF_OTHER_PROXIES: [HeaderName; 14] = [
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("cf-connecting-ipv6"),
    HeaderName::from_static("fastly-client-ip"),
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("x-azure-clientip"),
    HeaderName::from_static("x-azure-socketip"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("x-cluster-client-ip"),
    HeaderName::from_static("x-envoy-external-address"),
    HeaderName::from_static("x-forwarded"),
    HeaderName::from_static("x-original-forwarded-for"),
    HeaderName::from_static("x-original-url"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-rewrite-url"),
];
/// Headers that replace the method, which decides on the operation.
static OF_METHOD: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-method-override"),
];
/// The name by which this server appends itself to `Via`.
const VIA_NAME: &str = "homeroom";
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// How often a call may have come through servers like this one: beyond it, an upstream leads back to it.
const PASSES_MAX: usize = 10;

static ONE_CONNECTION: LazyLock<Names> = LazyLock::new(|| Names::of(&OF_ONE_CONNECTION));
static OWN: LazyLock<Names> =
    LazyLock::new(|| Names::of(OF_THIS_PROXY.iter().chain(&OF_OTHER_PROXIES)));

/// Names by their length, so that a header is compared with few of them.
struct Names(Vec<Vec<HeaderName>>);

impl Names {
    fn of<'a>(names: impl IntoIterator<Item = &'a HeaderName>) -> Self {
        let mut by_length = vec![];
        for name in names {
            let length = name.as_str().len();
            by_length.resize_with(by_length.len().max(length + 1), Vec::new);
            by_length[length].push(name.clone());
        }
        Self(by_length)
    }

    fn has(&self, name: &HeaderName) -> bool {
        self.0.get(name.as_str().len()).is_some_and(|names| names.contains(name))
    }

    fn has_text(&self, text: &str) -> bool {
        let of_length = self.0.get(text.len());
        of_length.is_some_and(|names| names.iter().any(|name| name.as_str() == text))
    }
}

/// Changes of headers, with the values that a definition names by place.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    set: Vec<(HeaderName, HeaderValue)>,
    remove: Vec<HeaderName>,
}

impl Changes {
    /// Reads the changes of a definition, with the values that are elsewhere.
    ///
    /// # Errors
    ///
    /// Which value cannot be had.
    pub(crate) fn new(
        headers: &definition::Headers,
        secret: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let mut changes = Self::default();
        for (name, value) in &headers.set {
            let wrong = |reason: &str| format!("the header {name}: {reason}");
            let value = secret(value).map_err(|reason| wrong(&reason))?;
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| wrong("its value has characters that HTTP does not allow"))?;
            value.set_sensitive(true);
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| wrong("it is no name of a header"))?;
            changes.set.push((name, value));
        }
        for name in &headers.remove {
            let name = HeaderName::from_bytes(name.as_bytes());
            changes.remove.push(name.map_err(|_| "a header to remove has no name".to_owned())?);
        }
        Ok(changes)
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for name in &self.remove {
            headers.remove(name);
        }
        for (name, value) in &self.set {
            headers.insert(name, value.clone());
        }
    }
}

/// Removes what belongs to one connection: the headers that always do, and those that `Connection`
/// names.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect();
    for name in &named {
        headers.remove(name);
    }
    remove(headers, |name| ONE_CONNECTION.has(name));
}

/// Removes headers by their names. Most requests have none of these.
fn remove(headers: &mut HeaderMap, is_removed: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_removed(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Returns whether the next server could take another end of an answer for its end: one with two lengths,
/// or an interim answer that came as the final one.
pub(crate) fn is_doubtful(status: StatusCode, headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next();
    let is_odd = |coding: &HeaderValue| !coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    status.is_informational()
        || coding.is_some_and(is_odd)
        || codings.next().is_some()
        || (coding.is_some() && headers.contains_key(CONTENT_LENGTH))
        || headers.get_all(CONTENT_LENGTH).iter().count() > 1
}

/// What an upstream learns of a caller.
#[derive(Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) from: Option<IpAddr>,
    /// Scheme, host and port as the caller sees them, and the path that a proxy puts in front.
    pub(crate) base_url: &'a str,
    /// The path of the API, which is no part of the one that its upstreams see.
    pub(crate) base: &'a str,
    pub(crate) request_id: &'a str,
    /// Whether the API says which operations it has, for which a method counts.
    pub(crate) has_operations: bool,
}

/// Makes the headers of a request to an upstream. Credentials that this server has checked stay here.
pub(crate) fn to_upstream(headers: &mut HeaderMap, security: Security, asker: &Asker<'_>) {
    // What is written below.
    headers.reserve(7);
    strip(headers);
    headers.remove(HOST);
    headers.remove(CONTENT_LENGTH);
    match security {
        Security::Oauth2 => _ = headers.remove(AUTHORIZATION),
        Security::ApiKey => _ = headers.remove("x-api-key"),
        Security::Mtls | Security::None => {}
    }
    let is_method = |name: &HeaderName| asker.has_operations && OF_METHOD.contains(name);
    remove(headers, |name| OWN.has(name) || is_method(name) || is_imitation(name, asker));
    let (scheme, rest) = asker.base_url.split_once("://").unwrap_or(("http", asker.base_url));
    let host = rest.split('/').next().unwrap_or(rest);
    // All values are parts of one text.
    let mut text = String::with_capacity(192);
    let mut from = 0..0;
    if let Some(address) = asker.from {
        text.push_str(if address.is_ipv4() { "for=" } else { "for=\"[" });
        from = text.len()..text.len();
        _ = write!(text, "{address}");
        from.end = text.len();
        text.push_str(if address.is_ipv4() { ";host=\"" } else { "]\";host=\"" });
    } else {
        text.push_str("host=\"");
    }
    let named = text.len()..text.len() + host.len();
    text.push_str(host);
    text.push_str("\";proto=");
    text.push_str(scheme);
    let forwarded = text.len();
    text.push_str(&rest[host.len()..]);
    text.push_str(asker.base);
    let prefix = forwarded..text.len();
    // An invalid `traceparent` would give the upstream another trace id than this server's log.
    let is_valid = headers.get(TRACEPARENT).is_some_and(|value| is_trace(value.as_bytes()))
        && headers.get_all(TRACEPARENT).iter().count() == 1;
    if !is_valid {
        headers.remove(TRACEPARENT);
        headers.remove(TRACESTATE);
    }
    let id = asker.request_id;
    if !is_valid && id.len() == 32 {
        for part in ["00-", id, "-", &id[16..], "-00"] {
            text.push_str(part);
        }
    }
    let text = Bytes::from(text);
    let mut insert = |name: &HeaderName, part: Range<usize>| {
        if let Ok(value) = HeaderValue::from_maybe_shared(text.slice(part)) {
            headers.insert(name, value);
        }
    };
    if !from.is_empty() {
        insert(&X_FORWARDED_FOR, from);
    }
    insert(&X_FORWARDED_HOST, named);
    insert(&FORWARDED, 0..forwarded);
    let trace = prefix.end..text.len();
    insert(&X_FORWARDED_PREFIX, prefix);
    if !trace.is_empty() {
        insert(&TRACEPARENT, trace);
    }
    let scheme = if scheme == "https" { "https" } else { "http" };
    headers.insert(&X_FORWARDED_PROTO, HeaderValue::from_static(scheme));
    // In which version it came is not known here; it is the same message in each.
    headers.append(VIA, HeaderValue::from_static("1.1 homeroom"));
}

/// Returns whether a name is one of those that this server removes or writes, with an underscore for a
/// hyphen: some servers would believe it instead.
fn is_imitation(name: &HeaderName, asker: &Asker<'_>) -> bool {
    if !name.as_str().contains('_') {
        return false;
    }
    let plain = name.as_str().replace('_', "-");
    let is_method = || OF_METHOD.iter().any(|own| own.as_str() == plain);
    [CONTENT_LENGTH, HOST, AUTHORIZATION].iter().any(|own| own.as_str() == plain)
        || ONE_CONNECTION.has_text(&plain)
        || OWN.has_text(&plain)
        || asker.has_operations && is_method()
}

/// Returns whether a value is a `traceparent`.
///
/// Source: W3C Trace Context §3.2.2; a version to come may have more at its end.
fn is_trace(value: &[u8]) -> bool {
    let is_hex = |part: &[u8]| part.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let is_set = |part: &[u8]| is_hex(part) && part.iter().any(|byte| *byte != b'0');
    let parts: Vec<&[u8]> = value.splitn(5, |byte| *byte == b'-').collect();
    let [version, id, parent, flags, more @ ..] = &parts[..] else { return false };
    (version.len(), id.len(), parent.len(), flags.len()) == (2, 32, 16, 2)
        && is_hex(version)
        && is_hex(flags)
        && *version != b"ff"
        && is_set(id)
        && is_set(parent)
        && (more.is_empty() || *version != b"00")
}

/// Returns whether a call has come through servers like this one so often that it goes round in a circle.
pub(crate) fn goes_round(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(VIA).iter().filter_map(|line| line.to_str().ok());
    let names =
        lines.flat_map(|line| line.split(',')).filter_map(|one| one.split_whitespace().nth(1));
    names.filter(|name| *name == VIA_NAME).count() >= PASSES_MAX
}

/// Asks for a whole answer that is not compressed: one that is to be changed. A version of the answer that
/// [`no_longer_vouch`] has weakened is named as its upstream knows it.
pub(crate) fn ask_for_whole(headers: &mut HeaderMap) {
    for name in [ACCEPT_ENCODING, RANGE, IF_RANGE] {
        headers.remove(name);
    }
    let strong = |value: &HeaderValue| -> Option<HeaderValue> {
        let tags = value.to_str().ok()?.split(',').map(str::trim);
        let tags: Vec<&str> = tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag)).collect();
        HeaderValue::try_from(tags.join(", ")).ok()
    };
    let tags: Vec<HeaderValue> = headers.get_all(IF_MATCH).iter().filter_map(strong).collect();
    if headers.remove(IF_MATCH).is_some() {
        for tag in tags {
            headers.append(IF_MATCH, tag);
        }
    }
}

/// Removes from the headers of an answer that is changed what they say of its bytes; its version becomes a
/// weak one.
///
/// Source: RFC 9110 §7.7 (transformations) and §8.8.1 (weak validators), RFC 9530.
pub(crate) fn no_longer_vouch(headers: &mut HeaderMap) {
    const OF_BYTES: [&str; 6] = [
        "content-md5",
        "digest",
        "content-digest",
        "repr-digest",
        "accept-ranges",
        "content-range",
    ];
    for name in OF_BYTES {
        headers.remove(name);
    }
    weaken(headers);
}

/// Makes the version of an answer a weak one.
pub(crate) fn weaken(headers: &mut HeaderMap) {
    let Some(tag) = headers.get(ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/")) else {
        return;
    };
    if let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()) {
        headers.insert(ETAG, weak);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn what_belongs_to_a_connection_stays_on_it() {
        let mut sent = headers(&[
            ("connection", "close, X-Own"),
            ("connection", "\u{fc}, x-other"),
            ("x-other", "1"),
            ("proxy", "http://evil.example"),
            ("x-own", "1"),
            ("te", "trailers"),
            ("keep-alive", "1"),
            ("x-kept", "1"),
            ("transfer-encoding", "chunked"),
        ]);

        strip(&mut sent);

        assert_eq!(sent, headers(&[("x-kept", "1")]));
    }

    #[test]
    fn an_upstream_learns_who_asks_and_no_credential() {
        let mut sent = headers(&[
            ("authorization", "Bearer t"),
            ("x-forwarded-for", "1.2.3.4"),
            ("forwarded", "for=1.2.3.4"),
            ("x_forwarded_for", "1.2.3.4"),
            ("transfer_encoding", "chunked"),
            ("host", "api.example.org"),
            ("accept", "a"),
            ("accept", "b"),
            ("x-real-ip", "1.2.3.4"),
            ("true-client-ip", "1.2.3.4"),
            ("cf_connecting_ip", "1.2.3.4"),
            ("x-original-url", "/admin"),
            ("x-http-method-override", "DELETE"),
            ("via", "1.0 other"),
            ("x-forwarded-prefix", "/evil"),
            ("traceparent", "junk"),
            ("tracestate", "a=b"),
        ]);
        let asker = Asker {
            from: Some("2001:db8::1".parse().unwrap()),
            base_url: "https://api.example.org/behind",
            base: "/apis/a/v1",
            request_id: "0123456789abcdef0123456789abcdef",
            has_operations: true,
        };

        to_upstream(&mut sent, Security::Oauth2, &asker);

        assert!(sent.keys().all(|name| !name.as_str().contains('_')), "{sent:?}");
        assert!(!sent.contains_key("authorization") && !sent.contains_key("host"));
        for gone in ["x-real-ip", "true-client-ip", "x-original-url", "x-http-method-override"] {
            assert!(!sent.contains_key(gone), "{gone}");
        }
        let via: Vec<_> = sent.get_all("via").iter().collect();
        assert_eq!(via, ["1.0 other", "1.1 homeroom"]);
        assert_eq!(sent["x-forwarded-for"], "2001:db8::1");
        assert_eq!(sent["forwarded"], "for=\"[2001:db8::1]\";host=\"api.example.org\";proto=https");
        assert_eq!(sent.get_all("accept").iter().count(), 2);
        assert_eq!(sent["traceparent"], "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00");
        assert!(!sent.contains_key("tracestate"), "that of another trace");
        assert_eq!(sent["x-forwarded-prefix"], "/behind/apis/a/v1");
    }

    #[test]
    fn a_trace_is_one_as_the_standard_says() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        for (value, expected) in [
            (format!("00-{id}-b7ad6b7169203331-01"), true),
            (format!("01-{id}-b7ad6b7169203331-01-more"), true),
            (format!("00-{id}-b7ad6b7169203331-01-more"), false),
            (format!("ff-{id}-b7ad6b7169203331-01"), false),
            (format!("00-{}-b7ad6b7169203331-01", id.to_uppercase()), false),
            (format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)), false),
            (format!("00-{id}-0000000000000000-01"), false),
            ("junk".into(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_trace(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_call_that_came_through_here_too_often_goes_round() {
        let mut sent = headers(&[("via", "1.1 other, 1.1 homeroom"), ("via", "2 homeroom")]);
        assert!(!goes_round(&sent));
        for _ in 0..8 {
            sent.append(VIA, HeaderValue::from_static("1.1 homeroom"));
        }
        assert!(goes_round(&sent));
    }

    #[test]
    fn an_answer_with_two_lengths_is_doubtful() {
        for (pairs, expected) in [
            (&[("content-length", "1")][..], false),
            (&[("transfer-encoding", "Chunked")], false),
            (&[("content-length", "1"), ("transfer-encoding", "chunked")], true),
            (&[("content-length", "1"), ("content-length", "1")], true),
            (&[("transfer-encoding", "gzip, chunked")], true),
            (&[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")], true),
        ] {
            assert_eq!(is_doubtful(StatusCode::OK, &headers(pairs)), expected, "{pairs:?}");
        }
        assert!(is_doubtful(StatusCode::SWITCHING_PROTOCOLS, &HeaderMap::new()));
    }

    #[test]
    fn what_is_changed_has_a_weak_version_that_its_upstream_still_knows() {
        let mut answer = headers(&[
            ("etag", "\"7\""),
            ("repr-digest", "sha-256=:x:"),
            ("accept-ranges", "bytes"),
            ("x-kept", "1"),
        ]);
        no_longer_vouch(&mut answer);
        let mut asked = headers(&[
            ("if-match", "W/\"7\", \"8\""),
            ("if-none-match", "W/\"7\""),
            ("range", "bytes=0-1"),
            ("accept-encoding", "gzip"),
        ]);
        ask_for_whole(&mut asked);

        assert_eq!(answer, headers(&[("etag", "W/\"7\""), ("x-kept", "1")]));
        assert_eq!(asked, headers(&[("if-match", "\"7\", \"8\""), ("if-none-match", "W/\"7\"")]));
        no_longer_vouch(&mut answer);
        assert_eq!(answer["etag"], "W/\"7\"");
    }

    #[test]
    fn headers_are_changed_as_the_definition_says() {
        let stated = definition::Headers {
            set: [("x-key".to_owned(), "env:K".to_owned())].into(),
            remove: vec!["x-gone".into()],
        };
        let changes = Changes::new(&stated, &|value| Ok(format!("<{value}>"))).unwrap();
        let mut sent = headers(&[("x-gone", "1"), ("x-key", "2")]);

        changes.apply(&mut sent);

        assert_eq!(sent, headers(&[("x-key", "<env:K>")]));
        assert!(Changes::new(&stated, &|_| Err("K is not set".into())).is_err());
    }
}
