//! What tests of several crates share. It is a dependency of tests only: the product does not
//! contain it.
//!
//! [`trial`] makes stores on each database that the environment names, [`Folder`] is a folder that
//! goes with the test, [`victim`] starts processes to be killed, and [`once_more`] starts the running program again. With the feature `app` there is a `TestApp`: the APIs in the test's own
//! process behind the front door, with clients that call it as the network would, and documents to
//! send. With the feature `tls` there are certificates, and a client that shows
//! one; with `s3` a server of objects.
//!
//! ```
//! let kinds = ["ed-fi/students".to_owned()];
//!
//! let stores = homeroom_testkit::trial::on_each(&kinds).unwrap();
//!
//! for (name, store) in &stores {
//!     assert_eq!(store.kinds(&kinds).unwrap().len(), 1, "{name}");
//! }
//! assert_eq!(stores[0].0, "SQLite");
//! ```
#![cfg_attr(
    feature = "app",
    expect(clippy::disallowed_methods, reason = "a test app serves at the present moment")
)]
#![allow(
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "a test ends with a panic, and the message says why"
)]

mod edges;
mod folder;
pub mod once_more;
pub mod trial;
pub mod victim;

#[cfg(feature = "app")]
pub mod answer;
#[cfg(feature = "app")]
mod app;
#[cfg(feature = "app")]
mod call;
#[cfg(feature = "app")]
pub mod documents;
#[cfg(feature = "app")]
pub mod failures;
#[cfg(feature = "app")]
pub mod filled;
#[cfg(feature = "app")]
pub mod places;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "app")]
pub mod samples;
#[cfg(feature = "app")]
pub mod spellings;
#[cfg(feature = "app")]
mod standard;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "app")]
pub mod world;

#[cfg(feature = "app")]
pub use answer::Answer;
#[cfg(feature = "app")]
pub use app::{Client, FULL_ACCESS, TestApp, encoded};
#[cfg(feature = "app")]
pub use call::call;
pub use edges::{edges, edges_by_number};
pub use folder::Folder;
#[cfg(feature = "app")]
pub use standard::{STANDARDS, Standard, USUAL, model};
