//! Schemas of single values in bodies, query strings and answers.

use homeroom_model::{Model, Scalar};
use serde_json::{Map, Value, json};

/// Length of a descriptor's longest URI: namespace, `#`, code value.
const DESCRIPTOR_URI_MAX: u32 = 306;

/// Text in a body: not blank, and no control characters except line ends and tabs.
const TEXT: &str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";
/// The same text, or an empty one.
const TEXT_OR_NOTHING: &str = r"^([^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*)?$";
/// Text in a key: no white space at the beginning or end.
const KEY_TEXT: &str =
    r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";
/// A descriptor's URI: namespace, the first `#`, code value.
const DESCRIPTOR_URI: &str = r"^[^\s#\x00-\x1f\x7f-\x9f][^#\x00-\x1f\x7f-\x9f]*#[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f]$";

/// Returns the schema of a single value.
pub fn scalar(kind: Scalar) -> Map<String, Value> {
    let value = match kind {
        Scalar::Text { min: 0, max } => json!({ "type": "string", "maxLength": max }),
        Scalar::Text { min, max } => {
            json!({ "type": "string", "minLength": min, "maxLength": max })
        }
        Scalar::Integer { bits, min, max } => integer(bits, min, max),
        Scalar::Decimal { precision, scale, min, max } => {
            let widest = widest(precision, scale);
            json!({
                "type": "number",
                "format": "double",
                "minimum": number(min.map_or(-widest, |min| min.max(-widest))),
                "maximum": number(max.map_or(widest, |max| max.min(widest))),
            })
        }
        Scalar::Boolean => json!({ "type": "boolean" }),
        Scalar::Date => json!({ "type": "string", "format": "date" }),
        Scalar::DateTime => json!({ "type": "string", "format": "date-time" }),
        Scalar::Time => json!({ "type": "string", "format": "time" }),
        Scalar::Descriptor(_) => json!({ "type": "string", "maxLength": DESCRIPTOR_URI_MAX }),
    };
    match value {
        Value::Object(members) => members,
        _ => unreachable!("each arm writes an object"),
    }
}

/// Returns the schema of a single value in a body; `key` says whether it is part of an identity.
pub fn in_body(kind: Scalar, key: bool) -> Map<String, Value> {
    let mut schema = scalar(kind);
    let pattern = match kind {
        Scalar::Text { .. } if key => KEY_TEXT,
        Scalar::Text { min: 0, .. } => TEXT_OR_NOTHING,
        Scalar::Text { .. } => TEXT,
        Scalar::Descriptor(_) => DESCRIPTOR_URI,
        _ => return schema,
    };
    schema.insert("pattern".into(), pattern.into());
    schema
}

/// Returns the schema of a single value in a query string, which may be one that no document can
/// hold.
pub fn in_query(kind: Scalar) -> Map<String, Value> {
    match kind {
        Scalar::Text { .. } | Scalar::Descriptor(_) => {
            Map::from_iter([("type".into(), "string".into())])
        }
        Scalar::Integer { .. } => {
            scalar(Scalar::Integer { bits: 64, min: i64::MIN, max: i64::MAX })
        }
        Scalar::Decimal { .. } => {
            Map::from_iter([("type".into(), "number".into()), ("format".into(), "double".into())])
        }
        Scalar::Boolean | Scalar::Date | Scalar::DateTime | Scalar::Time => scalar(kind),
    }
}

/// Returns a function that gives the endpoint of a descriptor, for the description of a value.
pub fn vocabulary(model: &Model) -> impl Fn(Scalar) -> Option<String> + '_ {
    |kind| match kind {
        Scalar::Descriptor(id) => Some(model.resource(id).endpoint.clone()),
        _ => None,
    }
}

/// Returns the schema of an integer, without bounds that its format implies.
fn integer(bits: u8, min: i64, max: i64) -> Value {
    let mut schema = json!({ "type": "integer", "format": format!("int{bits}") });
    let (least, greatest) = match bits {
        32 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    if min > least {
        schema["minimum"] = min.into();
    }
    if max < greatest {
        schema["maximum"] = max.into();
    }
    schema
}

/// Returns the greatest number with the given digits: 9999999.99 for `(9, 2)`.
fn widest(precision: u8, scale: u8) -> f64 {
    let whole = usize::from(precision.saturating_sub(scale));
    let text = format!("{:9<whole$}.{:9<scale$}", "", "", scale = usize::from(scale));
    format!("0{text}0").parse().unwrap_or(f64::MAX)
}

/// Returns a number as JSON, as an integer if it is whole.
#[expect(clippy::cast_possible_truncation, reason = "only whole numbers of at most 53 bits")]
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_states_only_bounds_that_its_format_does_not_imply() {
        let (least, greatest) = (i32::MIN.into(), i32::MAX.into());
        for (bits, min, max, expected) in [
            (32, least, greatest, json!({ "type": "integer", "format": "int32" })),
            (64, i64::MIN, i64::MAX, json!({ "type": "integer", "format": "int64" })),
            (32, 0, greatest, json!({ "type": "integer", "format": "int32", "minimum": 0 })),
            (64, i64::MIN, 9, json!({ "type": "integer", "format": "int64", "maximum": 9 })),
            (
                64,
                least,
                greatest,
                json!({
                    "type": "integer", "format": "int64", "minimum": least, "maximum": greatest,
                }),
            ),
        ] {
            assert_eq!(integer(bits, min, max), expected);
        }
    }

    #[test]
    fn a_decimal_is_bounded_by_its_digits() {
        for (precision, scale, expected) in
            [(9, 2, "9999999.99"), (3, 0, "999"), (2, 2, "0.99"), (6, 3, "999.999")]
        {
            assert_eq!(number(widest(precision, scale)).to_string(), expected);
        }
    }
}
