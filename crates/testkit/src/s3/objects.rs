//! Objects and unfinished uploads.
#![expect(clippy::disallowed_methods, reason = "an object has the moment of its last change")]

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::digest;

use super::message::hex;

/// An object.
pub(crate) struct Object {
    pub(crate) bytes: Vec<u8>,
    pub(crate) etag: String,
    /// The second of its last change.
    pub(crate) changed: u64,
}

/// A multipart upload that is neither completed nor aborted.
pub(crate) struct Upload {
    pub(crate) key: String,
    pub(crate) begun: u64,
    pub(crate) parts: BTreeMap<u32, Object>,
}

/// What a bucket has.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) named: BTreeMap<String, Object>,
    pub(crate) uploads: BTreeMap<String, Upload>,
    number: u64,
    /// Whether conditional puts are answered with 501.
    pub(crate) is_conditional_refused: bool,
    /// Whether their condition is ignored.
    pub(crate) is_conditional_ignored: bool,
}

impl Object {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let etag = format!("\"{}\"", &hex(digest::digest(&digest::SHA256, &bytes).as_ref())[..32]);
        Self { bytes, etag, changed: now() }
    }
}

impl Objects {
    pub(crate) fn keys(&self) -> Vec<String> {
        self.named.keys().cloned().collect()
    }

    pub(crate) fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        self.named.get(key).map(|object| object.bytes.clone())
    }

    pub(crate) fn put(&mut self, key: &str, bytes: Vec<u8>) -> String {
        let object = Object::new(bytes);
        let etag = object.etag.clone();
        self.named.insert(key.to_owned(), object);
        etag
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.named.remove(key);
    }

    pub(crate) fn begin(&mut self, key: &str) -> String {
        self.number += 1;
        let id = format!("upload-{}", self.number);
        let upload = Upload { key: key.to_owned(), begun: now(), parts: BTreeMap::new() };
        self.uploads.insert(id.clone(), upload);
        id
    }

    pub(crate) fn open_uploads(&self) -> Vec<String> {
        self.uploads.values().map(|upload| upload.key.clone()).collect()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
