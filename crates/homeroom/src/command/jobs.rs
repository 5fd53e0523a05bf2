//! `homeroom jobs list | show | retry | cancel`.

use clap::{Args, Subcommand, ValueEnum};
use homeroom_jobs::{JobId, JobsRequest, State};
use serde_json::Value;

use crate::config::ConfigArgs;
use crate::control;
use crate::control::Request;
use crate::exit::{Exit, Failure};

/// Shows, repeats and cancels work that is done later, whether or not a server is running.
#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(subcommand)]
    command: JobsCommand,
}

#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// Lists jobs from the newest on
    #[command(after_help = "Examples:
  homeroom jobs list --state dead
  homeroom jobs list --kind import --limit 10 --json")]
    List {
        /// Only jobs of this kind
        #[arg(long)]
        kind: Option<String>,
        /// Only jobs of this owner, such as the key of a client
        #[arg(long)]
        owner: Option<String>,
        /// Only jobs in this state
        #[arg(long)]
        state: Option<JobState>,
        /// Only jobs that are older than this one, for the next page
        #[arg(long, value_name = "ID")]
        before: Option<JobId>,
        /// Most jobs, up to 1,000
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows a job with its input, progress and result
    #[command(after_help = "Example:\n  homeroom jobs show 0196e2f05c6b7a418d7c1f5a2b3c4d5e")]
    Show {
        /// The job's id
        id: JobId,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Sends a dead or cancelled job again
    #[command(after_help = "Example:\n  homeroom jobs retry 0196e2f05c6b7a418d7c1f5a2b3c4d5e")]
    Retry {
        /// The job's id
        id: JobId,
        /// Prints JSON: the job as it was
        #[arg(long)]
        json: bool,
    },
    /// Cancels a job that has not ended; a running one stops when its node notices
    #[command(after_help = "Example:\n  homeroom jobs cancel 0196e2f05c6b7a418d7c1f5a2b3c4d5e")]
    Cancel {
        /// The job's id
        id: JobId,
        /// Prints JSON: the job as it was
        #[arg(long)]
        json: bool,
    },
}

/// A state on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum JobState {
    /// It waits for its turn
    Queued,
    /// A node has taken it
    Running,
    /// It has ended with a result
    Done,
    /// It has failed for good
    Dead,
    /// Somebody has cancelled it
    Cancelled,
}

impl From<JobState> for State {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Queued => Self::Queued,
            JobState::Running => Self::Running,
            JobState::Done => Self::Done,
            JobState::Dead => Self::Dead,
            JobState::Cancelled => Self::Cancelled,
        }
    }
}

/// Runs the command.
pub fn run(args: JobsArgs) -> Result<Exit, Failure> {
    let config = super::prepare_quietly(&args.config)?;
    let (asked, said, json) = match args.command {
        JobsCommand::List { kind, owner, state, before, limit, json } => {
            let state = state.map(State::from);
            (JobsRequest::List { kind, owner, state, before, limit }, None, json)
        }
        JobsCommand::Show { id, json } => (JobsRequest::Show { id }, None, json),
        JobsCommand::Retry { id, json } => {
            (JobsRequest::Retry { id }, Some("is queued again"), json)
        }
        JobsCommand::Cancel { id, json } => {
            (JobsRequest::Cancel { id }, Some("is cancelled"), json)
        }
    };
    let answer = control::request(&config, Request::Jobs(asked), &mut |_| {})?;
    match (json, said) {
        (true, _) => super::print_json(&answer),
        (false, Some(said)) => {
            let id = answer["id"].as_str().unwrap_or_default();
            crate::exit::say!("{id} {said}");
        }
        (false, None) if answer == Value::Array(vec![]) => crate::exit::say!("no jobs"),
        (false, None) => super::keys::print_plainly(&answer, 0),
    }
    Ok(Exit::Done)
}
