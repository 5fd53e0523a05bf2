//! What does a job.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::running::Running;

/// Why an attempt at a job did not succeed. The text is stored and shown to operators; it must not
/// contain values of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    /// Another attempt may succeed.
    Again(String),
    /// No attempt can succeed: the job is dead at once.
    ForGood(String),
    /// The handler has stopped because the server stops ([`Running::stopped`]); the attempt does not
    /// count, and another node may begin at once.
    GivenBack,
}

/// What does the jobs of a kind. A function from [`Running`] to a future is one.
///
/// It may run more than once for the same job: after a failure, or after the end of a node that was
/// doing it.
pub trait Handler: Send + Sync + 'static {
    /// Does a job and returns its result.
    fn run(&self, job: Running) -> Pin<Box<dyn Future<Output = Result<Value, Failed>> + Send>>;
}

impl<F, T> Handler for F
where
    F: Fn(Running) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Value, Failed>> + Send + 'static,
{
    fn run(&self, job: Running) -> Pin<Box<dyn Future<Output = Result<Value, Failed>> + Send>> {
        Box::pin(self(job))
    }
}
