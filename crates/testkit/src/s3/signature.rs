//! Checks who has signed a request.
//!
//! Source: Authenticating Requests: Using the Authorization Header (AWS Signature Version 4).
#![expect(clippy::disallowed_methods, reason = "a signature is good for some minutes")]

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac};

use super::message::{
    ACCESS_KEY_ID, Answered, Asked, REGION, SECRET_ACCESS_KEY, decoded, error, hex,
};

/// What a canonical query encodes.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The longest time between the moment that a request names and its arrival, in seconds.
const SKEW_MAX: i64 = 15 * 60;

/// Checks that the key has signed the request: what it asks for, all its headers that S3 knows, and
/// its body.
pub(crate) fn check(asked: &Asked) -> Result<(), Answered> {
    let denied = |code: &str, why: &str| error(403, code, why);
    let stated = asked.header("authorization").unwrap_or_default();
    let Some(stated) = stated.strip_prefix("AWS4-HMAC-SHA256 ") else {
        return Err(denied("AccessDenied", "there is no signature"));
    };
    let part = |name: &str| {
        let mut parts = stated.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    };
    let (key, scope) = part("Credential").split_once('/').unwrap_or_default();
    if key != ACCESS_KEY_ID {
        return Err(denied("InvalidAccessKeyId", "there is no such key"));
    }
    let date = asked.header("x-amz-date").unwrap_or_default();
    let day = date.get(..8).unwrap_or_default();
    if scope != format!("{day}/{REGION}/s3/aws4_request") {
        let why = format!("the region '{scope}' is wrong; expecting '{REGION}'");
        return Err(error(400, "AuthorizationHeaderMalformed", &why));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if seconds(date).is_none_or(|then| (then - now.cast_signed()).abs() > SKEW_MAX) {
        return Err(denied("RequestTimeTooSkewed", "the clocks differ"));
    }
    let signed = part("SignedHeaders");
    let names: Vec<&str> = signed.split(';').collect();
    let must = |name: &str| name == "host" || name.starts_with("x-amz-");
    if let Some((name, _)) =
        asked.headers.iter().find(|(name, _)| must(name) && !names.contains(&name.as_str()))
    {
        return Err(denied("AccessDenied", &format!("{name} is not signed")));
    }
    let payload = asked.header("x-amz-content-sha256").unwrap_or_default();
    if payload != "UNSIGNED-PAYLOAD" && payload != sha256(&asked.body) {
        return Err(error(400, "XAmzContentSHA256Mismatch", "the body is another"));
    }
    let expected = signature(asked, signed, payload, date, scope, SECRET_ACCESS_KEY);
    if part("Signature") != expected {
        return Err(denied("SignatureDoesNotMatch", "it was signed with another secret"));
    }
    Ok(())
}

fn signature(
    asked: &Asked,
    signed: &str,
    payload: &str,
    date: &str,
    scope: &str,
    secret: &str,
) -> String {
    let pairs = asked.query.split('&').filter(|pair| !pair.is_empty());
    let encoded = |text: &str| utf8_percent_encode(&decoded(text), ENCODED).to_string();
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        format!("{}={}", encoded(name), encoded(value))
    };
    let mut query: Vec<String> = pairs.map(pair).collect();
    query.sort_unstable();
    let lines = signed.split(';').fold(String::new(), |mut lines, name| {
        _ = writeln!(lines, "{name}:{}", asked.header(name).unwrap_or_default());
        lines
    });
    let (method, path, query) = (&asked.method, &asked.path, query.join("&"));
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{signed}\n{payload}");
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let mac = |key: &[u8], text: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
    };
    let start = format!("AWS4{secret}").into_bytes();
    let key = scope.split('/').fold(start, |key, word| mac(&key, word));
    hex(&mac(&key, &text))
}

/// Returns the second of a moment such as `20130524T000000Z`.
fn seconds(date: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| date.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    let (hour, minute, second) = (number(9..11)?, number(11..13)?, number(13..15)?);
    // Days since 1970: Hinnant, chrono-compatible low-level date algorithms, days_from_civil.
    let (year, shifted) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: Signature Calculations for the Authorization Header, Example: GET Object.
    #[test]
    fn the_published_example_has_the_published_signature() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let date = "20130524T000000Z";
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com"),
            ("range", "bytes=0-9"),
            ("x-amz-content-sha256", empty),
            ("x-amz-date", date),
        ];
        let asked = Asked {
            method: "GET".into(),
            path: "/test.txt".into(),
            query: String::new(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            body: vec![],
        };
        let signed = "host;range;x-amz-content-sha256;x-amz-date";
        let scope = "20130524/us-east-1/s3/aws4_request";
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

        let found = signature(&asked, signed, empty, date, scope, secret);

        assert_eq!(found, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
        assert_eq!(seconds(date), Some(1_369_353_600));
    }
}
