//! Finds what is missing on this machine for a definition.

use std::collections::BTreeMap;

use crate::check::Finding;
use crate::definition::{Api, Definition, Headers};
use crate::headers::Changes;
use crate::peer::Unfit;
use crate::secret::secret;

/// Returns the secrets that are not there, which are told now and not when the first call comes.
/// `is_new` tells the APIs that are about to be served.
pub(crate) fn missing_secrets(
    definition: &Definition,
    is_new: &dyn Fn(&Api) -> bool,
) -> Vec<Finding> {
    let mut missing = vec![];
    let new = definition.apis.iter().enumerate().filter(|(_, api)| is_new(api));
    for (number, api) in new {
        if api.peer.values().next().is_some()
            && let Err(Unfit { member, reason: message }) = api.peer.trust()
        {
            let path = format!("apis[{number}].peer.{member}");
            missing.push(Finding::at(path, message));
        }
        for (member, headers) in
            [("request_headers", &api.request_headers), ("response_headers", &api.response_headers)]
        {
            for (name, value) in &headers.set {
                let alone = Headers {
                    set: BTreeMap::from([(name.clone(), value.clone())]),
                    remove: vec![],
                };
                if let Err(message) = Changes::new(&alone, &secret) {
                    let path = format!("apis[{number}].{member}.set.{name}");
                    missing.push(Finding::at(path, message));
                }
            }
        }
    }
    missing
}
