//! Reads JSON text into a tree.

use std::borrow::Cow;

use super::value::Json;

/// Deepest nesting that is accepted.
pub const DEPTH_MAX: usize = 32;
/// Most values in one text: a tree takes up to a hundred times the bytes of `{},{},…`, so a limit
/// on bytes alone is not enough.
pub const VALUES_MAX: usize = 500_000;
/// Most characters of a member's name in a [`Step`]; sent names may have any length.
pub const STEP_NAME_MAX: usize = 100;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct JsonError {
    /// Line number, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: &'static str,
    /// Path to the last value that had begun there; empty at the root.
    pub way: Vec<Step>,
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To an object's member, by its name as sent, cut after [`STEP_NAME_MAX`] characters.
    Member(String),
    /// To an array's item.
    Item(usize),
}

impl<'a> Json<'a> {
    /// Reads one value; only white space may follow.
    ///
    /// # Errors
    ///
    /// [`JsonError`] with the place of the first byte that does not fit.
    ///
    /// Source: RFC 8259.
    pub fn read(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = error.valid_up_to();
            let before = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
            let way = Self::read_text(before).err().map(|(_, reader)| reader.way());
            place(bytes, valid, "the text is not UTF-8", way.unwrap_or_default())
        })?;
        Self::read_text(text)
            .map_err(|(message, reader)| place(reader.bytes, reader.at, message, reader.way()))
    }

    fn read_text(text: &'a str) -> Result<Self, (&'static str, Reader<'a>)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, values: 0, way: vec![] };
        let value = reader.value(0).and_then(|value| {
            reader.blanks();
            if reader.at == reader.bytes.len() {
                Ok(value)
            } else {
                Err("more follows after the value")
            }
        });
        value.map_err(|message| (message, reader))
    }
}

fn place(bytes: &[u8], at: usize, message: &'static str, way: Vec<Step>) -> JsonError {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    JsonError { line, column, message, way }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Number of values that have begun.
    values: usize,
    /// Path to the place where reading failed, innermost step first; set only after a failure.
    way: Vec<Step>,
}

impl<'a> Reader<'a> {
    /// Returns the path to the place where reading failed, outermost step first.
    fn way(mut self) -> Vec<Step> {
        self.way.reverse();
        self.way
    }

    fn blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, &'static str> {
        if depth > DEPTH_MAX {
            return Err("nested too deeply");
        }
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err("more values than one document may have");
        }
        self.blanks();
        match self.bytes.get(self.at) {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Boolean(true)),
            Some(b'f') => self.word("false", Json::Boolean(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err("expected a value"),
            None => Err("the text ends before the value does"),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, &'static str> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err("expected true, false or null")
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, &'static str> {
        let mut members = vec![];
        let read = self.members(depth, &mut members);
        if read.is_err()
            && let Some((name, _)) = members.last()
        {
            self.way.push(Step::Member(name.chars().take(STEP_NAME_MAX).collect()));
        }
        read.map(|()| Json::Object(members))
    }

    /// Reads an object's members up to its end. After a failure, the last member is the one that
    /// was being read or had just been read.
    fn members(
        &mut self,
        depth: usize,
        members: &mut Vec<(Cow<'a, str>, Json<'a>)>,
    ) -> Result<(), &'static str> {
        self.at += 1;
        self.blanks();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.blanks();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err("expected a member's name in quotes");
            }
            let name = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return Err("expected a colon after the member's name");
            }
            match self.value(depth + 1) {
                Ok(value) => members.push((name, value)),
                Err(message) => {
                    members.push((name, Json::Null));
                    return Err(message);
                }
            }
            self.blanks();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err("expected a comma or the object's end");
            }
            self.blanks();
            if self.take(b'}') {
                return Ok(());
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, &'static str> {
        let mut items = vec![];
        let read = self.items(depth, &mut items);
        if read.is_err()
            && let Some(last) = items.len().checked_sub(1)
        {
            self.way.push(Step::Item(last));
        }
        read.map(|()| Json::Array(items))
    }

    /// Reads an array's items up to its end. After a failure, the last item is the one that had
    /// just been read, or the one that had begun as an object or array.
    fn items(&mut self, depth: usize, items: &mut Vec<Json<'a>>) -> Result<(), &'static str> {
        self.at += 1;
        self.blanks();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            let start = self.at;
            match self.value(depth + 1) {
                Ok(value) => items.push(value),
                Err(message) => {
                    let first = self.bytes[start..].iter().find(|byte| !byte.is_ascii_whitespace());
                    if matches!(first, Some(b'{' | b'[')) {
                        items.push(Json::Null);
                    }
                    return Err(message);
                }
            }
            self.blanks();
            if self.take(b']') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err("expected a comma or the array's end");
            }
            self.blanks();
            if self.take(b']') {
                return Ok(());
            }
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn number(&mut self) -> Result<Json<'a>, &'static str> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err("expected a digit");
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err("expected a digit after the point");
        }
        if self.take(b'e') || self.take(b'E') {
            _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err("expected a digit in the exponent");
            }
        }
        Ok(Json::Number(&self.text[start..self.at]))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.bytes.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<Cow<'a, str>, &'static str> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
                }
                Some(b'\\') => break,
                Some(0..0x20) => return Err("a control character in a string must be escaped"),
                Some(_) => self.at += 1,
                None => return Err("the text ends inside a string"),
            }
        }
        let mut out = self.text[start..self.at].to_owned();
        let mut run = self.at;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    out.push_str(&self.text[run..self.at]);
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    out.push_str(&self.text[run..self.at]);
                    out.push(self.escape()?);
                    run = self.at;
                }
                Some(0..0x20) => return Err("a control character in a string must be escaped"),
                Some(_) => self.at += 1,
                None => return Err("the text ends inside a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, &'static str> {
        let letter = self.bytes.get(self.at + 1).ok_or("the text ends inside a string")?;
        self.at += 2;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                let code = match first {
                    0xd800..0xdc00 => {
                        if !(self.take(b'\\') && self.take(b'u')) {
                            return Err("half of a surrogate pair");
                        }
                        let second = self.hex()?;
                        if !(0xdc00..0xe000).contains(&second) {
                            return Err("half of a surrogate pair");
                        }
                        0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    other => other,
                };
                char::from_u32(code).ok_or("half of a surrogate pair")?
            }
            _ => return Err("no such escape"),
        })
    }

    fn hex(&mut self) -> Result<u32, &'static str> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or("expected four hex digits")?;
        let mut code = 0;
        for digit in digits {
            let value = (*digit as char).to_digit(16).ok_or("expected four hex digits")?;
            code = code * 16 + value;
        }
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::text::{member_text, write_text};
    use super::*;

    fn to_serde(json: &Json<'_>) -> serde_json::Value {
        match json {
            Json::Null => serde_json::Value::Null,
            Json::Boolean(value) => (*value).into(),
            Json::Number(text) => serde_json::from_str(text).unwrap(),
            Json::Text(text) => text.as_ref().into(),
            Json::Array(items) => items.iter().map(to_serde).collect(),
            Json::Object(members) => {
                members.iter().map(|(n, v)| (n.to_string(), to_serde(v))).collect()
            }
        }
    }

    #[test]
    fn an_error_has_its_position() {
        for (text, line, column) in [
            ("", 1, 1),
            ("{\n \"a\": x}", 2, 7),
            ("[1,,]", 1, 4),
            ("[,]", 1, 2),
            ("{,}", 1, 2),
            ("{\"a\":1,,}", 1, 8),
            ("{\"a\":1,]", 1, 8),
            ("{} 1", 1, 4),
            ("\"a", 1, 3),
            ("01", 1, 2),
        ] {
            let error = Json::read(text.as_bytes()).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
        }
        let not_utf_8 = Json::read(b"[{\"a\":\"\xff\"}]").unwrap_err();
        assert_eq!((not_utf_8.line, not_utf_8.column), (1, 8), "{not_utf_8}");
        assert_eq!(not_utf_8.way, [Step::Item(0), Step::Member("a".into())]);
        assert!(Json::read("[".repeat(100).as_bytes()).is_err());
        let many = format!("[0{}]", ",0".repeat(VALUES_MAX - 2));
        assert!(Json::read(many.as_bytes()).is_ok());
        assert!(Json::read(many.replacen('0', "[0]", 1).as_bytes()).is_err());
        assert!(Json::read(b"\"\\ud800\"").is_err());
    }

    #[test]
    fn an_error_has_the_path_of_the_value_being_read() {
        for (text, way) in [
            ("", ""),
            ("x", ""),
            ("{} 1", ""),
            ("{", ""),
            ("{\"a", ""),
            ("{\"a\" 1}", ""),
            ("{\"a\":", "a"),
            ("{\"a\":x", "a"),
            ("{\"a\":1", "a"),
            ("{\"a\":1 \"b\":2}", "a"),
            ("{\"a\":1,b:2}", "a"),
            ("{\"a\":1,\"b\":{}", "b"),
            ("{\"a\":1,\"b\":{\"c\":tru}}", "b c"),
            ("{\"a\":[x]}", "a"),
            ("{\"a\":[", "a"),
            ("{\"a\":[1,x]}", "a 0"),
            ("{\"a\":[1,2", "a 1"),
            ("{\"a\":[{}, {\"b\":01}]}", "a 1 b"),
            ("{\"a\":[{}, [", "a 1"),
            ("[[[],[\"x\", \"y", "0 1 0"),
        ] {
            let error = Json::read(text.as_bytes()).unwrap_err();
            let steps = error.way.iter().map(|step| match step {
                Step::Member(name) => name.clone(),
                Step::Item(at) => at.to_string(),
            });
            assert_eq!(steps.collect::<Vec<_>>().join(" "), way, "{text}");
        }
        let text = format!("{{\"{}\":x}}", "é".repeat(STEP_NAME_MAX + 1));
        let error = Json::read(text.as_bytes()).unwrap_err();
        assert_eq!(error.way, [Step::Member("é".repeat(STEP_NAME_MAX))]);
    }

    #[test]
    fn a_trailing_comma_is_accepted_in_a_nonempty_list_or_object() {
        for (text, plain) in [
            ("[1,]", "[1]"),
            ("[[1 , ],\n]", "[[1]]"),
            ("{\"a\":{\"b\":[],},}", "{\"a\":{\"b\":[]}}"),
        ] {
            assert_eq!(Json::read(text.as_bytes()), Json::read(plain.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_last_non_null_member_of_a_repeated_name_wins() {
        for (text, expected) in [
            (r#"{"a":1,"A":2}"#, Some(Json::Number("2"))),
            (r#"{"A":1,"a":2,"A":null}"#, Some(Json::Number("2"))),
            (r#"{"a":null,"A":null}"#, Some(Json::Null)),
            (r#"{"ab":1}"#, None),
        ] {
            let Json::Object(members) = Json::read(text.as_bytes()).unwrap() else { panic!() };
            assert_eq!(Json::member(&members, "a"), expected.as_ref(), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[\\\\\"{}\\[\\]:,a]{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                members(inner).prop_map(serde_json::Value::Object),
            ]
        })
    }

    fn members(
        value: impl Strategy<Value = serde_json::Value>,
    ) -> impl Strategy<Value = serde_json::Map<String, serde_json::Value>> {
        proptest::collection::btree_map("[a-c]{1,2}", value, 0..5)
            .prop_map(|members| members.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_member_found_in_the_text_equals_that_of_the_parsed_tree(object in members(any_json()), name in "[a-c]{1,2}") {
            let text = serde_json::Value::Object(object.clone()).to_string();

            let found = member_text(&text, &name).map(|text| serde_json::from_str(text).unwrap());

            prop_assert_eq!(found.as_ref(), object.get(&name), "{}", text);
        }

        #[test]
        fn the_reader_agrees_with_serde_json(text in "[\\[\\]{}:,\"a-c0-9eE.+\\-\\\\ntrufalse \n]{0,40}") {
            let ours = Json::read(text.as_bytes());
            let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
            // Numbers beyond f64 are valid here but an error there.
            if let Ok(theirs) = theirs {
                prop_assert_eq!(to_serde(&ours.unwrap()), theirs);
            } else if let Ok(ours) = ours {
                let blank = |letter: char| letter.is_ascii_whitespace();
                let packed = text.replace(blank, "");
                let has_last_comma = packed.contains(",]") || packed.contains(",}");
                prop_assert!(has_last_comma || format!("{ours:?}").contains("Number"), "{}", text);
            }
        }

        #[test]
        fn a_string_survives_writing_and_reading(text in any::<String>()) {
            let mut out = String::new();
            write_text(&mut out, &text);
            prop_assert_eq!(Json::read(out.as_bytes()).unwrap(), Json::Text(text.clone().into()));
            prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }
}
