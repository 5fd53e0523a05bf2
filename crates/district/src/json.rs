//! Writes JSON text straight into a string, without building a tree.

use std::fmt::{self, Display, Write as _};

/// An object being written.
pub(crate) struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

/// Writes an object at the end of `out`.
pub(crate) fn object(out: &mut String, write: impl FnOnce(&mut Object<'_>)) {
    out.push('{');
    write(&mut Object { out, empty: true });
    out.push('}');
}

impl Object<'_> {
    fn name(&mut self, name: &str) {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    /// Writes a text member.
    pub(crate) fn text(&mut self, name: &str, value: impl Display) {
        self.name(name);
        self.out.push('"');
        write!(Escaped(self.out), "{value}").expect("a string takes whatever is written");
        self.out.push('"');
    }

    /// Writes a whole number.
    pub(crate) fn number(&mut self, name: &str, value: impl Display) {
        self.name(name);
        write!(self.out, "{value}").expect("a string takes whatever is written");
    }

    /// Writes a decimal number, given in hundredths.
    pub(crate) fn hundredths(&mut self, name: &str, value: usize) {
        self.number(name, format_args!("{}.{:02}", value / 100, value % 100));
    }

    /// Writes a boolean.
    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        self.name(name);
        self.out.push_str(if value { "true" } else { "false" });
    }

    /// Writes a descriptor's URI; `kind` is the descriptor's resource name.
    pub(crate) fn descriptor(&mut self, name: &str, kind: &str, code: impl Display) {
        self.text(name, format_args!("uri://ed-fi.org/{kind}#{code}"));
    }

    /// Writes an embedded object or a reference.
    pub(crate) fn object(&mut self, name: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.name(name);
        object(self.out, write);
    }

    /// Writes a collection with one object per item; an empty collection is left out.
    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Object<'_>, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.name(name);
        self.out.push('[');
        while let Some(item) = items.next() {
            object(self.out, |o| write(o, item));
            if items.peek().is_some() {
                self.out.push(',');
            }
        }
        self.out.push(']');
    }

    /// Writes a collection with one descriptor per item.
    pub(crate) fn descriptors(&mut self, list: &str, name: &str, kind: &str, codes: &[&str]) {
        self.list(list, codes, |o, code| o.descriptor(name, kind, code));
    }
}

/// Escapes characters that JSON does not allow inside a text.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        if text.bytes().all(plain) {
            self.0.push_str(text);
            return Ok(());
        }
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                c if c < ' ' => write!(self.0, "\\u{:04x}", u32::from(c))?,
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn written_json_is_read_back_unchanged() {
        let mut out = String::new();

        object(&mut out, |o| {
            o.text("name", "a \"b\" \\ \u{1} é");
            o.number("id", 7);
            o.hundredths("credits", 50);
            o.flag("active", true);
            o.descriptor("sexDescriptor", "SexDescriptor", "Female");
            o.object("reference", |r| r.number("schoolId", 1));
            o.list("none", [0_u8; 0], |_, _| ());
            o.list("some", [1, 2], |item, n| item.number("n", n));
        });

        let read: serde_json::Value = serde_json::from_str(&out).unwrap();
        let expected = json!({
            "name": "a \"b\" \\ \u{1} é", "id": 7, "credits": 0.5, "active": true,
            "sexDescriptor": "uri://ed-fi.org/SexDescriptor#Female",
            "reference": {"schoolId": 1}, "some": [{"n": 1}, {"n": 2}]
        });
        assert_eq!(read, expected);
    }
}
