//! A job as it is queued, and as it is stored.

use std::fmt;

use homeroom_store::{ChangedAt, Uuid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Id of a job, ordered by time of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(pub Uuid);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for JobId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl std::str::FromStr for JobId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = Uuid::read(text).map(Self);
        read.ok_or_else(|| "the id of a job has 32 hexadecimal digits".into())
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for its turn, or for its next attempt.
    Queued,
    /// A node has taken it.
    Running,
    /// It has ended with a result.
    Done,
    /// It has failed for good, and can be sent again.
    Dead,
    /// Somebody has cancelled it; it can be sent again.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Queued, Self::Running, Self::Done, Self::Dead, Self::Cancelled];

    /// Returns its name, as it is stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the state of this name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Returns whether a job in this state has ended.
    pub fn is_ended(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Done | Self::Dead | Self::Cancelled => true,
        }
    }
}

/// A job to be queued.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    /// The name of its [`crate::Kind`].
    pub kind: String,
    /// Whose job it is, such as the key of a client: owners have turns and limits.
    pub owner: String,
    /// What its handler gets.
    pub input: Value,
    /// When it may begin; [`None`] means at once.
    pub not_before: Option<ChangedAt>,
}

impl NewJob {
    /// Creates a job that may begin at once.
    pub fn new(kind: &str, owner: &str, input: Value) -> Self {
        Self { kind: kind.to_owned(), owner: owner.to_owned(), input, not_before: None }
    }
}

/// How far a job has come.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub struct Progress {
    /// How much is done, in units of its kind.
    pub done: u64,
    /// How much there is to do, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// What is being done at the moment, in a few words.
    pub text: String,
}

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The name of its kind.
    pub kind: String,
    /// Whose job it is.
    pub owner: String,
    /// Its state.
    pub state: State,
    /// What its handler gets.
    pub input: Value,
    /// How many attempts have begun; one that was given back does not count.
    pub attempts: u32,
    /// The node that has it, or had it last.
    pub node: Option<String>,
    /// Whether it is to be cancelled, and its node has not noticed yet.
    pub is_unwanted: bool,
    /// How far it has come, if it has told.
    pub progress: Option<Progress>,
    /// What it has resulted in, once it is done.
    pub result: Option<Value>,
    /// Why its last attempt failed.
    pub error: Option<String>,
    /// When it was queued.
    pub created: ChangedAt,
    /// When its row was last changed.
    pub changed: ChangedAt,
    /// When it may begin (queued), when its lease ends (running), or when it ended.
    pub due: ChangedAt,
    /// When it is removed, once it has ended.
    pub expires: Option<ChangedAt>,
}
