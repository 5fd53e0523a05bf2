//! Checks a definition: everything that would keep an API from being served.

mod api;
mod findings;
mod syntax;
mod upstreams;

use std::collections::HashSet;

use self::api::check_api;
pub use self::findings::Finding;
use self::findings::Findings;
pub(crate) use self::syntax::{PARTS, network};
use self::syntax::{check_name, check_rate};
use crate::definition::{Api, Definition, Plan, Published, Security};
use crate::index::Index;
use crate::operations::remarks;

/// Most APIs and plans of a definition.
pub const APIS_MAX: usize = 20_000;
/// The definition beside which one is checked.
#[derive(Clone, Copy)]
pub(crate) enum Others<'a> {
    /// Nothing else is published.
    None,
    /// The index lists what else is published.
    Published(&'a Index),
    /// The caller does not know what else is published, as a command that reads one file.
    Unknown,
}

/// Returns all that is wrong with a definition.
pub fn check(published: &Published) -> Vec<Finding> {
    check_alone(published, Others::None)
}

/// Returns all that is wrong with a definition whose documents are beside it.
pub(crate) fn check_alone(published: &Published, others: Others<'_>) -> Vec<Finding> {
    let text = |document: &str| published.documents.get(document).map(String::as_str);
    check_beside(&published.definition, others, &|_| true, &text)
}

/// Returns what may be meant, and what its author should know: it keeps no API from being served. `text` is what a
/// document says.
pub(crate) fn hints<'a>(
    definition: &Definition,
    others: Others<'_>,
    text: &dyn Fn(&str) -> Option<&'a str>,
) -> Vec<Finding> {
    let is_unknown = matches!(others, Others::Unknown);
    let mut found = vec![];
    let plans: HashSet<&String> = definition.plans.iter().map(|plan| &plan.name).collect();
    for (number, api) in definition.apis.iter().enumerate() {
        let mut findings = Findings { found: &mut found, path: format!("apis[{number}]") };
        let is_elsewhere = |plan: &&String| is_unknown && !plans.contains(plan);
        if let Some(plan) = api.plan.as_ref().filter(is_elsewhere) {
            let message = format!("the plan {plan} is not here; it has to be published already");
            findings.add("plan", message);
        }
        let document = api.openapi.as_deref().and_then(text);
        let Some(Ok(remarks)) = document.map(remarks) else { continue };
        if api.security != Security::None && !remarks.open.is_empty() {
            let names = remarks.open.join(", ");
            let message = format!(
                "the document lets everybody call {names}; here every call of the API needs its security. \
                 Publish them as an API of their own with security = \"none\""
            );
            findings.add("security", message);
        }
        if api.validate && !remarks.unchecked.is_empty() {
            let names = remarks.unchecked.join(", ");
            findings
                .add("validate", format!("bodies of these media types are not checked: {names}"));
        }
    }
    found
}

/// Returns all that is wrong with a definition that is to be published beside `others`, of which it replaces
/// those of its names. `is_new` tells APIs that have not been checked before, and `text` what a document says.
pub(crate) fn check_beside<'a>(
    definition: &Definition,
    others: Others<'_>,
    is_new: &dyn Fn(&Api) -> bool,
    text: &dyn Fn(&str) -> Option<&'a str>,
) -> Vec<Finding> {
    let is_unknown = matches!(others, Others::Unknown);
    let others = if let Others::Published(index) = others { Some(index) } else { None };
    let mut found = vec![];
    let mut names = HashSet::new();
    for (number, plan) in definition.plans.iter().enumerate() {
        let mut findings = Findings { found: &mut found, path: format!("plans[{number}]") };
        if !names.insert(&plan.name) {
            findings.add("name", format!("there are two plans called {}", plan.name));
        }
        check_plan(plan, &mut findings);
    }
    let plans = names;
    let own: HashSet<&str> = definition.apis.iter().map(|api| api.name.as_str()).collect();
    let is_there = |plan: &String| others.is_some_and(|others| others.plan(plan).is_some());
    let other_at = |base: &str| others?.at(base).filter(|other| !own.contains(other));
    let (mut names, mut bases) = (HashSet::new(), HashSet::new());
    for (number, api) in definition.apis.iter().enumerate() {
        let mut findings = Findings { found: &mut found, path: format!("apis[{number}]") };
        if !names.insert(&api.name) {
            findings.add("name", format!("there are two APIs called {}", api.name));
        }
        let base = api.base();
        if !bases.insert(base.to_ascii_lowercase()) || other_at(&base).is_some() {
            let message = format!("another API has {base}; choose another version");
            findings.add("context", message);
        }
        let is_missing = |plan: &&String| !is_unknown && !plans.contains(plan) && !is_there(plan);
        if let Some(plan) = api.plan.as_ref().filter(is_missing) {
            findings.add("plan", format!("there is no plan {plan}; define it under [[plans]]"));
        }
        if is_new(api) {
            let text = api.openapi.as_deref().and_then(text);
            check_api(api, text, &mut findings);
        }
    }
    let all = others.map_or(0, |others| {
        let plans = others.plans().filter(|kept| !plans.contains(&kept.item.name)).count();
        plans + others.apis().len() - own.iter().filter(|own| others.api(own).is_some()).count()
    });
    if all + definition.apis.len() + definition.plans.len() > APIS_MAX {
        let mut findings = Findings { found: &mut found, path: String::new() };
        findings.add("", format!("there are more than {APIS_MAX} APIs and plans"));
    }
    found
}

fn check_plan(plan: &Plan, findings: &mut Findings<'_>) {
    check_name("name", &plan.name, findings);
    match plan.requests_per_second {
        Some(rate) => check_rate("requests_per_second", rate, findings),
        None if plan.quota.is_none() => {
            findings.add("", "a plan limits calls: state requests_per_second, quota, or both");
        }
        None => {}
    }
    if plan.burst == Some(0) {
        findings.add("burst", "a burst is at least 1");
    }
}
