//! Compresses lists for callers that ask for it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use homeroom_access::Call;
use homeroom_http::{Body, Coding, Problem, Response, coding_of};
use http::{HeaderValue, header};

use crate::blocking::{self, Places};

/// Fewest bytes that are compressed: shorter lists fit into a packet or two anyway.
const COMPRESSED_MIN: usize = 1_400;
/// Most bytes that are compressed on the thread that answers.
const INLINE_MAX: usize = 32 << 10;
/// The fastest level: it saves most of what the slower ones do.
const LEVEL: Compression = Compression::fast();

/// Returns the same list, compressed if the caller asks for that and it is worth it. `places` are those of long
/// lists.
///
/// A list has no entity tag, so none has to tell the codings apart. Single documents, which have one,
/// are never compressed.
///
/// # Errors
///
/// 500 where compressing fails.
pub(crate) async fn coded(
    call: &Call,
    response: Response,
    places: &Places,
) -> Result<Response, Problem> {
    let (mut head, body) = response.into_parts();
    head.headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let whole = match (coding_of(call), body.as_whole()) {
        (Coding::Gzip, Some(whole)) if whole.len() >= COMPRESSED_MIN => whole.clone(),
        _ => return Ok(Response::from_parts(head, body)),
    };
    drop(body);
    let compressed = if whole.len() <= INLINE_MAX {
        compress(&whole)
    } else {
        blocking::run(places, move || compress(&whole)).await?
    };
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(Response::from_parts(head, Body::from(compressed)))
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), LEVEL);
    encoder.write_all(bytes).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}
