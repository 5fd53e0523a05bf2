//! Whether a pooler gives each transaction another connection of the server.
//!
//! Then nothing of a session survives a transaction, and what is set for a session meets strangers:
//! settings are those of a transaction, and statements are sent with their texts. The types of their
//! arguments are learnt once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use percent_encoding::percent_decode_str;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::Type;

use crate::error::StoreError;
use crate::id::Uuid;
use crate::postgres::error::Fault;

/// The parameter of a URL that says it.
const PARAMETER: &str = "pooling";
/// Most statements whose types are remembered.
const KNOWN_MAX: usize = 2_048;

/// A statement that any connection of a server can run, without having prepared it.
#[derive(Debug)]
pub(super) struct Typed {
    /// Its text, with `$1`, `$2` ….
    pub(super) text: String,
    /// The types of its arguments.
    pub(super) arguments: Vec<Type>,
}

/// Returns the question for the types of a statement's arguments, as one message: one session
/// prepares the statement, tells them and forgets it. The name is one that nobody else has, whatever
/// other clients have left in the session.
pub(super) fn question(text: &str) -> String {
    let name = format!("homeroom_{}", Uuid::new());
    format!(
        "PREPARE {name} AS {text}; SELECT CAST(CAST(parameter_types AS oid[]) AS text) \
         FROM pg_prepared_statements WHERE name = '{name}'; DEALLOCATE {name}"
    )
}

/// Reads the answer to [`question`]: an array of numbers, such as `{20,25}`.
pub(super) fn types(told: &[SimpleQueryMessage]) -> Result<Vec<Type>, Fault> {
    let array = told.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let unknown =
        || Fault::Own(StoreError::Failed("the types of a statement are not known".into()));
    let numbers = array.ok_or_else(unknown)?.trim_matches(['{', '}']).split(',');
    let of = |number: &str| number.parse().ok().and_then(Type::from_oid).ok_or_else(unknown);
    numbers.filter(|number| !number.is_empty()).map(of).collect()
}

/// The statements that a store has learnt; its connections share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<Mutex<HashMap<String, Arc<Typed>>>>);

impl Known {
    pub(super) fn get(&self, text: &str) -> Option<Arc<Typed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    pub(super) fn put(&self, text: &str, typed: Arc<Typed>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(text.to_owned(), typed);
    }
}

/// What a connection through such a pooler needs.
#[derive(Debug)]
pub(super) struct Pooled {
    pub(super) known: Known,
    /// The settings of each transaction, as statements.
    pub(super) settings: String,
}

/// Takes the parameter out of a URL. Returns the rest, and whether there is such a pooler.
///
/// # Errors
///
/// Says which values there are, without the URL.
pub(super) fn split(url: &str) -> Result<(String, bool), StoreError> {
    // The driver takes everything before the first `@` for a user and a password.
    let begin = url.find('@').unwrap_or(0);
    let Some(query) = url[begin..].find('?').map(|at| begin + at + 1) else {
        return Ok((url.to_owned(), false));
    };
    let (mut rest, mut is_pooled) = (vec![], false);
    for parameter in url[query..].split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if percent_decode_str(name).decode_utf8_lossy() != PARAMETER {
            rest.push(parameter);
            continue;
        }
        is_pooled = match &*percent_decode_str(value).decode_utf8_lossy() {
            "transaction" => true,
            "session" => false,
            _ => {
                return Err(StoreError::Unusable(
                    "pooling is transaction, for a pooler that gives each transaction another \
                     connection, or session; PgBouncer's statement mode cannot be used"
                        .into(),
                ));
            }
        };
    }
    let divider = if rest.is_empty() { "" } else { "?" };
    Ok((format!("{}{divider}{}", &url[..query - 1], rest.join("&")), is_pooled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_taken_out_of_a_url() {
        for (url, rest, is_pooled) in [
            ("postgres://h/d", "postgres://h/d", false),
            ("postgres://h/d?pooling=transaction", "postgres://h/d", true),
            ("postgres://h/d?pooling=session&user=u", "postgres://h/d?user=u", false),
            (
                "postgres://u:a%3Fb@h/d?port=1&pool%69ng=transaction",
                "postgres://u:a%3Fb@h/d?port=1",
                true,
            ),
        ] {
            assert_eq!(split(url).unwrap(), (rest.to_owned(), is_pooled), "{url}");
        }
        assert!(split("postgres://h/d?pooling=statement").is_err());
    }
}
