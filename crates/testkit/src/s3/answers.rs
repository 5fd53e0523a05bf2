//! What the server answers to requests that are signed.

use std::fmt::Write as _;
use std::ops::Range;

use super::message::{Answered, Asked, BUCKET, decoded, error};
use super::objects::{Object, Objects, Upload};

/// Most keys, and most uploads, of a page.
const PAGE: usize = 1_000;
/// Fewest bytes of a part that is not the last.
const PART_BYTES_MIN: usize = 5 << 20;

/// Answers a request.
pub(crate) fn answer(asked: &Asked, state: &mut Objects) -> Answered {
    let path = decoded(&asked.path);
    let path = path.trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    if bucket != BUCKET {
        return error(404, "NoSuchBucket", "The specified bucket does not exist");
    }
    let upload = asked.parameter("uploadId");
    match (asked.method.as_str(), key, upload) {
        ("GET", "", _) if asked.parameter("uploads").is_some() => uploads(asked, state),
        ("GET", "", _) => list(asked, state),
        ("GET" | "HEAD", key, _) => get(asked, key, state),
        ("PUT", key, Some(id)) => put_part(asked, key, &id, state),
        ("PUT", key, None) => put(asked, key, state),
        ("POST", key, None) if asked.parameter("uploads").is_some() => {
            let id = state.begin(key);
            xml(&format!(
                "<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key>\
                 <UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
            ))
        }
        ("POST", key, Some(id)) => complete(asked, key, &id, state),
        ("DELETE", _, Some(id)) => match state.uploads.remove(&id) {
            Some(_) => Answered { status: 204, ..Answered::default() },
            None => error(404, "NoSuchUpload", "The specified upload does not exist"),
        },
        ("DELETE", key, None) => {
            state.remove(key);
            Answered { status: 204, ..Answered::default() }
        }
        _ => error(501, "NotImplemented", "A header or query implies what is not implemented"),
    }
}

fn put(asked: &Asked, key: &str, state: &mut Objects) -> Answered {
    if asked.header("if-none-match").is_some() {
        if state.is_conditional_refused {
            return error(501, "NotImplemented", "A header implies what is not implemented");
        }
        if !state.is_conditional_ignored && state.named.contains_key(key) {
            return error(412, "PreconditionFailed", "At least one precondition does not hold");
        }
    }
    let etag = state.put(key, asked.body.clone());
    Answered { status: 200, headers: vec![("etag".into(), etag)], body: vec![] }
}

fn get(asked: &Asked, key: &str, state: &Objects) -> Answered {
    let Some(object) = state.named.get(key) else {
        return error(404, "NoSuchKey", "The specified key does not exist.");
    };
    let length = object.bytes.len();
    let mut headers = vec![
        ("etag".to_owned(), object.etag.clone()),
        ("last-modified".to_owned(), http_date(object.changed)),
        ("accept-ranges".to_owned(), "bytes".to_owned()),
    ];
    if asked.method == "HEAD" {
        headers.push(("content-length".to_owned(), length.to_string()));
        return Answered { status: 200, headers, body: vec![] };
    }
    let Some(stated) = asked.header("range").and_then(|range| range.strip_prefix("bytes=")) else {
        return Answered { status: 200, headers, body: object.bytes.clone() };
    };
    let Some(Range { start, end }) = range(stated, length) else {
        return error(416, "InvalidRange", "The requested range is not satisfiable");
    };
    headers.push(("content-range".into(), format!("bytes {start}-{}/{length}", end - 1)));
    Answered { status: 206, headers, body: object.bytes[start..end].to_vec() }
}

/// Source: RFC 9110 §14.1.2.
fn range(stated: &str, length: usize) -> Option<Range<usize>> {
    let (first, last) = stated.split_once('-')?;
    if first.is_empty() {
        return Some(length.saturating_sub(last.parse().ok()?)..length).filter(|_| length > 0);
    }
    let first = first.parse().ok()?;
    let end = if last.is_empty() { length } else { last.parse::<usize>().ok()? + 1 };
    Some(first..end.min(length)).filter(|range| range.start < range.end)
}

fn put_part(asked: &Asked, key: &str, id: &str, state: &mut Objects) -> Answered {
    let number = asked.parameter("partNumber").and_then(|number| number.parse::<u32>().ok());
    let number = number.filter(|number| (1..=10_000).contains(number));
    let upload = state.uploads.get_mut(id).filter(|upload| upload.key == key);
    let (Some(number), Some(upload)) = (number, upload) else {
        return error(404, "NoSuchUpload", "The specified upload does not exist");
    };
    let part = Object::new(asked.body.clone());
    let headers = vec![("etag".to_owned(), part.etag.clone())];
    upload.parts.insert(number, part);
    Answered { status: 200, headers, body: vec![] }
}

fn complete(asked: &Asked, key: &str, id: &str, state: &mut Objects) -> Answered {
    let Some(Upload { parts, .. }) = state.uploads.get(id) else {
        return error(404, "NoSuchUpload", "The specified upload does not exist");
    };
    let body = String::from_utf8_lossy(&asked.body);
    let inner = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0.replace("&quot;", "\""))
    };
    let (mut all, mut last) = (vec![], 0);
    let listed: Vec<&str> = body.split("<Part>").skip(1).collect();
    for (at, part) in listed.iter().enumerate() {
        let number = inner(part, "PartNumber").and_then(|number| number.parse::<u32>().ok());
        let found = number.and_then(|number| parts.get(&number));
        let etag = inner(part, "ETag");
        let Some(found) = found.filter(|found| etag.as_ref() == Some(&found.etag)) else {
            return error(400, "InvalidPart", "One or more of the parts could not be found");
        };
        if number <= Some(last) {
            return error(400, "InvalidPartOrder", "The list of parts is not in ascending order");
        }
        if at + 1 < listed.len() && found.bytes.len() < PART_BYTES_MIN {
            return error(400, "EntityTooSmall", "A part is too small");
        }
        last = number.unwrap_or_default();
        all.extend_from_slice(&found.bytes);
    }
    state.uploads.remove(id);
    let etag = state.put(key, all);
    let etag = etag.replace('"', "&quot;");
    xml(&format!(
        "<CompleteMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{key}</Key>\
         <ETag>{etag}</ETag></CompleteMultipartUploadResult>"
    ))
}

/// Source: `ListObjectsV2`.
fn list(asked: &Asked, state: &Objects) -> Answered {
    let prefix = asked.parameter("prefix").unwrap_or_default();
    let after = asked.parameter("continuation-token").or_else(|| asked.parameter("start-after"));
    let after = after.unwrap_or_default();
    let most = asked.parameter("max-keys").and_then(|most| most.parse().ok()).unwrap_or(PAGE);
    let found = state.named.iter();
    let mut found = found.filter(|(key, _)| key.starts_with(&prefix) && **key > after);
    let (mut out, mut last) = (String::new(), None);
    for (key, object) in found.by_ref().take(most.min(PAGE)) {
        let (changed, etag) = (date(object.changed), object.etag.replace('"', "&quot;"));
        _ = write!(
            out,
            "<Contents><Key>{key}</Key><LastModified>{changed}</LastModified><ETag>{etag}</ETag>\
             <Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
            object.bytes.len()
        );
        last = Some(key);
    }
    let is_more = found.next().is_some();
    if let Some(last) = last.filter(|_| is_more) {
        _ = write!(out, "<NextContinuationToken>{last}</NextContinuationToken>");
    }
    xml(&format!(
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{BUCKET}</Name>\
         <Prefix>{prefix}</Prefix><IsTruncated>{is_more}</IsTruncated>{out}</ListBucketResult>"
    ))
}

/// Source: `ListMultipartUploads`.
fn uploads(asked: &Asked, state: &Objects) -> Answered {
    let prefix = asked.parameter("prefix").unwrap_or_default();
    let mut out = String::new();
    for (id, upload) in &state.uploads {
        if upload.key.starts_with(&prefix) {
            _ = write!(
                out,
                "<Upload><Key>{}</Key><UploadId>{id}</UploadId><Initiated>{}</Initiated></Upload>",
                upload.key,
                date(upload.begun)
            );
        }
    }
    xml(&format!(
        "<ListMultipartUploadsResult><Bucket>{BUCKET}</Bucket><IsTruncated>false</IsTruncated>\
         {out}</ListMultipartUploadsResult>"
    ))
}

fn xml(text: &str) -> Answered {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}").into_bytes();
    let headers = vec![("content-type".to_owned(), "application/xml".to_owned())];
    Answered { status: 200, headers, body }
}

/// Year, month, day, hour, minute and second of a moment, and the day of the week.
///
/// Source: Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`.
fn civil(seconds: u64) -> ([u64; 6], usize) {
    let days = seconds / 86_400;
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let of_day = seconds % 86_400;
    let weekday = usize::try_from((days + 4) % 7).unwrap_or(0);
    ([year, month, day, of_day / 3_600, of_day / 60 % 60, of_day % 60], weekday)
}

fn date(seconds: u64) -> String {
    let ([year, month, day, hour, minute, second], _) = civil(seconds);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}

/// Source: RFC 9110 §5.6.7.
fn http_date(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let ([year, month, day, hour, minute, second], weekday) = civil(seconds);
    let month = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
    let weekday = DAYS[weekday];
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_published() {
        // Source: RFC 9110 §5.6.7, the example.
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(784_111_777), "1994-11-06T08:49:37.000Z");
    }
}
