//! Puts statements of parts together that have one text.

use std::collections::HashMap;

use crate::lane::PartRows;
use crate::postgres::strict::ROWS_MAX;
use crate::postgres::value::Written;
use crate::postgres::writer::statement::{BYTES_MAX, Statement};

/// Puts statements together that have one text and write rows of different keys. Statements on the rows of
/// one key keep their order, and those on any rows keep theirs to all others.
pub(super) fn together(statements: Vec<Statement>) -> Vec<Statement> {
    let mut out: Vec<Together> = Vec::with_capacity(statements.len());
    let mut since = Since::default();
    for statement in statements {
        let Some(rows) = statement.rows.filter(|rows| rows.key().is_some()) else {
            since = Since::default();
            out.push(Together { statement, bytes: 0 });
            continue;
        };
        let bytes = statement.values.iter().map(|Written(value)| value.bytes()).sum();
        let after = since.last.get(&rows).map_or(0, |last| last + 1);
        let of_text = since.places.entry(statement.text).or_default();
        let has_room = |at: &usize| *at >= after && out[*at].has_room(&statement.values, bytes);
        let room = of_text.iter().copied().find(has_room);
        let at = room.unwrap_or(out.len());
        since.last.insert(rows, at);
        match out.get_mut(at) {
            Some(together) => {
                together.bytes += bytes;
                together.statement.more.push(statement.values);
            }
            None => {
                of_text.push(at);
                out.push(Together { statement, bytes });
            }
        }
    }
    out.into_iter().map(|together| together.statement).collect()
}

/// Where statements are since the last one on any rows.
#[derive(Default)]
struct Since {
    /// The last one on the rows of a key.
    last: HashMap<PartRows, usize>,
    /// Those of a text.
    places: HashMap<&'static str, Vec<usize>>,
}

/// Statements of one text.
struct Together {
    statement: Statement,
    bytes: usize,
}

impl Together {
    /// Returns whether it takes further values, of as many arguments.
    fn has_room(&self, values: &[Written], bytes: usize) -> bool {
        values.len() == self.statement.values.len()
            && self.statement.more.len() + 1 < ROWS_MAX
            && self.bytes + bytes <= BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Lane;
    use crate::postgres::writer::statement::{Origin, foreign};
    use crate::sql::Sql;

    const LANE: Lane = Lane::new("test");

    fn write(text: &'static str, key: Option<u8>, value: i64) -> Statement {
        let rows = Some(key.map_or(LANE.all(), |key| LANE.rows(key)));
        Statement { rows, ..foreign(Sql::new(text, vec![value.into()]), Origin::Part) }
    }

    /// Returns texts with their values.
    fn shown(statements: &[Statement]) -> Vec<(&str, Vec<i64>)> {
        let number = |values: &Vec<Written>| values[0].0.as_integer().unwrap();
        let all =
            |one: &Statement| [&one.values].into_iter().chain(&one.more).map(number).collect();
        statements.iter().map(|one| (one.text, all(one))).collect()
    }

    #[test]
    fn statements_on_rows_of_different_keys_go_together() {
        let found = together(vec![
            write("a", Some(1), 1),
            write("b", Some(1), 2),
            write("a", Some(2), 3),
            write("b", Some(2), 4),
        ]);

        assert_eq!(shown(&found), [("a", vec![1, 3]), ("b", vec![2, 4])]);
    }

    #[test]
    fn statements_on_rows_of_one_key_keep_their_order() {
        let found = together(vec![
            write("a", Some(1), 1),
            write("b", Some(1), 2),
            write("a", Some(1), 3),
            write("b", Some(2), 4),
            write("a", Some(2), 5),
        ]);

        assert_eq!(shown(&found), [("a", vec![1]), ("b", vec![2, 4]), ("a", vec![3, 5])]);
    }

    #[test]
    fn statements_on_any_rows_keep_their_order_to_all_others() {
        let found = together(vec![
            write("a", Some(1), 1),
            write("a", None, 2),
            write("a", None, 3),
            write("a", Some(2), 4),
            write("a", Some(3), 5),
        ]);

        let wanted = [("a", vec![1]), ("a", vec![2]), ("a", vec![3]), ("a", vec![4, 5])];
        assert_eq!(shown(&found), wanted);
    }

    #[test]
    fn statements_with_fewer_values_stay_alone() {
        let fewer = Statement { values: vec![], ..write("a", Some(2), 0) };

        let found = together(vec![write("a", Some(1), 1), fewer, write("a", Some(3), 3)]);

        assert_eq!(found.iter().map(|one| one.more.len()).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn no_more_go_together_than_one_statement_takes() {
        let many = i64::try_from(ROWS_MAX).unwrap() + 1;
        let rows = |at| Some(LANE.rows(at));
        let of = |at| Statement { rows: rows(at), ..write("a", None, at) };
        let large =
            |at| Statement { values: vec![Written("x".repeat(BYTES_MAX / 2).into())], ..of(at) };

        let found = together((0..many).map(of).collect());
        let by_size = together((0..3).map(large).collect());

        let sizes =
            |all: &[Statement]| all.iter().map(|one| one.more.len() + 1).collect::<Vec<_>>();
        assert_eq!(sizes(&found), [ROWS_MAX, 1]);
        assert_eq!(sizes(&by_size), [2, 1]);
    }
}
