//! A claim set as the Admin API shows it: nested claims, as in the hierarchy.

use std::collections::HashMap;

use homeroom_access::{Action, ClaimSet, ItemKind, KnownSet, Registry, Strategy};
use serde_json::{Value, json};

use crate::hierarchy::{Hierarchy, Node, action_id, strategy_id};

/// Returns the names of the applications of each claim set, by the set's id.
pub(super) fn applications(registry: &Registry) -> HashMap<i64, Vec<&str>> {
    let mut by_set: HashMap<i64, Vec<&str>> = HashMap::new();
    for (_, application) in registry.items(ItemKind::Application) {
        let name = application["applicationName"].as_str().unwrap_or_default();
        let set = application["claimSetName"].as_str();
        if let Some(known) = set.and_then(|set| registry.claim_set_named(set)) {
            by_set.entry(known.id()).or_default().push(name);
        }
    }
    by_set
}

/// Returns a set without its claims. The member that the published schema lacks is added only to a
/// set that overrides a shipped one.
pub(super) fn summary(known: &KnownSet, applications: &HashMap<i64, Vec<&str>>) -> Value {
    let applications = applications.get(&known.id()).into_iter().flatten();
    let mut summary = json!({
        "id": known.id(),
        "name": known.set().name,
        "_isSystemReserved": known.is_shipped(),
        "_applications":
            applications.map(|name| json!({"applicationName": name})).collect::<Vec<_>>(),
    });
    if known.is_override() {
        summary["_overridesSystemReserved"] = true.into();
    }
    summary
}

/// Returns a set's grants: each claim is nested in the nearest one above it that the set also
/// grants.
pub(super) fn claims(set: &ClaimSet, hierarchy: &Hierarchy) -> Vec<Value> {
    let mut below: HashMap<Option<i64>, Vec<&Node>> = HashMap::new();
    for node in hierarchy.nodes().iter().filter(|node| set.granted(&node.claim).is_some()) {
        let mut above = hierarchy.above(node);
        let parent = above.find(|parent| set.granted(&parent.claim).is_some());
        below.entry(parent.map(|parent| parent.id)).or_default().push(node);
    }
    claims_below(None, set, &below)
}

fn claims_below(
    parent: Option<i64>,
    set: &ClaimSet,
    below: &HashMap<Option<i64>, Vec<&Node>>,
) -> Vec<Value> {
    let nodes = below.get(&parent).into_iter().flatten();
    nodes.map(|node| claim(node, set, claims_below(Some(node.id), set, below))).collect()
}

fn claim(node: &Node, set: &ClaimSet, children: Vec<Value>) -> Value {
    let granted = set.granted(&node.claim).cloned().unwrap_or_default();
    let actions: Vec<Value> = granted
        .iter()
        .filter(|(_, strategies)| strategies.is_some())
        .map(|(action, _)| json!({"name": action.name(), "enabled": true}))
        .collect();
    let defaults: Vec<Value> = node
        .defaults
        .iter()
        .filter(|(_, defaults)| !defaults.strategies.is_empty())
        .map(|(action, defaults)| of_action(action, &defaults.strategies, defaults.inherited))
        .collect();
    let overrides: Vec<Value> = granted
        .iter()
        .filter_map(|(action, strategies)| Some((action, strategies.as_ref()?)))
        .filter(|(_, strategies)| !strategies.is_empty())
        .map(|(action, strategies)| of_action(action, strategies, false))
        .collect();
    json!({
        "id": node.id,
        "name": node.name,
        "actions": actions,
        "_defaultAuthorizationStrategiesForCRUD": defaults,
        "authorizationStrategyOverridesForCRUD": overrides,
        "children": children,
    })
}

fn of_action(action: Action, strategies: &[Strategy], is_inherited: bool) -> Value {
    let strategies: Vec<Value> = strategies
        .iter()
        .map(|strategy| {
            json!({
                "authStrategyId": strategy_id(strategy),
                "authStrategyName": strategy.name(),
                "isInheritedFromParent": is_inherited,
            })
        })
        .collect();
    json!({
        "actionId": action_id(action),
        "actionName": action.name(),
        "authorizationStrategies": strategies,
    })
}
