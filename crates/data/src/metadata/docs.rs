//! The API reference in a browser: a page with the names of all resources, which shows a part of an
//! OpenAPI document when one is chosen. It loads nothing from elsewhere.

use std::fmt::Write as _;

use homeroom_http::Both;
use homeroom_http::openapi::Listed;
use homeroom_model::Model;

use super::markup::escaped;

/// The page's template; `{{name}}` is replaced by a value.
const PAGE: &str = include_str!("docs/reference.html");
/// Its script.
const SCRIPT: &str = include_str!("docs/reference.js");
/// Its style.
const STYLE: &str = include_str!("docs/reference.css");

/// What the page may do in a browser: run its own script, use its own style and ask its own server.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

/// The files of the reference.
#[derive(Debug)]
pub struct Docs {
    /// The page.
    pub page: Both,
    /// Its script.
    pub script: Both,
    /// Its style.
    pub style: Both,
}

/// A document in the page's index.
pub struct Indexed<'a> {
    /// Its heading.
    pub name: &'a str,
    /// Its path, from the root.
    pub path: &'a str,
    /// Its tags; none for a document that is shown as a whole.
    pub tags: &'a [String],
}

impl Docs {
    /// Writes the page: an index of documents and their tags.
    pub fn of(model: &Model, own: &[Indexed<'_>], others: &[Listed]) -> Self {
        let mut index = String::new();
        for document in own {
            add(&mut index, document);
        }
        for Listed { name, path, .. } in others {
            add(&mut index, &Indexed { name, path, tags: &[] });
        }
        let standards: Vec<String> = model
            .projects
            .iter()
            .map(|project| format!("{} Data Standard {}", project.name, project.version))
            .collect();
        let page = PAGE
            .replace("{{standards}}", &escaped(&standards.join(", ")))
            .replace("{{index}}", &index);
        Self { page: Both::of(&page), script: Both::of(SCRIPT), style: Both::of(STYLE) }
    }
}

/// Adds a document to the index.
fn add(index: &mut String, document: &Indexed<'_>) {
    let Indexed { name, path, tags } = document;
    // Relative, so that it also leads there behind a proxy that puts a path in front.
    let (path, name) = (escaped(path.trim_start_matches('/')), escaped(name));
    // Writing to memory does not fail.
    _ = writeln!(index, "<details open><summary>{name}</summary>\n<ul>");
    for tag in *tags {
        let tag = escaped(tag);
        _ = writeln!(
            index,
            "<li><a href=\"#/{name}/{tag}\" data-document=\"{path}\" data-tag=\"{tag}\">{tag}</a></li>"
        );
    }
    if tags.is_empty() {
        _ = writeln!(
            index,
            "<li><a href=\"#/{name}\" data-document=\"{path}\" data-tag=\"\">{name}: all operations</a></li>"
        );
    }
    *index += "</ul></details>\n";
}
