//! Finds where the records of an interchange begin and end, without reading what is in them.
//!
//! A record ends with the first end tag of its name, which is found faster than memory can be read
//! by other means. Where that is not certain (a comment, a child of the same name, a missing end
//! tag), the record is read token by token. A record that is not well formed ends where its end tag
//! is, or else before the next record, so that one broken record does not spoil others.

use memchr::memmem::{self, Finder};
use memchr::{memchr, memchr2, memchr3};

use super::shapes::{RecordElement, Shapes};
use super::slice::{Piece, Pieces};

/// What a comment begins with.
pub(crate) const COMMENT: &[u8] = b"<!--";
/// What a comment ends with.
pub(crate) const COMMENT_END: &[u8] = b"-->";
/// What is said of a comment without an end.
pub(crate) const OPEN_COMMENT: &str =
    "a comment does not end before another begins or the file ends; what follows it was read";
/// What a CDATA section begins with.
const CDATA: &[u8] = b"<![CDATA[";
/// What is said of text.
const TEXT: &str = "there is text; it was ignored";

/// What comes next below the root of an interchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Below {
    /// An element.
    Element(Element),
    /// The end tag of the root, from one offset to another.
    End(usize, usize),
    /// Something that does not belong there, from one offset to another.
    Stray(usize, usize, &'static str),
    /// The bytes end before it does; it begins at this offset. Only if more bytes may follow.
    Unfinished(usize),
    /// Nothing more.
    Nothing,
}

/// An element below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    /// Offsets of its name without a prefix, from and to.
    name: (usize, usize),
    /// Offset of its first byte.
    pub start: usize,
    /// Offset after its start tag.
    pub inside: usize,
    /// Offset after its last byte.
    pub end: usize,
}

impl Element {
    /// Returns its name without a prefix.
    pub(crate) fn name(self, bytes: &[u8]) -> &str {
        std::str::from_utf8(&bytes[self.name.0..self.name.1]).unwrap_or_default()
    }

    /// Returns its name with its prefix.
    pub(crate) fn whole_name(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start + 1..self.name.1]
    }
}

/// The end tag of an element, wherever it is.
pub(crate) struct EndTag(Finder<'static>);

impl EndTag {
    /// Makes the end tag of a name, which may have a prefix.
    pub(crate) fn of(name: &[u8]) -> Self {
        Self(Finder::new(&[b"</", name].concat()).into_owned())
    }

    /// Returns the offset after the first whole one of them.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let at = named(&self.0, bytes)?;
        mark_end(&bytes[at..]).map(|length| at + length)
    }
}

/// Finds the elements below a root.
pub(crate) struct Bounds<'s> {
    shapes: &'s Shapes<'s>,
    /// The root's name, with its prefix.
    root: Vec<u8>,
    needles: Needles,
}

/// What an element's end is searched by; neighbours usually have the same name.
struct Needles {
    /// The element's name, with its prefix.
    name: Vec<u8>,
    open: Finder<'static>,
    close: Finder<'static>,
}

impl Needles {
    fn of(name: &[u8]) -> Self {
        let finder = |before: &[u8]| Finder::new(&[before, name].concat()).into_owned();
        Self { name: name.to_owned(), open: finder(b"<"), close: finder(b"</") }
    }
}

impl<'s> Bounds<'s> {
    /// Finds elements below a root with this name, which may have a prefix.
    pub(crate) fn new(shapes: &'s Shapes<'s>, root: &[u8]) -> Self {
        Self { shapes, root: root.to_owned(), needles: Needles::of(b"") }
    }

    /// Returns what comes next in `bytes` after `from`. `is_whole` says that no more bytes follow;
    /// then everything that has begun ends with them.
    pub(crate) fn next(&mut self, bytes: &[u8], from: usize, is_whole: bool) -> Below {
        let mut from = from;
        loop {
            let skipped = memchr(b'<', &bytes[from..]);
            let start = skipped.map_or(bytes.len(), |skipped| from + skipped);
            if let Some((begin, end)) = text_in(&bytes[from..start]) {
                if skipped.is_some() || is_whole {
                    return Below::Stray(from + begin, from + end, TEXT);
                }
                return Below::Unfinished(from + begin);
            }
            if skipped.is_none() {
                return if is_whole { Below::Nothing } else { Below::Unfinished(bytes.len()) };
            }
            let rest = &bytes[start..];
            let missing = match rest {
                [_, b'!', b'-', b'-', ..] => match section(rest, COMMENT, COMMENT_END, is_whole) {
                    Section::Until(length) => {
                        from = start + length;
                        continue;
                    }
                    Section::Open => {
                        return Below::Stray(
                            start,
                            start + with_text(rest, COMMENT.len()),
                            OPEN_COMMENT,
                        );
                    }
                    Section::Unfinished => return Below::Unfinished(start),
                },
                [_, b'?', ..] => match section(rest, b"<?", b"?>", is_whole) {
                    Section::Until(length) => {
                        from = start + length;
                        continue;
                    }
                    Section::Open => {
                        let end = start + with_text(rest, 2);
                        return Below::Stray(start, end, "an instruction does not end");
                    }
                    Section::Unfinished => return Below::Unfinished(start),
                },
                [_, b'/' | b'!', ..] if !is_whole && rest.len() < CDATA.len() => {
                    return Below::Unfinished(start);
                }
                _ if rest.starts_with(CDATA) => match section(rest, CDATA, b"]]>", is_whole) {
                    Section::Until(length) => return Below::Stray(start, start + length, TEXT),
                    Section::Open => {
                        let message = "a CDATA section does not end";
                        return Below::Stray(start, start + with_text(rest, CDATA.len()), message);
                    }
                    Section::Unfinished => return Below::Unfinished(start),
                },
                [_, b'/', ..] => match mark_end(rest) {
                    Some(length) => return self.end_tag(&rest[..length], start),
                    None => "the file ends inside a tag; it may have been cut off",
                },
                [_, b'!', ..] => match mark_end(rest) {
                    Some(length) => {
                        let message = "there is a declaration among the records; remove it";
                        return Below::Stray(start, start + length, message);
                    }
                    None => "a declaration does not end",
                },
                [_, letter, ..] if is_name(*letter) => {
                    return self.element(bytes, start, is_whole);
                }
                [_, ..] if rest.len() > 1 => {
                    let message = "a `<` begins no tag; write &lt;";
                    return Below::Stray(start, start + with_text(rest, 1), message);
                }
                _ => "the file ends inside a tag; it may have been cut off",
            };
            if is_whole {
                return Below::Stray(start, bytes.len(), missing);
            }
            return Below::Unfinished(start);
        }
    }

    fn end_tag(&self, tag: &[u8], start: usize) -> Below {
        let name = name_of(&tag[2..]);
        if name == self.root {
            return Below::End(start, start + tag.len());
        }
        let message = "an end tag has no start tag; the record before it may be broken";
        Below::Stray(start, start + tag.len(), message)
    }

    fn element(&mut self, bytes: &[u8], start: usize, is_whole: bool) -> Below {
        let rest = &bytes[start..];
        let Some(length) = tag_end(rest) else {
            let message = "the file ends inside a tag; it may have been cut off";
            return if is_whole {
                Below::Stray(start, bytes.len(), message)
            } else {
                Below::Unfinished(start)
            };
        };
        let whole_name = name_of(&rest[1..]);
        let local = local(whole_name);
        let Ok(name) = std::str::from_utf8(&whole_name[local..]) else {
            let message = "a name is not UTF-8; convert the file";
            return Below::Stray(start, start + length, message);
        };
        let inside = start + length;
        let place = (start + 1 + local, start + 1 + whole_name.len());
        let element = |end| Below::Element(Element { name: place, start, inside, end });
        if rest[..length].ends_with(b"/>") {
            return element(inside);
        }
        if self.needles.name != whole_name {
            self.needles = Needles::of(whole_name);
        }
        let close = named(&self.needles.close, &bytes[inside..]);
        match close {
            None if !is_whole => return Below::Unfinished(start),
            Some(at) if !self.is_doubtful(&bytes[inside..inside + at]) => {
                if let Some(length) = mark_end(&bytes[inside + at..]) {
                    return element(inside + at + length);
                }
            }
            _ => {}
        }
        match well_formed(rest, is_whole) {
            WellFormed::Until(length) => element(start + length),
            WellFormed::Unfinished => Below::Unfinished(start),
            WellFormed::Not => match self.broken_end(&bytes[inside..], name) {
                Some(end) => element(inside + end),
                None if is_whole => element(bytes.len()),
                None => Below::Unfinished(start),
            },
        }
    }

    /// Whether an element may not end with the first end tag of its name, given what is before it.
    fn is_doubtful(&self, inside: &[u8]) -> bool {
        named(&self.needles.open, inside).is_some() || memmem::find(inside, b"<!").is_some()
    }

    /// Returns where an element that is not well formed ends: after its end tag, or before the next
    /// record or the root's end, whichever is first.
    fn broken_end(&self, inside: &[u8], name: &str) -> Option<usize> {
        let mut from = 0;
        while let Some(skipped) = memchr(b'<', &inside[from..]) {
            let at = from + skipped;
            let rest = &inside[at + 1..];
            if let Some(rest) = rest.strip_prefix(b"/") {
                let found = name_of(rest);
                if found == self.root {
                    return Some(at);
                }
                if found == self.needles.name {
                    return Some(at + mark_end(&inside[at..])?);
                }
            } else if self.begins_record(name_of(rest), name) {
                return Some(at);
            }
            from = at + 1;
        }
        None
    }

    /// Whether an element inside a broken record of another name is rather the next record.
    fn begins_record(&self, found: &[u8], record: &str) -> bool {
        let Ok(found) = std::str::from_utf8(&found[local(found)..]) else { return false };
        matches!(self.shapes.record_element(found), RecordElement::Record(_))
            && match self.shapes.record_element(record) {
                RecordElement::Record(record) => !self.shapes.may_contain(record, found),
                RecordElement::Reference | RecordElement::Unknown => found == record,
            }
    }
}

/// Finds a tag by its beginning; the name must not go on after it.
fn named(finder: &Finder<'_>, bytes: &[u8]) -> Option<usize> {
    let length = finder.needle().len();
    let mut from = 0;
    while let Some(found) = finder.find(&bytes[from..]) {
        let at = from + found;
        match bytes.get(at + length) {
            Some(byte) if is_name(*byte) || matches!(byte, b'-' | b'.' | b'0'..=b'9') => {}
            Some(_) => return Some(at),
            None => return None,
        }
        from = at + length;
    }
    None
}

/// How far a comment, an instruction or a CDATA section goes.
enum Section {
    /// It is this long.
    Until(usize),
    /// It has no end: another one begins in it, or the bytes end.
    Open,
    /// Only more bytes can tell.
    Unfinished,
}

/// Measures the section with which the bytes begin. One in which another begins is taken to lack its
/// own end, so that nothing between the two is lost.
fn section(bytes: &[u8], open: &[u8], close: &[u8], is_whole: bool) -> Section {
    let inside = &bytes[open.len()..];
    let end = memmem::find(inside, close);
    match end {
        _ if memmem::find(&inside[..end.unwrap_or(inside.len())], open).is_some() => Section::Open,
        Some(end) => Section::Until(open.len() + end + close.len()),
        None if is_whole => Section::Open,
        None => Section::Unfinished,
    }
}

/// Returns the length of the end tag, or declaration, with which the bytes begin. One that lacks its
/// `>` ends before the next `<`.
fn mark_end(bytes: &[u8]) -> Option<usize> {
    let at = 2 + memchr2(b'>', b'<', bytes.get(2..)?)?;
    Some(if bytes[at] == b'>' { at + 1 } else { at })
}

/// Returns where text that is not blank begins and ends.
fn text_in(bytes: &[u8]) -> Option<(usize, usize)> {
    let begin = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    Some((begin, begin + bytes[begin..].trim_ascii_end().len()))
}

/// Returns the length of a mark of some length with the text after it.
pub(crate) fn with_text(bytes: &[u8], mark: usize) -> usize {
    let text = &bytes[mark..];
    let text = &text[..memchr(b'<', text).unwrap_or(text.len())];
    mark + text.trim_ascii_end().len()
}

/// Returns the length of the start tag with which the bytes begin. A `<` cannot stand in the value of
/// an attribute, so a tag with one lacks a quote, and ends there.
pub(crate) fn tag_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 1;
    loop {
        let at = from + memchr3(b'>', b'"', b'\'', &bytes[from..])?;
        if bytes[at] == b'>' {
            return Some(at + 1);
        }
        let end = at + 1 + memchr2(bytes[at], b'<', &bytes[at + 1..])?;
        if bytes[end] == b'<' {
            return Some(end);
        }
        from = end + 1;
    }
}

/// Returns the name with which the bytes begin.
fn name_of(bytes: &[u8]) -> &[u8] {
    let end = bytes
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/' | b'<'));
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Returns the name, without its prefix, of the element that begins with the bytes.
pub(crate) fn name_at(bytes: &[u8]) -> Option<&str> {
    let name = name_of(bytes.strip_prefix(b"<")?);
    std::str::from_utf8(&name[local(name)..]).ok().filter(|name| !name.is_empty())
}

/// Returns the offset in a name after its prefix.
fn local(name: &[u8]) -> usize {
    memchr(b':', name).map_or(0, |at| at + 1)
}

/// Whether a name may begin with a byte.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || byte >= 0x80
}

enum WellFormed {
    /// The element is, and it is this long.
    Until(usize),
    /// It may be, when more bytes follow.
    Unfinished,
    /// It is not.
    Not,
}

/// Reads the element with which the bytes begin.
fn well_formed(bytes: &[u8], is_whole: bool) -> WellFormed {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let is_cut = text.len() == bytes.len() || bytes.len() - text.len() < 4;
    let mut pieces = Pieces::new(text, 1);
    loop {
        match pieces.next() {
            Ok(Piece::End) if pieces.depth() == 1 => return WellFormed::Until(pieces.end()),
            Ok(Piece::Eof) if !is_whole && is_cut => return WellFormed::Unfinished,
            Ok(Piece::Eof) => return WellFormed::Not,
            Ok(_) => {}
            // The last token may only lack its end.
            Err(fault) if !is_whole && is_cut && is_last(&bytes[fault.at..]) => {
                return WellFormed::Unfinished;
            }
            Err(_) => return WellFormed::Not,
        }
    }
}

/// Whether the token with which the bytes begin may be the last of them.
fn is_last(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', b'!' | b'?', ..] => true,
        [b'<', ..] => tag_end(bytes).is_none(),
        [b'&', ..] => memchr(b';', bytes).is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each element's name and text, and what else there is.
    fn below(text: &str) -> Vec<String> {
        let model = crate::tests::model();
        let shapes = Shapes::of(&model);
        let mut bounds = Bounds::new(&shapes, b"InterchangeX");
        let (mut found, mut from) = (vec![], 0);
        loop {
            let (end, what) = match bounds.next(text.as_bytes(), from, true) {
                Below::Element(element) => {
                    let name = element.name(text.as_bytes());
                    (element.end, format!("{name}: {}", &text[element.start..element.end]))
                }
                Below::End(_, end) => (end, "end".into()),
                Below::Stray(start, end, _) => (end, format!("stray: {}", &text[start..end])),
                Below::Nothing | Below::Unfinished(_) => return found,
            };
            found.push(what);
            from = end;
        }
    }

    #[test]
    fn elements_are_found_without_their_content() {
        let found = below(
            "\n<Student a='>'><StudentUniqueId>1</StudentUniqueId></Student >\
             <e:School/> <!-- <School> --> <?x?><Pupil></Pupil></InterchangeX>",
        );

        assert_eq!(
            found,
            [
                "Student: <Student a='>'><StudentUniqueId>1</StudentUniqueId></Student >",
                "School: <e:School/>",
                "Pupil: <Pupil></Pupil>",
                "end",
            ]
        );
    }

    #[test]
    fn a_child_of_the_same_name_and_a_comment_do_not_end_an_element() {
        let record = "<PerformanceLevel><PerformanceLevel>x</PerformanceLevel></PerformanceLevel>";
        let comment = "<Student><!-- </Student> --><![CDATA[</Student>]]></Student>";

        let found = below(&format!("{record}{comment}<School/>"));

        assert_eq!(found[0], format!("PerformanceLevel: {record}"));
        assert_eq!(found[1], format!("Student: {comment}"));
        assert_eq!(found[2], "School: <School/>");
    }

    #[test]
    fn a_broken_element_ends_before_the_next_record() {
        for (text, expected) in [
            (
                "<Student><a></b></Student><Student/>",
                &["Student: <Student><a></b></Student>", "Student: <Student/>"][..],
            ),
            (
                "<Student><a></Pupil><Student/></InterchangeX>",
                &["Student: <Student><a></Pupil>", "Student: <Student/>", "end"],
            ),
            (
                "<Student><Name><School><SchoolId>1</SchoolId></School></InterchangeX>",
                &[
                    "Student: <Student><Name>",
                    "School: <School><SchoolId>1</SchoolId></School>",
                    "end",
                ],
            ),
            ("<Student></InterchangeX>", &["Student: <Student>", "end"]),
            ("<Student><Name", &["Student: <Student><Name"]),
            ("</Student><School/>", &["stray: </Student>", "School: <School/>"]),
            ("< a", &["stray: < a"]),
            ("<Student", &["stray: <Student"]),
            ("<!ENTITY a 'b'><School/>", &["stray: <!ENTITY a 'b'>", "School: <School/>"]),
        ] {
            assert_eq!(below(text), expected, "{text}");
        }
    }

    #[test]
    fn more_bytes_never_change_what_was_found_without_them() {
        let model = crate::tests::model();
        let shapes = Shapes::of(&model);
        let text = "<Student><!-- é --><Name>x</Name><Student></Student></Student> <School a='b'/>\
                    <PerformanceLevel><PerformanceLevel/></PerformanceLevel></InterchangeX>";
        let mut bounds = Bounds::new(&shapes, b"InterchangeX");
        let mut from = 0;

        loop {
            let whole = bounds.next(text.as_bytes(), from, true);
            for cut in from..text.len() {
                let part = bounds.next(&text.as_bytes()[..cut], from, false);
                assert!(matches!(part, Below::Unfinished(_)) || part == whole, "{cut}: {part:?}");
            }
            from = match whole {
                Below::Element(element) => element.end,
                Below::End(_, end) | Below::Stray(_, end, _) => end,
                Below::Nothing | Below::Unfinished(_) => break,
            };
        }
        assert_eq!(from, text.len());
    }
}
