//! Reads JSON without copying: numbers keep their text, and strings are borrowed where possible.
//!
//! A document's numbers must be returned exactly as they were sent (a tree of `f64` would lose
//! digits), and every violation needs its place; therefore the API reads JSON itself. The grammar
//! is that of RFC 8259, plus a trailing comma after the last member or item, as clients of Ed-Fi's
//! servers send it. Nesting is limited.

mod read;
mod text;
mod value;

pub use read::{DEPTH_MAX, JsonError, STEP_NAME_MAX, Step, VALUES_MAX};
pub(crate) use text::{after_string, after_value};
pub use text::{items, member_text, write_text};
pub use value::{Json, Members};
