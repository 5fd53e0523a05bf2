//! Lists deletions that the caller may see, except those whose document was created again and is
//! visible.
#![expect(clippy::disallowed_methods, reason = "a long read has a deadline")]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use homeroom_access::{
    Action, ApiClient, Denial, Grant, Phase, ViewBound, authorize, namespace_subject,
};
use homeroom_document::json::{Json, member_text};
use homeroom_document::rights;
use homeroom_http::{Kind, Problem};
use homeroom_model::{Resource, ResourceId};
use homeroom_store::{Deletion, Deletions, Start, StoreError, Uuid};
use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::paging::Paging;
use crate::reach::{check_reach, stored};
use crate::{DataApi, problem_of};

/// Number of deletions that are read at once.
const CHUNK: u16 = 1_000;

/// Number of relationship questions that are sent to the store at once.
const REACHED_AT_ONCE: usize = 64;

/// Number of recreated documents that are checked at once.
const AGAIN_AT_ONCE: usize = 16;

/// The grants by which deletions are listed for a caller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reach {
    /// Deletions within this grant are listed.
    told: Grant,
    /// Deletions are left out if their document was created again and this grant reaches it.
    found: Grant,
}

impl Reach {
    /// Determines the grants of a client for a resource. If the client may not read its documents,
    /// the grant for reading changes decides about recreated documents, too.
    ///
    /// # Errors
    ///
    /// As [`authorize`] for reading changes.
    pub(crate) fn of(client: &ApiClient, resource: &Resource) -> Result<Self, Denial> {
        let told = authorize(client, resource, Action::ReadChanges)?;
        let found = authorize(client, resource, Action::Read).unwrap_or_else(|_| told.clone());
        Ok(Self { told, found })
    }

    /// Whether a caller that may see a deletion can always read the recreated document, because the
    /// identity alone decides.
    fn finds_all(&self, namespace: Option<&str>) -> bool {
        let Self { told, found } = self;
        let by_namespace = found.namespace_prefixes.is_none()
            || (namespace.is_some() && found.namespace_prefixes == told.namespace_prefixes);
        let by_all_else = found.views.is_empty()
            && found.ownership_tokens.is_none()
            && found.relationships.is_none();
        by_namespace && by_all_else
    }
}

/// A page of deletions.
pub(crate) struct DeletionPage {
    /// Deletions as a JSON list.
    pub(crate) body: String,
    /// Total number of deletions, if requested.
    pub(crate) total: Option<u64>,
}

/// Lists deletions within the caller's grants, within the time limit of a list.
///
/// # Errors
///
/// 501 if the grant depends on a namespace that is not part of the identity, because deletions do
/// not keep it; 503 if it takes too long; an error of the store.
pub(crate) async fn list(
    api: &DataApi,
    resource: &Resource,
    reach: &Reach,
    paging: &Paging,
) -> Result<DeletionPage, Problem> {
    let end = Instant::now() + api.list_deadline;
    let listed = timeout_at(end, look_through(api, resource, reach, paging, end)).await;
    listed.unwrap_or_else(|_| Err(told(StoreError::Deadline(api.list_deadline))))
}

async fn look_through(
    api: &DataApi,
    resource: &Resource,
    reach: &Reach,
    paging: &Paging,
    end: Instant,
) -> Result<DeletionPage, Problem> {
    let grant = &reach.told;
    let namespace = match (&grant.namespace_prefixes, namespace_subject(resource)) {
        (Some(_), Some(subject)) => {
            let is_key = resource.key.iter().any(|column| column.name == subject.column);
            if !is_key {
                return Err(Problem::of(Kind::NotImplemented).detail(
                    "Deletions of this resource do not keep the namespace by which this key is \
                     authorized, so they cannot be listed for it.",
                ));
            }
            Some(subject.column.as_str())
        }
        _ => None,
    };
    let (min, max) = paging.changed.unwrap_or((0, i64::MAX));
    let mut skip = paging.skip;
    let limit = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let (mut body, mut given, mut total) = (String::from("["), 0, 0);
    let mut of = Deletions {
        kind: api.catalog.kind(resource.id),
        after: min.saturating_sub(1),
        upto: max,
        for_good: reach.finds_all(namespace),
    };
    loop {
        if Instant::now() >= end {
            return Err(told(StoreError::Deadline(api.list_deadline)));
        }
        let deleted = api.store.deletions(of, CHUNK).await.map_err(told)?;
        let is_last = deleted.len() < usize::from(CHUNK);
        if let Some(last) = deleted.last() {
            of.after = last.change_version;
        }
        let deleted = within(api, resource, grant, namespace, deleted).await?;
        for deleted in not_found(api, resource, &reach.found, deleted).await? {
            total += 1;
            if skip > 0 {
                skip -= 1;
            } else if given < limit {
                given += 1;
                write(&mut body, &deleted);
            }
        }
        if is_last || (given >= limit && !paging.total_count) {
            break;
        }
    }
    body.push(']');
    Ok(DeletionPage { body, total: paging.total_count.then_some(total) })
}

fn write(out: &mut String, deleted: &Deletion) {
    if out.len() > 1 {
        out.push(',');
    }
    let Deletion { uuid, change_version, key_values, .. } = deleted;
    _ = write!(
        out,
        "{{\"id\":\"{uuid}\",\"changeVersion\":{change_version},\"keyValues\":{key_values}}}"
    );
}

/// Returns the deletions whose identity belongs to no document that the grant reaches.
async fn not_found(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    deleted: Vec<Deletion>,
) -> Result<Vec<Deletion>, Problem> {
    let mut ids: Vec<Uuid> = deleted.iter().filter_map(|deleted| deleted.again).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut found: HashSet<Uuid> = HashSet::new();
    let (grant, resource) = (Arc::new(grant.clone()), resource.id);
    let mut looking: JoinSet<Result<Option<Uuid>, Problem>> = JoinSet::new();
    for id in ids {
        if looking.len() >= AGAIN_AT_ONCE
            && let Some(looked) = looking.join_next().await
        {
            found.extend(looked.map_err(Problem::internal)??);
        }
        let (api, grant) = (api.clone(), Arc::clone(&grant));
        looking.spawn(async move {
            let is_found = finds(&api, &grant, resource, id).await?;
            Ok(is_found.then_some(id))
        });
    }
    while let Some(looked) = looking.join_next().await {
        found.extend(looked.map_err(Problem::internal)??);
    }
    let is_told = |deleted: &Deletion| deleted.again.is_none_or(|again| !found.contains(&again));
    Ok(deleted.into_iter().filter(is_told).collect())
}

/// Whether a document exists and a grant reaches it.
async fn finds(
    api: &DataApi,
    grant: &Grant,
    resource: ResourceId,
    id: Uuid,
) -> Result<bool, Problem> {
    let resource = api.catalog.model.resource(resource);
    let Some((row, ties)) = stored(api, grant, resource, id).await? else { return Ok(false) };
    match check_reach(api, grant, resource, &row, ties).await {
        Ok(()) => Ok(true),
        Err(problem) if problem.kind.status() == StatusCode::FORBIDDEN => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Turns a store error into a problem, with a hint if the time limit was exceeded.
fn told(error: StoreError) -> Problem {
    let is_late = matches!(error, StoreError::Deadline(_));
    let problem = problem_of(error);
    if is_late {
        problem
            .hint("Ask for fewer with minChangeVersion and maxChangeVersion, or omit totalCount.")
    } else {
        problem
    }
}

/// Returns the deletions whose document led to something that a view contains now.
async fn in_view(
    api: &DataApi,
    resource: &Resource,
    bound: &ViewBound,
    deleted: Vec<Deletion>,
) -> Result<Vec<Deletion>, Problem> {
    let start =
        |deleted: &Deletion| rights::past_start(&api.catalog, resource, bound, &deleted.key_values);
    let led: Vec<(Deletion, Start)> =
        deleted.into_iter().filter_map(|one| start(&one).map(|start| (one, start))).collect();
    let mut starts: Vec<Start> = led.iter().map(|(_, start)| *start).collect();
    starts.sort_unstable();
    starts.dedup();
    let test = rights::test(&api.catalog, &bound.view);
    let passed = api.store.pass(starts.clone(), test).await.map_err(told)?;
    let has = |start: &Start| {
        starts.binary_search(start).is_ok_and(|at| passed.get(at).is_some_and(|p| p.is_passed))
    };
    Ok(led.into_iter().filter(|(_, start)| has(start)).map(|(one, _)| one).collect())
}

/// Returns the deletions within the grant.
async fn within(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    namespace: Option<&str>,
    mut deleted: Vec<Deletion>,
) -> Result<Vec<Deletion>, Problem> {
    let slots = api.catalog.routes.slots(resource.id).len();
    if let Some(column) = namespace {
        deleted.retain(|deleted| {
            let text = member_text(&deleted.key_values, column);
            let text = text.and_then(|text| Json::read(text.as_bytes()).ok());
            let Some(Json::Text(namespace)) = text else { return false };
            grant.check_namespace(Some(&namespace), Phase::Stored).is_ok()
        });
    }
    for bound in &grant.views {
        deleted = in_view(api, resource, bound, deleted).await?;
    }
    if grant.ownership_tokens.is_some() {
        deleted.retain(|deleted| {
            grant.check_owner(deleted.marks.get(slots).copied().flatten()).is_ok()
        });
    }
    let Some(relationships) = &grant.relationships else { return Ok(deleted) };
    let starts = |deleted: &Deletion| -> Vec<Option<Start>> {
        let mut starts: Vec<Option<Start>> =
            deleted.marks.iter().take(slots).map(|mark| mark.map(Start::Number)).collect();
        starts.resize(slots, None);
        starts
    };
    let mut all = vec![];
    let mut asked: Vec<_> = deleted
        .iter()
        .map(|deleted| {
            let own = [&**relationships].into_iter();
            let asked = rights::questions(&api.catalog, resource, own, &starts(deleted));
            all.extend(asked.questions.iter().copied());
            asked
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    let mut reached = vec![];
    for some in all.chunks(REACHED_AT_ONCE) {
        reached.extend(api.store.reach(some).await.map_err(told)?);
        // The embedded store reads on this thread, so other tasks are waiting for it.
        tokio::task::yield_now().await;
    }
    let mut kept = vec![];
    for (deleted, asked) in deleted.into_iter().zip(&mut asked) {
        let answers = asked.questions.iter().map(|question| {
            all.binary_search(question).map(|at| reached[at].clone()).unwrap_or_default()
        });
        asked.reached = answers.collect();
        let (catalog, starts) = (&api.catalog, starts(&deleted));
        if asked.check(catalog, resource, relationships, Phase::Stored, &starts).is_ok() {
            kept.push(deleted);
        }
    }
    Ok(kept)
}
