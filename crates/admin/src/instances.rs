//! The ODS instance: there is only one, the store itself. Contexts and derivatives are stored for
//! clients that manage them; nothing depends on them.

use homeroom_access::{Change, ItemKind, ODS_INSTANCE, Registry, TEXT_MAX};
use serde_json::{Map, Value, json};

use crate::form::{Is, needed, optional};
use crate::list::{By, filter};
use crate::refusal::{Faults, Refusal};
use crate::resource::{
    Candidate, Resource, nothing_changed, nothing_created, nothing_deleted, nothing_derived,
};

/// Most contexts, and most derivatives, in a store.
const FEW_MAX: usize = 100;

/// Most characters of a connection string. It is never stored: it is a secret that nothing here
/// uses.
const CONNECTION_MAX: usize = 4_096;

/// Allowed kinds of a derivative.
const DERIVATIVES: [&str; 2] = ["ReadReplica", "Snapshot"];

/// The instance.
pub(crate) static INSTANCES: Resource = Resource {
    kind: ItemKind::OdsInstance,
    noun: "ODS instance",
    all: "/adminapi/v2/odsInstances",
    one: "/adminapi/v2/odsInstances/{id}",
    count_max: 1,
    members: &[
        needed("name", Is::Text(TEXT_MAX)),
        optional("instanceType", Is::Text(TEXT_MAX)),
        optional("connectionString", Is::Dropped(CONNECTION_MAX)),
    ],
    filters: &[
        filter("id", By::Number),
        filter("name", By::Text),
        filter("instanceType", By::Text),
    ],
    only_in_one: &["odsInstanceContexts", "odsInstanceDerivatives"],
    check: check_instance,
    created: nothing_created,
    changed: nothing_changed,
    deleted: delete_instance,
    derived: instance_parts,
};

/// Contexts of the instance.
pub(crate) static CONTEXTS: Resource = Resource {
    kind: ItemKind::OdsInstanceContext,
    noun: "context",
    all: "/adminapi/v2/odsInstanceContexts",
    one: "/adminapi/v2/odsInstanceContexts/{id}",
    count_max: FEW_MAX,
    members: &[
        needed("odsInstanceId", Is::Id),
        needed("contextKey", Is::Text(50)),
        needed("contextValue", Is::Text(50)),
    ],
    filters: &[filter("id", By::Number), filter("contextKey", By::Text)],
    only_in_one: &[],
    check: check_context,
    created: created_without_effect,
    changed: nothing_changed,
    deleted: nothing_deleted,
    derived: nothing_derived,
};

/// Derivatives of the instance.
pub(crate) static DERIVATIVE_INSTANCES: Resource = Resource {
    kind: ItemKind::OdsInstanceDerivative,
    noun: "derivative",
    all: "/adminapi/v2/odsInstanceDerivatives",
    one: "/adminapi/v2/odsInstanceDerivatives/{id}",
    count_max: FEW_MAX,
    members: &[
        needed("odsInstanceId", Is::Id),
        needed("derivativeType", Is::Text(50)),
        needed("connectionString", Is::Dropped(CONNECTION_MAX)),
    ],
    filters: &[filter("id", By::Number), filter("derivativeType", By::Text)],
    only_in_one: &[],
    check: check_derivative,
    created: created_without_effect,
    changed: nothing_changed,
    deleted: nothing_deleted,
    derived: nothing_derived,
};

/// Says that a new context or derivative is only kept.
fn created_without_effect(_: &mut Change<'_>, _: i64, _: &Value) -> Result<Option<Value>, Refusal> {
    let title = "It was stored and has no effect: this server serves one store, without contexts, \
                 read replicas or snapshots.";
    Ok(Some(json!({ "title": title })))
}

fn check_instance(registry: &Registry, instance: &mut Candidate<'_>) -> Result<(), Refusal> {
    let there = registry.items(ItemKind::OdsInstance).next();
    if let (None, Some((id, own))) = (instance.id, there) {
        let own = own["name"].as_str().unwrap_or_default();
        let message = format!(
            "This server has exactly one ODS instance, '{own}' with the id {id}; use that one, or \
             run another server for a second one."
        );
        instance.faults.add("name", message);
    }
    Ok(())
}

fn delete_instance(_: &mut Change<'_>, _: i64) -> Result<(), Refusal> {
    let message = "This server's only ODS instance cannot be deleted.";
    Err(Refusal::Invalid(Faults::of("id", message)))
}

fn instance_parts(registry: &Registry, _: i64, shown: &mut Map<String, Value>) {
    let parts =
        [("odsInstanceContexts", &CONTEXTS), ("odsInstanceDerivatives", &DERIVATIVE_INSTANCES)];
    for (name, resource) in parts {
        let parts = registry.items(resource.kind);
        let parts: Vec<Value> =
            parts.map(|(id, part)| resource.shown(registry, id, part).into()).collect();
        shown.insert(name.into(), parts.into());
    }
}

fn check_context(registry: &Registry, context: &mut Candidate<'_>) -> Result<(), Refusal> {
    check_owner(context);
    context.must_be_unique(registry, ItemKind::OdsInstanceContext, "contextKey");
    Ok(())
}

fn check_derivative(registry: &Registry, derivative: &mut Candidate<'_>) -> Result<(), Refusal> {
    check_owner(derivative);
    let given = derivative.text("derivativeType");
    let known = DERIVATIVES.into_iter().find(|known| known.eq_ignore_ascii_case(given));
    match known {
        Some(known) => derivative.definition["derivativeType"] = known.into(),
        None if given.is_empty() => {}
        None => {
            let message = format!("Must be one of {}.", DERIVATIVES.join(", "));
            derivative.faults.add("derivativeType", message);
        }
    }
    derivative.must_be_unique(registry, ItemKind::OdsInstanceDerivative, "derivativeType");
    Ok(())
}

fn check_owner(part: &mut Candidate<'_>) {
    if let Some(id) = part.definition["odsInstanceId"].as_i64().filter(|id| *id != ODS_INSTANCE) {
        part.faults.add("odsInstanceId", format!("There is no ODS instance with the id {id}."));
    }
}
