//! Groups rejects by their cause.

use std::collections::HashMap;

use homeroom_store::NaturalKey;

use crate::place::At;
use crate::reject::Cause;

/// Most causes that are kept apart; all others are counted together.
const CAUSES_MAX: usize = 1_000;
/// Most rejected identities that are remembered, so that rejects which refer to them share their
/// cause.
const REJECTED_MAX: usize = 2_000_000;
/// Most examples that are kept per cause.
const EXAMPLES: usize = 3;

/// Key by which rejects are grouped into causes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    /// Type of the problem.
    pub r#type: &'static str,
    /// The text that distinguishes it from other causes of the same type.
    pub by: String,
}

/// Index of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CauseId(u32);

/// All causes of a load.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    all: Vec<Cause>,
    by_group: HashMap<Group, CauseId>,
    rejected: HashMap<NaturalKey, (CauseId, At)>,
}

impl Causes {
    /// Returns the cause of a reject that has a fault of its own.
    pub(crate) fn own(
        &mut self,
        group: Group,
        what: &str,
        (file, line): (&str, u64),
        hint: &str,
    ) -> CauseId {
        let (group, what, hint) =
            if self.all.len() < CAUSES_MAX || self.by_group.contains_key(&group) {
                (group, what, hint)
            } else {
                (Group { r#type: "", by: String::new() }, "Other faults.", "See the rejects.")
            };
        let (next, r#type) =
            (CauseId(u32::try_from(self.all.len()).unwrap_or(u32::MAX)), group.r#type);
        let id = *self.by_group.entry(group).or_insert(next);
        if id == next {
            self.all.push(Cause {
                r#type: r#type.to_owned(),
                what: what.to_owned(),
                count: 0,
                following: 0,
                file: file.to_owned(),
                line,
                hint: hint.to_owned(),
                examples: vec![],
            });
        }
        id
    }

    /// Returns the cause for which a record with this identity was rejected, and the record's
    /// place.
    pub(crate) fn of_rejected(&self, key: NaturalKey) -> Option<(CauseId, At)> {
        self.rejected.get(&key).copied()
    }

    /// Counts rejects under a cause; `follows` says that they refer to a rejected record.
    pub(crate) fn count(&mut self, id: CauseId, count: u64, follows: bool) {
        if let Some(cause) = self.all.get_mut(usize::try_from(id.0).unwrap_or(usize::MAX)) {
            cause.count += count;
            cause.following += if follows { count } else { 0 };
        }
    }

    /// Adds a missing document to the examples of a cause.
    pub(crate) fn example(&mut self, id: CauseId, key: &str) {
        if let Some(cause) = self.all.get_mut(usize::try_from(id.0).unwrap_or(usize::MAX))
            && cause.examples.len() < EXAMPLES
            && !cause.examples.iter().any(|there| there == key)
        {
            cause.examples.push(key.to_owned());
        }
    }

    /// Remembers the identity of a rejected record.
    pub(crate) fn remember(&mut self, key: NaturalKey, id: CauseId, at: At) {
        if self.rejected.len() < REJECTED_MAX {
            self.rejected.entry(key).or_insert((id, at));
        }
    }

    /// Returns the causes, the most frequent first.
    pub(crate) fn sorted(&self) -> Vec<Cause> {
        let mut causes = self.all.clone();
        causes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.what.cmp(&b.what)));
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(causes: &mut Causes, what: &str, line: u64) -> CauseId {
        causes.own(Group { r#type: "t", by: what.into() }, what, ("f", line), "h")
    }

    #[test]
    fn causes_are_sorted_by_the_number_of_rejects() {
        let mut causes = Causes::default();
        let first = own(&mut causes, "a", 1);
        causes.count(first, 1, false);
        let second = own(&mut causes, "b", 2);
        causes.count(second, 1, false);
        causes.count(second, 2, true);
        assert_eq!(own(&mut causes, "b", 9), second);

        let sorted = causes.sorted();

        assert_eq!(sorted.iter().map(|c| c.what.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!((sorted[0].count, sorted[0].following, sorted[0].line), (3, 2, 2));
    }

    #[test]
    fn causes_over_the_limit_are_counted_together() {
        let mut causes = Causes::default();
        for number in 0..CAUSES_MAX + 5 {
            let id = own(&mut causes, &number.to_string(), 1);
            causes.count(id, 1, false);
        }

        let sorted = causes.sorted();

        assert_eq!(sorted.len(), CAUSES_MAX + 1);
        assert_eq!((sorted[0].what.as_str(), sorted[0].count), ("Other faults.", 5));
    }
}
