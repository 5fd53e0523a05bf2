//! Plans as the data API makes them, and what a store holds.

use homeroom_store::{
    Answer, Ask, Decide, Decision, DocumentId, KindId, NaturalKey, NewDocument, Options, Plan,
    References, Refused, Sql, Store, StoreUrl, Tombstone, Uuid, Value, Write,
};

pub fn key(name: u8) -> NaturalKey {
    NaturalKey::of("k", [&[name][..]])
}

/// What a plan does. Names are small numbers, so that plans meet.
#[derive(Debug, Clone)]
pub enum Does {
    /// Creates or replaces `name`, once all that it refers to is there.
    Upsert { name: u8, text: u8, refers: Vec<u8>, alias: Option<u8> },
    /// Deletes `name`, unless another refers to it.
    Delete { name: u8 },
    /// Creates `name` without a look at what is there.
    Blind { name: u8 },
    /// Counts documents by a statement, and keeps the number by another.
    Count { name: u8 },
    /// Fails in its statement.
    Broken,
}

#[derive(Clone)]
pub struct Doing {
    does: Does,
    uuid: Uuid,
    stored: Option<homeroom_store::Row>,
    round: usize,
}

/// A plan; `number` makes its public id.
pub fn plan(number: u32, does: Does) -> Plan<Doing> {
    let ask = match &does {
        Does::Upsert { name, .. } | Does::Delete { name } => vec![Ask::Document(key(*name))],
        Does::Blind { .. } => vec![],
        Does::Count { .. } => vec![Ask::Sql(Sql::new("SELECT count(*) FROM doc", vec![]))],
        Does::Broken => vec![Ask::Sql(Sql::new("SELECT nothing FROM nowhere", vec![]))],
    };
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&number.to_be_bytes());
    Plan { ask, decide: Doing { does, uuid: Uuid(uuid), stored: None, round: 0 } }
}

impl Doing {
    fn document(
        &self,
        name: u8,
        text: u8,
        others: Vec<DocumentId>,
        alias: Option<u8>,
    ) -> NewDocument {
        NewDocument {
            uuid: self.stored.as_ref().map_or(self.uuid, |row| row.uuid),
            kind: KindId(1 + u16::from(name % 2)),
            key: key(name),
            alias: alias.map(|alias| NaturalKey::of("base", [&[alias][..]])),
            body: format!("{{\"name\":{name},\"text\":{text}}}"),
            references: References { links: vec![], others },
            modified: 7,
        }
    }
}

impl Decide for Doing {
    type Done = String;
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<String, String> {
        self.round += 1;
        match (self.does.clone(), self.round) {
            (Does::Upsert { refers, alias, .. }, 1) => {
                if let Some(Answer::Document(row)) = found.into_iter().next() {
                    self.stored = row;
                }
                let bases = alias.map(|alias| NaturalKey::of("base", [&[alias][..]]));
                let asks = refers.iter().map(|name| key(*name)).chain(bases);
                Decision::Ask(asks.map(Ask::Target).collect())
            }
            (Does::Upsert { name, text, refers, alias }, _) => {
                let mut others = vec![];
                for answer in found.iter().take(refers.len()) {
                    match answer {
                        Answer::Target(Some((id, ..))) => others.push(*id),
                        _ => return Decision::Refuse("a target is missing".into()),
                    }
                }
                let own = self.stored.as_ref().map(|row| row.id);
                if let Some(Answer::Target(Some((id, ..)))) = found.get(refers.len())
                    && Some(*id) != own
                {
                    return Decision::Refuse("the base is taken".into());
                }
                others.sort_unstable();
                others.dedup();
                let new = self.document(name, text, others, alias);
                match self.stored.take() {
                    None => Decision::Write(vec![Write::Create(new)], "created".into()),
                    Some(row) if row.body == new.body => Decision::Write(vec![], "kept".into()),
                    Some(row) => {
                        let old_references = row.references;
                        let write = Write::Replace { old: row.id, old_references, new };
                        Decision::Write(vec![write], "replaced".into())
                    }
                }
            }
            (Does::Delete { .. }, 1) => match found.into_iter().next() {
                Some(Answer::Document(Some(row))) => {
                    let id = row.id;
                    self.stored = Some(row);
                    Decision::Ask(vec![Ask::Referrers(id)])
                }
                _ => Decision::Refuse("it is not there".into()),
            },
            (Does::Delete { name }, _) => match (found.into_iter().next(), self.stored.take()) {
                (Some(Answer::Referrers(kinds)), Some(row)) if kinds.is_empty() => {
                    let tombstone = Tombstone { key_values: name.to_string(), modified: 9 };
                    let write = Write::Delete { row: Box::new(row), tombstone };
                    Decision::Write(vec![write], "deleted".into())
                }
                (found, _) => Decision::Refuse(format!("referred to by {found:?}")),
            },
            (Does::Blind { name }, _) => {
                let new = self.document(name, 0, vec![], None);
                Decision::Write(vec![Write::Create(new)], "created blindly".into())
            }
            (Does::Count { name }, _) => {
                let Some(Answer::Rows(rows)) = found.into_iter().next() else {
                    return Decision::Refuse("no rows".into());
                };
                let text = "INSERT INTO kind (id, name) VALUES (?1, ?2)";
                let arguments = vec![
                    (i64::from(name) + 100).into(),
                    format!("{name}: {:?}", rows[0][0]).into(),
                ];
                let write = Write::Sql(Sql::new(text, arguments));
                Decision::Write(vec![write], format!("{rows:?}"))
            }
            (Does::Broken, _) => Decision::Refuse("it cannot be asked".into()),
        }
    }
}

/// What came of a plan, in words that are the same on every database.
pub fn told(outcome: Result<homeroom_store::Ran<String>, Refused<String>>) -> String {
    match outcome {
        Ok(ran) => format!("{} {}", ran.value, ran.change_version),
        Err(Refused::Decision(why)) => why,
        Err(Refused::Store(_)) => "the store could not".into(),
    }
}

/// All that a store holds.
pub fn holds(store: &Store) -> Vec<Vec<Vec<Value>>> {
    [
        "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc ORDER BY id",
        "SELECT id, key FROM alias ORDER BY id",
        "SELECT target, kind, source FROM ref ORDER BY target, kind, source",
        "SELECT kind, block, n FROM tally WHERE n <> 0 ORDER BY kind, block",
        "SELECT cv, kind, uuid, key, key_values, modified FROM tomb ORDER BY cv",
        "SELECT id, name FROM kind ORDER BY id",
    ]
    .map(|text| store.query_blocking(Sql::new(text, vec![])).unwrap())
    .to_vec()
}

/// The kinds of every store here.
pub fn kinds() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

/// How the schema of a store is opened a second time.
pub fn same_schema(store: &Store, options: &Options) -> Options {
    let rows = store.query_blocking(Sql::new("SELECT CAST(current_schema() AS text)", vec![]));
    let schema = rows.unwrap()[0][0].as_text().unwrap().to_owned();
    with_parameter(options, &format!("options=-csearch_path%3D{schema}"))
}

/// The same options, with one more parameter in the address.
pub fn with_parameter(options: &Options, parameter: &str) -> Options {
    let text = address(options);
    let divider = if text.contains('?') { '&' } else { '?' };
    Options { url: format!("{text}{divider}{parameter}").parse().unwrap(), ..options.clone() }
}

/// The address as it was given: the store does not show its password.
pub fn address(options: &Options) -> String {
    let all = std::env::var("HOMEROOM_TEST_POSTGRES").unwrap();
    let is_it = |text: &&str| text.parse::<StoreUrl>().is_ok_and(|url| url == options.url);
    all.split_whitespace().find(is_it).expect("the options come from the variable").to_owned()
}
