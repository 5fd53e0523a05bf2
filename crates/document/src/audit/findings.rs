//! Collects faults in documents, by resource.

use std::collections::BTreeMap;

use homeroom_model::Resource;

/// A possible fault of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrong {
    Json,
    Model,
    Canonical,
    Identity,
    References,
    Others,
    Marks,
    Gaps,
    Spelling,
}

impl Wrong {
    fn words(self) -> &'static str {
        match self {
            Self::Json => "are not JSON",
            Self::Model => "do not fit the model",
            Self::Canonical => "have a text that is not in canonical form",
            Self::Identity => "have an identity that differs from their text",
            Self::References => {
                "have stored references, or places of references, that differ from their text"
            }
            Self::Others => "have stored descriptors or subjects that differ from their text",
            Self::Marks => "have marks that differ from their text",
            Self::Gaps => "have stored gaps for empty collections that differ from their text",
            Self::Spelling => "spell descriptors differently from the descriptors' own documents",
        }
    }
}

/// Number of documents with a fault, and the number of one of them.
#[derive(Debug, Default)]
struct Many {
    count: u64,
    example: i64,
}

impl Many {
    fn add(&mut self, example: i64) {
        self.count += 1;
        self.example = example;
    }
}

/// Faults found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    wrong: BTreeMap<(String, Wrong), Many>,
    tombstones: BTreeMap<String, Many>,
    /// Documents with extensions that this server does not have.
    unserved: BTreeMap<String, Many>,
}

impl Findings {
    pub(super) fn add(&mut self, resource: &Resource, wrong: Wrong, document: i64) {
        self.wrong.entry((resource.path(), wrong)).or_default().add(document);
    }

    pub(super) fn tombstone(&mut self, resource: &Resource, change_version: i64) {
        self.tombstones.entry(resource.path()).or_default().add(change_version);
    }

    pub(super) fn unserved(&mut self, resource: &Resource, document: i64) {
        self.unserved.entry(resource.path()).or_default().add(document);
    }

    /// Describes documents whose texts do not fit the model, its canonical form or the spelling of
    /// descriptors.
    pub(super) fn misfits(&self) -> Vec<String> {
        self.documents(true)
    }

    fn documents(&self, are_misfits: bool) -> Vec<String> {
        let wrong = self.wrong.iter().filter(|((_, wrong), _)| {
            matches!(wrong, Wrong::Model | Wrong::Canonical | Wrong::Spelling) == are_misfits
        });
        let lines = wrong.map(|((path, wrong), Many { count, example })| {
            let words = wrong.words();
            format!("{count} document(s) of {path} {words} (for example document {example})")
        });
        lines.collect()
    }

    pub(super) fn problems(&self) -> Vec<String> {
        let tombstones = self.tombstones.iter().map(|(path, Many { count, example })| {
            format!(
                "{count} tombstone(s) of {path} have key values that do not match their identity \
                 (for \
                 example that of change version {example})"
            )
        });
        self.documents(false).into_iter().chain(tombstones).collect()
    }

    pub(super) fn left_out(&self) -> Vec<String> {
        let unserved = self.unserved.iter().map(|(path, Many { count, example })| {
            format!(
                "the references of {count} document(s) of {path}, which have extensions that are \
                 not loaded (for example document {example})"
            )
        });
        unserved.collect()
    }
}
