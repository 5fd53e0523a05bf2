//! Measures a server that is asked for ten times as much as it can do: how much of its peak it still
//! does, how fast it refuses, what a client within its share notices, and how soon all is well again.
//!
//! Each case finds the peak with 16, 64 and 256 clients, measures a client that sends twenty requests a
//! second, alone, and then again while another key sends ten times the peak over a thousand
//! connections. Refusals are timed by further connections of the flooding key. A run in which a bound is missed
//! fails, after it has printed all figures. Where the generator sent less than nine tenths of what it was asked for,
//! the table says so beside each bound: that it is kept shows nothing then.
//!
//! Whatever is not a good answer is a refusal, and one without any answer, such as a closed connection or a time-out,
//! counts as a minute. `--case TEXT` measures only the cases with this text in their names.
//!
//! On one machine a generator that offers ten times of what takes microseconds needs as much of the processor as
//! the server. So the server has one half of the cores, for the peak and for the flood, and the generator and
//! the clients the other, where the clients go first; and there is a case whose requests cost milliseconds, a page
//! of 500 documents. `--sync-delay` makes creates wait for a slower disk. What the generator used is in the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::echo::Echo;
use super::figures::Bound;
use super::files::{text, write};
use super::load::{LabLoad, Scenario};
use super::options::Options;
use super::server::{BINARY, Build, Client, Server};
use super::work::{ASSESSMENT, ATTENDANCE};
use crate::house::Done;

/// How many times the peak is offered.
const TIMES: f64 = 10.0;
/// Seconds of the flood that are not counted, and that are.
const BEFORE: u64 = 10;
const COUNTED: u64 = 10;
/// The part of that, in %, from which on the flood was one.
const OFFERED: f64 = 90.0;
/// The longest time in milliseconds after which a request is refused.
const REFUSED_AFTER: f64 = 50.0;
/// The time in milliseconds of a request that got no answer.
const NO_ANSWER: f64 = 60_000.0;
/// The pause between two requests of the client within its share.
const PAUSE: Duration = Duration::from_millis(50);
/// The connections that time refusals.
const REFUSED: usize = 4;
/// What answers behind the published API: so many requests a second, four at a time.
const UPSTREAM: &[&str] =
    &["--capacity", "400", "--workers", "4", "--queue", "2s", "--body", "50B"];

/// The figure that says how much of the flood there was.
const SHARE: &str = "offered of what was asked of the lab, %";

/// What is flooded.
struct Case<'a> {
    name: &'static str,
    scenario: &'a Scenario,
    /// The method, the path and the body of the client's requests; `%s` in the body is an identifier.
    request: (&'static str, String, String),
}

/// Measures each case in one round after the other.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let folder = &options.folder;
    let data = folder.join("overload");
    let build = Build::present();
    build.run(&["load", "--data-dir", text(&data), text(district)])?;
    let apis = folder.join("apis.toml");
    write(&apis, &published())?;
    let halves = Halves::of_this_machine();
    println!("{}\n", halves.told());
    halves.of_the_server()?;
    let _echo = Echo::start(UPSTREAM)?;
    let server = Server::start(&build, &data, &options.environment)?;
    halves.of_the_clients()?;
    build.run(&["gateway", "apply", text(&apis), "--data-dir", text(&data)])?;
    let key = |name| {
        let rights = ["--claim-set", "FullAccess", "--apis", "echo", "--plan", "all"];
        server.client(&[&rights[..], &["--name", name]].concat())
    };
    let (flooding, within) = (key("flooding")?, key("within its share")?);
    let created = ASSESSMENT.create("creates", &flooding)?;
    let read = ASSESSMENT.get("reads", &flooding)?;
    let mut called = Scenario::new("calls");
    called.step(json!({"name": "call", "path": "/apis/echo/v1/", "expect": 200}));
    let body = ASSESSMENT.templates(&flooding)?.swap_remove(0);
    let id = flooding.ids(&format!("{}?limit=1", ASSESSMENT.path))?.swap_remove(0);
    let mut listed = Scenario::new("pages");
    let page = format!("{}?limit=500", ATTENDANCE.path);
    listed.step(json!({"name": "page", "path": page, "expect": 200}));
    let cases = [
        Case {
            name: "published API, upstream of 400/s",
            scenario: &called,
            request: ("GET", "/apis/echo/v1/".into(), String::new()),
        },
        Case {
            name: "/data creates",
            scenario: &created,
            request: ("POST", ASSESSMENT.path.into(), body),
        },
        Case {
            name: "/data GET by id",
            scenario: &read,
            request: ("GET", format!("{}/{id}", ASSESSMENT.path), String::new()),
        },
        Case {
            name: "/data page of 500",
            scenario: &listed,
            request: ("GET", page.clone(), String::new()),
        },
    ];
    // Each run that creates draws serial numbers of its own.
    let (mut number, serial) = (100, AtomicU32::new(0));
    let mut missed = vec![];
    for round in 1..=options.rounds {
        let is_wanted = |case: &&Case<'_>| {
            options.case.as_ref().is_none_or(|part| case.name.contains(part.as_str()))
        };
        for case in cases.iter().filter(is_wanted) {
            let found =
                case.measure(options, &server, [&flooding, &within], (&mut number, &serial))?;
            let is_offered =
                found.iter().any(|figure| figure.what == SHARE && figure.value >= OFFERED);
            for Figure { what, value, digits, bound } in found {
                let name = format!("{}, round {round}: {what}", case.name);
                let mut required = bound.map(Bound::told).unwrap_or_default();
                if bound.is_some() && !is_offered {
                    required.push_str(" (not offered)");
                }
                writeln!(table, "| {name} | {value:.digits$} | {required} |")
                    .map_err(|error| error.to_string())?;
                if bound.is_some_and(|bound| !bound.holds(value)) {
                    missed.push(format!("{name}: {value:.digits$}, {required}"));
                }
            }
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("missed:\n{}", missed.join("\n"))) }
}

/// The cores of the server, and those of the generator and the clients.
struct Halves {
    /// [`None`] where there is one core, or no `taskset`.
    cores: Option<[String; 2]>,
}

impl Halves {
    fn of_this_machine() -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let has_taskset = Command::new("taskset").arg("-V").output().is_ok();
        let cores = (count >= 2 && has_taskset).then(|| {
            let half = count / 2;
            [format!("0-{}", half - 1), format!("{half}-{}", count - 1)]
        });
        Self { cores }
    }

    fn told(&self) -> String {
        match &self.cores {
            Some([server, clients]) => {
                format!(
                    "The server has the cores {server}, generator and clients the cores {clients}."
                )
            }
            None => "Server, generator and clients share all cores.".to_owned(),
        }
    }

    /// Has this process and those that it starts from now on use the server's cores.
    fn of_the_server(&self) -> Done {
        self.cores.as_ref().map_or(Ok(()), |[server, _]| pin(server))
    }

    /// Does the same with those of the generator and the clients.
    fn of_the_clients(&self) -> Done {
        self.cores.as_ref().map_or(Ok(()), |[_, clients]| pin(clients))
    }
}

/// Has this thread and the processes and threads that it starts use these cores.
fn pin(cores: &str) -> Done {
    let pinned = Command::new("taskset")
        .args(["-cp", cores, &std::process::id().to_string()])
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("taskset: {error}"))?;
    if pinned.success() { Ok(()) } else { Err(format!("taskset did not take the cores {cores}")) }
}

/// A figure with the bound that it must keep, if any.
struct Figure {
    what: &'static str,
    value: f64,
    digits: usize,
    bound: Option<Bound>,
}

/// Returns the file of what is published.
fn published() -> String {
    format!(
        "[[plans]]\nname = \"all\"\nrequests_per_second = 1000000\nburst = 1000000\n\n\
         [[apis]]\nname = \"echo\"\ncontext = \"echo\"\nversion = \"v1\"\nupstream = [\"{}\"]\n\
         plan = \"all\"\ntimeout = \"10s\"\n",
        Echo::url().trim_end_matches('/')
    )
}

impl Case<'_> {
    fn measure(
        &self,
        options: &Options,
        server: &Server,
        [flooding, within]: [&Client; 2],
        (number, serial): (&mut u32, &AtomicU32),
    ) -> Result<Vec<Figure>, String> {
        let folder = &options.folder;
        let mut peak: f64 = 0.0;
        for users in [16, 64, 256] {
            *number += 100;
            let load = LabLoad { users, threads: 1, seconds: options.seconds, folder };
            let run = load.run(&server.url(""), self.scenario, flooding, *number)?;
            peak = peak.max(run.rate);
        }
        let alone = AtomicBool::new(false);
        let idle = self.paced(within, serial, &alone, Duration::from_secs(COUNTED));
        if idle.iter().any(|ms| *ms >= NO_ANSWER) {
            return Err(format!("{}: the client is refused although it is alone", self.name));
        }
        *number += 5_000;
        let out = folder.join("flood.json");
        let rate = (TIMES * peak).round();
        // The client and those who time refusals go before the generator.
        let mut flood = Command::new("nice")
            .args(["-n", "10", BINARY])
            .args(["lab", "run", "--target", &server.url(""), "--json", text(&out)])
            .args(["--scenario", text(&folder.join(format!("{}.toml", self.scenario.name())))])
            .args(["--stages", &format!("{rate}/s {BEFORE}s, {rate}/s {COUNTED}s")])
            .args(["--connections", "1000", "--threads", "1", "--seed", &number.to_string()])
            .args(["--key", &flooding.key])
            .env("HOMEROOM_LAB_SECRET", &flooding.secret)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        *number += 5_000;
        let planned = Instant::now() + Duration::from_secs(BEFORE + COUNTED);
        std::thread::sleep(Duration::from_secs(BEFORE));
        let is_over = AtomicBool::new(false);
        let refused = Mutex::new(BTreeMap::<u16, Vec<f64>>::new());
        let busy = std::thread::scope(|scope| {
            for _ in 0..REFUSED {
                scope.spawn(|| self.hurried(flooding, serial, &is_over, &refused));
            }
            let time = Duration::from_secs(COUNTED.saturating_sub(1));
            let busy = self.paced(within, serial, &is_over, time);
            is_over.store(true, Ordering::Relaxed);
            busy
        });
        std::thread::sleep(planned.saturating_duration_since(Instant::now()));
        let well = self.well_again(flooding, serial)?;
        let ended = flood.wait().map_err(|e| e.to_string())?;
        if !ended.success() {
            return Err(format!("{}: the flood failed", self.name));
        }
        let run = std::fs::read(&out).map_err(|e| e.to_string())?;
        let run: Value = serde_json::from_slice(&run).map_err(|e| e.to_string())?;
        let goodput = run["stages"][1]["goodput"].as_f64().unwrap_or(f64::NAN);
        let answered = run["stages"][1]["answered_per_s"].as_f64().unwrap_or(f64::NAN);
        let sent =
            run["stages"][1]["requests"]["total"].as_f64().unwrap_or(f64::NAN) / COUNTED as f64;
        let cpu = run["generator"]["cpu_s"].as_f64().unwrap_or(f64::NAN);
        let cpu_share = 100.0 * cpu / (BEFORE + COUNTED) as f64;
        let mut refused = refused.into_inner().unwrap_or_default();
        let count: usize = refused.values().map(Vec::len).sum();
        let unanswered = refused.get(&0).map_or(0, Vec::len);
        refused.retain(|status, _| !is_good(*status));
        let refusals: Vec<f64> = refused.into_values().flatten().collect();
        let share = |of: usize| 100.0 * of as f64 / count.max(1) as f64;
        let (refused_share, unanswered_share) = (share(refusals.len()), share(unanswered));
        let (idle_p99, busy_p99) = (percentile(idle, 99), percentile(busy, 99));
        let figure = |what, value, digits, bound| Figure { what, value, digits, bound };
        // Whoever is not refused at all waits for no refusal.
        let refused_p99 = (!refusals.is_empty()).then(|| {
            let bound = Some(Bound::AtMost(REFUSED_AFTER));
            figure("refusals, p99 ms", percentile(refusals, 99), 1, bound)
        });
        let mut figures = vec![
            figure("peak, requests/s", peak, 0, None),
            figure("asked of the lab, requests/s", rate, 0, None),
            figure("offered, requests/s", sent, 0, None),
            figure(SHARE, 100.0 * sent / rate, 0, None),
            figure("used by the generator, % of a core", cpu_share, 0, None),
            figure("answered in any way, requests/s", answered, 0, None),
            figure(
                "goodput as a share of the peak, %",
                100.0 * goodput / peak,
                0,
                Some(Bound::AtLeast(90.0)),
            ),
            figure("refused, of those that were timed, %", refused_share, 0, None),
            figure("without any answer, of those that were timed, %", unanswered_share, 1, None),
            figure("client within its share alone, p99 ms", idle_p99, 2, None),
            figure("the same in the flood, p99 ms", busy_p99, 2, None),
            figure("the same as a multiple", busy_p99 / idle_p99, 1, Some(Bound::AtMost(4.0))),
            figure(
                "first good answer after the flood, ms",
                well.as_secs_f64() * 1e3,
                0,
                Some(Bound::AtMost(1_000.0)),
            ),
        ];
        figures.extend(refused_p99);
        Ok(figures)
    }

    /// Sends one request and returns its status and how long it took in milliseconds.
    fn send(&self, client: &Client, serial: &AtomicU32) -> Result<(u16, f64), String> {
        let (method, path, _) = &self.request;
        let body = self.body(serial);
        let begun = Instant::now();
        let status = client.status(method, path, &body)?;
        Ok((status, begun.elapsed().as_secs_f64() * 1e3))
    }

    /// Returns the body of the next request.
    fn body(&self, serial: &AtomicU32) -> String {
        let probe = serial.fetch_add(1, Ordering::Relaxed);
        self.request.2.replace("%s", &format!("probe-{probe}"))
    }

    /// Sends twenty requests a second, and returns how long each took in milliseconds. One that is
    /// refused or not answered counts as a minute.
    fn paced(
        &self,
        client: &Client,
        serial: &AtomicU32,
        is_over: &AtomicBool,
        time: Duration,
    ) -> Vec<f64> {
        let begun = Instant::now();
        let mut took = vec![];
        while begun.elapsed() < time && !is_over.load(Ordering::Relaxed) {
            // A connection that is closed unanswered is what this client may notice of the flood.
            let (status, ms) = self.send(client, serial).unwrap_or((0, NO_ANSWER));
            took.push(if is_good(status) { ms } else { NO_ANSWER });
            std::thread::sleep(PAUSE);
        }
        took
    }

    /// Sends one request after the other on one connection until the flood is over, and keeps the times by status.
    fn hurried(
        &self,
        client: &Client,
        serial: &AtomicU32,
        is_over: &AtomicBool,
        times: &Mutex<BTreeMap<u16, Vec<f64>>>,
    ) {
        let (method, path, _) = &self.request;
        let mut kept = client.kept();
        while !is_over.load(Ordering::Relaxed) {
            let body = self.body(serial);
            let body = Some(&*body).filter(|body| !body.is_empty());
            let begun = Instant::now();
            let status = kept.send(method, path, body).map(|answer| answer.status);
            let ms = begun.elapsed().as_secs_f64() * 1e3;
            let (status, ms) = status.map_or((0, NO_ANSWER), |status| (status, ms));
            if let Ok(mut times) = times.lock() {
                times.entry(status).or_default().push(ms);
            }
        }
    }

    /// Returns the time until the flooding key gets a good answer, from the moment at which the flood was to end.
    fn well_again(&self, client: &Client, serial: &AtomicU32) -> Result<Duration, String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if self.send(client, serial).is_ok_and(|(status, _)| is_good(status)) {
                return Ok(begun.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(format!("{}: no good answer within 30 s after the flood", self.name))
    }
}

fn is_good(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the value that this many per cent of the values do not exceed.
fn percentile(mut of: Vec<f64>, per_cent: usize) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    let at = (of.len() * per_cent).div_ceil(100);
    of.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
