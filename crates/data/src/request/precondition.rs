//! The conditions of `If-Match` and `If-None-Match`.
//!
//! Source: RFC 9110 §13.2.2 (`If-Match` is evaluated first, then `If-None-Match`); decision 0085.

use homeroom_document::plan::{Precondition, Versions};
use homeroom_http::{EntityTag, EntityTags, Problem};
use http::{HeaderMap, header};

/// Reads the conditions from a request's headers.
///
/// # Errors
///
/// 400 if a header cannot be read.
pub(super) fn read(headers: &HeaderMap) -> Result<Precondition, Problem> {
    let is = EntityTags::read(headers, &header::IF_MATCH)?;
    let is_not = EntityTags::read(headers, &header::IF_NONE_MATCH)?;
    Ok(Precondition { is: is.map(versions), is_not: is_not.map(versions) })
}

/// Returns the versions whose tags these are. A tag that this server never gives names none.
///
/// A weak tag counts for `If-Match`, too: a proxy that compresses answers weakens their tags, and a
/// tag of this server names one version of a document, in whatever coding it was sent.
fn versions(tags: EntityTags) -> Versions {
    let version = |tag: EntityTag| {
        let text = std::str::from_utf8(&tag.text).ok()?;
        let version: i64 = text.parse().ok()?;
        (version.to_string() == text).then_some(version)
    };
    match tags {
        EntityTags::Any => Versions::Any,
        EntityTags::Of(tags) => Versions::Of(tags.into_iter().filter_map(version).collect()),
    }
}
