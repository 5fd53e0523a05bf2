//! Reads with the rights of a caller, which are checked again afterwards, because the read may have
//! waited.

use homeroom_access::{Access, ApiClient, Call, Caller, Denial, Scope};
use homeroom_http::Problem;

/// Most tries of one read while the rights of its caller keep changing.
const TRIES_MAX: usize = 5;

/// The rights of a caller while something is read.
pub(crate) struct Reading<'a, R, F> {
    access: &'a Access,
    caller: Caller,
    may: F,
    granted: R,
    generation: u64,
    tries: usize,
}

impl<'a, R: PartialEq, F: Fn(&ApiClient) -> Result<R, Denial>> Reading<'a, R, F> {
    /// Begins a read with the rights that `may` finds for the caller as the front door recognized it.
    ///
    /// # Errors
    ///
    /// Those of `may`.
    pub(crate) fn begin(access: &'a Access, call: &Call, may: F) -> Result<Self, Problem> {
        // The generation at which the caller was recognized; the registry may have changed since.
        let generation = call.recognized_at;
        let granted = may(call.client())?;
        let caller = Caller::of(call, Scope::Data);
        Ok(Self { access, caller, may, granted, generation, tries: 0 })
    }

    /// Returns the rights with which to read.
    pub(crate) fn granted(&self) -> &R {
        &self.granted
    }

    /// Returns whether the caller still has the same rights; otherwise the read has to be repeated.
    ///
    /// # Errors
    ///
    /// As [`Access::recognize`], and those of `may`; 503 where the rights change at every try.
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
                Problem::busy(1).detail("The rights of this key are being changed at this moment.")
            );
        }
        (self.granted, self.generation) = (by_now, generation);
        Ok(false)
    }
}
