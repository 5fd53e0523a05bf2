//! Writing through the server for minutes, minute by minute, with the bytes that the server writes to the disk.
//!
//! `--held` creates with 64 clients, each with its next document when the last is durable. The documents refer to
//! those of a small district, so few students have many of them: what random students cost is measured by
//! `--sustained`. `--mix` holds 80 % of what the mix over every resource reached in a short trial; a run fails
//! whose 99th percentile is too many times that of a short trial at the same rate. Both fail if too many requests do.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::figures::{Bound, Figures};
use super::files::{text, write};
use super::load::{LabLoad, Scenario};
use super::options::Options;
use super::server::{BINARY, Build, Client, STORE, Server};
use super::work::{ASSESSMENT, Every, Made};
use crate::house::Done;

/// The clients.
const CLIENTS: u32 = 64;
/// The share of what a short trial holds at which the mix goes on.
const HELD: f64 = 0.8;
/// The shortest trial, in seconds.
const TRIAL_MIN: u32 = 15;
/// How many times that of a short trial at the same rate the 99th percentile of all minutes may be.
const LONGER_MAX: f64 = 1.5;
/// A trial at a fixed rate holds it if no more of its requests than this share ends otherwise than expected.
const FAILED_MAX: f64 = 0.001;
/// And if its 99th percentile is no longer than so many milliseconds.
const P99_MAX: f64 = 50.0;
/// The head of the table of the minutes.
const BY_MINUTE: &str =
    "\n| minute | requests/s | p50 ms | p99 ms | p99.9 ms |\n|---:|---:|---:|---:|---:|\n";
/// How much of the last rate the next trial asks for.
const LESS: f64 = 0.92;

/// Measures `options.minutes` minutes of creates on a store that begins with the district and `options.documents`
/// more.
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
    let created = ASSESSMENT.create("creates", &client)?;
    let stage = format!("{CLIENTS} users 1m");
    let mut figures = Figures::default();
    let all = minutes(options, &server, (&created, &client), &stage, &mut figures)?;
    if let Some(wrote) = all.wrote {
        let each = wrote as f64 / (all.requests - all.failed) / 1e3;
        figures.push("KB written a created document", 1, each);
    }
    let done = figures.judge(table);
    table.push_str(&all.by_minute);
    done
}

/// Looks for a rate of the mix that a short trial holds, and measures `options.minutes` minutes at 80 % of it.
///
/// Clients that wait for their answers say how much can be done at most; requests at a fixed rate do not wait
/// while the server pauses, so less of them can be held.
pub fn mix(options: &Options, district: &Path, table: &mut String) -> Done {
    let folder = &options.folder;
    let data = folder.join("mix");
    let build = Build::present();
    let every = Every::make(folder)?;
    build.run(&["load", text(district), "--data-dir", text(&data)])?;
    every.load(&build, &data)?;
    let server = Server::start(&build, &data, &options.environment)?;
    let client = server.client(&["--claim-set", "FullAccess"])?;
    let mix = every.mix(&client)?;
    let seconds = options.seconds.max(TRIAL_MIN);
    let trial = LabLoad { users: CLIENTS, threads: 1, seconds, folder };
    let reached = trial.run(&server.url(""), &mix, &client, 1)?;
    let mut figures = Figures::default();
    figures.push("clients that wait for answers, requests/s", 0, reached.rate);
    figures.push("clients that wait for answers, p99 ms", 1, reached.p99_ms);
    let (mut rate, mut held) = (reached.rate, None);
    while held.is_none() && rate > reached.rate / 4.0 {
        rate *= LESS;
        let run = trial.at_rate(&server.url(""), &mix, &client, whole(rate)?)?;
        if run.errors <= run.requests * FAILED_MAX && run.p99_ms <= P99_MAX {
            held = Some(run);
        }
    }
    let held = held.ok_or("no short trial held a rate")?;
    figures.push("short trial that held its rate, requests/s", 0, held.rate);
    figures.push("short trial that held its rate, p99 ms", 1, held.p99_ms);
    let share = (rate * HELD).round();
    let short = trial.at_rate(&server.url(""), &mix, &client, whole(share)?)?;
    figures.push("short trial at the share that is held, requests/s", 0, short.rate);
    figures.push("short trial at the share that is held, p99 ms", 1, short.p99_ms);
    let failed = short.errors / short.requests * 1e2;
    let most = Bound::AtMost(FAILED_MAX * 1e2);
    figures.require("short trial at the share that is held, % that failed", 3, failed, most);
    let stage = format!("{share}/s 1m");
    let all = minutes(options, &server, (&mix, &client), &stage, &mut figures)?;
    let longer = all.p99_ms / short.p99_ms;
    let most = Bound::AtMost(LONGER_MAX);
    figures.require("p99 of all by that of the short trial at their rate", 2, longer, most);
    if let Some(wrote) = all.wrote {
        figures.push("KB written a request", 1, wrote as f64 / all.requests / 1e3);
    }
    let done = figures.judge(table);
    table.push_str(&all.by_minute);
    done
}

/// Returns a rate as a whole number.
fn whole(rate: f64) -> Result<u32, String> {
    format!("{rate:.0}").parse().map_err(|_| format!("{rate} is no rate"))
}

/// What all minutes were.
struct All {
    requests: f64,
    /// Requests that ended otherwise than expected.
    failed: f64,
    p99_ms: f64,
    /// The bytes that the server has had written to the disk meanwhile, where it writes them itself.
    wrote: Option<u64>,
    /// A table of the minutes in order.
    by_minute: String,
}

/// Repeats a stage of a minute, and adds the figures of each and of all.
fn minutes(
    options: &Options,
    server: &Server,
    (scenario, client): (&Scenario, &Client),
    stage: &str,
    figures: &mut Figures,
) -> Result<All, String> {
    let folder = &options.folder;
    let file = folder.join("held.toml");
    write(&file, &scenario.text()?)?;
    let out = folder.join("held.json");
    let stages = vec![stage; options.minutes].join(", ");
    let before = server.disk("write_bytes")?;
    let done = Command::new(BINARY)
        .args(["lab", "run", "--target", &server.url(""), "--scenario", text(&file)])
        .args(["--stages", &stages, "--seed", "3", "--threads", "1", "--json", text(&out)])
        .args(["--key", &client.key])
        .env("HOMEROOM_LAB_SECRET", &client.secret)
        .output()
        .map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(format!("lab run failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let wrote = server.disk("write_bytes")?.saturating_sub(before);
    let run = std::fs::read(&out).map_err(|e| e.to_string())?;
    let run: Value = serde_json::from_slice(&run).map_err(|e| e.to_string())?;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let mut by_minute = String::from(BY_MINUTE);
    for (minute, stage) in run["stages"].as_array().into_iter().flatten().enumerate() {
        let [p50, p99, p99_9] = ["p50", "p99", "p99_9"].map(|of| number(&stage["response_ms"][of]));
        let rate = number(&stage["goodput"]);
        _ = writeln!(
            by_minute,
            "| {} | {rate:.0} | {p50:.1} | {p99:.1} | {p99_9:.1} |",
            minute + 1
        );
        figures.push("requests/s, by minute", 0, rate);
        figures.push("p99 ms, by minute", 1, p99);
        figures.push("p99.9 ms, by minute", 1, p99_9);
    }
    let (requests, failed) =
        (number(&run["requests"]["total"]), number(&run["requests"]["failed"]));
    let p99_ms = number(&run["response_ms"]["p99"]);
    figures.push("p99 ms, of all", 1, p99_ms);
    figures.push("p99.9 ms, of all", 1, number(&run["response_ms"]["p99_9"]));
    figures.push("requests", 0, requests);
    figures.push("requests that ended otherwise", 0, failed);
    let most = Bound::AtMost(FAILED_MAX * 1e2);
    figures.require("% of them", 3, failed / requests * 1e2, most);
    let wrote = std::env::var_os(STORE).is_none().then_some(wrote);
    Ok(All { requests, failed, p99_ms, wrote, by_minute })
}
