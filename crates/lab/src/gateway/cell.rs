//! The cells of the matrix: what each sends, and for how long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use homeroom_load::stage::{Load, Stage};

/// What the gateway does with a message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayScenario {
    /// The message goes through as it is.
    Passthrough,
    /// The message is changed by the gateway.
    Transformation,
}

impl GatewayScenario {
    /// Both, in the published order.
    pub const ALL: [Self; 2] = [Self::Passthrough, Self::Transformation];

    /// Returns its name in the published table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passthrough => "Passthrough",
            Self::Transformation => "Transformation",
        }
    }
}

/// A cell of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellPlan {
    /// What the gateway does with a message.
    pub scenario: GatewayScenario,
    /// The number of users at the same time, each with a connection of its own.
    pub users: u32,
    /// The size of each message in bytes.
    pub size_bytes: u32,
    /// How long the back end waits before it answers, in milliseconds.
    pub delay_ms: u64,
}

impl CellPlan {
    /// Returns a short description for a progress line.
    pub fn shown(&self) -> String {
        let Self { scenario, users, size_bytes, delay_ms } = self;
        format!("{}, {users} users, {size_bytes} B, {delay_ms} ms", scenario.name())
    }
}

/// Returns all cells in the published order: scenario, users, size, delay.
pub fn cells(
    scenarios: &[GatewayScenario],
    users: &[u32],
    sizes: &[u32],
    delays_ms: &[u64],
) -> Vec<CellPlan> {
    let mut cells = vec![];
    for scenario in scenarios {
        for users in users {
            for size_bytes in sizes {
                cells.extend(delays_ms.iter().map(|delay_ms| CellPlan {
                    scenario: *scenario,
                    users: *users,
                    size_bytes: *size_bytes,
                    delay_ms: *delay_ms,
                }));
            }
        }
    }
    cells
}

/// How long the parts of a cell take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Users begin one by one during this time, the first part of the warm-up.
    pub ramp: Duration,
    /// The warm-up, ramp included, whose figures are discarded.
    pub warm_up: Duration,
    /// The part that is measured.
    pub measured: Duration,
    /// The time without load before the resident memory is read.
    pub idle: Duration,
}

impl Timing {
    /// The published durations: 15 minutes a cell, of which the first 5 are discarded.
    pub const PUBLISHED: Self = Self {
        ramp: Duration::from_mins(1),
        warm_up: Duration::from_mins(5),
        measured: Duration::from_mins(10),
        idle: Duration::from_secs(10),
    };

    /// The durations by default, for a matrix within a quarter of an hour.
    pub const SHORT: Self = Self {
        ramp: Duration::from_secs(2),
        warm_up: Duration::from_secs(5),
        measured: Duration::from_secs(15),
        idle: Duration::from_secs(10),
    };

    /// Returns the stages of the warm-up: the ramp, and the time after it.
    pub fn warm_up(&self, users: u32) -> Vec<Stage> {
        let ramp = self.ramp.min(self.warm_up);
        let stages = [
            Stage { load: Load::Users { from: 0, to: users }, duration: ramp },
            Stage::users(users, self.warm_up.saturating_sub(ramp)),
        ];
        stages.into_iter().filter(|stage| !stage.duration.is_zero()).collect()
    }

    /// Returns the stage that is measured.
    pub fn measured(&self, users: u32) -> Stage {
        Stage::users(users, self.measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_in_the_published_order() {
        let cells = cells(&GatewayScenario::ALL, &[100, 200], &[50, 1024], &[0, 30]);

        let shown: Vec<String> = cells.iter().map(CellPlan::shown).collect();
        assert_eq!(shown.len(), 16);
        assert_eq!(
            shown[..3],
            [
                "Passthrough, 100 users, 50 B, 0 ms",
                "Passthrough, 100 users, 50 B, 30 ms",
                "Passthrough, 100 users, 1024 B, 0 ms"
            ]
        );
        assert_eq!(shown[15], "Transformation, 200 users, 1024 B, 30 ms");
    }

    #[test]
    fn the_warm_up_contains_the_ramp() {
        let published = Timing::PUBLISHED.warm_up(100);
        let none = Timing { ramp: Duration::ZERO, warm_up: Duration::ZERO, ..Timing::SHORT };

        let all: Duration = published.iter().map(|stage| stage.duration).sum();
        assert_eq!((published.len(), all), (2, Duration::from_mins(5)));
        assert_eq!(none.warm_up(100), []);
    }
}
