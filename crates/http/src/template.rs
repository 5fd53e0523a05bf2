//! Texts that are sent often: with gaps for the server's address, compressed once, with entity tags.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use bytes::Bytes;

use crate::gzip::Gzip;

/// Placeholder for the base URL in a text.
pub const BASE_URL: &str = "{baseUrl}";

/// Smallest size in bytes from which a text is compressed; a shorter text fits a packet anyway.
const GZIP_MIN: usize = 1024;

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
pub struct Template {
    runs: Vec<String>,
    gzip: OnceLock<Gzip>,
}

impl Template {
    /// Makes a template of a text in which [`BASE_URL`] marks the gaps.
    pub fn of(text: &str) -> Self {
        Self { runs: text.split(BASE_URL).map(str::to_owned).collect(), gzip: OnceLock::new() }
    }

    /// Returns the copy for a base URL; a short text is not compressed.
    pub fn copy(&self, base_url: &str, coding: Coding) -> Copy {
        let filling = escaped(base_url);
        match coding {
            Coding::Gzip if self.length() >= GZIP_MIN => {
                Copy::coded(self.compressed().filled(&filling).into(), coding)
            }
            Coding::Identity | Coding::Gzip => Copy::of(self.runs.join(&filling)),
        }
    }

    /// Compresses the text, unless that has been done, and returns the bytes that it takes in all.
    pub fn bytes_compressed(&self) -> usize {
        self.length() + self.compressed().length()
    }

    fn compressed(&self) -> &Gzip {
        self.gzip.get_or_init(|| Gzip::of(&self.runs))
    }

    fn length(&self) -> usize {
        self.runs.iter().map(String::len).sum()
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

/// Returns a base URL as it stands inside a JSON string.
fn escaped(base_url: &str) -> String {
    let quoted = serde_json::Value::from(base_url).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
