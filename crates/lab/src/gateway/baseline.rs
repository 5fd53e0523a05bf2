//! Compares the cells of two runs.

use serde::{Deserialize, Serialize};

use super::cell::CellPlan;

/// The comparison of a run with an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// When the earlier run began (RFC 3339, UTC).
    pub started: String,
    /// The version of the earlier run's generator.
    pub generator_version: String,
    /// The loss from which a cell counts as worse, as a share: of requests for the same processor time, or of
    /// throughput on a machine of the same speed where a processor time is not known.
    pub tolerance: f64,
    /// One row for each cell that both runs have.
    pub rows: Vec<BaselineRow>,
    /// How many cells of this run the earlier one lacks.
    pub missing: u64,
}

/// A cell in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineRow {
    /// The cell.
    #[serde(flatten)]
    pub plan: CellPlan,
    /// Answers per second, earlier and now.
    pub throughput: [f64; 2],
    /// The 99th percentile of response times in milliseconds, earlier and now.
    pub p99_ms: [f64; 2],
    /// Failed requests in per cent, earlier and now.
    pub error_percent: [f64; 2],
    /// The gateway's processor time for each request in microseconds, earlier and now.
    pub cpu_us_per_request: Option<[f64; 2]>,
    /// The machine's own speed now, as a multiple of the earlier one; a ratio far from 1 makes the
    /// other figures incomparable.
    pub machine: f64,
    /// Whether it is worse by more than the tolerance.
    pub worse: bool,
}

/// The figures of a cell that are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    pub plan: CellPlan,
    pub throughput: f64,
    pub p99_ms: f64,
    pub error_percent: f64,
    pub cpu_us: Option<f64>,
    pub spin: f64,
}

/// The increase of the error rate from which a cell counts as worse, in percentage points.
const ERROR_POINTS_MAX: f64 = 0.1;

impl Baseline {
    /// Returns whether any cell is worse.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|row| row.worse)
    }

    /// Compares the cells of this run with those of an earlier one.
    pub(super) fn of(
        (started, generator_version): (String, String),
        earlier: &[Compared],
        now: &[Compared],
        tolerance: f64,
    ) -> Self {
        let pair = |now: &Compared| {
            let then = earlier.iter().find(|then| then.plan == now.plan)?;
            Some(row(then, now, tolerance))
        };
        let rows: Vec<BaselineRow> = now.iter().filter_map(pair).collect();
        let missing = (now.len() - rows.len()) as u64;
        Self { started, generator_version, tolerance, rows, missing }
    }
}

fn row(then: &Compared, now: &Compared, tolerance: f64) -> BaselineRow {
    let machine = if then.spin > 0.0 && now.spin > 0.0 { now.spin / then.spin } else { 1.0 };
    // A machine that is busy otherwise gives a gateway less time, and each request costs the same of it.
    let is_slower = match then.cpu_us.zip(now.cpu_us) {
        Some((then, now)) if then > 0.0 => now > then / (1.0 - tolerance),
        _ => now.throughput < then.throughput * machine * (1.0 - tolerance),
    };
    let fails_more = now.error_percent > then.error_percent + ERROR_POINTS_MAX;
    BaselineRow {
        plan: now.plan,
        throughput: [then.throughput, now.throughput],
        p99_ms: [then.p99_ms, now.p99_ms],
        error_percent: [then.error_percent, now.error_percent],
        cpu_us_per_request: then.cpu_us.zip(now.cpu_us).map(|(then, now)| [then, now]),
        machine,
        worse: is_slower || fails_more,
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::GatewayScenario;
    use super::*;

    fn cell(users: u32, throughput: f64, error_percent: f64) -> Compared {
        let scenario = GatewayScenario::Passthrough;
        let plan = CellPlan { scenario, users, size_bytes: 50, delay_ms: 0 };
        Compared { plan, throughput, p99_ms: 5.0, error_percent, cpu_us: None, spin: 400.0 }
    }

    #[test]
    fn processor_time_counts_where_it_is_known_and_else_what_the_machine_does() {
        let worse = |then: Compared, now: Compared| row(&then, &now, 0.1).worse;
        let then = Compared { cpu_us: Some(9.0), ..cell(100, 1000.0, 0.0) };

        let busy = Compared { cpu_us: Some(9.5), ..cell(100, 500.0, 0.0) };
        assert!(!worse(then, busy), "half of the throughput for the same work");
        let dearer = Compared { cpu_us: Some(10.1), ..cell(100, 1000.0, 0.0) };
        assert!(worse(then, dearer));
        let slow_machine = Compared { spin: 200.0, ..cell(100, 480.0, 0.0) };
        assert!(!worse(then, slow_machine), "the machine is half as fast, too");
        assert!(worse(then, Compared { spin: 200.0, ..cell(100, 400.0, 0.0) }));
    }

    #[test]
    fn a_cell_is_worse_if_it_lost_throughput_or_fails_more() {
        let earlier = [cell(100, 1000.0, 0.0), cell(200, 1000.0, 0.0), cell(500, 1000.0, 0.0)];
        let now = [
            cell(100, 901.0, 0.05),
            cell(200, 899.0, 0.0),
            cell(500, 2000.0, 1.0),
            cell(1000, 1.0, 0.0),
        ];

        let found = Baseline::of(("then".into(), "1".into()), &earlier, &now, 0.1);

        let worse: Vec<bool> = found.rows.iter().map(|row| row.worse).collect();
        assert_eq!((worse, found.missing), (vec![false, true, true], 1));
        assert!(found.is_worse());
    }
}
