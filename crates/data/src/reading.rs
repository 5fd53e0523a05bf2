//! A read by what its caller may, which is asked again when it is done: it may have waited.

use homeroom_access::{Access, ApiClient, Call, Caller, Denial, Scope};
use homeroom_http::Problem;

/// How often something is read for one request, while what its caller may is changed at every try.
const TRIES_MAX: usize = 5;

/// What a caller may while something is read.
pub(crate) struct Reading<'a, R, F> {
    access: &'a Access,
    caller: Caller,
    may: F,
    granted: R,
    generation: u64,
    tries: usize,
}

impl<'a, R: PartialEq, F: Fn(&ApiClient) -> Result<R, Denial>> Reading<'a, R, F> {
    /// Begins to read by what `may` says of the caller as the front door has recognized it.
    ///
    /// # Errors
    ///
    /// Those of `may`.
    pub(crate) fn begin(access: &'a Access, call: &Call, may: F) -> Result<Self, Problem> {
        // Not the generation of this moment: the client is of the one before a change that came
        // between the front door and here.
        let generation = call.recognized_at;
        let granted = may(call.client())?;
        let caller = Caller::of(call, Scope::Data);
        Ok(Self { access, caller, may, granted, generation, tries: 0 })
    }

    /// What the caller may.
    pub(crate) fn granted(&self) -> &R {
        &self.granted
    }

    /// Whether the caller may the same when it was read; otherwise it is to be read again.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`], and those of `may`; 503 where it changes without an end.
    pub(crate) fn holds(&mut self) -> Result<bool, Problem> {
        let generation = self.access.generation();
        if generation == self.generation {
            return Ok(true);
        }
        let by_now = (self.may)(&self.caller.again(self.access)?.client)?;
        if by_now == self.granted {
            return Ok(true);
        }
        self.tries += 1;
        if self.tries >= TRIES_MAX {
            return Err(
                Problem::busy(1).detail("What this key may do is being changed at this moment.")
            );
        }
        (self.granted, self.generation) = (by_now, generation);
        Ok(false)
    }
}
