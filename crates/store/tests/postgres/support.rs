//! Plans like those of the data API, and the contents of a store.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use homeroom_store::{
    Answer, Ask, Decide, Decision, DocumentId, KindId, Lane, NaturalKey, NewDocument, Options,
    Plan, References, Refused, Sql, Store, StoreUrl, Tombstone, Uuid, Value, Write,
};
use homeroom_testkit::edges;

pub fn key(name: u8) -> NaturalKey {
    NaturalKey::of("k", [&[name][..]])
}

/// The action of a plan. Names are small numbers, so that plans conflict.
#[derive(Debug, Clone)]
pub enum Does {
    /// Creates or replaces `name`, once everything that it refers to exists.
    Upsert { name: u8, text: u8, refers: Vec<u8>, alias: Option<u8> },
    /// Deletes `name`, unless another refers to it.
    Delete { name: u8 },
    /// Creates `name` without checking whether it exists.
    Blind { name: u8 },
    /// Counts documents by one statement, and stores the number by another.
    Count { name: u8 },
    /// Adds one to an owner's row of a part, or sets it to the number of all rows.
    Turn { owner: u8, counts_all: bool },
    /// Fails in its statement.
    Broken,
}

/// A statement that fails on every database because of a value.
const BROKEN: &str = "SELECT abs(CAST('-9223372036854775808' AS bigint))";

/// The lane of [`Does::Turn`].
const TURNS: Lane = Lane::new("job");
const TURN: &str = "SELECT taken FROM job_turn WHERE kind = 'k' AND owner = ?1";
const ALL_TURNS: &str = "SELECT CAST(sum(taken) AS bigint) FROM job_turn";
const PUT_TURN: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES ('k', ?1, ?2) \
     ON CONFLICT (kind, owner) DO UPDATE SET taken = excluded.taken";

#[derive(Clone)]
pub struct Doing {
    does: Does,
    uuid: Uuid,
    stored: Option<homeroom_store::Row>,
    round: usize,
}

/// Returns a plan; `number` determines its public id.
pub fn plan(number: u32, does: Does) -> Plan<Doing> {
    let ask = match &does {
        Does::Upsert { name, .. } | Does::Delete { name } => vec![Ask::Document(key(*name))],
        Does::Blind { .. } => vec![],
        Does::Count { .. } => vec![Ask::Sql(Sql::new("SELECT count(*) FROM doc", vec![]))],
        Does::Turn { owner, counts_all: false } => {
            vec![Ask::Rows(TURNS.rows(owner), Sql::new(TURN, vec![owner.to_string().into()]))]
        }
        Does::Turn { .. } => vec![Ask::Rows(TURNS.all(), Sql::new(ALL_TURNS, vec![]))],
        Does::Broken => vec![Ask::Sql(Sql::new(BROKEN, vec![]))],
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
            references: References { others, ..References::default() },
            ties: vec![],
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
                        let write =
                            Write::Replace { old: row.id, old_references, old_ties: vec![], new };
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
                    let write = Write::Delete { row: Box::new(row), ties: vec![], tombstone };
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
            (Does::Turn { owner, .. }, _) => {
                let Some(Answer::Rows(rows)) = found.into_iter().next() else {
                    return Decision::Refuse("no rows".into());
                };
                let taken = rows.first().and_then(|row| row[0].as_integer()).unwrap_or(0) + 1;
                let put = Sql::new(PUT_TURN, vec![owner.to_string().into(), taken.into()]);
                Decision::Write(vec![Write::Rows(TURNS.rows(owner), put)], format!("turn {taken}"))
            }
            (Does::Broken, _) => Decision::Refuse("it cannot be asked".into()),
        }
    }
}

/// Describes a plan's outcome in words that are the same on every database.
pub fn told(outcome: Result<homeroom_store::Ran<String>, Refused<String>>) -> String {
    match outcome {
        Ok(ran) => format!("{} {}", ran.value, ran.change_version),
        Err(Refused::Decision(why)) => why,
        Err(Refused::Store(_)) => "the store could not".into(),
    }
}

/// Returns everything that a store contains.
pub fn holds(store: &Store) -> Vec<Vec<Vec<Value>>> {
    let mut all = [
        "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc ORDER BY id",
        "SELECT id, key FROM alias ORDER BY id",
        "SELECT kind, block, n FROM tally WHERE n <> 0 ORDER BY kind, block",
        "SELECT cv, kind, uuid, key, key_values, modified FROM tomb ORDER BY cv",
        "SELECT id, name FROM kind ORDER BY id",
        "SELECT owner, taken FROM job_turn ORDER BY owner",
    ]
    .map(|text| store.query_blocking(Sql::new(text, vec![])).unwrap())
    .to_vec();
    let edges = edges(store).unwrap().into_iter();
    all.push(edges.map(|keys| keys.map(|key| key.0.to_vec().into()).into()).collect());
    all
}

/// Returns the kinds of every store in these tests.
pub fn kinds() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

/// Returns the options to open a store's schema a second time.
pub fn same_schema(store: &Store, options: &Options) -> Options {
    with_parameter(options, &schema_of(store))
}

/// Returns the same options, with one more parameter in the address.
pub fn with_parameter(options: &Options, parameter: &str) -> Options {
    let text = address(options);
    let divider = if text.contains('?') { '&' } else { '?' };
    Options { url: format!("{text}{divider}{parameter}").parse().unwrap(), ..options.clone() }
}

/// Returns the address as given: the store does not show its password.
pub fn address(options: &Options) -> String {
    let all = std::env::var("HOMEROOM_TEST_POSTGRES").unwrap();
    let is_it = |text: &&str| text.parse::<StoreUrl>().is_ok_and(|url| url == options.url);
    all.split_whitespace().find(is_it).expect("the options come from the variable").to_owned()
}

/// Returns the server's host and port, where it has a port.
pub fn server(options: &Options) -> Option<String> {
    let text = address(options);
    let (_, rest) = text.split_once("://")?;
    let (place, _) = rest.split_once('/').unwrap_or((rest, ""));
    let server = place.rsplit_once('@').map_or(place, |(_, server)| server);
    if server.is_empty() || server.starts_with('%') {
        println!("skipped: the PostgreSQL has no TCP port to stand before");
        return None;
    }
    let has_port = server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { server.to_owned() } else { format!("{server}:5432") })
}

/// Returns the same options through another port of this machine, with one more parameter.
pub fn by_port(options: &Options, port: u16, parameter: &str) -> Options {
    let text = address(options);
    let (scheme, rest) = text.split_once("://").unwrap();
    let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
    let user = place.rsplit_once('@').map_or(String::new(), |(user, _)| format!("{user}@"));
    let divider = if database.contains('?') { '&' } else { '?' };
    let url = format!("{scheme}://{user}127.0.0.1:{port}/{database}{divider}{parameter}");
    Options { url: url.parse().unwrap(), ..options.clone() }
}

/// Returns the schema of a store, as a parameter of an address.
pub fn schema_of(store: &Store) -> String {
    let rows = store.query_blocking(Sql::new("SELECT CAST(current_schema() AS text)", vec![]));
    format!("options=-csearch_path%3D{}", rows.unwrap()[0][0].as_text().unwrap())
}

/// Runs something that must not hang, on a separate thread.
pub fn in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || _ = done.send(run()));
    is_done.recv_timeout(std::time::Duration::from_mins(2)).expect("it ends")
}

/// A lock on all documents, which lets nobody read them.
pub struct Locked {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

/// Locks all documents of a store, until it is told to end.
pub fn lock_documents(place: &Store) -> Locked {
    let (begun, has_begun) = channel();
    let (end, may_end) = channel::<()>();
    let may_end = Arc::new(Mutex::new(may_end));
    // The lock must hold however slow the machine is.
    let wait = Sql::new("SET LOCAL idle_in_transaction_session_timeout = 0", vec![]);
    let lock = Sql::new("LOCK TABLE doc IN ACCESS EXCLUSIVE MODE", vec![]);
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
        begun.send(()).unwrap();
        _ = may_end.lock().unwrap().recv();
        Decision::Refuse(())
    };
    let plan = Plan { ask: vec![Ask::Sql(wait), Ask::Sql(lock)], decide };
    let place = place.clone();
    let thread = std::thread::spawn(move || _ = place.run_blocking(plan));
    has_begun.recv().unwrap();
    Locked { end, thread }
}

impl Locked {
    /// Ends the lock.
    pub fn end(self) {
        drop(self.end);
        self.thread.join().unwrap();
    }
}
