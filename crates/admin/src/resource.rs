//! Resources that are a row of a table: how they are listed, read, made, changed, deleted.

use std::borrow::Cow;

use homeroom_access::{Call, Change, ItemKind, Registry};
use homeroom_http::{Response, empty_response, json_response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::form::{self, Member};
use crate::list::{Filter, Row, answer_list, page};
use crate::refusal::{Faults, Refusal};
use crate::routes::{Admin, Manager};

/// A kind of item, and what sets it apart.
pub(crate) struct Resource {
    pub(crate) kind: ItemKind,
    /// What one of them is called.
    pub(crate) noun: &'static str,
    /// The address of all of them, and of one.
    pub(crate) all: &'static str,
    pub(crate) one: &'static str,
    /// Most that there may be.
    pub(crate) count_max: usize,
    pub(crate) members: &'static [Member],
    pub(crate) filters: &'static [Filter],
    /// Members that a list leaves out.
    pub(crate) only_in_one: &'static [&'static str],
    /// Looks at a new definition beside what there is.
    pub(crate) check: fn(&Registry, &mut Candidate<'_>) -> Result<(), Refusal>,
    /// What follows from a new item; the body of the answer, if it has one.
    pub(crate) created: fn(&mut Change<'_>, i64, &Value) -> Result<Option<Value>, Refusal>,
    /// What follows from a changed item.
    pub(crate) changed: fn(&mut Change<'_>, i64, &Value) -> Result<(), Refusal>,
    /// What must go with an item, or why it cannot go.
    pub(crate) deleted: fn(&mut Change<'_>, i64) -> Result<(), Refusal>,
    /// Members that are no part of the definition.
    pub(crate) derived: fn(&Registry, i64, &mut Map<String, Value>),
}

/// A definition that would be stored.
pub(crate) struct Candidate<'a> {
    /// Its id, where it replaces one.
    pub(crate) id: Option<i64>,
    pub(crate) definition: &'a mut Value,
    pub(crate) faults: Faults,
}

impl Candidate<'_> {
    /// A text of the definition; empty where it is absent.
    pub(crate) fn text(&self, member: &str) -> &str {
        self.definition[member].as_str().unwrap_or_default()
    }

    /// Refuses a text that another of the kind has, in any case.
    pub(crate) fn must_be_unique(&mut self, registry: &Registry, kind: ItemKind, member: &str) {
        let own = self.text(member).to_lowercase();
        let taken = registry.items(kind).any(|(id, other)| {
            Some(id) != self.id
                && other[member].as_str().is_some_and(|text| text.to_lowercase() == own)
        });
        if taken && !own.is_empty() {
            self.faults.add(member, format!("'{}' is taken already.", self.text(member)));
        }
    }
}

/// Nothing follows.
pub(crate) fn nothing_created(
    _: &mut Change<'_>,
    _: i64,
    _: &Value,
) -> Result<Option<Value>, Refusal> {
    Ok(None)
}

/// Nothing follows.
pub(crate) fn nothing_changed(_: &mut Change<'_>, _: i64, _: &Value) -> Result<(), Refusal> {
    Ok(())
}

/// Nothing else goes.
pub(crate) fn nothing_deleted(_: &mut Change<'_>, _: i64) -> Result<(), Refusal> {
    Ok(())
}

/// Nothing is derived.
pub(crate) fn nothing_derived(_: &Registry, _: i64, _: &mut Map<String, Value>) {}

impl Resource {
    /// GET of all.
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

    /// GET of one.
    pub(crate) fn get(&self, admin: &Admin, call: &Call) -> Result<Response, Refusal> {
        let id = self.id(call)?;
        admin.access.look_up(|registry| {
            let item = registry.item(self.kind, id);
            let item = item.ok_or_else(|| Refusal::not_found(self.noun, id))?;
            let shown = Value::Object(self.shown(registry, id, item));
            Ok(json_response(StatusCode::OK, shown.to_string()))
        })
    }

    /// Answers POST: makes an item.
    pub(crate) async fn create(
        &self,
        admin: &Manager,
        call: &mut Call,
    ) -> Result<Response, Refusal> {
        let body = form::read_object(call).await?;
        let mut change = admin.begin(call).await?;
        let mut faults = Faults::default();
        if form::member(&body, "id").is_some() {
            faults.add("id", "Must be left out: the server gives it.");
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
        Ok(created(call, self.all, id, answer.as_ref()))
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

    /// The id of the address.
    pub(crate) fn id(&self, call: &Call) -> Result<i64, Refusal> {
        id_of(call, "id", self.noun)
    }

    /// What is shown of an item.
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

/// The number in a placeholder of the address; what is none is not found.
pub(crate) fn id_of(call: &Call, placeholder: &str, noun: &str) -> Result<i64, Refusal> {
    let text = call.params.get(placeholder);
    text.parse().map_err(|_| Refusal::not_found(noun, text))
}

/// The answer when something was made, whose address is that of all and its id.
pub(crate) fn created(call: &Call, all: &str, id: i64, body: Option<&Value>) -> Response {
    let mut response = match body {
        Some(body) => json_response(StatusCode::CREATED, body.to_string()),
        None => empty_response(StatusCode::CREATED),
    };
    if let Ok(location) = HeaderValue::try_from(format!("{}{all}/{id}", call.base_url)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The answer when something was deleted.
pub(crate) fn deleted(noun: &str) -> Response {
    let body = json!({"title": format!("The {noun} was deleted successfully.")});
    json_response(StatusCode::OK, body.to_string())
}
