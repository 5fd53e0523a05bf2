//! Names of routes in metrics, and of placeholders. A name is kept for as long as the process runs, so
//! their number is limited.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Most names that routes which come and go can have.
const LABELS_MAX: usize = 1_000;

/// The name of all further routes.
const OTHER: &str = "_other";

/// The names that routes have so far, which all routers of the process share.
static LABELS: Labels = Labels(Mutex::new(None));

/// The names of placeholders of routes that come and go.
static NAMES: Labels = Labels(Mutex::new(None));

/// Names of what comes and goes.
struct Labels(Mutex<Option<HashSet<&'static str>>>);

/// Returns the name of a template. A template that is part of the program has its own name; of the
/// others, the first [`LABELS_MAX`] have, and all further ones share a name.
#[expect(clippy::ptr_arg, reason = "what is borrowed is a part of the program")]
pub(crate) fn label(template: &Cow<'static, str>) -> &'static str {
    match template {
        Cow::Borrowed(template) => template,
        Cow::Owned(template) => LABELS.of(template).unwrap_or(OTHER),
    }
}

/// Returns the name of a placeholder. The first [`LABELS_MAX`] are shared by all routes.
pub(crate) fn name_of(placeholder: &str) -> Cow<'static, str> {
    NAMES.of(placeholder).map_or_else(|| placeholder.to_owned().into(), Cow::Borrowed)
}

impl Labels {
    /// Returns a name that is kept; [`None`] for a new one when there are too many.
    fn of(&self, template: &str) -> Option<&'static str> {
        let mut labels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let labels = labels.get_or_insert_default();
        if let Some(label) = labels.get(template) {
            return Some(label);
        }
        if labels.len() >= LABELS_MAX {
            return None;
        }
        let label: &'static str = Box::leak(template.into());
        labels.insert(label);
        Some(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_beyond_the_limit_share_one_name() {
        let labels = Labels(Mutex::new(None));
        let of = |number: usize| labels.of(&format!("/apis/{number}"));
        assert_eq!(of(0), Some("/apis/0"));

        for number in 1..LABELS_MAX {
            assert!(of(number).is_some());
        }

        assert_eq!(of(LABELS_MAX), None);
        assert_eq!(of(0), Some("/apis/0"), "it keeps its name");
    }

    #[test]
    fn a_template_of_the_program_has_its_own_name() {
        assert_eq!(label(&Cow::Borrowed("/data")), "/data");
        assert_eq!(label(&Cow::Owned("/live".to_owned())), "/live");
    }
}
