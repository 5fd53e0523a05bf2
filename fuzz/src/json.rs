//! JSON: the reader agrees with `serde_json`, and validation is idempotent.

use homeroom_document::json::Json;
use homeroom_document::validate::validate;
use serde_json::Value;

use crate::choice::choice;
use crate::world::World;

/// Beginnings of our reader's messages for input that the other reader accepts.
const LIMITS: &[&str] = &["nested too deeply", "more values than"];

/// Two bytes choose a resource, the rest is the document.
///
/// # Panics
///
/// When the readers disagree beyond the documented differences (limits; numbers that no `f64`
/// holds; names that occur twice; a byte order mark; a trailing comma), or
/// validation does not keep its own text.
pub fn json(bytes: &[u8]) {
    let world = World::get();
    let model = world.model();
    let Some((at, text)) = choice(bytes, model.resources.len()) else { return };
    let ours = Json::read(text);
    let strict = without_last_commas(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let theirs = serde_json::from_slice::<Value>(&strict);
    let ours = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert!(is_same(&ours, &theirs), "read as {ours:?} and as {theirs:?}");
            ours
        }
        (Ok(ours), Err(error)) => {
            let error = error.to_string();
            assert!(error.starts_with("number out of range"), "refused by the other: {error}");
            ours
        }
        (Err(error), Ok(_)) => {
            let is_limit = LIMITS.iter().any(|limit| error.message.starts_with(limit));
            assert!(is_limit, "taken by the other: {error}");
            return;
        }
        (Err(_), Err(_)) => return,
    };
    let (catalog, resource) = (&world.data.catalog, &model.resources[at]);
    let Ok(first) = validate(catalog, resource, &ours) else { return };
    let again = Json::read(first.body.as_bytes()).expect("canonical text is JSON");
    let second = validate(catalog, resource, &again).expect("canonical text is valid");
    assert_eq!(second.body, first.body, "canonical text stays as it is");
    assert_eq!(second.key, first.key, "the identity stays as it is");
    assert_eq!(second.alias, first.alias, "the identity under the base stays as it is");
    assert_eq!(second.references, first.references, "references stay as they are");
    assert_eq!(second.descriptors, first.descriptors, "descriptors stay as they are");
}

/// The text without the one comma that may stand after an object's or array's last value.
fn without_last_commas(text: &[u8]) -> Vec<u8> {
    let (mut out, mut before, mut in_string, mut is_escaped) = (vec![], b'[', false, false);
    for (at, &byte) in text.iter().enumerate() {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
        } else if byte == b',' && !b"[{,:".contains(&before) {
            let next = text[at + 1..].iter().find(|byte| !b" \t\r\n".contains(byte));
            if matches!(next, Some(b']' | b'}')) {
                continue;
            }
        } else {
            in_string = byte == b'"';
        }
        if in_string || !b" \t\r\n".contains(&byte) {
            before = byte;
        }
        out.push(byte);
    }
    out
}

fn is_same(ours: &Json<'_>, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Boolean(ours), Value::Bool(theirs)) => ours == theirs,
        (Json::Number(ours), Value::Number(theirs)) => serde_json::from_str::<Value>(ours)
            .is_ok_and(|ours| ours == Value::from(theirs.clone())),
        (Json::Text(ours), Value::String(theirs)) => ours == theirs,
        (Json::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| is_same(a, b))
        }
        (Json::Object(ours), Value::Object(theirs)) => {
            // If a name appears twice, the other reader keeps the last value.
            let last = |name: &str| ours.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v);
            ours.iter().all(|(name, _)| theirs.contains_key(name.as_ref()))
                && theirs.iter().all(|(name, b)| last(name).is_some_and(|a| is_same(a, b)))
        }
        _ => false,
    }
}
