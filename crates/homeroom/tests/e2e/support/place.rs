//! A test's own folder, and commands that run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Database, PATIENCE};

/// A folder that is removed when the value is dropped. The store is in `data` within it, or at a
/// URL.
pub struct Place(PathBuf, Option<String>);

impl Place {
    /// Runs a test on each kind of store.
    pub fn on_each_store(test: impl Fn(&Self)) {
        test(&Self::new());
        for database in Database::on_each_server() {
            test(&Self::with_store(&database.url()));
        }
    }

    /// Returns the URL of the store.
    pub fn store_url(&self) -> String {
        let file = || format!("sqlite:{}", self.data().join("homeroom.db").display());
        self.1.clone().unwrap_or_else(file)
    }

    /// Creates a new, empty folder. Its path is short, because the path of a socket has to be.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hr-e2e-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path, None)
    }

    /// Does the same as [`Place::new`], with the store at a URL.
    pub fn with_store(url: &str) -> Self {
        let mut place = Self::new();
        place.1 = Some(url.to_owned());
        place
    }

    /// Returns a path in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the folder of the store.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Returns a command that starts the program in the folder, without this process's own
    /// configuration.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_homeroom"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HOMEROOM_") {
                command.env_remove(name);
            }
        }
        command.env("HOMEROOM_STORE__DATA_DIR", self.data());
        if let Some(url) = &self.1 {
            command.env("HOMEROOM_STORE__URL", url);
        }
        command
    }

    /// Runs a command on the store of this place.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// Runs a command that must succeed. Returns what it printed.
    pub fn done(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.stdout
    }

    /// Does the same as [`Place::done`] and parses the output as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).unwrap()
    }

    /// Creates a key with a claim set. Returns key and secret.
    pub fn key(&self, claim_set: &str) -> (String, String) {
        let made = self.json(&["keys", "create", "--claim-set", claim_set, "--json"]);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("key"), text("secret"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How a command ended, and its output.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; [`None`] if a signal ended it.
    pub code: Option<i32>,
    /// The standard output.
    pub stdout: String,
    /// The standard error output.
    pub stderr: String,
}

impl Ran {
    /// Runs a command that should end on its own soon, such as a server that refuses to start.
    pub fn to_its_end(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > PATIENCE {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Self::from(child.wait_with_output().unwrap())
    }

    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
