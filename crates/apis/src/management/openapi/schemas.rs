//! The schemas of what is published.

use homeroom_http::openapi::problem_schema;
use serde_json::{Value, json};

use super::fields::fields_of;
use crate::definition::Api;

/// Returns all schemas by name.
pub(super) fn all() -> Value {
    let (plan, plan_required) = plan();
    let (mut api, api_required) = api();
    for name in fields_of::<Api>() {
        if api.get(name).is_none() {
            api[*name] =
                json!({ "description": "The guide on publishing APIs says what it means." });
        }
    }
    let object = |about: &str, members: &Value, required: &[&str]| {
        let mut schema = json!({
            "type": "object", "description": about, "properties": members,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    };
    let list = |of: &str| json!({ "type": "array", "items": to(of) });
    let documents = json!({
        "type": "object",
        "description": "OpenAPI documents by the names that APIs give them: their texts, or JSON.",
        "additionalProperties": { "oneOf": [{ "type": "string" }, { "type": "object" }] },
    });
    let definition = json!({
        "plans": list("plan"), "apis": list("api"), "documents": documents,
    });
    let difference = json!({
        "field": text("What differs, such as apis.pay.timeout."),
        "old": { "description": "What is published; null for nothing.", "nullable": true },
        "new": { "description": "What the definition says; null for nothing.", "nullable": true },
    });
    let finding = json!({
        "line": { "type": "integer", "minimum": 0, "description": "The line, from 1; 0 for none." },
        "path": text("The member, such as apis[0].upstream."),
        "message": text("What is wrong, and how to mend it."),
    });
    let mut sent_api = api.clone();
    sent_api["openapi"] = json!({
        "description": "The OpenAPI document itself, or the name of one that is published.",
        "oneOf": [{ "type": "string" }, { "type": "object" }],
    });
    json!({
        "definition": object("What is published.", &definition, &[]),
        "plan": object("How many calls a key may send to all its APIs.", &plan, &plan_required),
        "sentPlan": object("A plan; its name is that of the path.", &plan, &[]),
        "api": object("An API below /apis/{context}/{version}.", &api, &api_required),
        "sentApi": object("An API; its name is that of the path.", &sent_api, &api_required[1..]),
        "apis": list("api"),
        "plans": list("plan"),
        "difference": object("A difference.", &difference, &["field", "old", "new"]),
        "differences": list("difference"),
        "applied": object("What has changed.", &json!({ "changed": list("difference") }), &["changed"]),
        "finding": object("What is wrong.", &finding, &["line", "path", "message"]),
        "linted": object("All that is wrong.", &json!({ "findings": list("finding") }), &["findings"]),
        "problemDetails": problem_schema(),
    })
}

/// Returns a reference to a schema.
pub(super) fn to(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

fn texts(about: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": about })
}

fn calls(about: &str) -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1_000_000, "description": about })
}

fn burst() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "Calls at once after a pause." })
}

fn quota() -> Value {
    text("Calls in a minute, hour, day or month: 1000/day.")
}

fn plan() -> (Value, Vec<&'static str>) {
    let members = json!({
        "name": text("Its name."),
        "requests_per_second": calls("Calls per second, on average."),
        "burst": burst(),
        "quota": quota(),
    });
    (members, vec!["name"])
}

fn of(members: Value) -> Value {
    json!({ "type": "object", "properties": members, "additionalProperties": false })
}

/// Returns the members of an API and which are required; the first of these is its name.
fn api() -> (Value, Vec<&'static str>) {
    let limits = of(json!({
        "requests_per_second": calls("Calls per second, on average."), "burst": burst(),
    }));
    let operation = json!({
        "type": "object",
        "description": "A change: op is rename, add, drop or move; path and to are JSON pointers.",
        "required": ["op", "path"],
        "properties": {
            "op": { "type": "string", "enum": ["rename", "add", "drop", "move"] },
            "path": text("Where; * is every element of an array."),
            "to": text("The new name, or where it goes."),
            "value": { "description": "What is added.", "nullable": true },
        },
    });
    let operations = json!({ "type": "array", "items": operation });
    let headers = of(json!({
        "set": {
            "type": "object", "additionalProperties": { "type": "string" },
            "description": "Values by name; env:NAME and file:PATH are read where it is served.",
        },
        "remove": texts("Names of headers that are removed."),
    }));
    let members = json!({
        "name": text("Its name, by which keys subscribe to it."),
        "context": text("The first segment of its path."),
        "version": text("The second segment of its path."),
        "upstream": texts("The URLs of its upstreams."),
        "part": text("The part of this server that answers instead."),
        "plan": text("The plan of keys that have none of their own."),
        "security": {
            "type": "string", "enum": ["oauth2", "api-key", "mtls", "none"],
            "description": "How callers are recognized.",
        },
        "openapi": text("The name of its OpenAPI document."),
        "scopes": texts("The scopes for operations that name none."),
        "limits": limits,
        "timeout": text("The longest wait for an answer, such as 10s."),
        "health": of(json!({ "path": text("A path."), "interval": text("A pause, such as 1s.") })),
        "balance": { "type": "string", "enum": ["round-robin", "least-requests", "consistent-hash"] },
        "max_body": {
            "description": "Most bytes of a body, such as 64KiB.",
            "oneOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }],
        },
        "transform": of(json!({ "request": operations, "response": operations })),
        "request_headers": headers,
        "response_headers": headers,
        "cors_origins": texts("Origins whose pages may call it."),
        "allow": texts("Networks from which it may be called."),
        "deny": texts("Networks from which it may not be called."),
    });
    (members, vec!["name", "context", "version"])
}
