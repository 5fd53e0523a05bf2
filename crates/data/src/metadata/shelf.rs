//! Keeps the big documents: each is written once, and copied out for a few base URLs.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;

/// Stands for the base URL while a document is written.
pub const BASE_URL: &str = "{baseUrl}";

/// Most base URLs whose copies are kept; the one asked for first leaves first.
const BASE_URLS_MAX: usize = 8;

/// A document that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Document {
    /// OpenAPI of the resources.
    Resources,
    /// OpenAPI of the descriptors.
    Descriptors,
    /// OpenAPI of the change queries.
    ChangeQueries,
    /// Order of dependency as JSON.
    Dependencies,
    /// Order of dependency as GraphML.
    DependencyGraph,
}

/// A whole document, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Its text.
    pub bytes: Bytes,
    /// Its entity tag, quoted.
    pub etag: String,
}

impl Copy {
    /// A copy of a text; equal texts have equal tags.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Self { etag: format!("\"{:016x}\"", hasher.finish()), bytes }
    }
}

/// The documents written so far.
#[derive(Debug, Default)]
pub struct Shelf {
    templates: [OnceLock<Vec<String>>; 5],
    copies: Mutex<VecDeque<(String, HashMap<Document, Copy>)>>,
}

impl Shelf {
    /// The copy for a base URL, if there is one.
    pub fn peek(&self, document: Document, base_url: &str) -> Option<Copy> {
        let copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = copies.iter().find(|(base, _)| base == base_url)?;
        found.get(&document).cloned()
    }

    /// The copy for a base URL; `write` gives the JSON or XML text, with [`BASE_URL`] where the base
    /// URL belongs, and runs once in the life of the shelf.
    pub fn get(&self, document: Document, base_url: &str, write: impl FnOnce() -> String) -> Copy {
        if let Some(copy) = self.peek(document, base_url) {
            return copy;
        }
        let template = self.templates[document as usize]
            .get_or_init(|| write().split(BASE_URL).map(str::to_owned).collect());
        let copy = Copy::of(template.join(&escaped(base_url)));
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let at = copies.iter().position(|(base, _)| base == base_url).unwrap_or_else(|| {
            if copies.len() == BASE_URLS_MAX {
                copies.pop_front();
            }
            copies.push_back((base_url.to_owned(), HashMap::new()));
            copies.len() - 1
        });
        copies[at].1.insert(document, copy.clone());
        copy
    }
}

/// A base URL as it stands inside a JSON string.
fn escaped(base_url: &str) -> String {
    let quoted = serde_json::Value::from(base_url).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_written_once_and_has_each_base_url_in_its_place() {
        let shelf = Shelf::default();
        let first = shelf
            .get(Document::Resources, "http://a", || format!("[\"{BASE_URL}/x\",\"{BASE_URL}\"]"));

        let second = shelf.get(Document::Resources, "http://b\"", || unreachable!());
        let again = shelf.get(Document::Resources, "http://a", || unreachable!());

        assert_eq!(first.bytes, "[\"http://a/x\",\"http://a\"]");
        assert_eq!(second.bytes, "[\"http://b\\\"/x\",\"http://b\\\"\"]");
        assert_eq!(again, first);
        assert_ne!(second.etag, first.etag);
    }

    #[test]
    fn no_more_base_urls_are_kept_than_the_limit_says() {
        let shelf = Shelf::default();

        for host in 0..100 {
            shelf.get(Document::ChangeQueries, &format!("http://{host}"), String::new);
        }

        assert_eq!(shelf.copies.lock().unwrap().len(), BASE_URLS_MAX);
        assert_eq!(shelf.peek(Document::ChangeQueries, "http://91"), None);
        assert!(shelf.peek(Document::ChangeQueries, "http://92").is_some());
    }
}
