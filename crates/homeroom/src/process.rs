//! What the system knows about this process and the disks that it writes to.

use std::fmt::Write as _;
use std::path::Path;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Free space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What this process may still write.
    pub free: u64,
    /// The size of the file system.
    pub size: u64,
}

impl Space {
    /// Returns the space of the file system with this file, or with the folder of a file that does
    /// not exist; `None` where the system does not say.
    pub fn at(path: &Path) -> Option<Self> {
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        let found = rustix::fs::statvfs(there).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Self { free: bytes(found.f_bavail), size: bytes(found.f_blocks) })
    }
}

/// Figures of this process, under the names that Prometheus' clients use.
///
/// Source: Prometheus, Writing client libraries, Process metrics; proc(5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    cpu_seconds: f64,
    start_time_seconds: f64,
    resident_bytes: u64,
    virtual_bytes: u64,
    threads: u64,
    open_files: u64,
    open_files_max: Option<u64>,
}

/// Raises the limit on open files as far as the system allows: each connection of a server is one, and
/// so is each file that a load unpacks, and the usual limit is 1,024. Returns the limit.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(limit = limit.current, %error, "the limit of open files cannot be raised");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

impl Process {
    /// Reads the figures; `None` on a system without `/proc`.
    pub fn read() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let boot = std::fs::read_to_string("/proc/stat").ok()?;
        let open_files = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
        let limit = getrlimit(Resource::Nofile);
        Self::of(&stat, &boot, open_files, limit.current)
    }

    fn of(stat: &str, boot: &str, open_files: u64, open_files_max: Option<u64>) -> Option<Self> {
        // The program's name may contain blanks and parentheses; field 3 follows it.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let booted = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
        let booted: u64 = booted.trim().parse().ok()?;
        Some(Self {
            cpu_seconds: seconds(field(14)? + field(15)?),
            start_time_seconds: seconds(field(22)? + booted * clock_ticks_per_second()),
            resident_bytes: field(24)? * page_size() as u64,
            virtual_bytes: field(23)?,
            threads: field(20)?,
            open_files,
            open_files_max,
        })
    }

    /// Adds the figures to a text of metrics, in the form of OpenMetrics.
    pub fn write(&self, out: &mut String) {
        let mut gauge = |name: &str, help: &str, value: &dyn std::fmt::Display| {
            _ = write!(out, "# HELP {name} {help}.\n# TYPE {name} gauge\n{name} {value}\n");
        };
        let name = "process_start_time_seconds";
        gauge(name, "Start of the process, in seconds since 1970", &self.start_time_seconds);
        gauge("process_resident_memory_bytes", "Resident memory", &self.resident_bytes);
        gauge("process_virtual_memory_bytes", "Virtual memory", &self.virtual_bytes);
        gauge("process_threads", "Threads", &self.threads);
        gauge("process_open_fds", "Open files, connections included", &self.open_files);
        if let Some(limit) = self.open_files_max {
            gauge("process_max_fds", "Most open files that the system allows", &limit);
        }
        let (name, help) = ("process_cpu_seconds", "Processor time used, in seconds");
        _ = write!(
            out,
            "# HELP {name} {help}.\n# TYPE {name} counter\n{name}_total {}\n",
            self.cpu_seconds
        );
    }
}

/// Converts ticks of the clock into seconds.
#[expect(clippy::cast_precision_loss, reason = "a time in ticks is far below 2^52")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_fields_after_a_name_with_blanks_and_parentheses() {
        let stat = "42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 200 100 0 0 20 0 7 0 5000 4096 3 0 0";

        let process = Process::of(stat, "cpu 1\nbtime 1000\n", 9, Some(64)).unwrap();

        let mut text = String::new();
        process.write(&mut text);
        assert!(text.contains("\nprocess_cpu_seconds_total 3\n"), "{text}");
        assert!(text.contains("\nprocess_start_time_seconds 1050\n"), "{text}");
        assert!(text.contains("\nprocess_virtual_memory_bytes 4096\n"), "{text}");
        assert!(text.contains("\nprocess_threads 7\n"), "{text}");
        assert!(text.contains("\nprocess_max_fds 64\n"), "{text}");
    }

    #[test]
    fn this_process_has_figures_and_its_disk_has_a_size() {
        let process = Process::read().unwrap();
        let space = Space::at(Path::new("/nowhere/at/all")).unwrap();

        assert!(process.resident_bytes > 0 && process.open_files > 0);
        assert!(space.size > 0 && space.free <= space.size);
    }
}
