//! The routes of composites: each list, each item, and the route templates of each category.

use std::sync::Arc;

use homeroom_access::{Access, ApiClient, Call};
use homeroom_http::{Guard, Kind, Problem, Response, Route, handler, json_response, other_methods};
use homeroom_model::{ResourceId, Scalar};
use homeroom_store::{Condition, DocumentId, ListQuery, Moment, Uuid};
use http::header::ALLOW;
use http::{HeaderValue, Method, StatusCode};

use super::compile::SEGMENTS_MAX;
use super::fields::Fields;
use super::filters::{self, Walk};
use super::read::{Gathering, Grants};
use super::write::Writer;
use super::{Category, Composite, Composites, Node, Parameter, Segment, expression};
use crate::coding::coded;
use crate::paging::{PageToken, Paging};
use crate::reading::Reading;
use crate::{DataApi, SCOPE, filter, no_snapshot, problem_of, profile, respond, strict};

/// Most documents that a short list skips.
const SKIP_SHORT: u64 = 10_000;

const ALLOWED: &str = "GET, HEAD";

/// The state of the handlers.
#[derive(Debug, Clone)]
struct CompositeState {
    api: DataApi,
    access: Arc<Access>,
    composites: Arc<Composites>,
}

/// Returns the routes of composites, for callers that `access` recognizes.
pub fn routes(
    api: &DataApi,
    access: &Arc<Access>,
    composites: &Arc<Composites>,
) -> Vec<Route<ApiClient>> {
    const TEMPLATES: [&str; SEGMENTS_MAX] = [
        "/composites/v1/{organization}/{category}/{s1}",
        "/composites/v1/{organization}/{category}/{s1}/{s2}",
        "/composites/v1/{organization}/{category}/{s1}/{s2}/{s3}",
        "/composites/v1/{organization}/{category}/{s1}/{s2}/{s3}/{s4}",
        "/composites/v1/{organization}/{category}/{s1}/{s2}/{s3}/{s4}/{s5}",
    ];
    let state = &CompositeState {
        api: api.clone(),
        access: Arc::clone(access),
        composites: Arc::clone(composites),
    };
    let route = |method, template: &'static str, handler| {
        Route::new(method, template, Guard::Token { scope: SCOPE }, handler)
    };
    let both = |template| {
        [
            route(Method::GET, template, handler(state, get)),
            route(other_methods(), template, handler(state, not_allowed)),
        ]
    };
    TEMPLATES.into_iter().flat_map(both).collect()
}

/// The composite that an address names, and the part of it that is asked for.
struct MatchedComposite {
    composite: Composite,
    what: What,
}

/// Which part of a composite is asked for.
enum What {
    /// A list, filtered by values of parameters.
    Many(Vec<(Parameter, String)>),
    /// One document.
    One(String),
}

/// Resolves the address of a call, and refuses headers that cannot be honoured.
fn resolve(composites: &Composites, call: &Call) -> Result<MatchedComposite, Problem> {
    let unknown = || {
        Problem::of(Kind::NotFound)
            .detail("There is no such composite.")
            .hint("/metadata lists the documents that describe the composites.")
    };
    let (organization, category) = (call.params.get("organization"), call.params.get("category"));
    let category = composites.category(organization, category).ok_or_else(unknown)?;
    let of_category = ["organization", "category"];
    let others = call.params.0.iter().filter(|(name, _)| !of_category.contains(&&**name));
    let segments: Vec<&str> = others.map(|(_, value)| value.as_str()).collect();
    let found = matched(category, &segments).ok_or_else(unknown)?;
    if call.header("use-snapshot").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err(no_snapshot(&call.method));
    }
    profile::refuse(call)?;
    Ok(found)
}

fn matched(category: &Category, segments: &[&str]) -> Option<MatchedComposite> {
    let many = |composite: &Composite, values| MatchedComposite {
        composite: composite.clone(),
        what: What::Many(values),
    };
    match segments {
        [name] => {
            if let Some(composite) = category.composite(name) {
                return Some(many(composite, vec![]));
            }
        }
        [name, id] => {
            if let Some(composite) = category.composite(name) {
                let what = What::One((*id).to_owned());
                return Some(MatchedComposite { composite: composite.clone(), what });
            }
        }
        _ => {}
    }
    category.routes.iter().find_map(|route| {
        let pairs = || route.segments.iter().zip(segments);
        let fits = route.segments.len() == segments.len()
            && pairs().all(|(own, sent)| match own {
                Segment::Fixed(own) => own.eq_ignore_ascii_case(sent),
                Segment::Parameter(_) | Segment::Composite => true,
            });
        if !fits {
            return None;
        }
        let name = pairs().find_map(|(own, sent)| (*own == Segment::Composite).then_some(*sent))?;
        let composite = category.composite(name)?;
        if !route.leads_to(composite) {
            return None;
        }
        let values = pairs().filter_map(|(own, sent)| match own {
            Segment::Parameter(own) => Some((own, (*sent).to_owned())),
            _ => None,
        });
        let values = values
            .map(|(own, sent)| Some((composite.parameter(own)?.clone(), sent)))
            .collect::<Option<Vec<_>>>()?;
        Some(many(composite, values))
    })
}

async fn not_allowed(state: CompositeState, call: Call) -> Result<Response, Problem> {
    resolve(&state.composites, &call)?;
    Err(Problem::of(Kind::MethodNotAllowed)
        .error(format!("{} is not allowed here; allowed: {ALLOWED}.", call.method))
        .header(ALLOW, HeaderValue::from_static(ALLOWED)))
}

/// Answers with a page of a composite, or with one of its documents.
async fn get(state: CompositeState, call: Call) -> Result<Response, Problem> {
    let CompositeState { api, access, composites } = state;
    let MatchedComposite { composite, what } = resolve(&composites, &call)?;
    let (base, resources) = (composite.base, composite.resources());
    let may_read = |client: &ApiClient| Grants::of(&api, base, &resources, client);
    let mut reading = Reading::begin(&access, &call, may_read)?;
    expect_known(&api, &composite, &what, &call)?;
    let query = call.query()?;
    let node = match query.get("fields") {
        None => composite.node.clone(),
        Some(text) => {
            let fields = Fields::read(text).map_err(|wrong| {
                Problem::of(Kind::ParameterValidationFailed)
                    .error(wrong)
                    .hint("Write fields=id,name,addresses(city,postalCode).")
            })?;
            if let Some(unknown) = composite.node.unknown(&fields) {
                return Err(Problem::of(Kind::ParameterValidationFailed)
                    .error(format!("fields: the composite has no member {unknown} there."))
                    .hint("/metadata lists the documents that describe the composites."));
            }
            composite.node.select(&fields)
        }
    };
    match what {
        What::One(id) => {
            expression::expect_none(&query)?;
            let id = Uuid::read(&id).ok_or_else(|| {
                Problem::of(Kind::DataValidationFailed)
                    .detail("The id in the URL is not valid.")
                    .violations([("$.id".into(), vec![filter::NO_ID.into()])].into())
            })?;
            loop {
                let body = one(&api, reading.granted(), base, &node, id).await;
                if reading.holds()? {
                    let answer = json_response(StatusCode::OK, body?);
                    return Ok(strict::as_asked(&call, answer));
                }
            }
        }
        What::Many(of_way) => {
            let paging = Paging::read(&query)?;
            let fields = filters_of(&api, &composite);
            let is_filter = |name: &str| {
                let is_of_way = of_way.iter().any(|(own, _)| own.name.eq_ignore_ascii_case(name));
                !is_of_way && is_filter(&composite, &fields, name)
            };
            let query = expression::expanded(&query, is_filter)?;
            let sent = filters::sent(&composite.parameters, &query, of_way);
            let asked = filters::read(&api, base, sent).await?;
            loop {
                let page = many(&api, reading.granted(), base, (&node, &asked), &paging).await;
                if reading.holds()? {
                    let (body, total, next) = page?;
                    let answer = respond::list(body, next, total);
                    let answer = coded(&call, answer, &api.work.compressed_lists).await?;
                    return Ok(strict::as_asked(&call, answer));
                }
            }
        }
    }
}

/// Refuses parameters that a composite does not have, and ambiguous dates, if strict handling is asked
/// for.
fn expect_known(
    api: &DataApi,
    composite: &Composite,
    what: &What,
    call: &Call,
) -> Result<(), Problem> {
    let What::Many(_) = what else { return strict::expect_only(call, &["fields"]) };
    let fields = filters_of(api, composite);
    let is_known = |name: &str| {
        let mut own = strict::OF_LISTS.iter().chain(&["fields"]).chain(&expression::NAMES);
        own.any(|known| known.eq_ignore_ascii_case(name)) || is_filter(composite, &fields, name)
    };
    strict::expect(call, is_known, &fields)
}

/// Returns the members by which the list of a composite can be filtered, with their types.
fn filters_of<'a>(api: &'a DataApi, composite: &'a Composite) -> Vec<(&'a str, Scalar)> {
    let model = &api.catalog.model;
    let base = model.resource(composite.base).query_fields.iter();
    let mut fields: Vec<_> = base.map(|field| (&*field.name, field.scalar)).collect();
    for parameter in composite.parameters.iter().filter(|own| own.is_queryable) {
        let mut own = model.resource(parameter.of).query_fields.iter();
        let field = own.find(|field| field.name.eq_ignore_ascii_case(&parameter.field));
        fields.extend(field.map(|field| (&*parameter.name, field.scalar)));
    }
    fields
}

/// Returns whether the list of a composite can be filtered by a member.
fn is_filter(composite: &Composite, fields: &[(&str, Scalar)], name: &str) -> bool {
    let mut of_composite = composite.parameters.iter().filter(|own| own.is_queryable);
    name.eq_ignore_ascii_case("id")
        || of_composite.any(|own| own.name.eq_ignore_ascii_case(name))
        || fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
}

/// Reads one document of a composite; a document out of the caller's reach is not found.
async fn one(
    api: &DataApi,
    grants: &Grants,
    base: ResourceId,
    node: &Node,
    id: Uuid,
) -> Result<Vec<u8>, Problem> {
    let node = &grants.within(node);
    let mut query = all_of(api, grants, base)?;
    query.conditions.push(Condition::Uuid(id));
    query.limit = 1;
    let work = move |moment: Moment| async move {
        let page = moment.list(query).await.map_err(problem_of)?;
        let Some(id) = page.rows.first().map(|row| row.id) else {
            return Err(Problem::of(Kind::NotFound));
        };
        let found = Gathering::begin(api, &moment, grants, page.rows)?.all(node, &[id]).await?;
        let mut writer = Writer::new(&api.catalog, &found);
        if let Some(row) = found.row(id) {
            writer.document(node, row)?;
        }
        Ok(writer.out)
    };
    api.store.at_one_moment(false, work).await.map_err(problem_of)?
}

/// Reads a page of a composite. Returns its text, the total count if it was asked for, and the token of
/// the next page.
async fn many(
    api: &DataApi,
    grants: &Grants,
    base: ResourceId,
    (node, asked): (&Node, &filters::Asked),
    paging: &Paging,
) -> Result<(Vec<u8>, Option<u64>, Option<String>), Problem> {
    let node = &grants.within(node);
    let mut query = all_of(api, grants, base)?;
    // Paths and restrictions by rights may have to look at very many documents, which would hold up
    // the short lists.
    let is_long = paging.total_count
        || paging.changed.is_some()
        || paging.skip > SKIP_SHORT
        || asked.is_by_text()
        || !asked.given.is_empty()
        || query.is_restricted();
    query.targets.clone_from(&asked.base.targets);
    query.conditions.extend(asked.base.conditions.iter().cloned());
    query.changed = paging.changed;
    let work = move |moment: Moment| async move {
        let mut walk = Walk { api, moment: &moment, grants, passed: 0 };
        query.among = walk.bases(&asked.given).await?;
        let total = if paging.total_count {
            Some(moment.count(query.clone()).await.map_err(problem_of)?)
        } else {
            None
        };
        let query = ListQuery {
            after: paging.after,
            upto: paging.upto,
            skip: paging.skip,
            limit: paging.limit,
            ..query
        };
        let page = moment.list(query).await.map_err(problem_of)?;
        let next =
            page.rows.last().map(|row| PageToken { after: row.id, upto: paging.upto }.write());
        if page.is_cut {
            return Err(super::read::too_large());
        }
        let ids: Vec<DocumentId> = page.rows.iter().map(|row| row.id).collect();
        let found = Gathering::begin(api, &moment, grants, page.rows)?.all(node, &ids).await?;
        let mut writer = Writer::new(&api.catalog, &found);
        writer.documents(node, ids.iter().filter_map(|id| found.row(*id)))?;
        Ok((writer.out, total, next))
    };
    api.store.at_one_moment(is_long, work).await.map_err(problem_of)?
}

/// Returns the list of all base documents that the caller may read.
fn all_of(api: &DataApi, grants: &Grants, base: ResourceId) -> Result<ListQuery, Problem> {
    grants
        .reachable(api, base)
        .ok_or_else(|| Problem::internal("the base of a composite was granted before"))
}
