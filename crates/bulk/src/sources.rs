//! All surveyed files of a load: reads records by level, or one record again.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;

use homeroom_model::{Model, ResourceId};

use crate::csv_file::{CsvFile, CsvLayout};
use crate::error::LoadError;
use crate::json_file::JsonFile;
use crate::json_layout::Layout;
use crate::levels::Levels;
use crate::place::{At, Malformed};
use crate::record::Record;
use crate::source::{Format, SourceFile};
use crate::survey::{Run, Survey};
use crate::xml::{self, Lookups, ReadError, Shapes, XmlFile};

/// The files of a load.
pub(crate) struct Sources<'a> {
    model: &'a Model,
    shapes: &'a Shapes<'a>,
    levels: &'a Levels,
    /// The files.
    pub files: Vec<SourceFile>,
    /// Survey of each file; empty for a file that cannot be read.
    pub surveys: Vec<Survey>,
}

impl<'a> Sources<'a> {
    /// Makes a list of files that are yet to be surveyed.
    pub(crate) fn new(
        model: &'a Model,
        shapes: &'a Shapes<'a>,
        levels: &'a Levels,
        files: Vec<SourceFile>,
    ) -> Self {
        let surveys = files.iter().map(|_| Survey::default()).collect();
        Self { model, shapes, levels, files, surveys }
    }

    /// Surveys a file.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when the file cannot be read; then nothing of it is loaded.
    pub(crate) fn survey(&self, index: u32) -> Result<Survey, Malformed> {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let file = &self.files[at];
        let malformed = |message: String| Malformed { line: 1, column: 1, message };
        match &file.format {
            Format::Xml => {
                let opened = File::open(&file.path)
                    .map_err(|error| malformed(format!("the file cannot be read: {error}")))?;
                xml::survey(&opened, index, self.shapes, self.levels)
            }
            Format::Json(..) => self.json_file(at, index).survey(self.levels),
            Format::Csv(layout) => self.csv_file(at, index, layout).survey(self.levels),
            Format::Empty => Ok(Survey::default()),
            Format::Unreadable(problem) => Err(malformed(problem.clone())),
        }
    }

    /// Returns all runs in the order in which they are loaded: by level, by file, by place.
    pub(crate) fn order(&self) -> impl Iterator<Item = (u32, Run)> + '_ {
        let levels: BTreeSet<u16> =
            self.surveys.iter().flat_map(|survey| &survey.runs).map(|run| run.level).collect();
        levels.into_iter().flat_map(move |level| {
            (0u32..).zip(&self.surveys).flat_map(move |(file, survey)| {
                let runs = survey.runs.iter().filter(move |run| run.level == level);
                runs.map(move |run| (file, *run))
            })
        })
    }

    /// Returns the level at which records of a resource are loaded.
    pub(crate) fn level(&self, resource: Option<ResourceId>) -> u16 {
        resource.map_or(0, |resource| self.levels.of(resource))
    }

    /// Counts the records of each resource.
    pub(crate) fn counts(&self) -> HashMap<ResourceId, u64> {
        let mut counts = HashMap::new();
        for (resource, count) in self.surveys.iter().flat_map(|survey| &survey.counts) {
            *counts.entry(*resource).or_default() += count;
        }
        counts
    }

    /// Calls `take` with each record of a run's level in it.
    pub(crate) fn each(
        &self,
        index: u32,
        run: Run,
        take: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let level = run.level;
        let is_wanted = |id: ResourceId| self.levels.of(id) == level && self.levels.is_selected(id);
        match &self.files[at].format {
            Format::Xml => self.xml_file(at, index).each(run, &is_wanted, None, take),
            Format::Json(..) => {
                let is_wanted = |id: Option<ResourceId>| id.map_or(level == 0, is_wanted);
                self.json_file(at, index).each(run, &is_wanted, take)
            }
            Format::Csv(layout) => self.csv_file(at, index, layout).each(run, take),
            Format::Empty | Format::Unreadable(_) => Ok(()),
        }
    }

    /// Calls `take` with the place of each unknown element where a record is expected.
    pub(crate) fn each_unknown(
        &self,
        index: u32,
        take: &mut dyn FnMut(At) -> Result<(), LoadError>,
    ) -> Result<(), ReadError> {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        self.xml_file(at, index).each_unknown(take)
    }

    /// Whether a file is XML.
    pub(crate) fn is_xml(&self, index: u32) -> bool {
        let file = self.files.get(usize::try_from(index).unwrap_or(usize::MAX));
        file.is_some_and(|file| file.format == Format::Xml)
    }

    /// Reads one record again and passes it to `take`.
    pub(crate) fn again<T>(
        &self,
        at: At,
        lookups: &Lookups<'_>,
        take: impl FnOnce(Record<'_>) -> T,
    ) -> Result<T, ReadError> {
        let index = usize::try_from(at.file).unwrap_or(usize::MAX);
        match &self.files[index].format {
            Format::Xml => self.xml_file(index, at.file).at(at, lookups, take),
            Format::Json(..) => self.json_file(index, at.file).at(at, take),
            Format::Csv(layout) => self.csv_file(index, at.file, layout).at(at, take),
            Format::Empty | Format::Unreadable(_) => {
                Err(Malformed { line: 1, column: 1, message: "it is empty".into() }.into())
            }
        }
    }

    fn xml_file(&self, at: usize, index: u32) -> XmlFile<'_> {
        let (path, survey) = (&self.files[at].path, &self.surveys[at]);
        XmlFile::new(self.model, self.shapes, path, index, survey)
    }

    fn csv_file<'f>(&'f self, at: usize, index: u32, layout: &'f CsvLayout) -> CsvFile<'f> {
        CsvFile { model: self.model, path: &self.files[at].path, index, layout }
    }

    fn json_file(&self, at: usize, index: u32) -> JsonFile<'_> {
        let file = &self.files[at];
        let (layout, resource) = match file.format {
            Format::Json(layout, resource) => (layout, resource),
            _ => (Layout::Lines, None),
        };
        JsonFile { model: self.model, path: &file.path, index, layout, resource }
    }
}
