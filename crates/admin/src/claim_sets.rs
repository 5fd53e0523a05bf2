//! Claim sets: listed, created, renamed, copied, exported, imported, and changed claim by claim.

mod import;
mod shown;

use std::borrow::Cow;

use homeroom_access::{Action, Call, Change, ClaimSet, ItemKind, KnownSet, PerAction, Registry};
use homeroom_http::{Response, empty_response, json_response};
use http::StatusCode;
use serde_json::Value;

use crate::form::{self, Is, Member, needed};
use crate::hierarchy::Node;
use crate::list::{By, Filter, Row, answer_list, filter, page};
use crate::manager::{Admin, Manager};
use crate::refusal::{Faults, Refusal};
use crate::reserved;
use crate::resource::{created, deleted, id_of};

const NOUN: &str = "claim set";

/// The path of the list.
const ALL: &str = "/adminapi/v2/claimSets";

/// Most characters of a name.
const NAME_MAX: usize = 255;

const NAME: Member = needed("name", Is::Text(NAME_MAX));

/// The members of a request that creates or renames a set.
pub(crate) const MEMBERS: &[Member] = &[NAME];

/// The members of a request that copies a set.
pub(crate) const COPY_MEMBERS: &[Member] = &[NAME, needed("originalId", Is::Id)];

/// Parameters by which lists are filtered.
pub(crate) const FILTERS: &[Filter] = &[filter("id", By::Number), filter("name", By::Text)];

/// Answers GET of all claim sets.
pub(crate) fn list(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let query = call.query()?;
    admin.access.look_up(|registry| {
        let by_set = shown::applications(registry);
        let rows = registry.claim_sets().map(|known| Row {
            id: known.id(),
            members: Cow::Owned(shown::summary(known, &by_set)),
        });
        let page = page(&query, rows.collect(), FILTERS)?;
        answer_list(page.into_iter().map(|row| row.members.into_owned()))
    })
}

/// Answers GET of one claim set, and of its export, which also has all its claims.
pub(crate) fn get(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    admin.access.look_up(|registry| {
        let known = found(registry, id)?;
        let mut shown = shown::summary(known, &shown::applications(registry));
        shown["resourceClaims"] = shown::claims(known.set(), &admin.hierarchy).into();
        Ok(json_response(StatusCode::OK, shown.to_string()))
    })
}

/// Answers POST: creates a set that grants nothing yet.
pub(crate) async fn create(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    let change = admin.begin(call).await?;
    let mut faults = Faults::default();
    let read = form::read(&body, MEMBERS, &mut faults);
    let name = new_name(&change, &read, None, &mut faults);
    faults.or_none()?;
    add(change, ClaimSet::new(&name)).await
}

/// Answers POST …/copy: copies the claims under another name.
pub(crate) async fn copy(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    let change = admin.begin(call).await?;
    let mut faults = Faults::default();
    let read = form::read(&body, COPY_MEMBERS, &mut faults);
    let name = new_name(&change, &read, None, &mut faults);
    let original = read["originalId"].as_i64().unwrap_or_default();
    let set = change.look_up(|registry| registry.claim_set(original).map(|k| k.set().clone()));
    if set.is_none() && original > 0 {
        faults.add("originalId", format!("There is no claim set with the id {original}."));
    }
    faults.or_none()?;
    let mut set = set.unwrap_or_else(|| ClaimSet::new(&name));
    set.name = name;
    add(change, set).await
}

/// Answers POST …/import: creates a set from an export of this server or another.
pub(crate) async fn import(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    let change = admin.begin(call).await?;
    let mut faults = Faults::default();
    let read = form::read(&body, MEMBERS, &mut faults);
    let name = new_name(&change, &read, None, &mut faults);
    let claims = form::member(&body, "resourceClaims");
    let set = import::read(&name, claims, admin, &mut faults);
    faults.or_none()?;
    add(change, set).await
}

/// Answers PUT: renames a set.
pub(crate) async fn rename(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let body = form::read_object(call).await?;
    let mut change = admin.begin(call).await?;
    let old = editable(&change, id)?;
    let mut faults = Faults::default();
    let read = form::read(&body, MEMBERS, &mut faults);
    let name = new_name(&change, &read, Some(id), &mut faults);
    faults.or_none()?;
    change.look_up(|registry| reserved::check_claim_set(registry, &name))?;
    change.rename_claim_set(&old.name, &name)?;
    change.commit().await?;
    Ok(empty_response(StatusCode::OK))
}

/// Answers DELETE, for a set that no application and no key has, or for an override, which restores
/// the shipped set.
pub(crate) async fn delete(admin: &Manager, call: &Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let mut change = admin.begin(call).await?;
    let set = editable(&change, id)?;
    let applications = change.look_up(|registry| {
        if registry.claim_set(id).is_some_and(KnownSet::is_override) {
            return 0;
        }
        let of = |item: &Value| {
            let name = item["claimSetName"].as_str();
            name.and_then(|name| registry.claim_set_named(name)).map(KnownSet::id) == Some(id)
        };
        registry.items(ItemKind::Application).filter(|(_, item)| of(item)).count()
    });
    if applications > 0 {
        let message = format!(
            "The claim set is used by {applications} application(s); assign them another first."
        );
        return Err(Refusal::Invalid(Faults::of("id", message)));
    }
    change.remove_claim_set(&set.name)?;
    change.commit().await?;
    Ok(deleted(NOUN))
}

/// Answers POST …/resourceClaimActions: grants actions on a claim.
pub(crate) async fn add_claim(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    let mut change = admin.begin(call).await?;
    let mut set = editable(&change, id_of(call, "id", NOUN)?)?;
    let mut faults = Faults::default();
    let read = form::read(&body, &[needed("resourceClaimId", Is::Id)], &mut faults);
    let claim = read["resourceClaimId"].as_i64().unwrap_or_default();
    let node = admin.hierarchy.numbered(claim);
    if node.is_none() && claim > 0 {
        faults.add("resourceClaimId", format!("There is no resource claim with the id {claim}."));
    }
    let actions = import::actions(&body, "resourceClaimActions", "", &mut faults);
    faults.or_none()?;
    if let Some(node) = node {
        grant(&mut set, node, &actions);
    }
    change.put_claim_set(set)?;
    change.commit().await?;
    Ok(empty_response(StatusCode::CREATED))
}

/// Answers PUT …/resourceClaimActions/{id}: replaces the actions on a claim of the set.
pub(crate) async fn replace_claim(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    change_claim(admin, call, |set, node| {
        let mut faults = Faults::default();
        let actions = import::actions(&body, "resourceClaimActions", "", &mut faults);
        faults.or_none()?;
        grant(set, node, &actions);
        Ok(())
    })
    .await
}

/// Answers DELETE …/resourceClaimActions/{id}: removes a claim from the set.
pub(crate) async fn remove_claim(admin: &Manager, call: &Call) -> Result<Response, Refusal> {
    change_claim(admin, call, |set, node| {
        set.revoke(&node.claim);
        Ok(())
    })
    .await
}

/// Answers POST …/overrideAuthorizationStrategy: sets the set's own strategies for an action on a
/// claim.
pub(crate) async fn override_strategies(
    admin: &Manager,
    call: &mut Call,
) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    change_claim(admin, call, |set, node| {
        let mut faults = Faults::default();
        let read = form::read(&body, &[needed("actionName", Is::Text(50))], &mut faults);
        let name = read["actionName"].as_str().unwrap_or_default();
        let mut actions = granted(set, node);
        let action = Action::read(name).filter(|action| actions.get(*action).is_some());
        if action.is_none() && !name.is_empty() {
            let message = format!("The set grants no action '{name}' on '{}'.", node.name);
            faults.add("actionName", message);
        }
        let list = form::member(&body, "authorizationStrategies");
        let strategies =
            import::strategies(list, "authorizationStrategies", &admin.access, &mut faults);
        if strategies.is_empty()
            && list.is_none_or(|list| list.as_array().is_some_and(Vec::is_empty))
        {
            faults.add("authorizationStrategies", "Must have at least one name.");
        }
        faults.or_none()?;
        if let Some(action) = action {
            *actions.get_mut(action) = Some(strategies);
        }
        set.grant(node.claim.clone(), actions);
        Ok(())
    })
    .await
}

/// Answers POST …/resetAuthorizationStrategies: restores the defaults for all actions on a claim.
pub(crate) async fn reset_strategies(admin: &Manager, call: &Call) -> Result<Response, Refusal> {
    change_claim(admin, call, |set, node| {
        let now = granted(set, node);
        let actions = PerAction::from_fn(|action| now.get(action).as_ref().map(|_| vec![]));
        set.grant(node.claim.clone(), actions);
        Ok(())
    })
    .await
}

/// Adds a set under a new name.
async fn add(mut change: Change<'_>, set: ClaimSet) -> Result<Response, Refusal> {
    change.look_up(|registry| reserved::check_claim_set(registry, &set.name))?;
    let id = change.put_claim_set(set)?;
    change.commit().await?;
    Ok(created(ALL, id, None))
}

/// Changes the grants of an editable set on a claim that it has.
async fn change_claim(
    admin: &Manager,
    call: &Call,
    edit: impl FnOnce(&mut ClaimSet, &Node) -> Result<(), Refusal>,
) -> Result<Response, Refusal> {
    let mut change = admin.begin(call).await?;
    let mut set = editable(&change, id_of(call, "id", NOUN)?)?;
    let id = id_of(call, "resourceClaimId", "resource claim of this set")?;
    let node = admin.hierarchy.numbered(id).filter(|node| set.granted(&node.claim).is_some());
    let node = node.ok_or_else(|| Refusal::not_found("resource claim of this set", id))?;
    edit(&mut set, node)?;
    change.put_claim_set(set)?;
    change.commit().await?;
    Ok(empty_response(StatusCode::OK))
}

/// Grants actions on a claim; an action that was already granted keeps the set's own strategies.
fn grant(set: &mut ClaimSet, node: &Node, actions: &PerAction<bool>) {
    let now = granted(set, node);
    let granted = PerAction::from_fn(|action| {
        actions.get(action).then(|| now.get(action).clone().unwrap_or_default())
    });
    set.grant(node.claim.clone(), granted);
}

fn granted(set: &ClaimSet, node: &Node) -> PerAction<Option<Vec<homeroom_access::Strategy>>> {
    set.granted(&node.claim).cloned().unwrap_or_default()
}

fn found(registry: &Registry, id: i64) -> Result<&KnownSet, Refusal> {
    registry.claim_set(id).ok_or_else(|| Refusal::not_found(NOUN, id))
}

/// Returns a set that may be changed: one of the operator's own.
fn editable(change: &Change<'_>, id: i64) -> Result<ClaimSet, Refusal> {
    change.look_up(|registry| {
        let known = found(registry, id)?;
        if known.is_shipped() {
            let message = format!(
                "The claim set '{}' is system reserved; copy it and change the copy.",
                known.set().name
            );
            return Err(Refusal::Invalid(Faults::of("id", message)));
        }
        reserved::check_claim_set(registry, &known.set().name)?;
        Ok(known.set().clone())
    })
}

/// Returns the name that a body gives; no other set may have it.
fn new_name(change: &Change<'_>, read: &Value, own: Option<i64>, faults: &mut Faults) -> String {
    let name = read["name"].as_str().unwrap_or_default().to_owned();
    if !name.is_empty() && name.chars().all(|letter| letter == '-' || letter.is_whitespace()) {
        faults.add("name", "Must have a letter.");
    }
    let other = change.look_up(|registry| {
        let known = registry.claim_set_named(&name)?;
        (Some(known.id()) != own).then(|| known.set().name.clone())
    });
    if let Some(other) = other {
        faults.add("name", format!("A claim set '{other}' already exists."));
    }
    name
}
