//! The documents that are created, read, changed and deleted.

use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_store::{
    Answer, Ask, Decide, Decision, KindId, NaturalKey, NewDocument, Plan, References, Refused, Row,
    Store, Submitted, Tombstone, Uuid, Write,
};

/// Plans in a batch while the store is filled.
const BATCH: u64 = 2_000;

/// Students to a school.
const TO_A_SCHOOL: u64 = 500;

/// Sessions of a school.
const SESSIONS: u64 = 4;

/// Documents that refer to random students, their schools and sessions.
pub struct Work {
    kind: KindId,
    /// The value of each document's longest member.
    text: String,
    documents: u64,
    students: u64,
    schools: u64,
}

impl Work {
    /// Prepares documents for a store, with a student to each 100 documents that it begins with.
    pub fn prepare(store: &Store, documents: u64, body_bytes: u64) -> Result<Self, String> {
        let kinds = store.kinds(&["sustained".to_owned()]).map_err(|error| error.to_string())?;
        let text = "x".repeat(usize::try_from(body_bytes).map_err(|error| error.to_string())?);
        let students = (documents / 100).max(1_000);
        let schools = students.div_ceil(TO_A_SCHOOL);
        Ok(Self { kind: kinds[0], text, documents, students, schools })
    }

    /// Returns the number of students, schools and sessions.
    pub fn targets(&self) -> u64 {
        self.students + self.schools * (1 + SESSIONS)
    }

    /// Fills a store with the targets and with documents. Returns how many there are.
    pub fn seed(&self, store: &Store, documents: u64) -> Result<u64, String> {
        let targets = self.targets();
        let mut before: Option<Submitted<Changing>> = None;
        for from in (0..targets + documents).step_by(usize::try_from(BATCH).expect("it is small")) {
            let upto = (from + BATCH).min(targets + documents);
            let plans = (from..upto).map(|number| match number.checked_sub(targets) {
                None => self.target(number),
                Some(number) => self.document(number, Change::Create),
            });
            let plans = plans.collect();
            // The next plans are made while these are run.
            if let Some(before) = before.replace(store.submit(plans)) {
                done(before)?;
            }
        }
        before.map_or(Ok(()), done)?;
        Ok(targets + documents)
    }

    /// Creates the next document, and returns its number.
    pub async fn create(&self, store: &Store, next: &AtomicU64) -> Result<u64, String> {
        let number = next.fetch_add(1, Ordering::Relaxed);
        run(store, self.document(number, Change::Create)).await?;
        Ok(number)
    }

    /// Reads a document by its public id.
    pub async fn read(&self, store: &Store, number: u64) -> Result<(), String> {
        let found = store.document(uuid(number)).await.map_err(|error| error.to_string())?;
        found.map(drop).ok_or_else(|| format!("document {number} is missing"))
    }

    /// Gives a document another text.
    pub async fn update(&self, store: &Store, number: u64, text: u64) -> Result<(), String> {
        run(store, self.document(number, Change::Replace(text))).await
    }

    /// Deletes a document.
    pub async fn delete(&self, store: &Store, number: u64) -> Result<(), String> {
        run(store, self.document(number, Change::Delete)).await
    }

    /// Returns one of the documents with which the store began.
    pub fn any(&self, random: u64) -> u64 {
        random % self.documents.max(1)
    }

    fn document(&self, number: u64, change: Change) -> Plan<Changing> {
        let random = random("document", number);
        let student = random % self.students;
        let school = student / TO_A_SCHOOL;
        let session = school * SESSIONS + random / self.students % SESSIONS;
        let targets = [student, self.students + school, self.students + self.schools + session];
        let targets = targets.iter().map(|target| key(&format!("target {target}"))).collect();
        self.plan(&format!("document {number}"), uuid(number), targets, change)
    }

    fn target(&self, number: u64) -> Plan<Changing> {
        self.plan(&format!("target {number}"), Uuid::new(), vec![], Change::Create)
    }

    /// Looks a document and its targets up, then changes it.
    fn plan(
        &self,
        name: &str,
        uuid: Uuid,
        targets: Vec<NaturalKey>,
        change: Change,
    ) -> Plan<Changing> {
        let key = key(name);
        let body = match change {
            Change::Create => format!("{{\"text\":\"{}\"}}", self.text),
            Change::Replace(text) => format!("{{\"text\":\"{}\",\"change\":{text}}}", self.text),
            Change::Delete => String::new(),
        };
        let new = NewDocument {
            uuid,
            kind: self.kind,
            key,
            alias: None,
            body,
            references: References::default(),
            ties: vec![],
            modified: 1,
        };
        let decide = Changing { change, new, targets, is_asked: false, found: None };
        Plan { ask: vec![Ask::Document(key)], decide }
    }
}

/// What is done to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Create,
    /// It gets a text with this number.
    Replace(u64),
    Delete,
}

/// The decision to change a document, once it and its targets, or what refers to it, are known.
#[derive(Clone)]
pub struct Changing {
    change: Change,
    new: NewDocument,
    /// What is asked for when the document is known.
    targets: Vec<NaturalKey>,
    /// Whether the document is known, and it, if it exists.
    is_asked: bool,
    found: Option<Box<Row>>,
}

impl Decide for Changing {
    type Done = ();
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), String> {
        let mut answers = found.into_iter();
        if !self.is_asked {
            self.is_asked = true;
            self.found = match answers.next() {
                Some(Answer::Document(row)) => row.map(Box::new),
                other => return Decision::Refuse(format!("unexpected: {other:?}")),
            };
            if self.found.is_none() != (self.change == Change::Create) {
                return Decision::Refuse(format!("{:?} of {:?}", self.change, self.found));
            }
            if self.change == Change::Delete
                && let Some(row) = &self.found
            {
                return Decision::Ask(vec![Ask::Referrers(row.id)]);
            }
            if !self.targets.is_empty() {
                return Decision::Ask(self.targets.iter().copied().map(Ask::Target).collect());
            }
        }
        if self.change == Change::Delete {
            let (answer, row) = (answers.next(), self.found.take());
            let (Some(Answer::Referrers(kinds)), Some(row)) = (&answer, row) else {
                return Decision::Refuse(format!("unexpected: {answer:?}"));
            };
            if !kinds.is_empty() {
                return Decision::Refuse(format!("{kinds:?} refer to a document"));
            }
            let tombstone = Tombstone { key_values: "{}".into(), modified: 2 };
            return Decision::Write(vec![Write::Delete { row, ties: vec![], tombstone }], ());
        }
        let mut new = self.new.clone();
        for answer in answers {
            match answer {
                Answer::Target(Some((id, ..))) => new.references.others.push(id),
                other => return Decision::Refuse(format!("unexpected: {other:?}")),
            }
        }
        let write = match self.found.take() {
            None => Write::Create(new),
            Some(row) => {
                let Row { id: old, references: old_references, .. } = *row;
                Write::Replace { old, old_references, old_ties: vec![], new }
            }
        };
        Decision::Write(vec![write], ())
    }
}

async fn run(store: &Store, plan: Plan<Changing>) -> Result<(), String> {
    store.run(plan).await.map(drop).map_err(|refused| format!("{refused:?}"))
}

fn done(submitted: Submitted<Changing>) -> Result<(), String> {
    let failed = submitted.wait().into_iter().find_map(Result::err);
    failed.map_or(Ok(()), |refused| match refused {
        Refused::Decision(why) => Err(why),
        Refused::Store(error) => Err(error.to_string()),
    })
}

/// Returns a number that looks random, always the same for the same number.
pub fn random(of: &str, number: u64) -> u64 {
    let hash = NaturalKey::of(of, [&number.to_le_bytes()[..]]).0;
    u64::from_le_bytes(hash[..8].try_into().expect("8 of 16 bytes"))
}

/// Returns the public id of a document. Like all public ids, those of later documents are greater.
fn uuid(number: u64) -> Uuid {
    let mut bytes = NaturalKey::of("public id", [&number.to_le_bytes()[..]]).0;
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Uuid(bytes)
}

fn key(name: &str) -> NaturalKey {
    NaturalKey::of("sustained", [name.as_bytes()])
}
