//! Names of routes in metrics. Each name is a series of its own for as long as the process runs, so
//! their number is limited.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Most names that routes which come and go can have.
const LABELS_MAX: usize = 1_000;

/// The name of all further routes.
const OTHER: &str = "_other";

/// Returns the name of a template. A template that is part of the program has its own name; of the
/// others, the first [`LABELS_MAX`] have, and all further ones share a name.
#[expect(clippy::ptr_arg, reason = "what is borrowed is a part of the program")]
pub(crate) fn label(template: &Cow<'static, str>) -> &'static str {
    static LABELS: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let template = match template {
        Cow::Borrowed(template) => return template,
        Cow::Owned(template) => template,
    };
    let mut labels = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
    let labels = labels.get_or_insert_default();
    if let Some(label) = labels.get(&**template) {
        return label;
    }
    if labels.len() >= LABELS_MAX {
        return OTHER;
    }
    let label: &'static str = Box::leak(template.clone().into_boxed_str());
    labels.insert(label);
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_beyond_the_limit_share_one_name() {
        let of = |number: usize| label(&Cow::Owned(format!("/apis/{number}")));
        assert_eq!(label(&Cow::Borrowed("/data")), "/data");
        assert_eq!(of(0), "/apis/0");

        for number in 0..2 * LABELS_MAX {
            of(number);
        }

        assert_eq!(of(2 * LABELS_MAX), OTHER);
        assert_eq!(of(0), "/apis/0", "it keeps its name");
        assert_eq!(label(&Cow::Borrowed("/other")), "/other");
    }
}
