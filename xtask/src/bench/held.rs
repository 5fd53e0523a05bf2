//! Creates through the server for minutes: 64 clients, each with its next document when the last is durable, minute
//! by minute, with the bytes that the server writes to the disk. The documents refer to those of a small district, so
//! few students have many of them: what random students cost is measured by `--sustained`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::figures::Figures;
use super::files::{text, write};
use super::options::Options;
use super::server::{BINARY, Build, STORE, Server};
use super::work::{ASSESSMENT, Made};
use crate::house::Done;

/// The clients.
const CLIENTS: u32 = 64;

/// Measures `options.minutes` minutes on a store that begins with the district and `options.documents` more.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let folder = &options.folder;
    let data = folder.join("held");
    let build = Build::present();
    build.run(&["load", text(district), "--data-dir", text(&data)])?;
    let mut server = Server::start(&build, &data, &options.environment)?;
    let client = server.client(&["--claim-set", "FullAccess"])?;
    let bodies = ASSESSMENT.templates(&client)?;
    if options.documents > 0 {
        drop(server);
        let more = folder.join("more/studentAssessments.jsonl");
        Made::write_many(&bodies, options.documents, &more)?;
        build.run(&["load", text(&folder.join("more")), "--data-dir", text(&data)])?;
        server = Server::start(&build, &data, &options.environment)?;
    }
    let scenario = folder.join("creates.toml");
    write(&scenario, &ASSESSMENT.create("creates", &client)?.text()?)?;
    let out = folder.join("held.json");
    let minutes = vec![format!("{CLIENTS} users 1m"); options.minutes].join(", ");
    let before = written(&server)?;
    let done = Command::new(BINARY)
        .args(["lab", "run", "--target", &server.url(""), "--scenario", text(&scenario)])
        .args(["--stages", &minutes, "--seed", "1", "--threads", "1", "--json", text(&out)])
        .args(["--key", &client.key])
        .env("HOMEROOM_LAB_SECRET", &client.secret)
        .output()
        .map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(format!("lab run failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let wrote = written(&server)?.saturating_sub(before);
    let run = std::fs::read(&out).map_err(|e| e.to_string())?;
    let run: Value = serde_json::from_slice(&run).map_err(|e| e.to_string())?;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let mut figures = Figures::default();
    for stage in run["stages"].as_array().into_iter().flatten() {
        figures.push("creates/s, by minute", 0, number(&stage["goodput"]));
        figures.push("p99 ms, by minute", 1, number(&stage["response_ms"]["p99"]));
        figures.push("p99.9 ms, by minute", 1, number(&stage["response_ms"]["p99_9"]));
    }
    let created = number(&run["requests"]["total"]);
    figures.push("p99 ms, of all", 1, number(&run["response_ms"]["p99"]));
    figures.push("p99.9 ms, of all", 1, number(&run["response_ms"]["p99_9"]));
    figures.push("documents created", 0, created);
    figures.push("requests that ended otherwise", 0, number(&run["requests"]["failed"]));
    if std::env::var_os(STORE).is_none() {
        figures.push("KB written a document", 1, wrote as f64 / created / 1e3);
    }
    figures.write(table);
    Ok(())
}

/// Returns the bytes that a server has had written to the disk so far.
fn written(server: &Server) -> Result<u64, String> {
    let io = std::fs::read_to_string(format!("/proc/{}/io", server.pid()));
    let io = io.map_err(|e| e.to_string())?;
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).ok_or("no write_bytes in /proc/PID/io".into())
}
