//! An OpenAPI document as it is read, and where in its text something stands.

use std::fmt;

use serde::de::{
    Deserialize as _, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::Value;

use crate::transform::scan;

/// What is wrong in a document: of which of its values, and what.
#[derive(Debug)]
pub(crate) struct Fault<'a> {
    at: Option<&'a Value>,
    message: String,
}

/// What is wrong in a document, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentError {
    /// Line and column, both from 1; the column counts characters.
    place: Option<(usize, usize)>,
    /// The JSON pointer of the value.
    pointer: String,
    message: String,
}

impl<'a> Fault<'a> {
    pub(crate) fn at(value: &'a Value, message: impl Into<String>) -> Self {
        Self { at: Some(value), message: message.into() }
    }

    /// Places a fault whose place is not known yet.
    pub(crate) fn or_at(self, value: &'a Value) -> Self {
        Self { at: self.at.or(Some(value)), ..self }
    }

    /// Puts something in front of the message.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    pub(crate) fn into_message(self) -> String {
        self.message
    }

    /// Looks up where in the text of its document the fault is.
    pub(crate) fn located(self, document: &Value, text: &str) -> DocumentError {
        let mut steps = vec![];
        let is_found = self.at.is_some_and(|at| find(document, at, &mut steps));
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let place = if is_found { place_of(text, &steps) } else { None };
        let escaped = steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
        let pointer = escaped.fold(String::new(), |all, step| format!("{all}/{step}"));
        DocumentError { place, pointer, message: self.message }
    }
}

impl From<String> for Fault<'_> {
    fn from(message: String) -> Self {
        Self { at: None, message }
    }
}

impl From<&str> for Fault<'_> {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl DocumentError {
    /// Says where it is, with the name of the document in front: `items.yaml:7:9: #/paths: …`.
    pub(crate) fn in_document(&self, name: &str) -> String {
        match self.place {
            Some((line, column)) => format!("{name}:{line}:{column}: {}", self.at_pointer()),
            None => format!("{name}: {}", self.at_pointer()),
        }
    }

    fn at_pointer(&self) -> String {
        let Self { pointer, message, .. } = self;
        if pointer.is_empty() { message.clone() } else { format!("#{pointer}: {message}") }
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.at_pointer())
    }
}

/// Reads a document in JSON or YAML.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn read(text: &str) -> Result<Value, DocumentError> {
    let text = without_mark(text);
    let error = |place, message| DocumentError { place, pointer: String::new(), message };
    if is_json(text) {
        serde_json::from_str(text).map_err(|fault| {
            let place = (fault.line(), characters(text, fault.line(), fault.column()));
            let message =
                told_without(&fault, &format!(" at line {} column {}", place.0, fault.column()));
            error(Some(place), format!("it is not JSON: {message}"))
        })
    } else {
        serde_yaml_ng::from_str(text).map_err(|fault| {
            let place = fault.location().map(|place| (place.line(), place.column()));
            let told = place.map(|(line, column)| format!(" at line {line} column {column}"));
            let message = told_without(&fault, &told.unwrap_or_default());
            error(place, format!("it is not YAML: {message}"))
        })
    }
}

/// Returns a text without the mark of its byte order.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns what is wrong without the place, which is told otherwise.
fn told_without(fault: &impl fmt::Display, place: &str) -> String {
    fault.to_string().replacen(place, "", 1)
}

/// Returns the character of a line, from 1, that ends at or contains this byte of it, from 1.
fn characters(text: &str, line: usize, byte: usize) -> usize {
    let line = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let before = line.as_bytes().get(..byte).unwrap_or(line.as_bytes());
    String::from_utf8_lossy(before).chars().count()
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Finds the way from a value to one within it, which is the same in memory and not only equal.
fn find(value: &Value, wanted: &Value, steps: &mut Vec<String>) -> bool {
    if std::ptr::eq(value, wanted) {
        return true;
    }
    let mut try_at = |step: String, value: &Value| {
        steps.push(step);
        let is_found = find(value, wanted, steps);
        if !is_found {
            steps.pop();
        }
        is_found
    };
    match value {
        Value::Object(members) => members.iter().any(|(name, own)| try_at(name.clone(), own)),
        Value::Array(items) => {
            items.iter().enumerate().any(|(number, own)| try_at(number.to_string(), own))
        }
        _ => false,
    }
}

/// Returns line and column of a value; of a member of an object, those of its name.
fn place_of(text: &str, steps: &[&str]) -> Option<(usize, usize)> {
    let text = without_mark(text);
    if !is_json(text) {
        let yaml = || serde_yaml_ng::Deserializer::from_str(text);
        let numbers = YamlLast { steps }.deserialize(yaml()).ok()?;
        let told = YamlWalk { steps, numbers: &numbers }.deserialize(yaml());
        let place = told.err()?.location()?;
        return Some((place.line(), place.column()));
    }
    let at = json_place(text.as_bytes(), steps)?;
    let before = text.get(..at)?;
    let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    Some((line, before[line_begin..].chars().count() + 1))
}

/// Returns the byte at which a value begins, or the name of a member.
fn json_place(text: &[u8], steps: &[&str]) -> Option<usize> {
    let mut begin = scan::blank(text, 0);
    let mut place = begin;
    for step in steps {
        let mut found = None;
        match text.get(begin) {
            Some(b'{') => {
                let members = scan::members(text, begin, 0, |member| {
                    let name = &text[member.name..member.name_end];
                    // Of two members of one name, the last one counts.
                    if serde_json::from_slice::<String>(name).is_ok_and(|name| name == **step) {
                        found = Some((member.name, member.value));
                    }
                });
                members.ok()?;
            }
            Some(b'[') => {
                let (number, mut next) = (step.parse::<usize>().ok()?, 0);
                let items = scan::items(text, begin, 0, |item, _| {
                    if next == number {
                        found = Some((item, item));
                    }
                    next += 1;
                });
                items.ok()?;
            }
            _ => {}
        }
        (place, begin) = found?;
    }
    Some(place)
}

/// Reads YAML, and returns for each of these steps how many members of its name there are: the last one counts.
struct YamlLast<'a> {
    steps: &'a [&'a str],
}

impl<'de> DeserializeSeed<'de> for YamlLast<'_> {
    type Value = Vec<usize>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<usize>, D::Error> {
        if self.steps.is_empty() {
            return IgnoredAny::deserialize(from).map(|_| vec![]);
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for YamlLast<'_> {
    type Value = Vec<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the steps lead through")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Vec<usize>, A::Error> {
        let (step, rest) = self.steps.split_at(1);
        let mut numbers = vec![0];
        while let Some(name) = members.next_key::<String>()? {
            if step.contains(&&*name) {
                let number = numbers[0] + 1;
                numbers = vec![number];
                numbers.extend(members.next_value_seed(YamlLast { steps: rest })?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(numbers)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<usize>, A::Error> {
        let (step, rest) = self.steps.split_at(1);
        for _ in 0..step[0].parse().unwrap_or(0) {
            items.next_element::<IgnoredAny>()?;
        }
        let mut numbers = vec![1];
        numbers.extend(items.next_element_seed(YamlLast { steps: rest })?.unwrap_or_default());
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(numbers)
    }
}

/// Reads YAML as far as the value at the end of these steps, and fails there: the error says where that is. Of several
/// members of one name, it is the one of this number.
struct YamlWalk<'a> {
    steps: &'a [&'a str],
    numbers: &'a [usize],
}

const HERE: &str = "here";

impl<'de> DeserializeSeed<'de> for YamlWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for YamlWalk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the steps lead to")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.steps.split_first() else {
            return Err(A::Error::custom(HERE));
        };
        let (mut left, numbers) =
            self.numbers.split_first().map_or((1, &[][..]), |(n, all)| (*n, all));
        loop {
            let ends_at = (rest.is_empty() && left == 1).then_some(*step);
            let Some(name) = members.next_key_seed(YamlName { ends_at })? else { break };
            let is_named = name == **step;
            if is_named && left == 1 {
                members.next_value_seed(YamlWalk { steps: rest, numbers })?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
            left -= usize::from(is_named && left > 0);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.steps.split_first() else {
            return Err(A::Error::custom(HERE));
        };
        let number = step.parse().unwrap_or(0);
        for _ in 0..number {
            items.next_element::<IgnoredAny>()?;
        }
        let numbers = self.numbers.get(1..).unwrap_or_default();
        items.next_element_seed(YamlWalk { steps: rest, numbers })?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        Err(E::custom(HERE))
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Err(E::custom(HERE))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        Err(E::custom(HERE))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        Err(E::custom(HERE))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        Err(E::custom(HERE))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Err(E::custom(HERE))
    }
}

/// The name of a member, at which reading fails if it is the last step.
struct YamlName<'a> {
    ends_at: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for YamlName<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for YamlName<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<String, E> {
        if self.ends_at == Some(name) { Err(E::custom(HERE)) } else { Ok(name.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "{\n  \"openapi\": \"3.1.0\",\n  \"é\": 1, \"paths\": {\"/a~b\": {}, \"/c\":\n    \
                        {\"list\": [1,\n  {\"x\": null}]}}}";
    const YAML: &str = "openapi: 3.1.0\nx: &one\n  deep: 1\npaths:\n  # a remark\n  /a~b: {}\n  \
                        \"/c\":\n    list:\n    - 1\n    - x: |\n        text\n    200:\n      y: *one\n";

    fn told(text: &str, pointer: &str) -> String {
        let document = read(text).unwrap();
        Fault::at(document.pointer(pointer).unwrap(), "wrong").located(&document, text).to_string()
    }

    #[test]
    fn a_fault_is_told_with_its_line_its_column_and_its_pointer() {
        for (pointer, json) in [
            ("/openapi", "line 2, column 3"),
            ("/paths", "line 3, column 11"),
            ("/paths/~1a~0b", "line 3, column 21"),
            ("/paths/~1c/list", "line 4, column 6"),
            ("/paths/~1c/list/1", "line 5, column 3"),
            ("/paths/~1c/list/1/x", "line 5, column 4"),
        ] {
            assert_eq!(told(JSON, pointer), format!("{json}: #{pointer}: wrong"));
        }
        for (pointer, yaml) in [
            ("/openapi", "line 1, column 1"),
            ("/paths/~1a~0b", "line 6, column 3"),
            ("/paths/~1c", "line 7, column 3"),
            ("/paths/~1c/list/0", "line 9, column 7"),
            ("/paths/~1c/list/1", "line 10, column 7"),
            ("/paths/~1c/list/1/x", "line 10, column 7"),
            ("/paths/~1c/200", "line 12, column 5"),
            // What an alias stands for is where its anchor is.
            ("/paths/~1c/200/y/deep", "line 3, column 3"),
        ] {
            assert_eq!(told(YAML, pointer), format!("{yaml}: #{pointer}: wrong"));
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let json = read("{\n \"a\": }").unwrap_err().in_document("a.json");
        let yaml = read("a: 1\n b: 2").unwrap_err().in_document("a.yaml");

        assert_eq!(json, "a.json:2:7: it is not JSON: expected value");
        let accents = read("\u{feff}{\"é\": }").unwrap_err().in_document("a.json");
        assert_eq!(accents, "a.json:1:7: it is not JSON: expected value");
        assert!(yaml.starts_with("a.yaml:2:"), "{yaml}");
        assert!(yaml.contains("it is not YAML: "), "{yaml}");
        assert!(!yaml.contains("at line 2"), "{yaml}");
        let fault = Fault::from("no place").located(&Value::Null, "").in_document("a");
        assert_eq!(fault, "a: no place");
    }

    #[test]
    fn of_two_members_of_one_name_the_last_one_counts() {
        let json = "{\"a\": {\"b\": 1},\n \"a\": {\"b\": 2,\n \"b\": 3}}";
        let yaml = "a:\n  b: 1\n  b: 2\na:\n- x: 3\n  b: 1\n  b: 4\nc: 1\n";

        assert_eq!(told(json, "/a"), "line 2, column 2: #/a: wrong");
        assert_eq!(told(json, "/a/b"), "line 3, column 2: #/a/b: wrong");
        assert_eq!(told(yaml, "/a"), "line 4, column 1: #/a: wrong");
        assert_eq!(told(yaml, "/a/0/b"), "line 7, column 3: #/a/0/b: wrong");
        assert_eq!(told(yaml, "/c"), "line 8, column 1: #/c: wrong");
    }
}
