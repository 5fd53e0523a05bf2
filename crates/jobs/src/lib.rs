//! Work that is done later: a table of jobs in the store, and a runner that does them.
//!
//! A job is queued durably, alone or in the transaction of another plan ([`Prepared`]). Some node's
//! [`Runner`] takes it under a lease, once over all nodes, and extends the lease while its handler
//! works. A job whose node is gone is taken over when the lease ends. A failure is tried again with
//! growing pauses; what has failed too often stays visible as dead and can be sent again.
//!
//! A handler may therefore run more than once for one job, and has to allow for that.
//!
//! ```
//! use homeroom_jobs::{Jobs, Limits, NewJob, State};
//! use homeroom_store::{ChangedAt, Store};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let jobs = Jobs::new(Store::temporary(&[])?, Limits::default());
//! let now = ChangedAt(1_000_000);
//! let input = serde_json::json!({ "course": "reading-1" });
//!
//! let id = jobs.enqueue(NewJob::new("import", "key-1", input), now).await?;
//!
//! assert_eq!(jobs.find(id).await?.expect("it was just queued").state, State::Queued);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod enqueue;
mod error;
mod figures;
mod handler;
mod job;
mod jobs;
mod kind;
mod lease;
mod limits;
mod manage;
mod outcome;
mod row;
mod runner;
mod running;
mod sql;
mod supervise;
mod sweep;
mod take;

pub use enqueue::Prepared;
pub use error::JobError;
pub use figures::{Figures, Group, Refusals};
pub use handler::{Failed, Handler};
pub use job::{Job, JobId, NewJob, Progress, State};
pub use jobs::Jobs;
pub use kind::Kind;
pub use lease::{Held, Lease};
pub use limits::Limits;
pub use manage::JobsRequest;
pub use outcome::Outcome;
pub use runner::{Runner, Times};
pub use running::{Running, Stop};
pub use take::Taken;
