//! Groups rejects by their cause.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use homeroom_store::NaturalKey;

use crate::checkpoint::ReportState;
use crate::place::At;
use crate::reject::{Cause, DUPLICATE, Lacking, Missing};

/// Most causes that are kept apart; all others are counted together.
const CAUSES_MAX: usize = 1_000;
/// Most rejected identities that are remembered, so that rejects which refer to them share their
/// cause.
const REJECTED_MAX: usize = 2_000_000;
/// Most examples that are kept per cause.
const EXAMPLES: usize = 3;

/// The most missing documents that are counted for one cause. When another comes, the rarest is dropped; one
/// that more than a hundredth of the records lack is always among them.
const LACKING_MAX: usize = 100;
/// Most of them that are told.
const LACKING_TOLD: usize = 5;

/// Key by which rejects are grouped into causes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    /// Type of the problem.
    pub r#type: Cow<'static, str>,
    /// The text that distinguishes it from other causes of the same type.
    pub by: String,
}

/// Index of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CauseId(u32);

/// Why records are rejected, and where the first of them is.
#[derive(Debug)]
pub(crate) struct Reason<'r> {
    /// Its group.
    pub group: Group,
    /// The resource of the records, `ed-fi/students`, if it is known.
    pub resource: Option<String>,
    /// What is wrong, in a sentence.
    pub what: &'r str,
    /// How to correct it.
    pub hint: &'r str,
    /// File and line of the first record.
    pub place: (&'r str, u64),
    /// The cause from which this one follows.
    pub root: Option<CauseId>,
}

/// All causes of a load.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    /// Each cause, with the one from which it follows.
    all: Vec<(Cause, Option<CauseId>)>,
    by_group: HashMap<(Group, Option<CauseId>), CauseId>,
    lacking: HashMap<CauseId, Vec<Lacking>>,
    rejected: HashMap<NaturalKey, (CauseId, At)>,
}

impl Causes {
    /// Returns the cause for a reason.
    pub(crate) fn of(&mut self, reason: Reason<'_>) -> CauseId {
        let Reason { group, resource, what, hint, place: (file, line), root } = reason;
        let mut group = (group, root);
        let is_other = self.all.len() >= CAUSES_MAX && !self.by_group.contains_key(&group);
        let other;
        let (mut what, mut hint) = (what, hint);
        if is_other {
            let by = resource.clone().unwrap_or_default();
            group = (Group { r#type: "".into(), by }, None);
            other = match &resource {
                Some(resource) => format!("{resource}: other faults."),
                None => "Other faults.".to_owned(),
            };
            (what, hint) = (other.as_str(), "See the rejects.");
        }
        let next = CauseId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        let (r#type, root) = (group.0.r#type.clone(), group.1);
        let id = *self.by_group.entry(group).or_insert(next);
        if id == next {
            let cause = Cause {
                r#type: r#type.into_owned(),
                what: what.to_owned(),
                resource,
                count: 0,
                following: 0,
                releases: 0,
                follows: root.is_some(),
                file: file.to_owned(),
                line,
                hint: hint.to_owned(),
                examples: vec![],
                lacking: vec![],
            };
            self.all.push((cause, root));
        }
        id
    }

    /// Returns the cause for which a record with this identity was rejected, or from which that
    /// follows, and the record's place.
    pub(crate) fn of_rejected(&self, key: NaturalKey) -> Option<(CauseId, At)> {
        self.rejected.get(&key).copied()
    }

    /// Counts rejects under a cause.
    pub(crate) fn count(&mut self, id: CauseId, count: u64) {
        let Some((cause, root)) = self.get(id) else { return };
        cause.count += count;
        let root = *root;
        if let Some((root, _)) = root.and_then(|root| self.get(root)) {
            root.following += count;
        }
    }

    /// Counts the documents that a record of a cause lacks.
    pub(crate) fn lack<'m>(&mut self, id: CauseId, missing: impl Iterator<Item = &'m Missing>) {
        let missing: Vec<&Missing> = missing.collect();
        let is_only = u64::from(missing.len() == 1);
        let all = self.lacking.entry(id).or_default();
        for Missing { resource, key, .. } in missing {
            let same = |there: &Lacking| there.key == *key && there.resource == *resource;
            if let Some(there) = all.iter_mut().find(|there| same(there)) {
                there.count += 1;
                there.releases += is_only;
                continue;
            }
            let mut uncounted = 0;
            if all.len() == LACKING_MAX
                && let Some(rarest) = (0..all.len()).min_by_key(|at| at_most(&all[*at]))
            {
                uncounted = at_most(&all.swap_remove(rarest));
            }
            let (resource, key) = (resource.clone(), key.clone());
            all.push(Lacking { resource, key, count: 1, releases: is_only, uncounted });
        }
    }

    /// Adds a missing document to the examples of a cause.
    pub(crate) fn example(&mut self, id: CauseId, key: &str) {
        if let Some((cause, _)) = self.get(id)
            && cause.examples.len() < EXAMPLES
            && !cause.examples.iter().any(|there| there == key)
        {
            cause.examples.push(key.to_owned());
        }
    }

    /// Remembers the identity of a rejected record.
    pub(crate) fn remember(&mut self, key: NaturalKey, id: CauseId, at: At) {
        let root = self.get(id).and_then(|(_, root)| *root).unwrap_or(id);
        if self.rejected.len() < REJECTED_MAX {
            self.rejected.entry(key).or_insert((root, at));
        }
    }

    /// Restores the causes of an interrupted load.
    pub(crate) fn restore(state: &ReportState) -> Self {
        let all = state.causes.iter().map(|(cause, root)| (cause.clone(), root.map(CauseId)));
        let by_group = state.groups.iter().map(|(r#type, by, root, id)| {
            let group = Group { r#type: Cow::Owned(r#type.clone()), by: by.clone() };
            ((group, root.map(CauseId)), CauseId(*id))
        });
        let mut lacking: HashMap<CauseId, Vec<Lacking>> = HashMap::new();
        for (id, one) in &state.lacking {
            lacking.entry(CauseId(*id)).or_default().push(one.clone());
        }
        Self { all: all.collect(), by_group: by_group.collect(), lacking, rejected: HashMap::new() }
    }

    /// Adds the causes to the state of a report; the rejected identities are kept elsewhere.
    pub(crate) fn keep(&self, state: &mut ReportState) {
        let number = |id: &Option<CauseId>| id.map(|id| id.0);
        state.causes = self.all.iter().map(|(cause, root)| (cause.clone(), number(root))).collect();
        let groups = self.by_group.iter().map(|((group, root), id)| {
            (group.r#type.clone().into_owned(), group.by.clone(), number(root), id.0)
        });
        state.groups = groups.collect();
        let lacking = self.lacking.iter();
        state.lacking =
            lacking.flat_map(|(id, all)| all.iter().map(|one| (id.0, one.clone()))).collect();
    }

    /// Returns the causes, those that bring about the most rejects first, and each before those
    /// that follow from it.
    pub(crate) fn sorted(&self) -> Vec<Cause> {
        let mut causes: Vec<_> = self.all.iter().zip(0..).collect();
        causes.sort_by_cached_key(|((cause, root), at)| {
            let id = root.unwrap_or(CauseId(*at));
            let top = &self.all[id.index()].0;
            let all = Reverse(top.count + top.following);
            (
                top.r#type == DUPLICATE,
                all,
                top.what.clone(),
                id,
                root.is_some(),
                Reverse(cause.count),
                cause.what.clone(),
            )
        });
        causes
            .into_iter()
            .map(|((cause, _), at)| {
                let is_mended = cause.r#type != DUPLICATE;
                let mut lacking = self.lacking.get(&CauseId(at)).cloned().unwrap_or_default();
                lacking.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
                lacking.truncate(LACKING_TOLD);
                let releases = if is_mended { cause.count + cause.following } else { 0 };
                Cause { releases, lacking, ..cause.clone() }
            })
            .collect()
    }

    fn get(&mut self, id: CauseId) -> Option<&mut (Cause, Option<CauseId>)> {
        self.all.get_mut(id.index())
    }
}

/// Returns the most records that may lack a document.
fn at_most(lacking: &Lacking) -> u64 {
    lacking.count + lacking.uncounted
}

impl CauseId {
    /// Returns the cause with an index.
    pub(crate) fn of_index(index: u32) -> Self {
        Self(index)
    }

    /// Returns the index.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(causes: &mut Causes, what: &str, line: u64, root: Option<CauseId>) -> CauseId {
        let group = Group { r#type: "t".into(), by: what.into() };
        let place = ("f", line);
        causes.of(Reason { group, resource: None, what, hint: "h", place, root })
    }

    #[test]
    fn causes_are_sorted_by_the_number_of_rejects_and_each_comes_before_those_that_follow_it() {
        let mut causes = Causes::default();
        let first = cause(&mut causes, "a", 1, None);
        causes.count(first, 2);
        let second = cause(&mut causes, "b", 2, None);
        causes.count(second, 1);
        let follower = cause(&mut causes, "c", 3, Some(second));
        causes.count(follower, 2);
        assert_eq!(cause(&mut causes, "b", 9, None), second);

        let sorted = causes.sorted();

        let told = |cause: &Cause| (cause.what.clone(), cause.count, cause.following, cause.line);
        assert_eq!(
            sorted.iter().map(told).collect::<Vec<_>>(),
            [("b".into(), 1, 2, 2), ("c".into(), 2, 0, 3), ("a".into(), 2, 0, 1)]
        );
        assert!(sorted[1].follows && !sorted[0].follows);
    }

    #[test]
    fn what_follows_a_follower_has_the_same_root() {
        let mut causes = Causes::default();
        let at = At { file: 0, offset: 0, bytes: 1, line: 1 };
        let root = cause(&mut causes, "a", 1, None);
        let follower = cause(&mut causes, "b", 2, Some(root));

        causes.remember(NaturalKey([1; 16]), follower, at);

        assert_eq!(causes.of_rejected(NaturalKey([1; 16])), Some((root, at)));
    }

    #[test]
    fn the_documents_that_most_records_lack_are_told_however_late_they_come() {
        let mut causes = Causes::default();
        let id = cause(&mut causes, "a", 1, None);
        let missing = |key: &str| Missing::new("Student", key.to_owned(), "$".into());
        let mut lack = |key: &str| causes.lack(id, std::iter::once(&missing(key)));
        // Each of many first, and then one that half of the records lack.
        (0..300).for_each(|n| lack(&format!("early {n}")));
        for n in 0..300 {
            lack("often");
            lack(&format!("late {n}"));
        }

        let lacking = causes.sorted().remove(0).lacking;

        let first = &lacking[0];
        assert_eq!(first.key, "often", "{lacking:?}");
        assert!(first.count <= 300 && first.count + first.uncounted >= 300, "{first:?}");
        assert!(first.count >= 290, "{first:?}");
        assert_eq!(first.releases, first.count);
    }

    #[test]
    fn few_documents_that_records_lack_are_counted_exactly() {
        let mut causes = Causes::default();
        let id = cause(&mut causes, "a", 1, None);
        let missing = |n: usize| Missing::new("Student", n.to_string(), "$".into());
        for n in 0..LACKING_MAX {
            for _ in 0..=n {
                causes.lack(id, [missing(n), missing(0)].iter().take(1 + n % 2));
            }
        }

        let lacking = causes.sorted().remove(0).lacking;

        let told = |one: &Lacking| (one.key.clone(), one.count, one.releases, one.uncounted);
        let of_zero = (1 + (1..LACKING_MAX).step_by(2).map(|n| n + 1).sum::<usize>()) as u64;
        assert_eq!(told(&lacking[0]), ("0".into(), of_zero, 1, 0));
        assert_eq!(told(&lacking[1]), ("99".into(), 100, 0, 0));
        assert_eq!(told(&lacking[2]), ("98".into(), 99, 99, 0));
    }

    #[test]
    fn causes_over_the_limit_are_counted_together() {
        let mut causes = Causes::default();
        for number in 0..CAUSES_MAX + 5 {
            let id = cause(&mut causes, &number.to_string(), 1, None);
            causes.count(id, 1);
        }

        let sorted = causes.sorted();

        let group = Group { r#type: "t".into(), by: "more".into() };
        let resource = Some("ed-fi/students".to_owned());
        let (what, hint, place, root) = ("m", "h", ("f", 1), None);
        let of_students = causes.of(Reason { group, resource, what, hint, place, root });
        assert_eq!(causes.all[of_students.index()].0.what, "ed-fi/students: other faults.");
        assert_eq!(sorted.len(), CAUSES_MAX + 1);
        assert_eq!((sorted[0].what.as_str(), sorted[0].count), ("Other faults.", 5));
    }
}
