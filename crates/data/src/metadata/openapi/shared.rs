//! Parameters, responses, headers and security schemes that all operations share.

use serde_json::{Value, json};

use crate::paging::{PAGE_MAX, PARTITIONS_MAX};
use homeroom_http::BASE_URL;

/// Returns the parameters by name.
pub fn parameters() -> Value {
    json!({
        "offset": query(
            "offset",
            "How many items to skip before the first one that is returned.",
            &json!({ "type": "integer", "format": "int64", "minimum": 0, "default": 0 }),
        ),
        "limit": query(
            "limit",
            "The maximum number of items to return.",
            &json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": PAGE_MAX, "default": PAGE_MAX }),
        ),
        "pageToken": query(
            "pageToken",
            "The page to return: the Next-Page-Token of the page before, or a token of /partitions. \
             It goes with pageSize, and not with offset, limit or totalCount.",
            &json!({ "type": "string" }),
        ),
        "pageSize": query(
            "pageSize",
            "The maximum number of items of a page when paging by pageToken.",
            &json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": PAGE_MAX, "default": PAGE_MAX }),
        ),
        "totalCount": query(
            "totalCount",
            "Whether the Total-Count header says how many items there are in all.",
            &json!({ "type": "boolean", "default": false }),
        ),
        "MinChangeVersion": query(
            "minChangeVersion",
            "Returns only what changed at this change version or later.",
            &json!({ "type": "integer", "format": "int64", "minimum": 0 }),
        ),
        "MaxChangeVersion": query(
            "maxChangeVersion",
            "Returns only what changed at this change version or earlier.",
            &json!({ "type": "integer", "format": "int64", "minimum": 0 }),
        ),
        "numberOfPartitions": query(
            "number",
            "The maximum number of partitions; there are fewer if there are few documents.",
            &json!({ "type": "integer", "format": "int32", "minimum": 1, "maximum": PARTITIONS_MAX, "default": 5 }),
        ),
        "id": {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "The id of the document: 32 hexadecimal digits, with or without dashes.",
            "schema": id_schema(),
        },
        "If-None-Match": header(
            "If-None-Match",
            "An ETag that the caller has: if it is still the document's, GET answers 304. With * POST \
             only creates.",
        ),
        "If-Match": header(
            "If-Match",
            "The ETag that the document must still have, so that nobody's change is lost.",
        ),
    })
}

/// Returns the schema of an id in a path or a query.
pub fn id_schema() -> Value {
    json!({
        "type": "string",
        "pattern": "^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$",
    })
}

/// Refusals: status, name of the response, meaning.
pub const REFUSALS: [(&str, &str, &str); 13] = [
    ("400", "BadRequest", "The request breaks a rule; validationErrors and errors say which."),
    ("401", "Unauthorized", "The bearer token is missing, wrong or expired."),
    ("403", "Forbidden", "The key behind the token may not do this."),
    ("404", "NotFound", "There is no such document."),
    ("408", "Timeout", "The body took too long to arrive."),
    ("409", "Conflict", "A referenced document is missing, or others still refer to this one."),
    ("412", "PreconditionFailed", "The document no longer has the ETag of If-Match."),
    ("413", "PayloadTooLarge", "The body is larger than the server takes."),
    ("415", "UnsupportedMediaType", "The body is not application/json in UTF-8."),
    ("429", "TooManyRequests", "Too many requests; Retry-After says how long to wait."),
    ("500", "Error", "The server failed."),
    (
        "501",
        "NotImplemented",
        "The authorization strategy of the key is not implemented for this operation.",
    ),
    ("503", "Unavailable", "The server is too busy; Retry-After says how long to wait."),
];

/// Returns the responses by name.
pub fn responses() -> Value {
    let mut responses = json!({
        "Created": {
            "description": "The document was created.",
            "headers": { "ETag": to_header("ETag"), "Location": to_header("Location") },
        },
        "Updated": {
            "description": "The document was updated, or was the same already.",
            "headers": { "ETag": to_header("ETag"), "Location": to_header("Location") },
        },
        "Deleted": { "description": "The document was deleted." },
        "NotModified": { "description": "The document still has the ETag of If-None-Match." },
    });
    for (status, name, description) in REFUSALS {
        responses[name] = problem(description);
        if matches!(status, "429" | "503") {
            responses[name]["headers"] = json!({ "Retry-After": to_header("Retry-After") });
        }
    }
    responses
}

/// Returns the response headers by name.
pub fn headers() -> Value {
    let text =
        |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    json!({
        "ETag": text("The version of the document."),
        "Location": text("The address of the document."),
        "Next-Page-Token": text("The pageToken of the page after this one; absent when this page is empty."),
        "Retry-After": {
            "description": "How many seconds to wait before the request is sent again.",
            "schema": { "type": "integer", "minimum": 0 },
        },
        "Total-Count": {
            "description": "How many items there are in all, if totalCount was true.",
            "schema": { "type": "integer", "format": "int64", "minimum": 0 },
        },
    })
}

/// Returns a reference to a header.
pub fn to_header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// Returns the ways in which a client can authenticate.
pub fn security_schemes() -> Value {
    json!({
        "oauth2_client_credentials": {
            "type": "oauth2",
            "description": "A bearer token for a key and its secret.",
            "flows": { "clientCredentials": {
                "tokenUrl": format!("{BASE_URL}/oauth/token"),
                "scopes": {},
            } },
        },
    })
}

fn query(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

fn header(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "header",
        "description": description,
        "schema": { "type": "string" },
    })
}

/// Returns the response of a refusal.
pub fn problem(description: &str) -> Value {
    json!({
        "description": description,
        "content": { "application/problem+json": {
            "schema": { "$ref": "#/components/schemas/problemDetails" }
        } },
    })
}
