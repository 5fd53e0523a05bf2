//! Reads and writes the rows of operations in a lane of their own.

use homeroom_store::{Ask, Decide, Lane, Plan, Ran, Refused, Sql, Uuid, Value, Write};

use crate::service::BulkService;

/// The lane of operations, their files and their chunks.
pub(crate) const LANE: Lane = Lane::new("bulk");

/// Creates a question about the rows of an operation.
pub(crate) fn read(operation: Uuid, text: &'static str, arguments: Vec<Value>) -> Ask {
    Ask::Rows(LANE.rows(operation), Sql::new(text, arguments))
}

/// Creates a write of rows of an operation.
pub(crate) fn write(operation: Uuid, text: &'static str, arguments: Vec<Value>) -> Write {
    Write::Rows(LANE.rows(operation), Sql::new(text, arguments))
}

impl BulkService {
    /// Runs a plan about operations and jobs.
    pub(crate) async fn run<D: Decide>(
        &self,
        plan: Plan<D>,
    ) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        self.store().run_in(LANE, plan).await
    }

    /// Runs a plan that may write blobs, too: their lane comes before that of operations.
    pub(crate) async fn run_with_blobs<D: Decide>(
        &self,
        plan: Plan<D>,
    ) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        self.store().run_in(homeroom_blobs::LANE, plan).await
    }
}
