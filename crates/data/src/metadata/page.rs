//! The HTML page at `/`.

use std::collections::HashMap;

use homeroom_model::{Model, PropertyKind, ResourceId, ResourceKind, Target};

use super::discovery::CONTRACT_VERSION;
use super::here::Hidden;
use super::markup::escaped;

/// The page's template; `{{name}}` is replaced by a value, which is escaped.
const PAGE: &str = include_str!("page.html");

/// The policy for what the page may load in a browser: only the style inside it.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Credentials of a demonstration, which the page may show; never those of a real client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The key.
    pub key: String,
    /// The secret.
    pub secret: String,
}

/// How the page treats credentials.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// The page has no credentials to show.
    Nothing,
    /// The page shows a demonstration's credentials.
    Credentials(&'a Credentials),
    /// The demonstration has credentials, but this client may not see them.
    Hidden(Hidden),
}

/// Writes the page: what is running, how to call it, where to go next.
pub fn render(model: &Model, base_url: &str, shown: Shown<'_>) -> String {
    let standards: Vec<String> = model
        .projects
        .iter()
        .map(|project| format!("{} Data Standard {}", project.name, project.version))
        .collect();
    let (key, secret) = match shown {
        Shown::Credentials(credentials) => (&*credentials.key, &*credentials.secret),
        Shown::Nothing | Shown::Hidden(_) => ("KEY", "SECRET"),
    };
    let credentials = match shown {
        Shown::Credentials(_) => "The key and secret below are this demonstration's own.".into(),
        Shown::Nothing => {
            "Put the key and secret that you were given in place of KEY and SECRET.".into()
        }
        Shown::Hidden(hidden) => format!(
            "This demonstration's key and secret are not shown, because {}: copy them from the \
             terminal in which it was started, and put them in place of KEY and SECRET.",
            hidden.why()
        ),
    };
    let token = format!(
        "TOKEN=$(curl -s -u {key}:{secret} -d grant_type=client_credentials \
         {base_url}/oauth/token | sed 's/.*\"access_token\" *: *\"\\([^\"]*\\)\".*/\\1/')"
    );
    let data = format!("{base_url}/data/v3");
    let read = most_referenced(model).map_or_else(String::new, |path| {
        format!("curl -s -H \"Authorization: Bearer $TOKEN\" \"{data}{path}?limit=5\"")
    });
    let write = first_descriptor(model).map_or_else(String::new, |path| {
        format!(
            "curl -i -H \"Authorization: Bearer $TOKEN\" -H \"Content-Type: application/json\" \
             -d '{{\"namespace\":\"uri://example.org/Try\",\"codeValue\":\"First\",\
             \"shortDescription\":\"First\"}}' {data}{path}"
        )
    });
    fill(&HashMap::from([
        ("contract", CONTRACT_VERSION),
        ("standards", &standards.join(", ")),
        ("resources", &model.resources.len().to_string()),
        ("base_url", base_url),
        ("credentials", &credentials),
        ("token", &token),
        ("read", &read),
        ("write", &write),
    ]))
}

/// Inserts each value, escaped.
fn fill(values: &HashMap<&str, &str>) -> String {
    let mut out = String::with_capacity(PAGE.len() + 1024);
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out.push_str(&escaped(values.get(name).copied().unwrap_or_default()));
        rest = after;
    }
    out + rest
}

/// Returns the path of the entity with the most references to it, which is the likeliest to have
/// documents.
fn most_referenced(model: &Model) -> Option<String> {
    let mut counts: HashMap<ResourceId, usize> = HashMap::new();
    for property in model.resources.iter().flat_map(|resource| &resource.properties) {
        if let PropertyKind::Reference(reference) = &property.kind
            && let Target::Resource(id) = reference.target
        {
            *counts.entry(id).or_default() += 1;
        }
    }
    let entities = model.resources.iter().filter(|r| r.kind == ResourceKind::Entity);
    let found = entities.rev().max_by_key(|r| counts.get(&r.id).copied().unwrap_or_default())?;
    Some(found.path())
}

/// Returns the path of a descriptor; all descriptors accept the same document.
fn first_descriptor(model: &Model) -> Option<String> {
    let found = model.resources.iter().find(|r| r.kind == ResourceKind::Descriptor)?;
    Some(found.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_of_the_page_is_filled_in() {
        let model = homeroom_model::link(&[]).unwrap();

        let page = render(&model, "http://h", Shown::Nothing);

        assert!(!page.contains("{{") && !page.contains("}}"));
    }
}
