//! Parses files of `/proc`. This module opens no file.
//!
//! Source: proc(5).

/// The unit of processor time, the same on all current architectures.
pub const TICKS_PER_SECOND: f64 = 100.0;

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The parent's process id.
    pub parent: u32,
    /// User and system time, in ticks.
    pub ticks: u64,
    /// When the process started, in ticks since boot; it distinguishes processes that reused an id.
    pub began: u64,
}

/// Reads `/proc/PID/stat`.
pub fn stat(text: &str) -> Option<Stat> {
    // The second field is a name in brackets, which may itself contain spaces and brackets.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)? + number(12)?,
        began: number(19)?,
    })
}

/// The fields of `/proc/PID/status` that are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Private resident memory in kB.
    pub own_kb: u64,
    /// Resident memory that other processes may share (files and shared memory), in kB.
    pub shared_kb: u64,
    /// The number of threads.
    pub threads: u64,
    /// Voluntary and involuntary context switches of this thread alone.
    pub switches: u64,
}

/// Reads `/proc/PID/status`; a zombie process has no memory.
pub fn status(text: &str) -> Status {
    let of = |name: &str| field(text, name).unwrap_or(0);
    Status {
        own_kb: of("RssAnon:"),
        shared_kb: of("RssFile:") + of("RssShmem:"),
        threads: of("Threads:"),
        switches: of("voluntary_ctxt_switches:") + of("nonvoluntary_ctxt_switches:"),
    }
}

/// Reads `/proc/PID/io`: bytes read from and written to disk.
pub fn io(text: &str) -> Option<(u64, u64)> {
    Some((field(text, "read_bytes:")?, field(text, "write_bytes:")?))
}

/// Reads `/proc/PID/cmdline`: the program without its folder, and its arguments, separated by
/// spaces.
pub fn command_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\0', ' ']).replace('\0', " ");
    let (program, arguments) = text.split_at(text.find(' ').unwrap_or(text.len()));
    format!("{}{arguments}", program.rsplit('/').next().unwrap_or_default())
}

/// The processor time of a whole machine, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    /// All time.
    pub total: u64,
    /// Time spent idle or waiting for a disk.
    pub idle: u64,
    /// Time taken by the host.
    pub steal: u64,
}

/// Reads `/proc/stat`.
pub fn cpu(text: &str) -> Option<Cpu> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // User, nice, system, idle, iowait, irq, softirq, steal; guest time is included in user time.
    let ticks: Vec<u64> =
        line.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let of = |at: usize| ticks.get(at).copied().unwrap_or(0);
    (ticks.len() >= 4).then(|| Cpu { total: ticks.iter().sum(), idle: of(3) + of(4), steal: of(7) })
}

/// Reads `/proc/loadavg`: the load average of the last minute.
pub fn load(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Bytes transferred over a machine's network interfaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Network {
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes that the machine sent to itself.
    pub loopback: u64,
}

/// Reads `/proc/net/dev`.
pub fn network(text: &str) -> Network {
    let mut sums = Network::default();
    for line in text.lines() {
        let Some((name, counts)) = line.split_once(':') else { continue };
        let counts: Vec<u64> =
            counts.split_ascii_whitespace().map_while(|count| count.parse().ok()).collect();
        let [received, sent] = [0, 8].map(|at: usize| counts.get(at).copied().unwrap_or(0));
        if name.trim() == "lo" {
            sums.loopback += sent;
        } else {
            sums.received += received;
            sums.sent += sent;
        }
    }
    sums
}

/// Reads `/proc/meminfo`: total and available memory, in kB.
pub fn memory(text: &str) -> Option<(u64, u64)> {
    Some((field(text, "MemTotal:")?, field(text, "MemAvailable:")?))
}

/// Reads `/proc/cpuinfo`: the model of the first processor, and the number of processors.
pub fn processors(text: &str) -> (String, u32) {
    let named = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    // Some processors have no model name.
    let model = named("model name").or_else(|| named("Hardware")).or_else(|| named("cpu model"));
    (model.unwrap_or_default(), u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the first number on the line that begins with `name`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_any_name_can_be_parsed() {
        let rest = "S 7 8 8 0 -1 4194304 99 0 0 0 310 45 0 0 20 0 9 0 3815738 3133440 413";

        for name in ["cat", "a b", "x) R 1 (", ":-)"] {
            let found = stat(&format!("8 ({name}) {rest}\n"));

            assert_eq!(found, Some(Stat { parent: 7, ticks: 355, began: 3_815_738 }), "{name}");
        }
        for text in ["", "8 (cat", "8 (cat) S 7", "8 (cat) S x y"] {
            assert_eq!(stat(text), None, "{text}");
        }
    }

    #[test]
    fn memory_of_a_process_is_split_into_private_and_shared() {
        let text = "Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t     500 kB\nRssFile:\t     300 kB\n\
                    RssShmem:\t     100 kB\nThreads:\t12\nvoluntary_ctxt_switches:\t40\n\
                    nonvoluntary_ctxt_switches:\t2\n";

        let found = status(text);

        let wanted = Status { own_kb: 500, shared_kb: 400, threads: 12, switches: 42 };
        assert_eq!((found, status("Name: gone")), (wanted, Status::default()));
    }

    #[test]
    fn disk_bytes_are_those_that_reached_a_disk() {
        let text = "rchar: 6976\nwchar: 5\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\n\
                    write_bytes: 8192\ncancelled_write_bytes: 0\n";

        assert_eq!((io(text), io("rchar: 1")), (Some((4096, 8192)), None));
    }

    #[test]
    fn a_command_line_is_the_program_and_its_arguments() {
        for (bytes, line) in [
            (&b"/usr/bin/homeroom\0serve\0--port\08001\0"[..], "homeroom serve --port 8001"),
            (b"postgres: 15/main: checkpointer \0\0\0", "postgres: 15/main: checkpointer"),
            (b"/usr/lib/postgresql/15/bin/postgres\0-D\0/var", "postgres -D /var"),
            (b"", ""),
            (b"\xff\0", "\u{fffd}"),
        ] {
            assert_eq!(command_line(bytes), line);
        }
    }

    #[test]
    fn processor_time_includes_idle_and_stolen_time() {
        let text = "cpu  400 95 61 1763 89 1 7 24 3 0\ncpu0 1 1 1 1\n";

        let wanted = Cpu { total: 2440, idle: 1852, steal: 24 };
        assert_eq!((cpu(text), cpu("cpu0 1 2"), cpu("cpu  1 2")), (Some(wanted), None, None));
    }

    #[test]
    fn loopback_traffic_is_counted_separately() {
        let text = "Inter-|   Receive                |  Transmit\n face |bytes    packets|bytes\n    \
                    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  eth0: 20 1 0 0 0 0 0 0 30 1 0 0 0 0 0 \
                    0\n  eth1:5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";

        assert_eq!(network(text), Network { received: 25, sent: 37, loopback: 100 });
    }

    #[test]
    fn load_memory_and_processor_count_of_a_machine_are_read() {
        let memory_text = "MemTotal: 24684092 kB\nMemFree: 1 kB\nMemAvailable: 23433008 kB\n";
        let cpus =
            "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n\nprocessor\t: 1\nmodel name\t: x\n";

        assert_eq!(load("3.55 2.69 2.21 7/158 2313"), Some(3.55));
        assert_eq!(memory(memory_text), Some((24_684_092, 23_433_008)));
        assert_eq!(processors(cpus), ("Some CPU @ 3 GHz".into(), 2));
        assert_eq!((load(""), memory(""), processors("")), (None, None, (String::new(), 0)));
    }
}
