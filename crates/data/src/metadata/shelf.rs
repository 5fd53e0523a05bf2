//! Caches large documents: each is written and compressed once, and copied for a few base URLs. Of
//! their parts those that were asked for lately are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeroom_http::{Coding, Copy, Template};

use super::openapi::Section;

/// Most base URLs whose copies are kept. The first to be dropped is the one that was asked for longest
/// ago, of those that were asked for only once; where there are none, of all.
const BASE_URLS_MAX: usize = 8;

/// Most bytes of parts that are kept, as text and compressed. The first to be dropped is the one that
/// was asked for longest ago.
const PARTS_BYTES_MAX: usize = 16 << 20;

/// A cached document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Document {
    /// An OpenAPI document.
    OpenApi(OpenApi),
    /// Dependency order as JSON.
    Dependencies,
    /// Dependency order as GraphML.
    DependencyGraph,
}

/// An OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenApi {
    /// Of a section of the data API.
    Section(Section),
    /// Of batches.
    Batch,
    /// Of the change queries.
    ChangeQueries,
    /// Of the discovery document.
    Discovery,
    /// Of a category of composites, by its place among the categories.
    Composites(usize),
}

/// A part of an OpenAPI document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The document.
    pub document: OpenApi,
    /// The part's tags, as indices into those of the document, in ascending order.
    pub tags: Vec<usize>,
}

/// The documents written so far.
#[derive(Debug, Default)]
pub struct Shelf {
    templates: Mutex<HashMap<Document, Arc<Template>>>,
    /// The least recently requested come first.
    copies: Mutex<VecDeque<Kept>>,
    parts: Mutex<Parts>,
}

/// The copies for a base URL.
#[derive(Debug)]
struct Kept {
    base_url: String,
    copies: HashMap<(Document, Coding), Copy>,
    /// Whether one of them was asked for again.
    is_used: bool,
}

/// The parts that were asked for lately.
#[derive(Debug, Default)]
struct Parts {
    /// The least recently requested come first.
    templates: VecDeque<KeptPart>,
    bytes: usize,
}

#[derive(Debug)]
struct KeptPart {
    part: Part,
    template: Arc<Template>,
    bytes: usize,
}

impl Shelf {
    /// Returns the copy for a base URL, if there is one.
    pub fn peek(&self, document: Document, base_url: &str, coding: Coding) -> Option<Copy> {
        let mut all = locked(&self.copies);
        let at = all.iter().position(|kept| kept.base_url == base_url)?;
        let found = all[at].copies.get(&(document, coding)).cloned()?;
        if let Some(mut kept) = all.remove(at) {
            kept.is_used = true;
            all.push_back(kept);
        }
        Some(found)
    }

    /// Returns the copy for a base URL. `write` returns the JSON or XML text, with [`BASE_URL`] as
    /// a placeholder, and runs once in the life of the shelf, unless two callers begin at once.
    pub fn get(
        &self,
        document: Document,
        base_url: &str,
        coding: Coding,
        write: impl FnOnce() -> String,
    ) -> Copy {
        if let Some(copy) = self.peek(document, base_url, coding) {
            return copy;
        }
        let known = locked(&self.templates).get(&document).cloned();
        let template = known.unwrap_or_else(|| {
            let template = Arc::new(Template::of(&write()));
            locked(&self.templates).insert(document, Arc::clone(&template));
            template
        });
        let copy = template.copy(base_url, coding);
        let mut all = locked(&self.copies);
        let at = all.iter().position(|kept| kept.base_url == base_url).unwrap_or_else(|| {
            if all.len() == BASE_URLS_MAX {
                let first = all.iter().position(|kept| !kept.is_used).unwrap_or(0);
                all.remove(first);
            }
            let base_url = base_url.to_owned();
            all.push_back(Kept { base_url, copies: HashMap::new(), is_used: false });
            all.len() - 1
        });
        all[at].copies.insert((document, coding), copy.clone());
        copy
    }

    /// Returns a part, if it is kept.
    pub fn peek_part(&self, part: &Part) -> Option<Arc<Template>> {
        let mut parts = locked(&self.parts);
        let at = parts.templates.iter().position(|kept| kept.part == *part)?;
        let kept = parts.templates.remove(at)?;
        let template = Arc::clone(&kept.template);
        parts.templates.push_back(kept);
        Some(template)
    }

    /// Keeps a part as long as there is room. `text` has [`BASE_URL`] as a placeholder; it is
    /// compressed here, so that no copy has to do so.
    pub fn keep_part(&self, part: Part, text: &str) -> Arc<Template> {
        let template = Arc::new(Template::of(text));
        let bytes = template.bytes_compressed();
        let mut parts = locked(&self.parts);
        parts.bytes += bytes;
        parts.templates.push_back(KeptPart { part, template: Arc::clone(&template), bytes });
        while parts.bytes > PARTS_BYTES_MAX {
            let Some(dropped) = parts.templates.pop_front() else { break };
            parts.bytes -= dropped.bytes;
        }
        template
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use homeroom_http::BASE_URL;

    use super::*;

    #[test]
    fn a_document_is_rendered_once_and_filled_with_each_base_url() {
        let shelf = Shelf::default();
        let get = |base_url: &str, write: fn() -> String| {
            shelf.get(Document::Dependencies, base_url, Coding::Identity, write)
        };
        let first = get("http://a", || format!("[\"{BASE_URL}/x\",\"{BASE_URL}\"]"));

        let second = get("http://b\"", || unreachable!());
        let again = get("http://a", || unreachable!());

        assert_eq!(first.bytes, "[\"http://a/x\",\"http://a\"]");
        assert_eq!(second.bytes, "[\"http://b\\\"/x\",\"http://b\\\"\"]");
        assert_eq!(again, first);
        assert_ne!(second.etag, first.etag);
    }

    #[test]
    fn base_urls_used_once_do_not_evict_one_in_use() {
        let shelf = Shelf::default();
        let get = |base_url: &str| {
            shelf.get(Document::Dependencies, base_url, Coding::Identity, || BASE_URL.to_owned())
        };
        let peek = |base_url: &str| shelf.peek(Document::Dependencies, base_url, Coding::Identity);
        get("http://in-use");
        get("http://in-use");

        for at in 0..1_000 {
            get(&format!("http://{at}"));
        }

        assert!(peek("http://in-use").is_some());
        assert!(peek("http://0").is_none());
        assert_eq!(shelf.copies.lock().unwrap().len(), BASE_URLS_MAX);
    }

    #[test]
    fn kept_parts_have_a_limit_and_those_in_use_stay() {
        let shelf = Shelf::default();
        let part = |at: usize| Part { document: OpenApi::Discovery, tags: vec![at] };
        let text = "0123456789".repeat(PARTS_BYTES_MAX / 80);
        shelf.keep_part(part(0), &text);

        for at in 1..100 {
            shelf.keep_part(part(at), &text);
            assert!(shelf.peek_part(&part(0)).is_some(), "{at}");
        }

        let parts = shelf.parts.lock().unwrap();
        assert!(parts.bytes <= PARTS_BYTES_MAX, "{}", parts.bytes);
        assert_eq!(parts.bytes, parts.templates.iter().map(|kept| kept.bytes).sum::<usize>());
        assert!(parts.templates.iter().all(|kept| kept.part != part(1)));
        assert_eq!(parts.templates.back().unwrap().part, part(0));
    }

    #[test]
    fn kept_base_urls_have_a_limit() {
        let shelf = Shelf::default();

        for host in 0..100 {
            for coding in [Coding::Identity, Coding::Gzip] {
                let base_url = format!("http://{host}");
                shelf.get(Document::DependencyGraph, &base_url, coding, String::new);
            }
        }

        let kept = |host: &str| shelf.peek(Document::DependencyGraph, host, Coding::Gzip).is_some();
        assert_eq!(shelf.copies.lock().unwrap().len(), BASE_URLS_MAX);
        assert!(!kept("http://91"));
        assert!(kept("http://92"));
    }
}
