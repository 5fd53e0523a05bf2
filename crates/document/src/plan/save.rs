//! Decides an upsert and a replacement by id, stage by stage.
//!
//! A stage is what is known so far: what was sent ([`Sent`]), what is stored ([`Stored`]), what may
//! be written ([`Cleared`]). Each step takes a stage and the answers that it has waited for, and
//! returns the next one with its questions, or the writes.

mod clear;
mod resolve;
mod stage;
mod write;

use std::sync::Arc;

use homeroom_store::{Answer, Ask, ChangedAt, Decide, Decision, Plan};

use super::outcome::Written;
use super::precondition::Precondition;
use super::reach::ways;
use crate::catalog::Catalog;
use crate::refusal::Refusal;
use crate::validate::Document;
pub(super) use stage::Grants;
use stage::{SaveStage, Sent, Terms};

/// Decides the plans of [`upsert`](fn@crate::plan::upsert) and
/// [`replace`](fn@crate::plan::replace).
#[derive(Clone)]
pub struct Save {
    terms: Terms,
    stage: SaveStage,
}

impl Save {
    /// Returns the plan that looks up the document by `first`.
    pub(super) fn plan(
        catalog: &Arc<Catalog>,
        document: Document,
        grants: Grants,
        precondition: Precondition,
        now: ChangedAt,
        first: Ask,
    ) -> Plan<Self> {
        let sent = Sent::new(catalog, document, &grants);
        let mut ask = vec![first];
        ask.extend(ways(&sent.asked));
        ask.extend(sent.views.asks(catalog));
        let terms = Terms { catalog: Arc::clone(catalog), precondition, now };
        Plan { ask, decide: Self { terms, stage: SaveStage::Sent(sent, grants) } }
    }

    /// Returns the document of a plan that was not run.
    ///
    /// # Panics
    ///
    /// Panics if the plan has been decided.
    pub fn into_document(self) -> Document {
        self.stage.into_document().expect("only the last round takes it, and none has run")
    }
}

impl Decide for Save {
    type Done = Written;
    type Refusal = Refusal;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<Written, Refusal> {
        let terms = &self.terms;
        let step = match std::mem::replace(&mut self.stage, SaveStage::Decided) {
            SaveStage::Sent(sent, grants) => terms.look(sent, grants, found),
            SaveStage::Stored(stored) => terms.reach(stored, found),
            SaveStage::Targets(cleared, keys) => terms.resolve(cleared, &keys, found),
            SaveStage::Spellings(cleared, targets, keys) => {
                terms.learn(cleared, targets, &keys, found)
            }
            SaveStage::Decided => Err(Refusal::Confused),
        };
        match step {
            Ok((stage, decision)) => {
                self.stage = stage;
                decision
            }
            Err(refusal) => Decision::Refuse(refusal),
        }
    }
}
