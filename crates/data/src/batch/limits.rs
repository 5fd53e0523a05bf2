//! Limits of batches.

use std::time::Duration;

use homeroom_document::DOCUMENT_BYTES_MAX;
use homeroom_http::BodyLimits;

/// Most lines of a batch.
pub const BATCH_LINES_MAX: usize = 10_000;
/// Most bytes of a batch.
pub const BATCH_BYTES_MAX: usize = 512 << 20;
/// Most bytes of the answers to a batch. Beyond, problems come without their details.
pub const BATCH_ANSWER_BYTES_MAX: usize = 32 << 20;
/// Most bytes of a line.
pub(super) const LINE_BYTES_MAX: usize = DOCUMENT_BYTES_MAX;
/// Most lines of a chunk. Other writes wait no longer than a transaction with one takes.
pub(super) const CHUNK_LINES: usize = 500;
/// Bytes from which a chunk is complete.
pub(super) const CHUNK_BYTES: usize = 4 << 20;
/// Chunks that are on their way while the next is read.
pub(super) const CHUNKS_AHEAD: usize = 2;

/// The limits of a batch's body: it may arrive for ten minutes.
pub(crate) const BODY: BodyLimits =
    BodyLimits::of_bytes(BATCH_BYTES_MAX).within(Duration::from_mins(10));
