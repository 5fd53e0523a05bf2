//! Explains how a stored document relates to a grant, subject by subject, and through what.

use homeroom_access::{
    Access, AskedDocument, Author, By, Denial, DocumentStanding, Grant, Manage, ManageError, Part,
    Phase, Relationships, Restriction, Standing, Strategy, StrategyStanding, SubjectStanding,
    ViewBound, missing_relation, title,
};
use homeroom_document::rights::{
    Asked, AskedViews, namespace_of, owner, questions, start, stored_starts, way,
};
use homeroom_http::{Problem, Timestamp};
use homeroom_model::Resource;
use homeroom_store::{DocumentId, Reached, Row, Start, TieState, Uuid, Way};

use crate::{DataApi, problem_of, reach};

/// Most organizations that an explanation names.
const NAMED_MAX: usize = 20;
/// Most holders of one person that are looked at.
const HOLDERS_MAX: u16 = 200;
/// Most paths that are followed in parallel from a person.
const FOLLOWED_MAX: usize = 200;

/// Executes a management command of somebody. An explanation of a stored document says how the document stands
/// to the key's grants.
///
/// # Errors
///
/// The same as [`Access::manage`]; also where the document that is asked about does not exist.
pub async fn manage(
    api: &DataApi,
    access: &Access,
    asked: Manage,
    author: Author,
    now: Timestamp,
) -> Result<serde_json::Value, ManageError> {
    let Manage::Explain(asked) = asked else {
        return access.manage_by(author, asked, now).await;
    };
    let mut explanation = access.explain(&asked, now).await?;
    if let Some(AskedDocument { resource, id, grants }) = explanation.document().cloned() {
        let resource = api.catalog.model.resource(resource);
        for (decision, grant) in grants.iter().enumerate() {
            let Some((grant, is_shown)) = grant else { continue };
            let found = stored(api, resource, id, grant).await.map_err(|problem| {
                let detail = problem.detail.clone().unwrap_or_else(|| problem.kind.detail().into());
                ManageError::Refused(detail)
            })?;
            let Some(found) = found else {
                let message = format!("{} has no document {id}", resource.path());
                return Err(ManageError::Invalid(message));
            };
            if *is_shown {
                explanation.add(decision, id, &found);
            }
        }
    }
    Ok(explanation.into_value())
}

/// Returns how the document with this public id stands to a grant; [`None`] where the resource has
/// no such document.
async fn stored(
    api: &DataApi,
    resource: &Resource,
    id: Uuid,
    grant: &Grant,
) -> Result<Option<DocumentStanding>, Problem> {
    let row = api.store.document(id).await.map_err(problem_of)?;
    match row.filter(|row| row.kind == api.catalog.kind(resource.id)) {
        Some(row) => Ok(Some(standing(api, resource, &row, grant).await?)),
        None => Ok(None),
    }
}

async fn standing(
    api: &DataApi,
    resource: &Resource,
    row: &Row,
    grant: &Grant,
) -> Result<DocumentStanding, Problem> {
    let own = |strategy: Strategy, checked: Result<(), Denial>| StrategyStanding {
        strategy: strategy.name().to_owned(),
        holds: checked.is_ok(),
        subjects: vec![],
        basis: None,
        missing: None,
    };
    let mut strategies = vec![];
    let views = reach::known_views(api, grant, resource, row).await?;
    for restriction in grant.restrictions() {
        strategies.push(match restriction {
            Restriction::Namespace => {
                let namespace = namespace_of(resource, &row.body);
                let checked = grant.check_namespace(namespace.as_deref(), Phase::Stored);
                own(Strategy::NamespaceBased, checked)
            }
            Restriction::View(bound) => view(api, resource, row, bound, &views).await?,
        });
    }
    if grant.ownership_tokens.is_some() {
        let checked = grant.check_owner(owner(&api.catalog, resource, row));
        strategies.push(own(Strategy::OwnershipBased, checked));
    }
    if let Some(relationships) = &grant.relationships {
        strategies.extend(alternatives(api, resource, row, relationships).await?);
    }
    let problem = match reach::check_reach(api, grant, resource, row, TieState::default()).await {
        Err(problem) if problem.kind.status().is_server_error() => return Err(problem),
        checked => checked.err(),
    };
    Ok(DocumentStanding { strategies, problem })
}

async fn alternatives(
    api: &DataApi,
    resource: &Resource,
    row: &Row,
    relationships: &Relationships,
) -> Result<Vec<StrategyStanding>, Problem> {
    let starts = stored_starts(&api.catalog, resource, row);
    let mut asked = questions(&api.catalog, resource, [relationships].into_iter(), &starts);
    asked.reached = api.store.reach(&asked.questions).await.map_err(problem_of)?;
    let mut strategies = vec![];
    for alternative in &relationships.alternatives {
        let mut subjects = vec![];
        for part in &alternative.parts {
            subjects.push(subject(api, resource, relationships, &asked, *part, &starts).await?);
        }
        strategies.push(StrategyStanding {
            strategy: alternative.strategy.name().to_owned(),
            holds: subjects.iter().all(|subject| subject.standing == Standing::Related),
            subjects,
            basis: None,
            missing: None,
        });
    }
    Ok(strategies)
}

/// Returns how a view relates to the basis of a document.
async fn view(
    api: &DataApi,
    resource: &Resource,
    row: &Row,
    bound: &ViewBound,
    views: &AskedViews,
) -> Result<StrategyStanding, Problem> {
    let document = (row.body.as_str(), row.key);
    let is_in = views.has(&api.catalog, resource, bound, document);
    let start = start(&api.catalog, resource, bound, document.0, document.1);
    let target = match start {
        Some(Start::Document(key)) => api.store.target(key).await.map_err(problem_of)?,
        Some(Start::Number(_)) | None => None,
    };
    let path = target
        .and_then(|(_, id, kind)| Some(format!("{}/{id}", api.catalog.resource(kind)?.path())));
    let missing = match is_in {
        Some(true) => None,
        Some(false) => Some(format!("{}. {}", bound.view.asks, bound.view.hint)),
        None => Some(format!("The document lacks {}.", bound.properties(resource).join(", "))),
    };
    Ok(StrategyStanding {
        strategy: bound.view.name.clone(),
        holds: is_in == Some(true),
        subjects: vec![],
        basis: Some(path.unwrap_or_else(|| format!("no {}", bound.view.basis_name))),
        missing,
    })
}

async fn subject(
    api: &DataApi,
    resource: &Resource,
    relationships: &Relationships,
    asked: &Asked,
    part: Part,
    starts: &[Option<Start>],
) -> Result<SubjectStanding, Problem> {
    let catalog = &api.catalog;
    let subject = &resource.subjects[part.subject];
    let standing = asked.standing(catalog, resource, relationships, part, starts);
    let mut found = SubjectStanding {
        property: title(&subject.column),
        standing,
        organization: None,
        through: vec![],
        organizations: vec![],
        missing: (standing != Standing::Related)
            .then(|| missing_relation(&catalog.model, subject, part.by)),
    };
    let slot = catalog.routes.slot(resource.id, part.subject);
    let Some((at, slot)) = slot else { return Ok(found) };
    let (Some(start), Some(way)) = (starts.get(at).copied().flatten(), way(catalog, slot, part.by))
    else {
        return Ok(found);
    };
    let own = &relationships.organizations;
    let answered = |from: Start| -> Option<&Reached> {
        let mut answers = asked.questions.iter().zip(&asked.reached);
        answers.find(|((at, by), _)| *at == from && *by == way).map(|(_, reached)| reached)
    };
    let number = if let Start::Number(number) = start { Some(number) } else { None };
    match part.by {
        By::Above => {
            let above = |own: i64| answered(Start::Number(own)).map_or(&[][..], |r| &r.numbers);
            let lower = own.iter().copied();
            let mut lower = lower.filter(|own| {
                number.is_some_and(|number| number == *own || above(*own).contains(&number))
            });
            found.organization = lower.next();
            found.organizations = own.iter().flat_map(|own| above(*own)).copied().collect();
            found.organizations.sort_unstable();
            found.organizations.dedup();
        }
        By::Below | By::Person { .. } => {
            let reached = answered(start).map_or(&[][..], |reached| &reached.numbers);
            let is_own = |number: &&i64| own.contains(number);
            let itself = number.filter(|_| part.by == By::Below);
            found.organization = itself.iter().chain(reached).find(is_own).copied();
            found.organizations = reached.to_vec();
        }
    }
    found.organizations.truncate(NAMED_MAX);
    if let (By::Person { .. }, Some(number), Some(organization)) =
        (part.by, number, found.organization)
    {
        found.through = through(api, number, &way, organization).await?;
    }
    Ok(found)
}

/// Returns the associations on the first path found from a person to an organization.
async fn through(
    api: &DataApi,
    person: i64,
    way: &Way,
    organization: i64,
) -> Result<Vec<String>, Problem> {
    let mut ways: Vec<(i64, Vec<DocumentId>)> = vec![(person, vec![])];
    for label in way.steps.iter() {
        let mut next = vec![];
        for (item, before) in ways {
            let holders = api.store.holders(*label, item, way.past, HOLDERS_MAX).await;
            for (holder, via) in holders.map_err(problem_of)? {
                next.push((holder, [&before[..], &[via]].concat()));
            }
        }
        next.truncate(FOLLOWED_MAX);
        ways = next;
    }
    let up = Way { steps: [].into(), ..*way };
    let questions: Vec<_> = ways.iter().map(|(at, _)| (Start::Number(*at), up)).collect();
    let reached = api.store.reach(&questions).await.map_err(problem_of)?;
    let mut all = ways.into_iter().zip(reached);
    let found = all
        .find(|((at, _), reached)| *at == organization || reached.numbers.contains(&organization));
    let mut paths = vec![];
    for via in found.map(|((_, via), _)| via).unwrap_or_default() {
        paths.push(path(api, via).await?);
    }
    Ok(paths)
}

/// Returns the path of a document, by its number.
async fn path(api: &DataApi, number: DocumentId) -> Result<String, Problem> {
    let found = api.store.identified(number).await.map_err(problem_of)?;
    let path =
        found.and_then(|(kind, id)| Some(format!("{}/{id}", api.catalog.resource(kind)?.path())));
    Ok(path.unwrap_or_else(|| "an association that was deleted".to_owned()))
}
