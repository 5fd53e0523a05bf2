//! How much load, for how long: the stages of a run.

mod parse;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A part of a run with one kind of load. A constant load has two equal ends, a ramp differs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// What comes.
    pub load: Load,
    /// For how long.
    pub duration: Duration,
}

/// What comes: requests at their moments, or people who wait for their answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Requests a second, from the first to the last moment; they come whether or not earlier ones
    /// are answered (an open loop).
    Rate {
        /// At the start.
        from: f64,
        /// At the end.
        to: f64,
    },
    /// Modelled clients, from the first to the last moment; each sends when its last request is
    /// answered and its think time is over (a closed loop).
    Users {
        /// At the start.
        from: u32,
        /// At the end.
        to: u32,
    },
}

impl Stage {
    /// A constant rate of requests a second.
    pub fn rate(rate: f64, duration: Duration) -> Self {
        Self { load: Load::Rate { from: rate, to: rate }, duration }
    }

    /// A constant number of modelled clients.
    pub fn users(users: u32, duration: Duration) -> Self {
        Self { load: Load::Users { from: users, to: users }, duration }
    }
}

/// How the moments of a rate lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exactly rate x duration requests, each at its place.
    #[default]
    Even,
    /// Independent of each other (a Poisson process), as many people are; still exactly
    /// rate x duration of them.
    Poisson,
}
