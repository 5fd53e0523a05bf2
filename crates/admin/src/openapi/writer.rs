//! Writes operations: parameters, bodies, answers.

use serde_json::{Map, Value, json};

use super::operation::{Body, Gives, Operation, Query};
use super::words;
use crate::list::{By, Filter, LIMIT_MAX, LIMIT_USUAL};

/// Refusals: status, name of the response, meaning, and the headers that come with it.
const REFUSALS: [(&str, &str, &str); 10] = [
    ("400", "BadRequest", "The request breaks a rule; errors says which."),
    ("401", "Unauthorized", "The token is missing, wrong or expired."),
    ("403", "Forbidden", "The key has no right to manage, or this is managed on the server only."),
    ("404", "NotFound", "There is no such item."),
    ("408", "Timeout", "The body took too long to arrive."),
    ("409", "Conflict", "The same thing exists already, or somebody changed it at this moment."),
    ("413", "PayloadTooLarge", "The body is larger than the server takes."),
    ("415", "UnsupportedMediaType", "The body is not application/json in UTF-8."),
    ("500", "Error", "The server failed."),
    ("503", "Unavailable", "The server is too busy; Retry-After says how long to wait."),
];

/// Responses that are not in the table because all operations have them under another status too.
const TOO_MANY: (&str, &str, &str) =
    ("429", "TooManyRequests", "Too many requests; Retry-After says how long to wait.");

/// Returns the refusals by name.
pub(super) fn shared_responses() -> Value {
    let mut all = Map::new();
    for (status, name, description) in REFUSALS.into_iter().chain([TOO_MANY]) {
        let mut response = json!({
            "description": description,
            "content": { "application/problem+json": {
                "schema": { "$ref": "#/components/schemas/problemDetails" }
            } },
        });
        if matches!(status, "429" | "503") {
            response["headers"] = json!({ "Retry-After": {
                "description": "How many seconds to wait before the request is sent again.",
                "schema": { "type": "integer", "minimum": 0 },
            } });
        }
        all.insert(name.to_owned(), response);
    }
    all.into()
}

/// Returns an operation as an item of its path.
pub(super) fn path_item(operation: &Operation) -> Value {
    let mut item = json!({
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": operation.id,
        "parameters": parameters(operation),
        "responses": responses(operation),
    });
    if let Some(body) = &operation.takes {
        let (media, schema) = match body {
            Body::Json(schema) => ("application/json", schema.as_str()),
            Body::Form(schema) => ("application/x-www-form-urlencoded", *schema),
        };
        let mut content = json!({ "schema": to(schema) });
        if let Some(example) = words::example(schema) {
            content["example"] = example;
        }
        item["requestBody"] = json!({ "required": true, "content": { media: content } });
    }
    if !operation.is_guarded {
        item["security"] = json!([]);
    }
    item
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let mut all = vec![];
    for segment in operation.path.split('/') {
        let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            continue;
        };
        let (about, schema) = match name {
            "tenantName" => ("The name of the tenant.", json!({ "type": "string" })),
            "resourceClaimId" => ("The id of the resource claim.", id_schema()),
            _ => ("The id of the item.", id_schema()),
        };
        all.push(json!({
            "name": name, "in": "path", "required": true, "description": about, "schema": schema,
        }));
    }
    let query = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "query", "description": about, "schema": schema });
    match operation.query {
        Query::Nothing => {}
        Query::Application => {
            let mut asked = query("applicationid", "The id of the application.", id_schema());
            asked["required"] = true.into();
            all.push(asked);
        }
        Query::Page(filters) => {
            let least = |most: Option<usize>, usual: usize| {
                let mut schema = json!({ "type": "integer", "minimum": 0, "default": usual });
                if let Some(most) = most {
                    schema["maximum"] = most.into();
                }
                schema
            };
            let offset = "How many items to skip before the first one that is returned.";
            let limit = "The maximum number of items to return.";
            all.push(query("offset", offset, least(None, 0)));
            all.push(query("limit", limit, least(Some(LIMIT_MAX), LIMIT_USUAL)));
            let members: Vec<&str> =
                filters.iter().map(|f| f.member).filter(|m| *m != "id").chain(["id"]).collect();
            let order = json!({ "type": "string", "enum": members });
            all.push(query("orderBy", "The member that the list is sorted by.", order));
            let directions = json!({ "type": "string", "enum": ["Ascending", "Descending"] });
            all.push(query("direction", "The direction in which it is sorted.", directions));
            all.extend(filters.iter().map(|filter| {
                let (about, schema) = of_filter(filter);
                query(filter.parameter, &about, schema)
            }));
        }
    }
    all
}

fn of_filter(filter: &Filter) -> (String, Value) {
    let member = filter.member;
    match filter.by {
        By::Number => (
            format!("Returns only items with this {member}."),
            json!({ "type": "integer", "format": "int64" }),
        ),
        By::Text => (
            format!("Returns only items with this {member}, in any case."),
            json!({ "type": "string" }),
        ),
        By::Ids => (
            "Returns only items with one of these ids, separated by commas.".into(),
            json!({ "type": "string" }),
        ),
        By::Parts => (
            format!("Returns only items whose {member} have all of these, separated by commas."),
            json!({ "type": "string" }),
        ),
    }
}

fn responses(operation: &Operation) -> Value {
    let mut all = Map::new();
    let with = |description: &str, schema: Option<Value>| {
        let mut response = json!({ "description": description });
        if let Some(schema) = schema {
            response["content"] = json!({ "application/json": { "schema": schema } });
        }
        response
    };
    match &operation.gives {
        Gives::Done => _ = all.insert("200".into(), with("It is done.", None)),
        Gives::One(schema) => _ = all.insert("200".into(), with("The item.", Some(to(schema)))),
        Gives::Many(schema) => {
            let list = json!({ "type": "array", "items": to(schema) });
            all.insert("200".into(), with("The items.", Some(list)));
        }
        Gives::Created(schema) => {
            let mut made = with("It was created.", schema.map(to));
            made["headers"] = json!({ "Location": {
                "description": "The path of the new item, below /adminapi/v2.",
                "schema": { "type": "string" },
            } });
            all.insert("201".into(), made);
        }
        Gives::Added => _ = all.insert("201".into(), with("It was added.", None)),
        Gives::Never => {}
    }
    for (status, name, _) in REFUSALS.into_iter().chain([TOO_MANY]) {
        if is_possible(operation, status) {
            let to = json!({ "$ref": format!("#/components/responses/{name}") });
            all.insert(status.into(), to);
        }
    }
    if let Some(Body::Form(_)) = operation.takes
        && !matches!(operation.gives, Gives::Never)
    {
        for status in ["400", "401"] {
            all.insert(status.into(), with("The token is refused.", Some(to("tokenRefusal"))));
        }
    }
    all.sort_keys();
    all.into()
}

/// Returns whether an operation can be refused with a status.
fn is_possible(operation: &Operation, status: &str) -> bool {
    let has_body = operation.takes.is_some();
    let changes = operation.method != "get";
    match status {
        "401" => operation.is_guarded,
        "403" => operation.is_guarded || matches!(operation.gives, Gives::Never),
        "404" => operation.path.contains('{'),
        "409" => changes && operation.is_guarded,
        "408" | "413" => has_body,
        "415" => matches!(operation.takes, Some(Body::Json(_))),
        _ => true,
    }
}

/// Returns a reference to a schema.
pub(super) fn to(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// Returns the schema of an id.
pub(super) fn id_schema() -> Value {
    json!({ "type": "integer", "format": "int32", "minimum": 1 })
}
