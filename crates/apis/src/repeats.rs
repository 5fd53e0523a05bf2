//! Which calls are sent again, and how many of all calls: a back end that fails gets no multiple of them.

use std::sync::{Mutex, PoisonError};

use http::Method;

use crate::definition::Retries;

/// Repeats that are possible after a start, and most that are saved up.
const FIRST: f64 = 10.0;
const SAVED_MAX: f64 = 100.0;

/// The policy of an API, and what is left of its share.
///
/// Each call adds a share of one repeat, and a repeat takes one whole.
#[derive(Debug)]
pub(crate) struct Repeats {
    attempts: u32,
    methods: Vec<Method>,
    share: f64,
    left: Mutex<f64>,
}

impl Repeats {
    /// Reads what a definition states.
    pub(crate) fn new(stated: &Retries) -> Self {
        Self {
            attempts: stated.attempts,
            methods: stated.methods.iter().filter_map(|name| name.parse().ok()).collect(),
            share: stated.share,
            left: Mutex::new(if stated.share > 0.0 { FIRST } else { 0.0 }),
        }
    }

    /// Records a call.
    pub(crate) fn called(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = (*left + self.share).min(SAVED_MAX);
    }

    /// Returns most times that a call is sent.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns whether calls of a method are sent again although an upstream may have got them.
    pub(crate) fn has(&self, method: &Method) -> bool {
        self.methods.contains(method)
    }

    /// Takes one repeat from the share, if there is one.
    pub(crate) fn take(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let may = *left >= 1.0;
        if may {
            *left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_a_share_of_all_calls() {
        let repeats = Repeats::new(&Retries { share: 0.25, ..Retries::default() });
        let begun = (0..100).filter(|_| repeats.take()).count();
        let of_calls = (0..1_000)
            .filter(|_| {
                repeats.called();
                repeats.take()
            })
            .count();

        assert_eq!((begun, of_calls), (10, 250));
        assert!(repeats.has(&Method::GET) && !repeats.has(&Method::POST));
        let never = Repeats::new(&Retries { share: 0.0, ..Retries::default() });
        never.called();
        assert!(!never.take());
    }
}
