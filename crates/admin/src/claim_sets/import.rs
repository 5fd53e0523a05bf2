//! Reads an export into a claim set.

use homeroom_access::{Access, Action, ClaimSet, PerAction, Strategy};
use homeroom_http::nearest;
use serde_json::{Map, Value};

use crate::form::member;
use crate::hierarchy::Node;
use crate::manager::Admin;
use crate::refusal::Faults;

/// Deepest nesting of claims.
const DEPTH_MAX: usize = 16;

/// Most strategies for one action.
const STRATEGIES_MAX: usize = 20;

/// Most items of a list of actions.
const ACTIONS_MAX: usize = 20;

/// Reads the `resourceClaims` of an import.
///
/// Claims are found by short name, path or URI. Ids and default strategies are ignored: this server
/// has its own.
pub(super) fn read(
    name: &str,
    claims: Option<&Value>,
    admin: &Admin,
    faults: &mut Faults,
) -> ClaimSet {
    let mut reader = Reader { admin, faults, set: ClaimSet::new(name) };
    match claims {
        Some(claims) => reader.claims(claims, "resourceClaims", None, 0),
        None => reader.faults.add("resourceClaims", "Must be a list of resource claims."),
    }
    reader.set
}

struct Reader<'a> {
    admin: &'a Admin,
    faults: &'a mut Faults,
    set: ClaimSet,
}

impl Reader<'_> {
    fn claims(&mut self, list: &Value, place: &str, parent: Option<&Node>, depth: usize) {
        let Some(items) = list.as_array() else {
            self.faults.add(place, "Must be a list of resource claims.");
            return;
        };
        if depth > DEPTH_MAX {
            self.faults.add(place, format!("Is nested deeper than {DEPTH_MAX} levels."));
            return;
        }
        for (at, item) in items.iter().enumerate() {
            self.claim(item, &format!("{place}[{at}]"), parent, depth);
        }
    }

    fn claim(&mut self, item: &Value, place: &str, parent: Option<&Node>, depth: usize) {
        let Some(members) = item.as_object() else {
            self.faults.add(place, "Must be an object with `name` and `actions`.");
            return;
        };
        let admin = self.admin;
        let name = member(members, "name").and_then(Value::as_str).unwrap_or_default();
        let node = admin.hierarchy.named(name);
        match node {
            None => {
                let known = admin.hierarchy.nodes().iter().map(|node| node.name.as_str());
                let message = format!(
                    "'{name:.255}' is not a resource claim of this server{}",
                    hint(name, known)
                );
                self.faults.add(&format!("{place}.name"), message);
            }
            Some(node) if self.set.granted(&node.claim).is_some() => {
                self.faults.add(&format!("{place}.name"), format!("'{name}' appears twice."));
            }
            Some(node) => {
                let is_below =
                    |parent: &Node| admin.hierarchy.above(node).any(|above| above.id == parent.id);
                if let Some(parent) = parent.filter(|parent| !is_below(parent)) {
                    let message = format!("'{}' is not below '{}'.", node.name, parent.name);
                    self.faults.add(&format!("{place}.name"), message);
                }
            }
        }
        let enabled = actions(members, "actions", &format!("{place}."), self.faults);
        let mut granted = PerAction::from_fn(|action| enabled.get(action).then(Vec::new));
        self.overrides(members, place, &mut granted);
        if let Some(node) = node {
            self.set.grant(node.claim.clone(), granted);
        }
        if let Some(children) = member(members, "children") {
            self.claims(children, &format!("{place}.children"), node, depth + 1);
        }
    }

    fn overrides(
        &mut self,
        members: &Map<String, Value>,
        place: &str,
        granted: &mut PerAction<Option<Vec<Strategy>>>,
    ) {
        let place = format!("{place}.authorizationStrategyOverridesForCRUD");
        let Some(list) = member(members, "authorizationStrategyOverridesForCRUD") else { return };
        let Some(items) = list.as_array().filter(|items| items.len() <= ACTIONS_MAX) else {
            self.faults.add(&place, format!("Must be a list of at most {ACTIONS_MAX} items."));
            return;
        };
        for (at, item) in items.iter().enumerate() {
            let place = format!("{place}[{at}]");
            let empty = Map::new();
            let item = item.as_object().unwrap_or(&empty);
            let name = member(item, "actionName").and_then(Value::as_str).unwrap_or_default();
            let list = member(item, "authorizationStrategies");
            let place_of_list = format!("{place}.authorizationStrategies");
            let strategies = strategies(list, &place_of_list, &self.admin.access, self.faults);
            match Action::read(name).map(|action| granted.get_mut(action)) {
                Some(Some(own)) => *own = strategies,
                Some(None) if strategies.is_empty() => {}
                Some(None) | None => {
                    let message = format!("'{name:.50}' is not an action that is enabled here.");
                    self.faults.add(&format!("{place}.actionName"), message);
                }
            }
        }
    }
}

/// Reads a list of actions, `{"name", "enabled"}`; at least one must be enabled.
pub(super) fn actions(
    members: &Map<String, Value>,
    name: &str,
    place: &str,
    faults: &mut Faults,
) -> PerAction<bool> {
    let place = format!("{place}{name}");
    let mut enabled = PerAction::from_fn(|_| false);
    let list = member(members, name).and_then(Value::as_array);
    let Some(list) = list.filter(|list| list.len() <= ACTIONS_MAX) else {
        faults.add(&place, format!("Must be a list of at most {ACTIONS_MAX} actions."));
        return enabled;
    };
    let mut is_sound = true;
    for (at, item) in list.iter().enumerate() {
        let given = item.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_enabled = match item.get("enabled") {
            None | Some(Value::Null) => Some(true),
            Some(given) => given.as_bool(),
        };
        match (Action::read(given), is_enabled) {
            (Some(action), Some(is_enabled)) => *enabled.get_mut(action) |= is_enabled,
            (None, _) => {
                is_sound = false;
                let known = Action::ALL.map(Action::name).join(", ");
                let message = format!("'{given:.50}' is not an action; valid actions are {known}.");
                faults.add(&format!("{place}[{at}].name"), message);
            }
            (_, None) => {
                is_sound = false;
                faults.add(&format!("{place}[{at}].enabled"), "Must be true or false.");
            }
        }
    }
    if is_sound && enabled.iter().all(|(_, is_enabled)| !is_enabled) {
        faults.add(&place, "At least one action must be enabled.");
    }
    enabled
}

/// Reads a list of strategies by name, as texts or as objects that contain the name.
pub(super) fn strategies(
    list: Option<&Value>,
    place: &str,
    access: &Access,
    faults: &mut Faults,
) -> Vec<Strategy> {
    let items = match list {
        None => return vec![],
        Some(list) => list.as_array().filter(|items| items.len() <= STRATEGIES_MAX),
    };
    let Some(items) = items else {
        faults.add(place, format!("Must be a list of at most {STRATEGIES_MAX} strategies."));
        return vec![];
    };
    let mut strategies: Vec<Strategy> = vec![];
    for (at, item) in items.iter().enumerate() {
        let named = ["authStrategyName", "name"].into_iter().find_map(|name| item.get(name));
        let name = item.as_str().or_else(|| named?.as_str()).unwrap_or_default();
        match access.claims().strategy(name) {
            Some(strategy) if strategies.contains(&strategy) => {}
            Some(strategy) => strategies.push(strategy),
            None => {
                let known = Strategy::PUBLISHED.iter().map(Strategy::name);
                let message =
                    format!("'{name:.255}' is not an authorization strategy{}", hint(name, known));
                faults.add(&format!("{place}[{at}]"), message);
            }
        }
    }
    strategies
}

/// Returns `; did you mean A, B?`, or a full stop.
fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known)[..] {
        [] => ".".into(),
        ref names => format!("; did you mean {}?", names.join(", ")),
    }
}
