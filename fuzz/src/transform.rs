//! Changes of JSON bodies: what is changed was JSON and still is, and what no operation names stays.

use std::sync::LazyLock;

use homeroom_apis::{Operation, Transform};
use serde::de::IgnoredAny;

/// Deepest nesting that the other reader takes.
const DEPTH_MAX: usize = 100;

/// Operations, of which an input chooses.
const OPERATIONS: [&str; 8] = [
    r#"{"op": "rename", "path": "/aa", "to": "bb"}"#,
    r#"{"op": "add", "path": "/bb", "value": {"cc": [1]}}"#,
    r#"{"op": "drop", "path": "/cc"}"#,
    r#"{"op": "move", "path": "/dd/ee", "to": "/ff"}"#,
    r#"{"op": "rename", "path": "/gg/*/aa", "to": "hh"}"#,
    r#"{"op": "drop", "path": "/gg/*"}"#,
    r#"{"op": "add", "path": "/gg/*/hh", "value": null}"#,
    r#"{"op": "drop", "path": "/dd/*/*/ee"}"#,
];

static PARSED: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    OPERATIONS.iter().map(|text| serde_json::from_str(text).expect("it is one")).collect()
});

/// The bits of the first byte choose operations, the rest is a body.
///
/// # Panics
///
/// When what is no JSON is changed, what was changed is none, or something changes that nothing names.
pub fn transform(bytes: &[u8]) {
    let Some((&bits, body)) = bytes.split_first() else { return };
    let chosen: Vec<Operation> =
        (0..8).filter(|bit| bits & (1 << bit) != 0).map(|bit| PARSED[bit].clone()).collect();
    let transform = Transform::new(&chosen).expect("each of them can be compiled");
    let Ok(changed) = transform.apply(body) else { return };
    if nesting(body) < DEPTH_MAX {
        for text in [body, &changed] {
            let text = std::str::from_utf8(text).expect("JSON is UTF-8");
            serde_json::from_str::<IgnoredAny>(text).expect("it is JSON");
        }
    }
    let names = [&b"aa"[..], b"bb", b"cc", b"dd", b"ee", b"ff", b"gg", b"hh", b"\\"];
    let is_named = names.iter().any(|name| body.windows(name.len()).any(|word| word == *name));
    let adds = bits & 2 != 0;
    assert!(is_named || adds || *changed == *body, "something else has changed");
}

/// Returns the most brackets that could be open at a time.
fn nesting(body: &[u8]) -> usize {
    body.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
}
