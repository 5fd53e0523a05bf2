//! Splits Rust source into code, comments and string literals: enough to search for words, without
//! a parser.

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The code; comments and the content of string literals are blanked, so offsets stay the same.
    pub code: String,
    /// String literals, as written between the quotes.
    pub texts: Vec<Text>,
    /// Comments, `//` and `/* */` included.
    pub comments: Vec<Text>,
}

/// A string literal or a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The byte offset where it starts.
    pub at: usize,
    /// Its content.
    pub text: String,
}

impl Source {
    /// Splits a file.
    pub fn read(file: &str) -> Self {
        let mut source = Self { code: String::new(), texts: vec![], comments: vec![] };
        let mut at = 0;
        while let Some(rest) = file.get(at..).filter(|rest| !rest.is_empty()) {
            let (piece, length) = piece(rest, source.code.chars().next_back());
            let (before, inside, after) = match piece {
                Piece::Code => (length, 0, 0),
                Piece::Comment => (0, length, 0),
                Piece::Text { open, close } => (open, length - open - close, close),
            };
            let text = Text { at: at + before, text: rest[before..before + inside].to_owned() };
            source.code.push_str(&rest[..before]);
            source.code.extend(text.text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
            source.code.push_str(&rest[before + inside..before + inside + after]);
            match piece {
                Piece::Code => {}
                Piece::Comment => source.comments.push(text),
                Piece::Text { .. } => source.texts.push(text),
            }
            at += length;
        }
        source
    }

    /// Returns the same source without the items under `#[cfg(test)]`.
    pub fn without_tests(mut self) -> Self {
        const MARK: &str = "#[cfg(test)]";
        let mut from = 0;
        while let Some(found) = self.code[from..].find(MARK) {
            let start = from + found;
            let end = start + MARK.len() + item_length(&self.code[start + MARK.len()..]);
            let blank: String = self.code[start..end]
                .bytes()
                .map(|b| if b == b'\n' { '\n' } else { ' ' })
                .collect();
            self.code.replace_range(start..end, &blank);
            self.texts.retain(|text| !(start..end).contains(&text.at));
            self.comments.retain(|comment| !(start..end).contains(&comment.at));
            from = end;
        }
        self
    }

    /// Returns the line of a byte offset, from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.code[..at].matches('\n').count()
    }
}

/// Returns whether a text contains a whole word.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

enum Piece {
    Code,
    Comment,
    /// A string literal, with the lengths of its opening and closing delimiter.
    Text {
        open: usize,
        close: usize,
    },
}

/// Returns the kind of piece at the start of `rest`, which is not empty, and its length in bytes.
fn piece(rest: &str, before: Option<char>) -> (Piece, usize) {
    if rest.starts_with("//") {
        return (Piece::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Piece::Comment, block_length(rest));
    }
    if let Some(found) = raw_text(rest).filter(|_| !before.is_some_and(is_word)) {
        return found;
    }
    if rest.starts_with('"') {
        let length = quoted_length(rest, '"');
        return (Piece::Text { open: 1, close: 1 }, length);
    }
    if let Some(length) = character_length(rest) {
        return (Piece::Code, length);
    }
    (Piece::Code, rest.chars().next().map_or(0, char::len_utf8))
}

/// Returns the length of a block comment, which may be nested.
fn block_length(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Parses `r"…"`, `r#"…"#` and the like, with or without `b` or `c` before it.
fn raw_text(rest: &str) -> Option<(Piece, usize)> {
    let marks = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let hashes = marks.len() - marks.trim_start_matches('#').len();
    let body = marks[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = body.find(&end).unwrap_or(body.len().saturating_sub(end.len()));
    let open = rest.len() - body.len();
    Some((Piece::Text { open, close: end.len() }, open + inside + end.len()))
}

/// Returns the length from a quote to the next unescaped one, including both.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal; `None` for a lifetime.
fn character_length(rest: &str) -> Option<usize> {
    let mut characters = rest.strip_prefix('\'')?.chars();
    let first = characters.next()?;
    if first == '\\' {
        return Some(quoted_length(rest, '\''));
    }
    characters.as_str().starts_with('\'').then(|| first.len_utf8() + 2)
}

/// Returns the length of the item at the start of `code`: up to its closing brace or semicolon.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(file: &str) -> Vec<String> {
        Source::read(file).texts.into_iter().map(|text| text.text).collect()
    }

    #[test]
    fn string_literals_are_found_in_every_form_of_quoting() {
        let file = r##"f("a\"b", r"c\", r#"d"e"#, b"f", br"g", '"', 'h', "i")"##;

        assert_eq!(texts(file), ["a\\\"b", "c\\", "d\"e", "f", "g", "i"]);
    }

    #[test]
    fn a_lifetime_and_a_raw_identifier_start_no_string() {
        assert_eq!(texts("fn f<'a>(r#type: &'a str) -> var\"x\""), ["x"]);
    }

    #[test]
    fn comments_are_not_code_and_can_nest() {
        let source = Source::read("a /* b /* c */ \"d\" */ e // f \"g\"\nh");

        assert_eq!(source.code.split_whitespace().collect::<Vec<_>>(), ["a", "e", "h"]);
        assert!(source.texts.is_empty());
        assert_eq!(source.comments.len(), 2);
    }

    #[test]
    fn positions_are_preserved() {
        let file = "one\n\"zwei\ndrei\" // é\nvier(\"fünf\")";

        let source = Source::read(file);

        assert_eq!(source.code.len(), file.len());
        assert_eq!(source.line(source.texts[1].at), 4);
    }

    #[test]
    fn test_items_are_removed_and_the_rest_is_kept() {
        let file = "a(\"1\");\n#[cfg(test)]\nmod tests { fn f() { \"2\"; } }\nb(\"3\");
            #[cfg(test)] use c; d";

        let source = Source::read(file).without_tests();

        assert_eq!(source.texts.len(), 2);
        let words: Vec<&str> = source.code.split_whitespace().collect();
        assert_eq!(words, ["a(\"", "\");", "b(\"", "\");", "d"]);
    }

    #[test]
    fn a_word_is_not_found_within_another() {
        assert!(has_word("use toml::Table", "toml"));
        assert!(!has_word("use toml_edit", "toml"));
        assert!(!has_word("use my_toml", "toml"));
    }
}
