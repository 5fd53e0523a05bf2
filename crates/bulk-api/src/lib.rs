//! Bulk Load Services: clients upload interchange files in chunks, and a job loads them with the
//! rights of the client.
//!
//! [`routes`] are the requests of the v2 contract: create an operation with its files, upload their
//! chunks, commit each file, ask for statuses and exceptions. Chunks are blobs; the last commit
//! queues a job of [`kind`] in its own transaction. The job puts the files together, loads them as
//! `homeroom load` would, each record authorized as a request of the client, and writes statuses and
//! exceptions once, at its end.
//!
//! Source: Ed-Fi Bulk Load Services v2.

mod chunk;
mod commit;
mod create;
mod end;
mod exceptions;
mod format;
mod job;
mod limits;
mod multipart;
mod openapi;
mod operation;
mod read;
mod refused;
mod routes;
mod row;
mod service;
mod spool;
mod sql;
mod status;
mod sweep;
mod time;

pub use job::kind;
pub use limits::{
    CHUNK_BYTES_MAX, ENDED_KEPT, FILE_BYTES_MAX, FILES_MAX, OPEN_BYTES_MAX, OPEN_MAX, PAGE,
    PAGE_MAX, UPLOAD_KEPT,
};
pub use openapi::{OPENAPI, document as openapi_document};
pub use routes::routes;
pub use service::BulkService;
pub use status::Status;
