//! The OpenAPI document of a category of composites.

use homeroom_model::Model;
use serde_json::{Map, Value, json};

use super::words::capitalized;
use super::{paths, shared, values, words as sentences};
use crate::composites::{Category, Composite, Member, Node, Parameter, RouteTemplate, Segment};
use homeroom_http::BASE_URL;

/// Returns the OpenAPI document of a category, with [`BASE_URL`] in the place of the base URL.
pub fn document(model: &Model, category: &Category) -> Value {
    let Category { organization, name, .. } = category;
    let (mut all_paths, mut schemas) = (Map::new(), Map::new());
    for composite in &category.composites {
        let writer = Writer { model, category, composite };
        writer.add_schema(&mut schemas, &writer.schema(), &composite.node);
        let root = format!("/{organization}/{name}");
        let own = format!("{root}/{}", composite.plural);
        all_paths.insert(own.clone(), json!({ "get": writer.list("", &[]) }));
        all_paths.insert(format!("{own}/{{id}}"), json!({ "get": writer.item() }));
        for route in category.routes.iter().filter(|route| route.leads_to(composite)) {
            let (path, of_way) = writer.way(route);
            all_paths
                .insert(format!("{root}{path}"), json!({ "get": writer.list(&path, &of_way) }));
        }
    }
    schemas.insert("problemDetails".into(), homeroom_http::openapi::problem_schema());
    let tags: Vec<Value> = category
        .composites
        .iter()
        .map(|composite| {
            let base = &model.resource(composite.base).endpoint;
            json!({
                "name": composite.plural,
                "description": format!("Everything related to {}, read in one request.", sentences(base)),
            })
        })
        .collect();
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": format!("Homeroom: {} composites", category.display_name),
            "description":
                "Documents combined from several resources. Whatever the caller may not read is \
                 left out.",
            "version": "1",
        },
        "servers": [{ "url": format!("{BASE_URL}/composites/v1") }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": tags,
        "paths": all_paths,
        "components": {
            "schemas": schemas,
            "responses": shared::responses(),
            "parameters": shared::parameters(),
            "headers": shared::headers(),
            "securitySchemes": shared::security_schemes(),
        },
    })
}

struct Writer<'a> {
    model: &'a Model,
    category: &'a Category,
    composite: &'a Composite,
}

impl Writer<'_> {
    /// Name of its schema, `enrollment_students`.
    fn schema(&self) -> String {
        format!("{}_{}", self.category.name, self.composite.plural)
    }

    fn list(&self, path: &str, of_way: &[&Parameter]) -> Value {
        let mut parameters: Vec<Value> =
            of_way.iter().map(|parameter| self.parameter(parameter, "path")).collect();
        let paging = ["offset", "limit", "pageToken", "pageSize", "totalCount"];
        parameters.extend(paging.map(paths::to_parameter));
        parameters.extend([fields(), expression()]);
        let others = self.composite.parameters.iter().filter(|parameter| {
            parameter.is_queryable
                && !parameter.name.contains('.')
                && of_way.iter().all(|own| own.name != parameter.name)
        });
        parameters.extend(others.map(|parameter| self.parameter(parameter, "query")));
        let mut answers = paths::refusals(&[]);
        answers.insert(
            "200".into(),
            json!({
                "description": "The composites that match, in the order in which their base documents \
                                were created.",
                "headers": {
                    "Next-Page-Token": shared::to_header("Next-Page-Token"),
                    "Total-Count": shared::to_header("Total-Count"),
                },
                "content": paths::json_content(&paths::list_of(&self.schema())),
            }),
        );
        let fixed =
            path.split('/').filter(|segment| !segment.is_empty() && !segment.starts_with('{'));
        let by: Vec<String> =
            fixed.filter(|segment| *segment != self.composite.plural).map(capitalized).collect();
        let by = by.join("");
        let id = format!(
            "get{}{}{}",
            capitalized(&self.category.name),
            capitalized(&self.composite.plural),
            if by.is_empty() { String::new() } else { format!("By{by}") }
        );
        self.operation(&id, "Lists composites.", &parameters, answers)
    }

    fn item(&self) -> Value {
        let mut answers = paths::refusals(&["NotFound"]);
        answers.insert(
            "200".into(),
            json!({
                "description": "The composite.",
                "content": paths::json_content(&paths::to_schema(&self.schema())),
            }),
        );
        let id = format!(
            "get{}{}ById",
            capitalized(&self.category.name),
            capitalized(&self.composite.plural)
        );
        let parameters = [paths::to_parameter("id"), fields()];
        self.operation(
            &id,
            "Gets a composite by the id of its base document.",
            &parameters,
            answers,
        )
    }

    fn operation(
        &self,
        id: &str,
        summary: &str,
        parameters: &[Value],
        mut responses: Map<String, Value>,
    ) -> Value {
        responses.sort_keys();
        json!({
            "tags": [self.composite.plural],
            "summary": summary,
            "operationId": id,
            "parameters": parameters,
            "responses": responses,
        })
    }

    /// Returns the path of a route template and the parameters in it.
    fn way(&self, route: &RouteTemplate) -> (String, Vec<&Parameter>) {
        let (mut path, mut parameters) = (String::new(), vec![]);
        for segment in &route.segments {
            path.push('/');
            match segment {
                Segment::Fixed(text) => path.push_str(text),
                Segment::Composite => path.push_str(&self.composite.plural),
                Segment::Parameter(name) => {
                    path.extend(["{", &in_path(name), "}"]);
                    parameters.extend(self.composite.parameter(name));
                }
            }
        }
        (path, parameters)
    }

    fn parameter(&self, parameter: &Parameter, place: &str) -> Value {
        let resource = self.model.resource(parameter.of);
        let schema = if parameter.field == "id" {
            shared::id_schema()
        } else {
            let field = resource.query_fields.iter().find(|field| field.name == parameter.field);
            field.map_or_else(
                || json!({ "type": "string" }),
                |field| Value::Object(values::in_query(field.scalar)),
            )
        };
        let usual =
            || format!("The {} of one of the {}.", parameter.field, sentences(&resource.endpoint));
        let is_path = place == "path";
        let name = if is_path { in_path(&parameter.name) } else { small(&parameter.name) };
        let mut written = json!({
            "name": name,
            "in": place,
            "description": parameter.description.clone().unwrap_or_else(usual),
            "schema": schema,
        });
        if is_path {
            written["required"] = true.into();
        }
        written
    }

    /// Adds the schema of a node and the schemas of the objects in it.
    fn add_schema(&self, schemas: &mut Map<String, Value>, name: &str, node: &Node) {
        let mut properties = Map::new();
        self.add_members(schemas, name, node, &mut properties);
        schemas.insert(name.into(), json!({ "type": "object", "properties": properties }));
    }

    fn add_members(
        &self,
        schemas: &mut Map<String, Value>,
        owner: &str,
        node: &Node,
        properties: &mut Map<String, Value>,
    ) {
        for member in &node.members {
            match (member, member.name()) {
                (Member::Id { name }, _) => {
                    _ = properties.insert(name.clone(), shared::id_schema());
                }
                (Member::Value { name, scalar, .. }, _) => {
                    _ = properties.insert(name.clone(), Value::Object(values::scalar(*scalar)));
                }
                (_, Some(name)) => {
                    let inner = format!("{owner}_{name}");
                    let is_list =
                        matches!(member, Member::Collection { .. } | Member::Linked { .. });
                    let schema =
                        if is_list { paths::list_of(&inner) } else { paths::to_schema(&inner) };
                    properties.insert(name.to_owned(), schema);
                    if let Some(node) = member.node() {
                        self.add_schema(schemas, &inner, node);
                    }
                    if let Some(subtype) = member.subtype() {
                        schemas[&inner]["properties"][subtype] = json!({ "type": "string" });
                    }
                }
                (_, None) => {
                    if let Some(node) = member.node() {
                        self.add_members(schemas, owner, node, properties);
                    }
                    if let Some(subtype) = member.subtype() {
                        properties.insert(subtype.to_owned(), json!({ "type": "string" }));
                    }
                }
            }
        }
    }
}

/// Returns the name of a parameter in a path. Dots become underscores, because client generators
/// cannot put a dot into a variable's name.
fn in_path(name: &str) -> String {
    small(name).replace('.', "_")
}

/// Returns a name with its first letter in lower case.
fn small(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}

fn expression() -> Value {
    json!({
        "name": "q",
        "in": "query",
        "description":
            "Filters as one expression, combined by AND: schoolId:255901 AND \
             (sessionName:\"Fall Semester\"). What the filters cannot express is refused. Default: \
             none.",
        "schema": { "type": "string" },
    })
}

fn fields() -> Value {
    json!({
        "name": "fields",
        "in": "query",
        "description":
            "The members to return, with the members of each in parentheses: \
             id,name,addresses(city,postalCode). Default: all members.",
        "schema": { "type": "string" },
    })
}
