//! Checks where the calls of an API go, and how its upstreams are chosen.

use homeroom_client::{Url, is_place};

use super::findings::Findings;
use super::syntax::names_nothing;
use crate::balance::HashBy;
use crate::definition::{Api, Balance, Breaker, Peer, Retries, Security, Sticky};

/// Most upstreams of an API.
const UPSTREAMS_MAX: usize = 64;
/// Most groups of upstreams of an API.
const GROUPS_MAX: usize = 16;
/// Largest weight of a group.
const WEIGHT_MAX: u32 = 10_000;
/// Most times that a call is sent.
const ATTEMPTS_MAX: u32 = 10;

/// Adds all that is wrong with the upstreams of an API.
pub(super) fn check_targets(api: &Api, findings: &mut Findings<'_>) {
    check_upstreams("upstream", &api.upstream, findings);
    check_groups(api, findings);
    check_peer(api, findings);
    check_part(api, findings);
    if let Some(health) = api.health.as_ref().filter(|health| !health.path.starts_with('/')) {
        findings.add("health.path", format!("`{}` does not begin with a slash", health.path));
    }
    check_hash(api, findings);
    check_breaker(&api.breaker, findings);
    check_retries(&api.retries, findings);
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

/// Adds what is said of upstreams where a part of this server answers.
fn check_part(api: &Api, findings: &mut Findings<'_>) {
    let stated = [
        ("timeouts.connect", api.timeouts.connect.is_some()),
        ("health", api.health.is_some()),
        ("balance", api.balance != Balance::default()),
        ("breaker", api.breaker != Breaker::default()),
        ("retries", api.retries != Retries::default()),
    ];
    for (member, _) in stated.iter().filter(|(_, is_stated)| *is_stated && api.part.is_some()) {
        findings.add(member, "it counts for upstreams only; a part of this server has none");
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

fn check_hash(api: &Api, findings: &mut Findings<'_>) {
    match &api.hash {
        Some(_) if api.balance != Balance::ConsistentHash => {
            findings.add("hash", "it counts with balance = \"consistent-hash\" only");
        }
        Some(text) if HashBy::read(text).is_none() => {
            findings.add("hash", format!("`{text}` is none of address, key and header:NAME"));
        }
        _ => {}
    }
}

fn check_breaker(breaker: &Breaker, findings: &mut Findings<'_>) {
    if breaker.failures == 0 {
        findings.add("breaker.failures", "at least one call has failed");
    }
    if breaker.rest.0 > breaker.rest_max.0 {
        findings.add("breaker.rest", "it is longer than rest_max");
    }
    if !(0.0..=1.0).contains(&breaker.share) {
        findings.add("breaker.share", "a share is a number from 0 to 1");
    }
}

fn check_retries(retries: &Retries, findings: &mut Findings<'_>) {
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
