//! Blobs on each database and in each kind of place: a folder of the test, and a bucket.

use std::path::{Path, PathBuf};

use homeroom_blobs::{Blob, BlobPlace, Blobs, BucketSettings, Limits};
use homeroom_store::{ChangedAt, Snapshot, SnapshotOptions, Store, Uuid};
use homeroom_testkit::s3::{ACCESS_KEY_ID, BUCKET, REGION, S3, SECRET_ACCESS_KEY};
use homeroom_testkit::{Folder, trial};

use crate::outside::Outside;

/// An hour and some, in microseconds: longer than the grace period.
pub const LONG_US: i64 = 4_000_000_000;

/// The blobs of a store, and the folder that goes with the test.
pub struct Trial {
    pub name: String,
    /// The name or URL of the database.
    pub database: String,
    pub blobs: Blobs,
    pub store: Store,
    pub folder: Folder,
    at: At,
}

/// Where the blobs are.
enum At {
    Folder,
    Bucket(S3),
    /// A bucket of another server, and what this test's names begin with.
    Outside(Outside, String),
}

pub fn on_each() -> Vec<Trial> {
    let stores = || trial::on_each(&[]).unwrap().into_iter();
    let in_folders = stores().map(|(database, store)| Trial::new(database, store, At::Folder));
    let in_buckets = stores().map(|(database, store)| {
        let at = match Outside::named() {
            Some(outside) => At::Outside(outside, Uuid::new().to_string()),
            None => At::Bucket(S3::start()),
        };
        Trial::new(database, store, at)
    });
    in_folders.chain(in_buckets).collect()
}

/// Returns a trial in a bucket of the test's own server.
pub fn in_bucket() -> Trial {
    let store = Store::temporary(&[]).unwrap();
    Trial::new("SQLite".into(), store, At::Bucket(S3::start()))
}

/// Returns the settings of a place in a bucket.
pub fn bucket(endpoint: &str, prefix: &str, spool: &Path) -> BucketSettings {
    let mut settings = BucketSettings::read(&format!("s3://{BUCKET}/{prefix}")).unwrap();
    endpoint.clone_into(&mut settings.endpoint);
    REGION.clone_into(&mut settings.region);
    settings.key = Some((ACCESS_KEY_ID.to_owned(), SECRET_ACCESS_KEY.to_owned()));
    spool.clone_into(&mut settings.spool);
    settings
}

impl Trial {
    fn new(database: String, store: Store, at: At) -> Self {
        let folder = Folder::new();
        let place = place(&at, &folder, "blobs");
        let name = format!("{database}, {place}");
        let blobs = Blobs::new(place, store.clone(), Limits::default());
        Self { name, database, blobs, store, folder, at }
    }

    /// Returns the server of the bucket.
    pub fn s3(&self) -> &S3 {
        match &self.at {
            At::Bucket(s3) => s3,
            _ => panic!("{} has no server of its own", self.name),
        }
    }

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

    /// Returns another place of the same kind.
    pub fn place(&self, name: &str) -> BlobPlace {
        place(&self.at, &self.folder, name)
    }

    /// Returns a place from which another process gets the same as from [`Trial::place`].
    pub fn address(&self, name: &str) -> String {
        let folder = self.folder.path().join(name);
        let folder = folder.display();
        match &self.at {
            At::Folder => format!("{folder}"),
            At::Bucket(s3) => format!("{}\n{name}\n{folder}", s3.endpoint()),
            At::Outside(outside, own) => format!("{}\n{own}/{name}\n{folder}", outside.endpoint()),
        }
    }

    /// Returns the place of [`Trial::address`].
    pub fn at_address(address: &str) -> BlobPlace {
        match address.split('\n').collect::<Vec<_>>()[..] {
            [folder] => BlobPlace::folder(folder.as_ref()),
            [endpoint, prefix, spool] => {
                BlobPlace::bucket(bucket(endpoint, prefix, spool.as_ref()))
            }
            _ => panic!("{address}"),
        }
    }

    /// Takes the bytes of a blob away.
    pub fn lose(&self, blob: &Blob) {
        let name = name(blob, "blobs");
        match &self.at {
            At::Folder => std::fs::remove_file(self.folder.path().join(name)).unwrap(),
            At::Bucket(s3) => s3.take_away(&name),
            At::Outside(outside, own) => outside.take_away(&format!("{own}/{name}")),
        }
    }

    /// Puts other bytes in the place of a blob's.
    pub fn change(&self, blob: &Blob, bytes: &[u8]) {
        let name = name(blob, "blobs");
        match &self.at {
            At::Folder => std::fs::write(self.folder.path().join(name), bytes).unwrap(),
            At::Bucket(s3) => s3.put(&name, bytes),
            At::Outside(outside, own) => outside.put(&format!("{own}/{name}"), bytes),
        }
    }

    /// Returns the names of everything at the usual place, except for the mark.
    pub fn names(&self) -> Vec<String> {
        self.names_at("blobs")
    }

    /// Returns the names of everything at a place, except for the mark.
    pub fn names_at(&self, place: &str) -> Vec<String> {
        let mut names = match &self.at {
            At::Folder => {
                let folder = self.folder.path();
                let shown =
                    |path: PathBuf| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files(&folder.join(place)).into_iter().map(shown).collect()
            }
            At::Bucket(s3) => s3.keys(),
            At::Outside(outside, own) => {
                let keys = outside.keys(&format!("{own}/"));
                keys.iter().filter_map(|key| key.split_once('/')).map(|(_, k)| k.into()).collect()
            }
        };
        let mark = format!("{place}/store");
        names.retain(|name| name.starts_with(&format!("{place}/")) && *name != mark);
        names
    }
}

/// Returns the name of a blob's bytes at a place.
pub fn name(blob: &Blob, place: &str) -> String {
    let id = blob.id.to_string();
    format!("{place}/{}/{id}", &id[..6])
}

fn place(at: &At, folder: &Folder, name: &str) -> BlobPlace {
    let spool = folder.path().join("spool");
    match at {
        At::Folder => BlobPlace::folder(&folder.path().join(name)),
        At::Bucket(s3) => BlobPlace::bucket(bucket(&s3.endpoint(), name, &spool)),
        At::Outside(outside, own) => {
            BlobPlace::bucket(bucket(&outside.endpoint(), &format!("{own}/{name}"), &spool))
        }
    }
}

/// Reads a range of a blob.
pub async fn read(blobs: &Blobs, blob: &Blob, range: std::ops::Range<u64>) -> Vec<u8> {
    let mut reading = blobs.read(blob.id, blob.bytes, range).await.unwrap();
    let mut all = vec![];
    while let Some(bytes) = reading.next().await.unwrap() {
        all.extend_from_slice(&bytes);
    }
    all
}

/// Returns the files in a folder and below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut found = vec![];
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
