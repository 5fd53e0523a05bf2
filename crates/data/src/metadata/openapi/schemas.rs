//! Schemas of documents, references and items.

use std::collections::BTreeMap;

use homeroom_model::{
    Abstract, KeyColumn, Model, Presence, Property, PropertyKind, Reference, Resource,
    ResourceKind, Scalar,
};
use serde_json::{Map, Value, json};

use super::examples::example;
use super::values::{in_body, scalar, vocabulary};
use super::{names, words};

/// Returns every schema that the resources need, by name.
pub fn all(model: &Model, resources: &[&Resource]) -> Map<String, Value> {
    let mut writer = Writer { model, schemas: BTreeMap::new() };
    for resource in resources {
        writer.resource(resource);
    }
    let mut schemas = writer.schemas;
    schemas.insert("problemDetails".into(), homeroom_http::openapi::problem_schema());
    schemas.into_iter().collect()
}

struct Writer<'m> {
    model: &'m Model,
    schemas: BTreeMap<String, Value>,
}

impl Writer<'_> {
    fn resource(&mut self, resource: &Resource) {
        let name = names::schema(resource);
        let mut members = Map::new();
        members.insert(
            "id".into(),
            json!({
                "type": "string",
                "description": "The id of the document, given by the server.",
                "readOnly": true,
            }),
        );
        let base = resource.base.as_ref().map(|base| self.model.base(base.id));
        self.members(&name, &resource.properties, base, &mut members);
        members.insert(
            "_etag".into(),
            json!({
                "type": "string",
                "description": "The version of the document, as in the ETag header.",
                "readOnly": true,
            }),
        );
        members.insert(
            "_lastModifiedDate".into(),
            json!({
                "type": "string",
                "format": "date-time",
                "description": "When the document last changed.",
                "readOnly": true,
            }),
        );
        let mut schema = object(&resource.properties, members);
        schema["description"] = words::about(self.model, resource).into();
        schema["example"] = example(self.model, resource);
        schema["x-Ed-Fi-domains"] = json!(resource.domains);
        self.schemas.insert(name.clone(), schema);
        if resource.kind != ResourceKind::Enumeration {
            self.tracked_changes(&name, resource);
        }
    }

    fn members(
        &mut self,
        owner: &str,
        properties: &[Property],
        base: Option<&Abstract>,
        members: &mut Map<String, Value>,
    ) {
        for property in properties {
            let member = match &property.kind {
                PropertyKind::Object(projects) if property.is_extensions() => {
                    to(&self.extensions(owner, property, projects))
                }
                PropertyKind::Scalar(kind) => self.scalar(owner, property, *kind),
                PropertyKind::Reference(reference) => {
                    to(&self.reference(owner, &property.name, reference))
                }
                PropertyKind::Object(inner) => to(&self.item(owner, property, inner, base)),
                PropertyKind::List(inner) => {
                    let mut list = json!({
                        "type": "array",
                        "items": to(&self.item(owner, property, inner, base)),
                        "description": self.property(owner, property),
                    });
                    if property.presence == Presence::Optional {
                        list["nullable"] = true.into();
                    } else {
                        list["minItems"] = 1.into();
                    }
                    list["uniqueItems"] = true.into();
                    list
                }
            };
            members.insert(property.name.clone(), member);
        }
    }

    /// Writes the schemas of an object's extensions and returns the name of the outer one:
    /// `edFi_school` has `schoolExtensions`, which has `tpdm_schoolExtension`.
    fn extensions(&mut self, owner: &str, property: &Property, projects: &[Property]) -> String {
        let stem = owner.split_once('_').map_or(owner, |(_, stem)| stem);
        let mut members = Map::new();
        for project in projects {
            let PropertyKind::Object(added) = &project.kind else { continue };
            let owner = format!("{}_{stem}", names::prefix(&project.name));
            let mut inner = Map::new();
            self.members(&owner, added, None, &mut inner);
            let name = format!("{owner}Extension");
            self.schemas.insert(name.clone(), object(added, inner));
            members.insert(project.name.clone(), to(&name));
        }
        let mut name = format!("{stem}Extensions");
        if self.is_taken(&name) {
            name = format!("{owner}Extensions");
        }
        let mut schema = object(projects, members);
        schema["description"] = self.property(owner, property).into();
        self.schemas.insert(name.clone(), schema);
        name
    }

    /// Describes a property of a schema.
    fn property(&self, owner: &str, property: &Property) -> String {
        words::property(property, &words::of_schema(owner), vocabulary(self.model))
    }

    fn scalar(&self, owner: &str, property: &Property, kind: Scalar) -> Value {
        let mut schema = in_body(kind, property.presence == Presence::Key);
        schema.insert("description".into(), self.property(owner, property).into());
        match property.presence {
            Presence::Key => _ = schema.insert("x-Ed-Fi-isIdentity".into(), true.into()),
            Presence::Required => {}
            Presence::Optional => {
                schema.insert("nullable".into(), true.into());
                schema.insert("x-nullable".into(), true.into());
            }
        }
        schema.into()
    }

    /// Writes the schema of a reference and returns its name.
    fn reference(&mut self, owner: &str, property: &str, reference: &Reference) -> String {
        let name = names::reference(self.model, owner, property, reference);
        if self.schemas.contains_key(&name) {
            return name;
        }
        let target = words::words(self.model.target_name(reference.target));
        let mut members = Map::new();
        for part in &reference.parts {
            let mut schema = in_body(part.scalar, true);
            let description =
                words::scalar(&part.name, part.scalar, &target, vocabulary(self.model));
            schema.insert("description".into(), description.into());
            schema.insert("x-Ed-Fi-isIdentity".into(), true.into());
            members.insert(part.name.clone(), schema.into());
        }
        members.insert("link".into(), to("link"));
        let required: Vec<&str> = reference.parts.iter().map(|part| part.name.as_str()).collect();
        self.schemas.insert(
            name.clone(),
            json!({
                "required": required,
                "type": "object",
                "description": format!(
                    "Names one {target} by what identifies it, {}. It must exist, or come with the \
                     same load.",
                    words::listed(&required)
                ),
                "properties": members,
            }),
        );
        self.schemas.entry("link".into()).or_insert_with(link);
        name
    }

    /// Writes the schema of a collection's item or an embedded object and returns its name.
    fn item(
        &mut self,
        owner: &str,
        property: &Property,
        inner: &[Property],
        base: Option<&Abstract>,
    ) -> String {
        let shared = base.filter(|base| self.is_common(base, property));
        let stem = match shared {
            Some(base) => names::target(self.model, homeroom_model::Target::Abstract(base.id)),
            None => owner.to_owned(),
        };
        let single = match &property.kind {
            PropertyKind::List(_) => words::singular(&property.name),
            _ => property.name.clone(),
        };
        let mut name = stem + &words::capitalized(&single);
        if shared.is_some() && self.schemas.contains_key(&name) {
            return name;
        }
        while self.is_taken(&name) {
            name.push_str("Item");
        }
        let mut members = Map::new();
        self.members(&name, inner, None, &mut members);
        let mut schema = object(inner, members);
        schema["description"] = words::item(property, inner).into();
        self.schemas.insert(name.clone(), schema);
        name
    }

    /// Whether every subclass of the base has a property with this name and shape.
    fn is_common(&self, base: &Abstract, property: &Property) -> bool {
        base.subclasses.iter().all(|id| {
            let properties = &self.model.resource(*id).properties;
            properties.iter().any(|other| same_shape(other, property))
        })
    }

    fn is_taken(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
            || self.model.resources.iter().any(|resource| names::schema(resource) == name)
    }

    /// Writes the schemas of `/deletes` and `/keyChanges`.
    fn tracked_changes(&mut self, name: &str, resource: &Resource) {
        let key = format!("trackedChanges_{name}Key");
        let words = words::words(&resource.name);
        let members: Map<String, Value> = resource
            .key
            .iter()
            .map(|KeyColumn { name, scalar: kind, .. }| {
                let mut schema = scalar(*kind);
                let about = words::scalar(name, *kind, &words, vocabulary(self.model));
                schema.insert("description".into(), about.into());
                (name.clone(), schema.into())
            })
            .collect();
        let required: Vec<&String> = members.keys().collect();
        let schema = json!({
            "required": required,
            "type": "object",
            "description": format!("What identified a document of {} at the event.", resource.endpoint),
            "properties": members,
        });
        self.schemas.insert(key.clone(), schema);
        let id = json!({ "type": "string", "description": "The id of the document." });
        let version = json!({
            "type": "integer",
            "format": "int64",
            "description": "The change version of the event.",
        });
        self.schemas.insert(
            format!("trackedChanges_{name}Delete"),
            json!({
                "required": ["id", "changeVersion", "keyValues"],
                "type": "object",
                "properties": { "id": id, "changeVersion": version, "keyValues": to(&key) },
            }),
        );
        self.schemas.insert(
            format!("trackedChanges_{name}KeyChange"),
            json!({
                "required": ["id", "changeVersion", "oldKeyValues", "newKeyValues"],
                "type": "object",
                "properties": {
                    "id": id,
                    "changeVersion": version,
                    "oldKeyValues": to(&key),
                    "newKeyValues": to(&key),
                },
            }),
        );
    }
}

fn object(properties: &[Property], members: Map<String, Value>) -> Value {
    let required: Vec<&str> = properties
        .iter()
        .filter(|property| property.presence != Presence::Optional)
        .map(|property| property.name.as_str())
        .collect();
    let mut schema = Map::new();
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), members.into());
    schema.into()
}

fn link() -> Value {
    json!({
        "type": "object",
        "description": "Leads to the referenced document; written by the server only.",
        "readOnly": true,
        "properties": {
            "rel": { "type": "string", "description": "The kind of the referenced document." },
            "href": { "type": "string", "description": "Its path below the data API." },
        },
    })
}

fn to(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn same_shape(one: &Property, other: &Property) -> bool {
    let same = |one: &[Property], other: &[Property]| {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same_shape(a, b))
    };
    one.name == other.name
        && match (&one.kind, &other.kind) {
            (PropertyKind::Scalar(one), PropertyKind::Scalar(other)) => one == other,
            (PropertyKind::Reference(one), PropertyKind::Reference(other)) => {
                one.target == other.target
            }
            (PropertyKind::Object(one), PropertyKind::Object(other))
            | (PropertyKind::List(one), PropertyKind::List(other)) => same(one, other),
            _ => false,
        }
}
