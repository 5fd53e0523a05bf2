//! Filters of a composite's list: the paths of its specification, followed from their end back to the
//! base, and the base resource's own filters.

use std::collections::BTreeSet;
use std::sync::Arc;

use homeroom_http::{Kind, Problem, Query};
use homeroom_model::ResourceId;
use homeroom_store::{Among, Condition, DocumentId, ListQuery, Moment, Row};

use super::read::{Grants, link};
use super::{Parameter, Step};
use crate::filter::{self, Filter};
use crate::{DataApi, problem_of};

/// Most documents that the paths of one request pass.
const DOCUMENTS_MAX: usize = 200_000;
/// Most documents that are in memory at once.
const PAGE: u32 = 2_000;

/// A parameter with a value, and which documents have it at the path's end.
pub(super) struct ParameterFilter {
    parameter: Parameter,
    ends: Filter,
}

/// The filters of a request.
pub(super) struct Asked {
    /// Filters of the base resource itself.
    pub(super) base: Filter,
    /// Filters by paths.
    pub(super) given: Vec<ParameterFilter>,
}

impl Asked {
    /// Returns whether it compares texts, so that very many documents may have to be examined.
    pub(super) fn is_by_text(&self) -> bool {
        let ends = self.given.iter().map(|given| &given.ends);
        ends.chain([&self.base]).flat_map(|filter| &filter.conditions).any(|condition| {
            !matches!(condition, Condition::Key(_) | Condition::Uuid(_) | Condition::Never)
        })
    }
}

/// Names and values as the request has them.
pub(super) struct Sent {
    by_path: Vec<(Parameter, String)>,
    base: Vec<(String, String)>,
}

/// Separates the parameters of a composite from the filters of its base; `of_way` are the values in the
/// address.
pub(super) fn sent(
    parameters: &[Parameter],
    query: &Query,
    of_way: Vec<(Parameter, String)>,
) -> Sent {
    let (mut by_path, mut base) = (of_way, vec![]);
    let is_of_way: Vec<String> = by_path.iter().map(|(own, _)| own.name.clone()).collect();
    for (name, value) in query.iter() {
        let known = parameters.iter().find(|own| own.name.eq_ignore_ascii_case(name));
        let Some(parameter) = known else {
            base.push((name.to_owned(), value.to_owned()));
            continue;
        };
        if parameter.is_queryable && !value.is_empty() && !is_of_way.contains(&parameter.name) {
            // The last value counts, as it does everywhere.
            by_path.retain(|(other, _)| other.name != parameter.name);
            by_path.push((parameter.clone(), value.to_owned()));
        }
    }
    let of_base = by_path.extract_if(.., |(parameter, _)| parameter.steps.is_empty());
    base.extend(of_base.map(|(parameter, value)| (parameter.field, value)));
    Sent { by_path, base }
}

/// Reads the filters of a query string and an address; unknown names are ignored.
///
/// # Errors
///
/// 400 for values of the wrong type; errors of the store.
pub(super) async fn read(api: &DataApi, base: ResourceId, sent: Sent) -> Result<Asked, Problem> {
    let mut given = vec![];
    for (parameter, value) in sent.by_path {
        let ends = Query::of([(parameter.field.clone(), value)]);
        let resource = api.catalog.model.resource(parameter.of);
        let ends = filter::read(&api.catalog, &api.store, resource, &ends).await?;
        given.push(ParameterFilter { parameter, ends });
    }
    let resource = api.catalog.model.resource(base);
    let base = Query::of(sent.base);
    let base = filter::read(&api.catalog, &api.store, resource, &base).await?;
    Ok(Asked { base, given })
}

/// Follows paths from their ends to the base.
pub(super) struct Walk<'a> {
    pub(super) api: &'a DataApi,
    pub(super) moment: &'a Moment,
    pub(super) grants: &'a Grants,
    /// How many documents have been passed so far.
    pub(super) passed: usize,
}

impl Walk<'_> {
    /// Returns the base documents to which all paths lead, or [`None`] if there is no path.
    ///
    /// # Errors
    ///
    /// 403 if the caller may read nothing of a resource on a path, 400 if a path passes too many
    /// documents; errors of the store.
    pub(super) async fn bases(
        &mut self,
        given: &[ParameterFilter],
    ) -> Result<Option<Among>, Problem> {
        let [first, others @ ..] = given else { return Ok(None) };
        let among = self.base(first).await?;
        if others.is_empty() {
            return Ok(Some(among));
        }
        let base = |given: &ParameterFilter| given.parameter.steps.first().map(|step| step.from);
        let Some(base) = base(first) else { return Ok(Some(among)) };
        let mut ids = self.documents(base, among).await?;
        for other in others {
            let among = self.base(other).await?;
            let also = self.documents(base, among).await?;
            ids.retain(|id| also.contains(id));
        }
        Ok(Some(Among::Documents(ids.into_iter().collect())))
    }

    async fn documents(
        &mut self,
        base: ResourceId,
        among: Among,
    ) -> Result<BTreeSet<DocumentId>, Problem> {
        if let Among::Documents(ids) = among {
            return Ok(ids.iter().copied().collect());
        }
        let query = ListQuery { among: Some(among), ..self.reachable(base)? };
        let mut ids = BTreeSet::new();
        self.each(query, |row| _ = ids.insert(row.id)).await?;
        Ok(ids)
    }

    async fn base(&mut self, given: &ParameterFilter) -> Result<Among, Problem> {
        let mut query = self.reachable(given.parameter.of)?;
        query.targets.clone_from(&given.ends.targets);
        query.conditions.extend(given.ends.conditions.iter().cloned());
        // The step by which the query's documents were found, and the documents it must lead to.
        let mut by: Option<(&Step, BTreeSet<DocumentId>)> = None;
        for step in given.parameter.steps.iter().rev() {
            let mut found = BTreeSet::new();
            self.each(query, |row| {
                if by.as_ref().is_some_and(|(by, to)| !leads(row, by, to)) {
                    return;
                }
                if step.forward {
                    found.insert(row.id);
                } else {
                    found.extend(link(row, &row.body, &step.property).map(|link| link.target));
                }
            })
            .await?;
            let ids: Arc<[DocumentId]> = found.iter().copied().collect();
            let among = if step.forward { Among::Referrers(ids) } else { Among::Documents(ids) };
            query = ListQuery { among: Some(among), ..self.reachable(step.from)? };
            by = step.forward.then_some((step, found));
        }
        let is_sure =
            by.as_ref().is_none_or(|(by, _)| self.api.catalog.refers_at_one_place(by.from, by.to));
        if !is_sure {
            // They may refer to it by another property.
            let mut found = vec![];
            self.each(query, |row| {
                if by.as_ref().is_none_or(|(by, to)| leads(row, by, to)) {
                    found.push(row.id);
                }
            })
            .await?;
            return Ok(Among::Documents(found.into()));
        }
        Ok(query.among.unwrap_or(Among::Documents(Arc::new([]))))
    }

    fn reachable(&self, resource: ResourceId) -> Result<ListQuery, Problem> {
        self.grants.reachable(self.api, resource).ok_or_else(|| {
            let name = &self.api.catalog.model.resource(resource).endpoint;
            Problem::of(Kind::AccessDeniedResource)
                .error(format!("A filter goes through '{name}', which this key may not read."))
                .hint("Use another filter, or ask for a key whose claim set grants Read there.")
        })
    }

    /// Calls a function with each document of a list.
    async fn each(
        &mut self,
        mut query: ListQuery,
        mut call: impl FnMut(&Row),
    ) -> Result<(), Problem> {
        query.limit = PAGE;
        loop {
            let page = self.moment.list(query.clone()).await.map_err(problem_of)?;
            page.rows.iter().for_each(&mut call);
            self.passed += page.rows.len();
            if self.passed > DOCUMENTS_MAX {
                return Err(Problem::of(Kind::ParameterValidationFailed).error(format!(
                    "A filter goes through more than {DOCUMENTS_MAX} documents; use one that goes \
                     through fewer."
                )));
            }
            match page.rows.last() {
                Some(last) if page.is_cut || page.rows.len() == PAGE as usize => {
                    query.after = last.id;
                }
                _ => return Ok(()),
            }
        }
    }
}

/// Returns whether a step leads from a document to one of these.
fn leads(row: &Row, step: &Step, to: &BTreeSet<DocumentId>) -> bool {
    link(row, &row.body, &step.property).is_some_and(|link| to.contains(&link.target))
}
