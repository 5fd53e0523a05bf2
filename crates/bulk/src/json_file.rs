//! The records of a JSON file: one document a line, or an array of documents.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use homeroom_data::DOCUMENT_BYTES_MAX;
use homeroom_data::json::Json;
use homeroom_http::Kind;
use homeroom_model::{Model, ResourceId};

use crate::error::LoadError;
use crate::flaw::Flaw;
use crate::levels::{Levels, resource_named};
use crate::place::{At, Malformed, Spot};
use crate::record::Record;
use crate::survey::{Run, Survey};
use crate::xml::ReadError;

/// How documents stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One a line.
    Lines,
    /// One array of them.
    Array,
}

/// A JSON file.
pub(crate) struct JsonFile<'a> {
    /// The model.
    pub model: &'a Model,
    /// Where it is.
    pub path: &'a Path,
    /// Its index.
    pub index: u32,
    /// How documents stand in it.
    pub layout: Layout,
    /// Its resource; [`None`]: each item says its own, `{"resource": …, "document": …}`.
    pub resource: Option<ResourceId>,
}

impl JsonFile<'_> {
    /// The first pass: what stands where.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when it is no array of values, or cannot be read.
    pub(crate) fn survey(&self, levels: &Levels) -> Result<Survey, Malformed> {
        let mut survey = Survey::default();
        let mut items =
            Items::new(BufReader::new(self.open(Spot::START)?), self.layout, Spot::START);
        while let Some(start) = items.next()? {
            let resource = match self.resource {
                Some(resource) => Some(resource),
                None => own_resource(self.model, &items.item).ok().map(|(resource, _)| resource),
            };
            survey.record(levels, resource, start, items.spot.offset);
        }
        Ok(survey)
    }

    /// Gives each record of a run that is wanted, in the order of the file.
    pub(crate) fn each(
        &self,
        run: Run,
        is_wanted: &dyn Fn(Option<ResourceId>) -> bool,
        take: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let source = BufReader::new(self.open(run.start)?);
        let mut items = Items::new(source, self.layout, run.start);
        while items.spot.offset < run.end
            && let Some(start) = items.next()?
        {
            let record = self.record(start, &items);
            if is_wanted(record.resource) {
                take(record)?;
            }
        }
        Ok(())
    }

    /// Reads one record again and hands it on.
    pub(crate) fn at<T>(&self, at: At, take: impl FnOnce(Record<'_>) -> T) -> Result<T, ReadError> {
        let spot = Spot::on_line(at.offset, at.line);
        let mut items = Items::new(BufReader::new(self.open(spot)?), self.layout, spot);
        match items.next()? {
            Some(start) => Ok(take(self.record(start, &items))),
            None => Err(spot.malformed("the file has changed since the load began").into()),
        }
    }

    fn record<'i>(&self, start: Spot, items: &'i Items<BufReader<File>>) -> Record<'i> {
        let (offset, line) = (start.offset, start.line);
        let at = At { file: self.index, offset, bytes: items.spot.offset - offset, line };
        let record = |resource, json, flaw: Option<Flaw>| Record {
            at,
            resource,
            json,
            flaws: flaw.into_iter().collect(),
            strays: vec![],
        };
        if items.is_too_large {
            let flaw = Flaw {
                kind: Kind::PayloadTooLarge,
                path: String::new(),
                general: "A document is too large.",
                message: format!("The document is larger than {DOCUMENT_BYTES_MAX} bytes."),
                hint: "Split it, or leave out what is not needed.",
            };
            return record(self.resource, Json::Null, Some(flaw));
        }
        let read = match self.resource {
            Some(resource) => Json::read(&items.item)
                .map(|json| (resource, json))
                .map_err(|error| not_json(&error)),
            None => own_resource(self.model, &items.item),
        };
        match read {
            Ok((resource, json)) => record(Some(resource), json, None),
            Err(flaw) => record(self.resource, Json::Null, Some(flaw)),
        }
    }

    fn open(&self, at: Spot) -> Result<File, Malformed> {
        let open = || {
            let mut file = File::open(self.path)?;
            file.seek(SeekFrom::Start(at.offset))?;
            Ok::<_, std::io::Error>(file)
        };
        open().map_err(|error| at.malformed(format!("the file cannot be read: {error}")))
    }
}

/// The layout of a file, by its first byte that counts.
pub(crate) fn layout(file: &File) -> std::io::Result<Option<Layout>> {
    let mut first = vec![];
    file.take(4_096).read_to_end(&mut first)?;
    let text = first.strip_prefix(BOM).unwrap_or(&first);
    Ok(text.iter().find(|byte| !byte.is_ascii_whitespace()).map(|byte| match byte {
        b'[' => Layout::Array,
        _ => Layout::Lines,
    }))
}

const BOM: &[u8] = b"\xef\xbb\xbf";

const NO_ITEM: &str = "An item does not say what it is.";
const SHAPE: &str = "Write {\"resource\": \"ed-fi/students\", \"document\": {…}}, or name the \
                     file after its resource, students.jsonl.";

/// The resource and document of an item that says its own.
pub(crate) fn own_resource<'i>(
    model: &Model,
    item: &'i [u8],
) -> Result<(ResourceId, Json<'i>), Flaw> {
    let flaw = |general, message: String, hint| Flaw {
        kind: Kind::BadRequest,
        path: String::new(),
        general,
        message,
        hint,
    };
    let json = Json::read(item).map_err(|error| not_json(&error))?;
    let Json::Object(members) = json else {
        return Err(flaw(NO_ITEM, "The item is no JSON object.".into(), SHAPE));
    };
    let (mut resource, mut document) = (None, None);
    for (name, value) in members {
        match (name.as_ref(), value) {
            ("resource", Json::Text(text)) => resource = Some(text),
            ("document", value) => document = Some(value),
            _ => {}
        }
    }
    let (Some(name), Some(document)) = (resource, document) else {
        return Err(flaw(
            NO_ITEM,
            "The item lacks the members resource and document.".into(),
            SHAPE,
        ));
    };
    match resource_named(model, &name) {
        Some(resource) => Ok((resource, document)),
        None => Err(flaw(
            "An item is of a resource that there is not.",
            format!("There is no resource {}.", name.chars().take(100).collect::<String>()),
            "/metadata/data/v3/resources/swagger.json lists the resources.",
        )),
    }
}

/// What is said of a text that is no JSON.
pub(crate) fn not_json(error: &homeroom_data::json::JsonError) -> Flaw {
    Flaw {
        kind: Kind::BadRequest,
        path: String::new(),
        general: "A document is no JSON.",
        message: format!("The document is no JSON: {error}."),
        hint: "Line and column count from the beginning of the document.",
    }
}

/// What comes next in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Opening,
    Item,
    Comma,
}

/// Cuts a source into documents without reading what is in them.
struct Items<R> {
    source: R,
    layout: Layout,
    spot: Spot,
    next: Next,
    /// The last item's bytes, unless it was too large.
    item: Vec<u8>,
    is_too_large: bool,
}

impl<R: BufRead> Items<R> {
    fn new(source: R, layout: Layout, at: Spot) -> Self {
        // Further on in an array, one begins at an item.
        let next = if at.offset == 0 { Next::Opening } else { Next::Item };
        Self { source, layout, spot: at, next, item: vec![], is_too_large: false }
    }

    /// Reads the next item and gives where it begins.
    fn next(&mut self) -> Result<Option<Spot>, Malformed> {
        self.item.clear();
        self.is_too_large = false;
        if self.spot == Spot::START {
            self.skip_bom()?;
        }
        match self.layout {
            Layout::Lines => self.line(),
            Layout::Array => self.array_item(),
        }
    }

    fn line(&mut self) -> Result<Option<Spot>, Malformed> {
        self.blanks()?;
        let start = self.spot;
        if self.peek()?.is_none() {
            return Ok(None);
        }
        loop {
            let chunk = fill(&mut self.source, self.spot)?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = &chunk[..end.unwrap_or(chunk.len())];
            if self.item.len() + taken.len() > DOCUMENT_BYTES_MAX {
                self.is_too_large = true;
                self.item.clear();
            }
            if !self.is_too_large {
                self.item.extend_from_slice(taken);
            }
            let count = taken.len();
            self.spot = self.spot.after(taken);
            let is_end = end.is_some() || chunk.is_empty();
            self.source.consume(count);
            if is_end {
                return Ok(Some(start));
            }
        }
    }

    fn array_item(&mut self) -> Result<Option<Spot>, Malformed> {
        self.blanks()?;
        let is_end = self.peek()? == Some(b']');
        match self.next {
            Next::Opening => {
                self.expect(b'[', "expected an array of documents")?;
                self.blanks()?;
                if self.peek()? == Some(b']') {
                    return self.end();
                }
            }
            Next::Item => {}
            Next::Comma if is_end => return self.end(),
            Next::Comma => {
                self.expect(b',', "expected a comma or the array's end")?;
                self.blanks()?;
            }
        }
        self.next = Next::Comma;
        let start = self.spot;
        if self.peek()? != Some(b'{') {
            return Err(start.malformed("expected a document in braces"));
        }
        let (mut depth, mut is_string, mut is_escaped) = (0_u64, false, false);
        loop {
            let Some(byte) = self.bump()? else {
                return Err(self.spot.malformed("the file ends inside a document"));
            };
            if self.item.len() == DOCUMENT_BYTES_MAX {
                self.is_too_large = true;
                self.item.clear();
            }
            if !self.is_too_large {
                self.item.push(byte);
            }
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_string => is_escaped = true,
                b'"' => is_string = !is_string,
                b'{' | b'[' if !is_string => depth += 1,
                b'}' | b']' if !is_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(Some(start));
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&mut self) -> Result<Option<Spot>, Malformed> {
        self.bump()?;
        self.blanks()?;
        match self.peek()? {
            None => Ok(None),
            Some(_) => Err(self.spot.malformed("something follows after the array's end")),
        }
    }

    fn skip_bom(&mut self) -> Result<(), Malformed> {
        if fill(&mut self.source, self.spot)?.starts_with(BOM) {
            self.spot = self.spot.after(BOM);
            self.source.consume(BOM.len());
        }
        Ok(())
    }

    fn blanks(&mut self) -> Result<(), Malformed> {
        while self.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.bump()?;
        }
        Ok(())
    }

    fn expect(&mut self, byte: u8, message: &str) -> Result<(), Malformed> {
        if self.peek()? == Some(byte) {
            return self.bump().map(|_| ());
        }
        Err(self.spot.malformed(message))
    }

    fn peek(&mut self) -> Result<Option<u8>, Malformed> {
        Ok(fill(&mut self.source, self.spot)?.first().copied())
    }

    fn bump(&mut self) -> Result<Option<u8>, Malformed> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.spot = self.spot.after(&[byte]);
            self.source.consume(1);
        }
        Ok(byte)
    }
}

fn fill<R: BufRead>(source: &mut R, at: Spot) -> Result<&[u8], Malformed> {
    source.fill_buf().map_err(|error| at.malformed(format!("the file cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(layout: Layout, text: &str) -> Result<Vec<(String, u64)>, Malformed> {
        let mut items = Items::new(text.as_bytes(), layout, Spot::START);
        let mut found = vec![];
        while let Some(start) = items.next()? {
            found.push((String::from_utf8(items.item.clone()).unwrap(), start.line));
        }
        Ok(found)
    }

    #[test]
    fn each_line_is_an_item_and_blank_lines_are_none() {
        let found = items(Layout::Lines, "\u{feff}{\"a\":1}\r\n\n  {\"b\":2}").unwrap();

        assert_eq!(found, [("{\"a\":1}\r".to_owned(), 1), ("{\"b\":2}".to_owned(), 3)]);
        assert!(items(Layout::Lines, " \n").unwrap().is_empty());
    }

    #[test]
    fn an_array_is_cut_where_its_items_end() {
        let text = "[ {\"a\":\"}]\\\"\"},\n{\"b\":[{}]} ]\n";

        let found = items(Layout::Array, text).unwrap();

        assert_eq!(found, [("{\"a\":\"}]\\\"\"}".to_owned(), 1), ("{\"b\":[{}]}".to_owned(), 2)]);
        assert!(items(Layout::Array, "[]").unwrap().is_empty());
    }

    #[test]
    fn a_broken_array_says_where() {
        for (text, line, column) in
            [("[{} {}", 1, 5), ("[{},\n1]", 2, 1), ("[{}] x", 1, 6), ("[{\"a", 1, 5), ("[", 1, 2)]
        {
            let error = items(Layout::Array, text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}: {}", error.message);
        }
    }

    #[test]
    fn an_item_that_is_too_large_is_passed_over() {
        let text = format!("{{}}\n\"{}\"\n{{}}", "x".repeat(DOCUMENT_BYTES_MAX));
        let mut items = Items::new(text.as_bytes(), Layout::Lines, Spot::START);

        let mut large = vec![];
        while items.next().unwrap().is_some() {
            large.push(items.is_too_large);
        }

        assert_eq!(large, [false, true, false]);
    }
}
