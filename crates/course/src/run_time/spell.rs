//! The time of a session where its content does not tell it.

use super::state::Spell;

/// Longest time that passes between two commits and counts as learning, where content does not say
/// its time, in hundredths of a second.
const SILENCE_MAX: u64 = 30 * 60 * 100;

impl Spell {
    /// Adds the time since the last commit, unless it is so long that the learner was elsewhere.
    pub(super) fn measure(&mut self, now: i64) {
        let counted = i64::try_from(self.time).unwrap_or(i64::MAX).saturating_mul(10_000);
        let since =
            if self.measured > 0 { self.measured } else { self.begun.saturating_add(counted) };
        let silence = u64::try_from(now.saturating_sub(since)).unwrap_or(0) / 10_000;
        if silence > SILENCE_MAX {
            self.measured = now;
            return;
        }
        self.time = self.time.saturating_add(silence);
        // What is less than a hundredth of a second counts at the next commit.
        let counted = i64::try_from(silence).unwrap_or(0).saturating_mul(10_000);
        self.measured = since.saturating_add(counted);
    }
}
