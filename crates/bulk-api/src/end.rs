//! Ends operations: with what their load has brought, without it, and in the end for good.

use homeroom_blobs::{BlobId, Blobs};
use homeroom_http::Problem;
use homeroom_store::{Answer, ChangedAt, Decide, Decision, Plan, StoreError, Value, Write};

use crate::commit::upload_fault;
use crate::limits::ENDED_KEPT;
use crate::operation::{Operation, operation, rows};
use crate::refused::{of_plan, of_store};
use crate::row::{read, write};
use crate::service::BulkService;
use crate::sql;
use crate::status::Status;
use crate::time::after;

/// How an operation ends.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// Its status.
    pub(crate) status: Status,
    /// Writes about its files and its summary.
    pub(crate) writes: Vec<Write>,
}

/// Returns the plan that ends an operation while it has one of these statuses, and removes its
/// chunks. It answers whether it did.
pub(crate) fn plan(
    ended: &Operation,
    end: End,
    from: &'static [Status],
    now: ChangedAt,
) -> Plan<impl Decide<Done = bool, Refusal = Problem> + use<>> {
    let (own, id) = (ended.id, ended.id.to_string());
    let ask = vec![
        read(own, sql::FIND, vec![id.as_str().into()]),
        read(own, sql::BLOBS, vec![id.as_str().into()]),
    ];
    let decide = move |found: Vec<Answer>| {
        let mut found = found.into_iter();
        let (stored, blobs) = (rows(found.next()), rows(found.next()));
        let stored = match stored.first().map(|row| operation(row)).transpose() {
            Ok(stored) => stored,
            Err(error) => return Decision::Refuse(of_store(error)),
        };
        if stored.is_none_or(|stored| !from.contains(&stored.status)) {
            return Decision::Write(vec![], false);
        }
        let mut writes = end.writes.clone();
        writes.extend(removals(&blobs, now));
        let of = || vec![id.as_str().into()];
        writes.push(write(own, sql::REMOVE_CHUNKS, of()));
        let arguments = vec![
            id.as_str().into(),
            end.status.name().into(),
            now.0.into(),
            after(now, ENDED_KEPT).0.into(),
        ];
        writes.push(write(own, sql::SET, arguments));
        Decision::Write(writes, true)
    };
    Plan { ask, decide }
}

/// Returns the writes that remove blobs, from rows with their ids.
fn removals(blobs: &[Vec<Value>], now: ChangedAt) -> Vec<Write> {
    let ids = blobs.iter().filter_map(|row| BlobId::read(row.first()?.as_text()?));
    ids.map(|id| Blobs::removal(id, now)).collect()
}

/// Ends an operation whose job has ended without it.
pub(crate) async fn give_up(
    service: &BulkService,
    ended: &Operation,
    now: ChangedAt,
) -> Result<(), Problem> {
    let why =
        "The server could not load the operation; its operator can tell why. Upload it again.";
    let mut writes = vec![];
    for file in service.files(ended.id).await? {
        let arguments =
            vec![file.id.to_string().into(), Status::Error.name().into(), upload_fault(why).into()];
        writes.push(write(ended.id, sql::SET_FILE, arguments));
    }
    let end = End { status: Status::Error, writes };
    let plan = plan(ended, end, &[Status::Ready, Status::Started], now);
    service.run_with_blobs(plan).await.map_err(of_plan)?;
    Ok(())
}

/// Ends an operation whose upload was not completed in time.
pub(crate) async fn expire(
    service: &BulkService,
    ended: &Operation,
    now: ChangedAt,
) -> Result<(), Problem> {
    let arguments = vec![ended.id.to_string().into(), Status::Expired.name().into()];
    let writes = vec![write(ended.id, sql::SET_FILES, arguments)];
    let end = End { status: Status::Expired, writes };
    let plan = plan(ended, end, &[Status::Initialized, Status::Incomplete], now);
    service.run_with_blobs(plan).await.map_err(of_plan)?;
    Ok(())
}

/// Removes an operation that has ended long ago, with its files and their exceptions.
pub(crate) async fn remove(
    service: &BulkService,
    ended: &Operation,
    now: ChangedAt,
) -> Result<(), Problem> {
    let exceptions: Vec<BlobId> =
        service.files(ended.id).await?.iter().filter_map(|file| file.exceptions).collect();
    let (own, id) = (ended.id, ended.id.to_string());
    let ask = vec![read(ended.id, sql::BLOBS, vec![id.as_str().into()])];
    let decide = move |found: Vec<Answer>| -> Decision<(), StoreError> {
        let mut writes = removals(&rows(found.into_iter().next()), now);
        writes.extend(exceptions.iter().map(|id| Blobs::removal(*id, now)));
        for text in [sql::REMOVE_CHUNKS, sql::REMOVE_FILES, sql::REMOVE] {
            writes.push(write(own, text, vec![id.as_str().into()]));
        }
        Decision::Write(writes, ())
    };
    service.run_with_blobs(Plan { ask, decide }).await.map_err(|refused| match refused {
        homeroom_store::Refused::Decision(error) | homeroom_store::Refused::Store(error) => {
            of_store(error)
        }
    })?;
    Ok(())
}
