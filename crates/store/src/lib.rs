//! Homeroom's document store.
//!
//! A document is canonical JSON text; its identity, its references and its change version are
//! narrow rows beside it. A request is a [`Plan`]: questions, a pure decision, and writes (ask,
//! decide, write). [`Store::run`] runs all of it or none, and answers only when the writes are on
//! disk.
//!
//! The store knows no resource, no HTTP and no rights.
//!
//! ```
//! use homeroom_store::{Answer, Ask, Decision, NaturalKey, Plan, Store, StoreError};
//!
//! let store = Store::temporary(&["Student".to_owned()])?;
//! let key = NaturalKey([7; 16]);
//! let plan = Plan {
//!     ask: vec![Ask::Document(key)],
//!     decide: |found: Vec<Answer>| -> Decision<bool, StoreError> {
//!         Decision::Write(vec![], matches!(found[..], [Answer::Document(Some(_))]))
//!     },
//! };
//!
//! let is_there = store.run_blocking(plan).ok().expect("the plan refuses nothing").value;
//! assert!(!is_there);
//! # Ok::<(), StoreError>(())
//! ```

mod carried;
mod commits;
mod condition;
mod copies;
mod dialect;
mod errand;
mod error;
mod fair;
mod health;
mod id;
mod lane;
mod lanes;
mod list;
mod migration;
mod plan;
mod postgres;
mod queue;
mod rehearsal;
mod row;
mod select;
mod snapshot;
mod sql;
mod sqlite;
mod store;
mod through;
mod tie;
mod time;
mod views;
mod waiting;

pub use commits::{Phase, PhaseTimes};
pub use condition::Condition;
pub use errand::{Asker, Kept, asker, keeping, kept, spawn_blocking};
pub use error::StoreError;
pub use id::{DocumentId, KindId, NaturalKey, Uuid};
pub use lane::{Lane, PartRows};
pub use lanes::Lanes;
pub use list::{Among, Bounds, Leads, ListQuery, MarkTest, Page};
pub use plan::{Answer, Ask, Decide, Decision, NewDocument, Plan, Ran, Refused, Tombstone, Write};
pub use rehearsal::{Rehearsal, Rehearsed};
pub use row::{Gap, Gaps, Link, References, Row};
pub use snapshot::{Deleted, Edge, Identity, Snapshot, SnapshotOptions, Span};
pub use sql::{Sql, Value};
pub use sqlite::{
    DIRECT_DOCUMENTS_MAX, FileId, OutputError, OutputKind, check_folder, is_database, is_held_here,
    make_folder, real_file, remove_folders,
};
pub use store::{
    Awaited, BackingUp, Deletion, Deletions, DirectLoad, Health, Moment, Options, PostgresUrl,
    Restored, Restoring, StandardName, Store, StoreLoad, StoreUrl, Submitted, masked_text,
};
pub use through::{DocumentTest, KeyOf, LeadsTo, Passed, SameValue, Through};
pub use tie::{Reached, STEPS_MAX, Start, Steps, Tie, TieState, Way};
pub use time::ChangedAt;
pub use views::{View, replace_views, views_version};
pub use waiting::{Busy, QueueLoad, QueueName};
