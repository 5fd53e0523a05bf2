//! Decides whether a document may be written: rights, identity, precondition.

use homeroom_access::{Denial, Grant, Phase, UpsertGrant};
use homeroom_model::Resource;
use homeroom_store::{Answer, Ask, Decision, Row, Start};

use super::super::reach::{check_stored, ways};
use super::super::respell::keep_identity;
use super::stage::{Cleared, Grants, NextStage, Onto, SaveStage, Sent, Stored, Terms};
use super::write::unchanged;
use crate::catalog::is_descriptor;
use crate::refusal::Refusal;
use crate::rights::{About, questions, stored_starts};

impl Terms {
    /// Takes the stored document, if there is one, and asks what leads from it to the caller.
    pub(super) fn look(&self, mut sent: Sent, grants: Grants, found: Vec<Answer>) -> NextStage {
        let kind = self.catalog.kind(sent.document.resource);
        let mut found = found.into_iter();
        let row = match found.next() {
            Some(Answer::Document(row)) => row.filter(|row| row.kind == kind),
            _ => None,
        };
        sent.asked.take(found.by_ref());
        sent.views.take(found);
        let (row, grant) = match (row, grants) {
            (Some(row), Grants::ById(grant)) => (row, grant),
            (Some(row), Grants::ByIdentity(UpsertGrant { update, .. })) => (row, update?),
            (None, Grants::ById(_)) => return Err(Refusal::NotFound),
            (None, Grants::ByIdentity(UpsertGrant { create, .. })) => {
                return self.clear_new(sent, &create?);
            }
        };
        let resource = self.catalog.model.resource(sent.document.resource);
        let starts = stored_starts(&self.catalog, resource, &row);
        let asked = (!is_about_the_same(&sent, &row, &starts)).then(|| {
            let relationships = grant.relationships.as_deref().into_iter();
            questions(&self.catalog, resource, relationships, &starts)
        });
        sent.views.add(&self.catalog, resource, grant.views.iter(), &row.body, row.key);
        let mut asks: Vec<Ask> = asked.iter().flat_map(ways).collect();
        asks.extend(sent.views.asks(&self.catalog));
        let stored = Stored { sent, row, grant, asked };
        if asks.is_empty() {
            return self.reach(stored, vec![]);
        }
        Ok((SaveStage::Stored(stored), Decision::Ask(asks)))
    }

    /// Checks a document that is not stored yet.
    fn clear_new(&self, sent: Sent, grant: &Grant) -> NextStage {
        self.check_sent(&sent, grant)?;
        self.precondition.check(None)?;
        let Sent { document, about, .. } = sent;
        self.ask_targets(Cleared { document, about, onto: Onto::New(grant.creator_token) })
    }

    /// Checks whether the grant covers the stored document.
    pub(super) fn reach(&self, stored: Stored, found: Vec<Answer>) -> NextStage {
        let Stored { mut sent, row, grant, asked } = stored;
        let resource = self.catalog.model.resource(sent.document.resource);
        let mut found = found.into_iter();
        let asked = asked.map(|mut asked| {
            asked.take(found.by_ref());
            asked
        });
        sent.views.take(found);
        check_stored(&self.catalog, &grant, resource, &row, &sent.views)?;
        if let Some(relationships) = &grant.relationships {
            let (asked, starts) = match &asked {
                Some(asked) => (asked, stored_starts(&self.catalog, resource, &row)),
                None => (&sent.asked, sent.starts()),
            };
            asked.check(&self.catalog, resource, relationships, Phase::Stored, &starts)?;
        }
        self.clear_stored(sent, row, &grant)
    }

    /// Checks the sent document, after the stored one was within reach, and whether there is a
    /// change.
    fn clear_stored(&self, sent: Sent, row: Row, grant: &Grant) -> NextStage {
        let resource = self.catalog.model.resource(sent.document.resource);
        if row.key != sent.document.key {
            return Err(key_change(resource));
        }
        self.check_sent(&sent, grant)?;
        self.precondition.check(Some(&row))?;
        let Sent { mut document, about, .. } = sent;
        if is_descriptor(resource) {
            keep_identity(&mut document, &row.body);
        }
        let cleared = Cleared { document, about, onto: Onto::Stored(row) };
        if let Some(row) = cleared.unchanged()
            && self.is_spelled_as_known(&cleared)
        {
            return Ok((SaveStage::Decided, Decision::Write(vec![], unchanged(row))));
        }
        self.ask_targets(cleared)
    }

    /// Whether the document spells descriptors as the cached spellings do. An older version may
    /// have stored them as they were sent, so even an equal text may have to be stored again.
    fn is_spelled_as_known(&self, cleared: &Cleared) -> bool {
        let document = &cleared.document;
        let spelled = document.spelled.iter();
        self.catalog.spellings.agree(spelled.map(|at| (at.key, at.text(&document.body))))
    }

    /// Checks the sent document against the grant.
    fn check_sent(&self, sent: &Sent, grant: &Grant) -> Result<(), Denial> {
        let Sent { document, asked, views, .. } = sent;
        let resource = self.catalog.model.resource(document.resource);
        let text = (document.body.as_str(), document.key);
        views.check(&self.catalog, grant, resource, text, Phase::Proposed)?;
        let Some(relationships) = &grant.relationships else { return Ok(()) };
        asked.check(&self.catalog, resource, relationships, Phase::Proposed, &sent.starts())
    }
}

/// Whether the stored document is about the same organizations and persons as the sent one.
fn is_about_the_same(sent: &Sent, row: &Row, stored: &[Option<Start>]) -> bool {
    row.key == sent.document.key
        && stored.iter().zip(&sent.about).all(|(stored, about)| match (stored, about) {
            (Some(Start::Number(stored)), Some(About::Organization(sent, _))) => stored == sent,
            // A person is part of the identity, which is the same.
            (Some(_), Some(About::Person(_) | About::Itself)) | (None, None) => true,
            _ => false,
        })
}

fn key_change(resource: &Resource) -> Refusal {
    let columns: Vec<&str> = resource.key.iter().map(|column| column.name.as_str()).collect();
    let named = format!("The identifying values of {} ({})", resource.name, columns.join(", "));
    Refusal::KeyChange { named, is_allowed: resource.updatable_key }
}
