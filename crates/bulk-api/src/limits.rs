//! Limits of bulk operations.

use std::time::Duration;

use homeroom_http::BodyLimits;

/// Most bytes of a chunk.
///
/// Source: Ed-Fi Bulk Load Services v2.
pub const CHUNK_BYTES_MAX: u64 = 157_286_400;
/// Most files of an operation.
pub const FILES_MAX: usize = 1_000;
/// Most bytes of a file.
pub const FILE_BYTES_MAX: u64 = 16 << 30;
/// Most chunks of an operation.
pub const CHUNKS_MAX: u64 = 10_000;
/// Most operations of a key that have not ended.
pub const OPEN_MAX: u64 = 100;
/// Most bytes of all files in the operations of a key that have not ended.
pub const OPEN_BYTES_MAX: u64 = 64 << 30;
/// How long an operation waits for its next chunk or commit; then it expires.
pub const UPLOAD_KEPT: Duration = Duration::from_hours(24);
/// How long an operation that has ended is kept.
pub const ENDED_KEPT: Duration = Duration::from_hours(30 * 24);
/// Exceptions of a page, unless the caller says how many.
pub const PAGE: u64 = 25;
/// Most exceptions of a page.
pub const PAGE_MAX: u64 = 100;
/// Most operations that a list has.
pub(crate) const LIST_MAX: i64 = 100;
/// Most bytes of a fingerprint.
pub(crate) const FINGERPRINT_BYTES_MAX: usize = 128;
/// Most operations that one node loads at the same time.
pub(crate) const RUNNING_MAX: usize = 2;
/// Attempts at an operation whose node ends before it does.
pub(crate) const ATTEMPTS_MAX: u32 = 8;
/// Causes that the summary of an operation keeps.
pub(crate) const CAUSES_MAX: usize = 100;
/// Operations that one sweep ends or removes.
pub(crate) const SWEPT_MAX: i64 = 50;

/// The limits of a request that creates an operation.
pub(crate) const CREATE: BodyLimits = BodyLimits::of_bytes(1 << 20);
/// Most bytes of a body with a chunk: a multipart body has headers and boundaries.
const CHUNK_BODY_BYTES_MAX: usize = 157_286_400 + (64 << 10);
/// The limits of a request with a chunk: its parts may have headers, and it may arrive for two hours.
pub(crate) const CHUNK: BodyLimits =
    BodyLimits::of_bytes(CHUNK_BODY_BYTES_MAX).within(Duration::from_hours(2));
