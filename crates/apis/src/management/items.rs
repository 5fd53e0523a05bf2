//! One API, one plan, and their lists.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem, Query, empty_response, json_answer, json_response};
use http::{HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::base::{Answered, BASE};
use super::problem::{of, of_findings};
use super::reserved::check_places;
use super::whole::{answer, read_text};
use crate::apis::Apis;
use crate::check::Finding;
use crate::definition::{Api, Definition, Plan, Published};
use crate::edit::Wish;
use crate::error::ApisError;
use crate::index::Index;
use crate::places::Form;

/// Items of a page unless the request says otherwise.
pub(super) const PAGE: usize = 100;
/// Most items of a page.
pub(super) const PAGE_MAX: usize = 1_000;

/// Lists APIs by name.
pub(super) async fn list_apis(apis: &Apis, call: &mut Call) -> Answered {
    let (offset, limit) = page_of(call)?;
    let (total, shown) = apis.apis(offset, limit).await.map_err(of)?;
    let shown: Vec<&Api> = shown.iter().map(|api| &**api).collect();
    page(call, total, &shown)
}

/// Lists plans by name.
pub(super) async fn list_plans(apis: &Apis, call: &mut Call) -> Answered {
    let (offset, limit) = page_of(call)?;
    let (total, shown) = apis.plans(offset, limit).await.map_err(of)?;
    page(call, total, &shown)
}

/// Shows an API.
pub(super) async fn get_api(apis: &Apis, call: &mut Call) -> Answered {
    let found = apis.api(call.params.get("name")).await.map_err(of)?;
    show(call, &*found)
}

/// Shows a plan.
pub(super) async fn get_plan(apis: &Apis, call: &mut Call) -> Answered {
    let found = apis.plan(call.params.get("name")).await.map_err(of)?;
    show(call, &found)
}

/// Publishes an API, or replaces it. Its document may be within it.
pub(super) async fn put_api(apis: &Apis, call: &mut Call) -> Answered {
    let name = call.params.get("name").to_owned();
    let mut members = read_object(call, &name).await?;
    let mut new = Published::default();
    match members.get("openapi") {
        Some(Value::String(_)) | None => {}
        Some(document) => {
            let own = format!("{name}.json");
            new.documents.insert(own.clone(), document.to_string());
            members["openapi"] = own.into();
        }
    }
    let api: Api = parsed(members)?;
    new.definition.apis.push(api.clone());
    let may = |old: &Index| check_places(old, &new);
    let changed = apis.change_if(Wish::of(&new, false), &may).await.map_err(of_item)?;
    put(&changed, "apis", &name, &api)
}

/// Defines a plan, or replaces it.
pub(super) async fn put_plan(apis: &Apis, call: &mut Call) -> Answered {
    let name = call.params.get("name").to_owned();
    let plan: Plan = parsed(read_object(call, &name).await?)?;
    let definition = Definition { plans: vec![plan.clone()], apis: vec![] };
    let new = Published { definition, ..Published::default() };
    let changed = apis.change(Wish::of(&new, false)).await.map_err(of_item)?;
    put(&changed, "plans", &name, &plan)
}

/// Withdraws an API. Subscriptions to it stay.
pub(super) async fn delete_api(apis: &Apis, call: &mut Call) -> Answered {
    let name = call.params.get("name").to_owned();
    apis.change(Wish::WithoutApi(&name)).await.map_err(of)?;
    Ok(empty_response(StatusCode::NO_CONTENT))
}

/// Removes a plan that no API names and no key has.
pub(super) async fn delete_plan(apis: &Apis, call: &mut Call) -> Answered {
    let name = call.params.get("name").to_owned();
    apis.change(Wish::WithoutPlan(&name)).await.map_err(of)?;
    Ok(empty_response(StatusCode::NO_CONTENT))
}

/// Reads an object whose name is that of the path.
async fn read_object(call: &mut Call, name: &str) -> Result<Map<String, Value>, Problem> {
    let (text, form) = read_text(call).await?;
    let wrong =
        |line: usize, message: String| of_findings(&[Finding { line, ..Finding::at("", message) }]);
    let mut members: Map<String, Value> = match form {
        Form::Json => serde_json::from_str(&text)
            .map_err(|error| wrong(error.line(), format!("it is no JSON object: {error}")))?,
        Form::Toml => {
            toml::from_str(&text).map_err(|error| wrong(0, error.message().to_owned()))?
        }
    };
    match members.get("name") {
        None => _ = members.insert("name".into(), name.into()),
        Some(own) if own == name => {}
        Some(_) => {
            let message = format!("the path says {name}; a name cannot be changed");
            return Err(of_findings(&[Finding::at("name", message)]));
        }
    }
    Ok(members)
}

fn parsed<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(members))
        .map_err(|error| of_findings(&[Finding::at("", error.to_string())]))
}

/// Returns the problem for an item: paths begin at the item.
fn of_item(error: ApisError) -> Problem {
    let ApisError::Invalid(mut findings) = error else { return of(error) };
    for finding in &mut findings {
        let rest = finding.path.split_once(']').map_or("", |(_, rest)| rest);
        finding.path = rest.trim_start_matches('.').to_owned();
    }
    of_findings(&findings)
}

fn put<T: Serialize>(
    changed: &[crate::diff::Difference],
    kind: &str,
    name: &str,
    item: &T,
) -> Answered {
    let value = serde_json::to_value(item).map_err(Problem::internal)?;
    let is_new =
        changed.iter().any(|one| one.field == format!("{kind}.{name}") && one.old.is_null());
    if !is_new {
        return Ok(answer(&value));
    }
    let mut response = json_response(StatusCode::CREATED, value.to_string());
    let segment = utf8_percent_encode(name, NON_ALPHANUMERIC);
    if let Ok(location) = HeaderValue::from_str(&format!("{BASE}/{kind}/{segment}")) {
        response.headers_mut().insert(http::header::LOCATION, location);
    }
    Ok(response)
}

fn show(call: &Call, found: &impl Serialize) -> Answered {
    json_answer(call, &serde_json::to_value(found).map_err(Problem::internal)?)
}

/// Returns where the page begins that is asked for, and its size.
fn page_of(call: &Call) -> Result<(usize, usize), Problem> {
    let query = call.query()?;
    let offset = number(&query, "offset", 0, usize::MAX)?;
    Ok((offset, number(&query, "limit", PAGE, PAGE_MAX)?))
}

/// Answers with a page of items; `Total-Count` is the number of all.
fn page(call: &Call, total: usize, shown: &[impl Serialize]) -> Answered {
    let mut response = json_answer(call, &serde_json::to_value(shown).map_err(Problem::internal)?)?;
    response.headers_mut().insert("total-count", total.into());
    Ok(response)
}

fn number(query: &Query, name: &str, usual: usize, most: usize) -> Result<usize, Problem> {
    let Some(text) = query.get(name) else { return Ok(usual) };
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| {
        let range = if most == usize::MAX { String::new() } else { format!(", at most {most}") };
        Problem::of(Kind::ParameterValidationFailed)
            .error(format!("{name} is a whole number from 0 on{range}."))
    })
}
