//! The trace of a launch: what content has called, commit by commit, and what of that was saved.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::report::moment;

/// Most bytes of calls of one commit.
const CALLS_BYTES_MAX: usize = 256 << 10;
/// Most bytes of the names and values of one commit of which it is kept that they were saved.
const SAVED_BYTES_MAX: usize = 256 << 10;
/// Most bytes of the names of one commit of which it is kept that they were not saved.
const NOT_SAVED_BYTES_MAX: usize = 64 << 10;
/// Most characters of a value and of a name that are kept.
const CHARS_MAX: usize = 250;

/// What a trace keeps of a commit beside its calls: how many of these were left out, which values were saved, which
/// were not, and how many of both are not named.
const LEFT_OUT: &str = "leftOut";
const SAVED: &str = "saved";
const SAVED_LEFT_OUT: &str = "savedLeftOut";
const NOT_SAVED: &str = "notSaved";
const NOT_SAVED_LEFT_OUT: &str = "notSavedLeftOut";

/// What came of the values of a commit, by activity.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Noted {
    saved: BTreeMap<String, BTreeMap<String, String>>,
    not_saved: BTreeMap<String, BTreeSet<String>>,
    /// The bytes of both.
    saved_bytes: usize,
    not_saved_bytes: usize,
    /// How many of both have no room here.
    saved_left_out: usize,
    not_saved_left_out: usize,
}

impl Noted {
    /// Notes a value that was saved.
    pub(super) fn saved(&mut self, activity: &str, name: &str, value: &str) {
        let (name, value) = (clipped(name), clipped(value));
        let bytes = name.len() + value.len();
        if self.saved_bytes + bytes > SAVED_BYTES_MAX {
            self.saved_left_out += 1;
            return;
        }
        self.saved_bytes += bytes;
        self.saved.entry(activity.to_owned()).or_default().insert(name, value);
    }

    /// Notes an element that was not saved.
    pub(super) fn not_saved(&mut self, activity: &str, name: &str) {
        let (activity, name) = (clipped(activity), clipped(name));
        if self.not_saved.get(&activity).is_some_and(|names| names.contains(&name)) {
            return;
        }
        if self.not_saved_bytes + name.len() > NOT_SAVED_BYTES_MAX {
            self.not_saved_left_out += 1;
            return;
        }
        self.not_saved_bytes += name.len();
        self.not_saved.entry(activity).or_default().insert(name);
    }

    /// Notes what came of the values that a commit says about an activity. What was saved and is not among them
    /// was said before, and is in the state.
    pub(super) fn settle(
        &mut self,
        activity: &str,
        said: &BTreeMap<String, String>,
        saved: &[String],
        state: &BTreeMap<String, String>,
    ) {
        for name in saved {
            if let Some(value) = said.get(name).or_else(|| state.get(name)) {
                self.saved(activity, name, value);
            }
        }
        let saved: BTreeSet<&String> = saved.iter().collect();
        for name in said.keys().filter(|name| !saved.contains(name)) {
            self.not_saved(activity, name);
        }
    }
}

/// The calls of a commit that its trace keeps: the last ones if there are too many.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    kept: Vec<Value>,
    /// How many are left out.
    pub(super) left_out: usize,
}

impl Calls {
    pub(super) fn of(calls: Vec<Value>) -> Self {
        let all = calls.len();
        let (mut bytes, mut kept) = (0, vec![]);
        for call in calls.into_iter().rev() {
            bytes += call.to_string().len() + 1;
            if bytes > CALLS_BYTES_MAX {
                break;
            }
            kept.push(call);
        }
        kept.reverse();
        Self { left_out: all - kept.len(), kept }
    }

    /// Returns what the trace keeps of a commit, if anything. Of values that were saved just as the calls have set
    /// them, the names are enough; where these are all, even the activity's.
    pub(super) fn text(self, noted: Noted) -> Option<String> {
        if self.kept.is_empty() && self.left_out == 0 && noted == Noted::default() {
            return None;
        }
        let set = set_by(&self.kept);
        let is_set = |name: &str, value: &str| set.get(name).is_some_and(|set| set == value);
        let mut saved = Map::new();
        for (activity, values) in &noted.saved {
            let kept = values.iter().map(|(name, value)| {
                let value = if is_set(name, value) { Value::Null } else { value.as_str().into() };
                (name.clone(), value)
            });
            saved.insert(activity.clone(), Value::Object(kept.collect()));
        }
        let mut only = noted.saved.iter().filter(|_| noted.saved.len() == 1);
        let as_called = only.next().filter(|(_, values)| {
            values.len() == set.len() && values.iter().all(|(name, value)| is_set(name, value))
        });
        let saved = as_called.map_or(Value::Object(saved), |(activity, _)| activity.clone().into());
        let mut all = json!({ "calls": self.kept, SAVED: saved });
        if !noted.not_saved.is_empty() {
            all[NOT_SAVED] = json!(noted.not_saved);
        }
        let counts = [
            (LEFT_OUT, self.left_out),
            (SAVED_LEFT_OUT, noted.saved_left_out),
            (NOT_SAVED_LEFT_OUT, noted.not_saved_left_out),
        ];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            all[name] = count.into();
        }
        Some(all.to_string())
    }
}

/// Returns a text as the player shortens those of calls.
fn clipped(text: &str) -> String {
    let count = text.chars().count();
    if count <= CHARS_MAX {
        return text.to_owned();
    }
    let shown: String = text.chars().take(CHARS_MAX).collect();
    format!("{shown}… ({count})")
}

/// Returns the values that calls have set without an error.
fn set_by(calls: &[Value]) -> Map<String, Value> {
    let mut all = Map::new();
    for call in calls {
        let is_set = call[1].as_str().is_some_and(|name| name.ends_with("SetValue"));
        if is_set
            && call[4] == "true"
            && let Some(element) = call[2].as_str()
        {
            all.insert(element.to_owned(), call[3].clone());
        }
    }
    all
}

/// Returns the values that were saved, by activity; nothing where an older Homeroom has not written them down.
fn values_of(saved: Option<Value>, calls: &Value) -> Option<Value> {
    let set = || set_by(calls.as_array().map_or(&[], Vec::as_slice));
    let mut saved = match saved? {
        Value::String(activity) => return Some(json!({ activity: set() })),
        saved => saved,
    };
    let set = set();
    let activities = saved.as_object_mut().into_iter().flat_map(Map::values_mut);
    for (name, value) in activities.filter_map(Value::as_object_mut).flatten() {
        if value.is_null() {
            *value = set.get(name).cloned().unwrap_or_default();
        }
    }
    Some(saved)
}

/// Where the calls of a commit are among those of its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traced {
    /// The number of the session; 0 where an older Homeroom has written it.
    pub(crate) session: u32,
    /// The number of the commit.
    pub(crate) sequence: i64,
    /// The part of the commit.
    pub(crate) part: u16,
}

impl Traced {
    /// Returns the place as one number, which grows with session, commit and part.
    pub(super) fn number(self) -> i64 {
        i64::from(self.session & 0x00ff_ffff) << 40
            | (self.sequence & 0x7fff_ffff) << 8
            | i64::from(self.part & 0xff)
    }

    /// Shows a commit with its calls, and what of them was saved.
    pub(crate) fn shown(self, at: i64, mut kept: Value) -> Value {
        let mut part = |name: &str| kept.get_mut(name).map(Value::take);
        let saved = part(SAVED);
        let others = [
            ("callsLeftOut", part(LEFT_OUT)),
            ("valuesLeftOut", part(SAVED_LEFT_OUT)),
            (NOT_SAVED, part(NOT_SAVED)),
            (NOT_SAVED_LEFT_OUT, part(NOT_SAVED_LEFT_OUT)),
        ];
        let calls = part("calls").unwrap_or(kept);
        let values = values_of(saved, &calls);
        let mut shown = json!({ "sequence": self.sequence, "saved": moment(at), "calls": calls });
        for (name, value) in [("values", values)].into_iter().chain(others) {
            if let Some(value) = value {
                shown[name] = value;
            }
        }
        if self.session > 0 {
            shown["session"] = self.session.into();
        }
        shown
    }

    /// Returns the place that a number stands for.
    pub(crate) fn of(number: i64) -> Self {
        match u32::try_from(number >> 40).unwrap_or(0) {
            0 => Self { session: 0, sequence: number, part: 0 },
            session => Self {
                session,
                sequence: number >> 8 & 0x7fff_ffff,
                part: u16::try_from(number & 0xff).unwrap_or(0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(element: &str, value: &str, result: &str) -> Value {
        json!([1, "SetValue", element, value, result, 0])
    }

    fn shown(calls: &[Value], noted: Noted) -> Value {
        let text = Calls::of(calls.to_vec()).text(noted).unwrap();
        Traced { session: 1, sequence: 2, part: 0 }.shown(0, serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_trace_says_what_was_saved_whatever_was_called() {
        let calls = [
            call("cmi.location", "1", "true"),
            call("cmi.location", "2", "true"),
            call("cmi.score.scaled", "9", "false"),
            call("cmi.score.raw", "100", "true"),
        ];
        let mut noted = Noted::default();
        noted.saved("one", "cmi.location", "2");
        noted.saved("one", "cmi.progress_measure", &"é".repeat(300));
        noted.saved("two", "cmi.location", "7");
        noted.not_saved("two", "cmi.score.raw");
        let long = format!("{}… (300)", "é".repeat(250));

        let mixed = shown(&calls, noted);

        let one = json!({ "cmi.location": "2", "cmi.progress_measure": long });
        assert_eq!(mixed["values"], json!({ "one": one, "two": { "cmi.location": "7" } }));
        assert_eq!(mixed["notSaved"], json!({ "two": ["cmi.score.raw"] }));
        assert_eq!(mixed["calls"], json!(calls));
        // Nothing was saved, although calls say so.
        assert_eq!(shown(&calls, Noted::default())["values"], json!({}));
        assert_eq!(Calls::of(vec![]).text(Noted::default()), None);
        // An older Homeroom has not written it down.
        let place = Traced { session: 0, sequence: 1, part: 0 };
        assert_eq!(place.shown(0, json!(calls))["values"], Value::Null);
    }

    #[test]
    fn values_that_calls_tell_are_kept_once() {
        let calls = [call("cmi.location", "2", "true"), call("cmi.exit", "suspend", "true")];
        let mut noted = Noted::default();
        noted.saved("one", "cmi.location", "2");
        noted.saved("one", "cmi.exit", "suspend");

        let text = Calls::of(calls.to_vec()).text(noted.clone()).unwrap();

        assert_eq!(text.matches("suspend").count(), 1, "{text}");
        let values = json!({ "one": { "cmi.location": "2", "cmi.exit": "suspend" } });
        assert_eq!(shown(&calls, noted)["values"], values);
    }

    #[test]
    fn what_has_no_room_in_a_trace_is_counted() {
        let mut noted = Noted::default();
        for at in 0..10_000 {
            noted.saved("one", &format!("cmi.interactions.{at}.description"), &"x".repeat(100));
            noted.not_saved("one", &format!("cmi.interactions.{at}.learner_response"));
        }

        let shown = shown(&[], noted);

        let named = shown["values"]["one"].as_object().unwrap().len();
        assert_eq!(named as u64 + shown["valuesLeftOut"].as_u64().unwrap(), 10_000);
        let named = shown["notSaved"]["one"].as_array().unwrap().len();
        assert_eq!(named as u64 + shown["notSavedLeftOut"].as_u64().unwrap(), 10_000);
        assert!(shown.to_string().len() < 512 << 10);
    }
}
