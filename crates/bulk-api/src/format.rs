//! The formats of files, and what an interchange is called.

use homeroom_model::Model;

/// Media types of interchange XML.
const XML: [&str; 2] = ["text/xml", "application/xml"];
/// Media type of lines of JSON, which this server takes besides.
pub(crate) const LINES: &str = "application/x-ndjson";
/// The interchange type of lines of JSON that each name their resource.
pub(crate) const DOCUMENTS: &str = "Documents";
/// What names of interchanges may begin with.
const PREFIX: &str = "Interchange";

/// Returns whether a media type is one of interchange XML.
pub(crate) fn is_xml(format: &str) -> bool {
    XML.iter().any(|known| known.eq_ignore_ascii_case(format))
}

/// Returns whether a media type is that of lines of JSON.
pub(crate) fn is_lines(format: &str) -> bool {
    LINES.eq_ignore_ascii_case(format)
}

/// Returns the name of an interchange as the model has it; for lines of JSON the endpoint of a
/// resource, or [`DOCUMENTS`].
pub(crate) fn interchange(model: &Model, format: &str, name: &str) -> Option<String> {
    if is_lines(format) {
        if name.eq_ignore_ascii_case(DOCUMENTS) {
            return Some(DOCUMENTS.to_owned());
        }
        return model.named(name).map(|resource| resource.endpoint.clone());
    }
    let bare = match name.get(..PREFIX.len()) {
        Some(prefix) if prefix.eq_ignore_ascii_case(PREFIX) => &name[PREFIX.len()..],
        _ => name,
    };
    let known = model.resources.iter().flat_map(|resource| &resource.interchanges);
    known.into_iter().find(|known| known.eq_ignore_ascii_case(bare)).cloned()
}

/// Returns the names of all interchanges, sorted.
pub(crate) fn interchanges(model: &Model) -> Vec<&str> {
    let all = model.resources.iter().flat_map(|resource| &resource.interchanges);
    let mut names: Vec<&str> = all.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the path of a file below the folder where an operation is put together.
pub(crate) fn path_of(id: &str, format: &str, interchange: &str) -> String {
    if !is_lines(format) {
        format!("{id}.xml")
    } else if interchange == DOCUMENTS {
        format!("{id}.jsonl")
    } else {
        format!("{interchange}/{id}.jsonl")
    }
}
