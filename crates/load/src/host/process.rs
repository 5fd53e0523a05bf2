//! Processes on this machine: which are watched, and what resources they use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{read, read_dir, read_to_string};

use super::proc::{self, Stat};
use super::watch::{What, fits};

/// The most threads whose context switches are counted.
const THREADS_MAX: usize = 512;

/// All processes of this machine at one moment.
#[derive(Debug, Default)]
pub struct Processes {
    stats: BTreeMap<u32, Stat>,
    /// Command lines of processes, as they were when first seen.
    lines: BTreeMap<(u32, u64), String>,
}

impl Processes {
    /// Refreshes the table. Command lines are read only for new processes, and only if they are
    /// needed.
    pub fn read(&mut self, with_lines: bool) {
        self.stats.clear();
        let Ok(entries) = read_dir("/proc") else { return };
        let numbers =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for pid in numbers {
            let stat = read_to_string(format!("/proc/{pid}/stat")).ok();
            if let Some(stat) = stat.and_then(|text| proc::stat(&text)) {
                self.stats.insert(pid, stat);
            }
        }
        let stats = &self.stats;
        self.lines.retain(|(pid, began), _| stats.get(pid).is_some_and(|of| of.began == *began));
        if with_lines {
            for (pid, stat) in stats {
                self.lines.entry((*pid, stat.began)).or_insert_with(|| {
                    proc::command_line(&read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
                });
            }
        }
    }

    /// Returns the watched processes and their descendants. This process is included only if its id
    /// is asked for.
    pub fn find(&self, what: &What) -> BTreeSet<u32> {
        let own = std::process::id();
        let mut found: BTreeSet<u32> = match what {
            What::Process(pid) => self.stats.keys().copied().filter(|of| of == pid).collect(),
            What::Named(pattern) => {
                let named = |(pid, stat): &(&u32, &Stat)| {
                    let line = self.lines.get(&(**pid, stat.began));
                    **pid != own && line.is_some_and(|line| fits(line, pattern))
                };
                self.stats.iter().filter(named).map(|(pid, _)| *pid).collect()
            }
            What::Exporter { .. } | What::Within(_) => return BTreeSet::new(),
        };
        loop {
            let children = self.stats.iter().filter(|(pid, stat)| {
                found.contains(&stat.parent) && !found.contains(pid) && **pid != own
            });
            let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
            if children.is_empty() {
                return found;
            }
            found.extend(children);
        }
    }

    /// Returns what these processes use at this moment.
    pub fn usage(&self, pids: &BTreeSet<u32>) -> Usage {
        let mut usage = Usage::default();
        let mut shared_kb = 0;
        for pid in pids {
            let Some(stat) = self.stats.get(pid) else { continue };
            // If a process ends now, what was not read yet is left out.
            let Ok(status) = read_to_string(format!("/proc/{pid}/status")) else { continue };
            let status = proc::status(&status);
            let io =
                read_to_string(format!("/proc/{pid}/io")).ok().and_then(|text| proc::io(&text));
            usage.hides_disk |= io.is_none();
            let (read, written) = io.unwrap_or_default();
            let switches = if status.threads <= 1 { status.switches } else { switches(*pid) };
            usage.each.insert((*pid, stat.began), [stat.ticks, read, written, switches]);
            usage.threads += status.threads;
            usage.own_kb += status.own_kb;
            shared_kb = shared_kb.max(status.shared_kb);
        }
        // Shared memory is counted once, as much as the process with the most of it has.
        usage.own_kb += shared_kb;
        usage
    }
}

fn switches(pid: u32) -> u64 {
    let Ok(tasks) = read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let status = |task: std::fs::DirEntry| read_to_string(task.path().join("status")).ok();
    let each = tasks.flatten().take(THREADS_MAX).filter_map(status);
    each.map(|text| proc::status(&text).switches).sum()
}

/// The resource use of some processes at one moment: counters of each since it started, sums of the
/// rest.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// By process id and start: ticks, bytes read, bytes written, context switches.
    each: BTreeMap<(u32, u64), [u64; 4]>,
    threads: u64,
    own_kb: u64,
    /// Whether the system hides the disk use of one of them.
    pub hides_disk: bool,
}

impl Usage {
    /// Returns whether there is no process.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Returns resident memory in megabytes.
    pub fn memory_mb(&self) -> f64 {
        self.own_kb as f64 / 1024.0
    }

    /// Returns the values at this moment, some seconds after `before`. A process that did not exist
    /// then counts with everything it has used.
    pub fn values(&self, before: &Self, seconds: f64) -> Vec<(&'static str, f64)> {
        let mut grown = [0_u64; 4];
        for (process, now) in &self.each {
            let then = before.each.get(process).copied().unwrap_or_default();
            for (grown, (now, then)) in grown.iter_mut().zip(now.iter().zip(then)) {
                *grown += now.saturating_sub(then);
            }
        }
        let [ticks, read, written, switches] = grown.map(|count| count as f64 / seconds.max(1e-9));
        let mut values = vec![
            ("cpu_percent", ticks * 100.0 / proc::TICKS_PER_SECOND),
            ("memory_mb", self.memory_mb()),
            ("threads", self.threads as f64),
            ("switches_per_s", switches),
        ];
        if !self.hides_disk {
            let mb = 1024.0 * 1024.0;
            values.extend([("disk_read_mb_s", read / mb), ("disk_write_mb_s", written / mb)]);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn usage(each: &[(u32, [u64; 4])]) -> Usage {
        let each = each.iter().map(|(pid, counts)| ((*pid, 1), *counts)).collect();
        Usage { each, threads: 3, own_kb: 2048, hides_disk: false }
    }

    #[test]
    fn usage_includes_processes_that_started_or_ended_meanwhile() {
        let before = usage(&[(1, [100, 0, 0, 10]), (2, [900, 0, 0, 0])]);
        let now = usage(&[(1, [150, 0, 4 * 1024 * 1024, 30]), (3, [50, 0, 0, 0])]);

        let values = now.values(&before, 2.0);

        let of = |name: &str| values.iter().find(|(of, _)| *of == name).unwrap().1;
        assert!((of("cpu_percent") - 50.0).abs() < 1e-9);
        assert!((of("disk_write_mb_s") - 2.0).abs() < 1e-9);
        assert!((of("switches_per_s") - 10.0).abs() < 1e-9);
        assert_eq!((of("memory_mb"), of("threads")), (2.0, 3.0));
    }

    #[test]
    fn a_program_is_found_with_its_children_but_never_this_process() {
        let mut child = Command::new("sh").args(["-c", "sleep 30 & wait"]).spawn().unwrap();
        let mut table = Processes::default();
        let pattern = What::Named("sh -c sleep 30 & wait".into());
        // The shell takes a moment to start and to create its own child.
        let found = (0..500).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            table.read(true);
            (table.find(&pattern), table.find(&What::Process(child.id())))
        });
        let (named, numbered) =
            found.into_iter().find(|(named, _)| named.len() > 1).unwrap_or_default();
        let everyone = table.find(&What::Named("*".into()));
        let usage = table.usage(&named);
        child.kill().unwrap();
        child.wait().unwrap();
        for grandchild in named.iter().filter(|pid| **pid != child.id()) {
            _ = Command::new("kill").arg(grandchild.to_string()).output();
        }

        assert!(named.contains(&child.id()) && numbered == named, "{named:?} {numbered:?}");
        assert!(!everyone.contains(&std::process::id()));
        assert!(usage.memory_mb() > 0.0 && !usage.is_empty());
    }
}
