//! Turns conditions on a document's text into SQL.

use crate::condition::Condition;
use crate::dialect::{Bind, Dialect};

/// Returns the test of a condition on the document `d`; `bind` returns the name of an argument.
pub(super) fn condition_sql(
    dialect: Dialect,
    condition: &Condition,
    bind: &mut Bind<'_>,
) -> String {
    match condition {
        Condition::Text { paths, value, fold: true } => {
            any(paths, |path| dialect.is_text_folded(path, value, bind))
        }
        Condition::Text { paths, value, fold: false } => {
            any(paths, |path| dialect.is_text(path, value, bind))
        }
        Condition::Trimmed { paths, value } => {
            any(paths, |path| dialect.is_text_trimmed(path, value, bind))
        }
        Condition::Number { paths, value } => {
            any(paths, |path| dialect.is_number(path, *value, bind))
        }
        Condition::Integer { paths, value } => {
            any(paths, |path| dialect.is_integer(path, *value, bind))
        }
        Condition::Boolean { paths, value } => {
            any(paths, |path| dialect.is_boolean(path, *value, bind))
        }
        Condition::StartsWith { path, prefixes } => {
            any(prefixes, |prefix| dialect.begins_with(path, prefix, bind))
        }
        Condition::Uuid(uuid) => format!("d.uuid = {}", bind(uuid.0.to_vec().into())),
        Condition::Key(key) => dialect.has_key("d", &bind(key.0.to_vec().into())),
        Condition::Never => "FALSE".into(),
    }
}

fn any(all: &[String], test: impl FnMut(&String) -> String) -> String {
    let tests: Vec<String> = all.iter().map(test).collect();
    if tests.is_empty() { "FALSE".into() } else { format!("({})", tests.join(" OR ")) }
}
