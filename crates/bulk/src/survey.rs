//! What the first pass finds in a file: resources, places and counts of records.

use std::collections::{BTreeMap, HashMap};

use homeroom_model::ResourceId;

use crate::levels::Levels;
use crate::place::{At, Spot};
use crate::xml::{Ids, RootTag};

/// Most runs that are kept per file.
const RUNS_MAX: usize = 4_096;
/// Most names of unknown elements that are kept per file.
const UNKNOWN_MAX: usize = 200;

/// Survey of one file.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The positions of the records of each level, in the order of the file.
    pub runs: Vec<Run>,
    /// Number of records of each resource that are to be loaded.
    pub counts: HashMap<ResourceId, u64>,
    /// Unknown elements in the place of records, by name.
    pub unknown: BTreeMap<String, Unknown>,
    /// Number of records that `--select` leaves out.
    pub passed_over: u64,
    /// For XML: the places of elements that references name.
    pub ids: Ids,
    /// For XML: the root's tag.
    pub root: RootTag,
}

/// A part of a file that holds records of one level; records of other levels in it are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Level of its records.
    pub level: u16,
    /// Position at which it begins.
    pub start: Spot,
    /// Offset at which it ends.
    pub end: u64,
}

/// Elements with a name that the model does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unknown {
    /// Number of such elements.
    pub count: u64,
    /// The first of them.
    pub first: At,
}

impl Survey {
    /// Adds a record to the survey.
    pub(crate) fn record(
        &mut self,
        levels: &Levels,
        resource: Option<ResourceId>,
        start: Spot,
        end: u64,
    ) {
        if let Some(resource) = resource {
            if !levels.is_selected(resource) {
                self.passed_over += 1;
                return;
            }
            *self.counts.entry(resource).or_default() += 1;
        }
        let level = resource.map_or(0, |resource| levels.of(resource));
        match self.runs.last_mut() {
            Some(run) if run.level == level => run.end = end,
            _ => self.runs.push(Run { level, start, end }),
        }
        if self.runs.len() > RUNS_MAX {
            self.join_runs();
        }
    }

    /// Adds an unknown element to the survey.
    pub(crate) fn unknown(&mut self, name: &str, first: At) {
        if let Some(known) = self.unknown.get_mut(name) {
            known.count += 1;
        } else if self.unknown.len() < UNKNOWN_MAX {
            self.unknown.insert(name.to_owned(), Unknown { count: 1, first });
        } else {
            self.unknown.entry("…".into()).or_insert(Unknown { count: 0, first }).count += 1;
        }
    }

    /// Joins the runs into one per level, from its first record to its last.
    fn join_runs(&mut self) {
        let mut joined: BTreeMap<u16, Run> = BTreeMap::new();
        for run in self.runs.drain(..) {
            joined.entry(run.level).and_modify(|there| there.end = run.end).or_insert(run);
        }
        self.runs.extend(joined.into_values());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_records_form_one_run_and_excess_runs_are_merged() {
        let model = crate::tests::model();
        let levels = Levels::of_model(&model, &[]).unwrap();
        let resource = |name: &str| Some(model.by_endpoint("ed-fi", name).unwrap().id);
        let (school, student) = (resource("schools"), resource("students"));
        let spot = |offset: u64| Spot::on_line(offset, 1);
        let mut survey = Survey::default();

        survey.record(&levels, school, spot(0), 10);
        survey.record(&levels, school, spot(20), 30);
        survey.record(&levels, student, spot(30), 40);
        let (first, two) = (survey.runs[0], survey.runs.len());
        for at in 0..5_000u64 {
            let resource = if at % 2 == 0 { school } else { student };
            survey.record(&levels, resource, spot(40 + at), 41 + at);
        }

        assert_eq!((first.end, two), (30, 2));
        assert!(survey.runs.len() <= RUNS_MAX);
        let last = survey.runs.iter().map(|run| run.end).max();
        assert_eq!(last, Some(41 + 4_999));
        assert_eq!(survey.counts[&school.unwrap()], 2 + 2_500);
    }
}
