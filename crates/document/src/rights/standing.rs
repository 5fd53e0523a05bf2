//! Relationships between a document and a caller: the questions to the store, and the decision that
//! follows from its answers.

use homeroom_access::{Alternative, By, Denial, Part, Phase, Relationships, Standing};
use homeroom_model::{Resource, SubjectOf};
use homeroom_store::{Answer, Reached, Start, Way};

use super::routes::Slot;
use crate::catalog::Catalog;

/// The questions about one document, and their answers.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The questions, without duplicates.
    pub questions: Vec<(Start, Way)>,
    /// The answers: empty until they arrive, then one per question.
    pub reached: Vec<Reached>,
}

/// Returns the questions that relationships ask about a document; `starts` are the starting points
/// of its slots.
pub fn questions<'r>(
    catalog: &Catalog,
    resource: &Resource,
    relationships: impl Iterator<Item = &'r Relationships>,
    starts: &[Option<Start>],
) -> Asked {
    let mut questions: Vec<(Start, Way)> = vec![];
    for relationship in relationships {
        for part in relationship.parts() {
            let Some((at, slot)) = catalog.routes.slot(resource.id, part.subject) else { continue };
            let Some(start) = starts.get(at).copied().flatten() else { continue };
            let Some(way) = way(catalog, slot, part.by) else { continue };
            if part.by == By::Above {
                for own in relationship.organizations.iter() {
                    questions.push((Start::Number(*own), way));
                }
            } else {
                questions.push((start, way));
            }
        }
    }
    questions.sort_unstable();
    questions.dedup();
    Asked { questions, reached: vec![] }
}

/// Returns the paths that all have to lead to the caller's organizations for an alternative to hold, from the
/// marks of a stored document. A subject that is one of these organizations itself has no path. [`None`] where
/// a subject is missing, or a path begins with the caller's organizations.
pub fn paths(
    catalog: &Catalog,
    resource: &Resource,
    relationships: &Relationships,
    alternative: &Alternative,
    marks: &[Option<i64>],
) -> Option<Vec<(i64, Way)>> {
    let mut paths = Vec::with_capacity(alternative.parts.len());
    for part in &alternative.parts {
        let (at, slot) = catalog.routes.slot(resource.id, part.subject)?;
        let mark = marks.get(at).copied().flatten()?;
        let is_organization = matches!(slot.of, SubjectOf::Organization(_));
        if is_organization && relationships.organizations.binary_search(&mark).is_ok() {
            continue;
        }
        if part.by == By::Above {
            return None;
        }
        paths.push((mark, way(catalog, slot, part.by)?));
    }
    Some(paths)
}

/// Returns the path of a part: from its subject, or for [`By::Above`] from the caller's
/// organizations.
pub fn way(catalog: &Catalog, slot: &Slot, by: By) -> Option<Way> {
    match (slot.of, by) {
        (SubjectOf::Organization(base), By::Below | By::Above) => {
            let up = catalog.routes.above(base)?;
            Some(Way { steps: [].into(), up, past: false })
        }
        (SubjectOf::Person(person), By::Person { way, past }) => {
            catalog.routes.person(person, way, past)
        }
        _ => None,
    }
}

impl Asked {
    /// Stores the answers, which are exactly one per question and in their order.
    pub fn take(&mut self, answers: impl Iterator<Item = Answer>) {
        let reached = answers.take(self.questions.len()).map(|answer| match answer {
            Answer::Reached(reached) => reached,
            _ => Reached::default(),
        });
        self.reached = reached.collect();
    }

    /// Checks the relationships against the answers.
    ///
    /// # Errors
    ///
    /// A [`Denial`] when none holds.
    pub fn check(
        &self,
        catalog: &Catalog,
        resource: &Resource,
        relationships: &Relationships,
        phase: Phase,
        starts: &[Option<Start>],
    ) -> Result<(), Denial> {
        relationships.check(&catalog.model, resource, phase, |part| {
            self.standing(catalog, resource, relationships, part, starts)
        })
    }

    /// Returns how the subject of a part relates to the caller, according to the answers.
    pub fn standing(
        &self,
        catalog: &Catalog,
        resource: &Resource,
        relationships: &Relationships,
        part: Part,
        starts: &[Option<Start>],
    ) -> Standing {
        let own = &relationships.organizations;
        let slot = catalog.routes.slot(resource.id, part.subject);
        let Some((at, slot)) = slot else { return Standing::Unrelated };
        let Some(start) = starts.get(at).copied().flatten() else { return Standing::Missing };
        let is_own = |number: i64| own.binary_search(&number).is_ok();
        // An organization may be named before its document exists.
        if let (Start::Number(number), SubjectOf::Organization(_)) = (start, slot.of)
            && is_own(number)
        {
            return Standing::Related;
        }
        let Some(way) = way(catalog, slot, part.by) else { return Standing::Unrelated };
        let answers = self.questions.iter().zip(&self.reached);
        let mut answers = answers.filter(|((_, asked), _)| *asked == way);
        let is_related = match (part.by, start) {
            (By::Above, Start::Number(number)) => answers.any(|((from, _), reached)| {
                matches!(from, Start::Number(from) if is_own(*from))
                    && reached.numbers.contains(&number)
            }),
            _ => answers.any(|((from, _), reached)| {
                *from == start && reached.numbers.iter().any(|number| is_own(*number))
            }),
        };
        if is_related { Standing::Related } else { Standing::Unrelated }
    }
}
