//! The part of PostgreSQL's SQL that related databases share, enforced while tests run.

use crate::error::StoreError;

/// Constructs that some of them lack, as consecutive words; `*` stands for any ending.
const REFUSED: &[&[&str]] = &[
    &["references"],
    &["foreign", "key"],
    &["trigger"],
    &["sequence"],
    &["serial*"],
    &["bigserial"],
    &["identity"],
    &["nextval"],
    &["savepoint"],
    &["listen"],
    &["notify"],
    &["pg_advisory_*"],
    &["pg_try_advisory_*"],
    &["truncate"],
    &["lock", "table"],
    &["deferrable"],
];

/// Most rows in one writing statement.
pub(super) const ROWS_MAX: usize = 1_000;

/// Refuses SQL outside the shared part.
pub(super) fn check(text: &str) -> Result<(), StoreError> {
    let words = words(text);
    let is_word = |word: &str, wanted: &str| match wanted.strip_suffix('*') {
        Some(begin) => word.starts_with(begin),
        None => word == wanted,
    };
    for refused in REFUSED {
        let is_in = |part: &[String]| part.iter().zip(*refused).all(|(w, r)| is_word(w, r));
        if words.windows(refused.len()).any(is_in) {
            let what = refused.join(" ");
            return Err(StoreError::Failed(format!("not every related database has {what}")));
        }
    }
    Ok(())
}

/// Returns the words of a statement in lower case, without comments, string literals and quoted
/// names.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![];
    for line in text.lines() {
        let line = line.split("--").next().unwrap_or("");
        for (at, part) in line.split(['\'', '"']).enumerate() {
            if at % 2 == 0 {
                let parts =
                    part.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                words.extend(parts.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migration::MIGRATIONS;

    #[test]
    fn sql_that_related_databases_lack_is_refused() {
        for text in [
            "CREATE TABLE a (b bigint REFERENCES c)",
            "ALTER TABLE a ADD FOREIGN  KEY (b)",
            "CREATE TABLE a (id bigserial)",
            "CREATE TABLE a (id serial8)",
            "SELECT nextval('x')",
            "SELECT pg_advisory_lock(1)",
            "SAVEPOINT plan",
            "truncate doc",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keywords_in_texts_names_and_comments_are_ignored() {
        for text in ["SELECT 'listen', \"trigger\" -- savepoint", "SELECT key, foreign_key FROM a"]
        {
            assert!(check(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn every_migration_uses_only_shared_sql() {
        for migration in MIGRATIONS {
            assert!(check(migration.postgres).is_ok(), "{}", migration.name);
        }
    }
}
