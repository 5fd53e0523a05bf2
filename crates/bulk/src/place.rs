//! Positions in files.

use serde::{Deserialize, Serialize};

/// A position between two bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Number of bytes before it.
    pub offset: u64,
    /// Line number, from 1.
    pub line: u64,
    /// Number of bytes before the start of its line.
    line_start: u64,
}

/// Why a file or a part of it cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Line number, from 1.
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: u64,
    /// What is wrong.
    pub message: String,
}

/// Position and length of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct At {
    /// Index of the file.
    pub file: u32,
    /// Offset of its first byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Number of its first line, from 1.
    pub line: u64,
}

impl Spot {
    /// The beginning of a file.
    pub(crate) const START: Self = Self { offset: 0, line: 1, line_start: 0 };

    /// Makes a position for which the start of its line is unknown.
    pub(crate) fn on_line(offset: u64, line: u64) -> Self {
        Self { offset, line, line_start: offset }
    }

    /// Returns offset, line and start of the line, to be kept.
    pub(crate) fn parts(self) -> [u64; 3] {
        [self.offset, self.line, self.line_start]
    }

    /// Makes the position that has these parts.
    pub(crate) fn of_parts([offset, line, line_start]: [u64; 3]) -> Self {
        Self { offset, line, line_start }
    }

    /// Returns the position after `bytes`.
    #[must_use]
    #[expect(clippy::naive_bytecount, reason = "the compiler makes vector code of it")]
    pub(crate) fn after(self, bytes: &[u8]) -> Self {
        let offset = self.offset + bytes.len() as u64;
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if lines == 0 {
            return Self { offset, ..self };
        }
        let tail = bytes.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
        Self { offset, line: self.line + lines, line_start: offset - tail }
    }

    /// Returns line and column in the file of what is at a line and column, each from 1, of a text
    /// that begins here.
    pub(crate) fn of(self, line: u64, column: u64) -> (u64, u64) {
        let before = if line == 1 { self.column() - 1 } else { 0 };
        (self.line + line - 1, before + column)
    }

    /// Returns the column in bytes, from 1.
    pub(crate) fn column(self) -> u64 {
        self.offset - self.line_start + 1
    }

    /// Makes an error at this position.
    pub(crate) fn malformed(self, message: impl Into<String>) -> Malformed {
        Malformed { line: self.line, column: self.column(), message: message.into() }
    }
}
