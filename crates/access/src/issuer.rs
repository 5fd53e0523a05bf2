//! Whom a token of this server names as its issuer, and as those that it is for.
//!
//! Source: RFC 9068 §2.2 (`iss`, `aud`).

/// Longest address of this server that a token names, in bytes.
const ISSUER_BYTES_MAX: usize = 512;

/// Most bytes of the names of APIs that a token names as its audience.
const AUDIENCE_BYTES_MAX: usize = 512;

/// What a key may call of the published APIs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscribed {
    /// The names of APIs; `*` for all.
    pub apis: Vec<String>,
    /// Its scopes for their operations.
    pub scopes: Vec<String>,
}

/// Says what a key may call of the published APIs.
pub type Subscriptions = Box<dyn Fn(&str) -> Option<Subscribed> + Send + Sync>;

/// Returns the address of a server as callers know it: a public origin, if one is stated, with the path of the
/// address `base_url` that a request was sent to.
pub(crate) fn issuer_of(public: Option<&str>, base_url: &str) -> String {
    let Some(public) = public else { return base_url.to_owned() };
    let after_scheme = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let prefix = after_scheme.find('/').map_or("", |at| &after_scheme[at..]);
    format!("{}{prefix}", public.trim_end_matches('/'))
}

/// Returns the claims `iss` and `aud` of a token: this server, and the APIs that its key names, without those
/// whose names only begin as it says.
pub(crate) fn issued_for(issuer: String, apis: &[String]) -> (Option<String>, Vec<String>) {
    if issuer.len() > ISSUER_BYTES_MAX {
        return (None, vec![]);
    }
    let names = || apis.iter().filter(|name| !name.ends_with('*') && **name != issuer);
    let fits = names().map(String::len).sum::<usize>() <= AUDIENCE_BYTES_MAX;
    let names: Vec<String> = if fits { names().cloned().collect() } else { vec![] };
    let audience = [issuer.clone()].into_iter().chain(names).collect();
    (Some(issuer), audience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuer_is_the_public_origin_with_the_prefix_of_the_request() {
        for (public, base_url, issuer) in [
            (None, "http://a:8080/p", "http://a:8080/p"),
            (Some("https://b.example"), "http://a:8080", "https://b.example"),
            (Some("https://b.example/"), "http://a:8080/p/q", "https://b.example/p/q"),
        ] {
            assert_eq!(issuer_of(public, base_url), issuer);
        }
    }

    #[test]
    fn a_token_names_its_issuer_and_as_many_apis_as_it_has_room_for() {
        let names = |count: usize| (0..count).map(|n| format!("api-{n:03}")).collect::<Vec<_>>();
        let issuer = || "https://a.example".to_owned();

        for many in ["*", "api-*"] {
            assert_eq!(issued_for(issuer(), &[many.into()]).1, ["https://a.example"]);
        }
        assert_eq!(issued_for(issuer(), &names(2)).1, ["https://a.example", "api-000", "api-001"]);
        assert_eq!(issued_for(issuer(), &names(500)), (Some(issuer()), vec![issuer()]));
        assert_eq!(issued_for("x".repeat(600), &names(2)), (None, vec![]));
    }
}
