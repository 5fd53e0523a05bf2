//! Processes that a test kills. A test starts its own program again with nothing but itself to run,
//! and finds out by [`argument`] in which of the two processes it is.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// The variable with the victim's argument.
const ARGUMENT: &str = "HOMEROOM_TEST_VICTIM";
/// What a line begins with that a victim says.
const SAYS: &str = "victim: ";
/// Longest life of a victim that nobody kills.
const LIFE: Duration = Duration::from_mins(2);

/// A process that runs one test until it is killed.
#[derive(Debug)]
pub struct Victim {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

/// Returns the victim's argument, if this process is one.
pub fn argument() -> Option<String> {
    std::env::var(ARGUMENT).ok()
}

/// Says a line to the test that has started this process.
pub fn say(line: &str) {
    eprintln!("\n{SAYS}{line}");
}

/// Waits to be killed.
pub fn wait() {
    std::thread::sleep(LIFE);
}

impl Victim {
    /// Starts a test of this program, by its full name, in a process of its own.
    pub fn start(test: &str, argument: &str) -> Self {
        let program = std::env::current_exe().expect("a test's program has a place");
        let mut command = Command::new(program);
        command.args(["--exact", test, "--nocapture"]).env(ARGUMENT, argument);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a test's program starts");
        let stderr = child.stderr.take().expect("it is piped");
        Self { child, lines: BufReader::new(stderr).lines() }
    }

    /// Returns the next line that the victim says.
    pub fn line(&mut self) -> String {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        let said = lines.find_map(|line| line.strip_prefix(SAYS).map(str::to_owned));
        said.expect("the victim speaks before it ends")
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.end();
    }
}
