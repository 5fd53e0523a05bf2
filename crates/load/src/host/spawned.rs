//! A server that is started for a measurement, with a limit on its memory.
#![expect(clippy::disallowed_methods, reason = "a server is given some time to end")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::process::Processes;
use super::watch::What;

/// How long a server may take to end after it was asked to.
const END_WITHIN: Duration = Duration::from_secs(15);
/// The time between looks at a server that ends.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The mount point of control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// What enforces a limit on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforced {
    /// A control group of the kernel, which counts the resident memory of all processes together.
    Group,
    /// A limit on the private memory of each process (`RLIMIT_DATA`), where no control group can be
    /// made.
    Data,
    /// Nothing: no limit was asked for.
    Nothing,
}

/// A server that was started, with its process group; it is ended when the value is dropped.
#[derive(Debug)]
pub struct Spawned {
    child: Child,
    group: Option<PathBuf>,
    enforced: Enforced,
}

impl Spawned {
    /// Starts a command in a shell; its output goes to stderr.
    ///
    /// # Errors
    ///
    /// If the system cannot start a process.
    pub fn start(command: &str, memory_bytes: Option<u64>) -> io::Result<Self> {
        let group = memory_bytes.and_then(control_group);
        let enforced = match (&group, memory_bytes) {
            (Some(_), _) => Enforced::Group,
            (None, Some(_)) => Enforced::Data,
            (None, None) => Enforced::Nothing,
        };
        let mut shell = Command::new("sh");
        // The shell enters the limit and becomes the command, so the command never runs without it.
        match (&group, memory_bytes) {
            (Some(group), _) => {
                shell.args(["-c", "echo $$ > \"$0\" && eval \"exec $1\""]);
                shell.arg(group.join("cgroup.procs")).arg(command);
            }
            (None, Some(bytes)) => {
                shell.args(["-c", "ulimit -d \"$0\" && eval \"exec $1\""]);
                shell.arg((bytes / 1024).to_string()).arg(command);
            }
            (None, None) => {
                shell.args(["-c", "eval \"exec $0\""]).arg(command);
            }
        }
        shell.stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
        let started = shell.spawn();
        if started.is_err()
            && let Some(group) = &group
        {
            remove(group);
        }
        Ok(Self { child: started?, group, enforced })
    }

    /// Returns its process id, which is also the number of its process group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what enforces the limit on its memory.
    pub fn enforced(&self) -> Enforced {
        self.enforced
    }

    /// Returns how it ended, in words; `None` while it runs.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) {
            _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
        let asked = Instant::now();
        while self.ended().is_none() && asked.elapsed() < END_WITHIN {
            thread::sleep(LOOK_EVERY);
        }
        // Descendants that outlive it would keep its address.
        self.signal(Signal::KILL);
        _ = self.child.wait();
        if let Some(group) = &self.group {
            remove(group);
        }
    }
}

/// Returns the resident memory of a process or program with its descendants, in megabytes; `None`
/// if there is none.
pub fn resident_mb(what: &What) -> Option<f64> {
    let mut processes = Processes::default();
    processes.read(matches!(what, What::Named(_)));
    let usage = processes.usage(&processes.find(what));
    (!usage.is_empty()).then(|| usage.memory_mb())
}

/// Makes a control group with a limit on memory, below the group of this process or beside it.
fn control_group(bytes: u64) -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let name = format!("homeroom-lab-{}", std::process::id());
    places(&own).into_iter().find_map(|(folder, file)| {
        let group = folder.join(&name);
        std::fs::create_dir(&group).ok()?;
        let limited = group.join(file);
        // Without the controller the file is missing; it must not be created as an ordinary one.
        let done = limited.is_file() && std::fs::write(&limited, bytes.to_string()).is_ok();
        if !done {
            remove(&group);
        }
        done.then_some(group)
    })
}

/// Returns the folders in which a control group for memory may be made, each with the name of the
/// file for the limit: from the groups of this process, one a line.
fn places(own: &str) -> Vec<(PathBuf, &'static str)> {
    let mut places = vec![];
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let inside = Path::new(path).strip_prefix("/").unwrap_or(Path::new(""));
        if controllers.split(',').any(|controller| controller == "memory") {
            let folder = Path::new(GROUPS).join("memory").join(inside);
            places.push((folder, "memory.limit_in_bytes"));
        } else if controllers.is_empty() {
            let folder = Path::new(GROUPS).join(inside);
            // A group with processes may not have limited ones below it, but beside it.
            let beside = folder.parent().filter(|above| above.starts_with(GROUPS));
            places.extend(beside.map(|above| (above.to_owned(), "memory.max")));
            places.push((folder, "memory.max"));
        }
    }
    places
}

fn remove(group: &Path) {
    // Its last process may still be ending.
    for _ in 0..50 {
        if std::fs::remove_dir(group).is_ok() {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_runs_within_its_limit_and_ends_with_its_value() {
        let limit = 256 << 20;
        let mut server = Spawned::start("sleep 300", Some(limit)).unwrap();
        let id = server.id();
        let seen = (0..500).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
            line.starts_with(b"sleep").then_some(())
        });
        let group = std::fs::read_to_string(format!("/proc/{id}/cgroup")).unwrap_or_default();
        let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap_or_default();

        assert_eq!((seen, server.ended()), (Some(()), None));
        match server.enforced() {
            Enforced::Group => assert!(group.contains("homeroom-lab-"), "{group}"),
            Enforced::Data => assert!(limits.contains(&limit.to_string()), "{limits}"),
            Enforced::Nothing => panic!("a limit was asked for"),
        }
        assert!(resident_mb(&What::Process(id)).unwrap() > 0.0);
        drop(server);
        assert_eq!(resident_mb(&What::Process(id)), None);
    }

    #[test]
    fn a_command_that_ends_says_how() {
        let mut server = Spawned::start("false", None).unwrap();

        let ended = (0..500).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            server.ended()
        });

        assert!(ended.unwrap().contains('1'));
        assert_eq!(server.enforced(), Enforced::Nothing);
    }

    #[test]
    fn control_groups_are_made_below_or_beside_the_own_one() {
        let own = "4:memory:/a/b\n3:cpu:/c\n0::/user.slice/x.scope\n";

        let found: Vec<(String, &str)> = places(own)
            .into_iter()
            .map(|(folder, file)| (folder.display().to_string(), file))
            .collect();

        let group = |path: &str| format!("{GROUPS}/{path}");
        assert_eq!(
            found,
            [
                (group("memory/a/b"), "memory.limit_in_bytes"),
                (group("user.slice"), "memory.max"),
                (group("user.slice/x.scope"), "memory.max"),
            ]
        );
    }
}
