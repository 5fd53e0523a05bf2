//! The OpenAPI document of batches.

use homeroom_http::BASE_URL;
use homeroom_http::openapi::problem_schema;
use serde_json::{Value, json};

use super::shared;
use crate::batch::{BATCH_BYTES_MAX, BATCH_LINES_MAX};
use crate::batch_places::BATCHES_OF_KEY_MAX;

/// Refusals of a whole batch, as the shared responses name them.
const REFUSED: [(&str, &str); 7] = [
    ("400", "BadRequest"),
    ("401", "Unauthorized"),
    ("403", "Forbidden"),
    ("415", "UnsupportedMediaType"),
    ("429", "TooManyRequests"),
    ("500", "Error"),
    ("503", "Unavailable"),
];

/// Returns the OpenAPI document of batches, with [`BASE_URL`] as a placeholder for the base URL.
pub fn batch() -> Value {
    let lines = json!({ "application/x-ndjson": { "schema": {
        "type": "string",
        "description": "One batchAnswer in each line.",
    } } });
    let mut responses = json!({
        "200": {
            "description":
                "One answer for each line, in order. If the rest could not be read, the last line says \
                 from where on and why.",
            "content": lines,
        },
        "413": shared::problem("The body is larger than a batch may be, and no line of it was read."),
        "408": shared::problem("The body did not arrive in time, and no line of it was read."),
    });
    for (status, name) in REFUSED {
        responses[status] = json!({ "$ref": format!("#/components/responses/{name}") });
    }
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Homeroom: batches",
            "description": "Many documents in one request.",
            "version": "1",
        },
        "servers": [{ "url": format!("{BASE_URL}/data/v3") }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": [{ "name": "batch", "description": "Documents of any resources, a line each." }],
        "paths": { "/batch": { "post": {
            "tags": ["batch"],
            "summary": "Creates or updates many documents, each as a POST of its own would.",
            "description": format!(
                "The body is JSON, one batchLine in each line, at most {BATCH_LINES_MAX} lines and \
                 {} MiB. Lines are carried out in order, so a document may refer to one in a line \
                 before it; a line that fails does not affect the others. A key may send \
                 {BATCHES_OF_KEY_MAX} batches at the same time.",
                BATCH_BYTES_MAX >> 20,
            ),
            "operationId": "postBatch",
            "requestBody": {
                "required": true,
                "content": { "application/x-ndjson": { "schema": {
                    "type": "string",
                    "description": "One batchLine in each line.",
                } } },
            },
            "responses": responses,
        } } },
        "components": {
            "schemas": {
                "batchLine": {
                    "type": "object",
                    "required": ["resource", "document"],
                    "properties": {
                        "resource": {
                            "type": "string",
                            "description": "The resource, named as in addresses: ed-fi/students.",
                        },
                        "document": { "type": "object", "description": "The document." },
                    },
                },
                "batchAnswer": {
                    "type": "object",
                    "required": ["line", "status"],
                    "properties": {
                        "line": { "type": "integer", "description": "The number of the line, from 1." },
                        "status": {
                            "type": "integer",
                            "description": "The status that a POST of the document would have.",
                        },
                        "location": { "type": "string", "description": "The document's address." },
                        "etag": { "type": "string", "description": "The document's ETag." },
                        "problem": { "$ref": "#/components/schemas/problemDetails" },
                    },
                },
                "problemDetails": problem_schema(),
            },
            "responses": shared::responses(),
            "headers": shared::headers(),
            "securitySchemes": shared::security_schemes(),
        },
    })
}
