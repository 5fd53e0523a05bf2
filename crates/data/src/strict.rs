//! Strict handling, which a caller asks for: what is ignored or guessed otherwise is refused.
//!
//! Source: RFC 7240 §4.4 (`handling=strict`), §3 (`Preference-Applied`).

use homeroom_access::Call;
use homeroom_document::json::Json;
use homeroom_document::scalar::is_ambiguous;
use homeroom_http::{Kind, Problem, Response};
use homeroom_model::{Resource, Scalar};
use http::{HeaderMap, HeaderName, HeaderValue};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// The parameter that every request may have.
const OF_ALL: &str = "correlationId";
/// Parameters of lists besides the filters of a resource.
pub const OF_LISTS: [&str; 8] = [
    "id",
    "limit",
    "offset",
    "totalCount",
    "pageToken",
    "pageSize",
    "minChangeVersion",
    "maxChangeVersion",
];
/// Parameters of lists of changes.
pub const OF_CHANGES: [&str; 6] =
    ["limit", "offset", "totalCount", "pageToken", "minChangeVersion", "maxChangeVersion"];

/// Returns whether a request asks for strict handling. Of several preferences for the handling the
/// first counts.
pub fn is_asked(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(PREFER).iter().filter_map(|line| line.to_str().ok());
    let preferences = lines.flat_map(|line| line.split(','));
    let handling = preferences
        .map(|preference| preference.split(';').next().unwrap_or(""))
        .find_map(|preference| {
            let (name, value) = preference.split_once('=')?;
            name.trim().eq_ignore_ascii_case("handling").then_some(value.trim())
        });
    handling.is_some_and(|value| value.trim_matches('"').eq_ignore_ascii_case("strict"))
}

/// Refuses what a request that asks for strict handling sends in vain: parameters that its address does
/// not have, which are ignored otherwise.
///
/// # Errors
///
/// 400 `parameter-validation-failed`, with all of them.
pub fn expect_only(call: &Call, known: &[&str]) -> Result<(), Problem> {
    expect(call, |name| known.iter().any(|known| known.eq_ignore_ascii_case(name)), &[])
}

/// Does the same where the list of a resource is asked for: its filters are known, and their dates must be
/// such as nobody has to guess. `more` are parameters of the address besides those of lists.
///
/// # Errors
///
/// As for [`expect_only`].
pub fn expect_filters(call: &Call, resource: &Resource, more: &[&str]) -> Result<(), Problem> {
    let known = |name: &str| {
        let mut own = OF_LISTS.iter().chain(more);
        own.any(|known| known.eq_ignore_ascii_case(name))
            || resource.query_fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
    };
    let fields: Vec<_> =
        resource.query_fields.iter().map(|field| (&*field.name, field.scalar)).collect();
    expect(call, known, &fields)
}

/// Refuses parameters that are not known, and ambiguous dates in fields of these types.
///
/// # Errors
///
/// As for [`expect_only`].
pub fn expect(
    call: &Call,
    is_known: impl Fn(&str) -> bool,
    fields: &[(&str, Scalar)],
) -> Result<(), Problem> {
    if !is_asked(&call.headers) {
        return Ok(());
    }
    let query = call.query()?;
    let mut errors = vec![];
    for (name, value) in query.iter() {
        let shown = || name.chars().take(100).collect::<String>();
        if !is_known(name) && !name.eq_ignore_ascii_case(OF_ALL) {
            errors.push(format!("{} is not a parameter of this address.", shown()));
            continue;
        }
        let mut own = fields.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        if own.any(|(_, scalar)| is_ambiguous(*scalar, &Json::Text(value.into()))) {
            errors.push(format!(
                "{}: The date could begin with the month or with the day; write it as 2026-08-31.",
                shown()
            ));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    let problem = Problem::of(Kind::ParameterValidationFailed).hint(
        "The request asks for strict handling; without Prefer: handling=strict, unknown parameters \
         are ignored, and a date with slashes begins with the month.",
    );
    Err(errors.into_iter().fold(problem, Problem::error))
}

/// Says in an answer that the handling was strict, if that was asked for.
pub fn as_asked(call: &Call, answer: Response) -> Response {
    if is_asked(&call.headers) { applied(answer) } else { answer }
}

/// Says in an answer that the handling was strict.
pub fn applied(mut response: Response) -> Response {
    response.headers_mut().insert(APPLIED, HeaderValue::from_static("handling=strict"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_handling_is_asked_for_by_the_first_preference_for_it() {
        for (lines, is_strict) in [
            (&["handling=strict"][..], true),
            (&["return=minimal, Handling=\"strict\"; a=b"], true),
            (&["wait=10", "handling=strict"], true),
            (&["handling=lenient, handling=strict"], false),
            (&["strict"], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(PREFER, line.parse().unwrap());
            }

            assert_eq!(is_asked(&headers), is_strict, "{lines:?}");
        }
    }
}
