//! The records of a JSON file: one document per line, or an array of documents.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use homeroom_document::Code;
use homeroom_document::json::{Json, JsonError};
use homeroom_document::validate::unknown_members;
use homeroom_model::{Model, ResourceId};

use crate::error::LoadError;
use crate::flaw::Flaw;
use crate::identity::without_indices;
use crate::json_items::Items;
use crate::json_layout::Layout;
use crate::levels::{Levels, resource_named};
use crate::place::{At, Malformed, Spot};
use crate::record::Record;
use crate::survey::{Run, Survey};
use crate::xml::ReadError;

/// Most unknown members of one document that are told.
const STRAYS_MAX: usize = 100;

/// A JSON file.
pub(crate) struct JsonFile<'a> {
    /// The model.
    pub model: &'a Model,
    /// Where the file is.
    pub path: &'a Path,
    /// Index of the file.
    pub index: u32,
    /// How its documents are laid out.
    pub layout: Layout,
    /// Resource of all its documents; [`None`] if each item names its own:
    /// `{"resource": …, "document": …}`.
    pub resource: Option<ResourceId>,
}

impl JsonFile<'_> {
    /// Runs the first pass, which finds the resource and place of every record.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when it is neither an array nor lines of values, or cannot be read.
    pub(crate) fn survey(&self, levels: &Levels) -> Result<Survey, Malformed> {
        let mut survey = Survey::default();
        let mut items =
            Items::new(BufReader::new(self.open(Spot::START)?), self.layout, Spot::START);
        while let Some(start) = items.next()? {
            let resource = match self.resource {
                Some(resource) => Some(resource),
                None => {
                    own_resource(self.model, &items.item, start).ok().map(|(resource, _)| resource)
                }
            };
            survey.record(levels, resource, start, items.spot.offset);
        }
        survey.strays = items.strays;
        Ok(survey)
    }

    /// Calls `take` with each wanted record of a run, in the order of the file.
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

    /// Reads one record again and passes it to `take`.
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
        let record = |resource, json, flaw: Option<Flaw>| {
            Record::new(at, resource, json, flaw.into_iter().collect(), vec![])
        };
        if items.is_too_large {
            let flaw = Flaw::too_large();
            return record(self.resource, Json::Null, Some(flaw));
        }
        let read = match self.resource {
            Some(resource) => Json::read(&items.item)
                .map(|json| (resource, json))
                .map_err(|error| not_json(&error, start)),
            None => own_resource(self.model, &items.item, start),
        };
        match read {
            Ok((resource, json)) => {
                let strays = self.strays(resource, &json);
                Record { strays, ..record(Some(resource), json, None) }
            }
            Err(flaw) => record(self.resource, Json::Null, Some(flaw)),
        }
    }

    /// Returns the paths, without indices, of members that the model does not have.
    fn strays(&self, resource: ResourceId, json: &Json<'_>) -> Vec<String> {
        let resource = self.model.resource(resource);
        let found = unknown_members(self.model, resource, json, STRAYS_MAX);
        found.iter().map(|path| without_indices(path)).collect()
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

const NO_ITEM: &str = "An item does not name its resource.";
const SHAPE: &str = "Write {\"resource\": \"ed-fi/students\", \"document\": {…}}, or name the \
                     file after its resource, students.jsonl.";

/// Returns the resource and document of an item that names its own resource and begins at `start`.
pub(crate) fn own_resource<'i>(
    model: &Model,
    item: &'i [u8],
    start: Spot,
) -> Result<(ResourceId, Json<'i>), Flaw> {
    let flaw = |general, message: String, hint| Flaw {
        place: None,
        code: Code::Unreadable,
        path: String::new(),
        general,
        message,
        hint,
    };
    let json = Json::read(item).map_err(|error| not_json(&error, start))?;
    let Json::Object(members) = json else {
        return Err(flaw(NO_ITEM, "The item is not a JSON object.".into(), SHAPE));
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
            "An item names an unknown resource.",
            format!("There is no resource {}.", name.chars().take(100).collect::<String>()),
            "/metadata/data/v3/resources/swagger.json lists the resources.",
        )),
    }
}

/// Returns the flaw of a text that begins at `start` and is not JSON.
pub(crate) fn not_json(error: &JsonError, start: Spot) -> Flaw {
    let (line, column) = start.of(error.line as u64, error.column as u64);
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Flaw {
        place: Some((short(line), short(column))),
        code: Code::Unreadable,
        path: String::new(),
        general: "A document is not JSON.",
        message: format!(
            "The document is not JSON: {} (line {line}, column {column}).",
            error.message
        ),
        hint: "Mend the text there; columns count bytes.",
    }
}
