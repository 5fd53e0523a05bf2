//! Takes values from an answer, and checks it.

use std::borrow::Cow;

use super::find::{Pointer, content};
use super::template::{Context, Meaning, Template, Values};
use super::token::is_token;
use crate::engine::Answer;

/// The longest value that is taken; a longer one counts as missing.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// The position of a value in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// The header of this name.
    Header(Box<str>),
    /// The last segment of the path in `Location`.
    LocationId,
    /// A value in a JSON body.
    Json(Pointer),
    /// The whole body.
    Body,
}

impl Take {
    /// Parses `header:NAME`, `json:/POINTER` or `body`.
    ///
    /// # Errors
    ///
    /// A message that shows the accepted forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        match place(text)? {
            Self::Header(name) if name.eq_ignore_ascii_case("location") => Ok(Self::LocationId),
            take => Ok(take),
        }
    }

    /// Returns whether it reads the body.
    pub fn needs_body(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Body)
    }

    /// Finds the value in an answer.
    pub fn find<'a>(&self, answer: &Answer<'a>) -> Option<Cow<'a, str>> {
        let value = match self {
            Self::Header(name) => utf8(answer.header(name)?)?.into(),
            Self::LocationId => last_segment(utf8(answer.header("location")?)?)?,
            Self::Json(pointer) => content(pointer.find(answer.body)?),
            Self::Body => utf8(answer.body)?.into(),
        };
        (value.len() <= VALUE_BYTES_MAX).then_some(value)
    }
}

/// A condition that an answer must meet, beyond its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// The value exists.
    Has(Take),
    /// The value equals this.
    Is(Take, Template),
    /// The body contains this.
    Contains(Template),
}

impl Check {
    /// Parses `json:/POINTER`, `json:/POINTER == VALUE`, `header:NAME`, `header:NAME == VALUE` or
    /// `body contains TEXT`.
    ///
    /// # Errors
    ///
    /// A message that shows the accepted forms.
    pub fn parse<'a>(
        text: &str,
        meaning: impl Fn(&str) -> Option<Meaning<'a>>,
    ) -> Result<Self, String> {
        if let Some(text) = text.strip_prefix("body contains ") {
            return Ok(Self::Contains(Template::parse(text, Context::Plain, meaning)?));
        }
        let (of, value) = match text.split_once("==") {
            Some((of, value)) => (of.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let take = match place(of) {
            Ok(Take::Body) | Err(_) => {
                return Err(format!(
                    "`{text}` is not a check; write `json:/POINTER`, `json:/POINTER == VALUE`, \
                     `header:NAME`, `header:NAME == VALUE` or `body contains TEXT`"
                ));
            }
            Ok(take) => take,
        };
        let Some(value) = value else { return Ok(Self::Has(take)) };
        // A JSON string is compared by its content.
        let value = serde_json::from_str::<String>(value).unwrap_or_else(|_| value.into());
        Ok(Self::Is(take, Template::parse(&value, Context::Plain, meaning)?))
    }

    /// Returns whether it reads the body.
    pub fn needs_body(&self) -> bool {
        match self {
            Self::Has(take) | Self::Is(take, _) => take.needs_body(),
            Self::Contains(_) => true,
        }
    }

    /// Returns whether an answer meets the condition. It never does if the client lacks a value of
    /// the text.
    pub fn holds(&self, answer: &Answer<'_>, values: &mut Values<'_>, room: &mut Vec<u8>) -> bool {
        room.clear();
        match self {
            Self::Has(take) => take.find(answer).is_some(),
            Self::Is(take, template) => {
                template.fill(room, values)
                    && take.find(answer).is_some_and(|found| is_same(&found, room))
            }
            Self::Contains(template) => template.fill(room, values) && contains(answer.body, room),
        }
    }
}

fn place(text: &str) -> Result<Take, String> {
    match text.split_once(':') {
        None if text == "body" => Ok(Take::Body),
        Some(("header", name)) if is_token(name) => Ok(Take::Header(name.into())),
        Some(("json", pointer)) => Ok(Take::Json(Pointer::parse(pointer)?)),
        _ => Err(format!(
            "`{text}` is not a source of a value; write `header:NAME`, \
            `json:/POINTER` or `body`"
        )),
    }
}

/// Returns whether the texts are equal, or equal as JSON values: `1.0` is `1e0`.
fn is_same(found: &str, wanted: &[u8]) -> bool {
    if found.as_bytes() == wanted {
        return true;
    }
    let json = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
    match (json(found.as_bytes()), json(wanted)) {
        (Some(found), Some(wanted)) => match (found.as_f64(), wanted.as_f64()) {
            (Some(found), Some(wanted)) => found.total_cmp(&wanted).is_eq(),
            _ => found == wanted,
        },
        _ => false,
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

fn utf8(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Returns the last segment of a URL's path, percent-decoded since it is encoded again where it is
/// used.
fn last_segment(location: &str) -> Option<Cow<'_, str>> {
    let path = location.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let segment = path.rsplit('/').next().filter(|segment| !segment.is_empty())?;
    if !segment.contains('%') {
        return Some(segment.into());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, more @ ..] = rest {
        let decoded = match (first, more) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Header;
    use crate::outcome::Outcome;

    const HEADERS: &[Header<'static>] = &[
        Header { name: "Location", value: b"http://h/data/v3/ed-fi/schools/a%20b%/?x=y/z" },
        Header { name: "ETag", value: b"\"17\"" },
        Header { name: "X-Odd", value: b"\xff" },
    ];

    fn answer() -> Answer<'static> {
        let body = br#"{"id": "x1", "count": 1.0, "name": "Oak \"Hill\"", "ok": true}"#;
        Answer { outcome: Outcome::Status(200), headers: HEADERS, body, length: body.len() as u64 }
    }

    #[test]
    fn a_value_is_taken_from_a_header_the_body_or_within_it() {
        for (text, value) in [
            ("header:etag", Some("\"17\"")),
            ("header:location", Some("a b%")),
            ("header:x-odd", None),
            ("header:none", None),
            ("json:/id", Some("x1")),
            ("json:/none", None),
        ] {
            let take = Take::parse(text).unwrap();

            assert_eq!(take.find(&answer()).as_deref(), value, "{text}");
        }
        assert!(Take::parse("body").unwrap().find(&answer()).unwrap().starts_with('{'));
    }

    #[test]
    fn a_location_without_a_last_segment_gives_nothing() {
        for location in ["", "/", "///", "?x=/y"] {
            assert_eq!(last_segment(location), None, "{location}");
        }
        assert_eq!(last_segment("/a/%ff"), None);
    }

    #[test]
    fn an_invalid_source_of_a_value_is_refused() {
        for text in ["id", "header:", "header:a b", "json:id", "xml:/a", ""] {
            assert!(Take::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_check_passes_or_fails() {
        for (text, holds) in [
            ("json:/id", true),
            ("json:/none", false),
            ("json:/id == x1", true),
            ("json:/id == \"x1\"", true),
            ("json:/id == ${id}", true),
            ("json:/id == x2", false),
            ("json:/id == ${missing}", false),
            ("json:/count == 1", true),
            ("json:/count == 2", false),
            ("json:/name == Oak \"Hill\"", true),
            ("json:/ok == true", true),
            ("header:etag", true),
            ("header:etag == \"\\\"17\\\"\"", true),
            ("header:none", false),
            ("body contains Oak", true),
            ("body contains ${id}", true),
            ("body contains oak", false),
        ] {
            let meaning = |name: &str| match name {
                "id" => Some(Meaning::Fixed("x1")),
                _ => Some(Meaning::Variable(0)),
            };
            let check = Check::parse(text, meaning).unwrap();
            let random = &mut fastrand::Rng::with_seed(1);
            let mut values = Values { slots: &[], serial: 0, client: 0, random };

            assert_eq!(check.holds(&answer(), &mut values, &mut vec![]), holds, "{text}");
        }
    }

    #[test]
    fn an_invalid_check_is_refused() {
        for text in ["body == x", "status == 200", "json:id", "body contains", ""] {
            assert!(Check::parse(text, |_| None).is_err(), "{text}");
        }
    }
}
