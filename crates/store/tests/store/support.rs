//! Small documents and temporary stores.

use homeroom_store::{
    Answer, Ask, Decision, DocumentId, KindId, NaturalKey, NewDocument, Options, Plan, References,
    Store, Tombstone, Uuid, Write,
};
use homeroom_testkit::trial;

pub type Done = Decision<(), String>;

pub fn key(name: &str) -> NaturalKey {
    NaturalKey::of("k", [name.as_bytes()])
}

pub fn document(kind: KindId, name: &str, others: Vec<DocumentId>) -> NewDocument {
    NewDocument {
        uuid: Uuid::new(),
        kind,
        key: key(name),
        alias: None,
        body: format!("{{\"name\":\"{name}\"}}"),
        references: References { others, ..References::default() },
        ties: vec![],
        modified: 7,
    }
}

pub fn create(store: &Store, new: NewDocument) -> i64 {
    let mut new = Some(new);
    let plan = Plan {
        ask: vec![],
        decide: move |_| -> Done {
            Decision::Write(vec![Write::Create(new.take().expect("once"))], ())
        },
    };
    store.run_blocking(plan).unwrap().change_version
}

/// Creates documents in one transaction.
pub fn create_all(store: &Store, documents: Vec<NewDocument>) {
    let plans = documents.into_iter().map(|new| {
        let mut new = Some(new);
        let decide = move |_: Vec<Answer>| -> Done {
            Decision::Write(vec![Write::Create(new.take().expect("once"))], ())
        };
        Plan { ask: vec![], decide }
    });
    for outcome in store.run_all_blocking(plans.collect()) {
        outcome.unwrap();
    }
}

pub fn delete(store: &Store, name: &str) {
    let plan = Plan {
        ask: vec![Ask::Document(key(name))],
        decide: |found: Vec<Answer>| -> Done {
            let Some(Answer::Document(Some(row))) = found.into_iter().next() else {
                return Decision::Refuse("missing".into());
            };
            let tombstone = Tombstone { key_values: "{}".into(), modified: 9 };
            Decision::Write(vec![Write::Delete { row: Box::new(row), ties: vec![], tombstone }], ())
        },
    };
    store.run_blocking(plan).unwrap();
}

pub fn names(rows: &[homeroom_store::Row]) -> Vec<String> {
    rows.iter()
        .map(|row| row.body.trim_start_matches("{\"name\":\"").trim_end_matches("\"}").to_owned())
        .collect()
}

/// Creates a store on each available database. Returns each with the numbers of its two kinds.
pub fn stores() -> Vec<(Store, KindId, KindId)> {
    let kinds = ["a".to_owned(), "b".to_owned()];
    let with_kinds = |(_, store): (String, Store)| {
        let numbers = store.kinds(&kinds).unwrap();
        (store, numbers[0], numbers[1])
    };
    trial::on_each(&kinds).unwrap().into_iter().map(with_kinds).collect()
}

/// A folder where a store can be opened repeatedly; removed when the value is dropped.
pub struct Place(pub std::path::PathBuf);

impl Place {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("homeroom-place-{}", Uuid::new()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.0.join("homeroom.db")
    }

    pub fn options(&self) -> Options {
        Options::for_file(self.file())
    }

    /// Opens the store. Also returns the number of its one kind.
    pub fn open(&self) -> (Store, KindId) {
        let store = Store::open(&self.options()).unwrap();
        let kinds = store.kinds(&["a".to_owned()]).unwrap();
        (store, kinds[0])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
