//! Writes well-formed HTML: elements are always closed, and text is always escaped.
//!
//! The output is also valid XML, so a test can read it with a parser.

use std::fmt::Write;

/// A page or a part of one, as it is written.
#[derive(Debug, Default)]
pub struct Markup {
    html: String,
}

/// Attributes as names and values; values are escaped.
pub type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Markup {
    /// Adds an element with content.
    pub fn element(&mut self, tag: &str, attributes: Attributes, inside: impl FnOnce(&mut Self)) {
        self.open(tag, attributes);
        self.html.push('>');
        inside(self);
        let _ = write!(self.html, "</{tag}>");
    }

    /// Adds an element that contains text.
    pub fn leaf(&mut self, tag: &str, attributes: Attributes, text: &str) {
        self.element(tag, attributes, |m| m.text(text));
    }

    /// Adds an empty element.
    pub fn void(&mut self, tag: &str, attributes: Attributes) {
        self.open(tag, attributes);
        self.html.push_str("/>");
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.html);
    }

    /// Adds text from outside, isolated so that it cannot change the direction of the text around
    /// it.
    pub fn outside(&mut self, text: &str) {
        self.leaf("bdi", &[], text);
    }

    /// Adds our own markup, such as the style sheet, unescaped.
    pub fn ours(&mut self, markup: &'static str) {
        self.html.push_str(markup);
    }

    /// Adds a line break to the source, for readability.
    pub fn line(&mut self) {
        self.html.push('\n');
    }

    /// Returns the finished markup.
    pub fn finish(self) -> String {
        self.html
    }

    fn open(&mut self, tag: &str, attributes: Attributes) {
        let _ = write!(self.html, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.html, " {name}=\"");
            escape(value, &mut self.html);
            self.html.push('"');
        }
    }
}

/// Escapes text for HTML; characters that XML cannot represent become the replacement character.
fn escape(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            '\n' | '\t' => to.push(character),
            '\u{fffe}' | '\u{ffff}' => to.push('\u{fffd}'),
            _ if character.is_control() => to.push('\u{fffd}'),
            _ => to.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut page = Markup::default();

        page.element("p", &[("title", "\"><script>")], |m| m.outside("</bdi>&'\u{1b}\0"));

        let html = page.finish();
        assert_eq!(
            html,
            "<p title=\"&quot;&gt;&lt;script&gt;\"><bdi>&lt;/bdi&gt;&amp;&#39;\u{fffd}\u{fffd}</bdi></p>"
        );
    }
}
