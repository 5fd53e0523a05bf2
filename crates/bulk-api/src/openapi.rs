//! The OpenAPI document of the bulk services.

use homeroom_access::ApiClient;
use homeroom_http::openapi::{Listed, problem_schema};
use homeroom_http::{BASE_URL, Route};
use serde_json::{Value, json};

use crate::limits::{CHUNK_BYTES_MAX, FILES_MAX, PAGE, PAGE_MAX};
use crate::status::Status;

/// Where the document is, and how lists name it.
pub const OPENAPI: Listed =
    Listed { name: "Bulk", prefix: "Other", path: "/metadata/bulk/v2/swagger.json" };

/// Returns the route of the document, which everyone may read.
pub(crate) fn route() -> Route<ApiClient> {
    OPENAPI.route(document())
}

/// Returns the document, with [`BASE_URL`] as a placeholder.
pub fn document() -> Value {
    let paths = paths();
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Homeroom: bulk load services",
            "description": "Upload interchange files in chunks, and let the server load them with the rights of this key.",
            "version": "2",
        },
        "servers": [{ "url": format!("{BASE_URL}/api/v2.0/{{schoolYear}}"), "variables": {
            "schoolYear": { "default": "2026", "description": "The school year." },
        } }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": [
            { "name": "bulkOperations", "description": "Operations: files that are loaded together." },
            { "name": "uploads", "description": "The files of operations, in chunks." },
        ],
        "paths": paths,
        "components": { "schemas": schemas(), "securitySchemes": {
            "oauth2_client_credentials": {
                "type": "oauth2",
                "flows": { "clientCredentials": {
                    "tokenUrl": format!("{BASE_URL}/oauth/token"), "scopes": {},
                } },
            },
        } },
    })
}

/// Returns the operations by path.
fn paths() -> Value {
    let problem = |about: &str| {
        json!({ "description": about, "content": { "application/problem+json": { "schema": {
            "$ref": "#/components/schemas/problemDetails"
        } } } })
    };
    let answers = |own: Value| {
        let mut all = json!({
            "400": problem("The request breaks a rule; errors say which."),
            "401": problem("The bearer token is missing, wrong or expired."),
            "403": problem("The key behind the token may not do this."),
            "404": problem("There is no such operation or file of this key in this year."),
            "429": problem("The key has too many open operations; Retry-After says how long to wait."),
            "500": problem("The server failed."),
            "503": problem("The server is too busy; Retry-After says how long to wait."),
        });
        if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
            all.extend(own);
        }
        all
    };
    let json = |schema: Value| json!({ "application/json": { "schema": schema } });
    let to = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let path = |name: &str, about: &str| {
        let schema = json!({ "type": "string" });
        json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
    };
    let year = path("schoolYear", "The school year, four digits.");
    let id = path("id", "The id of an operation.");
    let upload = path("uploadId", "The id of a file of an operation.");
    let query = |name: &str, about: &str, required: bool, schema: Value| json!({ "name": name, "in": "query", "required": required, "description": about, "schema": schema });
    let whole = |from: u64, to: Option<u64>| {
        let mut schema = json!({ "type": "integer", "format": "int64", "minimum": from });
        if let Some(to) = to {
            schema["maximum"] = to.into();
        }
        schema
    };
    json!({
        "/bulkOperations": {
            "post": {
                "tags": ["bulkOperations"],
                "summary": "Creates an operation with its files.",
                "operationId": "postBulkOperations",
                "parameters": [year],
                "requestBody": { "required": true, "content": json(to("bulkOperationRequest")) },
                "responses": answers(json!({ "201": {
                    "description": "The operation was created; upload its files now.",
                    "headers": { "Location": {
                        "description": "The operation's address.", "schema": { "type": "string" }
                    } },
                    "content": json(to("bulkOperation")),
                } })),
            },
            "get": {
                "tags": ["bulkOperations"],
                "summary": "Lists the newest operations of this key.",
                "operationId": "getBulkOperations",
                "parameters": [year, query(
                    "fingerprint", "Lists only operations that were created with this text.", false,
                    json!({ "type": "string" }),
                )],
                "responses": answers(json!({ "200": {
                    "description": "The operations.",
                    "content": json(json!({ "type": "array", "items": to("bulkOperation") })),
                } })),
            },
        },
        "/bulkOperations/{id}": { "get": {
            "tags": ["bulkOperations"],
            "summary": "Gets an operation and the statuses of its files.",
            "operationId": "getBulkOperationsById",
            "parameters": [year, id],
            "responses": answers(json!({ "200": {
                "description": "The operation.", "content": json(to("bulkOperation")),
            } })),
        } },
        "/bulkOperations/{id}/exceptions/{uploadId}": { "get": {
            "tags": ["bulkOperations"],
            "summary": "Gets a page of the records of a file that were not loaded.",
            "operationId": "getBulkOperationsExceptions",
            "parameters": [
                year, id, upload,
                query("offset", "How many to skip.", false, whole(0, None)),
                query("limit", &format!("The most to return, usually {PAGE}."), false,
                    whole(1, Some(PAGE_MAX))),
            ],
            "responses": answers(json!({ "200": {
                "description": "The exceptions, in the order in which they were found.",
                "content": json(json!({ "type": "array", "items": to("bulkOperationException") })),
            } })),
        } },
        "/uploads/{uploadId}": { "get": {
            "tags": ["uploads"],
            "summary": "Gets how much of a file has arrived.",
            "operationId": "getUploads",
            "parameters": [year, upload],
            "responses": answers(json!({ "200": {
                "description": "The file and its chunks.", "content": json(to("upload")),
            } })),
        } },
        "/uploads/{uploadId}/chunk": { "post": {
            "tags": ["uploads"],
            "summary": "Uploads a part of a file.",
            "operationId": "postUploadsChunk",
            "parameters": [
                year, upload,
                query("offset", "The place of its first byte in the file.", true, whole(0, None)),
                query("size", "Its size in bytes.", true, whole(1, Some(CHUNK_BYTES_MAX))),
            ],
            "requestBody": { "required": true, "content": {
                "multipart/form-data": { "schema": {
                    "type": "object",
                    "properties": { "file": { "type": "string", "format": "binary" } },
                } },
                "application/octet-stream": { "schema": { "type": "string", "format": "binary" } },
            } },
            "responses": answers(json!({
                "201": { "description": "The part is stored." },
                "408": problem("The body took too long to arrive."),
                "413": problem("The body is larger than a chunk may be."),
            })),
        } },
        "/uploads/{uploadId}/commit": { "post": {
            "tags": ["uploads"],
            "summary": "Ends the upload of a file; the last of an operation starts it.",
            "operationId": "postUploadsCommit",
            "parameters": [year, upload],
            "responses": answers(json!({ "202": {
                "description": "The upload has ended; the status says whether it is whole.",
            } })),
        } },
    })
}

fn schemas() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number =
        |about: &str| json!({ "type": "integer", "format": "int64", "description": about });
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    let status = json!({ "type": "string", "enum": statuses });
    let format = text("text/xml or application/xml; also application/x-ndjson, lines of JSON.");
    let interchange = text(
        "The interchange, Student; for lines of JSON a resource, or Documents if each names its own.",
    );
    let file = json!({
        "type": "object",
        "properties": {
            "id": text("The file's id."),
            "size": number("Its bytes."),
            "format": format,
            "interchangeType": interchange,
            "status": status,
        },
    });
    let mut upload = file.clone();
    upload["properties"]["chunks"] = json!({ "type": "array", "items": {
        "type": "object",
        "properties": { "offset": number("Its first byte."), "size": number("Its bytes.") },
    } });
    json!({
        "bulkOperationRequest": {
            "type": "object",
            "required": ["uploadFiles"],
            "properties": {
                "uploadFiles": { "type": "array", "minItems": 1, "maxItems": FILES_MAX, "items": {
                    "type": "object",
                    "required": ["format", "interchangeType", "size"],
                    "properties": {
                        "format": format,
                        "interchangeType": interchange,
                        "size": number("The bytes of the file."),
                    },
                } },
                "resetDistrictData": {
                    "type": "boolean", "description": "Must not be true: no data is ever reset.",
                },
                "fingerprint": text("A text by which the operation can be found again."),
            },
        },
        "bulkOperation": {
            "type": "object",
            "properties": {
                "id": text("The operation's id."),
                "uploadFiles": { "type": "array", "items": file },
                "resetDistrictData": { "type": "boolean", "description": "Always false." },
                "status": status,
                "schoolYear": number("The school year of its address."),
                "progress": {
                    "type": "object", "description": "How far the load has come, while it runs.",
                },
                "summary": {
                    "type": "object",
                    "description": "What was loaded and rejected, with the causes, once it has ended.",
                },
            },
        },
        "bulkOperationException": {
            "type": "object",
            "properties": {
                "id": number("The number of the exception within its file, from 1."),
                "uploadFileId": text("The file's id."),
                "type": text("The kind of problem, a URN."),
                "element": text("The XML element, or the resource of a line of JSON."),
                "message": text("What is wrong."),
                "line": number("The line on which the record begins."),
                "key": text("The record's identifying values as JSON text."),
                "hint": text("How to mend it."),
            },
        },
        "upload": upload,
        "problemDetails": problem_schema(),
    })
}
