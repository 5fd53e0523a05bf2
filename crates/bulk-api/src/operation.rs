//! An operation and its files, as they are stored and as clients read them.

use homeroom_blobs::BlobId;
use homeroom_jobs::JobId;
use homeroom_store::{Answer, ChangedAt, StoreError, Uuid, Value};
use serde_json::json;

use crate::status::Status;

/// A bulk operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its id.
    pub id: Uuid,
    /// The key of the client that uploads.
    pub owner: String,
    /// The school year in its address.
    pub school_year: u16,
    /// Its status.
    pub status: Status,
    /// The education organizations of the client as it was recognized, sorted.
    pub organizations: Vec<i64>,
    /// The job that loads it, once its upload is complete.
    pub job: Option<JobId>,
    /// The summary of the load, once it has ended.
    pub summary: Option<serde_json::Value>,
    /// When it was created.
    pub created: ChangedAt,
    /// When it expires, or is removed once it has ended.
    pub expires: ChangedAt,
}

/// A file of an operation.
#[derive(Debug, Clone)]
pub struct UploadFile {
    /// Its id.
    pub id: Uuid,
    /// Its operation.
    pub operation: Uuid,
    /// Its media type.
    pub format: String,
    /// Its interchange; for JSON lines its resource.
    pub interchange: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its status.
    pub status: Status,
    /// What is wrong with the upload itself.
    pub fault: Option<String>,
    /// The blob of its exceptions.
    pub exceptions: Option<BlobId>,
    /// Where some lines of that blob begin.
    pub marks: Vec<u64>,
}

/// A part of a file that was uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// The place of its first byte in the file.
    pub first_byte: u64,
    /// Its size.
    pub bytes: u64,
    /// Its blob.
    pub blob: BlobId,
}

impl Operation {
    /// Returns whether its upload was not completed in time.
    pub fn is_late(&self, now: ChangedAt) -> bool {
        self.status.is_open() && self.expires <= now
    }

    /// Returns what clients read of it.
    pub fn shown(&self, files: &[UploadFile], now: ChangedAt) -> serde_json::Value {
        let is_late = self.is_late(now);
        let status = |status: Status| if is_late { Status::Expired } else { status }.name();
        let files: Vec<serde_json::Value> = files
            .iter()
            .map(|file| {
                json!({
                    "id": file.id.to_string(),
                    "size": file.bytes,
                    "format": file.format,
                    "interchangeType": file.interchange,
                    "status": status(file.status),
                })
            })
            .collect();
        let mut shown = json!({
            "id": self.id.to_string(),
            "uploadFiles": files,
            "resetDistrictData": false,
            "status": status(self.status),
            "schoolYear": self.school_year,
        });
        if let Some(summary) = &self.summary {
            shown["summary"] = summary.clone();
        }
        shown
    }
}

/// Reads a row of an operation.
pub(crate) fn operation(row: &[Value]) -> Result<Operation, StoreError> {
    let read = || {
        let [id, owner, year, status, organizations, job, summary, created, expires] = row else {
            return None;
        };
        Some(Operation {
            id: Uuid::read(id.as_text()?)?,
            owner: owner.as_text()?.to_owned(),
            school_year: u16::try_from(year.as_integer()?).ok()?,
            status: Status::read(status.as_text()?)?,
            organizations: serde_json::from_str(organizations.as_text()?).ok()?,
            job: job.as_text().and_then(|job| job.parse().ok()),
            summary: summary.as_text().and_then(|text| serde_json::from_str(text).ok()),
            created: ChangedAt(created.as_integer()?),
            expires: ChangedAt(expires.as_integer()?),
        })
    };
    read().ok_or_else(|| damaged("bulk_operation"))
}

/// Reads a row of a file.
pub(crate) fn file(row: &[Value]) -> Result<UploadFile, StoreError> {
    let read = || {
        let [id, operation, format, interchange, bytes, status, fault, exceptions, marks] = row
        else {
            return None;
        };
        Some(UploadFile {
            id: Uuid::read(id.as_text()?)?,
            operation: Uuid::read(operation.as_text()?)?,
            format: format.as_text()?.to_owned(),
            interchange: interchange.as_text()?.to_owned(),
            bytes: u64::try_from(bytes.as_integer()?).ok()?,
            status: Status::read(status.as_text()?)?,
            fault: fault.as_text().map(str::to_owned),
            exceptions: exceptions.as_text().and_then(BlobId::read),
            marks: marks
                .as_text()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
        })
    };
    read().ok_or_else(|| damaged("bulk_file"))
}

/// Reads a row of a chunk.
pub(crate) fn chunk(row: &[Value]) -> Result<Chunk, StoreError> {
    let read = || {
        let [first_byte, bytes, blob] = row else { return None };
        Some(Chunk {
            first_byte: u64::try_from(first_byte.as_integer()?).ok()?,
            bytes: u64::try_from(bytes.as_integer()?).ok()?,
            blob: BlobId::read(blob.as_text()?)?,
        })
    };
    read().ok_or_else(|| damaged("bulk_chunk"))
}

/// Returns the rows of an answer.
pub(crate) fn rows(answer: Option<Answer>) -> Vec<Vec<Value>> {
    match answer {
        Some(Answer::Rows(rows)) => rows,
        _ => vec![],
    }
}

/// Returns a number of the only row of an answer.
pub(crate) fn number(rows: &[Vec<Value>], at: usize) -> u64 {
    let number = rows.first().and_then(|row| row.get(at)?.as_integer());
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn damaged(table: &str) -> StoreError {
    StoreError::Failed(format!("a row of {table} is damaged"))
}
