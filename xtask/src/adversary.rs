//! `cargo xtask adversary`: runs strangers and one greedy key against the real binary, beside
//! ordinary clients, which must hardly notice them.
//!
//! First the ordinary clients run alone, then all attacks of [`attack`] run at the same time. The
//! ordinary clients use one address, the greedy key another, and the strangers several.

mod attack;
mod frames;
mod ordinary;
mod wire;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::house::{self, Done, cargo, root, succeed};
use crate::part::Part;
use crate::soak::client::Client;
use crate::soak::server::Server;
use attack::{ATTACKS, Target};
use ordinary::{Ordinary, Seen};

/// The number of students in the served district.
const STUDENTS: u32 = 200;
/// The requests per second of all ordinary clients together.
const RATE: f64 = 60.0;
/// The longest time that the ordinary clients run alone.
const IDLE: Duration = Duration::from_mins(1);
/// How many times longer the ordinary clients' 99th percentile may be under attack than alone.
const P99_TIMES_MAX: f64 = 4.0;
/// The least value that counts for the 99th percentile alone; anything shorter is within the
/// scheduler's noise. So on a fast machine the bound is 20 ms instead of four times the measured
/// value.
const P99_FLOOR_MS: f64 = 5.0;
/// The most resident memory of the server: twice what was measured in ten minutes (403 MiB).
const RSS_MAX_MIB: f64 = 800.0;
/// The most files that the server may have open, apart from one for each connection from this
/// machine.
const FILES_MAX: usize = 256;
/// The longest time after the attack until everything is back to normal.
const RETURN: Duration = Duration::from_secs(90);
/// How far a gauge may be from its earlier value.
const RETURN_SLACK: f64 = 2.0;
/// The time between two samples of the server.
const LOOK: Duration = Duration::from_secs(1);
/// Parts of the names of gauges that count work in progress and so must return to normal.
const UNDER_WAY: [&str; 9] = [
    "active",
    "waiting",
    "open",
    "unread",
    "held",
    "in_flight",
    "connections",
    "pending",
    "budget_used",
];
/// The fewest budgets whose use the server must report; with fewer, the comparison would miss
/// something.
const BUDGETS_MIN: usize = 10;

/// The options of a run, from the command line.
struct Options {
    minutes: f64,
    binary: Option<PathBuf>,
    /// Parts of the names of attacks to run; empty for all.
    only: Vec<String>,
}

/// A check and whether it holds.
struct Finding {
    what: &'static str,
    seen: String,
    holds: bool,
}

/// Runs the adversary and prints its tables.
///
/// # Errors
///
/// If a check does not hold, or the server cannot be started.
pub fn run(arguments: &[String]) -> Done {
    let mut options = Options { minutes: 10.0, binary: None, only: vec![] };
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument {
            "--minutes" => {
                options.minutes =
                    value()?.parse().map_err(|_| "--minutes wants a number".to_owned())?;
            }
            "--binary" => options.binary = Some(value()?.into()),
            "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
            _ => return Err(format!("unknown: {argument}; see `cargo xtask`")),
        }
    }
    let broken = attacked(&options)?;
    if broken.is_empty() { Ok(()) } else { Err(house::TOLD.to_owned()) }
}

/// Runs the adversary as one of the tests.
pub fn check(part: &mut Part) {
    println!("\nadversary");
    let options = Options { minutes: 10.0, binary: None, only: vec![] };
    part.check(&match attacked(&options) {
        Ok(broken) if broken.is_empty() => "passed: adversary of 10 minutes".to_owned(),
        Ok(broken) => format!("failed: adversary: {}", broken.join("; ")),
        Err(problem) => format!("failed: adversary: {problem}"),
    });
}

/// The greatest values of the server during the attack.
#[derive(Debug, Default)]
struct Most {
    rss_mib: f64,
    files_beside: usize,
    files: usize,
}

/// Runs the attack. Returns the checks that do not hold.
fn attacked(options: &Options) -> Result<Vec<&'static str>, String> {
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().map_err(|e| format!("{}: {e}", binary.display()))?,
        None => {
            succeed(&mut cargo(&["build", "--release", "--locked", "--quiet", "-p", "homeroom"]))?;
            root().join("target/release/homeroom")
        }
    };
    let server =
        Server::start_with(&binary, &root().join("target/adversary"), &|data| fill(&binary, data))?;
    let greedy = server.another(&binary)?;
    let (idle_over, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let time = Duration::from_secs_f64(options.minutes * 60.0);
    println!(
        "{} students; ordinary clients send {RATE} requests a second, alone for {:.0} s and beside \
         the attack for {:.0} s\n",
        STUDENTS,
        IDLE.min(time).as_secs_f64(),
        time.as_secs_f64()
    );
    let clients = Ordinary::new(&server, &binary, RATE)?;
    let idle = ordinary_for(&server, clients, IDLE.min(time), &idle_over, || ());
    // They get their tokens before the attack, as most clients already have one.
    let clients = Ordinary::new(&server, &binary, RATE)?;
    let before = gauges(&server)?;
    let target = Target { api: server.api, over: &over, greedy: greedy.token.unwrap_or_default() };
    let mut most = Most::default();
    let mut tries = BTreeMap::new();
    let target = &target;
    let attack = std::thread::scope(|scope| {
        let chosen = ATTACKS.iter().filter(|attack| {
            options.only.is_empty() || options.only.iter().any(|o| attack.name.contains(&**o))
        });
        let running: Vec<_> = chosen
            .enumerate()
            .map(|(number, attack)| {
                let from = IpAddr::V4(Ipv4Addr::new(
                    127,
                    0,
                    1,
                    1 + u8::try_from(number % 200).unwrap_or(0),
                ));
                (attack, scope.spawn(move || (attack.run)(target, from)))
            })
            .collect();
        let seen = ordinary_for(&server, clients, time, &over, || look(&server, &mut most));
        over.store(true, Ordering::Release);
        for (attack, thread) in running {
            tries.insert(attack.name, (attack.does, thread.join().unwrap_or(0)));
        }
        seen
    });
    let after = came_back(&server, &before);
    print_attacks(&tries);
    print_ordinary(&idle, &attack);
    let findings = judge(&server, &idle, &attack, &most, &after);
    print_findings(&findings);
    Ok(findings.iter().filter(|finding| !finding.holds).map(|finding| finding.what).collect())
}

/// Loads a generated district into a new store.
fn fill(binary: &Path, data: &Path) -> Result<(), String> {
    let files = data.with_file_name("district");
    let students = STUDENTS.to_string();
    let generate = ["generate", "--students", &students, "--out"];
    succeed(Command::new(binary).args(generate).arg(&files).stdout(std::process::Stdio::null()))?;
    let mut load = Command::new(binary);
    load.arg("load").arg(&files).arg("--data-dir").arg(data);
    succeed(load.stdout(std::process::Stdio::null()))
}

/// Sends requests as ordinary clients for some time; `look` is called at intervals.
fn ordinary_for(
    server: &Server,
    clients: Ordinary,
    time: Duration,
    over: &AtomicBool,
    mut look: impl FnMut(),
) -> Seen {
    std::thread::scope(|scope| {
        let threads = clients.start(scope, over);
        let begun = Instant::now();
        while begun.elapsed() < time && server.is_alive() {
            std::thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
            look();
        }
        over.store(true, Ordering::Release);
        threads.into_iter().fold(Seen::default(), |mut all, thread| {
            all.merge(thread.join().unwrap_or_else(|_| Seen::panicked()));
            all
        })
    })
}

/// Records the resource use of the server's process.
fn look(server: &Server, most: &mut Most) {
    let process = format!("/proc/{}", server.pid());
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap_or_default();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = rss.and_then(|rss| rss.split_whitespace().next()?.parse::<f64>().ok());
    most.rss_mib = most.rss_mib.max(kib.unwrap_or(0.0) / 1_024.0);
    let mut sockets = 0;
    let mut files = 0;
    for file in std::fs::read_dir(format!("{process}/fd")).into_iter().flatten().flatten() {
        files += 1;
        let link = std::fs::read_link(file.path()).unwrap_or_default();
        sockets += usize::from(link.to_string_lossy().starts_with("socket:"));
    }
    most.files = most.files.max(files);
    most.files_beside = most.files_beside.max(files - sockets);
}

/// Reads the server's gauges of work in progress.
fn gauges(server: &Server) -> Result<BTreeMap<String, f64>, String> {
    let answer = Client::new(server.admin).send("GET", "/metrics", None);
    let answer = answer.map_err(|error| format!("no metrics: {error}"))?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let is_gauge = |name: &str| {
        text.contains(&format!("# TYPE {name} gauge")) && UNDER_WAY.iter().any(|w| name.contains(w))
    };
    let values = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let plain = name.split('{').next().unwrap_or(name);
        is_gauge(plain).then(|| Some((name.to_owned(), value.parse().ok()?)))?
    });
    let values: BTreeMap<String, f64> = values.collect();
    match values.keys().filter(|name| name.contains("budget_used")).count() {
        BUDGETS_MIN.. => Ok(values),
        few => Err(format!("the metrics tell the use of {few} budgets, not of {BUDGETS_MIN}")),
    }
}

/// Waits for the gauges to return to their earlier values. Returns those that did not, with their
/// values.
fn came_back(server: &Server, before: &BTreeMap<String, f64>) -> Result<Vec<String>, String> {
    let begun = Instant::now();
    loop {
        let now = gauges(server);
        let differ: Vec<String> = now
            .iter()
            .flatten()
            .filter(|(name, now)| *now - before.get(*name).unwrap_or(&0.0) > RETURN_SLACK)
            .map(|(name, now)| format!("{name} is {now}"))
            .collect();
        if now.is_ok() && differ.is_empty() || begun.elapsed() > RETURN {
            return now.map(|_| differ);
        }
        std::thread::sleep(LOOK);
    }
}

fn judge(
    server: &Server,
    idle: &Seen,
    attack: &Seen,
    most: &Most,
    after: &Result<Vec<String>, String>,
) -> Vec<Finding> {
    let (alone, beside) = (idle.p99_ms().max(P99_FLOOR_MS), attack.p99_ms());
    let panics = server.log().iter().filter(|line| line.contains("panicked")).count();
    let finding = |what, holds, seen| Finding { what, seen, holds };
    vec![
        finding(
            "ordinary clients see no 5xx",
            attack.count(|status| status >= 500) == 0,
            format!("{} answers", attack.count(|status| status >= 500)),
        ),
        finding(
            "ordinary clients see no 429",
            attack.count(|status| status == 429) == 0,
            format!("{} answers", attack.count(|status| status == 429)),
        ),
        finding(
            "ordinary clients see no other refusal and no broken connection",
            attack.count(|status| (400..500).contains(&status) && status != 429) == 0
                && attack.broken == 0,
            format!("{} broken; {}", attack.broken, attack.complaints.join("; ")),
        ),
        finding(
            "ordinary clients send as much as they mean to",
            attack.total() * 10 >= attack.due * 9,
            format!("{} of {} requests", attack.total(), attack.due),
        ),
        finding(
            "their 99th percentile is at most 4 times that alone, or the floor's",
            beside <= P99_TIMES_MAX * alone,
            format!(
                "{beside:.1} ms, alone {:.1} ms; at most {:.0} ms, since less than a floor of \
                 {P99_FLOOR_MS} ms alone counts as that",
                idle.p99_ms(),
                P99_TIMES_MAX * alone
            ),
        ),
        finding(
            "the server's memory stays bounded",
            most.rss_mib <= RSS_MAX_MIB,
            format!("{:.0} of {RSS_MAX_MIB:.0} MiB", most.rss_mib),
        ),
        finding(
            "its open files stay bounded",
            most.files_beside <= FILES_MAX,
            format!("{} besides connections, {} in all", most.files_beside, most.files),
        ),
        finding(
            "what is under way comes back to what it was",
            after.as_ref().is_ok_and(Vec::is_empty),
            match after {
                Ok(differ) if differ.is_empty() => "all gauges".into(),
                Ok(differ) => differ.join(", "),
                Err(problem) => problem.clone(),
            },
        ),
        finding("nothing panics", panics == 0, format!("{panics} lines of the log")),
        finding("the server is there", server.is_alive(), String::new()),
    ]
}

fn print_attacks(tries: &BTreeMap<&str, (&str, u64)>) {
    println!("| attack | what it does | times |\n|---|---|---:|");
    for (name, (does, times)) in tries {
        println!("| {name} | {does} | {times} |");
    }
}

fn print_ordinary(idle: &Seen, attack: &Seen) {
    println!("\n| ordinary clients | answers | p50, ms | p99, ms | longest, ms | statuses |");
    println!("|---|---:|---:|---:|---:|---|");
    for (name, seen) in [("alone", idle), ("beside the attack", attack)] {
        println!(
            "| {name} | {} | {:.1} | {:.1} | {:.1} | {} |",
            seen.total(),
            seen.quantile_ms(50),
            seen.p99_ms(),
            seen.quantile_ms(100),
            seen.statuses()
        );
    }
}

fn print_findings(findings: &[Finding]) {
    println!("\n| check | holds | seen |\n|---|---|---|");
    for Finding { what, seen, holds } in findings {
        println!("| {what} | {} | {seen} |", if *holds { "yes" } else { "NO" });
    }
    println!();
}
