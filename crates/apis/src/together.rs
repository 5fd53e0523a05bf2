//! Puts definitions together, and finds what is missing for them.

use std::collections::{BTreeMap, HashSet};

use crate::check::Finding;
use crate::definition::{self, Api, Plan, Published};
use crate::headers::Changes;
use crate::peer::Unfit;
use crate::read::keep_document;
use crate::secret::secret;

/// Returns what is published with plans and APIs that replace those of their names.
pub(crate) fn together(old: &Published, new: &Published) -> Published {
    let mut all = old.clone();
    for plan in &new.definition.plans {
        match all.definition.plans.iter_mut().find(|own| own.name == plan.name) {
            Some(own) => own.clone_from(plan),
            None => all.definition.plans.push(plan.clone()),
        }
    }
    // Documents of what is replaced go with it, so that their names are free.
    let is_replaced = |api: &Api| new.definition.apis.iter().any(|own| own.name == api.name);
    let stays: HashSet<&String> = old
        .definition
        .apis
        .iter()
        .filter(|api| !is_replaced(api))
        .filter_map(|api| api.openapi.as_ref())
        .collect();
    let sends = |name: &String| {
        new.definition
            .apis
            .iter()
            .any(|api| api.openapi.as_ref() == Some(name) && !new.documents.contains_key(name))
    };
    all.documents.retain(|name, _| stays.contains(name) || sends(name));
    for api in &new.definition.apis {
        let mut api = api.clone();
        if let Some(name) = &mut api.openapi
            && let Some(text) = new.documents.get(name)
        {
            *name = keep_document(&mut all.documents, name, text.clone());
        }
        match all.definition.apis.iter_mut().find(|own| own.name == api.name) {
            Some(own) => *own = api,
            None => all.definition.apis.push(api),
        }
    }
    all
}

/// Returns what is published with the plans and APIs of `more` whose names are free.
pub(crate) fn beside(old: &Published, more: &Published) -> Published {
    let mut all = old.clone();
    let (plans, apis) = (&mut all.definition.plans, &mut all.definition.apis);
    let is_new = |plan: &&Plan| plans.iter().all(|own| own.name != plan.name);
    let new: Vec<_> = more.definition.plans.iter().filter(is_new).cloned().collect();
    plans.extend(new);
    let is_new = |api: &&Api| apis.iter().all(|own| own.name != api.name);
    let new: Vec<_> = more.definition.apis.iter().filter(is_new).cloned().collect();
    apis.extend(new);
    for (name, text) in &more.documents {
        all.documents.entry(name.clone()).or_insert_with(|| text.clone());
    }
    all
}

/// Gives findings about `all` APIs, by name, the numbers that those APIs have among the ones that were sent.
pub(crate) fn number_anew(findings: &mut [Finding], all: &[String], sent: &Published) {
    for finding in findings {
        let number = |path: &str| {
            let (number, rest) = path.strip_prefix("apis[")?.split_once(']')?;
            let name = all.get(number.parse::<usize>().ok()?)?;
            let own = sent.definition.apis.iter().position(|api| api.name == *name)?;
            Some(format!("apis[{own}]{rest}"))
        };
        if let Some(path) = number(&finding.path) {
            finding.path = path;
        }
    }
}

/// Returns the secrets that are not there, which are told now and not when the first call comes.
pub(crate) fn missing_secrets(published: &Published) -> Vec<Finding> {
    let mut missing = vec![];
    for (number, api) in published.definition.apis.iter().enumerate() {
        if api.peer.values().next().is_some()
            && let Err(Unfit { member, reason: message }) = api.peer.trust()
        {
            let path = format!("apis[{number}].peer.{member}");
            missing.push(Finding { file: String::new(), line: 0, path, message });
        }
        for (member, headers) in
            [("request_headers", &api.request_headers), ("response_headers", &api.response_headers)]
        {
            for (name, value) in &headers.set {
                let alone = definition::Headers {
                    set: BTreeMap::from([(name.clone(), value.clone())]),
                    remove: vec![],
                };
                if let Err(message) = Changes::new(&alone, &secret) {
                    let path = format!("apis[{number}].{member}.set.{name}");
                    missing.push(Finding { file: String::new(), line: 0, path, message });
                }
            }
        }
    }
    missing
}
