//! The parts of claim sets: resource claims, actions, authorization strategies. They come from the
//! model and cannot be changed here.

use std::borrow::Cow;

use homeroom_access::{Action, Call, Strategy};
use homeroom_http::{Response, json_response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::hierarchy::{Hierarchy, Node, action_id, strategy_id};
use crate::list::{By, Filter, Row, answer_list, filter, page};
use crate::manager::Admin;
use crate::refusal::Refusal;
use crate::resource::id_of;

const NOUN: &str = "resource claim";

/// Parameters of a list that is filtered by id and name.
pub(crate) const BY_NAME: &[Filter] = &[filter("id", By::Number), filter("name", By::Text)];

/// Parameters of a list that is filtered by the name of a resource claim.
pub(crate) const BY_RESOURCE: &[Filter] = &[filter("resourceName", By::Text)];

/// Answers GET of all: the top-level claims with their children, or those that the query selects.
pub(crate) fn list(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let hierarchy = &admin.hierarchy;
    let query = call.query()?;
    let is_asked = |name: &str| query.get(name).is_some_and(|asked| !asked.is_empty());
    let any_level = is_asked("id") || is_asked("name");
    let nodes = hierarchy.nodes().iter().filter(|node| any_level || node.parent.is_none());
    listed(call, nodes.map(|node| (node.id, shown(hierarchy, node))), BY_NAME)
}

/// Answers GET of one resource claim.
pub(crate) fn get(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let node = admin.hierarchy.numbered(id).ok_or_else(|| Refusal::not_found(NOUN, id))?;
    Ok(json_response(StatusCode::OK, shown(&admin.hierarchy, node).to_string()))
}

fn shown(hierarchy: &Hierarchy, node: &Node) -> Value {
    let parent = node.parent.map(|at| hierarchy.node(at));
    let children = node.children.iter().map(|at| shown(hierarchy, hierarchy.node(*at)));
    json!({
        "id": node.id,
        "name": node.name,
        "parentId": parent.map_or(0, |parent| parent.id),
        "parentName": parent.map(|parent| &parent.name),
        "children": children.collect::<Vec<_>>(),
    })
}

/// Answers GET of the actions of all resource claims.
pub(crate) fn list_actions_of_claims(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let rows = admin.hierarchy.nodes().iter().map(|node| {
        let actions: Vec<Value> =
            Action::ALL.iter().map(|action| json!({"name": action.name()})).collect();
        (node.id, with_claim(node, "actions", actions))
    });
    listed(call, rows, BY_RESOURCE)
}

/// Answers GET of the default strategies of all resource claims, action by action.
pub(crate) fn list_strategies_of_claims(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let rows = admin.hierarchy.nodes().iter().filter_map(|node| {
        let own = node.defaults.iter().filter(|(_, defaults)| !defaults.strategies.is_empty());
        let actions: Vec<Value> = own
            .map(|(action, defaults)| {
                let strategies: Vec<Value> =
                    defaults.strategies.iter().map(named_strategy).collect();
                json!({
                    "actionId": action_id(action),
                    "actionName": action.name(),
                    "authorizationStrategies": strategies,
                })
            })
            .collect();
        let row = with_claim(node, "authorizationStrategiesForActions", actions);
        row["authorizationStrategiesForActions"].get(0)?;
        Some((node.id, row))
    });
    listed(call, rows, BY_RESOURCE)
}

fn with_claim(node: &Node, member: &str, items: Vec<Value>) -> Value {
    let mut row = json!({
        "resourceClaimId": node.id,
        "resourceName": node.name,
        "claimName": node.claim.to_string(),
    });
    row[member] = items.into();
    row
}

/// Returns a strategy as the lists of an action show it.
pub(crate) fn named_strategy(strategy: &Strategy) -> Value {
    json!({"authStrategyId": strategy_id(strategy), "authStrategyName": strategy.name()})
}

/// Answers GET of all actions.
pub(crate) fn list_actions(_: &Admin, call: &Call) -> Result<Response, Refusal> {
    let rows = Action::ALL.into_iter().map(|action| {
        let id = action_id(action);
        let uri = format!("http://ed-fi.org/odsapi/actions/{}", first_small(action.name()));
        (id, json!({"id": id, "name": action.name(), "uri": uri}))
    });
    listed(call, rows, BY_NAME)
}

/// Answers GET of all authorization strategies: the published ones and the defined custom views.
pub(crate) fn list_strategies(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let views: Vec<Strategy> = admin.access.look_up(|registry| {
        registry.views().iter().map(|view| Strategy::Custom(view.name.clone())).collect()
    });
    let rows = Strategy::PUBLISHED.iter().chain(&views).map(|strategy| {
        let id = strategy_id(strategy);
        let name = strategy.name();
        (id, json!({"id": id, "name": name, "displayName": in_words(name)}))
    });
    listed(call, rows, BY_NAME)
}

fn listed(
    call: &Call,
    rows: impl Iterator<Item = (i64, Value)>,
    filters: &[Filter],
) -> Result<Response, Refusal> {
    let rows = rows.map(|(id, members)| Row { id, members: Cow::Owned(members) }).collect();
    answer_list(
        page(&call.query()?, rows, filters)?.into_iter().map(|row| row.members.into_owned()),
    )
}

fn first_small(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Returns a name with spaces before its capital letters.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter);
    }
    words
}
