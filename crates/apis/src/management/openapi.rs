//! The OpenAPI document of the routes by which published APIs are managed.

mod fields;
mod schemas;

use homeroom_access::ApiClient;
use homeroom_http::openapi::Listed;
use homeroom_http::{BASE_URL, Route};
use serde_json::{Map, Value, json};

use super::base::BASE;
use super::items::{PAGE, PAGE_MAX};
use schemas::to;

/// Where the document is, and how lists name it.
pub const OPENAPI: Listed =
    Listed { name: "Gateway", prefix: "Other", path: "/metadata/adminapi/gateway/v1/swagger.json" };

/// Tags and what they are about.
const TAGS: [(&str, &str); 3] = [
    ("Everything", "All that is published, as a file states it."),
    ("APIs", "Published APIs, one by one."),
    ("Plans", "Plans, which limit the calls of keys."),
];

/// An operation.
struct Operation {
    method: &'static str,
    path: &'static str,
    tag: &'static str,
    id: &'static str,
    summary: &'static str,
    /// The schema of the body that it takes.
    takes: Option<&'static str>,
    /// Status and schema of its answers.
    gives: &'static [(&'static str, Option<&'static str>)],
    /// Statuses of its refusals beside those of all.
    refuses: &'static [&'static str],
}

const fn operation(
    (method, path): (&'static str, &'static str),
    (tag, id): (&'static str, &'static str),
    summary: &'static str,
    takes: Option<&'static str>,
    gives: &'static [(&'static str, Option<&'static str>)],
    refuses: &'static [&'static str],
) -> Operation {
    Operation { method, path, tag, id, summary, takes, gives, refuses }
}

const OF_BODIES: &[&str] = &["408", "409", "413", "415"];
const OF_CHECKS: &[&str] = &["408", "413", "415"];

const OPERATIONS: [Operation; 12] = [
    operation(
        ("post", "/apply"),
        ("Everything", "apply"),
        "Publishes exactly this definition. It is live on every node within a second.",
        Some("definition"),
        &[("200", Some("applied"))],
        OF_BODIES,
    ),
    operation(
        ("post", "/lint"),
        ("Everything", "lint"),
        "Says what is wrong with a definition, and changes nothing.",
        Some("definition"),
        &[("200", Some("linted"))],
        OF_CHECKS,
    ),
    operation(
        ("post", "/diff"),
        ("Everything", "diff"),
        "Says what applying a definition would change, field by field.",
        Some("definition"),
        &[("200", Some("differences"))],
        OF_CHECKS,
    ),
    operation(
        ("get", "/export"),
        ("Everything", "export"),
        "Shows everything that is published, with its documents.",
        None,
        &[("200", Some("definition"))],
        &["412"],
    ),
    operation(
        ("get", "/apis"),
        ("APIs", "listApis"),
        "Lists the published APIs by name.",
        None,
        &[("200", Some("apis"))],
        &["412"],
    ),
    operation(
        ("get", "/apis/{name}"),
        ("APIs", "getApi"),
        "Shows an API.",
        None,
        &[("200", Some("api"))],
        &["404", "412"],
    ),
    operation(
        ("put", "/apis/{name}"),
        ("APIs", "putApi"),
        "Publishes an API, or replaces it.",
        Some("sentApi"),
        &[("200", Some("api")), ("201", Some("api"))],
        OF_BODIES,
    ),
    operation(
        ("delete", "/apis/{name}"),
        ("APIs", "deleteApi"),
        "Withdraws an API. Keys stay subscribed to its name.",
        None,
        &[("204", None)],
        &["404", "409"],
    ),
    operation(
        ("get", "/plans"),
        ("Plans", "listPlans"),
        "Lists the plans by name.",
        None,
        &[("200", Some("plans"))],
        &["412"],
    ),
    operation(
        ("get", "/plans/{name}"),
        ("Plans", "getPlan"),
        "Shows a plan.",
        None,
        &[("200", Some("plan"))],
        &["404", "412"],
    ),
    operation(
        ("put", "/plans/{name}"),
        ("Plans", "putPlan"),
        "Defines a plan, or replaces it.",
        Some("sentPlan"),
        &[("200", Some("plan")), ("201", Some("plan"))],
        OF_BODIES,
    ),
    operation(
        ("delete", "/plans/{name}"),
        ("Plans", "deletePlan"),
        "Removes a plan that no API names.",
        None,
        &[("204", None)],
        &["404", "409"],
    ),
];

/// Refusals: status and meaning.
const REFUSALS: [(&str, &str); 12] = [
    ("400", "The request breaks a rule; validationErrors has each path with line and message."),
    ("401", "The token is missing, wrong or expired."),
    ("403", "The key has no right to manage."),
    ("404", "There is none of this name."),
    ("408", "The body took too long to arrive."),
    ("409", "Others use it, or somebody changed what is published at this moment."),
    ("412", "If-Match names another version."),
    ("413", "The body is larger than the server takes."),
    ("415", "The body is neither application/json nor application/toml."),
    ("429", "Too many requests; Retry-After says how long to wait."),
    ("500", "The server failed."),
    ("503", "The server is too busy; Retry-After says how long to wait."),
];
const OF_ALL: [&str; 6] = ["400", "401", "403", "429", "500", "503"];

/// Returns the route of the document, which everyone may read.
pub(super) fn route() -> Route<ApiClient> {
    OPENAPI.route(document())
}

/// Returns the document, with [`BASE_URL`] as a placeholder.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in &OPERATIONS {
        let path = paths.entry(format!("{BASE}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method] = path_item(operation);
    }
    let tags = TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about }));
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Homeroom: published APIs",
            "description":
                "Publish APIs and plans, as `homeroom gateway` does with files. Every operation \
                 needs a token of a key with the scope admin, which the server's operator makes \
                 with `homeroom keys create --scope admin`. Values `env:NAME` and `file:PATH` of \
                 headers are shown as these places and never as what is there.",
            "version": "1",
        },
        "servers": [{ "url": BASE_URL }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": tags.collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
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

fn shared_responses() -> Value {
    let all = REFUSALS.iter().map(|(status, about)| {
        let mut response = json!({ "description": about, "content": {
            "application/problem+json": { "schema": to("problemDetails") }
        } });
        if matches!(*status, "429" | "503") {
            response["headers"] = json!({ "Retry-After": {
                "description": "How many seconds to wait before the request is sent again.",
                "schema": { "type": "integer", "minimum": 0 },
            } });
        }
        (format!("refused{status}"), response)
    });
    Value::Object(all.collect())
}

fn path_item(operation: &Operation) -> Value {
    let mut responses = Map::new();
    for (status, schema) in operation.gives {
        let mut response = json!({ "description": operation.summary });
        if let Some(schema) = schema {
            response["content"] = json!({ "application/json": { "schema": to(schema) } });
            if operation.id == "export" {
                response["content"]["application/toml"] = json!({ "schema": { "type": "string" } });
            }
        }
        if *status == "201" {
            response["headers"] = json!({ "Location": {
                "description": "The address of what is new.", "schema": { "type": "string" }
            } });
        }
        responses.insert((*status).to_owned(), response);
    }
    let refusals = OF_ALL.iter().chain(operation.refuses);
    for status in refusals {
        let shared = json!({ "$ref": format!("#/components/responses/refused{status}") });
        responses.insert((*status).to_owned(), shared);
    }
    let mut item = json!({
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": operation.id,
        "parameters": parameters(operation),
        "responses": responses,
    });
    if let Some(schema) = operation.takes {
        let mut content = json!({ "application/json": { "schema": to(schema) } });
        content["application/toml"] = json!({ "schema": { "type": "string" } });
        item["requestBody"] = json!({ "required": true, "content": content });
    }
    item
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let query = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "query", "description": about, "schema": schema });
    if operation.path.contains("{name}") {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": 100 });
        let about = "Its name.";
        return vec![json!({
            "name": "name", "in": "path", "required": true, "description": about, "schema": schema,
        })];
    }
    match operation.id {
        "apply" | "diff" => vec![query(
            "prune",
            "Whether what the definition does not name is withdrawn.",
            json!({ "type": "boolean", "default": false }),
        )],
        "listApis" | "listPlans" => vec![
            query("offset", "How many to skip.", json!({ "type": "integer", "minimum": 0 })),
            query(
                "limit",
                "The most to return.",
                json!({ "type": "integer", "minimum": 0, "maximum": PAGE_MAX, "default": PAGE }),
            ),
        ],
        _ => vec![],
    }
}
