//! Reads a target's description of its API: `OpenAPI` 3.0 and Swagger 2.0, as Ed-Fi servers write
//! them.

use std::collections::HashMap;

use serde_json::Value;

use super::shape::{Form, Property, Reference, Resource, Scalar, Shapes, Takes};

/// How deeply objects may be nested; published models have three levels.
const DEPTH_MAX: usize = 12;
/// The longest string where the description sets no maximum.
const TEXT_MAX: usize = 255;
/// The greatest integer that every JSON implementation represents exactly.
const LONG_MAX: i64 = (1 << 53) - 1;
/// The members that every document has and no client writes.
const NOT_WRITTEN: &[&str] = &["id", "link", "_etag", "_lastModifiedDate"];

/// Reads resources from several documents; if a path is in two of them, the first counts.
pub fn read(documents: &[Value]) -> Shapes {
    let reader = Reader { schemas: schemas(documents) };
    let mut resources: Vec<Resource> = vec![];
    for document in documents {
        let Some(paths) = document["paths"].as_object() else { continue };
        for (path, found) in paths {
            if is_collection(path) && !resources.iter().any(|resource| resource.path == *path) {
                resources.extend(reader.resource(document, path, found));
            }
        }
    }
    name(&mut resources);
    let mut shapes = Shapes { resources };
    super::links::join(&mut shapes);
    shapes
}

/// Returns whether a path is that of a resource's collection: two segments, no parameter.
fn is_collection(path: &str) -> bool {
    !path.contains('{') && path.starts_with('/') && path.matches('/').count() == 2
}

/// Gives each resource its short name, or its long name where two share the short one.
fn name(resources: &mut [Resource]) {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for resource in resources.iter() {
        *uses.entry(resource.name.clone()).or_default() += 1;
    }
    // The first resource keeps the short name: the standard's own come before extensions.
    let mut given: HashMap<String, usize> = HashMap::new();
    for resource in resources {
        let before = given.entry(resource.name.clone()).or_default();
        *before += 1;
        if uses[&resource.name] > 1 && *before > 1 {
            resource.name = resource.path.trim_start_matches('/').to_owned();
        }
    }
}

fn schemas(documents: &[Value]) -> HashMap<&str, &Value> {
    let mut found = HashMap::new();
    for document in documents {
        for place in [&document["components"]["schemas"], &document["definitions"]] {
            for (name, schema) in place.as_object().into_iter().flatten() {
                found.entry(name.as_str()).or_insert(schema);
            }
        }
    }
    found
}

struct Reader<'d> {
    schemas: HashMap<&'d str, &'d Value>,
}

impl<'d> Reader<'d> {
    fn resource(&self, document: &'d Value, path: &str, found: &'d Value) -> Option<Resource> {
        let (get, post) = (&found["get"], &found["post"]);
        let schema = post_schema(post).or_else(|| list_schema(get))?;
        let item = &document["paths"][format!("{path}/{{id}}")];
        let parameters: Vec<&Value> = (get["parameters"].as_array().into_iter().flatten())
            .map(|parameter| resolved(document, parameter))
            .filter(|parameter| parameter["in"] == "query")
            .collect();
        let names = |of: &dyn Fn(&Value) -> bool| {
            let named = parameters.iter().filter(|parameter| of(parameter));
            named.filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned())).collect()
        };
        let mut identity: Vec<String> = names(&|parameter| marked(parameter, "isIdentity"));
        if identity.is_empty() {
            identity = self.identity_by_reference(schema);
        }
        Some(Resource {
            path: path.to_owned(),
            name: path.rsplit('/').next()?.to_owned(),
            schema: schema.to_owned(),
            properties: self.properties(schema, self.schemas.get(schema)?, 0),
            identity,
            query: names(&|_| true),
            takes: Takes {
                post: post.is_object(),
                put: item["put"].is_object(),
                delete: item["delete"].is_object(),
            },
        })
    }

    /// Returns the identity as references to this resource contain it.
    fn identity_by_reference(&self, schema: &str) -> Vec<String> {
        let names = [format!("{schema}Reference"), format!("{schema}_Reference")];
        let found = names.iter().find_map(|name| self.schemas.get(name.as_str()));
        let members = found.and_then(|schema| schema["properties"].as_object());
        let names = members.into_iter().flat_map(|members| members.keys().cloned());
        names.filter(|name| name != "link").collect()
    }

    fn properties(&self, owner: &str, schema: &'d Value, depth: usize) -> Vec<Property> {
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|of| of == name))
        };
        let mut properties = vec![];
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if NOT_WRITTEN.contains(&name.as_str()) || property["readOnly"] == true {
                continue;
            }
            let Some(form) = self.form(owner, name, property, depth) else { continue };
            let is_needed = match &form {
                // An extension may have required members although the extension itself is optional.
                Form::Object(inner) => is_extension(name) && has_required(inner),
                Form::List(_) => property["minItems"].as_u64().is_some_and(|least| least > 0),
                _ => false,
            };
            properties.push(Property {
                name: name.clone(),
                is_required: required(name) || is_needed,
                is_identity: marked(property, "isIdentity"),
                form,
            });
        }
        properties
    }

    fn form(&self, owner: &str, name: &str, property: &'d Value, depth: usize) -> Option<Form> {
        if depth > DEPTH_MAX {
            return None;
        }
        if let Some(to) = referred(property) {
            let schema = self.schemas.get(to)?;
            let target = to.strip_suffix("Reference").map(|name| name.trim_end_matches('_'));
            return Some(match target {
                Some(target) if name.ends_with("Reference") => {
                    Form::Reference(self.reference(target, schema))
                }
                _ => Form::Object(self.inner(to, schema, name, depth)),
            });
        }
        Some(match kind_of(property) {
            "array" => {
                let items = &property["items"];
                let (name, schema) = match referred(items) {
                    Some(to) => (to, *self.schemas.get(to)?),
                    None => (owner, items),
                };
                Form::List(self.properties(name, schema, depth + 1))
            }
            "object" => Form::Object(self.inner(owner, property, name, depth)),
            "string" if name.ends_with("Descriptor") => Form::Descriptor(None),
            _ => Form::Scalar(scalar(property)?),
        })
    }

    /// Returns the members of an object. An extension's object is included if it is required.
    fn inner(&self, owner: &str, schema: &'d Value, name: &str, depth: usize) -> Vec<Property> {
        let mut inner = self.properties(owner, schema, depth + 1);
        if name == "_ext" {
            for extension in &mut inner {
                if let Form::Object(members) = &extension.form {
                    extension.is_required = has_required(members);
                }
            }
        }
        inner
    }

    fn reference(&self, target: &str, schema: &'d Value) -> Reference {
        let members = self.properties(target, schema, DEPTH_MAX);
        Reference {
            to: target.to_owned(),
            role: String::new(),
            targets: vec![],
            members: members.into_iter().map(|member| (member.name, member.form)).collect(),
        }
    }
}

fn is_extension(name: &str) -> bool {
    name == "_ext"
}

fn has_required(properties: &[Property]) -> bool {
    properties.iter().any(|property| property.is_required)
}

/// Returns whether one of the standard's own marks, `x-Ed-Fi-…`, is set.
fn marked(found: &Value, mark: &str) -> bool {
    found[format!("x-Ed-Fi-{mark}")] == true
}

/// Follows a `$ref` within the same document.
fn resolved<'d>(document: &'d Value, part: &'d Value) -> &'d Value {
    let to = part["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
    to.and_then(|pointer| document.pointer(pointer)).unwrap_or(part)
}

/// Returns the schema that a part refers to, even where marks stand beside the reference.
fn referred(part: &Value) -> Option<&str> {
    let to = part["$ref"].as_str().or_else(|| match part["allOf"].as_array()?.as_slice() {
        [only] => only["$ref"].as_str(),
        _ => None,
    })?;
    to.rsplit('/').next()
}

fn post_schema(post: &Value) -> Option<&str> {
    let content = post["requestBody"]["content"].as_object().and_then(|by| by.values().next());
    let body = || {
        let all = post["parameters"].as_array()?;
        all.iter().find(|parameter| parameter["in"] == "body")
    };
    referred(&content.or_else(body)?["schema"])
}

fn list_schema(get: &Value) -> Option<&str> {
    let answer = &get["responses"]["200"];
    let content = answer["content"].as_object().and_then(|by| by.values().next());
    referred(&content.unwrap_or(answer)["schema"]["items"])
}

/// Returns the type, ignoring null as a second one.
fn kind_of(property: &Value) -> &str {
    let first =
        || property["type"].as_array()?.iter().filter_map(Value::as_str).find(|t| *t != "null");
    property["type"]
        .as_str()
        .or_else(first)
        .unwrap_or_else(|| if property["properties"].is_object() { "object" } else { "string" })
}

fn scalar(property: &Value) -> Option<Scalar> {
    let format = property["format"].as_str().unwrap_or_default();
    let length =
        |name: &str| property[name].as_u64().and_then(|length| usize::try_from(length).ok());
    Some(match (kind_of(property), format) {
        ("string", "date") => Scalar::Date,
        ("string", "date-time") => Scalar::Moment,
        ("string", "time") => Scalar::Time,
        ("string", _) => Scalar::Text {
            min: length("minLength").unwrap_or(0),
            max: length("maxLength").unwrap_or(TEXT_MAX),
            only: property["enum"][0].as_str().map(str::to_owned),
        },
        ("integer", _) => Scalar::Integer {
            min: property["minimum"].as_i64().unwrap_or(0),
            max: property["maximum"].as_i64().unwrap_or(if format == "int64" {
                LONG_MAX
            } else {
                i64::from(i32::MAX)
            }),
        },
        ("number", _) => Scalar::Number {
            min: property["minimum"].as_f64().unwrap_or(0.0),
            max: property["maximum"].as_f64().unwrap_or(99.0),
        },
        ("boolean", _) => Scalar::Boolean,
        _ => return None,
    })
}
