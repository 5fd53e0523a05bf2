//! Paths below an API: what is passed on, and whether an upstream could read it as another path.

use homeroom_http::{Kind, Problem};

/// How often a path is decoded in search of segments that lead out: some servers decode twice.
const DECODED_MAX: usize = 3;

/// Returns what follows `/apis/{context}/{version}`, as it was sent.
///
/// # Errors
///
/// 400 for segments `.` and `..` in any spelling, which would lead out of what is published once an
/// upstream resolves them, for backslashes and for control characters.
pub(crate) fn rest_of(path: &str) -> Result<&str, Problem> {
    let behind = path.match_indices('/').nth(3).map_or(path.len(), |(at, _)| at);
    let rest = &path[behind..];
    let is_odd = rest.bytes().any(|byte| byte == b'\\' || byte < 0x21 || byte == 0x7f);
    if is_odd || leads_out(rest) {
        return Err(Problem::of(Kind::BadRequest)
            .detail("The path has a segment `.` or `..`, a backslash or a control character."));
    }
    Ok(rest)
}

/// Returns what follows a beginning of whole segments.
pub(crate) fn below<'a>(url: &'a str, begin: &str) -> Option<&'a str> {
    let rest = url.strip_prefix(begin)?;
    (rest.is_empty() || rest.starts_with(['/', '?', '#'])).then_some(rest)
}

/// Divides a URL into scheme, host and port, and its path with what follows.
pub(crate) fn split_origin(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    url.split_at(url[host..].find('/').map_or(url.len(), |slash| host + slash))
}

fn leads_out(rest: &str) -> bool {
    let mut text = std::borrow::Cow::Borrowed(rest.as_bytes());
    for _ in 0..DECODED_MAX {
        // What follows a semicolon is no part of a segment's name for some servers.
        let is_dots = |segment: &[u8]| {
            let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
            name == b"." || name == b".."
        };
        let mut segments = text.split(|byte| matches!(byte, b'/' | b'\\'));
        if text.contains(&0) || segments.any(is_dots) {
            return true;
        }
        if !text.contains(&b'%') {
            return false;
        }
        text = decoded(&text).into();
    }
    false
}

/// Returns a path in which those characters that mean the same encoded and plain are plain.
///
/// Source: RFC 3986 §6.2.2.2.
pub(crate) fn usual(path: &str) -> String {
    let mut usual = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('%') {
        usual.push_str(before);
        let byte = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte)) {
            Some(byte) => {
                usual.push(char::from(byte));
                rest = &behind[2..];
            }
            None => {
                usual.push('%');
                rest = behind;
            }
        }
    }
    usual.push_str(rest);
    usual
}

/// Returns the path as a server reads it that decodes slashes, folds repeated ones, and knows parameters
/// of segments.
pub(crate) fn other(path: &str) -> String {
    let decoded = String::from_utf8_lossy(&decoded(path.as_bytes())).replace('\\', "/");
    let names = decoded.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    format!("/{}", names.join("/"))
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let encoded = digit(at + 1).zip(digit(at + 2)).filter(|_| text[at] == b'%');
        let byte = encoded.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        decoded.push(byte.unwrap_or(text[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_version_is_passed_on_as_it_was_sent() {
        for (path, expected) in [
            ("/apis/pay/v1", ""),
            ("/apis/pay/v1/", "/"),
            ("/apis/pay/v1/a%2Fb//c;x=1", "/a%2Fb//c;x=1"),
            ("/apis/pay/v1/a..b/...", "/a..b/..."),
            ("/apis/pay/v1/%zz/%", "/%zz/%"),
            ("/apis/pay/v1/%C3%BC", "/%C3%BC"),
        ] {
            assert_eq!(rest_of(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_out_is_refused_however_it_is_written() {
        for rest in [
            "..",
            "a/../b",
            "a/%2e%2E/b",
            "./a",
            "%2e",
            "a%00",
            "a%2500",
            "a\\b",
            "..%2fadmin",
            "a%2f..%2f..%2fadmin",
            "..%5cadmin",
            "..;x=1/admin",
            "%2e%2e%3bx/admin",
            "%252e%252e/admin",
            "%252e%252e%252fadmin",
            "a\u{7f}",
        ] {
            assert!(rest_of(&format!("/apis/p/v/{rest}")).is_err(), "{rest}");
        }
    }

    #[test]
    fn a_path_has_a_usual_and_another_reading() {
        for (path, expected, read_otherwise) in [
            ("/a/b", "/a/b", "/a/b"),
            ("/%61dmin", "/admin", "/admin"),
            ("/7%2Fsecrets", "/7%2Fsecrets", "/7/secrets"),
            ("//a//b/", "//a//b/", "/a/b"),
            ("/admin;x=1", "/admin;x=1", "/admin"),
            ("/%c3%bc%", "/%c3%bc%", "/\u{fc}%"),
        ] {
            assert_eq!((&*usual(path), &*other(path)), (expected, read_otherwise), "{path}");
        }
    }
}
