//! The document in the body of a request.

use std::sync::Arc;

use homeroom_access::{Access, Call, Caller};
use homeroom_document::json::{Json, JsonError};
use homeroom_document::validate::{Document, Invalid, doubtful, examine, json_path};
use homeroom_document::{Catalog, unknown_descriptor};
use homeroom_http::{Kind, Problem};
use homeroom_model::Resource;
use homeroom_store::Uuid;

use crate::blocking;
use crate::{DataApi, problem_of, strict};

/// Reads and checks the document that a request sends; `id` is that of the address.
///
/// # Errors
///
/// 415, 400 with all violations, and the errors of the body and of [`Caller::again`].
pub(super) async fn read(
    api: &DataApi,
    access: &Access,
    caller: &Caller,
    resource: &Resource,
    call: &mut Call,
    id: Option<Uuid>,
) -> Result<Document, Problem> {
    if !call.header("content-type").is_some_and(is_json) {
        return Err(Problem::of(Kind::UnsupportedMediaType)
            .error("The Content-Type header is not application/json in UTF-8.")
            .hint("Send the header Content-Type: application/json, in UTF-8."));
    }
    let is_strict = strict::is_asked(&call.headers);
    let bytes = call.read_body().await?;
    // The body may have taken long to arrive; an unauthorized client learns nothing about it.
    caller.again(access)?;
    let parsed = if bytes.len() <= SMALL_BODY {
        parse(&api.catalog, resource, &bytes, id, is_strict)?
    } else {
        // A long body does not occupy a worker.
        let (catalog, resource) = (Arc::clone(&api.catalog), resource.id);
        let parse =
            move || parse(&catalog, catalog.model.resource(resource), &bytes, id, is_strict);
        blocking::run(&api.work.large_bodies, parse).await??
    };
    match parsed {
        Ok(document) => Ok(document),
        Err(invalid) => Err(invalid_document(api, resource, invalid).await),
    }
}

/// The error for a request without a document.
pub(super) const EMPTY_BODY: &str = "A non-empty request body is required.";
/// Bodies up to this size are parsed on the thread on which they arrive.
const SMALL_BODY: usize = 64 << 10;

/// Returns whether a media type is JSON in UTF-8.
fn is_json(value: &str) -> bool {
    let mut parts = value.split(';').map(str::trim);
    let media = parts.next().unwrap_or("");
    media.eq_ignore_ascii_case("application/json")
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => {
                charset.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

fn parse(
    catalog: &Catalog,
    resource: &Resource,
    bytes: &[u8],
    id: Option<Uuid>,
    is_strict: bool,
) -> Result<Result<Document, Invalid>, Problem> {
    if is_empty(bytes) {
        return Err(match id {
            None => Problem::of(Kind::BadRequest).error(EMPTY_BODY),
            Some(_) => Problem::of(Kind::DataValidationFailed)
                .violations([("$".to_owned(), vec![EMPTY_BODY.to_owned()])].into()),
        });
    }
    let json = Json::read(bytes).map_err(|error| not_json(resource, &error))?;
    document_of(catalog, resource, &json, id, is_strict)
}

/// Checks a document that was sent; `id` is that of the address.
///
/// # Errors
///
/// 400 for an id in a document that is to be created.
pub(crate) fn document_of(
    catalog: &Catalog,
    resource: &Resource,
    json: &Json<'_>,
    id: Option<Uuid>,
    is_strict: bool,
) -> Result<Result<Document, Invalid>, Problem> {
    // The id in the URL counts, whatever the body says.
    if let Json::Object(members) = json
        && id.is_none()
        && Json::member(members, "id").is_some_and(|sent| *sent != Json::Null)
    {
        return Err(Problem::of(Kind::DataValidationFailed).error(
            "A document that is sent with POST must not have an id; the server gives it one.",
        ));
    }
    let examined = examine(catalog, resource, json);
    if !is_strict {
        return Ok(examined);
    }
    let mut doubts = doubtful(&catalog.model, resource, json);
    Ok(match examined {
        Ok(document) if doubts.is_empty() => Ok(document),
        Ok(_) => Err(Invalid { violations: doubts, descriptors: vec![] }),
        Err(mut invalid) => {
            invalid.violations.append(&mut doubts);
            Err(invalid)
        }
    })
}

/// Refuses a body that is not JSON. The error is at the last value that had begun, unless that is
/// the whole body.
///
/// Source: Ed-Fi ODS/API 7.3 (`ErrorTranslator`), which reports a fault without a path as a bad
/// request.
fn not_json(resource: &Resource, error: &JsonError) -> Problem {
    let (detail, message) =
        ("The request body is not JSON.", format!("The body is not JSON at {error}."));
    if error.way.is_empty() {
        return Problem::of(Kind::BadRequest).detail(detail).error(message);
    }
    Problem::of(Kind::DataValidationFailed)
        .detail(detail)
        .violations([(json_path(resource, &error.way), vec![message])].into())
}

/// Returns every violation, including those of descriptors that do not exist.
pub(crate) async fn invalid_document(
    api: &DataApi,
    resource: &Resource,
    invalid: Invalid,
) -> Problem {
    let mut violations = invalid.violations;
    for descriptor in invalid.descriptors.iter().take(DESCRIPTORS_NAMED_MAX) {
        match api.store.target(descriptor.key).await {
            Ok(Some(_)) => {}
            Ok(None) => {
                let name = &api.catalog.model.resource(descriptor.descriptor).name;
                let messages = violations.entry(descriptor.path.json(resource)).or_default();
                messages.push(unknown_descriptor(name));
            }
            Err(error) => return problem_of(error),
        }
    }
    Problem::of(Kind::DataValidationFailed).violations(violations)
}

/// Most descriptors of an invalid document that are looked up.
const DESCRIPTORS_NAMED_MAX: usize = 100;

/// Returns whether a request comes with an empty body. A body that cannot be read is not empty.
pub(super) async fn is_missing(call: &mut Call) -> bool {
    call.read_body().await.is_ok_and(|bytes| is_empty(&bytes))
}

fn is_empty(body: &[u8]) -> bool {
    body.iter().all(u8::is_ascii_whitespace)
}
