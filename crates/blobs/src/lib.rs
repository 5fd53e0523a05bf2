//! Large bytes beside the store: packages, uploads, video.
//!
//! A blob is written as a stream under a temporary name, hashed and counted on the way, synced, and
//! then named: as a file in a folder, or as an object in a bucket of an S3-compatible store. It belongs to
//! nobody until a plan commits its row ([`Written::row`]); what no row names is swept after a while, whatever
//! killed its writer. Bytes never change under an id.
//!
//! ```
//! use homeroom_blobs::{BlobPlace, Blobs, Limits};
//! use homeroom_store::{ChangedAt, Store};
//!
//! # let folder = std::env::temp_dir().join(format!("blobs-doc-{}", std::process::id()));
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let place = BlobPlace::folder(&folder);
//! let blobs = Blobs::new(place, Store::temporary(&[])?, Limits::default());
//! let now = ChangedAt::now();
//!
//! let mut writing = blobs.begin("upload").await?;
//! writing.write(b"many ").await?;
//! writing.write(b"bytes").await?;
//! let blob = blobs.keep(writing.finish(now).await?, now).await?;
//!
//! let mut reading = blobs.read(blob.id, blob.bytes, 5..10).await?;
//! assert_eq!(reading.next().await?.as_deref(), Some(&b"bytes"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # std::fs::remove_dir_all(&folder).unwrap();
//! ```

mod blob;
mod blobs;
mod bucket;
mod check;
mod copy;
mod error;
mod folder;
mod hand_over;
mod limits;
mod listed;
mod place;
mod read;
mod rows;
mod sql;
mod sweep;
mod write;

pub use blob::{Blob, BlobId};
pub use blobs::Blobs;
pub use bucket::{BucketFigures, BucketSettings};
pub use check::{Checked, check};
pub use copy::{Copied, copy, keep};
pub use error::BlobError;
pub use hand_over::HandOver;
pub use limits::Limits;
pub use place::BlobPlace;
pub use read::Reading;
pub use rows::LANE;
pub use sweep::Swept;
pub use write::{Writing, Written};
