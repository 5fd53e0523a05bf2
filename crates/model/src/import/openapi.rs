//! Reads what a model needs from an `OpenAPI` document of resources or descriptors.
//!
//! Two published shapes are supported: schemas named `edFi_section` with `id`, `_etag` and `link`,
//! and schemas named `EdFi_Section` without them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::outcome::Problem;

/// Members that every document has and that no model lists.
const NO_PROPERTIES: [&str; 5] = ["id", "_etag", "_lastModifiedDate", "_ext", "link"];

/// The endpoints of one project and the schemas they use.
#[derive(Debug, Default)]
pub struct Api {
    /// The endpoints in the document's order.
    pub endpoints: Vec<Endpoint>,
    schemas: HashMap<String, Vec<Member>>,
}

/// A collection of documents.
#[derive(Debug)]
pub struct Endpoint {
    /// Last segment of the path, `sections`.
    pub name: String,
    /// Name of its schema, `EdFi_Section`.
    pub schema: String,
    /// Whether the document says that PUT may change the key.
    pub updatable_key: bool,
}

/// One member of a schema.
#[derive(Debug, Clone)]
pub struct Member {
    /// JSON name.
    pub name: String,
    /// Whether the schema requires it.
    pub required: bool,
    /// What it holds.
    pub kind: MemberKind,
}

/// What a member holds; schemas by name.
#[derive(Debug, Clone)]
pub enum MemberKind {
    /// A reference: the kind that it names, `courseOffering`, and its schema.
    Reference(String, String),
    /// An embedded object.
    Object(String),
    /// A collection of objects.
    List(String),
    /// One value.
    Scalar(Limits),
}

/// Limits that the schema states for a value. Bounds are decimal text.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Fewest characters.
    pub min_length: Option<u32>,
    /// Least value.
    pub min: Option<String>,
    /// Greatest value.
    pub max: Option<String>,
}

impl Api {
    /// Returns the members of a schema.
    pub fn members(&self, schema: &str) -> &[Member] {
        self.schemas.get(schema).map_or(&[], Vec::as_slice)
    }
}

/// Splits a schema's name, without the project in front, into segments: `[Section, ClassPeriod]`.
pub fn segments(schema: &str) -> Vec<&str> {
    let name = schema.split_once('_').map_or(schema, |(_, name)| name);
    name.split('_').filter(|segment| !segment.is_empty()).collect()
}

/// Reads the endpoints under `/{project}/` and every schema.
///
/// # Errors
///
/// Returns a problem for a document that is no JSON or has no such endpoint, and for an endpoint
/// without a schema.
pub fn read(text: &str, project: &str) -> Result<Api, Vec<Problem>> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| vec![Problem::new("document", format!("not JSON: {error}"))])?;
    let mut api = Api::default();
    let mut problems = vec![];
    let prefix = format!("/{project}/");
    for (path, operations) in members(&document["paths"]) {
        let Some(name) = path.strip_prefix(&prefix) else { continue };
        if name.contains('/') {
            continue;
        }
        let Some(schema) = document_schema(operations) else {
            problems.push(Problem::new(path, "neither POST nor GET names a schema"));
            continue;
        };
        let item = &document["paths"][format!("{path}/{{id}}")];
        api.endpoints.push(Endpoint {
            name: name.to_owned(),
            schema: schema.to_owned(),
            updatable_key: item["put"]["x-Ed-Fi-isUpdatable"] == true,
        });
    }
    if api.endpoints.is_empty() && problems.is_empty() {
        problems.push(Problem::new("paths", format!("nothing stands under `{prefix}`")));
    }
    for (name, schema) in members(&document["components"]["schemas"]) {
        api.schemas.insert(name.clone(), schema_members(schema));
    }
    if problems.is_empty() { Ok(api) } else { Err(problems) }
}

/// Reads the domains that a document's tags state, by endpoint.
///
/// # Errors
///
/// Returns a problem when the document is no JSON.
pub fn domains(text: &str) -> Result<HashMap<String, Vec<String>>, Vec<Problem>> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| vec![Problem::new("document", format!("not JSON: {error}"))])?;
    let tags = document["tags"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(tags
        .iter()
        .filter_map(|tag| {
            let domains = tag["x-Ed-Fi-domains"].as_array()?;
            let domains = domains.iter().filter_map(Value::as_str).map(String::from).collect();
            Some((tag["name"].as_str()?.to_owned(), domains))
        })
        .collect())
}

fn document_schema(operations: &Value) -> Option<&str> {
    let posted = &operations["post"]["requestBody"]["content"]["application/json"]["schema"];
    let listed = &operations["get"]["responses"]["200"]["content"]["application/json"]["schema"];
    target(posted).or_else(|| target(&listed["items"]))
}

fn schema_members(schema: &Value) -> Vec<Member> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
        .collect();
    members(&schema["properties"])
        .filter(|(name, _)| !NO_PROPERTIES.contains(&name.as_str()))
        .map(|(name, property)| Member {
            name: name.clone(),
            required: required.contains(&name.as_str()),
            kind: member_kind(property),
        })
        .collect()
}

fn member_kind(property: &Value) -> MemberKind {
    if let Some(schema) = target(property) {
        return match reference_target(schema) {
            Some(kind) => MemberKind::Reference(kind.to_owned(), schema.to_owned()),
            None => MemberKind::Object(schema.to_owned()),
        };
    }
    if let Some(schema) = target(&property["items"]) {
        return MemberKind::List(schema.to_owned());
    }
    let length = |name: &str| property[name].as_u64().and_then(|length| u32::try_from(length).ok());
    let bound = |name: &str| property[name].is_number().then(|| property[name].to_string());
    MemberKind::Scalar(Limits {
        min_length: length("minLength"),
        min: bound("minimum"),
        max: bound("maximum"),
    })
}

/// Returns the kind that a reference's schema stands for: `CourseOffering` for
/// `EdFi_CourseOffering_Reference`.
fn reference_target(schema: &str) -> Option<&str> {
    let name = schema.split_once('_').map_or(schema, |(_, name)| name);
    let kind = name.strip_suffix("Reference")?.trim_end_matches('_');
    (!kind.is_empty()).then_some(kind)
}

fn target(value: &Value) -> Option<&str> {
    value["$ref"].as_str()?.rsplit('/').next()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_targets_are_read_from_both_published_naming_schemes() {
        assert_eq!(reference_target("EdFi_CourseOffering_Reference"), Some("CourseOffering"));
        assert_eq!(reference_target("edFi_courseOfferingReference"), Some("courseOffering"));
        assert_eq!(reference_target("EdFi_Section"), None);
        assert_eq!(segments("EdFi_Section_ClassPeriod"), ["Section", "ClassPeriod"]);
    }
}
