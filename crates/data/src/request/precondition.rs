//! The conditions of `If-Match` and `If-None-Match`.
//!
//! Source: RFC 9110 §13.2.2 (`If-Match` is evaluated first, then `If-None-Match`).

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
    // A weak tag never matches strongly, as If-Match asks for.
    let is_strong = |tag: &EntityTag| !tag.is_weak;
    Ok(Precondition {
        is: is.map(|tags| versions(tags, is_strong)),
        is_not: is_not.map(|tags| versions(tags, |_| true)),
    })
}

/// Returns the versions whose tags these are. A tag that this server never gives names none.
fn versions(tags: EntityTags, counts: impl Fn(&EntityTag) -> bool) -> Versions {
    let version = |tag: EntityTag| {
        let text = std::str::from_utf8(&tag.text).ok()?;
        let version: i64 = text.parse().ok()?;
        (version.to_string() == text).then_some(version)
    };
    match tags {
        EntityTags::Any => Versions::Any,
        EntityTags::Of(tags) => {
            Versions::Of(tags.into_iter().filter(|tag| counts(tag)).filter_map(version).collect())
        }
    }
}
