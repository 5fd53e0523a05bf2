//! A page of a list: filtered, sorted, and limited by offset and limit.

use std::borrow::Cow;
use std::cmp::Ordering;

use homeroom_http::{Kind, Problem, Query};
use serde_json::Value;

use crate::form::ids;
use crate::refusal::Refusal;

/// Items on a page when no limit is given.
pub(crate) const LIMIT_USUAL: usize = 25;

/// Most items on a page.
pub(crate) const LIMIT_MAX: usize = 10_000;

/// Most bytes in an answer.
const BYTES_MAX: usize = 16 << 20;

/// How a query parameter selects rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By {
    /// The member equals this number.
    Number,
    /// The member equals this text, in any case.
    Text,
    /// The id is one of these, separated by commas.
    Ids,
    /// The member's own comma-separated list contains all of these, also separated by commas.
    Parts,
}

/// A query parameter that selects rows by a member; the list can also be sorted by the member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    pub(crate) parameter: &'static str,
    pub(crate) member: &'static str,
    pub(crate) by: By,
}

/// Creates a filter whose parameter has the name of the member.
pub(crate) const fn filter(member: &'static str, by: By) -> Filter {
    Filter { parameter: member, member, by }
}

/// A row of a list: its id and its members.
#[derive(Debug, Clone)]
pub(crate) struct Row<'a> {
    pub(crate) id: i64,
    pub(crate) members: Cow<'a, Value>,
}

impl Row<'_> {
    fn get(&self, member: &str) -> Value {
        if member == "id" { self.id.into() } else { self.members[member].clone() }
    }
}

/// Returns the rows that a query selects, in the order it asks for.
///
/// # Errors
///
/// 400 naming every parameter whose value cannot be used.
pub(crate) fn page<'a>(
    query: &Query,
    mut rows: Vec<Row<'a>>,
    filters: &[Filter],
) -> Result<Vec<Row<'a>>, Refusal> {
    let mut wrong = vec![];
    let offset = number(query, "offset", 0, usize::MAX, &mut wrong);
    let limit = number(query, "limit", LIMIT_USUAL, LIMIT_MAX, &mut wrong);
    for filter in filters {
        let Some(asked) = query.get(filter.parameter).filter(|asked| !asked.is_empty()) else {
            continue;
        };
        match matcher(filter, asked) {
            Ok(matches) => rows.retain(|row| matches(row)),
            Err(message) => wrong.push(message),
        }
    }
    let order = query.get("orderBy").filter(|order| !order.is_empty());
    let is_descending = match query.get("direction").unwrap_or_default().to_lowercase().as_str() {
        "" | "asc" | "ascending" => false,
        "desc" | "descending" => true,
        _ => {
            wrong.push("direction must be Ascending or Descending.".into());
            false
        }
    };
    if let Some(order) = order {
        let member = filters.iter().map(|filter| filter.member).chain(["id"]);
        match member.into_iter().find(|member| member.eq_ignore_ascii_case(order)) {
            Some(member) => rows.sort_by_cached_key(|row| SortKey(row.get(member))),
            None => {
                let known: Vec<&str> = filters.iter().map(|filter| filter.member).collect();
                wrong.push(format!("orderBy must be id or one of {}.", known.join(", ")));
            }
        }
    }
    if is_descending {
        rows.reverse();
    }
    if wrong.is_empty() {
        return Ok(rows.into_iter().skip(offset).take(limit).collect());
    }
    let mut problem = Problem::of(Kind::ParameterValidationFailed);
    problem.errors = wrong;
    Err(problem.into())
}

/// Returns the answer with a list.
///
/// # Errors
///
/// 400 for a page that is too large to answer.
pub(crate) fn answer_list(
    items: impl Iterator<Item = Value>,
) -> Result<homeroom_http::Response, Refusal> {
    let mut text = String::from("[");
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text += &item.to_string();
        if text.len() > BYTES_MAX {
            return Err(Problem::of(Kind::ParameterValidationFailed)
                .error(format!("The page is larger than {BYTES_MAX} bytes; lower the limit."))
                .into());
        }
    }
    text.push(']');
    Ok(homeroom_http::json_response(http::StatusCode::OK, text))
}

fn number(query: &Query, name: &str, usual: usize, most: usize, wrong: &mut Vec<String>) -> usize {
    let Some(text) = query.get(name).filter(|text| !text.is_empty()) else { return usual };
    let number = text.parse().ok().filter(|number| *number <= most);
    number.unwrap_or_else(|| {
        wrong.push(match most {
            usize::MAX => format!("{name} must be a whole number from 0."),
            most => format!("{name} must be a whole number from 0 to {most}."),
        });
        usual
    })
}

type Matches<'a> = Box<dyn Fn(&Row<'_>) -> bool + 'a>;

fn matcher<'a>(filter: &'a Filter, asked: &'a str) -> Result<Matches<'a>, String> {
    let member = filter.member;
    let parts = || asked.split(',').map(str::trim).filter(|part| !part.is_empty());
    Ok(match filter.by {
        By::Number => {
            let number: i64 = asked
                .trim()
                .parse()
                .map_err(|_| format!("{} must be a whole number.", filter.parameter))?;
            Box::new(move |row| row.get(member).as_i64() == Some(number))
        }
        By::Text => {
            let asked = asked.to_lowercase();
            Box::new(move |row| {
                row.get(member).as_str().is_some_and(|text| text.to_lowercase() == asked)
            })
        }
        By::Ids => {
            let wanted: Result<Vec<i64>, _> = parts().map(str::parse).collect();
            let mut wanted = wanted.map_err(|_| {
                format!("{} must be a list of ids separated by commas.", filter.parameter)
            })?;
            wanted.sort_unstable();
            Box::new(move |row| wanted.binary_search(&row.id).is_ok())
        }
        By::Parts => {
            let wanted: Vec<String> = parts().map(str::to_lowercase).collect();
            Box::new(move |row| {
                let own = row.get(member).as_str().unwrap_or_default().to_lowercase();
                let own: Vec<&str> = own.split(',').map(str::trim).collect();
                wanted.iter().all(|part| own.contains(&part.as_str()))
            })
        }
    })
}

/// Orders values of rows: null, then false and true, numbers, texts in any case, lists by length.
#[derive(PartialEq)]
struct SortKey(Value);

impl Eq for SortKey {}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |value: &Value| match value {
            Value::Null => (0, 0, String::new()),
            Value::Bool(is) => (1, i64::from(*is), String::new()),
            Value::Number(number) => (2, number.as_i64().unwrap_or_default(), String::new()),
            Value::String(text) => (3, 0, text.to_lowercase()),
            Value::Array(_) | Value::Object(_) => {
                (4, i64::try_from(ids(value).len()).unwrap_or(i64::MAX), String::new())
            }
        };
        rank(&self.0).cmp(&rank(&other.0))
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILTERS: &[Filter] = &[
        filter("id", By::Number),
        Filter { parameter: "ids", member: "id", by: By::Ids },
        filter("name", By::Text),
        filter("prefixes", By::Parts),
    ];

    fn asked(query: &str) -> Result<Vec<i64>, Vec<String>> {
        let rows = [("b", "x,y"), ("A", "y"), ("c", ""), ("a", "x, y")];
        let rows = rows.into_iter().zip(1..).map(|((name, prefixes), id)| Row {
            id,
            members: Cow::Owned(json!({"name": name, "prefixes": prefixes})),
        });
        match page(&Query::read(query).unwrap(), rows.collect(), FILTERS) {
            Ok(rows) => Ok(rows.into_iter().map(|row| row.id).collect()),
            Err(Refusal::Problem(problem)) => Err(problem.errors.clone()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_is_filtered_then_sorted_then_cut() {
        for (query, expected) in [
            ("", vec![1, 2, 3, 4]),
            ("limit=2&offset=1", vec![2, 3]),
            ("limit=0", vec![]),
            ("offset=9", vec![]),
            ("id=3", vec![3]),
            ("id=&name=", vec![1, 2, 3, 4]),
            ("ids=4,2,9", vec![2, 4]),
            ("name=a", vec![2, 4]),
            ("prefixes=Y,x", vec![1, 4]),
            ("orderBy=name", vec![2, 4, 1, 3]),
            ("OrderBy=Name&Direction=desc", vec![3, 1, 4, 2]),
            ("direction=Descending&limit=1", vec![4]),
        ] {
            assert_eq!(asked(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn a_page_beyond_its_bytes_is_refused() {
        let mebibyte = Value::from("x".repeat(1 << 20));
        let items = |count| std::iter::repeat_n(mebibyte.clone(), count);

        assert!(answer_list(items(15)).is_ok());
        assert!(matches!(answer_list(items(16)), Err(Refusal::Problem(_))));
    }

    #[test]
    fn every_unusable_parameter_is_reported() {
        let wrong = asked("offset=-1&limit=10001&id=x&ids=1,x&orderBy=size&direction=up");

        let wrong = wrong.unwrap_err();
        for name in ["offset", "limit", "id ", "ids", "orderBy", "direction"] {
            assert!(wrong.iter().any(|message| message.starts_with(name)), "{name}: {wrong:?}");
        }
        assert_eq!(wrong.len(), 6);
    }
}
