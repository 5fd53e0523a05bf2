//! The places of commits in the trace of a launch.

use serde_json::{Value, json};

use crate::report::moment;

/// Most bytes of calls of one commit.
const CALLS_BYTES_MAX: usize = 256 << 10;
/// What a trace keeps of a commit of which calls were left out.
const LEFT_OUT: &str = "leftOut";

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

    /// Returns what the trace keeps of calls, the last ones if there are too many, and how many are left out.
    pub(super) fn kept(calls: Vec<Value>) -> (Option<String>, usize) {
        if calls.is_empty() {
            return (None, 0);
        }
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
        let left_out = all - kept.len();
        let calls = Value::Array(kept);
        let text = match left_out {
            0 => calls.to_string(),
            _ => json!({ LEFT_OUT: left_out, "calls": calls }).to_string(),
        };
        (Some(text), left_out)
    }

    /// Shows a commit with its calls.
    pub(crate) fn shown(self, at: i64, mut kept: Value) -> Value {
        let left_out = kept.get_mut(LEFT_OUT).map(Value::take);
        let calls = if left_out.is_some() { kept["calls"].take() } else { kept };
        let mut shown = json!({ "sequence": self.sequence, "saved": moment(at), "calls": calls });
        if let Some(left_out) = left_out {
            shown["callsLeftOut"] = left_out;
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
