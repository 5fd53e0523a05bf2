//! The places of commits in the trace of a launch.

use serde_json::{Value, json};

use crate::report::moment;

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

    /// Shows a commit with its calls.
    pub(crate) fn shown(self, at: i64, calls: Value) -> Value {
        let mut shown = json!({ "sequence": self.sequence, "saved": moment(at), "calls": calls });
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
