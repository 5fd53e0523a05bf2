//! Builds a scenario's steps from what can be done with a resource.

use std::collections::BTreeMap;

use serde_json::Value;

use super::abilities::{Abilities, PoolRow, Update, text};
use super::coverage::Operation;
use super::placeholders::{self, CHANGED, CHANGED_DIGITS, SERIAL, SERIAL_DATE};
use super::settings::weight;
use super::shape::Resource;
use homeroom_load::scenario::{EdfiFile, Expect, Keep, Pick, StepFile};

/// The number of documents in a list.
const LIST_LIMIT: usize = 25;
/// The least share of new documents that stays for reading, whatever the share of deletes.
const KEPT_MIN: f64 = 0.2;

/// Returns the steps of a resource.
pub fn of(
    file: &EdfiFile,
    resource: &Resource,
    path: &str,
    abilities: &Abilities,
) -> Vec<StepFile> {
    let made = Making { file, resource, path, abilities };
    let creates = made.creates();
    let delete =
        if creates.iter().any(|step| made.fills_doomed(step)) { made.delete() } else { vec![] };
    [creates, made.read(), made.update(), delete, made.list()].concat()
}

/// Returns the share of creates whose documents will be deleted: as many as there are deletes, as
/// long as enough are left for reading.
pub fn doomed(file: &EdfiFile) -> f64 {
    file.delete.min(file.create * (1.0 - KEPT_MIN))
}

/// Returns the pools of a resource and the rows that they hold before the run.
pub fn pools(resource: &Resource, abilities: &Abilities) -> Vec<(String, Vec<PoolRow>)> {
    let pools =
        [(resource.name.clone(), &abilities.created), (found_pool(resource), &abilities.readable)];
    let filled = pools.into_iter().filter(|(_, rows)| !rows.is_empty());
    filled.map(|(name, rows)| (name, rows.clone())).collect()
}

/// Returns the pool of documents that are only read, used where this key cannot read what it
/// creates.
fn found_pool(resource: &Resource) -> String {
    format!("{} to read", resource.name)
}

/// Returns the pool of documents that will be deleted and are used for nothing else.
fn doomed_pool(resource: &Resource) -> String {
    format!("{} to delete", resource.name)
}

struct Making<'m> {
    file: &'m EdfiFile,
    resource: &'m Resource,
    path: &'m str,
    abilities: &'m Abilities,
}

impl Making<'_> {
    fn step(
        &self,
        operation: Operation,
        method: &str,
        path: String,
        share: f64,
    ) -> Option<StepFile> {
        let weight = share * weight(self.file, &self.resource.name);
        (weight > 0.0).then(|| StepFile {
            name: format!("{} {}", operation.name(), self.resource.name),
            group: self.resource.name.clone(),
            method: method.to_owned(),
            path,
            auth: true,
            weight: Some(weight),
            ..StepFile::default()
        })
    }

    /// Returns the steps that create documents: those to be read and those to be deleted. The two
    /// are kept apart so that no document is read while it is being deleted.
    fn creates(&self) -> Vec<StepFile> {
        let Some(draft) = &self.abilities.draft else { return vec![] };
        let share = self.file.create;
        let doomed = if self.abilities.deletes { doomed(self.file) } else { 0.0 };
        let mut keep = BTreeMap::from([("id".to_owned(), "${id}".to_owned())]);
        for place in placeholders::places(&draft.body) {
            keep.insert(variable(&place), given(&place));
        }
        let create = |share: f64, pool: String, number: usize| {
            let mut step = self.step(Operation::Create, "POST", self.path.to_owned(), share)?;
            step.body = Some(placeholders::scenario_text(&draft.body, given));
            step.expect = Some(statuses(&[201, 200]));
            step.take = BTreeMap::from([("id".to_owned(), "header:location".to_owned())]);
            step.keep = Some(Keep { pool, values: keep.clone() });
            step.each = combinations(&draft.each, number, doomed > 0.0);
            if number > 0 {
                step.name.push_str(" to delete");
            }
            step.each.values().all(|values| !values.is_empty()).then_some(step)
        };
        let kept = create(share - doomed, self.resource.name.clone(), 0);
        let doomed = create(doomed, doomed_pool(self.resource), 1);
        kept.into_iter().chain(doomed).collect()
    }

    fn fills_doomed(&self, step: &StepFile) -> bool {
        step.keep.as_ref().is_some_and(|keep| keep.pool == doomed_pool(self.resource))
    }

    fn read(&self) -> Vec<StepFile> {
        let pool = match self.abilities.reads_created {
            true => self.resource.name.clone(),
            false if self.abilities.readable.is_empty() => return vec![],
            false => found_pool(self.resource),
        };
        let step = self.step(Operation::Read, "GET", self.by_id(), self.file.read);
        let read = |mut step: StepFile| {
            step.from = Some(Pick { pool: pool.clone(), remove: false });
            step.expect = Some(statuses(&[200]));
            step
        };
        step.map(read).into_iter().collect()
    }

    fn update(&self) -> Vec<StepFile> {
        let Some(update) = &self.abilities.update else { return vec![] };
        let (method, path, body) = match update {
            Update::New(body) => ("PUT", self.by_id(), body),
            Update::Again(body) => ("POST", self.path.to_owned(), body),
            Update::One(id, body) => ("PUT", format!("{}/{id}", self.path), body),
        };
        let Some(mut step) = self.step(Operation::Update, method, path, self.file.update) else {
            return vec![];
        };
        step.body = Some(placeholders::scenario_text(body, |place| match place {
            CHANGED => "${serial}".into(),
            CHANGED_DIGITS => "${random:10..99}".into(),
            place => format!("${{{}}}", variable(place)),
        }));
        step.expect = Some(statuses(&[204, 200]));
        let is_of_many = !matches!(update, Update::One(..));
        step.from = is_of_many.then(|| Pick { pool: self.resource.name.clone(), remove: false });
        vec![step]
    }

    fn delete(&self) -> Vec<StepFile> {
        let step = self.step(Operation::Delete, "DELETE", self.by_id(), self.file.delete);
        let delete = |mut step: StepFile| {
            step.from = Some(Pick { pool: doomed_pool(self.resource), remove: true });
            step.expect = Some(statuses(&[204]));
            step
        };
        step.map(delete).into_iter().collect()
    }

    fn list(&self) -> Vec<StepFile> {
        if !self.abilities.lists {
            return vec![];
        }
        let path = format!("{}?limit={LIST_LIMIT}", self.path);
        let step = self.step(Operation::List, "GET", path, self.file.list);
        let list = |mut step: StepFile| {
            step.expect = Some(statuses(&[200]));
            step
        };
        step.map(list).into_iter().collect()
    }

    fn by_id(&self) -> String {
        format!("{}/${{id}}", self.path)
    }
}

/// Returns the variable that holds a placeholder's value.
fn variable(place: &str) -> String {
    match place {
        SERIAL | SERIAL_DATE => "n".into(),
        other => other.into(),
    }
}

/// Returns the value of a placeholder when a document is created.
fn given(place: &str) -> String {
    format!("${{{place}}}")
}

fn statuses(right: &[u16]) -> Expect {
    match right {
        [only] => Expect::Status(*only),
        any => Expect::Any(any.iter().map(|status| Expect::Status(*status)).collect()),
    }
}

/// Returns the combinations of one of the two creating steps. Each gets every other value of the
/// first variable, so that neither creates a document of the other's.
fn combinations(
    each: &BTreeMap<String, Vec<Value>>,
    number: usize,
    is_shared: bool,
) -> BTreeMap<String, Vec<String>> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (at, (name, values)) in each.iter().enumerate() {
        let step = if at == 0 && is_shared { 2 } else { 1 };
        let skipped = if at == 0 { number } else { 0 };
        let values = values.iter().skip(skipped).step_by(step);
        texts.insert(name.clone(), values.map(text).collect());
    }
    texts
}
