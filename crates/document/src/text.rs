//! Writes a stored document as clients read it.

use std::io::Write as _;

use homeroom_model::ResourceId;
use homeroom_store::{ChangedAt, Gap, Link, References, Row};

use crate::catalog::Catalog;

/// Writes a document as clients read it: with its id, links, empty collections, version (`_etag`)
/// and the time of its last change.
pub fn write_document(out: &mut Vec<u8>, catalog: &Catalog, row: &Row) {
    out.extend_from_slice(b"{\"id\":\"");
    out.extend_from_slice(&row.uuid.hex());
    out.push(b'"');
    let resource = catalog.resource(row.kind);
    let empties = resource.map(|resource| catalog.empties(resource.id));
    match empties.filter(|empties| !empties.is_empty()) {
        None => write_members(out, catalog, row, |_| "", std::iter::empty()),
        Some(empties) => {
            let text = |gap| empties.text(gap);
            match References::gaps(&row.references) {
                Some((shape, gaps)) if shape == empties.shape() => {
                    write_members(out, catalog, row, text, gaps);
                }
                _ => {
                    let found = empties.find(&row.body);
                    write_members(out, catalog, row, text, found.into_iter());
                }
            }
        }
    }
    out.extend_from_slice(b",\"_etag\":\"");
    out.extend_from_slice(row.change_version.to_string().as_bytes());
    out.extend_from_slice(b"\",\"_lastModifiedDate\":\"");
    _ = write!(out, "{}", ChangedAt(row.modified));
    out.extend_from_slice(b"\"}");
}

/// Returns the places of a canonical text where an answer has empty collections, as they are found
/// by scanning it. [`Document::gaps`](crate::validate::Document::gaps) has the same without a scan.
pub fn gaps(catalog: &Catalog, resource: ResourceId, body: &str) -> Vec<Gap> {
    catalog.empties(resource).find(body)
}

/// Appends the members of a stored text, and inserts the links at their places and the missing
/// members at the gaps. Invalid places are skipped.
fn write_members<'e>(
    out: &mut Vec<u8>,
    catalog: &Catalog,
    row: &Row,
    text: impl Fn(Gap) -> &'e str,
    gaps: impl Iterator<Item = Gap>,
) {
    let body = row.body.as_bytes();
    let inner = body.len().saturating_sub(1);
    if inner > 1 {
        out.push(b',');
    }
    let mut at = 1;
    let mut links = References::links(&row.references).peekable();
    for gap in gaps {
        let offset = gap.offset as usize;
        while let Some(link) = links.next_if(|link| link.offset < gap.offset) {
            write_link(out, catalog, &body[..inner], &mut at, link);
        }
        if offset < at || offset > inner {
            continue;
        }
        out.extend_from_slice(&body[at..offset]);
        at = offset;
        let members = text(gap).as_bytes();
        let comma = usize::from(out.last() == Some(&b'{')).min(members.len());
        out.extend_from_slice(&members[comma..]);
    }
    for link in links {
        write_link(out, catalog, &body[..inner], &mut at, link);
    }
    out.extend_from_slice(&body[at.min(inner)..inner]);
}

/// Writes the text up to a link's place, then the link.
fn write_link(out: &mut Vec<u8>, catalog: &Catalog, body: &[u8], at: &mut usize, link: Link) {
    let offset = link.offset as usize;
    let Some(resource) = catalog.resource(link.kind) else { return };
    if offset < *at || offset > body.len() {
        return;
    }
    out.extend_from_slice(&body[*at..offset]);
    *at = offset;
    out.extend_from_slice(b",\"link\":{\"rel\":\"");
    out.extend_from_slice(resource.name.as_bytes());
    out.extend_from_slice(b"\",\"href\":\"/");
    out.extend_from_slice(resource.schema.as_bytes());
    out.push(b'/');
    out.extend_from_slice(resource.endpoint.as_bytes());
    out.push(b'/');
    out.extend_from_slice(&link.uuid.hex());
    out.extend_from_slice(b"\"}");
}
