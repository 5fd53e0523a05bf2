//! The documents that are created.

use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_store::{
    Answer, Ask, Decide, Decision, KindId, NaturalKey, NewDocument, Plan, References, Refused,
    Store, Submitted, Uuid, Write,
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
    body: String,
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
        Ok(Self { kind: kinds[0], body: format!("{{\"text\":\"{text}\"}}"), students, schools })
    }

    /// Returns the number of students, schools and sessions.
    pub fn targets(&self) -> u64 {
        self.students + self.schools * (1 + SESSIONS)
    }

    /// Fills a store with the targets and with documents. Returns how many there are.
    pub fn seed(&self, store: &Store, documents: u64) -> Result<u64, String> {
        let targets = self.targets();
        let mut before: Option<Submitted<Creating>> = None;
        for from in (0..targets + documents).step_by(usize::try_from(BATCH).expect("it is small")) {
            let upto = (from + BATCH).min(targets + documents);
            let plans = (from..upto).map(|number| match number.checked_sub(targets) {
                None => self.plan(&format!("target {number}"), vec![]),
                Some(number) => self.document(number),
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

    /// Creates the next document.
    pub async fn create(&self, store: &Store, next: &AtomicU64) -> Result<(), String> {
        let plan = self.document(next.fetch_add(1, Ordering::Relaxed));
        store.run(plan).await.map(drop).map_err(|refused| format!("{refused:?}"))
    }

    fn document(&self, number: u64) -> Plan<Creating> {
        let random = NaturalKey::of("random", [&number.to_le_bytes()[..]]).0;
        let random = u64::from_le_bytes(random[..8].try_into().expect("8 of 16 bytes"));
        let student = random % self.students;
        let school = student / TO_A_SCHOOL;
        let session = school * SESSIONS + random / self.students % SESSIONS;
        let targets = [student, self.students + school, self.students + self.schools + session];
        let targets = targets.iter().map(|target| key(&format!("target {target}"))).collect();
        self.plan(&format!("document {number}"), targets)
    }

    /// Looks a document and its targets up, then creates it.
    fn plan(&self, name: &str, targets: Vec<NaturalKey>) -> Plan<Creating> {
        let key = key(name);
        let new = NewDocument {
            uuid: Uuid::new(),
            kind: self.kind,
            key,
            alias: None,
            body: self.body.clone(),
            references: References::default(),
            ties: vec![],
            modified: 1,
        };
        Plan { ask: vec![Ask::Document(key)], decide: Creating { new, targets } }
    }
}

/// The decision to create a document, once its targets are known.
#[derive(Clone)]
pub struct Creating {
    new: NewDocument,
    /// What is still to be asked for.
    targets: Vec<NaturalKey>,
}

impl Decide for Creating {
    type Done = ();
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), String> {
        let targets = std::mem::take(&mut self.targets);
        if !targets.is_empty() {
            return Decision::Ask(targets.into_iter().map(Ask::Target).collect());
        }
        let mut new = self.new.clone();
        for answer in found {
            match answer {
                Answer::Target(Some((id, ..))) => new.references.others.push(id),
                Answer::Document(None) => {}
                other => return Decision::Refuse(format!("unexpected: {other:?}")),
            }
        }
        Decision::Write(vec![Write::Create(new)], ())
    }
}

fn done(submitted: Submitted<Creating>) -> Result<(), String> {
    let failed = submitted.wait().into_iter().find_map(Result::err);
    failed.map_or(Ok(()), |refused| match refused {
        Refused::Decision(why) => Err(why),
        Refused::Store(error) => Err(error.to_string()),
    })
}

fn key(name: &str) -> NaturalKey {
    NaturalKey::of("sustained", [name.as_bytes()])
}
