//! Limits of jobs.

use std::time::Duration;

/// Limits of jobs; what is beyond one is refused with [`crate::JobError::Full`] or
/// [`crate::JobError::TooLarge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most jobs that wait, of all owners and kinds. Default: 10,000.
    pub queued_max: u32,
    /// Most jobs of one owner that wait. Default: 1,000.
    pub queued_of_owner_max: u32,
    /// Most bytes of an input. Default: 65,536.
    pub input_bytes_max: usize,
    /// Most bytes of a result. Default: 65,536.
    pub result_bytes_max: usize,
    /// Most bytes of a progress's text and of an error; the rest is cut off. Default: 2,048.
    pub text_bytes_max: usize,
    /// How long a job that is done or cancelled is kept. Default: 7 days.
    pub ended_kept: Duration,
    /// How long a dead job is kept. Default: 30 days.
    pub dead_kept: Duration,
    /// Most jobs that have ended and are kept; the ones that would expire first give way. Default:
    /// 100,000.
    pub ended_max: u32,
}

/// Most bytes of the name of a kind or an owner.
pub const NAME_BYTES_MAX: usize = 256;

impl Default for Limits {
    fn default() -> Self {
        Self {
            queued_max: 10_000,
            queued_of_owner_max: 1_000,
            input_bytes_max: 64 << 10,
            result_bytes_max: 64 << 10,
            text_bytes_max: 2 << 10,
            ended_kept: Duration::from_hours(7 * 24),
            dead_kept: Duration::from_hours(30 * 24),
            ended_max: 100_000,
        }
    }
}

impl Limits {
    /// Cuts a text off at [`Limits::text_bytes_max`], between two letters.
    pub(crate) fn cut(&self, text: &str) -> String {
        text[..text.floor_char_boundary(self.text_bytes_max)].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_letters() {
        let limits = Limits { text_bytes_max: 4, ..Limits::default() };

        assert_eq!(limits.cut("año nuevo"), "año");
        assert_eq!(limits.cut("añ"), "añ");
        assert_eq!(limits.cut("aaañ"), "aaa");
    }
}
