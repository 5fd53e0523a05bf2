//! Reads the body of a request by a table of its members.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem};
use serde_json::{Map, Value};

use crate::refusal::{Faults, Refusal};

/// The type of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Is {
    /// A text with at most this many characters.
    Text(usize),
    /// A text of several lines, with at most this many bytes.
    Document(usize),
    /// A 32-bit number, from 1.
    Id,
    /// A boolean.
    Flag,
    /// A list of at most this many distinct whole numbers, from 1 to the second value.
    Ids(usize, i64),
    /// A secret that is checked but not stored: a text with at most this many characters.
    Dropped(usize),
}

/// A member of a request's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) is: Is,
    /// Whether it is required, and must not be empty.
    pub(crate) needed: bool,
    /// Whether it can be null in an answer although it is required in a request: an item that was
    /// created by a command has none.
    pub(crate) null_by_command: bool,
}

impl Member {
    /// Returns the member as one that an item created by a command lacks.
    pub(crate) const fn null_by_command(self) -> Member {
        Member { null_by_command: true, ..self }
    }
}

/// Creates a required member.
pub(crate) const fn needed(name: &'static str, is: Is) -> Member {
    Member { name, is, needed: true, null_by_command: false }
}

/// Creates a member that may be absent or null.
pub(crate) const fn optional(name: &'static str, is: Is) -> Member {
    Member { name, is, needed: false, null_by_command: false }
}

/// The greatest 32-bit id.
pub(crate) const ID_MAX: i64 = i32::MAX as i64;

/// Reads the body as a JSON object.
///
/// # Errors
///
/// 415 for another media type, 413 for a body that is too long, 400 for anything but a JSON object.
pub(crate) async fn read_object(call: &mut Call) -> Result<Map<String, Value>, Refusal> {
    let media = call.header("content-type").unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if media != "application/json" && !media.ends_with("+json") {
        return Err(Problem::of(Kind::UnsupportedMediaType)
            .hint("Send the header Content-Type: application/json.")
            .into());
    }
    let body = call.read_body().await?;
    let wrong = |message: String| Refusal::from(Problem::of(Kind::BadRequest).error(message));
    match serde_json::from_slice(&body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(wrong("The body is not a JSON object.".into())),
        // Serde's message can quote a part of the body.
        Err(error) => Err(wrong(format!(
            "The body is not valid JSON at line {}, column {}.",
            error.line(),
            error.column()
        ))),
    }
}

/// Returns a member by its name in any case; [`None`] where it is null.
pub(crate) fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let found = members.get(name);
    let found = found
        .or_else(|| members.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v));
    found.filter(|value| !value.is_null())
}

/// Reads the members of a table, each under its own name and null where it is absent. Other members
/// are ignored.
pub(crate) fn read(members: &Map<String, Value>, table: &[Member], faults: &mut Faults) -> Value {
    let mut read = Map::new();
    for wanted in table {
        let given = member(members, wanted.name);
        let value = match given.map(|given| read_value(given, wanted.is)) {
            None => Value::Null,
            Some(Ok(value)) => value,
            Some(Err(message)) => {
                faults.add(wanted.name, message);
                read.insert(wanted.name.into(), Value::Null);
                continue;
            }
        };
        if wanted.needed && is_empty(&value) {
            faults.add(wanted.name, format!("'{}' must not be empty.", wanted.name));
        }
        if !matches!(wanted.is, Is::Dropped(_)) {
            read.insert(wanted.name.into(), value);
        }
    }
    Value::Object(read)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn read_value(given: &Value, is: Is) -> Result<Value, String> {
    match is {
        Is::Text(most) | Is::Dropped(most) => {
            let text = given.as_str().ok_or("Must be a string.")?.trim();
            if text.chars().count() > most {
                return Err(format!("Must have at most {most} characters."));
            }
            if text.chars().any(char::is_control) {
                return Err("Must not contain control characters.".into());
            }
            Ok(text.into())
        }
        Is::Document(most) => {
            let text = given.as_str().ok_or("Must be a string.")?.trim();
            if text.len() > most {
                return Err(format!("Must have at most {most} bytes."));
            }
            if text.contains('\0') {
                return Err("Must not contain control characters.".into());
            }
            Ok(text.into())
        }
        Is::Id => {
            let id = given.as_i64().filter(|id| (1..=ID_MAX).contains(id));
            Ok(id.ok_or(format!("Must be a whole number from 1 to {ID_MAX}."))?.into())
        }
        Is::Flag => Ok(given.as_bool().ok_or("Must be true or false.")?.into()),
        Is::Ids(most, greatest) => {
            let items = given.as_array().ok_or("Must be a list of whole numbers.")?;
            if items.len() > most {
                return Err(format!("Must have at most {most} items."));
            }
            let mut ids = vec![];
            for item in items {
                let id = item.as_i64().filter(|id| (1..=greatest).contains(id));
                ids.push(id.ok_or("Must contain only whole numbers from 1.")?);
            }
            ids.sort_unstable();
            ids.dedup();
            Ok(ids.into())
        }
    }
}

/// Returns the numbers of a list that [`read`] has read.
pub(crate) fn ids(value: &Value) -> Vec<i64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TABLE: &[Member] = &[
        needed("name", Is::Text(5)),
        optional("note", Is::Text(5)),
        needed("count", Is::Id),
        optional("is", Is::Flag),
        needed("ids", Is::Ids(3, i64::MAX)),
        optional("secret", Is::Dropped(5)),
    ];

    fn read_json(body: &Value) -> (Value, bool) {
        let mut faults = Faults::default();
        let value = read(body.as_object().unwrap(), TABLE, &mut faults);
        (value, faults.or_none().is_ok())
    }

    #[test]
    fn members_are_read_in_any_case_and_secrets_are_not_kept() {
        let body = json!({
            "Name": " abc ", "COUNT": 1, "ids": [3, 1, 3], "secret": "s", "other": 1, "is": null
        });

        let (value, is_valid) = read_json(&body);

        assert!(is_valid);
        let expected = json!({"name": "abc", "note": null, "count": 1, "is": null, "ids": [1, 3]});
        assert_eq!(value, expected);
    }

    #[test]
    fn each_member_of_the_wrong_kind_is_a_violation() {
        let good = json!({"name": "a", "count": 1, "ids": [1]});
        for (name, wrong) in [
            ("name", json!("")),
            ("name", json!("  ")),
            ("name", json!("abcdef")),
            ("name", json!(5)),
            ("name", json!("a\u{7}")),
            ("note", json!("abcdef")),
            ("count", json!(0)),
            ("count", json!("1")),
            ("count", json!(1.5)),
            ("count", json!(i64::from(i32::MAX) + 1)),
            ("is", json!("true")),
            ("ids", json!([])),
            ("ids", json!([1, 2, 3, 4])),
            ("ids", json!([0])),
            ("ids", json!(["1"])),
            ("ids", json!({"a": 1})),
            ("secret", json!("abcdef")),
        ] {
            let mut body = good.clone();
            body[name] = wrong.clone();

            assert!(!read_json(&body).1, "{name}: {wrong}");
        }
        assert!(read_json(&good).1);
    }
}
