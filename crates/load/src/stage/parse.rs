//! Parses stages as people write them.

use std::fmt;
use std::time::Duration;

use super::{Load, Stage};
use crate::duration;

/// The greatest rate that is accepted, in requests per second.
const RATE_MAX: f64 = 10_000_000.0;

/// The greatest number of modelled clients that is accepted.
const USERS_MAX: u32 = 1_000_000;

/// The most stages that one list may have.
const STAGES_MAX: usize = 10_000;

impl Stage {
    /// Parses stages separated by commas.
    ///
    /// | written | means |
    /// |---|---|
    /// | `50/s 5m` | 50 requests per second for 5 minutes |
    /// | `100..500/s 2m` | from 100 to 500 requests per second, rising evenly within 2 minutes |
    /// | `20 users 1m` | 20 modelled clients for a minute |
    /// | `0..200 users 30s` | from none to 200 modelled clients within 30 seconds |
    ///
    /// A spike is a short stage between two others; a soak test is a long stage.
    ///
    /// # Errors
    ///
    /// Names the stage that cannot be parsed and shows the accepted forms.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > STAGES_MAX {
            return Err(format!("{} stages exceed the limit of {STAGES_MAX}", parts.len()));
        }
        let read = |(at, part): (usize, &&str)| {
            stage(part).map_err(|why| format!("stage {} (`{part}`): {why}", at + 1))
        };
        parts.iter().enumerate().map(read).collect()
    }
}

impl fmt::Display for Stage {
    /// Writes the stage in the form that [`Stage::parse_list`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span =
            |from: String, to: String| if from == to { from } else { format!("{from}..{to}") };
        let time = duration::show(self.duration);
        match self.load {
            Load::Rate { from, to } => {
                write!(f, "{}/s {time}", span(from.to_string(), to.to_string()))
            }
            Load::Users { from, to } => {
                write!(f, "{} users {time}", span(from.to_string(), to.to_string()))
            }
        }
    }
}

fn stage(text: &str) -> Result<Stage, String> {
    const FORM: &str = "write `50/s 5m`, `100..500/s 2m`, `20 users 1m` or `0..200 users 30s`";
    let words: Vec<&str> = text.split_whitespace().collect();
    let (load, time) = match words[..] {
        [] => return Err(format!("there is none; {FORM}")),
        [rate, time] if rate.ends_with("/s") => (rate_of(rate.trim_end_matches("/s"))?, time),
        [users, "users" | "user", time] => (users_of(users)?, time),
        [_] => return Err(format!("it needs a load and a duration; {FORM}")),
        _ => return Err(FORM.into()),
    };
    let duration = duration::parse(time)?;
    if duration == Duration::ZERO {
        return Err("its duration is zero".into());
    }
    Ok(Stage { load, duration })
}

fn rate_of(text: &str) -> Result<Load, String> {
    let read = |text: &str| match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && (0.0..=RATE_MAX).contains(&rate) => Ok(rate),
        Ok(_) => Err(format!("`{text}` is not a rate from 0 to {RATE_MAX} per second")),
        Err(_) => Err(format!("`{text}` is not a number of requests per second")),
    };
    let (from, to) = ends(text);
    Ok(Load::Rate { from: read(from)?, to: read(to)? })
}

fn users_of(text: &str) -> Result<Load, String> {
    let read = |text: &str| match text.parse::<u32>() {
        Ok(users) if users <= USERS_MAX => Ok(users),
        Ok(_) => Err(format!("{text} users exceed the limit of {USERS_MAX}")),
        Err(_) => Err(format!("`{text}` is not a whole number of users")),
    };
    let (from, to) = ends(text);
    Ok(Load::Users { from: read(from)?, to: read(to)? })
}

fn ends(text: &str) -> (&str, &str) {
    text.split_once("..").unwrap_or((text, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(from: f64, to: f64, seconds: u64) -> Stage {
        Stage { load: Load::Rate { from, to }, duration: Duration::from_secs(seconds) }
    }

    fn users(from: u32, to: u32, seconds: u64) -> Stage {
        Stage { load: Load::Users { from, to }, duration: Duration::from_secs(seconds) }
    }

    #[test]
    fn a_constant_load_is_a_rate_or_users_and_a_time() {
        assert_eq!(Stage::parse_list("50/s 5m").unwrap(), [rate(50.0, 50.0, 300)]);
        assert_eq!(Stage::parse_list("0.5/s 10s").unwrap(), [rate(0.5, 0.5, 10)]);
        assert_eq!(Stage::parse_list("20 users 1m").unwrap(), [users(20, 20, 60)]);
        assert_eq!(Stage::parse_list("1 user 1m").unwrap(), [users(1, 1, 60)]);
    }

    #[test]
    fn a_ramp_has_two_ends() {
        assert_eq!(Stage::parse_list("100..500/s 2m").unwrap(), [rate(100.0, 500.0, 120)]);
        assert_eq!(Stage::parse_list("0..200 users 30s").unwrap(), [users(0, 200, 30)]);
        assert_eq!(Stage::parse_list("200..0 users 30s").unwrap(), [users(200, 0, 30)]);
    }

    #[test]
    fn a_spike_is_a_short_stage_between_two_others() {
        let read = Stage::parse_list("100/s 1m, 2000/s 5s ,100/s 1m").unwrap();

        assert_eq!(read, [rate(100.0, 100.0, 60), rate(2000.0, 2000.0, 5), rate(100.0, 100.0, 60)]);
    }

    #[test]
    fn a_soak_is_a_long_stage() {
        assert_eq!(Stage::parse_list("300/s 48h").unwrap(), [rate(300.0, 300.0, 172_800)]);
    }

    #[test]
    fn stages_are_written_as_they_are_read() {
        let text = "50/s 5m, 100..500.5/s 90s, 20 users 1m, 0..200 users 500ms";

        let shown: Vec<String> =
            Stage::parse_list(text).unwrap().iter().map(Stage::to_string).collect();

        assert_eq!(shown.join(", "), text);
    }

    #[test]
    fn an_invalid_stage_is_named_with_the_expected_form() {
        for (text, told) in [
            ("", "stage 1 (``): there is none; write `50/s 5m`"),
            ("50/s 5m,", "stage 2 (``): there is none"),
            ("50/s", "it needs a load and a duration"),
            ("50 5m", "write `50/s 5m`"),
            ("50/s 5", "`5` is not a duration"),
            ("50/s 0s", "its duration is zero"),
            ("x/s 5m", "`x` is not a number of requests per second"),
            ("-1/s 5m", "is not a rate from 0"),
            ("NaN/s 5m", "is not a rate from 0"),
            ("1.5 users 5m", "`1.5` is not a whole number of users"),
            ("5000000 users 5m", "exceed the limit of 1000000"),
            ("5..x users 5m", "`x` is not a whole number"),
        ] {
            let error = Stage::parse_list(text).unwrap_err();

            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
