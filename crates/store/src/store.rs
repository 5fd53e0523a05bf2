//! The store's public interface.

mod across;
mod awaited;
mod copy;
mod direct;
mod handle;
mod job;
mod lane;
mod list_request;
mod mask;
mod moment;
mod options;
mod parameters;
mod read;
mod related;
mod restoring;
mod standard;
mod submitted;
mod temporary;
mod url;

pub use awaited::Awaited;
pub use direct::DirectLoad;
pub use handle::Store;
pub(crate) use job::{Job, Step};
pub(crate) use list_request::{ListRequest, ListRequests};
pub use mask::masked_text;
pub use moment::Moment;
pub use options::{Health, Options, Restored, StoreLoad};
pub use related::{Deletion, Deletions};
pub use restoring::{BackingUp, Restoring};
pub use standard::StandardName;
pub use submitted::Submitted;
pub(crate) use url::ESCAPED;
pub use url::{PostgresUrl, StoreUrl};
