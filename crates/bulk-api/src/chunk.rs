//! `POST …/uploads/{id}/chunk`: takes a part of a file.
#![expect(
    clippy::disallowed_methods,
    reason = "a chunk is stored at the moment when it has arrived"
)]

use homeroom_access::{Call, Caller, Scope};
use homeroom_blobs::{BlobError, Blobs, Writing};
use homeroom_http::{Kind, Problem, Response, empty_response, json_response};
use homeroom_store::{Answer, ChangedAt, Decide, Decision, Plan, Write};
use http::StatusCode;
use serde_json::json;

use crate::limits::{CHUNK_BYTES_MAX, CHUNKS_MAX, UPLOAD_KEPT};
use crate::multipart::{FirstPart, boundary};
use crate::operation::{Operation, UploadFile, chunk, file, number, rows};
use crate::refused::{bad, not_found, of_blob, of_plan, of_store};
use crate::service::BulkService;
use crate::status::Status;
use crate::time::after;
use crate::{row, sql};

/// What blobs of chunks are for.
const OWNER_KIND: &str = "bulk-chunk";

/// Where a chunk belongs.
#[derive(Debug, Clone, Copy)]
struct Range {
    first_byte: u64,
    bytes: u64,
}

/// Takes a chunk.
pub(crate) async fn post(service: BulkService, mut call: Call) -> Result<Response, Problem> {
    let caller = Caller::of(&call, Scope::Data);
    let range = range(&call)?;
    let (operation, file) = service.own_file(&call).await?.ok_or_else(|| {
        bad("There is no such upload of this key in this school year.")
            .hint("Use the ids of uploadFiles, as the operation's answer has them.")
    })?;
    let now = ChangedAt(call.now.0);
    expect_open(&operation, &file, now)?;
    if range.first_byte.saturating_add(range.bytes) > file.bytes {
        return Err(bad(format!(
            "offset and size exceed the size of the file, {} bytes.",
            file.bytes
        )));
    }
    let written = write(&service, &mut call, range).await?;
    // The chunk may have taken long to arrive.
    caller.again(&service.access)?;
    let now = ChangedAt::now();
    let written = written.finish(now).await.map_err(of_blob)?;
    let row = written.row(now).map_err(of_blob)?;
    let plan = plan(&operation, &file, range, (row, written.blob().id.to_string()), now);
    service.run_with_blobs(plan).await.map_err(of_plan)?;
    Ok(empty_response(StatusCode::CREATED))
}

/// Answers how much of a file has arrived, so that an upload can be taken up again.
pub(crate) async fn get(service: BulkService, call: Call) -> Result<Response, Problem> {
    let (operation, file) = service.own_file(&call).await?.ok_or_else(not_found)?;
    let chunks = service.chunks(file.id).await?;
    let chunks: Vec<_> = chunks
        .iter()
        .map(|chunk| json!({ "offset": chunk.first_byte, "size": chunk.bytes }))
        .collect();
    let is_late = operation.is_late(ChangedAt(call.now.0));
    let status = if is_late { Status::Expired } else { file.status };
    let shown = json!({
        "id": file.id.to_string(),
        "size": file.bytes,
        "format": file.format,
        "interchangeType": file.interchange,
        "status": status.name(),
        "chunks": chunks,
    });
    Ok(json_response(StatusCode::OK, shown.to_string()))
}

/// Reads offset and size from a query.
fn range(call: &Call) -> Result<Range, Problem> {
    let query = call.query()?;
    let wrong = |name: &str| {
        Problem::of(Kind::ParameterValidationFailed)
            .error(format!("{name} is not a whole number of bytes."))
    };
    let of = |name: &str| {
        let found = query.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.trim().parse::<u64>().ok()).ok_or_else(|| wrong(name))
    };
    let range = Range { first_byte: of("offset")?, bytes: of("size")? };
    if range.bytes == 0 || range.bytes > CHUNK_BYTES_MAX {
        return Err(Problem::of(Kind::ParameterValidationFailed)
            .error(format!("size is not from 1 to {CHUNK_BYTES_MAX} bytes.")));
    }
    Ok(range)
}

/// Refuses a chunk of a file whose upload has ended.
fn expect_open(operation: &Operation, file: &UploadFile, now: ChangedAt) -> Result<(), Problem> {
    if operation.is_late(now) {
        return Err(bad("The operation has expired.").hint("Create another one."));
    }
    if !operation.status.is_open() || !file.status.is_open() {
        let status = if operation.status.is_open() { file.status } else { operation.status };
        return Err(bad(format!("The upload has ended: its status is {}.", status.name())));
    }
    Ok(())
}

/// Writes the body of a request, whole or the first part of a multipart body, as a blob.
async fn write(service: &BulkService, call: &mut Call, range: Range) -> Result<Writing, Problem> {
    let mut part = match call.header("content-type").and_then(boundary) {
        Some(boundary) => Some(FirstPart::new(boundary).map_err(bad)?),
        None => None,
    };
    let mut body = call.stream_body()?;
    let writing = service.blobs.begin(OWNER_KIND).await.map_err(of_blob)?;
    let mut writing = writing.at_most(range.bytes);
    let mut content = vec![];
    while let Some(bytes) = body.next().await? {
        let bytes = match &mut part {
            None => &bytes[..],
            Some(part) => {
                content.clear();
                part.take(&bytes, &mut content).map_err(bad)?;
                &content[..]
            }
        };
        writing.write(bytes).await.map_err(|error| match error {
            BlobError::TooLarge { .. } => differs(range, "more"),
            error => of_blob(error),
        })?;
    }
    if part.is_some_and(|part| !part.is_ended()) {
        return Err(bad("The multipart body has no end."));
    }
    if writing.bytes() != range.bytes {
        return Err(differs(range, &writing.bytes().to_string()));
    }
    Ok(writing)
}

fn differs(range: Range, found: &str) -> Problem {
    bad(format!("The body has {found} bytes, and size says {}.", range.bytes))
}

/// Returns the plan that stores a chunk, in the place of one that begins at the same byte.
fn plan(
    operation: &Operation,
    sent_to: &UploadFile,
    range: Range,
    (row, blob): (Write, String),
    now: ChangedAt,
) -> Plan<impl Decide<Done = (), Refusal = Problem> + use<>> {
    let (id, of) = (sent_to.id.to_string(), operation.id.to_string());
    let operation = operation.clone();
    let ask = vec![
        row::read(operation.id, sql::FIND_FILE, vec![id.as_str().into()]),
        row::read(operation.id, sql::FIND, vec![of.as_str().into()]),
        row::read(operation.id, sql::CHUNKS, vec![id.as_str().into()]),
        row::read(operation.id, sql::CHUNKS_OF_OPERATION, vec![of.as_str().into()]),
    ];
    let decide = move |found: Vec<Answer>| {
        let mut found = found.into_iter();
        let (stored, of_operation) = (rows(found.next()), rows(found.next()));
        let (chunks, count) = (rows(found.next()), rows(found.next()));
        let read = || {
            let stored = stored.first().map(|row| file(row)).transpose()?;
            let own =
                of_operation.first().map(|row| crate::operation::operation(row)).transpose()?;
            let chunks = chunks.iter().map(|row| chunk(row)).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, homeroom_store::StoreError>((stored, own, chunks))
        };
        let (stored, own, chunks) = match read() {
            Ok((Some(stored), Some(own), chunks)) => (stored, own, chunks),
            Ok(_) => return Decision::Refuse(not_found()),
            Err(error) => return Decision::Refuse(of_store(error)),
        };
        if let Err(problem) = expect_open(&own, &stored, now) {
            return Decision::Refuse(problem);
        }
        let before = chunks.iter().find(|chunk| chunk.first_byte == range.first_byte);
        if before.is_none() && number(&count, 0) >= CHUNKS_MAX {
            return Decision::Refuse(bad(format!(
                "An operation has at most {CHUNKS_MAX} chunks; send larger ones."
            )));
        }
        let mut writes = vec![row.clone()];
        writes.extend(before.map(|before| Blobs::removal(before.blob, now)));
        let arguments = vec![
            id.as_str().into(),
            range.first_byte.cast_signed().into(),
            range.bytes.cast_signed().into(),
            blob.as_str().into(),
        ];
        writes.push(row::write(operation.id, sql::PUT_CHUNK, arguments));
        let incomplete = Status::Incomplete.name();
        let arguments = vec![id.as_str().into(), incomplete.into(), homeroom_store::Value::Null];
        writes.push(row::write(operation.id, sql::SET_FILE, arguments));
        let arguments = vec![
            operation.id.to_string().into(),
            incomplete.into(),
            now.0.into(),
            after(now, UPLOAD_KEPT).0.into(),
        ];
        writes.push(row::write(operation.id, sql::SET, arguments));
        Decision::Write(writes, ())
    };
    Plan { ask, decide }
}
