//! The client for code without an async runtime: each call returns a whole answer.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::answer::WholeAnswer;
use crate::client::Client;
use crate::error::Error;
use crate::request::Request;
use crate::settings::Settings;

/// How often a call lets the tasks of the connections run before it sends its request: the first turn
/// asks the system what has happened, and a closed HTTP/2 connection passes through two tasks.
const TURNS: usize = 8;

/// A [`Client`] whose calls block the thread. It must not be used within a Tokio runtime.
///
/// Its connections are driven only during calls. Each call therefore first handles what has happened to
/// them since the last one, for example that the server has closed one. Dropping the client does not
/// wait for work in progress.
#[derive(Debug)]
pub struct BlockingClient {
    client: Client,
    /// [`Some`] until the client is dropped.
    runtime: Option<Runtime>,
}

impl BlockingClient {
    /// Makes a client, and reads the certificates that it trusts.
    ///
    /// # Errors
    ///
    /// [`Error::Trust`] if these cannot be read, [`Error::Start`] if the system cannot provide its
    /// runtime.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let client = Client::new(settings)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Start(Arc::new(error)))?;
        Ok(Self { client, runtime: Some(runtime) })
    }

    /// Sends a request. Returns its answer with a body of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Why there is no complete answer.
    pub fn send(&self, request: Request, limit: usize) -> Result<WholeAnswer, Error> {
        self.runtime().block_on(async {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            self.client.send(request).await?.whole(limit).await
        })
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only dropping the client takes its runtime")
    }
}

impl Drop for BlockingClient {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A look-up that hangs would otherwise hold up whoever drops the client.
            runtime.shutdown_background();
        }
    }
}
