//! The shipped models that tests use.

use std::sync::{Arc, Mutex, PoisonError};

use homeroom_model::{Model, format, link, shipped, shipped_extension};

/// The shipped models that an app serves: a version of the standard and its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Standard {
    /// The version, such as `5.2.0`.
    pub version: &'static str,
    /// The names of the extensions.
    pub extensions: &'static [&'static str],
}

/// The default standard of tests.
pub const USUAL: Standard = Standard { version: "5.2.0", extensions: &[] };

/// The standards for laws about all resources; the last one is a superset of the usual one.
pub const STANDARDS: [Standard; 2] = [
    Standard { version: "4.0.0", extensions: &[] },
    Standard { version: "5.2.0", extensions: &["tpdm", "sample", "homograph"] },
];

/// Linked models, which the tests of one file share.
static LINKED: Mutex<Vec<(Standard, Arc<Model>)>> = Mutex::new(vec![]);

impl Standard {
    /// Returns its linked model.
    pub fn model(&self) -> Arc<Model> {
        let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = linked.iter().find(|(standard, _)| standard == self) {
            return Arc::clone(model);
        }
        let core = [shipped(self.version)].into_iter();
        let extensions = self.extensions.iter().map(|name| shipped_extension(name, self.version));
        let sources: Vec<_> = core
            .chain(extensions)
            .map(|text| format::read(text.expect("the model is shipped")).unwrap())
            .collect();
        let model = Arc::new(link(&sources).unwrap());
        linked.push((*self, Arc::clone(&model)));
        model
    }
}

/// Returns the shipped model.
pub fn model() -> Arc<Model> {
    USUAL.model()
}
