//! What became of the last try to connect, and who may try again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::postgres::connection::GREETING;
use crate::postgres::error::Fault;

/// Shortest and longest pause after a connection could not be made.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Whether the database is away. While it is, one tries at a time and the others are told so.
#[derive(Default)]
pub(super) struct Outage {
    is_known: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When it may be tried again.
    until: Option<Instant>,
    pause: Duration,
    why: String,
}

impl Outage {
    /// Why nobody may connect at this moment, if so.
    pub(super) fn look(&self) -> Result<(), Fault> {
        let state = self.state();
        match state.until {
            Some(until) if Instant::now() < until => Err(Fault::Lost(state.why.clone())),
            _ => Ok(()),
        }
    }

    /// As [`Outage::look`]. In an outage it lets one caller connect at a time, until the outage is over.
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

    /// Takes note of what became of a try.
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

    /// Takes note that the database has answered.
    pub(super) fn end(&self) {
        if self.is_known.load(Ordering::Acquire) {
            *self.state() = State::default();
            self.is_known.store(false, Ordering::Release);
        }
    }

    /// Why the database could not be reached when it was tried last, if so.
    pub(super) fn why(&self) -> Option<String> {
        let is_known = self.is_known.load(Ordering::Acquire);
        is_known.then(|| self.state().why.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
