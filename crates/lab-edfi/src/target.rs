//! Reads what a target says about itself: its paths, its resources, and the key's rights.

use std::collections::HashMap;

use serde_json::Value;

use super::api::{ApiError, Session};
use super::openapi;
use super::shape::Shapes;

/// The parts of the API whose descriptions are not used.
const OTHER_PARTS: &[&str] = &["composites", "other", "profiles"];
/// The most descriptions that are read.
const DESCRIPTIONS_MAX: usize = 50;

/// A target's description of itself.
#[derive(Debug)]
pub struct TargetApi {
    /// The path of the token endpoint.
    pub token_path: String,
    /// The path before those of resources, without a trailing `/`, such as `/data/v3`.
    pub data_path: String,
    /// Its resources.
    pub shapes: Shapes,
    /// The rank of each resource in the order of dependencies; resources without one come last.
    pub order: Vec<u64>,
    /// The ids of the key's education organizations.
    pub education_organizations: Vec<i64>,
    /// The key's namespace prefixes.
    pub namespace_prefixes: Vec<String>,
}

/// Reads a target's description and requests a token.
///
/// # Errors
///
/// If the target cannot be reached, rejects the key, or describes no resource.
pub fn read(session: &mut Session<'_>) -> Result<TargetApi, ApiError> {
    let root = session.access().root.clone();
    let front = format!("{root}/");
    let discovery = session.read(&front)?;
    let urls = &discovery["urls"];
    let path = |names: &[&str], otherwise: &str| {
        let found = names.iter().find_map(|name| urls[*name].as_str());
        found.map_or_else(|| format!("{root}{otherwise}"), path_of)
    };
    let token_path = path(&["oauth"], "/oauth/token");
    let info_path = path(&["oauthTokenIntrospection"], "/oauth/token_info");
    let data_path = path(&["dataManagementApi"], "/data/v3").trim_end_matches('/').to_owned();
    let metadata_path = path(&["openApiMetadata"], "/metadata/");
    let dependencies_path = path(&["dependencies"], "/metadata/data/v3/dependencies");
    session.log_in(&token_path)?;
    let info = session.token_info(&info_path)?;
    let listing = session.read(&metadata_path)?;
    let mut descriptions = vec![];
    for path in descriptions_of(&listing).into_iter().take(DESCRIPTIONS_MAX) {
        descriptions.push(session.read(&path)?);
    }
    let shapes = openapi::read(&descriptions);
    if shapes.resources.is_empty() {
        let why = "lists no description of the resources".into();
        return Err(ApiError::Strange { path: metadata_path, why });
    }
    // If there is no such list, the set-up finds the order by trying.
    let dependencies = session.send("GET", &dependencies_path, "")?.json();
    Ok(TargetApi {
        order: order(&shapes, &dependencies),
        token_path,
        data_path,
        shapes,
        education_organizations: education_organizations(&info),
        namespace_prefixes: texts(&info["namespace_prefixes"]),
    })
}

impl TargetApi {
    /// Returns a path of the data management API.
    pub fn path(&self, rest: &str) -> String {
        format!("{}{rest}", self.data_path)
    }
}

/// Returns the path and query of a URL. Its origin is ignored: a target may know itself by another
/// one.
fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    path.to_owned()
}

/// Returns the paths of the descriptions of resources, descriptors and extensions that the list
/// names.
fn descriptions_of(listing: &Value) -> Vec<String> {
    let entries = listing.as_array().into_iter().flatten();
    let of_resources = entries.filter(|entry| {
        let prefix = entry["prefix"].as_str().unwrap_or_default().to_lowercase();
        !OTHER_PARTS.contains(&prefix.as_str())
    });
    let mut paths: Vec<(bool, String)> = of_resources
        .filter_map(|entry| {
            Some((entry["name"] != "Resources", path_of(entry["endpointUri"].as_str()?)))
        })
        .collect();
    // The description of resources holds more than that of descriptors; what is in both is taken
    // from the first.
    paths.sort();
    paths.into_iter().map(|(_, path)| path).collect()
}

fn order(shapes: &Shapes, dependencies: &Value) -> Vec<u64> {
    let mut places: HashMap<&str, u64> = HashMap::new();
    for entry in dependencies.as_array().into_iter().flatten() {
        let (Some(resource), Some(order)) = (entry["resource"].as_str(), entry["order"].as_u64())
        else {
            continue;
        };
        // Persons are listed twice: first for creation, later for an update.
        let place = places.entry(resource).or_insert(order);
        *place = order.min(*place);
    }
    let resources = shapes.resources.iter();
    resources
        .map(|resource| places.get(resource.path.as_str()).copied().unwrap_or(u64::MAX))
        .collect()
}

fn education_organizations(info: &Value) -> Vec<i64> {
    let entries = info["education_organizations"].as_array().into_iter().flatten();
    let ids = entries
        .filter_map(|entry| entry["education_organization_id"].as_i64().or_else(|| entry.as_i64()));
    ids.collect()
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_origin_of_a_described_url_is_ignored() {
        let urls = ["http://localhost:5449/v7/metadata/?a=b", "/v7/metadata/?a=b", "https://x"];

        assert_eq!(urls.map(path_of), ["/v7/metadata/?a=b", "/v7/metadata/?a=b", "/"]);
    }

    #[test]
    fn descriptions_of_resources_are_read_and_others_not() {
        let entry = |name: &str, prefix: &str| json!({"name": name, "endpointUri": format!("http://x/{name}"), "prefix": prefix});
        let listing = json!([
            entry("Enrollment", "Composites"),
            entry("Identity", "Other"),
            entry("Descriptors", ""),
            entry("Resources", ""),
            entry("TPDM", "Extensions"),
        ]);

        assert_eq!(descriptions_of(&listing), ["/Resources", "/Descriptors", "/TPDM"]);
    }

    #[test]
    fn token_info_gives_the_keys_organizations_and_namespaces() {
        let info = json!({
            "education_organizations": [{"education_organization_id": 255_901}, 255_902],
            "namespace_prefixes": ["uri://acme.org"],
        });

        assert_eq!(education_organizations(&info), [255_901, 255_902]);
        assert_eq!(texts(&info["namespace_prefixes"]), ["uri://acme.org"]);
        assert_eq!(education_organizations(&Value::Null), [0_i64; 0]);
    }
}
