//! `POST …/uploads/{id}/commit`: ends the upload of a file, and starts the operation with the last.

use homeroom_access::Call;
use homeroom_http::{Problem, Response, empty_response};
use homeroom_jobs::{NewJob, Prepared};
use homeroom_store::{Answer, ChangedAt, Decide, Decision, Plan, StoreError, Uuid, Value, Write};
use http::StatusCode;
use serde_json::json;

use crate::limits::ENDED_KEPT;
use crate::operation::{Chunk, Operation, UploadFile, chunk, file, operation, rows};
use crate::refused::{bad, not_found, of_job, of_plan, of_store};
use crate::row::{read, write};
use crate::service::BulkService;
use crate::sql;
use crate::status::Status;
use crate::time::after;

/// The kind of the jobs that load operations.
pub(crate) const KIND: &str = "bulk-operation";

/// Ends the upload of a file. Whether its chunks are whole shows in its status.
pub(crate) async fn post(service: BulkService, call: Call) -> Result<Response, Problem> {
    let (operation, file) = service.own_file(&call).await?.ok_or_else(not_found)?;
    let now = ChangedAt(call.now.0);
    if operation.is_late(now) {
        return Err(bad("The operation has expired.").hint("Create another one."));
    }
    let input = json!({ "operation": operation.id.to_string() });
    let job = service.jobs.prepare(NewJob::new(KIND, &operation.owner, input), now);
    let job = job.map_err(of_job)?;
    let plan = plan(operation.id, file.id, job, now);
    service.run(plan).await.map_err(of_plan)?;
    service.jobs.wake();
    Ok(empty_response(StatusCode::ACCEPTED))
}

/// Returns what is wrong with the chunks of a file.
fn fault(bytes: u64, chunks: &[Chunk]) -> Option<String> {
    let mut end = 0;
    for chunk in chunks {
        if chunk.first_byte > end {
            return Some(format!(
                "The bytes from {end} to {} were not uploaded.",
                chunk.first_byte - 1
            ));
        }
        if chunk.first_byte < end {
            return Some(format!("The bytes from {} on are in two chunks.", chunk.first_byte));
        }
        end += chunk.bytes;
    }
    (end != bytes).then(|| format!("{end} of {bytes} bytes were uploaded."))
}

/// Returns what an exception of an upload is stored as.
pub(crate) fn upload_fault(message: &str) -> String {
    json!({ "type": "urn:ed-fi:api:bad-request", "element": null, "message": message }).to_string()
}

/// Returns the plan that checks the chunks of a file and, if all files are ready, queues the job.
fn plan(
    id: Uuid,
    file_id: Uuid,
    job: Prepared,
    now: ChangedAt,
) -> Plan<impl Decide<Done = (), Refusal = Problem>> {
    let (of, own) = (id.to_string(), file_id.to_string());
    let ask = vec![
        read(id, sql::FIND, vec![of.as_str().into()]),
        read(id, sql::FILES, vec![of.as_str().into()]),
        read(id, sql::CHUNKS, vec![own.as_str().into()]),
        job.ask(),
    ];
    let decide = move |found: Vec<Answer>| {
        let mut found = found.into_iter();
        let (stored, files, chunks) = (rows(found.next()), rows(found.next()), rows(found.next()));
        let read = || {
            let stored = stored.first().map(|row| operation(row)).transpose()?;
            let files = files.iter().map(|row| file(row)).collect::<Result<Vec<_>, _>>()?;
            let chunks = chunks.iter().map(|row| chunk(row)).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, StoreError>((stored, files, chunks))
        };
        let (stored, files, chunks) = match read() {
            Ok((Some(stored), files, chunks)) => (stored, files, chunks),
            Ok((None, ..)) => return Decision::Refuse(not_found()),
            Err(error) => return Decision::Refuse(of_store(error)),
        };
        match decided(&stored, &files, file_id, &chunks, now) {
            Err(problem) => Decision::Refuse(problem),
            Ok((mut writes, false)) => Decision::Write(std::mem::take(&mut writes), ()),
            Ok((mut writes, true)) => match job.write(found.next()) {
                Err(error) => Decision::Refuse(of_job(error)),
                Ok(queued) => {
                    let arguments = vec![of.as_str().into(), job.id().to_string().into()];
                    writes.extend([queued, write(id, sql::SET_JOB, arguments)]);
                    Decision::Write(writes, ())
                }
            },
        }
    };
    Plan { ask, decide }
}

/// Returns the writes that end the upload of a file, and whether the operation begins with it.
fn decided(
    stored: &Operation,
    files: &[UploadFile],
    id: Uuid,
    chunks: &[Chunk],
    now: ChangedAt,
) -> Result<(Vec<Write>, bool), Problem> {
    let own = files.iter().find(|file| file.id == id).ok_or_else(not_found)?;
    // A commit that is sent again changes nothing, and neither does one of an operation that has
    // ended with the error of another file.
    if !own.status.is_open() || !stored.status.is_open() {
        return Ok((vec![], false));
    }
    let fault = fault(own.bytes, chunks);
    let status = if fault.is_some() { Status::Error } else { Status::Ready };
    let others = files.iter().filter(|file| file.id != id);
    let all_ready = status == Status::Ready && others.clone().all(|f| f.status == Status::Ready);
    let whole = match status {
        Status::Error => Status::Error,
        _ if all_ready => Status::Ready,
        _ => Status::Incomplete,
    };
    let fault = fault.map_or(Value::Null, |message| upload_fault(&message).into());
    let arguments = vec![id.to_string().into(), status.name().into(), fault];
    let mut writes = vec![write(stored.id, sql::SET_FILE, arguments)];
    let expires = if whole == Status::Error { after(now, ENDED_KEPT) } else { stored.expires };
    let arguments =
        vec![stored.id.to_string().into(), whole.name().into(), now.0.into(), expires.0.into()];
    writes.push(write(stored.id, sql::SET, arguments));
    Ok((writes, all_ready))
}

#[cfg(test)]
mod tests {
    use homeroom_blobs::BlobId;

    use super::*;

    #[test]
    fn chunks_are_whole_when_they_follow_each_other_from_the_first_byte_to_the_last() {
        let chunks = |all: &[(u64, u64)]| {
            let chunk = |(first_byte, bytes): &(u64, u64)| Chunk {
                first_byte: *first_byte,
                bytes: *bytes,
                blob: BlobId(Uuid([0; 16])),
            };
            all.iter().map(chunk).collect::<Vec<_>>()
        };
        for (bytes, all, expected) in [
            (10, &[(0, 10)][..], None),
            (10, &[(0, 4), (4, 6)], None),
            (10, &[], Some("0 of 10 bytes")),
            (10, &[(0, 4)], Some("4 of 10 bytes")),
            (10, &[(4, 6)], Some("from 0 to 3")),
            (10, &[(0, 4), (5, 5)], Some("from 4 to 4")),
            (10, &[(0, 6), (5, 5)], Some("from 5 on are in two")),
        ] {
            let found = fault(bytes, &chunks(all));
            match expected {
                None => assert_eq!(found, None),
                Some(text) => {
                    assert!(found.as_ref().is_some_and(|f| f.contains(text)), "{found:?}");
                }
            }
        }
    }
}
