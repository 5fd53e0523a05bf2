//! Does once with each resource what the run will do repeatedly, so that the run contains nothing
//! that this key cannot do on this target.

use std::collections::BTreeMap;

use serde_json::Value;

use super::api::ApiError;
use super::coverage::{LeftOut, Operation};
use super::document::{Anchors, Made};
use super::fresh::Draft;
use super::placeholders::{self, CHANGED, CHANGED_DIGITS, SERIAL, SERIAL_DATE};
use super::setup::SetUp;
use super::shape::{Form, Property, Resource, Scalar};
use super::values::is_namespace;

/// The number of documents created of each resource: one is deleted again, the others can be read
/// from the first second on.
const ROWS: usize = 4;
/// The most drafts that are tried for a resource.
const DRAFTS_MAX: usize = 3;
/// The most documents that are read to find readable ones.
const READ_MAX: usize = 8;
/// The number of documents that are listed where none can be created.
const FOUND_MAX: usize = 25;

/// The values of a document that the run needs, by variable.
pub type PoolRow = BTreeMap<String, String>;

/// What can be done with a resource.
#[derive(Debug, Default)]
pub struct Abilities {
    /// The resource's number.
    pub resource: usize,
    /// How new documents look, if they can be created.
    pub draft: Option<Draft>,
    /// The documents that were created as the run will create them, except the one that was
    /// deleted.
    pub created: Vec<PoolRow>,
    /// Whether the created documents can be read.
    pub reads_created: bool,
    /// Other documents to read, if the created ones cannot be.
    pub readable: Vec<PoolRow>,
    /// How a document is changed.
    pub update: Option<Update>,
    /// Whether new documents can be deleted.
    pub deletes: bool,
    /// Whether the collection can be listed.
    pub lists: bool,
    /// The operations that are not possible, and why.
    pub left_out: Vec<LeftOut>,
}

/// How a document is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// By PUT to any of the created documents: the body, with its placeholders.
    New(Value),
    /// By POST of the same document again.
    Again(Value),
    /// By PUT to one document that the set-up made: its id and body.
    One(String, Value),
}

impl SetUp<'_, '_> {
    /// Tries out a resource of this weight.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn find_abilities(&mut self, at: usize, weight: f64) -> Result<Abilities, ApiError> {
        let mut abilities = Abilities { resource: at, ..Abilities::default() };
        self.try_create(&mut abilities, weight)?;
        self.try_update(&mut abilities)?;
        self.try_delete(&mut abilities)?;
        self.try_read(&mut abilities)?;
        self.try_list(&mut abilities)?;
        Ok(abilities)
    }

    fn resource(&self, at: usize) -> &'_ Resource {
        &self.world.shapes.resources[at]
    }

    fn try_create(&mut self, abilities: &mut Abilities, weight: f64) -> Result<(), ApiError> {
        let mut why = String::new();
        let drafts = self.drafts(abilities.resource, weight)?.unwrap_or_else(|missing| {
            why = missing.to_string();
            vec![]
        });
        for draft in drafts.into_iter().take(DRAFTS_MAX) {
            match self.rows(abilities.resource, &draft)? {
                Ok((rows, draft)) => {
                    abilities.draft = Some(draft);
                    abilities.created = rows;
                    return Ok(());
                }
                Err(refused) if why.is_empty() => why = refused,
                Err(_) => {}
            }
        }
        if why.is_empty() {
            why = match &self.world.states[abilities.resource] {
                super::world::State::Waiting(why) | super::world::State::Refused(why) => {
                    why.clone()
                }
                _ => "no part of its identity can take a new value".into(),
            };
        }
        abilities.left_out(self.resource(abilities.resource), Operation::Create, why);
        Ok(())
    }

    /// Creates the first documents of a draft and removes their combinations from it.
    fn rows(
        &mut self,
        at: usize,
        draft: &Draft,
    ) -> Result<Result<(Vec<PoolRow>, Draft), String>, ApiError> {
        let shapes = self.world.shapes;
        let (each, draft) = apart(draft);
        let mut rows: Vec<PoolRow> = vec![];
        for mut row in each {
            for place in placeholders::places(&draft.body) {
                match place.as_str() {
                    SERIAL => drop(row.insert("n".into(), self.values.serial())),
                    SERIAL_DATE => drop(row.insert("n".into(), self.values.serial_date())),
                    _ => {}
                }
            }
            let body = placeholders::filled(&draft.body, |place| in_json(value(&row, place)));
            let id = match self.create_text(&shapes.resources[at], &body)? {
                Ok((id, _)) => id,
                Err(refused) => return Ok(Err(refused)),
            };
            if rows.iter().any(|row| row["id"] == id) {
                return Ok(Err("another identity is the same document".into()));
            }
            row.insert("id".into(), id);
            rows.push(row);
        }
        Ok(Ok((rows, draft)))
    }

    fn try_update(&mut self, abilities: &mut Abilities) -> Result<(), ApiError> {
        let shapes = self.world.shapes;
        let resource = &shapes.resources[abilities.resource];
        let change = changed(resource);
        let mut why = String::new();
        if let (Some(draft), Some(row)) = (&abilities.draft, abilities.created.first()) {
            let mut body = draft.body.clone();
            let can_put = resource.takes.put && change.is_some();
            if let Some((name, value)) = &change {
                body[name] = value.clone();
            }
            let text = placeholders::filled(&body, |place| in_json(value(row, place)));
            let (method, path) = if can_put {
                ("PUT", format!("{}/{}", self.target.path(&resource.path), row["id"]))
            } else {
                ("POST", self.target.path(&resource.path))
            };
            let reply = self.session.send(method, &path, &text)?;
            if reply.is_ok() {
                abilities.update =
                    Some(if can_put { Update::New(body) } else { Update::Again(body) });
                return Ok(());
            }
            why = reply.complaint();
        }
        let anchor = self
            .world
            .anchor(abilities.resource)
            .filter(|_| self.world.is_own(abilities.resource))
            .cloned();
        if let (Some(Made { id, mut body }), Some((name, changed))) = (anchor, change)
            && resource.takes.put
        {
            body[&name] = changed;
            let text = placeholders::filled(&body, |place| in_json(value(&PoolRow::new(), place)));
            let path = format!("{}/{id}", self.target.path(&resource.path));
            let reply = self.session.send("PUT", &path, &text)?;
            if reply.is_ok() {
                abilities.update = Some(Update::One(id, body));
                return Ok(());
            }
            why = reply.complaint();
        }
        if why.is_empty() {
            why = "the set-up created no document to change".into();
        }
        abilities.left_out(resource, Operation::Update, why);
        Ok(())
    }

    fn try_delete(&mut self, abilities: &mut Abilities) -> Result<(), ApiError> {
        let shapes = self.world.shapes;
        let resource = &shapes.resources[abilities.resource];
        let Some(row) = abilities.created.last() else {
            abilities.left_out(
                resource,
                Operation::Delete,
                "the set-up created no document to which nothing refers".into(),
            );
            return Ok(());
        };
        let path = format!("{}/{}", self.target.path(&resource.path), row["id"]);
        let reply = self.session.send("DELETE", &path, "")?;
        if reply.is_ok() {
            abilities.deletes = true;
            abilities.created.pop();
        } else {
            abilities.left_out(resource, Operation::Delete, reply.complaint());
        }
        Ok(())
    }

    fn try_read(&mut self, abilities: &mut Abilities) -> Result<(), ApiError> {
        let shapes = self.world.shapes;
        let resource = &shapes.resources[abilities.resource];
        let mut why = "there is no document to read".to_owned();
        abilities.reads_created =
            !self.readable(resource, &abilities.created, &mut why)?.is_empty();
        if abilities.reads_created {
            return Ok(());
        }
        let by_id = |made: &Made| PoolRow::from([("id".to_owned(), made.id.clone())]);
        let anchor = self.world.anchor(abilities.resource).into_iter();
        let more = self.world.more.get(&abilities.resource).into_iter().flatten();
        let anchors: Vec<PoolRow> = anchor.chain(more).map(by_id).collect();
        abilities.readable = self.readable(resource, &anchors, &mut why)?;
        if abilities.readable.is_empty() {
            let found = self.list(resource, "", FOUND_MAX)?.iter().map(by_id).collect::<Vec<_>>();
            abilities.readable = self.readable(resource, &found, &mut why)?;
        }
        if abilities.readable.is_empty() {
            abilities.left_out(resource, Operation::Read, why);
        }
        Ok(())
    }

    /// Returns the first few of these documents that can be read.
    fn readable(
        &mut self,
        resource: &Resource,
        rows: &[PoolRow],
        why: &mut String,
    ) -> Result<Vec<PoolRow>, ApiError> {
        let mut readable = vec![];
        for row in rows.iter().take(READ_MAX) {
            let path = format!("{}/{}", self.target.path(&resource.path), row["id"]);
            let reply = self.session.send("GET", &path, "")?;
            if reply.is_ok() {
                readable.push(row.clone());
            } else {
                *why = reply.complaint();
            }
        }
        Ok(readable)
    }

    fn try_list(&mut self, abilities: &mut Abilities) -> Result<(), ApiError> {
        let shapes = self.world.shapes;
        let resource = &shapes.resources[abilities.resource];
        let path = format!("{}?limit=1", self.target.path(&resource.path));
        let reply = self.session.send("GET", &path, "")?;
        abilities.lists = reply.is_ok();
        if !abilities.lists {
            abilities.left_out(resource, Operation::List, reply.complaint());
        }
        Ok(())
    }
}

impl Abilities {
    fn left_out(&mut self, resource: &Resource, operation: Operation, why: String) {
        self.left_out.push(LeftOut { resource: resource.name.clone(), operation, why });
    }
}

/// Returns the combinations of the first documents, and the draft without them.
fn apart(draft: &Draft) -> (Vec<PoolRow>, Draft) {
    let mut left = draft.clone();
    let mut rows = vec![PoolRow::new(); ROWS];
    let many = left.each.len();
    for (at, (name, values)) in left.each.iter_mut().enumerate() {
        let is_first = at == 0;
        for (number, row) in rows.iter_mut().enumerate() {
            // With several placeholders, the first has the same value in all rows, which the run
            // then never uses; the others vary.
            let number = if is_first && many > 1 { 0 } else { number };
            row.insert(name.clone(), text(&values[number.min(values.len() - 1)]));
        }
        if is_first {
            let taken = if many > 1 { 1 } else { ROWS };
            values.drain(..taken.min(values.len()));
        }
    }
    (rows, left)
}

/// Returns a value as a scenario writes it.
pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the value of a placeholder for the document in this row.
fn value<'r>(row: &'r PoolRow, place: &str) -> &'r str {
    let name = match place {
        SERIAL | SERIAL_DATE => "n",
        CHANGED => return "1",
        CHANGED_DIGITS => return "25",
        of_combination => of_combination,
    };
    row.get(name).map_or("", String::as_str)
}

/// Escapes a string for use within JSON quotes.
fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns a member that an update can change, and its new value. It is neither part of the
/// identity nor used for authorization.
fn changed(resource: &Resource) -> Option<(String, Value)> {
    let place = placeholders::place(CHANGED);
    let digits = placeholders::place(CHANGED_DIGITS);
    let value = |property: &Property| {
        let Form::Scalar(scalar) = &property.form else { return None };
        Some(match scalar {
            Scalar::Text { max, only: None, min } if *max >= 24 && *min <= 12 => {
                (0, format!("Lab change {place}").into())
            }
            Scalar::Text { max, only: None, min } if *max >= 10 && *min <= 1 => {
                (1, place.clone().into())
            }
            Scalar::Number { min, max } if *min <= 1.0 && *max >= 9.0 => {
                (2, placeholders::number(&format!("1.{digits}")).into())
            }
            Scalar::Boolean => (4, true.into()),
            Scalar::Date => (3, "2026-01-05".into()),
            _ => return None,
        })
    };
    let own = resource.properties.iter().filter(|property| {
        !property.is_identity
            && !is_namespace(&property.name)
            && !resource.identity.contains(&property.name)
            && !property.name.ends_with("Id")
            && !property.name.to_lowercase().ends_with("uri")
    });
    let found = own.filter_map(|property| {
        let (rank, value) = value(property)?;
        Some((rank, property.name.clone(), value))
    });
    found.min_by_key(|(rank, ..)| *rank).map(|(_, name, value): (i32, String, Value)| (name, value))
}
