//! The exceptions of a file: a blob with a line each, and where some of its lines begin.

use homeroom_blobs::{BlobError, Blobs, Writing};
use homeroom_http::Problem;
use homeroom_store::ChangedAt;
use homeroom_store::Write;
use serde_json::{Value, json};

use crate::operation::UploadFile;
use crate::refused::of_blob;
use crate::service::BulkService;

/// What blobs of exceptions are for.
const OWNER_KIND: &str = "bulk-exceptions";
/// Lines between two marks.
const MARK_LINES: u64 = 1_000;
/// Bytes that are written at a time.
const WRITE_BYTES: usize = 64 << 10;

/// The exceptions of a file while they are written.
#[derive(Debug)]
pub(crate) struct ExceptionsOut {
    file: String,
    writing: Option<Writing>,
    pending: Vec<u8>,
    bytes: u64,
    lines: u64,
    marks: Vec<u64>,
}

/// The exceptions of a file that are written.
pub(crate) struct ExceptionsWritten {
    /// The write of the blob's row.
    pub(crate) row: Write,
    /// The blob's id.
    pub(crate) blob: String,
    /// Where some of its lines begin, as JSON text.
    pub(crate) marks: String,
}

impl ExceptionsOut {
    /// Begins the exceptions of a file; nothing is written before the first.
    pub(crate) fn of(file: &UploadFile) -> Self {
        let file = file.id.to_string();
        Self { file, writing: None, pending: vec![], bytes: 0, lines: 0, marks: vec![] }
    }

    /// Adds an exception, made from a reject of the loader.
    pub(crate) async fn add(&mut self, blobs: &Blobs, reject: &Value) -> Result<(), BlobError> {
        if self.lines.is_multiple_of(MARK_LINES) {
            self.marks.push(self.bytes);
        }
        self.lines += 1;
        let line = exception(self.lines, &self.file, reject);
        self.pending.extend_from_slice(line.as_bytes());
        self.pending.push(b'\n');
        self.bytes += line.len() as u64 + 1;
        if self.pending.len() >= WRITE_BYTES { self.write(blobs).await } else { Ok(()) }
    }

    async fn write(&mut self, blobs: &Blobs) -> Result<(), BlobError> {
        let writing = match &mut self.writing {
            Some(writing) => writing,
            None => self.writing.insert(blobs.begin(OWNER_KIND).await?),
        };
        writing.write(&self.pending).await?;
        self.pending.clear();
        Ok(())
    }

    /// Ends the exceptions; [`None`] where there are none.
    pub(crate) async fn finish(
        mut self,
        blobs: &Blobs,
        now: ChangedAt,
    ) -> Result<Option<ExceptionsWritten>, BlobError> {
        if self.lines == 0 {
            return Ok(None);
        }
        self.write(blobs).await?;
        let Some(writing) = self.writing else { return Ok(None) };
        let written = writing.finish(now).await?;
        let marks = Value::from(self.marks).to_string();
        Ok(Some(ExceptionsWritten {
            row: written.row(now)?,
            blob: written.blob().id.to_string(),
            marks,
        }))
    }
}

/// Returns an exception as clients read it: the members of the contract, then those of the loader.
fn exception(number: u64, file: &str, reject: &Value) -> String {
    let mut exception = json!({
        "id": number,
        "uploadFileId": file,
        "type": reject["type"],
        "element": reject["element"].as_str().or_else(|| reject["resource"].as_str()),
        "message": reject["message"],
    });
    if let (Some(all), Some(members)) = (exception.as_object_mut(), reject.as_object()) {
        for (name, value) in members {
            if name != "file" && !all.contains_key(name) {
                all.insert(name.clone(), value.clone());
            }
        }
    }
    exception.to_string()
}

/// Returns a page of the exceptions of a file, each as JSON text.
pub(crate) async fn page(
    service: &BulkService,
    file: &UploadFile,
    offset: u64,
    limit: u64,
) -> Result<Vec<String>, Problem> {
    if let Some(fault) = &file.fault {
        let reject = serde_json::from_str(fault).unwrap_or(Value::Null);
        let only = exception(1, &file.id.to_string(), &reject);
        return Ok(if offset == 0 { vec![only] } else { vec![] });
    }
    let Some(id) = file.exceptions else { return Ok(vec![]) };
    let mark = usize::try_from(offset / MARK_LINES).unwrap_or(usize::MAX);
    let Some(from) = file.marks.get(mark).copied() else { return Ok(vec![]) };
    let Some(blob) = service.blobs.find(id).await.map_err(of_blob)? else { return Ok(vec![]) };
    let mut reading =
        service.blobs.read(blob.id, blob.bytes, from..u64::MAX).await.map_err(of_blob)?;
    let (mut skip, mut lines, mut line) = (offset % MARK_LINES, vec![], vec![]);
    while let Some(bytes) = reading.next().await.map_err(of_blob)? {
        let mut rest = &bytes[..];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if skip > 0 {
                skip -= 1;
            } else {
                line.extend_from_slice(&rest[..end]);
                lines.push(String::from_utf8_lossy(&line).into_owned());
                if lines.len() as u64 >= limit {
                    return Ok(lines);
                }
            }
            line.clear();
            rest = &rest[end + 1..];
        }
        if skip == 0 {
            line.extend_from_slice(rest);
        }
    }
    Ok(lines)
}
