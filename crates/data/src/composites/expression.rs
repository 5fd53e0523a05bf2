//! The query expression of a composite's list, `q=schoolId:255901 AND (gradeLevel:…)`: the same
//! filters as parameters of their own, combined by AND.
//!
//! Source: Ed-Fi ODS/API 7.3 (`q`, `queryExpression`). What no filter can express is refused.

use homeroom_http::{Kind, Problem, Query};

/// The names of the parameter.
pub(super) const NAMES: [&str; 2] = ["q", "queryExpression"];

/// Most terms of an expression.
const TERMS_MAX: usize = 50;

/// Returns the parameters of a request with the terms of its expression beside them; `is_filter` says
/// which members a list can be filtered by.
///
/// # Errors
///
/// 400 if an expression is malformed, names a member that is no filter, or gives a member a second
/// value.
pub(super) fn expanded(query: &Query, is_filter: impl Fn(&str) -> bool) -> Result<Query, Problem> {
    let mut plain: Vec<(String, String)> = vec![];
    let mut terms = vec![];
    for (name, value) in query.iter() {
        if NAMES.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            terms.extend(read(value).map_err(|wrong| refusal(format!("{name}: {wrong}")))?);
        } else {
            plain.push((name.to_owned(), value.to_owned()));
        }
    }
    let plain = Query::of(plain);
    let mut all: Vec<(String, String)> = vec![];
    for (member, value) in terms {
        if !is_filter(&member) {
            return Err(refusal(format!("q: this list cannot be filtered by {member}.")));
        }
        let same = all.iter().find(|(other, _)| other.eq_ignore_ascii_case(&member));
        let known = same.map(|(_, known)| known.as_str()).or_else(|| plain.get(&member));
        match known.filter(|known| !known.is_empty()) {
            Some(known) if known == value => {}
            Some(_) => {
                return Err(refusal(format!("q: {member} is asked for with two values.")));
            }
            None => all.push((member, value)),
        }
    }
    let plain = plain.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Query::of(plain.chain(all)))
}

/// Refuses an expression where there is nothing to filter.
///
/// # Errors
///
/// 400 where one was sent.
pub(super) fn expect_none(query: &Query) -> Result<(), Problem> {
    match NAMES.into_iter().find(|name| query.get(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(refusal(format!("{name} filters lists; an id names one document."))),
    }
}

fn refusal(error: String) -> Problem {
    Problem::of(Kind::ParameterValidationFailed).error(error).hint(
        "Write q=schoolId:255901 AND sessionName:\"Fall Semester\", or one parameter for each.",
    )
}

/// Reads an expression: terms `member:value` or `(member:value)` with AND between them. A value with
/// spaces or parentheses stands in quotes.
///
/// # Errors
///
/// Says what is wrong.
fn read(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut terms = vec![];
    let mut rest = text.trim_start();
    loop {
        if terms.len() == TERMS_MAX {
            return Err(format!("there are at most {TERMS_MAX} terms."));
        }
        let depth = rest.chars().take_while(|letter| *letter == '(').count();
        if depth > 1 {
            return Err("terms cannot be grouped; write (member:value) AND (member:value).".into());
        }
        let (member, after) = rest[depth..]
            .split_once(':')
            .ok_or_else(|| "expected a term member:value.".to_owned())?;
        let member = member.trim();
        if member.is_empty() || !member.chars().all(|l| l.is_alphanumeric() || l == '_' || l == '.')
        {
            return Err("expected a term member:value; only AND can stand between two.".into());
        }
        let (value, after) = value(after)?;
        terms.push((member.to_owned(), value));
        rest = after.trim_start();
        if depth == 1 {
            rest = rest
                .strip_prefix(')')
                .ok_or_else(|| "a parenthesis is not closed.".to_owned())?
                .trim_start();
        }
        if rest.is_empty() {
            return Ok(terms);
        }
        let is_and = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("and"));
        rest = rest
            .get(3..)
            .filter(|after| is_and && after.starts_with([' ', '(']))
            .ok_or_else(|| {
                "only AND can stand between two terms, and a value with spaces needs quotes."
                    .to_owned()
            })?
            .trim_start();
    }
}

/// Reads a value, and returns what follows it.
fn value(text: &str) -> Result<(String, &str), String> {
    let text = text.trim_start();
    if let Some(quoted) = text.strip_prefix('"') {
        let (value, after) =
            quoted.split_once('"').ok_or_else(|| "a quote is not closed.".to_owned())?;
        return if value.is_empty() {
            Err("a value is empty.".into())
        } else {
            Ok((value.into(), after))
        };
    }
    let end = text.find([' ', '(', ')']).unwrap_or(text.len());
    let (value, after) = text.split_at(end);
    match value {
        "" => Err("a value is missing.".into()),
        value if value.contains('*') || value.starts_with(['[', '{', '<', '>']) => Err(format!(
            "{value}: ranges and wildcards are not supported; put a value with such signs in quotes."
        )),
        value => Ok((value.to_owned(), after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_members_and_values_combined_by_and() {
        let one = [("a", "1")];
        let two = [("a", "1"), ("b.c", "uri://x#Y z")];
        for (text, terms) in [
            ("a:1", &one[..]),
            (" ( a : 1 ) ", &one),
            ("a:\"1\"", &one),
            ("a:1 AND b.c:\"uri://x#Y z\"", &two),
            ("(a:1)and(b.c:\"uri://x#Y z\")", &two),
        ] {
            let expected: Vec<_> = terms.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_no_filter_expresses_is_refused() {
        for text in [
            "",
            "a",
            "a:",
            ":1",
            "a:1 OR b:2",
            "a:1 b:2",
            "NOT a:1",
            "(a:1",
            "a:1)",
            "((a:1))",
            "(a:1 AND b:2)",
            "a:1*",
            "a:[1",
            "a:>5",
            "a:\"1",
            "a:\"\"",
            "a:1 AND ",
            "a:1 AND",
            "a:(1)",
            "ä",
            "a:1 äöü",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_member_has_one_value() {
        let of = |text: &str| expanded(&Query::read(text).unwrap(), |name| name.len() == 1);

        let query = of("q=a:1 AND b:2&A=1&limit=3").unwrap();
        assert_eq!((query.get("a"), query.get("b"), query.get("q")), (Some("1"), Some("2"), None));
        assert_eq!(query.get("limit"), Some("3"));
        for text in ["q=a:1 AND a:2", "q=a:1&a=2", "q=a:1&queryExpression=a:2", "q=long:1"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
