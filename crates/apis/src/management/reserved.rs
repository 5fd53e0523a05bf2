//! Places of secrets in what is sent over HTTP.

use std::collections::BTreeSet;

use crate::check::Finding;
use crate::definition::{Api, Published};
use crate::error::ApisError;
use crate::index::Index;
use crate::secret::is_reserved;

/// Refuses what names places of secrets that only someone on the server may name. Where one is published already, it
/// may be sent again: in the same API, by the same member and name, and as long as nobody else gets to see it.
///
/// # Errors
///
/// All that is refused.
pub(super) fn check_places(old: &Index, new: &Published) -> Result<(), ApisError> {
    let mut refused = vec![];
    for (number, api) in new.definition.apis.iter().enumerate() {
        let before = old.api(&api.name).map(|kept| &*kept.item);
        for (path, place) in reserved(api) {
            let is_own = |(own, known): (String, &str)| own == path && known == place;
            let before = before.filter(|before| reserved(before).any(is_own));
            let message = match before {
                Some(before) if is_shown_to_the_same(before, api) => continue,
                Some(_) => OTHER_TARGET,
                None => ONLY_ON_THE_SERVER,
            };
            refused.push(Finding::at(format!("apis[{number}].{path}"), message));
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(ApisError::Invalid(refused)) }
}

const ONLY_ON_THE_SERVER: &str = "over HTTP only variables whose names begin with HOMEROOM_API_ can be named; \
     others and files with `homeroom gateway apply` on the server";

const OTHER_TARGET: &str = "over HTTP an API that names this place keeps its security, part and peer, and gets no new \
     upstream; that is changed with `homeroom gateway apply` on the server";

/// Returns the places of an API that only someone on the server may name, by their paths within it.
fn reserved(api: &Api) -> impl Iterator<Item = (String, &str)> {
    let headers =
        [("request_headers", &api.request_headers), ("response_headers", &api.response_headers)];
    let headers = headers.into_iter().flat_map(|(member, headers)| {
        let set = headers.set.iter();
        set.map(move |(name, value)| (format!("{member}.set.{name}"), value.as_str()))
    });
    let peer = api.peer.values().map(|(member, value)| (format!("peer.{member}"), value));
    headers.chain(peer).filter(|(_, value)| is_reserved(value))
}

/// Returns whether what an API sends and answers goes to nobody to whom it did not go before: to no other upstream,
/// and to callers who are recognized as before.
fn is_shown_to_the_same(before: &Api, api: &Api) -> bool {
    upstreams(api).is_subset(&upstreams(before))
        && api.part == before.part
        && api.peer == before.peer
        && api.security == before.security
}

fn upstreams(api: &Api) -> BTreeSet<&str> {
    let groups = api.groups.iter().flat_map(|group| &group.upstream);
    api.upstream.iter().chain(groups).map(String::as_str).collect()
}
