//! The store's public interface.

mod asked;
mod copy;
mod handle;
mod job;
mod mask;
mod moment;
mod options;
mod read;
mod related;
mod restoring;
mod standard;
mod temporary;
mod url;

pub(crate) use asked::{Asked, Questions};
pub use handle::Store;
pub(crate) use job::{Job, Step};
pub use mask::masked_text;
pub use moment::Moment;
pub use options::{Health, Options, Restored, StoreLoad};
pub use related::{Deletion, Deletions};
pub use restoring::{Look, Restoring};
pub use standard::StandardName;
pub use url::{PostgresUrl, StoreUrl};
