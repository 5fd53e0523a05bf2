//! JSON whose objects have each member once, so that what was checked is what an upstream reads.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads a JSON text.
///
/// # Errors
///
/// What is wrong with it; a member that is there twice, too.
pub(crate) fn read(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<Unique>(text).map(|unique| unique.0)
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Read).map(Self)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut items = vec![];
        while let Some(Unique(item)) = all.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = all.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(A::Error::custom(format!("the member {name} is there twice")));
            }
            let Unique(value) = all.next_value()?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_nearest_one_to_its_text() {
        for text in
            ["99.99999999999999", "100.00000000000001", "0.1", "5e-324", "-2.2250738585072011e-308"]
        {
            let number = read(text.as_bytes()).unwrap();

            assert_eq!(number.as_f64(), text.parse().ok(), "{text}: {number}");
        }
    }

    #[test]
    fn json_is_read_unless_a_member_is_there_twice() {
        let text = r#"{"a": [1, -2, 3.5, "x", null, true, {"a": 1}], "b": "\u00e9"}"#;

        assert_eq!(read(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for (text, told) in [
            (r#"{"a": 1, "a": 2}"#, "the member a is there twice at line 1"),
            (r#"[{"b": {"c": 1, "\u0063": 2}}]"#, "the member c is there twice"),
            ("{\"a\": 1}}", "trailing characters"),
            ("", "EOF"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
