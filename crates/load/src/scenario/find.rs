//! Finds one value in a JSON text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The position of a value (RFC 6901), as unescaped segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Box<[Box<str>]>);

impl Pointer {
    /// Parses a pointer; the empty one means the whole text.
    ///
    /// # Errors
    ///
    /// If it does not begin with `/`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(Box::default()));
        }
        let rest = text.strip_prefix('/').ok_or_else(|| {
            format!("`{text}` is not a JSON pointer; write `/` before each name: /items/0/id")
        })?;
        Ok(Self(
            rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~").into()).collect(),
        ))
    }

    /// Returns the value as it is written in the JSON text.
    ///
    /// `None` if there is no such value, if it is `null`, or if the text is not JSON.
    pub fn find<'a>(&self, json: &'a [u8]) -> Option<&'a str> {
        let mut found = None;
        let mut reader = serde_json::Deserializer::from_slice(json);
        // The error may be the one that ends the search early, so only what was found counts.
        _ = Seek { path: &self.0, found: &mut found }.deserialize(&mut reader);
        found.filter(|text| *text != "null")
    }
}

/// Returns the content of a JSON string, or the text of any other value unchanged.
pub fn content(text: &str) -> Cow<'_, str> {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        None => text.into(),
        // A string without escapes needs no decoding.
        Some(inner) if !inner.contains('\\') => inner.into(),
        Some(_) => serde_json::from_str::<String>(text).map_or(text.into(), Cow::Owned),
    }
}

struct Seek<'p, 'f, 'a> {
    path: &'p [Box<str>],
    found: &'f mut Option<&'a str>,
}

impl<'a> DeserializeSeed<'a> for Seek<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, reader: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            let raw: &'a RawValue = serde::Deserialize::deserialize(reader)?;
            *self.found = Some(raw.get());
            return Ok(());
        }
        reader.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Seek<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or array on the way to the value")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(is_wanted) = map.next_key_seed(Name(&self.path[0]))? {
            if is_wanted {
                map.next_value_seed(Seek { path: &self.path[1..], found: self.found })?;
                return Err(M::Error::custom("it is found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut items: S) -> Result<(), S::Error> {
        let Some(wanted) = index(&self.path[0]) else {
            return Err(S::Error::custom("an array has no names"));
        };
        for _ in 0..wanted {
            if items.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        items.next_element_seed(Seek { path: &self.path[1..], found: self.found })?;
        Err(S::Error::custom("it is found"))
    }
}

/// Parses an array index: digits without a sign or leading zero (RFC 6901 §4).
fn index(segment: &str) -> Option<usize> {
    let is_index = segment == "0" || segment.starts_with(|first| matches!(first, '1'..='9'));
    is_index.then(|| segment.parse().ok()).flatten()
}

/// Compares the name of a member without copying it.
struct Name<'p>(&'p str);

impl<'a> DeserializeSeed<'a> for Name<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'a>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn found(json: &str, pointer: &str) -> Option<String> {
        let pointer = Pointer::parse(pointer).unwrap();
        pointer.find(json.as_bytes()).map(|text| content(text).into_owned())
    }

    #[test]
    fn a_value_is_found_by_its_pointer() {
        let json = r#" {"id": "a\"b", "n": 1.10, "deep": [{"x": 1}, {"x": {"y": true}}], "no": null,
            "a/b": 1, "m~n": 2, "": 3, "\u0069x": 4} "#;
        for (pointer, value) in [
            ("/id", Some("a\"b")),
            ("/n", Some("1.10")),
            ("/deep/1/x/y", Some("true")),
            ("/deep/0", Some(r#"{"x": 1}"#)),
            ("/a~1b", Some("1")),
            ("/m~0n", Some("2")),
            ("/", Some("3")),
            ("/ix", Some("4")),
            ("/no", None),
            ("/deep/2", None),
            ("/deep/x", None),
            ("/deep/00", None),
            ("/deep/+1", None),
            ("/id/x", None),
            ("/none", None),
        ] {
            assert_eq!(found(json, pointer).as_deref(), value, "{pointer}");
        }
    }

    #[test]
    fn nothing_is_found_in_invalid_json() {
        for json in ["", "{", r#"{"a" 1}"#, "<html>", r#"{"b": }"#] {
            assert_eq!(found(json, "/a"), None, "{json}");
        }
        assert_eq!(Pointer::parse("/a").unwrap().find(b"{\"a\": \"\xff\"}"), None);
    }

    #[test]
    fn a_pointer_begins_with_a_slash() {
        assert!(Pointer::parse("id").unwrap_err().contains("not a JSON pointer"));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-c~/\"]{0,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_streaming_search_agrees_with_a_full_parse(
            json in json(),
            path in prop::collection::vec("[a-c0-2]{0,2}|~0|~1", 0..4),
        ) {
            let pointer = path.iter().fold(String::new(), |all, part| format!("{all}/{part}"));
            let text = json.to_string();

            let found = Pointer::parse(&pointer).unwrap().find(text.as_bytes()).map(str::to_owned);

            prop_assert_eq!(found, json.pointer(&pointer).map(Value::to_string));
        }
    }
}
