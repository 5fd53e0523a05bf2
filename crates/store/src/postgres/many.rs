//! Makes one statement of many that have the same text and other arguments.
//!
//! A part's statements come from plans that do not know of each other: each reads or writes the rows of one
//! key. Most of what such a statement costs the server is to begin and to end it. So the arguments of many
//! become the rows of a table `many`, with a column `a1` for the first argument and so on, and one statement
//! does for each row what it did for one.
//!
//! Only the usual forms are rewritten; every other statement is run once for each row.

use tokio_postgres::types::Type;

use crate::dialect::with_arguments;

/// Words after which the rows of a question depend on their order, or their number is limited, or they are
/// locked.
const OF_ORDER: [&str; 7] = ["order", "limit", "offset", "fetch", "for", "returning", "union"];

/// Words of writing statements that read other tables, or tell what they have written.
const OF_TABLES: [&str; 4] = ["select", "returning", "from", "using"];

/// Returns the question that asks for each row of arguments what `text` asks for one. The last argument is
/// the numbers of the rows, and the first column of each row that is found is the number of the row of
/// arguments.
pub(super) fn question(text: &str, types: &[Type]) -> Option<String> {
    let words = words(text);
    if !is(words.first(), "select") || words.iter().any(|word| OF_ORDER.contains(&&*word.lower)) {
        return None;
    }
    let numbers = types.len() + 1;
    let table = table(types, Some(format!("CAST(?{numbers} AS int8[])")))?;
    let one = of_row(text);
    // `OFFSET 0` lets the subquery be planned for itself, so that it follows its index.
    Some(format!("SELECT many.n, one.* FROM {table} CROSS JOIN LATERAL ({one} OFFSET 0) AS one"))
}

/// Returns the statement that writes for each row of arguments what `text` writes for one. No row of the
/// store may be meant by two rows of arguments.
pub(super) fn write(text: &str, types: &[Type]) -> Option<String> {
    let words = words(text);
    let is_delete = is(words.first(), "delete") && is(words.get(1), "from");
    let mut others = words.iter().skip(if is_delete { 2 } else { 1 });
    if others.any(|word| OF_TABLES.contains(&&*word.lower)) {
        return None;
    }
    let table = table(types, None)?;
    match &*words.first()?.lower {
        "insert" => insert(text, &words, &table),
        "update" => {
            let (change, rows) = text.split_at(only(&words, "where")?);
            Some(format!("{}FROM {table} {}", of_row(change), of_row(rows)))
        }
        "delete" if is_delete => {
            let (delete, rows) = text.split_at(only(&words, "where")?);
            Some(format!("{delete}USING {table} {}", of_row(rows)))
        }
        _ => None,
    }
}

/// Returns the columns of rows of arguments.
pub(super) fn columns<'r, V>(rows: &[&'r [V]]) -> Vec<Vec<&'r V>> {
    let count = rows.first().map_or(0, |row| row.len());
    (0..count).map(|at| rows.iter().filter_map(|row| row.get(at)).collect()).collect()
}

/// Rewrites an insertion of one row, whose arguments are all in the list of its values.
fn insert(text: &str, words: &[Word], table: &str) -> Option<String> {
    let values = only(words, "values")?;
    let list = values + text[values..].find('(')?;
    let end = list + length_in_brackets(&text[list..])?;
    let rest = text[end..].trim();
    let is_one_row = rest.is_empty() || rest.to_ascii_lowercase().starts_with("on conflict");
    if !is_one_row || rest.contains('?') || text[..values].contains('?') {
        return None;
    }
    let (head, list) = (&text[..values], of_row(&text[list + 1..end - 1]));
    Some(format!("{head}SELECT {list} FROM {table} {rest}").trim_end().to_owned())
}

/// Returns the table of the arguments, with further columns if given.
fn table(types: &[Type], numbers: Option<String>) -> Option<String> {
    if types.is_empty() {
        return None;
    }
    let mut arrays = vec![];
    for (at, of) in types.iter().enumerate() {
        let name = [Type::INT2, Type::INT4, Type::INT8, Type::BOOL, Type::TEXT, Type::BYTEA]
            .into_iter()
            .chain([Type::UUID, Type::VARCHAR])
            .find(|known| known == of)?;
        arrays.push(format!("CAST(?{} AS {}[])", at + 1, name.name()));
    }
    let mut columns: Vec<_> = (1..=types.len()).map(|at| format!("a{at}")).collect();
    if let Some(numbers) = numbers {
        arrays.push(numbers);
        columns.push("n".into());
    }
    Some(format!("unnest({}) AS many ({})", arrays.join(", "), columns.join(", ")))
}

/// Returns the text with the columns of a row of arguments in place of `?1`, `?2` ….
fn of_row(text: &str) -> String {
    with_arguments(text, "many.a")
}

/// Returns where the only such word outside of brackets is.
fn only(words: &[Word], wanted: &str) -> Option<usize> {
    let mut found = words.iter().filter(|word| word.depth == 0 && word.lower == wanted);
    let first = found.next()?;
    found.next().is_none().then_some(first.at)
}

/// A word of a statement outside of texts and quoted names.
struct Word {
    lower: String,
    at: usize,
    /// The number of brackets around it.
    depth: usize,
}

fn is(word: Option<&Word>, wanted: &str) -> bool {
    word.is_some_and(|word| word.lower == wanted)
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = vec![];
    let (mut quote, mut depth, mut is_in_word) = (None, 0_usize, false);
    for (at, letter) in text.char_indices() {
        let is_of_word = quote.is_none() && (letter.is_alphanumeric() || letter == '_');
        if is_of_word {
            if !is_in_word {
                words.push(Word { lower: String::new(), at, depth });
            }
            words
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|word| word.lower.extend(letter.to_lowercase()));
        }
        is_in_word = is_of_word;
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    words
}

/// Returns how long a text in brackets is that begins with the opening one.
fn length_in_brackets(text: &str) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0_usize);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return Some(at + 1),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_for_each_row_of_arguments() {
        let text =
            "SELECT state, '?1 (' FROM course_activity WHERE registration = ?1 AND instance = ?2";

        let many = question(text, &[Type::TEXT, Type::INT8]).unwrap();

        assert_eq!(
            many,
            "SELECT many.n, one.* FROM unnest(CAST(?1 AS text[]), CAST(?2 AS int8[]), \
             CAST(?3 AS int8[])) AS many (a1, a2, n) CROSS JOIN LATERAL (SELECT state, '?1 (' \
             FROM course_activity WHERE registration = many.a1 AND instance = many.a2 OFFSET 0) AS one"
        );
    }

    #[test]
    fn a_write_is_done_for_each_row_of_arguments() {
        let of_arguments = "unnest(CAST(?1 AS text[]), CAST(?2 AS int8[])) AS many (a1, a2)";
        for (text, many) in [
            (
                "UPDATE a SET b = b + ?2, c = ?2 WHERE (id = ?1 OR d = 'where')",
                format!(
                    "UPDATE a SET b = b + many.a2, c = many.a2 FROM {of_arguments} \
                     WHERE (id = many.a1 OR d = 'where')"
                ),
            ),
            (
                "DELETE FROM a WHERE id = ?1 AND b < ?2",
                format!("DELETE FROM a USING {of_arguments} WHERE id = many.a1 AND b < many.a2"),
            ),
            (
                "INSERT INTO a (id, b, c, d) VALUES (?1, coalesce(?2, 0), ')', ?2)",
                format!(
                    "INSERT INTO a (id, b, c, d) SELECT many.a1, coalesce(many.a2, 0), ')', many.a2 \
                     FROM {of_arguments}"
                ),
            ),
            (
                "INSERT INTO a (id, b) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET b = excluded.b",
                format!(
                    "INSERT INTO a (id, b) SELECT many.a1, many.a2 FROM {of_arguments} \
                     ON CONFLICT (id) DO UPDATE SET b = excluded.b"
                ),
            ),
        ] {
            assert_eq!(write(text, &[Type::TEXT, Type::INT8]).as_deref(), Some(&*many));
        }
    }

    #[test]
    fn other_forms_are_left_as_they_are() {
        for text in [
            "SELECT a FROM b WHERE c = ?1 ORDER BY a",
            "SELECT a FROM b WHERE c = ?1 LIMIT 1",
            "SELECT a FROM b WHERE c = ?1 FOR UPDATE",
            "WITH x AS (SELECT ?1) SELECT * FROM x",
            "UPDATE a SET b = ?1 WHERE id = 1",
        ] {
            assert_eq!(question(text, &[Type::TEXT]), None, "{text}");
        }
        for text in [
            "SELECT a FROM b WHERE c = ?1",
            "UPDATE a SET b = ?1",
            "UPDATE a SET b = c.d FROM c WHERE a.id = c.id AND c.e = ?1",
            "UPDATE a SET b = 1 WHERE id IN (SELECT id FROM a WHERE c = ?1)",
            "UPDATE a SET b = 1 WHERE id = ?1 RETURNING c",
            "DELETE FROM a",
            "DELETE FROM a USING b WHERE a.id = b.id AND b.c = ?1",
            "DELETE FROM a WHERE id IN (SELECT id FROM b WHERE c = ?1)",
            "INSERT INTO a (id) VALUES (?1), (?1)",
            "INSERT INTO a (id) SELECT id FROM b WHERE c = ?1",
            "INSERT INTO a (id) VALUES (?1) ON CONFLICT (id) DO UPDATE SET b = ?1",
            "INSERT INTO a (id) VALUES (?1) RETURNING id",
        ] {
            assert_eq!(write(text, &[Type::TEXT]), None, "{text}");
        }
        assert_eq!(question("SELECT a FROM b", &[]), None, "without an argument");
        assert_eq!(
            question("SELECT a FROM b WHERE c = ?1", &[Type::INET]),
            None,
            "of another type"
        );
    }

    #[test]
    fn rows_of_arguments_become_columns() {
        let (first, second) = ([1, 2], [3, 4]);

        assert_eq!(columns(&[&first[..], &second[..]]), [[&1, &3], [&2, &4]]);
    }
}
