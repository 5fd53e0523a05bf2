//! OpenAPI 3.0 documents derived from the model, in the shape that Ed-Fi clients know.
//!
//! Schemas are named `edFi_section`, `edFi_sectionReference`, `edFi_sectionCharacteristic`. The
//! items of every array and every reference are a `$ref`, because clients follow these to find
//! identities and required properties. The documents describe exactly what the server does.
//!
//! Source: OpenAPI 3.0.3; the marks `x-Ed-Fi-…` of the Ed-Fi ODS/API 7.

mod batch;
mod composites;
mod examples;
mod names;
mod paths;
mod schemas;
mod shared;
mod values;
mod words;

use homeroom_http::BASE_URL;
use homeroom_http::openapi as shared_openapi;
use homeroom_model::{Model, Resource, ResourceKind};
use serde_json::{Map, Value, json};

pub(super) use batch::batch;
pub(super) use composites::document as composites;
pub(super) use words::words;

/// One of the OpenAPI documents of the data API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Section {
    /// Entities, associations and enumerations.
    Resources,
    /// The descriptors' resources.
    Descriptors,
    /// Both, from which clients are generated.
    All,
    /// Both, of the standard or of one extension: an index into [`Model::projects`].
    Project(usize),
}

impl Section {
    /// Returns the section's resources, by schema and endpoint.
    pub fn resources(self, model: &Model) -> Vec<&Resource> {
        let mut all: Vec<&Resource> =
            model.resources.iter().filter(|resource| self.has(resource)).collect();
        all.sort_by_key(|resource| (resource.project, resource.endpoint.to_ascii_lowercase()));
        all
    }

    fn has(self, resource: &Resource) -> bool {
        match self {
            Self::Resources => resource.kind != ResourceKind::Descriptor,
            Self::Descriptors => resource.kind == ResourceKind::Descriptor,
            Self::All => true,
            Self::Project(at) => resource.project == at,
        }
    }

    fn title(self, model: &Model) -> String {
        match self {
            Self::Resources => "Homeroom: Ed-Fi resources".to_owned(),
            Self::Descriptors => "Homeroom: Ed-Fi descriptors".to_owned(),
            Self::All => "Homeroom: all Ed-Fi resources and descriptors".to_owned(),
            Self::Project(at) => {
                format!("Homeroom: resources and descriptors of {}", model.projects[at].name)
            }
        }
    }
}

/// Returns the tags of a section's document, in its order: one for each resource.
pub fn tags(model: &Model, section: Section) -> Vec<String> {
    section.resources(model).iter().map(|resource| names::tag(model, resource)).collect()
}

/// Returns the OpenAPI document of a section, with [`BASE_URL`] as a placeholder for the base URL.
pub fn document(model: &Model, section: Section) -> Value {
    of_resources(model, section, &section.resources(model))
}

/// Returns the part of a section's document for some of its [`tags`], given as indices. The other
/// resources are not written at all, which costs less than a cut of the whole document.
pub fn part(model: &Model, section: Section, tags: &[usize]) -> Value {
    let all = section.resources(model);
    let resources: Vec<&Resource> = tags.iter().filter_map(|at| all.get(*at)).copied().collect();
    let own = of_resources(model, section, &resources);
    // Of what all resources share, these may not need everything.
    shared_openapi::part(&own, &shared_openapi::tags_of(&own))
}

fn of_resources(model: &Model, section: Section, resources: &[&Resource]) -> Value {
    let mut all_paths = Map::new();
    for resource in resources {
        paths::of(resource, model, &mut all_paths);
    }
    let tags: Vec<Value> = resources
        .iter()
        .map(|resource| {
            json!({
                "name": names::tag(model, resource),
                "description": words::about(model, resource),
                "x-Ed-Fi-domains": resource.domains,
            })
        })
        .collect();
    let standards: Vec<String> =
        model.projects.iter().map(|p| format!("{} {}", p.name, p.version)).collect();
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": section.title(model),
            "description": format!(
                "Read and write the documents of {}; every operation needs a bearer token. Add \
                 ?tags=NAME,NAME to this document's address for the part of it under these tags.",
                standards.join(", "),
            ),
            "version": "3",
        },
        "servers": [{ "url": format!("{BASE_URL}/data/v3") }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": tags,
        "paths": all_paths,
        "components": {
            "schemas": schemas::all(model, resources),
            "responses": shared::responses(),
            "parameters": shared::parameters(),
            "headers": shared::headers(),
            "securitySchemes": shared::security_schemes(),
        },
    })
}

/// Returns the OpenAPI document of the change queries.
pub fn change_queries() -> Value {
    let version = |description: &str| json!({ "type": "integer", "format": "int64", "minimum": 0, "description": description });
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Homeroom: Ed-Fi change queries",
            "description": "The range of change versions that lists can be asked for.",
            "version": "1",
        },
        "servers": [{ "url": format!("{BASE_URL}/changeQueries/v1") }],
        "security": [{ "oauth2_client_credentials": [] }],
        "tags": [{
            "name": "availableChangeVersions",
            "description": "The oldest and the newest change version of this server.",
        }],
        "paths": { "/availableChangeVersions": { "get": {
            "tags": ["availableChangeVersions"],
            "summary": "Gets the oldest and the newest change version.",
            "operationId": "getAvailableChangeVersions",
            "responses": {
                "200": {
                    "description": "The change versions.",
                    "content": { "application/json": { "schema": {
                        "$ref": "#/components/schemas/availableChangeVersion"
                    } } },
                },
                "401": { "$ref": "#/components/responses/Unauthorized" },
                "403": { "$ref": "#/components/responses/Forbidden" },
                "429": { "$ref": "#/components/responses/TooManyRequests" },
                "500": { "$ref": "#/components/responses/Error" },
                "503": { "$ref": "#/components/responses/Unavailable" },
            },
        } } },
        "components": {
            "schemas": {
                "availableChangeVersion": {
                    "type": "object",
                    "required": ["oldestChangeVersion", "newestChangeVersion"],
                    "properties": {
                        "oldestChangeVersion": version("Before every change."),
                        "newestChangeVersion": version("The latest change."),
                    },
                },
                "problemDetails": homeroom_http::openapi::problem_schema(),
            },
            "responses": shared::responses(),
            "headers": shared::headers(),
            "securitySchemes": shared::security_schemes(),
        },
    })
}

/// Returns the OpenAPI document of the discovery document.
pub fn discovery() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let data_model = json!({
        "type": "object",
        "required": ["name", "version"],
        "properties": {
            "name": text("Name of the standard or extension."),
            "version": text("Its version."),
            "informationalVersion": text("Its version in words."),
        },
    });
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Homeroom: Ed-Fi discovery",
            "description": "What this server serves, and where.",
            "version": "1",
        },
        "servers": [{ "url": BASE_URL }],
        "tags": [{ "name": "discovery", "description": "Versions, data models and addresses." }],
        "paths": { "/": { "get": {
            "tags": ["discovery"],
            "summary": "Gets versions, data models and addresses.",
            "operationId": "getDiscovery",
            "responses": { "200": {
                "description": "Versions, data models and addresses.",
                "content": { "application/json": { "schema": {
                    "$ref": "#/components/schemas/discovery"
                } } },
            } },
        } } },
        "components": { "schemas": { "discovery": {
            "type": "object",
            "required": ["version", "applicationName", "dataModels", "urls"],
            "properties": {
                "version": text("The version of the contract."),
                "applicationName": text("The program's name."),
                "informationalVersion": text("The version of the contract in words."),
                "suite": text("The suite of the contract."),
                "build": text("The program's version."),
                "dataModels": { "type": "array", "items": data_model },
                "urls": {
                    "type": "object",
                    "description": "Addresses by what is there.",
                    "additionalProperties": { "type": "string" },
                },
            },
        } } },
    })
}
