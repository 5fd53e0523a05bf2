//! The outcome of the last attempt to connect, and who may try again.
#![expect(clippy::disallowed_methods, reason = "after a lost connection there is a pause")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::postgres::connection::GREETING;
use crate::postgres::error::Fault;

/// Shortest and longest pause after a failed attempt to connect.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Whether the database is away. While it is, one caller tries at a time and the others get the
/// error.
#[derive(Default)]
pub(super) struct Outage {
    is_known: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the next attempt is allowed.
    until: Option<Instant>,
    pause: Duration,
    why: String,
}

impl Outage {
    /// Returns an error while no caller may connect.
    pub(super) fn look(&self) -> Result<(), Fault> {
        let state = self.state();
        match state.until {
            Some(until) if Instant::now() < until => Err(Fault::Lost(state.why.clone())),
            _ => Ok(()),
        }
    }

    /// Does the same as [`Outage::look`]; during an outage it lets only one caller at a time
    /// connect.
    pub(super) fn enter(&self) -> Result<(), Fault> {
        let mut state = self.state();
        let Some(until) = state.until else { return Ok(()) };
        let now = Instant::now();
        if now < until {
            return Err(Fault::Lost(state.why.clone()));
        }
        state.until = Some(now + GREETING);
        Ok(())
    }

    /// Records the outcome of an attempt.
    pub(super) fn note<T>(&self, made: &Result<T, Fault>) {
        let Err(fault) = made else { return self.end() };
        tracing::warn!(?fault, "a connection for reads could not be made");
        let mut state = self.state();
        state.pause = (state.pause * 2).clamp(PAUSE.0, PAUSE.1);
        state.until = Some(Instant::now() + state.pause);
        state.why = match fault {
            Fault::Lost(why) | Fault::Again(why) | Fault::Form(why) => why.clone(),
            Fault::Own(error) | Fault::Everybody(error) => error.to_string(),
            Fault::Late => "it took too long".to_owned(),
        };
        self.is_known.store(true, Ordering::Release);
    }

    /// Records that the database has answered.
    pub(super) fn end(&self) {
        if self.is_known.load(Ordering::Acquire) {
            *self.state() = State::default();
            self.is_known.store(false, Ordering::Release);
        }
    }

    /// Returns why the last attempt to reach the database failed, if it did.
    pub(super) fn why(&self) -> Option<String> {
        let is_known = self.is_known.load(Ordering::Acquire);
        is_known.then(|| self.state().why.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
