//! Texts with placeholders: parsed once, filled in for every request.
#![expect(clippy::disallowed_methods, reason = "a template may ask for the present moment")]

mod escape;

use std::io::Write as _;
use std::time::SystemTime;

use self::escape::Escape;
use super::calendar;

/// A text with placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Box<[Piece]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    Variable(u16, Escape),
    Serial,
    SerialDate,
    Client,
    Random(i64, i64),
    Uuid,
    Now,
}

/// The place in which a text is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// A path and query.
    Path,
    /// Header lines.
    Header,
    /// A JSON body, or a value that goes into one: within quotes, values become JSON strings.
    Json,
    /// Any other text.
    Plain,
}

/// The meaning of a name in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// A value that is constant for the whole run.
    Fixed(&'a str),
    /// A client's variable, by number.
    Variable(u16),
}

/// A modelled client's value of a variable.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    /// The value.
    pub text: String,
    /// Whether the variable has a value.
    pub is_set: bool,
}

/// The values that are available when a text is filled in.
#[derive(Debug)]
pub struct Values<'a> {
    /// The client's variables, by number; those beyond the end have no value.
    pub slots: &'a [Slot],
    /// The request's number.
    pub serial: u64,
    /// The client's number in the run.
    pub client: u32,
    /// The source of random values.
    pub random: &'a mut fastrand::Rng,
}

impl Template {
    /// Parses a text; `meaning` resolves the names that are not built in.
    ///
    /// # Errors
    ///
    /// Names the placeholder that cannot be parsed, or the unknown name.
    pub fn parse<'a>(
        text: &str,
        place: Context,
        meaning: impl Fn(&str) -> Option<Meaning<'a>>,
    ) -> Result<Self, String> {
        let mut reading =
            TemplateText { place, parts: vec![], text: String::new(), in_quotes: false };
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            // In `$${` the first `$` escapes the second.
            if rest[..at].ends_with('$') {
                reading.literal(&rest[..at - 1]);
                reading.literal("${");
                rest = &rest[at + 2..];
                continue;
            }
            reading.literal(&rest[..at]);
            let inside = &rest[at + 2..];
            let end = inside.find('}').ok_or_else(|| {
                let shown: String = rest[at..].chars().take(24).collect();
                format!("`{shown}` has no `}}`; write `$${{` for the two characters `${{`")
            })?;
            reading.name(&inside[..end], &meaning)?;
            rest = &inside[end + 1..];
        }
        reading.literal(rest);
        reading.flush();
        Ok(Self { parts: reading.parts.into() })
    }

    /// Returns the numbers of the variables that it needs.
    pub fn variables(&self) -> impl Iterator<Item = u16> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Piece::Variable(slot, _) => Some(*slot),
            _ => None,
        })
    }

    /// Returns whether it begins like a path: with a slash, or with a value that is a whole path.
    pub fn is_path(&self) -> bool {
        match self.parts.first() {
            Some(Piece::Text(text)) => text.starts_with('/'),
            Some(Piece::Variable(..)) => true,
            _ => false,
        }
    }

    /// Returns whether it begins with a value that is a whole path.
    pub fn is_whole_path(&self) -> bool {
        matches!(self.parts.first(), Some(Piece::Variable(_, Escape::WholePath)))
    }

    /// Returns whether it contains the serial number.
    pub fn has_serial(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Piece::Serial | Piece::SerialDate))
    }

    /// Returns the literal parts.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Piece::Text(text) => Some(&**text),
            _ => None,
        })
    }

    /// Appends the text with its values. Returns false if a variable had no value and was left out.
    pub fn fill(&self, out: &mut Vec<u8>, values: &mut Values<'_>) -> bool {
        let mut whole = true;
        for part in &self.parts {
            match part {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Variable(slot, escape) => match values.slots.get(usize::from(*slot)) {
                    Some(slot) if slot.is_set => escape.write(out, &slot.text),
                    _ => whole = false,
                },
                Piece::Serial => write_number(out, values.serial),
                Piece::SerialDate => calendar::write_date(out, values.serial),
                Piece::Client => write_number(out, u64::from(values.client)),
                Piece::Random(from, to) => _ = write!(out, "{}", values.random.i64(*from..=*to)),
                Piece::Uuid => write_uuid(out, values.random.u128(..)),
                Piece::Now => calendar::write_moment(out, SystemTime::now()),
            }
        }
        whole
    }
}

/// A text during parsing.
struct TemplateText {
    place: Context,
    parts: Vec<Piece>,
    text: String,
    in_quotes: bool,
}

impl TemplateText {
    fn literal(&mut self, text: &str) {
        if self.place == Context::Json {
            let mut escaped = false;
            for byte in text.bytes() {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if self.in_quotes => escaped = true,
                    b'"' => self.in_quotes = !self.in_quotes,
                    _ => {}
                }
            }
        }
        self.text.push_str(text);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(Piece::Text(std::mem::take(&mut self.text).into()));
        }
    }

    fn name<'a>(
        &mut self,
        name: &str,
        meaning: &impl Fn(&str) -> Option<Meaning<'a>>,
    ) -> Result<(), String> {
        let part = match name {
            "serial" => Piece::Serial,
            "serial:date" => Piece::SerialDate,
            "client" => Piece::Client,
            "uuid" => Piece::Uuid,
            "now" => Piece::Now,
            _ => match (name.strip_prefix("random:"), meaning(name)) {
                (Some(range), _) => random(range)?,
                (None, Some(Meaning::Fixed(text))) => {
                    self.literal(text);
                    return Ok(());
                }
                (None, Some(Meaning::Variable(slot))) => Piece::Variable(slot, self.escape()),
                (None, None) => return Err(format!("unknown variable `{name}`")),
            },
        };
        self.flush();
        self.parts.push(part);
        Ok(())
    }

    fn escape(&self) -> Escape {
        match self.place {
            Context::Path if self.parts.is_empty() && self.text.is_empty() => Escape::WholePath,
            Context::Path => Escape::Path,
            Context::Header => Escape::Header,
            Context::Json if self.in_quotes => Escape::Json,
            Context::Json | Context::Plain => Escape::Plain,
        }
    }
}

fn random(range: &str) -> Result<Piece, String> {
    let read = || {
        let (from, to) = range.split_once("..")?;
        Some((from.trim().parse::<i64>().ok()?, to.trim().parse::<i64>().ok()?))
    };
    match read() {
        Some((from, to)) if from <= to => Ok(Piece::Random(from, to)),
        _ => Err(format!("`${{random:{range}}}` is not a range; write `${{random:1..100}}`")),
    }
}

fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a random UUID: version 4, RFC 9562 §5.4.
fn write_uuid(out: &mut Vec<u8>, random: u128) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bits = random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    for (at, byte) in bits.to_be_bytes().into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(name: &str) -> Option<Meaning<'static>> {
        match name {
            "base" => Some(Meaning::Fixed("/data/v3?a=b")),
            "id" => Some(Meaning::Variable(0)),
            "other" => Some(Meaning::Variable(1)),
            _ => None,
        }
    }

    fn filled(text: &str, place: Context, id: &str) -> String {
        let template = Template::parse(text, place, meaning).unwrap();
        let slots = [Slot { text: id.into(), is_set: true }];
        let mut random = fastrand::Rng::with_seed(7);
        let mut values = Values { slots: &slots, serial: 59, client: 3, random: &mut random };
        let mut out = vec![];
        assert!(template.fill(&mut out, &mut values));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_in_a_template_are_replaced_by_values() {
        for (text, shown) in [
            ("", ""),
            ("plain $ text {}", "plain $ text {}"),
            ("${base}/x", "/data/v3?a=b/x"),
            ("a${id}b${id}", "a12b12"),
            ("${serial}-${client}", "59-3"),
            ("${serial:date}", "1900-03-01"),
            ("${random:5..5}", "5"),
            ("$${id}", "${id}"),
            ("$$${id}", "$${id}"),
            ("$${${id}", "${12"),
        ] {
            assert_eq!(filled(text, Context::Plain, "12"), shown, "{text}");
        }
    }

    #[test]
    fn an_invalid_template_is_reported() {
        for (text, told) in [
            ("${scool}", "unknown variable `scool`"),
            ("a ${id", "`${id` has no `}`"),
            ("${random:9..1}", "not a range"),
            ("${random:x}", "not a range"),
            ("${}", "unknown variable ``"),
        ] {
            let error = Template::parse(text, Context::Plain, meaning).unwrap_err();

            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_value_in_a_path_is_escaped() {
        let odd = "a b/c?d=e&f\r\nX: y%20é";

        let shown = filled("/x/${id}?q=${id}", Context::Path, odd);

        let value = "a%20b/c%3Fd%3De%26f%0D%0AX%3A%20y%2520%C3%A9";
        assert_eq!(shown, format!("/x/{value}?q={value}"));
    }

    #[test]
    fn a_value_used_as_the_path_keeps_its_query_and_loses_its_origin() {
        for (value, shown) in [
            ("/a?offset=2&limit=5", "/a?offset=2&limit=5"),
            ("https://host:8443/a?b=c", "/a?b=c"),
            ("http://host", "/"),
            ("a b\r\n#", "/a%20b%0D%0A%23"),
        ] {
            assert_eq!(filled("${id}", Context::Path, value), shown, "{value}");
        }
    }

    #[test]
    fn a_value_in_a_header_cannot_end_its_line() {
        assert_eq!(filled("x: ${id}\r\n", Context::Header, "a\r\nb: c"), "x: a  b: c\r\n");
    }

    #[test]
    fn a_value_within_json_quotes_is_escaped_as_a_string() {
        let text = r#"{"a\"${id}": "${id}", "b": ${id}}"#;

        let shown = filled(text, Context::Json, "\"\\\n");

        let string = r#"\"\\\u000a"#;
        assert_eq!(shown, format!("{{\"a\\\"{string}\": \"{string}\", \"b\": \"\\\n}}"));
    }

    #[test]
    fn a_uuid_is_random_and_of_version_4() {
        let first = filled("${uuid}${uuid}", Context::Plain, "");

        let (one, other) = first.split_at(36);
        for uuid in [one, other] {
            let parts: Vec<&str> = uuid.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
            assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']));
        }
        assert_ne!(one, other);
    }

    #[test]
    fn a_template_with_a_missing_value_is_not_filled() {
        let template = Template::parse("${id}${other}", Context::Plain, meaning).unwrap();
        let slots = [Slot { text: "old".into(), is_set: false }];
        let mut random = fastrand::Rng::with_seed(7);
        let mut values = Values { slots: &slots, serial: 0, client: 0, random: &mut random };

        let whole = template.fill(&mut vec![], &mut values);

        assert!(!whole);
        assert_eq!(template.variables().collect::<Vec<_>>(), [0, 1]);
    }
}
