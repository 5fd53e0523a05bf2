//! The trace of a launch: what content has called, commit by commit, and what of that was saved.

use serde_json::{Map, Value, json};

use crate::report::moment;

/// Most bytes of calls of one commit.
const CALLS_BYTES_MAX: usize = 256 << 10;
/// What a trace keeps of a commit beside its calls: how many of these were left out, which elements were not saved,
/// and the values that no call tells.
const LEFT_OUT: &str = "leftOut";
const NOT_SAVED: &str = "notSaved";
const SAVED: &str = "saved";
/// Most values, and most characters of one, that are kept of a commit without calls.
const SAVED_MAX: usize = 100;
const SAVED_CHARS_MAX: usize = 250;
/// Most elements of a commit of which it is kept that they were not saved.
pub(super) const NOT_SAVED_MAX: usize = 100;

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

    /// Returns what the trace keeps, if anything. `values` are those of the commit, of which the elements in
    /// `not_saved` were not saved.
    pub(super) fn text<'v>(
        self,
        values: impl Iterator<Item = (&'v String, &'v String)>,
        not_saved: Vec<String>,
    ) -> Option<String> {
        let mut saved = Map::new();
        if self.kept.is_empty() {
            let values = values.filter(|(name, _)| !not_saved.contains(name)).take(SAVED_MAX);
            saved.extend(values.map(|(name, value)| (name.clone(), clipped(value).into())));
        }
        if self.kept.is_empty() && saved.is_empty() && not_saved.is_empty() {
            return None;
        }
        let calls = Value::Array(self.kept);
        if self.left_out == 0 && saved.is_empty() && not_saved.is_empty() {
            return Some(calls.to_string());
        }
        let mut all = json!({ "calls": calls });
        if self.left_out > 0 {
            all[LEFT_OUT] = self.left_out.into();
        }
        if !not_saved.is_empty() {
            all[NOT_SAVED] = not_saved.into();
        }
        if !saved.is_empty() {
            all[SAVED] = saved.into();
        }
        Some(all.to_string())
    }
}

/// Returns a text as the player shortens those of calls.
fn clipped(text: &str) -> String {
    let count = text.chars().count();
    if count <= SAVED_CHARS_MAX {
        return text.to_owned();
    }
    let shown: String = text.chars().take(SAVED_CHARS_MAX).collect();
    format!("{shown}… ({count})")
}

/// Returns the values that calls have set without an error.
fn set_by(calls: &Value) -> Map<String, Value> {
    let mut all = Map::new();
    for call in calls.as_array().into_iter().flatten() {
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
        let (left_out, not_saved, saved) = (part(LEFT_OUT), part(NOT_SAVED), part(SAVED));
        let calls = part("calls").unwrap_or(kept);
        let mut values = match saved {
            Some(Value::Object(values)) => values,
            _ => set_by(&calls),
        };
        for name in not_saved.iter().filter_map(Value::as_array).flatten() {
            values.remove(name.as_str().unwrap_or_default());
        }
        let mut shown = json!({
            "sequence": self.sequence, "saved": moment(at), "calls": calls, "values": values,
        });
        if let Some(left_out) = left_out {
            shown["callsLeftOut"] = left_out;
        }
        if let Some(not_saved) = not_saved {
            shown[NOT_SAVED] = not_saved;
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

    #[test]
    fn a_trace_says_what_was_saved_of_what_was_called() {
        let call = |element: &str, value: &str, result: &str, code: u32| {
            json!([1, "SetValue", element, value, result, code])
        };
        let calls = [
            call("cmi.location", "1", "true", 0),
            call("cmi.location", "2", "true", 0),
            call("cmi.score.scaled", "9", "false", 407),
            call("cmi.comments", "late", "true", 0),
            json!([1, "GetValue", "cmi.mode", "", "normal", 0]),
        ];
        let (name, long) = ("cmi.progress_measure".to_owned(), "é".repeat(300));
        let cases = [
            (&calls[..3], vec![], json!({ "cmi.location": "2" })),
            (&calls[..], vec!["cmi.comments".to_owned()], json!({ "cmi.location": "2" })),
            (&[], vec![], json!({ "cmi.progress_measure": format!("{}… (300)", "é".repeat(250)) })),
        ];
        for (calls, not_saved, values) in cases {
            let text =
                Calls::of(calls.to_vec()).text([(&name, &long)].into_iter(), not_saved.clone());

            let kept = serde_json::from_str(&text.unwrap()).unwrap();
            let shown = Traced { session: 1, sequence: 2, part: 0 }.shown(0, kept);

            assert_eq!(shown["values"], values);
            assert_eq!(shown["calls"], json!(calls));
            let told = shown["notSaved"].as_array().map_or(0, Vec::len);
            assert_eq!(told, not_saved.len());
        }
        assert_eq!(Calls::of(vec![]).text(std::iter::empty(), vec![]), None);
    }
}
