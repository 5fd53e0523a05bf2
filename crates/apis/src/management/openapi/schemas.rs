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
    let linted = json!({ "findings": list("finding"), "hints": list("finding") });
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
        "finding": object("What is wrong, or may be meant.", &finding, &["line", "path", "message"]),
        "linted": object("What is wrong, and what its author should know.", &linted, &["findings", "hints"]),
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

/// Says that a list has something in it.
fn some(mut list: Value) -> Value {
    list["minItems"] = 1.into();
    list
}

fn of(members: Value) -> Value {
    json!({ "type": "object", "properties": members, "additionalProperties": false })
}

/// Returns the members of an API and which are required; the first of these is its name.
fn api() -> (Value, Vec<&'static str>) {
    let by = json!({ "type": "string", "enum": ["key", "address", "claim", "operation"] });
    let limit = of(json!({
        "by": {
            "description": "What calls are told apart by; without it, all count together.",
            "oneOf": [by, { "type": "array", "items": by }],
        },
        "claim": text("The claim of the token, a name or a JSON pointer."),
        "operations": texts("The operations that are counted, such as GET /items/{id}."),
        "requests_per_second": calls("Calls per second, on average."),
        "burst": burst(),
        "quota": quota(),
    }));
    let issuer = of(json!({
        "issuer": text("What tokens have in iss."),
        "jwks": text("The URL of its keys."),
        "audience": {
            "description": "What tokens have in aud: a text, or one of several.",
            "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        },
        "leeway": text("By how much clocks may differ, such as 30s."),
    }));
    let group = of(json!({
        "upstream": texts("The URLs of its upstreams."),
        "weight": {
            "type": "integer", "minimum": 0, "maximum": 10_000,
            "description": "Its share of the calls: its weight of all weights together.",
        },
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
        "groups": { "type": "array", "items": group, "description": "Upstreams in groups." },
        "sticky": text("key, address or header:NAME: what calls of one group have in common."),
        "part": text("The part of this server that answers instead."),
        "plan": text("The plan of keys that have none of their own."),
        "security": {
            "type": "string", "enum": ["oauth2", "api-key", "mtls", "none"],
            "description": "How callers are recognized.",
        },
        "openapi": text("The name of its OpenAPI document."),
        "validate": { "type": "boolean", "description": "Whether that checks requests." },
        "scopes": texts("The scopes for operations that name none."),
        "limits": {
            "description": "One limit for all calls together, or several.",
            "oneOf": [limit, { "type": "array", "items": limit }],
        },
        "timeout": text("The longest wait for an answer, such as 10s."),
        "health": of(json!({ "path": text("A path."), "interval": text("A pause, such as 1s.") })),
        "balance": { "type": "string", "enum": ["round-robin", "least-requests", "consistent-hash"] },
        "max_body": {
            "description": "Most bytes of a body, such as 64KiB.",
            "oneOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }],
        },
        "issuers": { "type": "array", "items": issuer, "description": "Whose tokens are accepted too." },
        "max_header": {
            "description": "Most bytes of a request's header, such as 8KiB.",
            "oneOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }],
        },
        "timeouts": of(json!({
            "connect": text("Until there is a connection."),
            "first_byte": text("Until the answer begins."),
            "idle": text("Between two parts of a body."),
            "whole": text("For everything."),
        })),
        "peer": of(json!({
            "host": text("The host that is sent to upstreams and that their certificates name."),
            "ca": text("The authorities of their certificates, in PEM, or env:NAME."),
            "certificate": text("The certificate that this server shows, in PEM, or env:NAME."),
            "key": text("The place of its private key: env:NAME."),
        })),
        "hash": text("What consistent-hash goes by: address, key or header:NAME."),
        "breaker": of(json!({
            "failures": {
                "type": "integer", "minimum": 1,
                "description": "Failures in a row after which an upstream is left alone.",
            },
            "rest": text("For how long at first, such as 1s."),
            "rest_max": text("For how long at most, such as 10s."),
            "share": {
                "type": "number", "minimum": 0, "maximum": 1,
                "description": "The share of the upstreams that answers of 502 to 504 may keep away.",
            },
        })),
        "retries": of(json!({
            "attempts": {
                "type": "integer", "minimum": 1, "maximum": 10,
                "description": "Most times that a call is sent.",
            },
            "methods": texts("The methods of calls that may arrive twice, such as GET."),
            "share": {
                "type": "number", "minimum": 0, "maximum": 1,
                "description": "The share of all calls that may be sent again.",
            },
        })),
        "transform": of(json!({ "request": operations, "response": operations })),
        "request_path": {
            "type": "array",
            "description": "Other beginnings of paths; the first that matches counts.",
            "items": of(json!({
                "from": text("The segments with which a path begins."),
                "to": text("What takes their place."),
            })),
        },
        "request_query": of(json!({
            "set": {
                "type": "object",
                "additionalProperties": { "type": "string" },
                "description": "Members that are set.",
            },
            "remove": texts("Members that are removed."),
        })),
        "request_headers": headers,
        "response_headers": headers,
        "cors_origins": texts("Origins whose pages may call it."),
        "cors_credentials": {
            "type": "boolean",
            "description": "Whether those pages may have cookies and client certificates sent along.",
        },
        "keep_location": {
            "type": "boolean",
            "description": "Whether Location and Content-Location of answers stay as they are; those that lead to the \
                            target lead to this API otherwise.",
        },
        "allow": some(texts("Networks from which it may be called.")),
        "deny": texts("Networks from which it may not be called."),
    });
    (members, vec!["name", "context", "version"])
}
