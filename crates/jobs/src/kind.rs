//! A kind of job: what does it, how many at a time, how often it is tried.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::handler::Handler;

/// A kind of job, as a runner knows it.
#[derive(Clone)]
pub struct Kind {
    /// Its name, which jobs carry.
    pub name: &'static str,
    /// What does its jobs.
    pub handler: Arc<dyn Handler>,
    /// Most jobs of this kind that this node runs at a time. Default: 4.
    pub running_max: usize,
    /// Most attempts; then the job is dead. Default: 8.
    pub attempts_max: u32,
    /// The pause after the first failure; it doubles with each further one. Default: 5 s.
    pub pause: Duration,
    /// The longest pause. Default: 1 hour.
    pub pause_max: Duration,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", self.name)
    }
}

impl Kind {
    /// Returns a kind with the default settings.
    pub fn new(name: &'static str, handler: impl Handler) -> Self {
        Self {
            name,
            handler: Arc::new(handler),
            running_max: 4,
            attempts_max: 8,
            pause: Duration::from_secs(5),
            pause_max: Duration::from_hours(1),
        }
    }

    /// Returns the pause after this many attempts.
    pub(crate) fn pause_after(&self, attempts: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.pause.saturating_mul(factor).min(self.pause_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::Running;

    #[test]
    fn the_pause_doubles_up_to_its_limit() {
        let handler = |_: Running| async { Ok(serde_json::Value::Null) };
        let kind = Kind {
            pause: Duration::from_secs(2),
            pause_max: Duration::from_secs(15),
            ..Kind::new("k", handler)
        };

        let pauses = [1, 2, 3, 4, 5, 40].map(|attempts| kind.pause_after(attempts).as_secs());

        assert_eq!(pauses, [2, 4, 8, 15, 15, 15]);
    }
}
