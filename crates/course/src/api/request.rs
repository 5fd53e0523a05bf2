//! What requests say: bodies, moments, ids.

use homeroom_access::Call;
use homeroom_http::Query;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Reads the body as JSON.
///
/// # Errors
///
/// [`Error::Invalid`] says what is wrong.
pub(crate) async fn body<T: DeserializeOwned>(call: &mut Call) -> Result<T, Error> {
    let bytes = call.read_body().await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Error::Invalid(format!(
            "the body cannot be read at line {}, column {}: {}",
            error.line(),
            error.column(),
            if error.is_data() { data_fault(&error.to_string()) } else { "it is no JSON".into() }
        ))
    })
}

/// Keeps of a message what names members; values stay out of it.
fn data_fault(message: &str) -> String {
    let missing = message.split(" at line ").next().unwrap_or_default();
    if missing.starts_with("missing field") {
        missing.replace("missing field", "the member").replace("` ", "`") + " is missing"
    } else {
        "a member has another type than the API's".into()
    }
}

/// Returns whether a parameter is set.
pub(crate) fn flag(query: &Query, name: &str) -> bool {
    query.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// Reads a parameter that is a moment.
///
/// # Errors
///
/// [`Error::Invalid`] names it.
pub(crate) fn moment_of(query: &Query, name: &str, default: i64) -> Result<i64, Error> {
    match query.get(name).filter(|text| !text.is_empty()) {
        None => Ok(default),
        Some(text) => read_moment(text).ok_or_else(|| {
            Error::Invalid(format!("{name} is no date and time, such as 2026-11-25T08:00:00Z"))
        }),
    }
}

/// Reads a moment as microseconds: ISO 8601 with or without an offset, or a date.
fn read_moment(text: &str) -> Option<i64> {
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.as_microsecond());
    }
    // A plus sign of an offset is a blank in a query that was not encoded.
    if let Ok(moment) = text.replace(' ', "+").parse::<jiff::Timestamp>() {
        return Some(moment.as_microsecond());
    }
    let civil = text.parse::<jiff::civil::DateTime>().ok()?;
    Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

/// Refuses an id that cannot be one.
pub(crate) fn id<'i>(text: &'i str, what: &str) -> Result<&'i str, Error> {
    let is_fine = !text.trim().is_empty()
        && text.len() <= crate::import::ID_BYTES_MAX
        && !text.chars().any(char::is_control);
    if is_fine {
        Ok(text)
    } else {
        Err(Error::Invalid(format!(
            "{what} is missing, too long, or has characters that cannot be shown"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_the_forms_that_clients_send() {
        for text in [
            "1970-01-01T00:00:01Z",
            "1970-01-01T00:00:01",
            "1970-01-01T00:00:01+00:00",
            "1970-01-01T00:00:01 00:00",
        ] {
            assert_eq!(read_moment(text), Some(1_000_000), "{text}");
        }
        assert_eq!(read_moment("1970-01-02"), Some(86_400_000_000));
        assert_eq!(read_moment("yesterday"), None);
    }
}
