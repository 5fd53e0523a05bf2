//! What connections that nobody uses cost: memory each, and the time of reads beside them.
//!
//! Each round reads a document by id at a fixed rate without them, opens them, each with one answer, and reads again
//! while they are idle. A process has as many connections as it may have open files.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::figures::Figures;
use super::files::text;
use super::load::LabLoad;
use super::options::Options;
use super::server::{Build, Server};
use super::work::ATTENDANCE;
use crate::house::Done;

/// The reads a second.
const RATE: u32 = 5_000;
/// The most connections, and the open files that are left for everything else.
const CONNECTIONS_MAX: usize = 50_000;
const SPARE: u64 = 1_500;
/// How long connections rest before their memory is read: at first, and when what they used is free again.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(15);

/// Measures each round.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let data = options.folder.join("idle");
    let build = Build::present();
    build.run(&["load", text(district), "--data-dir", text(&data)])?;
    let limit = getrlimit(Resource::Nofile);
    let open = limit.maximum.unwrap_or(u64::MAX);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, raised).map_err(|e| e.to_string())?;
    let count = usize::try_from(open.saturating_sub(SPARE)).unwrap_or(usize::MAX);
    let count = count.min(CONNECTIONS_MAX);
    let mut environment = options.environment.clone();
    let most = (count + 1_000).to_string();
    environment.push(("HOMEROOM_SERVER__CONNECTIONS_MAX".to_owned(), most));
    let server = Server::start(&build, &data, &environment)?;
    let client = server.client(&["--claim-set", "FullAccess"])?;
    let reads = ATTENDANCE.get("reads", &client)?;
    let (seconds, folder) = (options.seconds, options.folder.as_path());
    let load = LabLoad { users: 0, threads: 1, seconds, folder };
    let mut figures = Figures::default();
    figures.push("idle connections", 0, count as f64);
    load.at_rate(&server.url(""), &reads, &client, RATE)?;
    for _ in 0..options.rounds {
        let before = server.anonymous_kib()?;
        let without = load.at_rate(&server.url(""), &reads, &client, RATE)?;
        let idle = (0..count).map(|at| idle(&server, at)).collect::<Result<Vec<_>, _>>()?;
        for (name, rest) in [("1 s", SHORT), ("15 s", LONG.saturating_sub(SHORT))] {
            std::thread::sleep(rest);
            let each = (server.anonymous_kib()? - before) / count as f64;
            figures.push(&format!("memory of each, {name} after its answer, KiB"), 1, each);
        }
        let beside = load.at_rate(&server.url(""), &reads, &client, RATE)?;
        let closed = idle.iter().filter(|connection| is_closed(connection)).count();
        figures.push("connections that the server closed meanwhile", 0, closed as f64);
        for (name, run) in [("without them", &without), ("beside them", &beside)] {
            figures.push(&format!("GET by id, {RATE}/s, {name}, p99 ms"), 3, run.p99_ms);
            figures.push(&format!("the same, {name}, failed"), 0, run.errors);
        }
        drop(idle);
        std::thread::sleep(SHORT);
    }
    figures.write(table);
    Ok(())
}

/// Opens a connection that has had one answer.
fn idle(server: &Server, at: usize) -> Result<TcpStream, String> {
    let failed = |error: std::io::Error| format!("connection {at}: {error}");
    let mut stream = TcpStream::connect(("127.0.0.1", server.build.port())).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").map_err(failed)?;
    let mut answer = [0; 4096];
    let bytes = stream.read(&mut answer).map_err(failed)?;
    stream.set_nonblocking(true).map_err(failed)?;
    if bytes == 0 { Err(format!("connection {at} was closed")) } else { Ok(stream) }
}

/// Returns whether the other side has closed a connection that has nothing to read.
fn is_closed(connection: &TcpStream) -> bool {
    matches!(connection.peek(&mut [0]), Ok(0))
}
