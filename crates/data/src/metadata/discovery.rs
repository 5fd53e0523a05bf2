//! The discovery document and the list of OpenAPI documents.

use homeroom_http::openapi::Listed;
use homeroom_model::{Model, capitalized};
use serde_json::{Value, json};

use crate::composites::Composites;

/// The wire contract that this server speaks; clients page by cursor from 7.3 on.
pub const CONTRACT_VERSION: &str = "7.3";

/// Returns the answer to `GET /`: versions, data models and the addresses of all APIs.
pub fn discovery(model: &Model, base_url: &str) -> Value {
    let data_models: Vec<Value> = model
        .projects
        .iter()
        .map(|project| {
            json!({
                "name": project.name,
                "version": project.version,
                "informationalVersion":
                    format!("The {} Data Model {}", project.name, project.version),
            })
        })
        .collect();
    json!({
        "version": CONTRACT_VERSION,
        "applicationName": "Homeroom",
        "informationalVersion": CONTRACT_VERSION,
        "suite": "3",
        "build": env!("CARGO_PKG_VERSION"),
        "dataModels": data_models,
        "urls": {
            "dependencies": format!("{base_url}/metadata/data/v3/dependencies"),
            "openApiMetadata": format!("{base_url}/metadata/"),
            "oauth": format!("{base_url}/oauth/token"),
            "oauthTokenIntrospection": format!("{base_url}/oauth/token_info"),
            "dataManagementApi": format!("{base_url}/data/v3/"),
            "xsdMetadata": format!("{base_url}/metadata/xsd"),
            "changeQueries": format!("{base_url}/changeQueries/v1/"),
            "composites": format!("{base_url}/composites/v1/"),
        },
    })
}

/// What `GET /metadata` answers: the OpenAPI documents by name; `others` are those of other parts.
///
/// Generators of clients ask with `?sdk=true` for the documents that have resources and descriptors
/// together: of everything, of the standard and of each extension.
pub fn listing(
    model: &Model,
    composites: &Composites,
    others: &[Listed],
    for_generators: bool,
    base_url: &str,
) -> Value {
    let entry = |name: &str, path: &str, prefix: &str| {
        json!({
            "name": name,
            "endpointUri": format!("{base_url}/metadata/{path}/swagger.json"),
            "prefix": prefix,
        })
    };
    let mut all = vec![
        entry("Batch", "batch/v1", "Other"),
        entry("Change-Queries", "changequeries/v1", "Other"),
    ];
    if for_generators {
        all.push(entry("All", "data/v3", ""));
        all.extend(model.projects.iter().enumerate().map(|(at, project)| {
            let prefix = if at == 0 { "" } else { "Extensions" };
            entry(&project.name, &format!("data/v3/{}", project.schema), prefix)
        }));
    } else {
        all.push(entry("Descriptors", "data/v3/descriptors", ""));
        all.push(entry("Resources", "data/v3/resources", ""));
    }
    all.extend(composites.categories.iter().map(|category| {
        let path = format!("composites/v1/{}/{}", category.organization, category.name);
        entry(&capitalized(&category.name), &path, "Composites")
    }));
    all.extend(others.iter().map(|Listed { name, prefix, path }| {
        json!({ "name": name, "endpointUri": format!("{base_url}{path}"), "prefix": prefix })
    }));
    all.into()
}

/// Returns the answer to `GET /metadata/specifications`: the same documents at the addresses that
/// Ed-Fi's newer server uses.
///
/// Source: the Ed-Fi API v8, whose names end in `-spec.json`.
pub fn specifications(base_url: &str) -> Value {
    let entry = |name: &str, prefix: &str| {
        let file = name.to_ascii_lowercase();
        json!({
            "name": name,
            "endpointUri": format!("{base_url}/metadata/specifications/{file}-spec.json"),
            "prefix": prefix,
        })
    };
    json!([
        entry("Resources", ""),
        entry("Descriptors", ""),
        entry("Discovery", "Other"),
        entry("Change-Queries", "Other"),
    ])
}
