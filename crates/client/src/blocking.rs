//! The client for code that has no runtime: one call, one whole answer.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::answer::WholeAnswer;
use crate::client::Client;
use crate::error::Error;
use crate::request::Request;
use crate::settings::Settings;

/// A [`Client`] whose calls block the thread. It must not be used or dropped within a Tokio runtime.
#[derive(Debug)]
pub struct BlockingClient {
    client: Client,
    runtime: Runtime,
}

impl BlockingClient {
    /// Makes a client, and reads the certificates that it trusts.
    ///
    /// # Errors
    ///
    /// [`Error::Trust`] if these cannot be read, [`Error::Start`] if the system has no room for it.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let client = Client::new(settings)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Start(Arc::new(error)))?;
        Ok(Self { client, runtime })
    }

    /// Sends a request. Returns its answer with a body of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Why there is no complete answer.
    pub fn send(&self, request: Request, limit: usize) -> Result<WholeAnswer, Error> {
        self.runtime.block_on(async { self.client.send(request).await?.whole(limit).await })
    }
}
