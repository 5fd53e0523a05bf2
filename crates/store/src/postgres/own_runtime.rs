//! The store's own runtime, which drives its connections. The store needs none of its callers'
//! runtimes, and outlives them.

use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::StoreError;

/// Threads that drive the readers' connections.
const THREADS: usize = 2;

/// A runtime that can be dropped on any thread; tasks on it are not waited for.
pub(super) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub(super) fn new() -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("store-postgres")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self(Some(runtime)))
    }

    pub(super) fn handle(&self) -> Handle {
        self.0.as_ref().expect("it goes last").handle().clone()
    }

    /// Runs a future and waits for it, on any thread.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.begin(future).recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Begins to run a future; its result is received.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Receiver<Result<T, StoreError>> {
        let (reply, answer) = sync_channel(1);
        self.handle().spawn(async move { _ = reply.send(future.await) });
        answer
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
