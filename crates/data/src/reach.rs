//! What a grant covers: one stored document, or a list.

use homeroom_access::{Grant, Phase};
use homeroom_document::plan::check_stored;
use homeroom_document::rights::{self, AskedViews, stored_starts};
use homeroom_http::{Kind, Problem};
use homeroom_model::Resource;
use homeroom_store::{Condition, ListQuery, Row, TieState, Uuid};

use crate::{DataApi, problem_of};

/// Returns a document of a resource, within the reach of a grant.
pub(crate) async fn within_reach(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    id: Uuid,
) -> Result<Row, Problem> {
    let found = stored(api, grant, resource, id).await?;
    let (row, ties) = found.ok_or_else(|| Problem::of(Kind::NotFound))?;
    check_reach(api, grant, resource, &row, ties).await?;
    Ok(row)
}

/// Returns a document of a resource, if it exists. If the grant needs it, the document comes with
/// the state of the ties at the time of the read: cached ties hold only for that state.
pub(crate) async fn stored(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    id: Uuid,
) -> Result<Option<(Row, TieState)>, Problem> {
    let found = if grant.relationships.is_some() {
        api.store.document_and_ties(id).await
    } else {
        api.store.document(id).await.map(|row| row.map(|row| (row, TieState::default())))
    };
    let kind = api.catalog.kind(resource.id);
    Ok(found.map_err(problem_of)?.filter(|(row, _)| row.kind == kind))
}

/// Checks a stored document, read in a state of the ties, against a grant.
pub(crate) async fn check_reach(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    row: &Row,
    ties: TieState,
) -> Result<(), Problem> {
    let views = known_views(api, grant, resource, row).await?;
    check_stored(&api.catalog, grant, resource, row, &views)?;
    let Some(relationships) = &grant.relationships else { return Ok(()) };
    let marks = rights::stored(&api.catalog, resource, row);
    let is_known_to_hold = |alternative| {
        rights::paths(&api.catalog, resource, relationships, alternative, &marks).is_some_and(
            |paths| api.store.all_lead(ties, &paths, &relationships.organizations) == Some(true),
        )
    };
    if relationships.alternatives.iter().any(is_known_to_hold) {
        return Ok(());
    }
    let starts = stored_starts(&api.catalog, resource, row);
    let mut asked =
        rights::questions(&api.catalog, resource, [&**relationships].into_iter(), &starts);
    asked.reached = api.store.reach_in(ties, &asked.questions).await.map_err(problem_of)?;
    asked.check(&api.catalog, resource, relationships, Phase::Stored, &starts)?;
    Ok(())
}

/// Returns whether the views of a grant contain the bases of a stored document.
pub(crate) async fn known_views(
    api: &DataApi,
    grant: &Grant,
    resource: &Resource,
    row: &Row,
) -> Result<AskedViews, Problem> {
    let mut views = AskedViews::default();
    views.add(&api.catalog, resource, grant.views.iter(), &row.body, row.key);
    let mut answers = vec![];
    for (view, start) in views.open() {
        let test = rights::test(&api.catalog, view);
        let passed = api.store.pass(vec![*start], test).await.map_err(problem_of)?;
        answers.push(passed.iter().any(|passed| passed.is_passed));
    }
    views.know(answers);
    Ok(views)
}

/// Returns the list of all documents of a resource within the reach of a grant.
pub(crate) fn reachable(api: &DataApi, resource: &Resource, grant: &Grant) -> ListQuery {
    let namespaces = grant.namespace_prefixes.iter();
    let views = grant.views.iter();
    ListQuery {
        conditions: namespaces.map(|prefixes| namespace_condition(resource, prefixes)).collect(),
        bounds: rights::bounds(&api.catalog, resource, grant),
        through: views.map(|bound| rights::through(&api.catalog, resource, bound)).collect(),
        ..ListQuery::all(api.catalog.kind(resource.id))
    }
}

fn namespace_condition(resource: &Resource, prefixes: &[String]) -> Condition {
    homeroom_access::namespace_subject(resource).map_or(Condition::Never, |subject| {
        let at = subject.place.steps[0];
        let source = match subject.place.part {
            Some(part) => homeroom_model::ColumnSource::Part(at, part),
            None => homeroom_model::ColumnSource::Scalar(at),
        };
        Condition::StartsWith { path: resource.column_path(source), prefixes: prefixes.to_vec() }
    })
}
