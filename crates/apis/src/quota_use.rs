//! The use of quotas: how many calls each caller has had in the present unit of time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use homeroom_gateway::Shards;
use homeroom_http::Timestamp;
use serde::Serialize;

use crate::definition::Plan;
use crate::index::hash;
use crate::limits::Limit;
use crate::quota::{Per, unit_of};

/// Number of callers in a shard from which those of an earlier time are forgotten.
const SWEEP_MIN: usize = 1_024;
/// Most callers in a shard; beyond it, those that have called least are forgotten.
const CALLERS_MAX: usize = 65_536;
/// Most bytes of what names a caller, or a counter; in place of what is longer stands its hash.
const NAME_BYTES_MAX: usize = 200;

/// What a counter is: that of a plan, or of one of an API's limits, in a unit of time. It is the same in every process,
/// so that a row of the store can name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CounterId {
    /// Whether the owner is an API or a plan, as rows name it.
    pub(crate) kind: &'static str,
    /// The name of the API or the plan.
    pub(crate) owner: String,
    /// Which of the owner's counters it is.
    pub(crate) counter: String,
    per: Per,
}

impl CounterId {
    /// Returns that of a plan.
    pub(crate) fn of_plan(plan: &Plan, per: Per) -> Self {
        Self { kind: "plan", owner: plan.name.clone(), counter: per.name().to_owned(), per }
    }

    /// Returns that of a limit of an API, of which `number` others before it count the same calls in the same unit of
    /// time.
    pub(crate) fn of_limit(api: &str, limit: &Limit, per: Per, number: usize) -> Self {
        let by = limit.by.0.iter().map(|by| by.name()).collect();
        let Limit { claim, operations, .. } = limit;
        let named =
            CounterName { per: per.name(), by, number, claim: claim.as_deref(), operations };
        let counter = serde_json::to_string(&named).unwrap_or_default();
        let counter = short(&counter).into_owned();
        Self { kind: "api", owner: api.to_owned(), counter, per }
    }
}

/// What names a counter of an API, as JSON. Rows have it, so what it is for a limit never changes.
#[derive(Serialize)]
struct CounterName<'a> {
    per: &'static str,
    by: Vec<&'static str>,
    #[serde(skip_serializing_if = "is_first")]
    number: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    operations: &'a [String],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(number: &usize) -> bool {
    *number == 0
}

/// The calls of each caller in the present unit of time. They are counted in memory; the store keeps those of long
/// units of time, and adds what several nodes have admitted.
#[derive(Debug)]
pub(crate) struct Counts {
    id: CounterId,
    /// Whether what the store has kept is counted here.
    is_read: AtomicBool,
    shards: Shards<Shard>,
}

/// The use of a quota by one caller.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    /// When the unit of time began.
    begun: i64,
    /// The calls since then, as far as this process knows.
    calls: u64,
    /// How many of these are still to be written; below 0 for calls that the store has and that were taken back.
    unsaved: i64,
}

#[derive(Debug, Default)]
struct Shard {
    all: HashMap<String, Used>,
    sweep_at: usize,
}

/// What one caller has used more, or less, than the store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) caller: String,
    /// When the unit of time began, and when it ends.
    pub(crate) unit: (i64, i64),
    pub(crate) calls: i64,
}

impl Shard {
    /// Makes room for another caller: forgets those of an earlier time, and beyond `most` the half that has
    /// called least, which loses least by it.
    fn make_room(&mut self, begin: i64, most: usize) {
        if self.all.len() < self.sweep_at.max(SWEEP_MIN.min(most)) {
            return;
        }
        self.all.retain(|_, used| used.begun >= begin);
        if self.all.len() >= most {
            let mut calls: Vec<u64> = self.all.values().map(|used| used.calls).collect();
            let middle = calls.len() / 2;
            let (_, middle, _) = calls.select_nth_unstable(middle);
            self.all.retain(|_, used| used.calls > *middle);
        }
        self.sweep_at = (self.all.len() * 2).min(most);
    }

    /// Returns the use of a caller, which is none for one that is new in a unit of time.
    fn of(&mut self, caller: &str, unit: (i64, i64)) -> &mut Used {
        if !self.all.contains_key(caller) {
            self.make_room(unit.0, CALLERS_MAX);
        }
        let used = self.all.entry(caller.to_owned()).or_default();
        used.begin(unit);
        used
    }
}

impl Used {
    /// Begins a unit of time, if it is a later one. Calls of the one just before come late, or the clock was set
    /// back a little: they count in the present one. From before that, the clock was wrong and is right now.
    fn begin(&mut self, (begun, ends): (i64, i64)) {
        if begun > self.begun || ends < self.begun {
            *self = Self { begun, ..Self::default() };
        }
    }

    /// Notes what the store has altogether, which may be more than what is known here, and never lowers that: rows can
    /// be lost.
    fn learn(&mut self, stored: i64) {
        self.calls = self.calls.max(u64::try_from(stored + self.unsaved).unwrap_or(0));
    }

    /// Counts a call of so many. Returns how many are left; [`None`] where none is.
    fn admit(&mut self, calls: u64) -> Option<u64> {
        let left = calls.checked_sub(self.calls)?.checked_sub(1)?;
        self.calls += 1;
        self.unsaved += 1;
        Some(left)
    }
}

impl Counts {
    pub(crate) fn new(id: CounterId) -> Self {
        Self { id, is_read: AtomicBool::new(false), shards: Shards::default() }
    }

    pub(crate) fn id(&self) -> &CounterId {
        &self.id
    }

    /// Returns whether the store keeps them. A minute is over before anything is restarted.
    pub(crate) fn is_kept(&self) -> bool {
        self.id.per != Per::Minute
    }

    /// Counts a call of a caller that has so many in a unit of time. Returns how many are left, and the seconds
    /// until all are there again.
    ///
    /// # Errors
    ///
    /// Those seconds, where none is left.
    pub(crate) fn admit(
        &self,
        calls: u64,
        caller: &str,
        now: Timestamp,
    ) -> Result<(u64, u64), u64> {
        let caller = short(caller);
        let unit = unit_of(self.id.per, now);
        let seconds = (unit.1 - now.0).max(1).unsigned_abs().div_ceil(1_000_000);
        let mut shard = self.shards.of(&caller);
        let left = match shard.all.get_mut(&*caller) {
            Some(used) => {
                used.begin(unit);
                used.admit(calls)
            }
            None => shard.of(&caller, unit).admit(calls),
        };
        left.map(|left| (left, seconds)).ok_or(seconds)
    }

    /// Takes back a call that was refused otherwise.
    pub(crate) fn give_back(&self, caller: &str) {
        let caller = short(caller);
        if let Some(used) = self.shards.of(&caller).all.get_mut(&*caller)
            && used.calls > 0
        {
            used.calls -= 1;
            used.unsaved -= 1;
        }
    }

    /// Returns the callers whose use the store does not know, of each shard in turn; those whose unit of time is over are
    /// left out.
    pub(crate) fn unsaved(&self, now: Timestamp) -> impl Iterator<Item = Vec<String>> {
        let begun = self.begun(now);
        self.shards.each().map(move |shard| {
            let unsaved =
                shard.all.iter().filter(|(_, used)| used.unsaved != 0 && used.begun >= begun);
            unsaved.map(|(caller, _)| caller.clone()).collect()
        })
    }

    /// Returns what a caller has used that is still to be written, and takes it as written from now on: whoever does
    /// not hear how writing ends does not write it a second time.
    pub(crate) fn take(&self, caller: &str) -> Option<Difference> {
        let mut shard = self.shards.of(caller);
        let used = shard.all.get_mut(caller).filter(|used| used.unsaved != 0)?;
        let calls = std::mem::take(&mut used.unsaved);
        let unit = unit_of(self.id.per, Timestamp(used.begun));
        Some(Difference { caller: caller.to_owned(), unit, calls })
    }

    /// Notes that what was taken is not written.
    pub(crate) fn put_back(&self, difference: &Difference) {
        self.with(difference, |used| used.unsaved += difference.calls);
    }

    /// Notes what the store has altogether after what was taken is written, of other nodes too.
    pub(crate) fn saved(&self, difference: &Difference, stored: i64) {
        self.with(difference, |used| used.learn(stored));
    }

    fn with(&self, difference: &Difference, note: impl FnOnce(&mut Used)) {
        let mut shard = self.shards.of(&difference.caller);
        let used = shard.all.get_mut(&difference.caller);
        if let Some(used) = used.filter(|used| used.begun == difference.unit.0) {
            note(used);
        }
    }

    /// Returns whether what the store has kept is counted here.
    pub(crate) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Acquire)
    }

    /// Notes that all that the store has kept is counted here.
    pub(crate) fn set_read(&self) {
        self.is_read.store(true, Ordering::Release);
    }

    /// Counts what the store has of a caller in a unit of time that began then; it does not matter how often.
    pub(crate) fn go_on(&self, begun: i64, caller: &str, stored: i64) {
        let mut shard = self.shards.of(caller);
        // The unit of time may have ended while the rows were read.
        if shard.all.get(caller).is_none_or(|used| used.begun <= begun) {
            let unit = unit_of(self.id.per, Timestamp(begun));
            shard.of(caller, unit).learn(stored);
        }
    }

    /// Returns when the present unit of time began.
    pub(crate) fn begun(&self, now: Timestamp) -> i64 {
        unit_of(self.id.per, now).0
    }
}

/// Returns a name as it is, or its hash where it is longer than a row's key may be, or cannot be a text in every
/// database.
fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_BYTES_MAX && !name.contains('\0') {
        return Cow::Borrowed(name);
    }
    let mut hex = String::from("#");
    for byte in hash(name) {
        _ = write!(hex, "{byte:02x}");
    }
    Cow::Owned(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp(1_795_608_000_000_000); // 2026-11-25T12:00:00Z

    fn id(per: Per) -> CounterId {
        CounterId { kind: "plan", owner: "p".into(), counter: per.name().into(), per }
    }

    /// Takes what is to be written.
    fn taken(counts: &Counts, now: Timestamp) -> Vec<Difference> {
        let callers: Vec<String> = counts.unsaved(now).flatten().collect();
        callers.iter().filter_map(|caller| counts.take(caller)).collect()
    }

    #[test]
    fn a_counter_is_named_by_what_it_counts() {
        let name = |limit: &str, number| {
            let limit: Limit = serde_json::from_str(limit).unwrap();
            CounterId::of_limit("a", &limit, Per::Month, number).counter
        };
        let long = format!(r#"{{"operations": ["GET /{}"]}}"#, "x".repeat(200));

        assert_eq!(name("{}", 0), r#"{"per":"month","by":[]}"#);
        assert_eq!(
            name(
                r#"{"by": ["key", "claim"], "claim": "a\"b", "operations": ["GET /é", "PUT /"]}"#,
                1
            ),
            r#"{"per":"month","by":["key","claim"],"number":1,"claim":"a\"b","operations":["GET /é","PUT /"]}"#
        );
        assert_eq!(name(&long, 0).len(), 65);
    }

    #[test]
    fn calls_beyond_a_quota_wait_for_the_next_unit_of_time() {
        let counts = Counts::new(id(Per::Day));
        let admit = |key, now| counts.admit(2, key, now);

        assert_eq!(admit("a", NOON), Ok((1, 43_200)));
        assert_eq!(admit("a", NOON), Ok((0, 43_200)));
        assert_eq!(admit("a", NOON), Err(43_200));
        assert_eq!(admit("b", NOON), Ok((1, 43_200)));
        counts.give_back("a");
        assert_eq!(admit("a", NOON), Ok((0, 43_200)));
        assert_eq!(admit("a", NOON.plus_seconds(43_200)), Ok((1, 86_400)));
    }

    #[test]
    fn the_store_is_told_each_call_once_and_tells_those_of_others() {
        let counts = Counts::new(id(Per::Day));
        for _ in 0..3 {
            counts.admit(10, "a", NOON).unwrap();
        }
        let first = taken(&counts, NOON);
        assert_eq!(first.iter().map(|one| one.calls).collect::<Vec<_>>(), [3]);
        assert_eq!(taken(&counts, NOON), [], "whoever wrote it does not come back to say so");

        // One call more comes while the row is written, to which another node has added four.
        counts.admit(10, "a", NOON).unwrap();
        counts.saved(&first[0], 7);

        let second = taken(&counts, NOON);
        assert_eq!(second[0].calls, 1);
        counts.put_back(&second[0]);
        assert_eq!(counts.admit(10, "a", NOON), Ok((1, 43_200)), "7 and the one, and this");
        counts.give_back("a");
        assert_eq!(taken(&counts, NOON), second, "what was not written is written later");
        counts.saved(&second[0], 8);
        counts.give_back("a");
        assert_eq!(taken(&counts, NOON.plus_seconds(43_200)), [], "the day is over");
        assert_eq!(taken(&counts, NOON)[0].calls, -1, "the store has a call too many");
    }

    #[test]
    fn a_store_that_has_lost_rows_lowers_no_count() {
        let counts = Counts::new(id(Per::Day));
        for _ in 0..4 {
            counts.admit(10, "a", NOON).unwrap();
        }
        let all = taken(&counts, NOON);
        counts.saved(&all[0], 4);
        counts.admit(10, "a", NOON).unwrap();
        let more = taken(&counts, NOON);

        counts.saved(&more[0], 1);

        assert_eq!(counts.admit(10, "a", NOON), Ok((4, 43_200)));
    }

    #[test]
    fn calls_that_come_late_count_in_the_present_unit_of_time() {
        let counts = Counts::new(id(Per::Hour));
        let late = NOON.plus_seconds(-1);
        for now in [NOON, late, NOON] {
            counts.admit(10, "a", now).unwrap();
        }
        assert_eq!(counts.admit(10, "a", late), Ok((6, 1)));
        let written = taken(&counts, late);
        assert_eq!(written[0].calls, 4);
        assert_eq!(written[0].unit.0, NOON.0);

        // A clock that was a day ahead is right again.
        counts.admit(10, "b", NOON.plus_seconds(86_400)).unwrap();
        assert_eq!(counts.admit(10, "b", NOON), Ok((9, 3_600)));
    }

    #[test]
    fn what_was_kept_is_counted_once_beside_what_came_before_it_was_read() {
        let counts = Counts::new(id(Per::Hour));
        let begun = counts.begun(NOON);
        counts.admit(10, "a", NOON).unwrap();
        counts.admit(10, "c", NOON.plus_seconds(3_600)).unwrap();

        for (caller, stored) in [("a", 4), ("b", 2), ("c", 9), ("a", 4), ("b", 2)] {
            counts.go_on(begun, caller, stored);
        }

        assert_eq!(counts.admit(10, "a", NOON), Ok((4, 3_600)));
        assert_eq!(counts.admit(10, "b", NOON), Ok((7, 3_600)));
        assert_eq!(
            counts.admit(10, "c", NOON.plus_seconds(3_600)),
            Ok((8, 3_600)),
            "the next hour"
        );
    }

    #[test]
    fn of_too_many_callers_those_who_have_called_least_are_forgotten() {
        let mut shard = Shard::default();
        let of = |calls| Used { begun: 0, calls, unsaved: 0 };
        for number in 0..99 {
            shard.make_room(0, 100);
            shard.all.insert(number.to_string(), of(if number < 20 { 5 } else { 1 }));
        }
        shard.all.insert("of yesterday".into(), Used { begun: -1, ..of(9) });

        shard.make_room(0, 100);
        let without_the_old = shard.all.len();
        shard.all.insert("new".into(), of(1));
        shard.make_room(0, 100);

        assert_eq!(without_the_old, 99);
        assert_eq!(shard.all.len(), 20, "those who have called more than once");
        for number in 0..10_000 {
            shard.make_room(0, 100);
            shard.all.insert(format!("x{number}"), of(1));
            assert!(shard.all.len() <= 100 && shard.all.contains_key("7"));
        }
    }

    #[test]
    fn a_caller_with_a_long_name_is_counted_by_its_hash() {
        let counts = Counts::new(id(Per::Day));
        let long = "x".repeat(5_000);
        for caller in [&long, "a\0b", &"y".repeat(5_000)] {
            assert_eq!(counts.admit(2, caller, NOON), Ok((1, 43_200)));
            counts.admit(2, caller, NOON).unwrap();
            counts.give_back(caller);
            assert_eq!(counts.admit(2, caller, NOON), Ok((0, 43_200)));
        }

        let names = taken(&counts, NOON);
        assert!(names.iter().all(|one| one.caller.len() == 65 && one.caller.starts_with('#')));
    }
}
