//! Vendors: they own applications and namespace prefixes.

use homeroom_access::{Change, ClientRights, ItemKind, NAMESPACE_PREFIXES_MAX, Registry, TEXT_MAX};
use serde_json::Value;

use crate::applications::APPLICATIONS;
use crate::form::{Is, needed, optional};
use crate::list::{By, filter};
use crate::owned::{applications_of, prefixes_of};
use crate::refusal::Refusal;
use crate::reserved;
use crate::resource::{Candidate, Resource, nothing_created, nothing_derived};

/// Most vendors.
const VENDORS_MAX: usize = 10_000;

/// Most characters of an e-mail address (RFC 5321 §4.5.3.1).
const EMAIL_MAX: usize = 320;

/// Most characters of all prefixes of a vendor together.
const PREFIXES_MAX: usize = NAMESPACE_PREFIXES_MAX * (TEXT_MAX + 1);

/// The resource of vendors.
pub(crate) static VENDORS: Resource = Resource {
    kind: ItemKind::Vendor,
    noun: "vendor",
    all: "/adminapi/v2/vendors",
    one: "/adminapi/v2/vendors/{id}",
    count_max: VENDORS_MAX,
    members: &[
        needed("company", Is::Text(TEXT_MAX)),
        optional("namespacePrefixes", Is::Text(PREFIXES_MAX)),
        needed("contactName", Is::Text(TEXT_MAX)),
        needed("contactEmailAddress", Is::Text(EMAIL_MAX)),
    ],
    filters: &[
        filter("id", By::Number),
        filter("company", By::Text),
        filter("namespacePrefixes", By::Parts),
        filter("contactName", By::Text),
        filter("contactEmailAddress", By::Text),
    ],
    only_in_one: &[],
    check,
    created: nothing_created,
    changed,
    deleted,
    derived: nothing_derived,
};

fn check(_: &Registry, vendor: &mut Candidate<'_>) -> Result<(), Refusal> {
    let email = vendor.text("contactEmailAddress");
    let is_email = email.split_once('@').is_some_and(|(name, domain)| {
        !name.is_empty()
            && !domain.is_empty()
            && !domain.contains('@')
            && !email.contains(char::is_whitespace)
    });
    if !email.is_empty() && !is_email {
        vendor.faults.add("contactEmailAddress", "Must be an e-mail address, NAME@DOMAIN.");
    }
    let prefixes = prefixes_of(vendor.definition);
    if prefixes.len() > NAMESPACE_PREFIXES_MAX {
        let message = format!("A vendor has at most {NAMESPACE_PREFIXES_MAX} prefixes.");
        vendor.faults.add("namespacePrefixes", message);
    }
    if prefixes.iter().any(|prefix| prefix.chars().count() > TEXT_MAX) {
        let message = format!("Each prefix has at most {TEXT_MAX} characters.");
        vendor.faults.add("namespacePrefixes", message);
    }
    vendor.definition["namespacePrefixes"] = prefixes.join(",").into();
    Ok(())
}

/// Gives the keys of all its applications the new prefixes at once.
fn changed(change: &mut Change<'_>, id: i64, vendor: &Value) -> Result<(), Refusal> {
    let prefixes = prefixes_of(vendor);
    let clients = change.look_up(|registry| {
        let clients = applications_of(registry, id).flat_map(|(id, _)| registry.clients_of(id));
        clients.map(|client| client.client).collect::<Vec<_>>()
    });
    for client in clients {
        let rights =
            ClientRights { namespace_prefixes: prefixes.clone(), ..ClientRights::from(&client) };
        if *client.namespace_prefixes != *rights.namespace_prefixes {
            reserved::check_client(&client)?;
            change.grant(&client.key, &rights);
        }
    }
    Ok(())
}

/// Deletes the applications of a vendor with it, and their keys.
fn deleted(change: &mut Change<'_>, id: i64) -> Result<(), Refusal> {
    let applications = change.look_up(|registry| {
        applications_of(registry, id).map(|(application, _)| application).collect::<Vec<_>>()
    });
    for application in applications {
        (APPLICATIONS.deleted)(change, application)?;
        change.remove(ItemKind::Application, application);
    }
    Ok(())
}
