//! Entry point for the fuzzer: reads an interchange to its end without the rest of a load.

use std::fs::File;
use std::path::Path;

use homeroom_document::Documents;
use homeroom_document::validate::examine;

use crate::levels::Levels;
use crate::target::Target;
use crate::xml::{Lookups, ReadError, Shapes, XmlFile, survey};

/// The values needed to read a file, created once.
pub struct XmlReader {
    target: &'static Documents,
    shapes: Shapes<'static>,
    levels: Levels,
}

impl XmlReader {
    /// Makes a reader of interchanges for a store.
    ///
    /// # Panics
    ///
    /// Panics if the model's resources have no order.
    pub fn new(target: &'static Documents) -> Self {
        let model = &target.catalog.model;
        let levels = Levels::of_model(model, &[]).expect("a linked model has an order");
        Self { target, shapes: Shapes::of(model), levels }
    }

    /// Surveys a file, reads and checks every record, and reads each again from its place. Returns
    /// the number of records.
    ///
    /// # Errors
    ///
    /// Returns why the file is refused and nothing of it would be loaded.
    ///
    /// # Panics
    ///
    /// Panics if a record differs when read again, or if the file does not match its survey.
    pub fn read(&self, path: &Path) -> Result<u64, String> {
        let (catalog, shapes) = (&self.target.catalog, &self.shapes);
        let model = &catalog.model;
        let lookups = Lookups::new(Target::store(self.target), shapes);
        let opened = File::open(path).map_err(|error| error.to_string())?;
        let survey = survey(&opened, 0, shapes, &self.levels).map_err(|error| error.message)?;
        let file = XmlFile::new(model, shapes, path, 0, &survey);
        let mut places = vec![];
        for run in survey.runs.iter().copied() {
            let is_wanted = |id| self.levels.of(id) == run.level;
            let read = file.each(run, &is_wanted, Some(&lookups), &mut |record| {
                if let Some(resource) = record.resource {
                    _ = examine(catalog, model.resource(resource), &record.json);
                }
                places.push((record.at, format!("{:?}", record.json)));
                Ok(())
            });
            match read {
                Ok(()) => {}
                Err(ReadError::Malformed(malformed)) => return Err(malformed.message),
                Err(ReadError::Load(error)) => panic!("{error}"),
            }
        }
        for (at, json) in &places {
            let again = file.at(*at, &lookups, |again| format!("{:?}", again.json));
            let again = again.expect("a record that was read can be read again");
            assert_eq!(again, *json, "the same record");
        }
        Ok(places.len() as u64)
    }
}
