//! Strict handling, which a caller asks for: what is ignored or guessed otherwise is refused.
//!
//! Source: RFC 7240 §4.4 (`handling=strict`), §3 (`Preference-Applied`).

use homeroom_http::{Kind, Problem, Query, Response};
use homeroom_model::Resource;
use http::{HeaderMap, HeaderName, HeaderValue};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Parameters of lists besides the filters of a resource.
const PARAMETERS: [&str; 9] = [
    "id",
    "limit",
    "offset",
    "totalCount",
    "pageToken",
    "pageSize",
    "minChangeVersion",
    "maxChangeVersion",
    "correlationId",
];

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

/// Refuses parameters that the list of a resource does not have; `more` are those of the address
/// besides the usual ones.
///
/// # Errors
///
/// 400 `parameter-validation-failed`, with all of them.
pub fn expect_known(resource: &Resource, query: &Query, more: &[&str]) -> Result<(), Problem> {
    let known = |name: &str| {
        let mut own = PARAMETERS.iter().chain(more);
        own.any(|known| known.eq_ignore_ascii_case(name))
            || resource.query_fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
    };
    let unknown: Vec<&str> =
        query.iter().map(|(name, _)| name).filter(|name| !known(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let problem = Problem::of(Kind::ParameterValidationFailed).hint(
        "The request asks for strict handling; without Prefer: handling=strict, unknown \
               parameters are ignored.",
    );
    Err(unknown.into_iter().fold(problem, |problem, name| {
        let name: String = name.chars().take(100).collect();
        problem.error(format!("{name} is not a parameter of this resource."))
    }))
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
