//! Describes this machine and measures its resource use.

use std::fs::read_to_string;

use super::proc::{self, Cpu, Network};
use crate::run::Machine;

/// Describes this machine, as far as it can be read.
pub fn machine() -> Machine {
    let (cpu, cores) = proc::processors(&read_to_string("/proc/cpuinfo").unwrap_or_default());
    let memory = read_to_string("/proc/meminfo").ok().and_then(|text| proc::memory(&text));
    let release = read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let system = [name.unwrap_or(std::env::consts::OS).trim_matches('"'), kernel.trim()];
    let has_text = |text: &&str| !text.is_empty();
    Machine {
        cpu: if cpu.is_empty() { std::env::consts::ARCH.into() } else { cpu },
        cores,
        memory_mb: memory.map_or(0, |(total, _)| total / 1024),
        system: system.into_iter().filter(has_text).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the load averages of the last 1, 5 and 15 minutes; `None` without `/proc`.
pub fn load_average() -> Option<[f64; 3]> {
    let text = read_to_string("/proc/loadavg").ok()?;
    let mut each = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
    Some([each.next()?, each.next()?, each.next()?])
}

/// The counters of the whole machine at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineCounters {
    pub(super) cpu: Cpu,
    network: Network,
    load: Option<f64>,
    used_kb: Option<u64>,
}

impl MachineCounters {
    /// Reads the counters; `None` without `/proc`.
    pub fn read() -> Option<Self> {
        let memory = read_to_string("/proc/meminfo").ok().and_then(|text| proc::memory(&text));
        Some(Self {
            cpu: proc::cpu(&read_to_string("/proc/stat").ok()?)?,
            network: proc::network(&read_to_string("/proc/net/dev").unwrap_or_default()),
            load: read_to_string("/proc/loadavg").ok().and_then(|text| proc::load(&text)),
            used_kb: memory.map(|(total, available)| total.saturating_sub(available)),
        })
    }

    /// Returns the share of processor time that the host took since `before`.
    pub fn steal_share(&self, before: &Self) -> f64 {
        share(self.cpu.steal, before.cpu.steal, self, before)
    }

    /// Returns the values at this moment, some seconds after `before`.
    pub fn values(&self, before: &Self, seconds: f64) -> Vec<(&'static str, f64)> {
        let ticks = |now: u64, then: u64| now.saturating_sub(then) as f64 / proc::TICKS_PER_SECOND;
        let busy = ticks(self.cpu.total, before.cpu.total)
            - ticks(self.cpu.idle, before.cpu.idle)
            - ticks(self.cpu.steal, before.cpu.steal);
        let mb_s = |now: u64, then: u64| {
            now.saturating_sub(then) as f64 / (1024.0 * 1024.0) / seconds.max(1e-9)
        };
        let (now, then) = (&self.network, &before.network);
        let mut values = vec![
            ("cpu_percent", busy.max(0.0) * 100.0 / seconds.max(1e-9)),
            ("steal_percent", self.steal_share(before) * 100.0),
            ("net_in_mb_s", mb_s(now.received, then.received)),
            ("net_out_mb_s", mb_s(now.sent, then.sent)),
            ("loopback_mb_s", mb_s(now.loopback, then.loopback)),
        ];
        values.extend(self.load.map(|load| ("load_1m", load)));
        values.extend(self.used_kb.map(|used| ("memory_mb", used as f64 / 1024.0)));
        values
    }
}

fn share(now: u64, then: u64, counts: &MachineCounters, before: &MachineCounters) -> f64 {
    let total = counts.cpu.total.saturating_sub(before.cpu.total);
    if total == 0 { 0.0 } else { now.saturating_sub(then) as f64 / total as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(total: u64, idle: u64, steal: u64, sent: u64) -> MachineCounters {
        let network = Network { received: 0, sent, loopback: 0 };
        MachineCounters {
            cpu: Cpu { total, idle, steal },
            network,
            load: Some(1.5),
            used_kb: Some(2048),
        }
    }

    #[test]
    fn shares_and_rates_are_computed_between_two_samples() {
        let (before, now) = (counts(1_000, 500, 10, 0), counts(1_400, 700, 30, 2 * 1024 * 1024));

        let values = now.values(&before, 2.0);

        let of = |name: &str| values.iter().find(|(of, _)| *of == name).unwrap().1;
        assert!((of("cpu_percent") - 90.0).abs() < 1e-9);
        assert!((now.steal_share(&before) - 0.05).abs() < 1e-9);
        assert!((of("net_out_mb_s") - 1.0).abs() < 1e-9);
        assert_eq!((of("load_1m"), of("memory_mb")), (1.5, 2.0));
        assert!(now.steal_share(&now).abs() < 1e-9);
    }
}
