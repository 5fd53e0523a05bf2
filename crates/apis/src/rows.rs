//! The rows of what is published, read and written.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use homeroom_store::{Answer, Ask, Decision, Lane, Plan, Refused, Sql, Store, Value, Write};
use serde::de::DeserializeOwned;

use crate::definition::Published;
use crate::edit::{Edit, text};
use crate::error::ApisError;
use crate::sql;
use crate::subscription::Subscription;

/// The lane of what is published, and of the use of its quotas.
pub(crate) const LANE: Lane = Lane::new("published");

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Plan,
    Api,
    Document,
}

/// Which changes there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// The version of the last change.
    pub(crate) version: i64,
    /// That of the last one that removed something.
    pub(crate) removed: i64,
    /// Whether everything is still in one row.
    pub(crate) is_whole: bool,
}

/// A row of a plan, an API or a document.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) place: i64,
    pub(crate) text: String,
}

/// How far changes of one kind have been read.
#[derive(Debug)]
pub(crate) struct Reading {
    kind: Kind,
    after: (i64, String),
    is_over: bool,
}

/// The rows of a store.
#[derive(Debug, Clone)]
pub(crate) struct Rows(pub(crate) Store);

impl Kind {
    const ALL: [Self; 3] = [Self::Plan, Self::Api, Self::Document];

    fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Api => "api",
            Self::Document => "document",
        }
    }
}

impl Reading {
    /// Begins with what has changed after a version.
    pub(crate) fn after(version: i64, kind: Kind) -> Self {
        // The empty name precedes every name, so reading begins with the first row of the next version.
        Self { kind, after: (version.saturating_add(1), String::new()), is_over: false }
    }
}

impl Row {
    /// Reads what the row defines.
    ///
    /// # Errors
    ///
    /// [`ApisError::Damaged`] if it is something else.
    pub(crate) fn item<T: DeserializeOwned>(&self) -> Result<T, ApisError> {
        serde_json::from_str(&self.text)
            .map_err(|error| ApisError::Damaged(format!("{}: {error}", self.name)))
    }

    fn read(row: Vec<Value>) -> Option<(i64, Self)> {
        let [Value::Text(name), Value::Integer(place), Value::Integer(version), Value::Text(text)] =
            <[Value; 4]>::try_from(row).ok()?
        else {
            return None;
        };
        Some((version, Self { name, place, text }))
    }
}

impl Rows {
    pub(crate) async fn state(&self) -> Result<State, ApisError> {
        let rows = self.0.query(Sql::new(sql::STATE, vec![])).await?;
        match rows.first().map(|row| &row[..]) {
            Some([Value::Integer(version), Value::Integer(removed), Value::Integer(whole)]) => {
                Ok(State { version: *version, removed: *removed, is_whole: *whole != 0 })
            }
            _ => Err(ApisError::Damaged("its version".into())),
        }
    }

    /// Returns some of the rows that are left to read; none at the end.
    pub(crate) async fn next(&self, reading: &mut Reading) -> Result<Vec<Row>, ApisError> {
        if reading.is_over {
            return Ok(vec![]);
        }
        let (version, name) = reading.after.clone();
        let arguments = vec![reading.kind.name().into(), version.into(), name.into()];
        let found = self.0.query(Sql::new(sql::CHANGED, arguments)).await?;
        let mut rows = Vec::with_capacity(found.len());
        for row in found {
            let (version, row) =
                Row::read(row).ok_or_else(|| ApisError::Damaged("a row".into()))?;
            reading.after = (version, row.name.clone());
            rows.push(row);
        }
        reading.is_over = rows.is_empty();
        Ok(rows)
    }

    /// Returns the names of all that is published, of each kind.
    pub(crate) async fn names(&self) -> Result<HashSet<(Kind, String)>, ApisError> {
        let read = |row: Vec<Value>| {
            let [Value::Text(kind), Value::Text(name)] = <[Value; 2]>::try_from(row).ok()? else {
                return None;
            };
            let kind = Kind::ALL.into_iter().find(|own| own.name() == kind)?;
            Some((kind, name))
        };
        let rows = self.0.query(Sql::new(sql::NAMES, vec![])).await?;
        let names: Option<_> = rows.into_iter().map(read).collect();
        names.ok_or_else(|| ApisError::Damaged("a name".into()))
    }

    /// Returns the texts of documents, of those that there are.
    pub(crate) async fn documents(
        &self,
        names: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, ApisError> {
        let mut texts = BTreeMap::new();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for page in names.chunks(sql::TEXTS_NAMES) {
            // A page with fewer names has its last one several times.
            let last = page[page.len() - 1];
            let names = page.iter().copied().chain(std::iter::repeat(last));
            let mut arguments: Vec<Value> = vec![Kind::Document.name().into()];
            arguments.extend(names.take(sql::TEXTS_NAMES).map(Value::from));
            for row in self.0.query(Sql::new(sql::TEXTS, arguments)).await? {
                if let Ok([Value::Text(name), Value::Text(text)]) = <[Value; 2]>::try_from(row) {
                    texts.insert(name, text);
                }
            }
        }
        Ok(texts)
    }

    /// Returns what is still in one row.
    pub(crate) async fn whole(&self) -> Result<Published, ApisError> {
        let rows = self.0.query(Sql::new(sql::WHOLE, vec![])).await?;
        let text = rows.first().and_then(|row| row.first()?.as_text()).unwrap_or_default();
        if text.is_empty() {
            return Ok(Published::default());
        }
        serde_json::from_str(text).map_err(|error| ApisError::Damaged(error.to_string()))
    }

    /// Returns the subscriptions that have changed after a version, by key.
    pub(crate) async fn subscriptions(
        &self,
        after: i64,
    ) -> Result<BTreeMap<String, Subscription>, ApisError> {
        let rows = self.0.query(Sql::new(sql::SUBSCRIPTIONS, vec![after.into()])).await?;
        let read = rows.iter().map(|row| Subscription::read(row));
        read.collect::<Option<_>>().ok_or_else(|| ApisError::Damaged("a subscription".into()))
    }

    /// Writes a change of the version that has been read, and returns the next version.
    ///
    /// # Errors
    ///
    /// [`ApisError::Meanwhile`] if another one was quicker: then nothing is written.
    pub(crate) async fn write(
        &self,
        seen: i64,
        edit: &Edit,
        is_whole: bool,
    ) -> Result<i64, ApisError> {
        let version = seen + 1;
        let mut writes = writes(version, edit)?;
        if is_whole {
            writes.push(Sql::new(sql::FORGET_WHOLE, vec![]));
        }
        let count = if edit.removes() { sql::SET_REMOVED } else { sql::SET_VERSION };
        writes.push(Sql::new(count, vec![version.into()]));
        self.run(seen, writes).await?;
        Ok(version)
    }

    /// Writes the subscription of a key; otherwise as [`write`](Self::write).
    ///
    /// # Errors
    ///
    /// [`ApisError::Meanwhile`], as for `write`.
    pub(crate) async fn subscribe(
        &self,
        seen: i64,
        key: &str,
        to: &Subscription,
    ) -> Result<(), ApisError> {
        let version = seen + 1;
        let writes = vec![
            Sql::new(sql::SUBSCRIBE, to.arguments(key, version)),
            Sql::new(sql::SET_VERSION, vec![version.into()]),
        ];
        self.run(seen, writes).await
    }

    async fn run(&self, seen: i64, writes: Vec<Sql>) -> Result<(), ApisError> {
        let plan = Plan {
            ask: vec![Ask::Rows(LANE.all(), Sql::new(sql::VERSION, vec![]))],
            decide: move |found: Vec<Answer>| -> Decision<(), ApisError> {
                let now = match found.first() {
                    Some(Answer::Rows(rows)) => {
                        rows.first().and_then(|row| row.first()?.as_integer())
                    }
                    _ => None,
                };
                if now != Some(seen) {
                    return Decision::Refuse(ApisError::Meanwhile);
                }
                let writes = writes.iter().cloned();
                Decision::Write(writes.map(|sql| Write::Rows(LANE.all(), sql)).collect(), ())
            },
        };
        match self.0.run_in(LANE, plan).await {
            Ok(_) => Ok(()),
            Err(Refused::Decision(error)) => Err(error),
            Err(Refused::Store(error)) => Err(error.into()),
        }
    }
}

/// Returns the statements of a change.
fn writes(version: i64, edit: &Edit) -> Result<Vec<Sql>, ApisError> {
    let put = |kind: Kind, name: &str, place: i64, text: String| {
        let arguments =
            vec![kind.name().into(), name.into(), place.into(), version.into(), text.into()];
        Sql::new(sql::PUT, arguments)
    };
    let remove =
        |kind: Kind, name: &str| Sql::new(sql::REMOVE, vec![kind.name().into(), name.into()]);
    let mut writes = vec![];
    for (name, new) in &edit.plans {
        match new {
            Some((place, plan)) => writes.push(put(Kind::Plan, name, *place, text(plan)?)),
            None => writes.push(remove(Kind::Plan, name)),
        }
    }
    for (name, new) in &edit.apis {
        match new {
            Some((place, api)) => writes.push(put(Kind::Api, name, *place, text(api)?)),
            None => writes.push(remove(Kind::Api, name)),
        }
    }
    for (name, new) in &edit.documents {
        writes.push(match new {
            Some(text) => put(Kind::Document, name, 0, text.clone()),
            None => remove(Kind::Document, name),
        });
    }
    for (kind, moved) in [(Kind::Plan, &edit.moved_plans), (Kind::Api, &edit.moved_apis)] {
        let to = |(name, place): &(String, i64)| {
            let arguments =
                vec![kind.name().into(), name.as_str().into(), (*place).into(), version.into()];
            Sql::new(sql::MOVE, arguments)
        };
        writes.extend(moved.iter().map(to));
    }
    Ok(writes)
}
