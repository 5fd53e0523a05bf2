//! Where in a text the members of a definition stand, so that what is wrong is told with its line.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::transform::scan;

/// Deepest nesting whose places are looked up.
const DEPTH_MAX: usize = 8;

/// How a definition is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Toml,
    Json,
}

/// The places of members in a text, by paths such as `apis[0].upstream[1]`.
#[derive(Debug, Default)]
pub(crate) struct Places {
    spans: BTreeMap<String, Range<usize>>,
    /// Where lines begin.
    lines: Vec<usize>,
}

impl Places {
    /// Looks up all places. A text that cannot be read has none.
    pub(crate) fn of(text: &str, form: Form) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut places = Self { spans: BTreeMap::new(), lines: ends.collect() };
        match form {
            Form::Toml => {
                if let Ok(table) = DeTable::parse(text) {
                    places.add_table("", table.get_ref(), 0);
                }
            }
            Form::Json => {
                places.add_json("", text.as_bytes(), scan::blank(text.as_bytes(), 0), 0);
            }
        }
        places
    }

    /// Returns the line, from 1, of a member, or of the nearest one around it; 0 for none.
    pub(crate) fn line(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(span) = self.spans.get(path) {
                return self.line_at(span.start);
            }
            match path.rfind(['.', '[']) {
                Some(at) => path = &path[..at],
                None => return 0,
            }
        }
    }

    /// Returns the line, from 1, of a byte.
    pub(crate) fn line_at(&self, at: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= at) + 1
    }

    /// Returns the byte at which a line begins, counted from 1.
    pub(crate) fn begin_of(&self, line: usize) -> usize {
        line.checked_sub(2).and_then(|at| self.lines.get(at).copied()).unwrap_or(0)
    }

    /// Returns the path of the innermost member around a byte; empty for none.
    pub(crate) fn path_at(&self, at: usize) -> &str {
        let around = self.spans.iter().filter(|(_, span)| span.contains(&at));
        around.min_by_key(|(_, span)| span.len()).map_or("", |(path, _)| path.as_str())
    }

    fn add(&mut self, path: &str, span: Range<usize>) {
        self.spans.insert(path.to_owned(), span);
    }

    fn add_table(&mut self, path: &str, table: &DeTable<'_>, depth: usize) {
        for (name, value) in table {
            let own = member_of(path, name.get_ref());
            if own == "documents" {
                continue;
            }
            self.add(&own, name.span().start..value.span().end.max(name.span().end));
            self.add_toml(&own, value, depth + 1);
        }
    }

    fn add_toml(&mut self, path: &str, value: &Spanned<DeValue<'_>>, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(path, table, depth),
            DeValue::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    let own = format!("{path}[{number}]");
                    self.add(&own, item.span());
                    self.add_toml(&own, item, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn add_json(&mut self, path: &str, text: &[u8], at: usize, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let mut found: Vec<(String, Range<usize>, usize)> = vec![];
        match text.get(at) {
            Some(b'{') => {
                _ = scan::members(text, at, 0, |member| {
                    let name = &text[member.name..member.name_end];
                    let Ok(name) = serde_json::from_slice::<String>(name) else { return };
                    // The commands write a definition with its documents beside it.
                    let is_wrapper = path.is_empty() && name == "definition";
                    let own = if is_wrapper { String::new() } else { member_of(path, &name) };
                    found.push((own, member.name..member.value_end, member.value));
                });
            }
            Some(b'[') => {
                let mut number = 0;
                _ = scan::items(text, at, 0, |begin, end| {
                    found.push((format!("{path}[{number}]"), begin..end, begin));
                    number += 1;
                });
            }
            _ => {}
        }
        for (own, span, begin) in found {
            if own == "documents" {
                continue;
            }
            if !own.is_empty() {
                self.add(&own, span);
            }
            self.add_json(&own, text, begin, depth + 1);
        }
    }
}

fn member_of(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "[[plans]]\nname = 'p'\n\n[[apis]]\nname = 'a'\n[apis.health]\n\
                        path = 'x'\n[[apis]]\nname = 'b'\ntransform.request = [\n\
                        {op = 'drop', path = '/a'},\n{op = 'drop', path = 'b'}]\n";

    #[test]
    fn a_member_is_found_by_its_path_and_a_missing_one_by_what_is_around_it() {
        let places = Places::of(TOML, Form::Toml);

        for (path, line) in [
            ("plans[0].name", 2),
            ("apis[0]", 4),
            ("apis[0].upstream", 4),
            ("apis[0].health.path", 7),
            ("apis[1].name", 9),
            ("apis[1].transform.request[1].path", 12),
            ("nothing", 0),
        ] {
            assert_eq!(places.line(path), line, "{path}");
        }
        assert_eq!(places.path_at(TOML.find("path = 'x'").unwrap()), "apis[0].health.path");
    }

    #[test]
    fn json_has_places_too_within_the_wrapper_of_the_commands_or_without() {
        let text = "{\"apis\": [\n{\"name\": \"a\"},\n{\"name\":\n\"b\", \"documents\": 1}]}";
        let wrapped = format!("\n{{\"definition\": {text}, \"documents\": {{\"a\": \"[\"}}}}");

        let places = Places::of(text, Form::Json);

        assert_eq!(places.line("apis[1].name"), 3);
        assert_eq!(places.line("apis[1].upstream[3]"), 3);
        assert_eq!(places.path_at(text.find("\"b\"").unwrap()), "apis[1].name");
        assert_eq!((places.begin_of(1), places.begin_of(2)), (0, 11));
        assert_eq!(Places::of(&wrapped, Form::Json).line("apis[1].name"), 4);
        for broken in ["", "{", "{\"apis\": [", "[[[", "a = ["] {
            assert_eq!(Places::of(broken, Form::Json).line("apis[0]"), 0, "{broken}");
        }
    }
}
