//! A client's grant on a resource: all of its documents, or those within bounds.

use std::sync::Arc;

use homeroom_model::{Model, Resource, Subject, Target};
use serde::Serialize;

use crate::custom_view::ViewBound;
use crate::denial::title;
use crate::denial::{Denial, Lack};
use crate::phase::Phase;
use crate::relation::By;
use crate::strategy::Strategy;

/// Kind of the subject that [`Strategy::NamespaceBased`] checks.
const NAMESPACE: &str = "Namespace";

/// Most prefixes, organizations or properties that a message names.
const NAMED_MAX: usize = 5;

/// A client's grant on a resource. Every bound that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grant {
    /// Prefixes, one of which the document's namespace must have; [`None`] allows any namespace.
    pub namespace_prefixes: Option<Arc<[String]>>,
    /// Custom views that the document must lead to, in the order of the claim set.
    pub views: Vec<ViewBound>,
    /// How many of them are checked before the namespace.
    pub views_first: usize,
    /// Ownership tokens, one of which the document must have; [`None`] allows any owner.
    pub ownership_tokens: Option<Arc<[i64]>>,
    /// Relationships, one of which the document must have; [`None`] requires none.
    pub relationships: Option<Arc<Relationships>>,
    /// The ownership token given to a new document, whether or not the grant is bound by ownership.
    pub creator_token: Option<i64>,
}

/// A bound of a grant that is checked before its owner and its relationships.
#[derive(Debug, Clone, Copy)]
pub enum Restriction<'g> {
    /// The namespace.
    Namespace,
    /// A custom view.
    View(&'g ViewBound),
}

/// Relationships between a client's education organizations and a document. One alternative must
/// hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relationships {
    /// The client's education organizations.
    pub organizations: Arc<[i64]>,
    /// The alternatives, in the order of the claim set.
    pub alternatives: Vec<Alternative>,
}

/// The requirements of one strategy: all of its parts must be related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// The strategy.
    pub strategy: Strategy,
    /// The parts; there is at least one.
    pub parts: Vec<Part>,
}

/// A subject of the resource, and how it must be related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Index into [`Resource::subjects`].
    pub subject: usize,
    /// How the subject must be related.
    pub by: By,
}

/// How a subject of a document is related to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The subject is related as required.
    Related,
    /// The subject is not related as required.
    Unrelated,
    /// The document names no subject.
    Missing,
}

/// A client's grants on a resource for POST, which creates or updates. The plan uses the one that
/// applies once it has looked the document up.
#[derive(Debug, Clone)]
pub struct UpsertGrant {
    /// Grant for a new document.
    pub create: Result<Grant, Denial>,
    /// Grant for a stored document.
    pub update: Result<Grant, Denial>,
}

impl UpsertGrant {
    /// Returns a grant of everything, for a trusted caller.
    pub fn everything() -> Self {
        Self { create: Ok(Grant::default()), update: Ok(Grant::default()) }
    }

    /// Returns every custom view that either grant requires.
    pub fn views(&self) -> impl Iterator<Item = &ViewBound> {
        let grants =
            [&self.create, &self.update].into_iter().filter_map(|grant| grant.as_ref().ok());
        grants.flat_map(|grant| &grant.views)
    }

    /// Returns every relationship that either grant requires.
    pub fn relationships(&self) -> impl Iterator<Item = &Relationships> {
        let grants =
            [&self.create, &self.update].into_iter().filter_map(|grant| grant.as_ref().ok());
        grants.filter_map(|grant| grant.relationships.as_deref())
    }
}

impl Grant {
    /// Returns what is checked first, in the order of the claim set.
    ///
    /// Source: Ed-Fi ODS/API 7.3: namespace and custom views in configured order, then ownership,
    /// then relationships.
    pub fn restrictions(&self) -> impl Iterator<Item = Restriction<'_>> {
        let views = self.views.iter().map(Restriction::View);
        let namespace = self.namespace_prefixes.is_some().then_some(Restriction::Namespace);
        let first = self.views_first.min(self.views.len());
        views.clone().take(first).chain(namespace).chain(views.skip(first))
    }

    /// Checks the namespace of a document.
    ///
    /// # Errors
    ///
    /// [`Lack::SentNamespace`], [`Lack::StoredNamespace`] or [`Lack::Namespace`].
    pub fn check_namespace(&self, namespace: Option<&str>, phase: Phase) -> Result<(), Denial> {
        let Some(prefixes) = &self.namespace_prefixes else { return Ok(()) };
        let Some(namespace) = namespace.filter(|namespace| !namespace.trim().is_empty()) else {
            return Err(match phase {
                Phase::Proposed => Denial::of(Lack::SentNamespace),
                Phase::Stored => Denial::of(Lack::StoredNamespace).error(
                    "The stored document has no namespace, and the key is authorized by namespace.",
                ),
            });
        };
        if prefixes.iter().any(|prefix| namespace.starts_with(prefix.as_str())) {
            return Ok(());
        }
        let which = match phase {
            Phase::Proposed => "sent",
            Phase::Stored => "stored",
        };
        Err(Denial::of(Lack::Namespace).detail(format!(
            "The namespace of the document {which} begins with none of this key's prefixes: {}.",
            some_of(prefixes.iter().map(String::as_str))
        )))
    }

    /// Checks the ownership token of a stored document.
    ///
    /// # Errors
    ///
    /// [`Lack::Owner`] or [`Lack::Ownership`].
    pub fn check_owner(&self, owner: Option<i64>) -> Result<(), Denial> {
        let Some(tokens) = &self.ownership_tokens else { return Ok(()) };
        match owner {
            None => Err(Denial::of(Lack::Owner)
                .error(
                    "The stored document has no ownership token: it was created by a key without \
                     a creator token, so no key that is authorized by ownership can access it.",
                )
                .hint("Documents get an owner when a key with a creator token creates them.")),
            Some(owner) if tokens.contains(&owner) => Ok(()),
            Some(_) => Err(Denial::of(Lack::Ownership).hint(
                "Ask the server's operator for a key with the ownership token of its creator.",
            )),
        }
    }
}

impl Relationships {
    /// Returns every part of every alternative.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.alternatives.iter().flat_map(|alternative| alternative.parts.iter().copied())
    }

    /// Checks a document, given the standing of each part's subject.
    ///
    /// # Errors
    ///
    /// [`Lack::StoredSubject`] or [`Lack::SentSubject`] where the document names no subject;
    /// otherwise [`Lack::Relation`], with the missing associations as a hint.
    pub fn check(
        &self,
        model: &Model,
        resource: &Resource,
        phase: Phase,
        standing: impl Fn(Part) -> Standing,
    ) -> Result<(), Denial> {
        let mut failed: Vec<(&Strategy, Part, Standing)> = vec![];
        for alternative in &self.alternatives {
            let before = failed.len();
            for part in &alternative.parts {
                let stands = standing(*part);
                if stands != Standing::Related {
                    failed.push((&alternative.strategy, *part, stands));
                }
            }
            if failed.len() == before {
                return Ok(());
            }
        }
        let is_missing = failed.iter().any(|(.., stands)| *stands == Standing::Missing);
        if is_missing {
            failed.retain(|(.., stands)| *stands == Standing::Missing);
        }
        Err(self.refusal(model, resource, is_missing.then_some(phase), &failed))
    }

    fn refusal(
        &self,
        model: &Model,
        resource: &Resource,
        missing: Option<Phase>,
        failed: &[(&Strategy, Part, Standing)],
    ) -> Denial {
        let failing = || failed.iter().map(|(_, part, _)| *part);
        // Where no relationship suffices, all that were tried are named, whichever of them failed.
        let tried: Vec<Part> =
            if missing.is_some() { failing().collect() } else { self.parts().collect() };
        let mut names: Vec<String> = vec![];
        for part in tried {
            let name = title(&resource.subjects[part.subject].column);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut hints: Vec<String> = vec![];
        for part in failing() {
            let hint = missing_relation(model, &resource.subjects[part.subject], part.by);
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        let properties = some_of(names.iter().map(String::as_str));
        let strategies = || {
            let mut names: Vec<&str> =
                failed.iter().map(|(strategy, ..)| strategy.name()).collect();
            names.dedup();
            names.join(", ")
        };
        match missing {
            Some(Phase::Proposed) => Denial::of(Lack::SentSubject)
                .detail(format!("The document lacks {properties}, which {} checks.", strategies())),
            Some(Phase::Stored) => Denial::of(Lack::StoredSubject).error(format!(
                "The stored document lacks {properties}, which {} checks.",
                strategies()
            )),
            None => {
                let mut ids: Vec<i64> = self.organizations.to_vec();
                ids.sort_unstable();
                ids.dedup();
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                let ids = match ids.len() {
                    0 => "none".to_owned(),
                    _ => some_of(ids.iter().map(String::as_str)),
                };
                let of_document = match names.len() {
                    1 => "the document's",
                    _ => "one or more of the document's properties",
                };
                Denial::of(Lack::Relation)
                    .error(format!(
                        "No relationship exists between the education organizations of this key \
                         ({ids}) and {of_document} {properties}."
                    ))
                    .hint(hints.join(" "))
            }
        }
    }
}

/// Returns what would relate a subject to a client, as a sentence.
pub fn missing_relation(model: &Model, subject: &Subject, by: By) -> String {
    let column = title(&subject.column);
    match by {
        By::Below => format!(
            "{column} must be one of the key's education organizations, or be below one of them."
        ),
        By::Above => format!(
            "{column} must be one of the key's education organizations, or be above one of them."
        ),
        By::Person { way, .. } => {
            let names = associations(model, subject, way);
            format!("You may need to create the corresponding '{}'.", names.join("' or '"))
        }
    }
}

/// Returns the names of the associations that relate a person.
fn associations<'m>(model: &'m Model, subject: &Subject, way: Option<&str>) -> Vec<&'m str> {
    let Some(Target::Resource(person)) = model.by_name(&subject.kind) else { return vec![] };
    let person = model.resource(person);
    let through = match way {
        None => &person.access_through,
        Some(way) => match person.access_by.iter().find(|(name, _)| name == way) {
            Some((_, through)) => through,
            None => return vec![],
        },
    };
    through.iter().map(|id| model.resource(*id).name.as_str()).collect()
}

/// Returns the subject whose value [`Grant::check_namespace`] takes.
pub fn namespace_subject(resource: &Resource) -> Option<&Subject> {
    resource.subjects.iter().find(|subject| subject.kind == NAMESPACE)
}

/// Returns the first names in quotes, with an ellipsis where there are more.
fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> =
        names.take(NAMED_MAX + 1).map(|name| format!("'{name}'")).collect();
    if names.len() > NAMED_MAX {
        names.truncate(NAMED_MAX);
        names.push("...".into());
    }
    names.join(", ")
}
