//! What the first pass finds in a file: resources, places and counts of records.

use std::collections::{BTreeMap, HashMap};

use homeroom_document::DOCUMENT_BYTES_MAX;
use homeroom_model::ResourceId;

use crate::levels::Levels;
use crate::place::{At, Malformed, Spot};
use crate::xml::{Ids, RootTag};

/// Bytes after which a run ends, so that runs of one level can be read at the same time.
const RUN_BYTES: u64 = 256 << 10;
/// Most runs that are kept per file.
const RUNS_MAX: usize = 65_536;
/// Most names of unknown elements that are kept per file.
const UNKNOWN_MAX: usize = 200;

/// Survey of one file.
#[derive(Debug)]
pub(crate) struct Survey {
    /// The positions of the records of each level, in the order of the file.
    pub runs: Vec<Run>,
    /// Number of records of each resource that are to be loaded.
    pub counts: HashMap<ResourceId, u64>,
    /// Unknown elements in the place of records, by name.
    pub unknown: BTreeMap<String, Unknown>,
    /// Number of records that `--select` leaves out.
    pub passed_over: u64,
    /// Bytes after which a run ends.
    run_bytes: u64,
    /// What stands among the records and does not belong there.
    pub strays: Vec<Malformed>,
    /// For XML: the places of elements that references name.
    pub ids: Ids,
    /// For XML: the root's tag.
    pub root: RootTag,
}

/// A part of a file that holds records of one level; records of other levels in it are skipped. A
/// record that is too large is a run by itself.
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

impl Default for Survey {
    fn default() -> Self {
        Self {
            runs: vec![],
            counts: HashMap::new(),
            unknown: BTreeMap::new(),
            passed_over: 0,
            run_bytes: RUN_BYTES,
            strays: vec![],
            ids: Ids::default(),
            root: RootTag::default(),
        }
    }
}

impl Survey {
    /// Begins the survey of an interchange.
    pub(crate) fn of_root(root: RootTag) -> Self {
        Self { root, ..Self::default() }
    }

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
        let is_large = end - start.offset > DOCUMENT_BYTES_MAX as u64;
        match self.runs.last_mut() {
            Some(run) if run.level == level && !is_large && run.bytes() < self.run_bytes => {
                run.end = end;
            }
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

    /// Joins neighbours of one level into longer runs. If levels alternate too often for that,
    /// joins all runs of each level into one, from its first record to its last.
    fn join_runs(&mut self) {
        self.run_bytes *= 2;
        let mut joined: Vec<Run> = vec![];
        for run in self.runs.drain(..) {
            match joined.last_mut() {
                Some(last) if last.may_take(run, self.run_bytes) => last.end = run.end,
                _ => joined.push(run),
            }
        }
        if joined.len() > RUNS_MAX / 4 * 3 {
            let mut by_level: BTreeMap<u16, Run> = BTreeMap::new();
            for run in joined.drain(..) {
                let end = run.end;
                by_level.entry(run.level).and_modify(|there| there.end = end).or_insert(run);
            }
            joined.extend(by_level.into_values());
        }
        self.runs = joined;
    }
}

impl Run {
    fn bytes(self) -> u64 {
        self.end - self.start.offset
    }

    fn may_take(self, next: Self, bytes_max: u64) -> bool {
        self.level == next.level && self.bytes() + next.bytes() <= bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_records_form_runs_of_limited_length() {
        let model = crate::tests::model();
        let levels = Levels::of_model(&model, &[]).unwrap();
        let resource = |name: &str| Some(model.by_endpoint("ed-fi", name).unwrap().id);
        let (school, student) = (resource("schools"), resource("students"));
        let spot = |offset: u64| Spot::on_line(offset, 1);
        let mut survey = Survey::default();

        survey.record(&levels, school, spot(0), 10);
        survey.record(&levels, school, spot(20), 30);
        survey.record(&levels, student, spot(30), RUN_BYTES + 40);
        survey.record(&levels, student, spot(RUN_BYTES + 40), RUN_BYTES + 50);
        let large = 2 * RUN_BYTES + DOCUMENT_BYTES_MAX as u64;
        survey.record(&levels, student, spot(RUN_BYTES + 50), large);

        let ends: Vec<u64> = survey.runs.iter().map(|run| run.end).collect();
        assert_eq!(ends, [30, RUN_BYTES + 40, RUN_BYTES + 50, large]);
        assert_eq!(survey.counts[&student.unwrap()], 3);
    }

    #[test]
    fn excess_runs_are_joined() {
        let model = crate::tests::model();
        let levels = Levels::of_model(&model, &[]).unwrap();
        let resource = |name: &str| Some(model.by_endpoint("ed-fi", name).unwrap().id);
        let (school, student) = (resource("schools"), resource("students"));
        let spot = |offset: u64| Spot::on_line(offset, 1);
        let count = RUNS_MAX as u64 + 5;
        let (mut long, mut alternating) = (Survey::default(), Survey::default());

        for at in 0..count {
            long.record(&levels, school, spot(at * RUN_BYTES), (at + 1) * RUN_BYTES);
            let resource = if at % 2 == 0 { school } else { student };
            alternating.record(&levels, resource, spot(at), at + 1);
        }

        assert!(long.runs.len() <= RUNS_MAX / 2 + 6, "{}", long.runs.len());
        assert!(long.runs.iter().all(|run| run.bytes() <= 3 * RUN_BYTES));
        assert_eq!(long.runs.last().map(|run| run.end), Some(count * RUN_BYTES));
        assert!(alternating.runs.len() <= 8, "{}", alternating.runs.len());
        assert_eq!(alternating.runs.iter().map(|run| run.end).max(), Some(count));
    }
}
