//! Caches large documents: each is written and compressed once, and copied for a few base URLs.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::gzip::Gzip;

/// Placeholder for the base URL in a cached document.
pub const BASE_URL: &str = "{baseUrl}";

/// Most base URLs whose copies are kept. The first to be dropped is the one that was asked for longest
/// ago, of those that were asked for only once; where there are none, of all.
const BASE_URLS_MAX: usize = 8;

/// Smallest size in bytes from which a text is compressed; a shorter text fits a packet anyway.
const GZIP_MIN: usize = 1024;

/// A cached document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Document {
    /// OpenAPI of the resources.
    Resources,
    /// OpenAPI of the descriptors.
    Descriptors,
    /// OpenAPI of the change queries.
    ChangeQueries,
    /// OpenAPI of the discovery document.
    Discovery,
    /// Dependency order as JSON.
    Dependencies,
    /// Dependency order as GraphML.
    DependencyGraph,
}

/// Content coding of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Not compressed.
    Identity,
    /// Compressed with gzip.
    Gzip,
}

/// A complete document, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Its bytes.
    pub bytes: Bytes,
    /// The coding of the bytes.
    pub coding: Coding,
    /// Its entity tag, quoted; each coding has its own.
    pub etag: String,
}

impl Copy {
    /// Makes an uncompressed copy of a text; equal texts have equal tags.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        Self::coded(bytes.into(), Coding::Identity)
    }

    fn coded(bytes: Bytes, coding: Coding) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Self { etag: format!("\"{:016x}\"", hasher.finish()), bytes, coding }
    }
}

/// A text with gaps for the base URL; it is compressed on first use.
#[derive(Debug)]
struct Template {
    runs: Vec<String>,
    gzip: OnceLock<Gzip>,
}

impl Template {
    /// Makes a template of a text in which [`BASE_URL`] marks the gaps.
    fn of(text: &str) -> Self {
        Self { runs: text.split(BASE_URL).map(str::to_owned).collect(), gzip: OnceLock::new() }
    }

    /// Returns the copy for a base URL; a short text is not compressed.
    fn copy(&self, base_url: &str, coding: Coding) -> Copy {
        let filling = escaped(base_url);
        let length: usize = self.runs.iter().map(String::len).sum();
        match coding {
            Coding::Gzip if length >= GZIP_MIN => {
                let gzip = self.gzip.get_or_init(|| Gzip::of(&self.runs));
                Copy::coded(gzip.filled(&filling).into(), coding)
            }
            Coding::Identity | Coding::Gzip => Copy::of(self.runs.join(&filling)),
        }
    }
}

/// A text without a base URL, in both codings.
#[derive(Debug)]
pub struct Both {
    identity: Copy,
    gzip: Copy,
}

impl Both {
    /// Makes both copies of a text.
    pub fn of(text: &str) -> Self {
        let template = Template { runs: vec![text.to_owned()], gzip: OnceLock::new() };
        let copy = |coding| template.copy("", coding);
        Self { identity: copy(Coding::Identity), gzip: copy(Coding::Gzip) }
    }

    /// Returns the copy in a coding.
    pub fn get(&self, coding: Coding) -> &Copy {
        match coding {
            Coding::Identity => &self.identity,
            Coding::Gzip => &self.gzip,
        }
    }
}

/// The documents written so far.
#[derive(Debug, Default)]
pub struct Shelf {
    /// The template of each document.
    templates: [OnceLock<Template>; 6],
    /// The least recently requested come first.
    copies: Mutex<VecDeque<Kept>>,
}

/// The copies for a base URL.
#[derive(Debug)]
struct Kept {
    base_url: String,
    copies: HashMap<(Document, Coding), Copy>,
    /// Whether one of them was asked for again.
    is_used: bool,
}

impl Shelf {
    /// Returns the copy for a base URL, if there is one.
    pub fn peek(&self, document: Document, base_url: &str, coding: Coding) -> Option<Copy> {
        let mut all = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|kept| kept.base_url == base_url)?;
        let found = all[at].copies.get(&(document, coding)).cloned()?;
        if let Some(mut kept) = all.remove(at) {
            kept.is_used = true;
            all.push_back(kept);
        }
        Some(found)
    }

    /// Returns the copy for a base URL. `write` returns the JSON or XML text, with [`BASE_URL`] as
    /// a placeholder, and runs once in the life of the shelf.
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
        let template = self.templates[document as usize].get_or_init(|| Template::of(&write()));
        let copy = template.copy(base_url, coding);
        let mut all = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
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
}

/// A base URL as it stands inside a JSON string.
pub fn escaped(base_url: &str) -> String {
    let quoted = serde_json::Value::from(base_url).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_rendered_once_and_filled_with_each_base_url() {
        let shelf = Shelf::default();
        let get = |base_url: &str, write: fn() -> String| {
            shelf.get(Document::Resources, base_url, Coding::Identity, write)
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
            shelf.get(Document::Resources, base_url, Coding::Identity, || BASE_URL.to_owned())
        };
        let peek = |base_url: &str| shelf.peek(Document::Resources, base_url, Coding::Identity);
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
    fn short_texts_are_not_compressed() {
        for (length, coding) in [(GZIP_MIN - 1, Coding::Identity), (GZIP_MIN, Coding::Gzip)] {
            let template = Template::of(&"a".repeat(length));

            let copy = template.copy("http://a", Coding::Gzip);

            assert_eq!(copy.coding, coding);
            let plain = template.copy("http://a", Coding::Identity);
            assert_eq!(copy.etag == plain.etag, coding == Coding::Identity);
        }
    }

    #[test]
    fn kept_base_urls_have_a_limit() {
        let shelf = Shelf::default();

        for host in 0..100 {
            for coding in [Coding::Identity, Coding::Gzip] {
                let base_url = format!("http://{host}");
                shelf.get(Document::ChangeQueries, &base_url, coding, String::new);
            }
        }

        let kept = |host: &str| shelf.peek(Document::ChangeQueries, host, Coding::Gzip).is_some();
        assert_eq!(shelf.copies.lock().unwrap().len(), BASE_URLS_MAX);
        assert!(!kept("http://91"));
        assert!(kept("http://92"));
    }
}
