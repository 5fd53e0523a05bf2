//! Refuses media types that name a profile. Profiles are not supported yet, and a client that names
//! one must not read or write the whole document instead.
//!
//! Source: Ed-Fi ODS/API 7.3:
//! `application/vnd.ed-fi.{resource}.{profile}.{readable|writable}+json`, expected in `Accept` for
//! reads and in `Content-Type` for writes.

use homeroom_access::Call;
use homeroom_http::{Kind, Problem};
use http::Method;

/// Prefix of the media types of profiles.
const PREFIX: &str = "application/vnd.ed-fi.";

/// Refuses a call that names a profile.
///
/// # Errors
///
/// 400 for a media type that is malformed or for the other direction; otherwise 406 for a read and
/// 415 for a write.
pub(crate) fn refuse(call: &Call) -> Result<(), Problem> {
    let (header, usage, unknown) = match call.method {
        Method::GET | Method::HEAD => ("Accept", "readable", Kind::ProfileNotAcceptable),
        Method::POST | Method::PUT => ("Content-Type", "writable", Kind::ProfileUnsupported),
        _ => return Ok(()),
    };
    let lines = call.headers.get_all(header);
    let names_one = |line: &http::HeaderValue| {
        let mut windows = line.as_bytes().windows(PREFIX.len());
        windows.any(|part| part.eq_ignore_ascii_case(PREFIX.as_bytes()))
    };
    if !lines.iter().any(names_one) {
        return Ok(());
    }
    // Bytes that are not text cannot name a profile, and must not hide a name beside them.
    let media = lines
        .iter()
        .flat_map(|line| {
            let line = String::from_utf8_lossy(line.as_bytes());
            line.split(',').map(media_type).collect::<Vec<_>>()
        })
        .find(|media| media.starts_with(PREFIX));
    let Some(media) = media else { return Ok(()) };
    let named = media[PREFIX.len()..].strip_suffix("+json").unwrap_or("");
    let parts: Vec<&str> = named.split('.').collect();
    let is_named = matches!(parts[..], [resource, profile, "readable" | "writable"]
        if !resource.is_empty() && !profile.is_empty());
    Err(if !is_named {
        Problem::of(Kind::ProfileMalformed)
            .error(format!("The {header} header does not name a profile's media type in full."))
            .hint(format!("It is {PREFIX}RESOURCE.PROFILE.{usage}+json."))
    } else if parts[2] == usage {
        Problem::of(unknown)
            .error(format!("The profile in the {header} header is not available on this server."))
            .hint("Use application/json; profiles are not supported yet.")
    } else {
        let method = &call.method;
        Problem::of(Kind::ProfileMalformed)
            .error(format!("A media type that is {} cannot be used with {method}.", parts[2]))
    })
}

/// Returns a media type in lower case, without its parameters.
fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}
