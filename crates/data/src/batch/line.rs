//! One line of a batch: `{"resource": "ed-fi/students", "document": {…}}`.

use homeroom_access::{ApiClient, authorize_upsert};
use homeroom_document::Catalog;
use homeroom_document::json::Json;
use homeroom_document::validate::{Document, Invalid};
use homeroom_http::{Kind, Problem, did_you_mean};
use homeroom_model::{Model, Resource, ResourceId};

use super::limits::LINE_BYTES_MAX;
use crate::request::body;

/// Where the resources of the data API are; a line may name a resource by its address.
const DATA: &str = "data/v3/";
/// Most characters of a name that a message repeats.
const NAME_MAX: usize = 100;

/// A line that was read.
pub(super) enum Line {
    /// Its document may be written.
    Document(Box<Document>),
    /// Its document is invalid.
    Invalid(ResourceId, Invalid),
    /// It is refused.
    Refused(Problem),
}

/// Reads a line and checks its document, in the order in which a POST is checked: the resource,
/// what the client may do, the document.
pub(super) fn read(
    catalog: &Catalog,
    client: &ApiClient,
    text: Option<Vec<u8>>,
    is_strict: bool,
) -> Line {
    checked(catalog, client, text, is_strict).unwrap_or_else(Line::Refused)
}

fn checked(
    catalog: &Catalog,
    client: &ApiClient,
    text: Option<Vec<u8>>,
    is_strict: bool,
) -> Result<Line, Problem> {
    let text = text.ok_or_else(|| {
        Problem::of(Kind::PayloadTooLarge)
            .detail(format!("The line is larger than the {LINE_BYTES_MAX} bytes allowed."))
    })?;
    let json = Json::read(&text).map_err(|error| {
        Problem::of(Kind::BadRequest)
            .detail("The line is not JSON.")
            .error(format!("The line is not JSON at column {}: {}.", error.column, error.message))
    })?;
    let Json::Object(members) = &json else {
        return Err(misshapen("The line is not an object."));
    };
    let resource = match Json::member(members, "resource") {
        Some(Json::Text(name)) => named(&catalog.model, name)?,
        Some(_) => return Err(misshapen("The line's resource is not a string.")),
        None => return Err(misshapen("The line has no resource.")),
    };
    authorize_upsert(client, resource)?;
    let Some(document) = Json::member(members, "document") else {
        return Err(misshapen("The line has no document."));
    };
    if is_strict {
        let known =
            |name: &str| ["resource", "document"].iter().any(|k| k.eq_ignore_ascii_case(name));
        if let Some((name, _)) = members.iter().find(|(name, _)| !known(name)) {
            let name: String = name.chars().take(NAME_MAX).collect();
            return Err(misshapen(&format!("{name} is not a member of a line.")));
        }
    }
    Ok(match body::document_of(catalog, resource, document, None, is_strict)? {
        Ok(document) => Line::Document(Box::new(document)),
        Err(invalid) => Line::Invalid(resource.id, invalid),
    })
}

/// Finds the resource that a line names.
fn named<'m>(model: &'m Model, name: &str) -> Result<&'m Resource, Problem> {
    let own = name.trim_start_matches('/');
    let own = own.strip_prefix(DATA).unwrap_or(own);
    model.named(own).ok_or_else(|| {
        let own: String = own.chars().take(NAME_MAX).collect();
        let paths: Vec<String> =
            model.resources.iter().map(|r| format!("{}/{}", r.schema, r.endpoint)).collect();
        let near = did_you_mean(&own, paths.iter().map(String::as_str));
        Problem::of(Kind::NotFound)
            .detail(format!("There is no resource {own}{near}"))
            .hint("Name it as in URLs, ed-fi/students; /metadata lists the resources.")
    })
}

fn misshapen(error: &str) -> Problem {
    Problem::of(Kind::BadRequest)
        .error(error)
        .hint("Send lines such as {\"resource\": \"ed-fi/students\", \"document\": {…}}.")
}
