//! What requests say: bodies, lists, moments, tokens of pages.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use homeroom_access::Call;
use homeroom_http::Query;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Items of a page.
pub(crate) const PAGE: usize = 100;
/// Most tags that a list is filtered by.
const TAGS_MAX: usize = 8;
/// The first and the last moment.
const FIRST: i64 = i64::MIN;
const LAST: i64 = i64::MAX;

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

/// What a list asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    /// Least and greatest moments of change.
    pub(crate) updated: (i64, i64),
    /// Least and greatest moments of creation.
    pub(crate) created: (i64, i64),
    /// A pattern of names; empty for all.
    pub(crate) filter: String,
    /// Tags of which an item has one, as JSON; empty texts for none.
    pub(crate) tags: [String; TAGS_MAX],
    /// After what the page begins: moment of creation, id, instance.
    pub(crate) after: (i64, String, i64),
    /// Whether all items are counted.
    pub(crate) is_counted: bool,
}

/// Reads what a list asks for.
pub(crate) fn listed(query: &Query) -> Result<Listed, Error> {
    let moment = |name: &str, default: i64| match query.get(name).filter(|text| !text.is_empty()) {
        None => Ok(default),
        Some(text) => read_moment(text).ok_or_else(|| {
            Error::Invalid(format!("{name} is no date and time, such as 2026-11-25T08:00:00Z"))
        }),
    };
    let range = (moment("since", FIRST)?, moment("until", LAST)?);
    let is_created =
        query.get("datetimeFilter").is_some_and(|by| by.eq_ignore_ascii_case("created"));
    let all = (FIRST, LAST);
    let (updated, created) = if is_created { (all, range) } else { (range, all) };
    let filter =
        query.get("filter").filter(|text| !text.is_empty()).map(pattern).unwrap_or_default();
    let tags = tags_of(query.get("tags").unwrap_or_default())?;
    let after = match query.get("more").filter(|text| !text.is_empty()) {
        None => (FIRST, String::new(), -1),
        Some(more) => read_more(more).ok_or_else(|| {
            Error::Invalid("more is not one that this server has given out".into())
        })?,
    };
    let is_counted = flag(query, "includeTotalCount");
    Ok(Listed { updated, created, filter, tags, after, is_counted })
}

/// Returns the pattern of names that contain a text, whatever its case.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.to_lowercase().chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// Reads tags, any of which is wanted, as they stand in a row.
fn tags_of(text: &str) -> Result<[String; TAGS_MAX], Error> {
    let mut all: [String; TAGS_MAX] = Default::default();
    let wanted = text.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    for (at, tag) in wanted.enumerate() {
        let place = all.get_mut(at).ok_or_else(|| {
            Error::Invalid(format!("a list is filtered by at most {TAGS_MAX} tags"))
        })?;
        *place = serde_json::Value::from(tag).to_string();
    }
    Ok(all)
}

/// Returns whether a parameter is set.
pub(crate) fn flag(query: &Query, name: &str) -> bool {
    query.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// Returns the token of the page after an item.
pub(crate) fn more(created: i64, id: &str, instance: i64) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::json!([created, id, instance]).to_string())
}

fn read_more(text: &str) -> Option<(i64, String, i64)> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
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

    #[test]
    fn filters_are_texts_and_no_patterns() {
        assert_eq!(pattern("A_b%!"), "%a!_b!%!!%");
        let tags = tags_of(" one ,,two").unwrap();
        assert_eq!(
            (tags[0].as_str(), tags[1].as_str(), tags[2].as_str()),
            ("\"one\"", "\"two\"", "")
        );
        assert!(tags_of("1,2,3,4,5,6,7,8,9").is_err());
    }

    #[test]
    fn a_page_token_survives_a_round_trip() {
        let token = more(7, "a\"/é", 2);
        assert_eq!(read_more(&token), Some((7, "a\"/é".into(), 2)));
        assert_eq!(read_more("x"), None);
    }
}
