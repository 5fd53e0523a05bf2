//! Blobs on each database, in a folder of the test.

use std::path::{Path, PathBuf};

use homeroom_blobs::{Blob, BlobPlace, Blobs, Limits};
use homeroom_store::{ChangedAt, Snapshot, SnapshotOptions, Store};
use homeroom_testkit::{Folder, trial};

/// An hour and some, in microseconds: longer than the grace period.
pub const LONG_US: i64 = 4_000_000_000;

/// The blobs of a store, and the folder that goes with the test.
pub struct Trial {
    pub name: String,
    pub blobs: Blobs,
    pub store: Store,
    pub folder: Folder,
}

pub fn on_each() -> Vec<Trial> {
    let trial = |(name, store): (String, Store)| {
        let folder = Folder::new();
        let place = BlobPlace::folder(&folder.path().join("blobs"));
        let blobs = Blobs::new(place, store.clone(), Limits::default());
        Trial { name, blobs, store, folder }
    };
    trial::on_each(&[]).unwrap().into_iter().map(trial).collect()
}

impl Trial {
    /// Writes and keeps a blob.
    pub async fn kept(&self, bytes: &[u8]) -> Blob {
        let mut writing = self.blobs.begin("test").await.unwrap();
        writing.write(bytes).await.unwrap();
        let written = writing.finish(ChangedAt::now()).await.unwrap();
        self.blobs.keep(written, ChangedAt::now()).await.unwrap()
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::open(self.store.url(), &SnapshotOptions::default()).unwrap()
    }

    /// Returns the file of a blob.
    pub fn file(&self, blob: &Blob) -> PathBuf {
        let name = blob.id.to_string();
        self.blobs.place().path().join(&name[..6]).join(name)
    }

    pub fn place(&self, name: &str) -> BlobPlace {
        BlobPlace::folder(&self.folder.path().join(name))
    }
}

/// Reads a range of a blob.
pub async fn read(blobs: &Blobs, blob: &Blob, range: std::ops::Range<u64>) -> Vec<u8> {
    let mut reading = blobs.read(blob, range).await.unwrap();
    let mut all = vec![];
    while let Some(bytes) = reading.next().await.unwrap() {
        all.extend_from_slice(&bytes);
    }
    all
}

/// Returns the files in a folder and below, except for the mark.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut found = vec![];
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with("store") {
            found.push(path);
        }
    }
    found
}
