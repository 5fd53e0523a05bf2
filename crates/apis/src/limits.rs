//! Limits of an API as files state them: one for all calls, or several, each by what it counts.

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::quota::Quota;

/// A limit of an API. Calls that are alike in everything that [`Limit::by`] names count together.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What calls are told apart by; without it, all calls of the API count together.
    #[serde(default, skip_serializing_if = "Bys::is_empty")]
    pub by: Bys,
    /// The claim of the caller's token by which calls are told apart: a name, or a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The operations that are counted, such as `GET /items/{id}`; all without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// Calls per second, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<f64>,
    /// Calls at once after a pause; one second's worth by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Calls in a minute, hour, day or month, such as `10000/day`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// What calls are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The caller's key.
    Key,
    /// The caller's address.
    Address,
    /// A claim of the caller's token.
    Claim,
    /// The operation of the API's document.
    Operation,
}

impl By {
    /// Returns its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Address => "address",
            Self::Claim => "claim",
            Self::Operation => "operation",
        }
    }
}

/// Several of them, written as a list, or one alone as a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bys(pub Vec<By>);

impl Bys {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The limits of an API, written as a list of tables, or as one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits(pub Vec<Limit>);

impl Limits {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path of a limit within its API, as it is written.
    pub(crate) fn path_of(&self, number: usize) -> String {
        if self.is_table() { "limits".to_owned() } else { format!("limits[{number}]") }
    }

    fn is_table(&self) -> bool {
        self.0.len() == 1
    }
}

impl Serialize for Bys {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(to),
            all => all.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Bys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Bys;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("key, address, claim, operation, or a list of these")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bys, E> {
                let one = serde::de::value::StrDeserializer::<E>::new(text);
                By::deserialize(one).map(|one| Bys(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, all: A) -> Result<Bys, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(all)).map(Bys)
            }
        }
        from.deserialize_any(Read)
    }
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(to),
            all => all.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Limits;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table {requests_per_second, burst, quota}, or a list of such tables")
            }

            fn visit_map<A: MapAccess<'de>>(self, one: A) -> Result<Limits, A::Error> {
                let one = Limit::deserialize(MapAccessDeserializer::new(one))?;
                Ok(Limits(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, all: A) -> Result<Limits, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(all)).map(Limits)
            }
        }
        from.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_they_are_read() {
        for text in [
            r#"{"requests_per_second":5.0,"burst":10}"#,
            r#"{"by":"address","quota":"10/day"}"#,
            r#"[{"requests_per_second":5.0},{"by":["key","operation"],"quota":"1/minute"}]"#,
            r#"[{"by":"claim","claim":"/a/b","operations":["GET /x"],"burst":1},{"quota":"1/hour"}]"#,
        ] {
            let limits: Limits = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&limits).unwrap(), text);
            let toml = toml::to_string(&toml::Table::from_iter([(
                "limits".to_owned(),
                toml::Value::try_from(&limits).unwrap(),
            )]));
            let read: toml::Table = toml::from_str(&toml.unwrap()).unwrap();
            assert_eq!(read["limits"].clone().try_into::<Limits>().unwrap(), limits);
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_is() {
        for (text, told) in [
            ("7", "a table {requests_per_second"),
            (r#"{"by": "host"}"#, "expected one of `key`, `address`, `claim`, `operation`"),
            (r#"{"by": 7}"#, "or a list of these"),
            (r#"[{"rate": 7}]"#, "unknown field `rate`"),
        ] {
            let error = serde_json::from_str::<Limits>(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
