//! Resources that are rows of a table: how they are listed, read, created, changed and deleted.

use std::borrow::Cow;

use homeroom_access::{Call, Change, ItemKind, Registry};
use homeroom_http::{Response, empty_response, json_response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::form::{self, Member};
use crate::list::{Filter, Row, answer_list, page};
use crate::manager::{Admin, Manager};
use crate::refusal::{Faults, Refusal};

/// Where the second version of the Admin API is served.
const BASE: &str = "/adminapi/v2";

/// A kind of item, and how it differs from others.
pub(crate) struct Resource {
    pub(crate) kind: ItemKind,
    /// Name of one item in messages.
    pub(crate) noun: &'static str,
    /// The path of the list, and of one item.
    pub(crate) all: &'static str,
    pub(crate) one: &'static str,
    /// Most items in a store.
    pub(crate) count_max: usize,
    pub(crate) members: &'static [Member],
    pub(crate) filters: &'static [Filter],
    /// Members that lists omit.
    pub(crate) only_in_one: &'static [&'static str],
    /// Checks a new definition against the registry.
    pub(crate) check: fn(&Registry, &mut Candidate<'_>) -> Result<(), Refusal>,
    /// Applies the effects of a new item; returns the body of the answer, if it has one.
    pub(crate) created: fn(&mut Change<'_>, i64, &Value) -> Result<Option<Value>, Refusal>,
    /// Applies the effects of a changed item.
    pub(crate) changed: fn(&mut Change<'_>, i64, &Value) -> Result<(), Refusal>,
    /// Deletes what depends on an item, or refuses.
    pub(crate) deleted: fn(&mut Change<'_>, i64) -> Result<(), Refusal>,
    /// Adds members that are not part of the definition.
    pub(crate) derived: fn(&Registry, i64, &mut Map<String, Value>),
}

/// A definition that is about to be stored.
pub(crate) struct Candidate<'a> {
    /// The id of the item that it replaces, if any.
    pub(crate) id: Option<i64>,
    pub(crate) definition: &'a mut Value,
    pub(crate) faults: Faults,
}

impl Candidate<'_> {
    /// Returns a text of the definition; empty where it is absent.
    pub(crate) fn text(&self, member: &str) -> &str {
        self.definition[member].as_str().unwrap_or_default()
    }

    /// Adds a violation if another item of the kind has the same text, in any case.
    pub(crate) fn must_be_unique(&mut self, registry: &Registry, kind: ItemKind, member: &str) {
        let own = self.text(member).to_lowercase();
        let taken = registry.items(kind).any(|(id, other)| {
            Some(id) != self.id
                && other[member].as_str().is_some_and(|text| text.to_lowercase() == own)
        });
        if taken && !own.is_empty() {
            self.faults.add(member, format!("'{}' is already taken.", self.text(member)));
        }
    }
}

/// Used where creating an item has no effects.
pub(crate) fn nothing_created(
    _: &mut Change<'_>,
    _: i64,
    _: &Value,
) -> Result<Option<Value>, Refusal> {
    Ok(None)
}

/// Used where changing an item has no effects.
pub(crate) fn nothing_changed(_: &mut Change<'_>, _: i64, _: &Value) -> Result<(), Refusal> {
    Ok(())
}

/// Used where deleting an item deletes nothing else.
pub(crate) fn nothing_deleted(_: &mut Change<'_>, _: i64) -> Result<(), Refusal> {
    Ok(())
}

/// Used where no members are derived.
pub(crate) fn nothing_derived(_: &Registry, _: i64, _: &mut Map<String, Value>) {}

impl Resource {
    /// Answers GET of all items.
    pub(crate) fn list(&self, admin: &Admin, call: &Call) -> Result<Response, Refusal> {
        let query = call.query()?;
        admin.access.look_up(|registry| {
            let items = registry.items(self.kind);
            let rows = items.map(|(id, item)| Row { id, members: Cow::Borrowed(item) });
            let page = page(&query, rows.collect(), self.filters)?;
            answer_list(page.into_iter().map(|row| {
                let mut shown = self.shown(registry, row.id, &row.members);
                for member in self.only_in_one {
                    shown.shift_remove(*member);
                }
                shown.into()
            }))
        })
    }

    /// Answers GET of one item.
    pub(crate) fn get(&self, admin: &Admin, call: &Call) -> Result<Response, Refusal> {
        let id = self.id(call)?;
        admin.access.look_up(|registry| {
            let item = registry.item(self.kind, id);
            let item = item.ok_or_else(|| Refusal::not_found(self.noun, id))?;
            let shown = Value::Object(self.shown(registry, id, item));
            Ok(json_response(StatusCode::OK, shown.to_string()))
        })
    }

    /// Answers POST: creates an item.
    pub(crate) async fn create(
        &self,
        admin: &Manager,
        call: &mut Call,
    ) -> Result<Response, Refusal> {
        let body = form::read_object(call).await?;
        let mut change = admin.begin(call).await?;
        let mut faults = Faults::default();
        if form::member(&body, "id").is_some() {
            faults.add("id", "Must be left out: the server assigns it.");
        }
        let definition = self.checked(&change, None, &body, faults)?;
        let count = change.look_up(|registry| registry.items(self.kind).count());
        if count >= self.count_max {
            let message = format!("There are {} of a {} already.", self.count_max, self.noun);
            return Err(Refusal::Invalid(Faults::of("id", message)));
        }
        let id = change.put(self.kind, None, definition.clone())?;
        let answer = (self.created)(&mut change, id, &definition)?;
        change.commit().await?;
        Ok(created(self.all, id, answer.as_ref()))
    }

    /// Answers PUT: replaces an item.
    pub(crate) async fn replace(
        &self,
        admin: &Manager,
        call: &mut Call,
    ) -> Result<Response, Refusal> {
        let id = self.id(call)?;
        let body = form::read_object(call).await?;
        let mut change = admin.begin(call).await?;
        if change.look_up(|registry| registry.item(self.kind, id).is_none()) {
            return Err(Refusal::not_found(self.noun, id));
        }
        let definition = self.checked(&change, Some(id), &body, Faults::default())?;
        change.put(self.kind, Some(id), definition.clone())?;
        (self.changed)(&mut change, id, &definition)?;
        change.commit().await?;
        Ok(empty_response(StatusCode::OK))
    }

    /// Answers DELETE: removes an item.
    pub(crate) async fn delete(&self, admin: &Manager, call: &Call) -> Result<Response, Refusal> {
        let id = self.id(call)?;
        let mut change = admin.begin(call).await?;
        if change.look_up(|registry| registry.item(self.kind, id).is_none()) {
            return Err(Refusal::not_found(self.noun, id));
        }
        (self.deleted)(&mut change, id)?;
        change.remove(self.kind, id);
        change.commit().await?;
        Ok(deleted(self.noun))
    }

    /// Returns the id in the path.
    pub(crate) fn id(&self, call: &Call) -> Result<i64, Refusal> {
        id_of(call, "id", self.noun)
    }

    /// Returns the members of an item as they are shown.
    pub(crate) fn shown(&self, registry: &Registry, id: i64, item: &Value) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert("id".into(), id.into());
        shown.extend(item.as_object().into_iter().flatten().map(|(n, v)| (n.clone(), v.clone())));
        (self.derived)(registry, id, &mut shown);
        shown
    }

    fn checked(
        &self,
        change: &Change<'_>,
        id: Option<i64>,
        body: &Map<String, Value>,
        mut faults: Faults,
    ) -> Result<Value, Refusal> {
        let mut definition = form::read(body, self.members, &mut faults);
        let mut candidate = Candidate { id, definition: &mut definition, faults };
        change.look_up(|registry| (self.check)(registry, &mut candidate))?;
        candidate.faults.or_none()?;
        Ok(definition)
    }
}

/// Returns the number in a placeholder of the path; anything else is answered 404.
pub(crate) fn id_of(call: &Call, placeholder: &str, noun: &str) -> Result<i64, Refusal> {
    let text = call.params.get(placeholder);
    text.parse().map_err(|_| Refusal::not_found(noun, text))
}

/// Returns the answer for a created item. Its location is relative and without the version's base,
/// `/vendors/1`, as clients of the Ed-Fi Admin API take it apart.
pub(crate) fn created(all: &str, id: i64, body: Option<&Value>) -> Response {
    let mut response = match body {
        Some(body) => json_response(StatusCode::CREATED, body.to_string()),
        None => empty_response(StatusCode::CREATED),
    };
    if let Ok(location) = HeaderValue::try_from(format!("{}/{id}", below_base(all))) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// Returns a path without the base of the Admin API.
fn below_base(path: &str) -> &str {
    path.strip_prefix(BASE).unwrap_or(path)
}

/// Returns the answer for a deleted item.
pub(crate) fn deleted(noun: &str) -> Response {
    let body = json!({"title": format!("The {noun} was deleted successfully.")});
    json_response(StatusCode::OK, body.to_string())
}
