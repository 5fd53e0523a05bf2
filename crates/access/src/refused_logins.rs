//! Counts of refused logins, and a rate for what is logged of them.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use homeroom_http::Timestamp;

/// Most refused logins that are logged in a second. All are counted, and an entry says how many
/// before it were left out.
const REFUSED_PER_SECOND_MAX: u32 = 50;

/// Counts refused logins, and keeps their entries within a rate: everybody can cause them.
#[derive(Debug, Default)]
pub(crate) struct RefusedLogins {
    pub(crate) tokens: AtomicU64,
    pub(crate) requests: AtomicU64,
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    second: i64,
    written: u32,
    left_out: u64,
}

impl RefusedLogins {
    /// Returns how many entries were left out before this one; [`None`] if it is left out too.
    pub(crate) fn admit(&self, now: Timestamp) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.second != now.seconds() {
            *window = Window { second: now.seconds(), written: 0, ..*window };
        }
        if window.written >= REFUSED_PER_SECOND_MAX {
            window.left_out += 1;
            return None;
        }
        window.written += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_about_refused_logins_keep_a_rate_and_say_what_was_left_out() {
        let logins = RefusedLogins::default();
        let (first, next) = (Timestamp(5_000_000), Timestamp(6_000_000));

        let admitted = (0..REFUSED_PER_SECOND_MAX).filter(|_| logins.admit(first) == Some(0));
        assert_eq!(admitted.count(), REFUSED_PER_SECOND_MAX as usize);
        assert_eq!((logins.admit(first), logins.admit(first)), (None, None));
        assert_eq!(logins.admit(next), Some(2));
        assert_eq!(logins.admit(next), Some(0));
    }
}
