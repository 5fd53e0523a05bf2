//! Paths and operations of a resource.

use homeroom_model::{Model, Resource, ResourceKind};
use serde_json::{Map, Value, json};

use super::words::{capitalized, words};
use super::{names, shared, values, words as sentences};

/// Adds the paths of a resource.
pub fn of(resource: &Resource, model: &Model, paths: &mut Map<String, Value>) {
    let operations = Operations { resource, model, schema: names::schema(resource) };
    let root = resource.path();
    paths.insert(root.clone(), json!({ "get": operations.get(), "post": operations.post() }));
    paths.insert(
        format!("{root}/{{id}}"),
        json!({
            "get": operations.get_by_id(),
            "put": operations.put(),
            "delete": operations.delete(),
        }),
    );
    if resource.kind != ResourceKind::Enumeration {
        paths.insert(format!("{root}/deletes"), json!({ "get": operations.deletes() }));
        paths.insert(format!("{root}/keyChanges"), json!({ "get": operations.key_changes() }));
    }
    paths.insert(format!("{root}/partitions"), json!({ "get": operations.partitions() }));
}

struct Operations<'a> {
    resource: &'a Resource,
    model: &'a Model,
    schema: String,
}

impl Operations<'_> {
    fn get(&self) -> Value {
        let mut parameters: Vec<Value> = [
            "offset",
            "limit",
            "pageToken",
            "pageSize",
            "MinChangeVersion",
            "MaxChangeVersion",
            "totalCount",
        ]
        .map(to_parameter)
        .into();
        parameters.extend(self.query_fields());
        let mut answers = refusals(&[]);
        answers.insert(
            "200".into(),
            json!({
                "description": "The items that match, in the order of their creation.",
                "headers": {
                    "Next-Page-Token": shared::to_header("Next-Page-Token"),
                    "Total-Count": shared::to_header("Total-Count"),
                },
                "content": json_content(&list_of(&self.schema)),
            }),
        );
        self.operation(
            &format!("get{}", self.plural()),
            &format!("Lists {}.", words(&self.resource.endpoint)),
            "All parameters that are given must match; names that are not listed here are ignored.",
            &parameters,
            answers,
        )
    }

    fn post(&self) -> Value {
        let mut answers = refusals(&[
            "Conflict",
            "PreconditionFailed",
            "Timeout",
            "PayloadTooLarge",
            "UnsupportedMediaType",
        ]);
        answers.insert("200".into(), to_response("Updated"));
        answers.insert("201".into(), to_response("Created"));
        let mut operation = self.operation(
            &format!("post{}", self.single()),
            &format!("Creates or updates one of the {}.", words(&self.resource.endpoint)),
            "If a document with the same identifying values exists, it is replaced. The body must \
             not have an id. With If-None-Match: * a document is created and none replaced.",
            &[to_parameter("If-Match"), to_parameter("If-None-Match")],
            answers,
        );
        operation["requestBody"] = self.body();
        operation
    }

    fn get_by_id(&self) -> Value {
        let mut answers = refusals(&["NotFound"]);
        answers.insert(
            "200".into(),
            json!({
                "description": "The document.",
                "headers": { "ETag": shared::to_header("ETag") },
                "content": json_content(&to_schema(&self.schema)),
            }),
        );
        answers.insert("304".into(), to_response("NotModified"));
        self.operation(
            &format!("get{}ById", self.plural()),
            &format!("Gets one of the {}.", words(&self.resource.endpoint)),
            "",
            &[to_parameter("id"), to_parameter("If-None-Match")],
            answers,
        )
    }

    fn put(&self) -> Value {
        let mut answers = refusals(&[
            "NotFound",
            "Conflict",
            "PreconditionFailed",
            "Timeout",
            "PayloadTooLarge",
            "UnsupportedMediaType",
        ]);
        answers.insert("204".into(), to_response("Updated"));
        let note = if self.resource.updatable_key {
            "The standard allows the identifying values of this resource to change; this server \
             does not support that yet and answers 400. The id in the path counts, not one in the \
             body."
        } else {
            "The identifying values cannot change. The id in the path counts, not one in the body."
        };
        let mut operation = self.operation(
            &format!("put{}", self.single()),
            &format!("Replaces one of the {}.", words(&self.resource.endpoint)),
            note,
            &[to_parameter("id"), to_parameter("If-Match")],
            answers,
        );
        operation["requestBody"] = self.body();
        operation
    }

    fn delete(&self) -> Value {
        let mut answers = refusals(&["NotFound", "Conflict", "PreconditionFailed"]);
        answers.insert("204".into(), to_response("Deleted"));
        self.operation(
            &format!("delete{}ById", self.single()),
            &format!("Deletes one of the {}.", words(&self.resource.endpoint)),
            "A document that others refer to cannot be deleted.",
            &[to_parameter("id"), to_parameter("If-Match")],
            answers,
        )
    }

    fn deletes(&self) -> Value {
        self.tracked_changes("deletes", "Delete", "Lists deleted documents.")
    }

    fn key_changes(&self) -> Value {
        self.tracked_changes(
            "keyChanges",
            "KeyChange",
            "Lists documents whose identifying values changed.",
        )
    }

    fn tracked_changes(&self, verb: &str, schema: &str, summary: &str) -> Value {
        let parameters = ["offset", "limit", "MinChangeVersion", "MaxChangeVersion", "totalCount"]
            .map(to_parameter);
        let mut answers = refusals(&[]);
        answers.insert(
            "200".into(),
            json!({
                "description": "The events, in the order of their change versions.",
                "headers": { "Total-Count": shared::to_header("Total-Count") },
                "content":
                    json_content(&list_of(&format!("trackedChanges_{}{schema}", self.schema))),
            }),
        );
        self.operation(&format!("{verb}{}", self.plural()), summary, "", &parameters, answers)
    }

    fn partitions(&self) -> Value {
        let mut parameters: Vec<Value> =
            ["numberOfPartitions", "MinChangeVersion", "MaxChangeVersion"].map(to_parameter).into();
        parameters.extend(self.query_fields());
        let mut answers = refusals(&[]);
        answers.insert(
            "200".into(),
            json!({
                "description": "One page token for the first page of each partition.",
                "content": json_content(&json!({
                    "type": "object",
                    "required": ["pageTokens"],
                    "properties": {
                        "pageTokens": { "type": "array", "items": { "type": "string" } },
                    },
                })),
            }),
        );
        self.operation(
            &format!("get{}Partitions", self.plural()),
            &format!(
                "Divides the {} into parts of equal size, of which the last may be smaller.",
                words(&self.resource.endpoint),
            ),
            "Each part can be read by a worker of its own, page by page. Filters and change windows apply; send them again with each page.",
            &parameters,
            answers,
        )
    }

    fn operation(
        &self,
        id: &str,
        summary: &str,
        description: &str,
        parameters: &[Value],
        mut responses: Map<String, Value>,
    ) -> Value {
        responses.sort_keys();
        let mut operation = json!({
            "tags": [names::tag(self.model, self.resource)],
            "summary": summary,
            "operationId": id,
            "parameters": parameters,
            "responses": responses,
        });
        if !description.is_empty() {
            operation["description"] = description.into();
        }
        operation
    }

    fn query_fields(&self) -> Vec<Value> {
        let mut fields = vec![json!({
            "name": "id",
            "in": "query",
            "description": "The id of the document.",
            "schema": shared::id_schema(),
        })];
        let of = sentences::words(&self.resource.name);
        for field in &self.resource.query_fields {
            let vocabulary = values::vocabulary(self.model);
            let description = sentences::scalar(&field.name, field.scalar, &of, vocabulary);
            let mut parameter = json!({
                "name": field.name,
                "in": "query",
                "description": description,
                "schema": values::in_query(field.scalar),
            });
            if field.identity {
                parameter["x-Ed-Fi-isIdentity"] = true.into();
            }
            fields.push(parameter);
        }
        fields
    }

    fn body(&self) -> Value {
        json!({
            "description": "The document.",
            "content": json_content(&to_schema(&self.schema)),
            "required": true,
            "x-bodyName": names::of_resource(self.resource),
        })
    }

    fn plural(&self) -> String {
        capitalized(&names::apart(self.model, self.resource))
            + &capitalized(&self.resource.endpoint)
    }

    fn single(&self) -> String {
        capitalized(&names::apart(self.model, self.resource))
            + &capitalized(&names::of_resource(self.resource))
    }
}

/// The refusals that every operation may answer with, and those named.
pub(super) fn refusals(names: &[&str]) -> Map<String, Value> {
    const USUAL: [&str; 7] = [
        "BadRequest",
        "Unauthorized",
        "Forbidden",
        "TooManyRequests",
        "Error",
        "NotImplemented",
        "Unavailable",
    ];
    let all = shared::REFUSALS.iter();
    all.filter(|(_, name, _)| USUAL.contains(name) || names.contains(name))
        .map(|(status, name, _)| ((*status).to_owned(), to_response(name)))
        .collect()
}

/// Content of a schema.
pub(super) fn json_content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

/// A list of a schema's.
pub(super) fn list_of(schema: &str) -> Value {
    json!({ "type": "array", "items": to_schema(schema) })
}

/// Reference to a schema.
pub(super) fn to_schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Reference to a parameter.
pub(super) fn to_parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

fn to_response(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}
