//! The OpenAPI document of this part: its operations, from the tables that its handlers use.
//!
//! Members of requests come from the tables by which bodies are read, filters of lists from those by
//! which lists are filtered. What a table does not say (claim sets, what is fixed) has rows of its own.

mod operation;
mod operations;
mod schemas;
mod words;
mod writer;

use homeroom_access::ApiClient;
use homeroom_http::openapi::{Listed, problem_schema};
use homeroom_http::{BASE_URL, Route};
use serde_json::{Map, Value, json};

use self::operations::{TAGS, operations};
use self::writer::{path_item, shared_responses};

/// Where the document is, and how lists name it.
pub const OPENAPI: Listed =
    Listed { name: "Admin", prefix: "Other", path: "/metadata/adminapi/v2/swagger.json" };

/// Returns the route of the document, which everyone may read.
pub(crate) fn route() -> Route<ApiClient> {
    OPENAPI.route(document())
}

/// Returns the document, with [`BASE_URL`] as a placeholder.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations() {
        let path = paths.entry(operation.path.clone()).or_insert_with(|| json!({}));
        path[operation.method] = path_item(&operation);
    }
    let tags = TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about }));
    let mut schemas = schemas::all();
    schemas.insert("problemDetails".into(), problem());
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Homeroom: Admin API",
            "description":
                "Manage vendors, applications, their keys and what these may do. Every operation \
                 but the first needs a token of a key with the scope admin, which the server's \
                 operator makes with `homeroom keys create --scope admin`. A change takes effect \
                 with the next request. Add ?tags=Vendors,Applications to this document's address \
                 for a part of it.",
            "version": "2",
        },
        "servers": [{ "url": BASE_URL }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": tags.collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": shared_responses(),
            "securitySchemes": { "oauth2_client_credentials": {
                "type": "oauth2",
                "description": "A bearer token for a key with the scope admin, and its secret.",
                "flows": { "clientCredentials": {
                    "tokenUrl": format!("{BASE_URL}/adminapi/connect/token"),
                    "scopes": { "edfi_admin_api/full_access": "Manage everything." },
                } },
            } },
        },
    })
}

/// Returns the schema of a problem, whose `errors` are by member where a body breaks rules.
fn problem() -> Value {
    let mut schema = problem_schema();
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    schema["properties"]["errors"] = json!({
        "description": "Violations by member of the body, or those that belong to none.",
        "oneOf": [texts, { "type": "object", "additionalProperties": texts }],
    });
    schema
}
