//! The stages of a run: how much load, for how long.

mod parse;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A part of a run with one kind of load. A constant load starts and ends with the same value; a
/// ramp does not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The load.
    pub load: Load,
    /// How long it lasts.
    pub duration: Duration,
}

/// A load: requests at a rate, or modelled clients that wait for their answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Requests per second, at the start and at the end; they are sent whether or not earlier ones
    /// are answered (an open loop).
    Rate {
        /// The rate at the start.
        from: f64,
        /// The rate at the end.
        to: f64,
    },
    /// Modelled clients, at the start and at the end; each sends a request when its last one is
    /// answered and its pause is over (a closed loop).
    Users {
        /// The number at the start.
        from: u32,
        /// The number at the end.
        to: u32,
    },
}

impl Stage {
    /// Returns a stage with a constant rate of requests per second.
    pub fn rate(rate: f64, duration: Duration) -> Self {
        Self { load: Load::Rate { from: rate, to: rate }, duration }
    }

    /// Returns a stage with a constant number of modelled clients.
    pub fn users(users: u32, duration: Duration) -> Self {
        Self { load: Load::Users { from: users, to: users }, duration }
    }
}

/// The distribution of arrivals at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exactly rate x duration requests, evenly spaced.
    #[default]
    Even,
    /// Requests at independent moments (a Poisson process), like those of many people; still
    /// exactly rate x duration of them.
    Poisson,
}
