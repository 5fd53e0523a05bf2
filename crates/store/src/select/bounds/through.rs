//! Tests the documents to which the documents of a list lead.

use std::collections::{BTreeMap, HashMap};

use super::chunk::rows;
use crate::id::NaturalKey;
use crate::row::Row;
use crate::select::source::{Bytes, Head, Source};
use crate::select::through;
use crate::through::{LeadsTo, Through};
use crate::tie::Start;

/// Most documents whose bodies are in memory at once.
const TEXTS_MAX: usize = 500;
/// Most documents whose results are remembered.
const KNOWN_MAX: usize = 100_000;

/// The tests of a list, with the results for documents that were tested.
pub(super) struct Throughs<'q> {
    tests: Vec<(&'q Through, HashMap<Start, bool>)>,
    /// The number of a document's first marks that are read.
    pub(super) marks: usize,
}

impl<'q> Throughs<'q> {
    pub(super) fn of(all: &'q [Through]) -> Self {
        let mark = |through: &Through| match through.to {
            LeadsTo::Mark(mark) => mark + 1,
            LeadsTo::Itself | LeadsTo::Key(_) => 0,
        };
        let marks = all.iter().map(mark).max().unwrap_or(0);
        Self { tests: all.iter().map(|through| (through, HashMap::new())).collect(), marks }
    }

    /// Returns the numbers of the documents that lead to a document that passes.
    pub(super) async fn filter<S: Source>(
        &mut self,
        source: &S,
        mut heads: Vec<Head>,
    ) -> Result<Vec<i64>, S::Error> {
        // Tests that need no text come first.
        self.tests.sort_by_key(|(through, _)| matches!(through.to, LeadsTo::Key(_)));
        for (through, known) in &mut self.tests {
            let mut left = vec![];
            for some in heads.chunks(TEXTS_MAX) {
                let leads = match &through.to {
                    LeadsTo::Itself => {
                        some.iter().map(|(id, _)| (*id, Start::Number(*id))).collect()
                    }
                    LeadsTo::Mark(at) => marked(some, *at),
                    LeadsTo::Key(key) => {
                        let ids: Vec<i64> = some.iter().map(|(id, _)| *id).collect();
                        named(&rows(source, &ids, &mut Bytes::default()).await?, |row| key.of(row))
                    }
                };
                learn(source, through, known, &leads).await?;
                let passes =
                    |id| leads.get(id).is_some_and(|start| known.get(start) == Some(&true));
                left.extend(some.iter().filter(|(id, _)| passes(id)).cloned());
            }
            heads = left;
        }
        Ok(heads.into_iter().map(|(id, _)| id).collect())
    }
}

/// The document to which each document leads, by the number of the latter.
type Led = BTreeMap<i64, Start>;

fn marked(heads: &[Head], at: usize) -> Led {
    let mark = |marks: &[Option<i64>]| marks.get(at).copied().flatten();
    heads.iter().filter_map(|(id, marks)| Some((*id, Start::Number(mark(marks)?)))).collect()
}

fn named(rows: &[Row], key: impl Fn(&Row) -> Option<NaturalKey>) -> Led {
    rows.iter().filter_map(|row| Some((row.id.0, Start::Document(key(row)?)))).collect()
}

/// Tests documents that have not been tested before.
async fn learn<S: Source>(
    source: &S,
    through: &Through,
    known: &mut HashMap<Start, bool>,
    leads: &Led,
) -> Result<(), S::Error> {
    if known.len() > KNOWN_MAX {
        known.clear();
    }
    let mut new: Vec<Start> =
        leads.values().copied().filter(|start| !known.contains_key(start)).collect();
    new.sort_unstable();
    new.dedup();
    if !new.is_empty() {
        let passed = through::look(source, &new, &through.test).await?;
        known.extend(new.into_iter().zip(passed.into_iter().map(|passed| passed.is_passed)));
    }
    Ok(())
}
