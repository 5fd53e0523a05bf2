//! Runs plans without their writes, to tell what they would do.
//!
//! A rehearsed plan asks and decides like any other, in the same transactions, but its writes are
//! left out: no row, no change version and no ETag changes, and other writers wait no longer than
//! for a plan that finds everything unchanged. A transaction that is rolled back would not do: it
//! would have to be as long as the whole rehearsal, or every later plan would miss what the earlier
//! ones would have created. Therefore the identities of those documents are remembered, a few bytes
//! each, and count as existing when a later plan asks for them as targets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::plan::{Answer, Ask, Decide, Decision, Plan, Write};

/// A run of plans one after the other, none of which writes anything.
#[derive(Debug, Clone, Default)]
pub struct Rehearsal {
    written: Arc<Mutex<Identities>>,
    plans: Arc<AtomicU32>,
}

/// The identities that would have been written, as half of their hashes, each with the number of
/// the first plan that would have. Halves of two identities are practically never equal.
type Identities = HashMap<[u8; 8], u32>;

/// The decision of a plan whose writes are left out.
#[derive(Debug, Clone)]
pub struct Rehearsed<D> {
    decide: D,
    /// The questions that the next answers are for.
    asked: Vec<Ask>,
    /// The identity of the document that the plan asks for first.
    own: Option<NaturalKey>,
    /// The plan's number. An engine may restart a plan, or a group of them, so a plan must not see
    /// what it or a later one has remembered.
    number: u32,
    written: Arc<Mutex<Identities>>,
}

impl Rehearsal {
    /// Returns a plan without its writes. Its result says, beside its own, whether an earlier plan
    /// of this rehearsal would have written the same document.
    pub fn plan<D: Decide>(&self, plan: Plan<D>) -> Plan<Rehearsed<D>> {
        let Plan { ask, decide } = plan;
        let own = ask.iter().find_map(|ask| match ask {
            Ask::Document(key) => Some(*key),
            _ => None,
        });
        let decide = Rehearsed {
            decide,
            asked: ask.clone(),
            own,
            number: self.plans.fetch_add(1, Ordering::Relaxed),
            written: Arc::clone(&self.written),
        };
        Plan { ask, decide }
    }

    /// Whether a plan of this rehearsal would have written a document with this identity, as its
    /// own or as an abstract base's.
    pub fn has(&self, key: NaturalKey) -> bool {
        lock(&self.written).contains_key(&half(key))
    }

    /// Returns the number of identities that are remembered.
    pub fn identities(&self) -> usize {
        lock(&self.written).len()
    }
}

impl<D> Rehearsed<D> {
    /// Answers questions for targets that earlier plans would have created.
    fn complete(&self, found: &mut [Answer]) {
        let written = lock(&self.written);
        let earlier = |key: NaturalKey| {
            written.get(&half(key)).copied().filter(|number| *number < self.number)
        };
        let own = self.own.and_then(earlier);
        for (ask, answer) in self.asked.iter().zip(found) {
            if let (Ask::Target(key), Answer::Target(None)) = (ask, &*answer)
                && let Some(number) = earlier(*key)
                // What the plan's own document has written before belongs to itself.
                && Some(number) != own
            {
                let target = (DocumentId(i64::MAX), Uuid([0; 16]), KindId(0));
                *answer = Answer::Target(Some(target));
            }
        }
    }

    /// Remembers what would be written; returns whether an earlier plan would have written it, too.
    fn remember(&self, writes: &[Write]) -> bool {
        let mut written = lock(&self.written);
        let mut is_repeated = false;
        for write in writes {
            let (Write::Create(new) | Write::Replace { new, .. }) = write else { continue };
            let first = *written.entry(half(new.key)).or_insert(self.number);
            is_repeated |= first < self.number;
            if let Some(alias) = new.alias {
                written.entry(half(alias)).or_insert(first);
            }
        }
        is_repeated
    }
}

impl<D: Decide> Decide for Rehearsed<D> {
    type Done = (D::Done, bool);
    type Refusal = D::Refusal;

    fn decide(&mut self, mut found: Vec<Answer>) -> Decision<Self::Done, Self::Refusal> {
        self.complete(&mut found);
        match self.decide.decide(found) {
            Decision::Write(writes, done) => {
                let is_repeated = self.remember(&writes);
                Decision::Write(vec![], (done, is_repeated))
            }
            Decision::Ask(more) => {
                self.asked.clone_from(&more);
                Decision::Ask(more)
            }
            Decision::Refuse(refusal) => Decision::Refuse(refusal),
        }
    }
}

fn lock(written: &Mutex<Identities>) -> std::sync::MutexGuard<'_, Identities> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns half of an identity's hash: bytes, so that an entry of the map is 12 bytes long.
fn half(key: NaturalKey) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key.0[..8]);
    bytes
}
