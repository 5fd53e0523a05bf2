//! The state of this part, and its look-ups.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeroom_access::{Access, Call};
use homeroom_blobs::Blobs;
use homeroom_document::Documents;
use homeroom_http::Problem;
use homeroom_jobs::Jobs;
use homeroom_store::{Sql, Store, Uuid};

use crate::operation::{Chunk, Operation, UploadFile, chunk, file, operation};
use crate::refused::{not_found, of_store};
use crate::sql;

/// The state of the bulk services; clones share it.
#[derive(Debug, Clone)]
pub struct BulkService {
    /// Who may do what.
    pub access: Arc<Access>,
    /// The documents that operations load.
    pub documents: Documents,
    /// Where chunks and exceptions are kept.
    pub blobs: Blobs,
    /// The jobs that load.
    pub jobs: Jobs,
    /// The folder where files are put together while they are loaded.
    pub spool: PathBuf,
}

impl BulkService {
    /// Returns the services over these parts. What an earlier process has left in `spool` is removed
    /// when the first file is put there.
    pub fn new(
        access: &Arc<Access>,
        documents: Documents,
        blobs: Blobs,
        jobs: Jobs,
        spool: &Path,
    ) -> Self {
        let (access, spool) = (Arc::clone(access), spool.to_owned());
        Self { access, documents, blobs, jobs, spool }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.documents.store
    }

    /// Finds an operation.
    pub(crate) async fn operation(&self, id: Uuid) -> Result<Option<Operation>, Problem> {
        let sql = Sql::new(sql::FIND, vec![id.to_string().into()]);
        let rows = self.store().look_up(sql).await.map_err(of_store)?;
        rows.first().map(|row| operation(row)).transpose().map_err(of_store)
    }

    /// Finds the files of an operation, in order.
    pub(crate) async fn files(&self, id: Uuid) -> Result<Vec<UploadFile>, Problem> {
        let sql = Sql::new(sql::FILES, vec![id.to_string().into()]);
        let rows = self.store().look_up(sql).await.map_err(of_store)?;
        rows.iter().map(|row| file(row)).collect::<Result<_, _>>().map_err(of_store)
    }

    /// Finds the chunks of a file, in order.
    pub(crate) async fn chunks(&self, id: Uuid) -> Result<Vec<Chunk>, Problem> {
        let sql = Sql::new(sql::CHUNKS, vec![id.to_string().into()]);
        let rows = self.store().look_up(sql).await.map_err(of_store)?;
        rows.iter().map(|row| chunk(row)).collect::<Result<_, _>>().map_err(of_store)
    }

    /// Finds a file with its operation, of any owner and year.
    pub(crate) async fn file(&self, id: Uuid) -> Result<Option<(Operation, UploadFile)>, Problem> {
        let sql = Sql::new(sql::FIND_FILE, vec![id.to_string().into()]);
        let rows = self.store().look_up(sql).await.map_err(of_store)?;
        let Some(row) = rows.first() else { return Ok(None) };
        let file = file(row).map_err(of_store)?;
        let operation = self.operation(file.operation).await?;
        Ok(operation.map(|operation| (operation, file)))
    }

    /// Finds the operation that an address names, if it is the caller's.
    ///
    /// # Errors
    ///
    /// 404.
    pub(crate) async fn own_operation(&self, call: &Call) -> Result<Operation, Problem> {
        let id = Uuid::read(call.params.get("id")).ok_or_else(not_found)?;
        let found = self.operation(id).await?;
        let own = found.filter(|operation| {
            operation.owner == call.client().key && Some(operation.school_year) == year(call)
        });
        own.ok_or_else(not_found)
    }

    /// Finds the file that an address names, if it is the caller's and of the address's year.
    pub(crate) async fn own_file(
        &self,
        call: &Call,
    ) -> Result<Option<(Operation, UploadFile)>, Problem> {
        let Some(id) = Uuid::read(call.params.get("uploadId")) else { return Ok(None) };
        let found = self.file(id).await?;
        Ok(found.filter(|(operation, _)| {
            operation.owner == call.client().key && Some(operation.school_year) == year(call)
        }))
    }
}

/// Returns the school year in an address.
pub(crate) fn year(call: &Call) -> Option<u16> {
    let text = call.params.get("schoolYear");
    let year = (text.len() == 4).then(|| text.parse().ok()).flatten();
    year.filter(|year| (1_900..=2_199).contains(year))
}
