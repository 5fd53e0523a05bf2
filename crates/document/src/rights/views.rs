//! Custom views: finds the document of a view's basis to which a document leads, and decides
//! whether the view contains it.
//!
//! A view contains stored documents only; the document that is being sent does not change it.

use std::sync::Arc;

use homeroom_access::{
    BasisOf, CustomView, Denial, Grant, MemberIs, MemberRule, Phase, Restriction, ViewBound,
    ViewRule,
};
use homeroom_model::{Place, Resource, SubjectOf, Target};
use homeroom_store::{
    Answer, Ask, Condition, DocumentTest, KeyOf, LeadsTo, NaturalKey, SameValue, Start, Through,
};

use super::namespace::namespace_of;
use super::text::text_at;
use crate::catalog::Catalog;
use crate::json::member_text;
use crate::validate::key_bytes;

/// The questions about the documents that one document leads to, and their answers.
#[derive(Debug, Clone, Default)]
pub struct AskedViews {
    /// The questions, without duplicates.
    questions: Vec<(Arc<CustomView>, Start)>,
    /// The answers so far, to the first of the questions.
    answers: Vec<bool>,
}

impl AskedViews {
    /// Adds the questions about a document with this text and identity that have not been added
    /// yet.
    pub fn add<'g>(
        &mut self,
        catalog: &Catalog,
        resource: &Resource,
        bounds: impl Iterator<Item = &'g ViewBound>,
        body: &str,
        key: NaturalKey,
    ) {
        for bound in bounds {
            let Some(start) = start(catalog, resource, bound, body, key) else { continue };
            if self.place(&bound.view, start).is_none() {
                self.questions.push((Arc::clone(&bound.view), start));
            }
        }
    }

    /// Returns the questions that have no answer yet.
    pub fn open(&self) -> &[(Arc<CustomView>, Start)] {
        &self.questions[self.answers.len()..]
    }

    /// Returns the open questions in the form of a plan.
    pub fn asks(&self, catalog: &Catalog) -> Vec<Ask> {
        let ask = |(view, start): &(Arc<CustomView>, Start)| Ask::Test(*start, test(catalog, view));
        self.open().iter().map(ask).collect()
    }

    /// Stores the answers to the open questions, in their order.
    pub fn take(&mut self, answers: impl Iterator<Item = Answer>) {
        let is_passed = |answer| matches!(answer, Answer::Passed(passed) if passed.is_passed);
        self.answers.extend(answers.map(is_passed));
        self.answers.resize(self.questions.len(), false);
    }

    /// Stores the answers to the open questions, in their order.
    pub fn know(&mut self, answers: Vec<bool>) {
        self.answers.extend(answers);
    }

    fn place(&self, view: &CustomView, start: Start) -> Option<usize> {
        self.questions.iter().position(|(own, at)| *at == start && own.name == view.name)
    }

    /// Returns whether a view contains the basis of a document with this text and identity;
    /// [`None`] if the document leads to no basis.
    pub fn has(
        &self,
        catalog: &Catalog,
        resource: &Resource,
        bound: &ViewBound,
        (body, key): (&str, NaturalKey),
    ) -> Option<bool> {
        let start = start(catalog, resource, bound, body, key)?;
        let answer = self.place(&bound.view, start).and_then(|at| self.answers.get(at));
        Some(answer.copied().unwrap_or(false))
    }

    /// Checks the namespace and the views of a grant, in their order, for a document with this text
    /// and identity.
    ///
    /// # Errors
    ///
    /// The [`Denial`] of the first check that fails.
    pub fn check(
        &self,
        catalog: &Catalog,
        grant: &Grant,
        resource: &Resource,
        (body, key): (&str, NaturalKey),
        phase: Phase,
    ) -> Result<(), Denial> {
        for restriction in grant.restrictions() {
            match restriction {
                Restriction::Namespace => {
                    grant.check_namespace(namespace_of(resource, body).as_deref(), phase)?;
                }
                Restriction::View(bound) => {
                    let is_in = self.has(catalog, resource, bound, (body, key));
                    bound.check(resource, phase, is_in)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the identity of the basis to which a document with this text and identity leads.
pub fn start(
    catalog: &Catalog,
    resource: &Resource,
    bound: &ViewBound,
    body: &str,
    key: NaturalKey,
) -> Option<Start> {
    match &bound.basis {
        BasisOf::Itself => Some(Start::Document(key)),
        BasisOf::Places { places, .. } => {
            let texts: Option<Vec<&str>> =
                places.iter().map(|place| text_at(resource, place, body)).collect();
            Some(Start::Document(basis_key(catalog, bound.view.basis, &texts?)))
        }
    }
}

/// Returns the basis to which a deleted document led, if its identity shows it.
pub fn past_start(
    catalog: &Catalog,
    resource: &Resource,
    bound: &ViewBound,
    key_values: &str,
) -> Option<Start> {
    let BasisOf::Places { columns, .. } = &bound.basis else { return None };
    let text = |name: &String| {
        resource.key.iter().find(|column| column.name == *name)?;
        member_text(key_values, name)
    };
    let texts: Option<Vec<&str>> = columns.iter().map(text).collect();
    Some(Start::Document(basis_key(catalog, bound.view.basis, &texts?)))
}

fn basis_key(catalog: &Catalog, basis: Target, texts: &[&str]) -> NaturalKey {
    let columns = catalog.model.target_key(basis).iter().zip(texts);
    let columns: Vec<_> = columns.map(|(column, text)| key_bytes(column.scalar, text)).collect();
    catalog.key(basis, columns.iter().map(AsRef::as_ref))
}

/// Returns the restriction of a list to documents whose basis a view contains.
pub fn through(catalog: &Arc<Catalog>, resource: &Resource, bound: &ViewBound) -> Through {
    let to = match &bound.basis {
        BasisOf::Itself => LeadsTo::Itself,
        BasisOf::Places { places, .. } => {
            let mark = mark(catalog, resource, bound.view.basis, places);
            mark.map_or_else(|| by_text(catalog, resource, bound), LeadsTo::Mark)
        }
    };
    Through { to, test: test(catalog, &bound.view) }
}

/// Returns the mark that holds the number of the basis's document, which must be a person's.
fn mark(catalog: &Catalog, resource: &Resource, basis: Target, places: &[Place]) -> Option<usize> {
    let [place] = places else { return None };
    catalog.routes.slots(resource.id).iter().position(|slot| {
        let is_person =
            matches!(slot.of, SubjectOf::Person(person) if basis == Target::Resource(person));
        is_person && slot.place == *place
    })
}

fn by_text(catalog: &Arc<Catalog>, resource: &Resource, bound: &ViewBound) -> LeadsTo {
    let (catalog, resource, bound) = (Arc::clone(catalog), resource.id, bound.clone());
    LeadsTo::Key(KeyOf::new(move |row| {
        let resource = catalog.model.resource(resource);
        match start(&catalog, resource, &bound, &row.body, row.key)? {
            Start::Document(key) => Some(key),
            Start::Number(_) => None,
        }
    }))
}

/// Translates a view's rule into the store's terms.
pub fn test(catalog: &Catalog, view: &CustomView) -> Arc<DocumentTest> {
    Arc::new(rule_test(catalog, &view.rule))
}

fn rule_test(catalog: &Catalog, rule: &ViewRule) -> DocumentTest {
    let all = |rules: &[ViewRule]| rules.iter().map(|rule| rule_test(catalog, rule)).collect();
    match rule {
        ViewRule::All(rules) => DocumentTest::All(all(rules)),
        ViewRule::Any(rules) => DocumentTest::Any(all(rules)),
        ViewRule::Member(member) => member_test(member),
        ViewRule::Exists { resource, same, rule } => DocumentTest::Referrer {
            kind: catalog.kind(*resource),
            same: same
                .iter()
                .map(|shared| SameValue {
                    theirs: shared.theirs.clone(),
                    own: shared
                        .own
                        .iter()
                        .map(|(kind, path)| (catalog.kind(*kind), path.clone()))
                        .collect(),
                    fold: shared.fold,
                })
                .collect(),
            test: Box::new(rule_test(catalog, rule)),
        },
    }
}

fn member_test(rule: &MemberRule) -> DocumentTest {
    let paths = || vec![rule.path.clone()];
    let texts = |values: &[String], fold: bool| {
        let text = |value: &String| Condition::Text { paths: paths(), value: value.clone(), fold };
        any(values.iter().map(text))
    };
    let test = match &rule.is {
        MemberIs::Text(values) => texts(values, false),
        MemberIs::Descriptor(values) => texts(values, true),
        MemberIs::Integer(values) => {
            any(values.iter().map(|value| Condition::Integer { paths: paths(), value: *value }))
        }
        MemberIs::Decimal(values) => any(values
            .iter()
            .filter_map(serde_json::Number::as_f64)
            .map(|value| Condition::Number { paths: paths(), value })),
        MemberIs::Boolean(value) => {
            DocumentTest::Says(Condition::Boolean { paths: paths(), value: *value })
        }
        MemberIs::Present => DocumentTest::Has { path: rule.path.clone(), is_there: true },
        MemberIs::Absent => DocumentTest::Has { path: rule.path.clone(), is_there: false },
    };
    let within =
        |test, list: &String| DocumentTest::Item { path: list.clone(), test: Box::new(test) };
    rule.lists.iter().rev().fold(test, within)
}

fn any(conditions: impl Iterator<Item = Condition>) -> DocumentTest {
    DocumentTest::Any(conditions.map(DocumentTest::Says).collect())
}
