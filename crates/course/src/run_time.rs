//! The run-time on the server: what a learner's attempt has saved, what content reads at its next
//! launch, and what follows for the report.

mod apply;
mod begin;
mod duration;
mod elements;
mod ending;
mod entries;
mod fold;
mod interactions;
mod outcome;
mod reached;
mod room;
mod session;
mod spell;
mod state;
mod status;

pub(crate) use apply::{Applied, Attempt, apply};
pub(crate) use begin::{
    Begin, Entered, Resets, begin, entered, is_over, learner_name, passing_measure,
};
pub(crate) use duration::{iso, scorm12};
pub(crate) use elements::{Elements, Refusal};
pub(crate) use ending::{finish, time_out};
pub(crate) use entries::{Entry, Interaction, entries, is_said_again, objective_status};
pub(crate) use outcome::{
    attempt_limit, global_objectives, is_suspended, outcome, outcomes, scaled, unavailable, whole,
};
pub(crate) use room::{ACTIVITY_BYTES_MAX, Limit, Room};
pub(crate) use session::{Forgotten, Own, Place, Turn};
#[cfg(test)]
pub(crate) use state::Spell;
pub(crate) use state::{ActivityState, Held, LaunchState, Progress, Session, is_default};
pub(crate) use status::{Completion, Outcome};
