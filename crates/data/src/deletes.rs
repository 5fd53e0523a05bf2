//! What was deleted and not created anew, as far as the caller could see it.

use std::fmt::Write as _;

use homeroom_access::{Grant, Phase, ViewBound, namespace_subject};
use homeroom_http::{Kind, Problem};
use homeroom_model::Resource;
use homeroom_store::{References, Sql, Start, StoreError, Uuid, Value};
use tokio::time::{Instant, timeout_at};

use crate::json::{Json, member_text};
use crate::paging::Paging;
use crate::{DataApi, problem_of, rights};

/// How many are looked at at once.
const CHUNK: u16 = 1_000;

/// How many ways are followed at once.
const REACHED_AT_ONCE: usize = 64;

/// A page of deletions.
pub(crate) struct Deletes {
    /// JSON list.
    pub(crate) body: String,
    /// How many there are, if it was asked for.
    pub(crate) total: Option<u64>,
}

/// A deleted document.
struct Deleted {
    uuid: Uuid,
    change_version: i64,
    key_values: String,
    marks: Vec<Option<i64>>,
}

/// Lists deletions within a grant, in no more time than a list may take.
///
/// # Errors
///
/// 501 where the grant goes by a namespace that is no part of the identity: deletions do not keep
/// it. 503 when it takes too long; the store's own.
pub(crate) async fn list(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    paging: &Paging,
) -> Result<Deletes, Problem> {
    let end = Instant::now() + api.list_deadline;
    let listed = timeout_at(end, look_through(api, resource, grant, paging, end)).await;
    listed.unwrap_or_else(|_| Err(told(StoreError::Deadline(api.list_deadline))))
}

async fn look_through(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    paging: &Paging,
    end: Instant,
) -> Result<Deletes, Problem> {
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
    let kind = i64::from(api.catalog.kind(resource.id).0);
    let mut skip = paging.skip;
    let limit = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let (mut body, mut given, mut total) = (String::from("["), 0, 0);
    let mut after = min.saturating_sub(1);
    loop {
        if Instant::now() >= end {
            return Err(told(StoreError::Deadline(api.list_deadline)));
        }
        let arguments = vec![kind.into(), after.into(), max.into(), i64::from(CHUNK).into()];
        let rows = api.store.query(Sql::new(DELETES, arguments)).await.map_err(told)?;
        let is_last = rows.len() < usize::from(CHUNK);
        let deleted = rows.iter().map(|row| read(row)).collect::<Result<Vec<Deleted>, _>>()?;
        if let Some(last) = deleted.last() {
            after = last.change_version;
        }
        for deleted in within(api, resource, grant, namespace, deleted).await? {
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
    Ok(Deletes { body, total: paging.total_count.then_some(total) })
}

const DELETES: &str = "SELECT t.uuid, t.cv, t.key_values, t.marks FROM tomb t
     WHERE t.kind = ?1 AND t.cv > ?2 AND t.cv <= ?3
       AND NOT EXISTS (SELECT 1 FROM doc d WHERE d.key = t.key)
     ORDER BY t.cv LIMIT ?4";

fn read(row: &[Value]) -> Result<Deleted, Problem> {
    let [Value::Blob(id), Value::Integer(version), Value::Text(keys), Value::Blob(marks)] = row
    else {
        return Err(Problem::internal("a tombstone has another shape"));
    };
    let Ok(id) = <[u8; 16]>::try_from(id.as_slice()) else {
        return Err(Problem::internal("a tombstone's id has another length"));
    };
    Ok(Deleted {
        uuid: Uuid(id),
        change_version: *version,
        key_values: keys.clone(),
        marks: References::marks(marks).collect(),
    })
}

fn write(out: &mut String, deleted: &Deleted) {
    if out.len() > 1 {
        out.push(',');
    }
    let Deleted { uuid, change_version, key_values, .. } = deleted;
    _ = write!(
        out,
        "{{\"id\":\"{uuid}\",\"changeVersion\":{change_version},\"keyValues\":{key_values}}}"
    );
}

/// What a caller is told when the store cannot.
fn told(error: StoreError) -> Problem {
    let is_late = matches!(error, StoreError::Deadline(_));
    let problem = problem_of(error);
    if is_late {
        problem.hint(
            "Ask for fewer with minChangeVersion and maxChangeVersion, or leave totalCount out.",
        )
    } else {
        problem
    }
}

/// Those that have led to what a view has now.
async fn in_view(
    api: &DataApi,
    resource: &Resource,
    bound: &ViewBound,
    deleted: Vec<Deleted>,
) -> Result<Vec<Deleted>, Problem> {
    let start =
        |deleted: &Deleted| rights::past_start(&api.catalog, resource, bound, &deleted.key_values);
    let led: Vec<(Deleted, Start)> =
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

/// Those within the grant.
async fn within(
    api: &DataApi,
    resource: &Resource,
    grant: &Grant,
    namespace: Option<&str>,
    mut deleted: Vec<Deleted>,
) -> Result<Vec<Deleted>, Problem> {
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
    let starts = |deleted: &Deleted| -> Vec<Option<Start>> {
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
            all.extend(asked.questions.iter().cloned());
            asked
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    let mut reached = vec![];
    for some in all.chunks(REACHED_AT_ONCE) {
        reached.extend(api.store.reach(some.to_vec()).await.map_err(told)?);
        // The embedded store reads on this thread, which others wait for.
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
