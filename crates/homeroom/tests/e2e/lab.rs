//! Tests of the lab's commands, against its own echo and against a real server.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Client, Place, Ran, Server, eventually};

/// A running `homeroom lab echo`, which is killed when the value is dropped.
pub struct Echo {
    child: Child,
    /// The URL of the echo.
    pub url: String,
}

impl Echo {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let arguments = [&["lab", "echo", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn counts(&self) -> Value {
        let address = self.url.strip_prefix("http://").unwrap().parse().unwrap();
        Client::new(address).get("/_lab/counts").json()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub fn read_json(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(place.path(name)).unwrap()).unwrap()
}

#[test]
fn a_run_sends_rate_times_duration_and_the_target_counts_the_same() {
    let place = Place::new();
    let echo = Echo::start(&place, &["--body", "1KiB"]);
    let target = format!("{}/some/path?x=y", echo.url);

    let summary = place.done(&[
        "lab",
        "run",
        "--target",
        &target,
        "--rate",
        "500",
        "--duration",
        "2s",
        "--json",
        "run.json",
        "--watch",
        &format!("web={}", echo.child.id()),
    ]);

    let run = read_json(&place, "run.json");
    assert_eq!(run["requests"]["total"], 1000, "{run}");
    assert_eq!(echo.counts()["arrived"], 1000, "{summary}");
    assert!(run["response_ms"]["p99"].as_f64().unwrap() > 0.0);
    assert!(summary.contains("1,000"), "{summary}");
    let watched: Vec<&str> =
        run["server"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!(watched, ["web", "machine", "generator"]);
    let seed = run["seed"].to_string();
    let command = run["command"].as_array().unwrap();
    assert_eq!(command[command.len() - 2..], ["--seed", &*seed]);
}

#[test]
fn a_scenario_carries_values_and_its_errors_have_their_line() {
    let place = Place::new();
    let echo = Echo::start(&place, &[]);
    let text = "name = 'two steps'
[variables]
word = 'none'
[[steps]]
name = 'create'
method = 'POST'
path = '/things'
body = '{\"id\": \"${serial}\", \"word\": \"${word}\"}'
check = ['json:/word == five']
take = { id = 'json:/id' }
[[steps]]
name = 'replace'
method = 'PUT'
path = '/things/${id}'
body = '{\"id\": \"${id}\"}'
check = ['json:/id == ${id}']
";
    place.write("two.toml", text);
    place.write("wrong.toml", text.replace("'/things/${id}'", "'/things/${it}'"));
    let run = |scenario: &str| {
        place.run(&[
            "lab",
            "run",
            "--target",
            &echo.url,
            "--scenario",
            scenario,
            "--set",
            "word=five",
            "--users",
            "2",
            "--duration",
            "1s",
            "--json",
        ])
    };

    let (right, wrong) = (run("two.toml"), run("wrong.toml"));

    let file: Value = serde_json::from_str(&right.stdout).unwrap();
    let of = |step: usize, name: &str| file["steps"][step]["requests"][name].as_u64().unwrap();
    assert_eq!((right.code, of(0, "failed"), of(1, "failed")), (Some(0), 0, 0), "{right:?}");
    assert!(of(0, "ok") > 0 && of(0, "ok").abs_diff(of(1, "ok")) <= 2, "{}", file["steps"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("line 14: step 2 (`replace`), path: unknown variable `it`"));
}

#[test]
fn a_token_is_fetched_with_the_key_and_the_secret_is_written_nowhere() {
    let place = Place::new();
    let (key, secret) = place.key("SISVendor");
    let server = Server::start(&place);
    let target = format!("http://{}", server.api);
    place.write(
        "read.toml",
        "name = 'read'\n[[steps]]\nname = 'list'\npath = '/data/v3/ed-fi/schools'\nexpect = 200\n",
    );
    let arguments = [
        "lab",
        "run",
        "--target",
        &target,
        "--scenario",
        "read.toml",
        "--rate",
        "50",
        "--duration",
        "1s",
        "--json",
        "run.json",
        "--key",
        &key,
    ];

    let with_flag = place.run(&[&arguments[..], &["--secret", &secret]].concat());
    let file = std::fs::read_to_string(place.path("run.json")).unwrap();
    let mut command = place.command(&arguments);
    let with_variable = Ran::of(command.env("HOMEROOM_LAB_SECRET", &secret));
    let with_wrong = place.run(&[&arguments[..], &["--secret", "wrong"]].concat());
    let without = place.run(&arguments);

    assert_eq!((with_flag.code, with_variable.code), (Some(0), Some(0)), "{with_flag:?}");
    let run: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(run["requests"]["ok"], 50, "{run}");
    for text in [&file, &with_flag.stdout, &with_flag.stderr, &with_variable.stdout] {
        assert!(!text.contains(&secret), "{text}");
    }
    assert_eq!((with_wrong.code, without.code), (Some(4), Some(2)), "{with_wrong:?} {without:?}");
    assert!(with_wrong.stderr.contains("no token from"), "{with_wrong:?}");
}

#[test]
fn a_key_that_the_target_does_not_accept_exits_with_code_4() {
    let place = Place::new();
    let server = Server::start(&place);
    let target = format!("http://{}/data/v3/ed-fi/students", server.api);
    for how in [&["run", "--rate", "1"][..], &["capacity"]] {
        let key = ["--target", &target, "--key", "k", "--secret", "s"];

        let ran = place.run(&[&["lab"], how, &key].concat());

        assert_eq!(ran.code, Some(4), "{how:?}: {ran:?}");
        assert!(ran.stderr.contains("check --key and --secret"), "{how:?}: {ran:?}");
    }
}

#[test]
fn a_target_where_nothing_listens_exits_with_code_5() {
    let place = Place::new();
    let url = Echo::start(&place, &[]).url.clone();

    let ran = place.run(&["lab", "run", "--target", &url, "--rate", "1"]);

    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("nothing listens there"), "{ran:?}");
}

#[test]
fn a_request_that_this_machine_cannot_send_is_not_blamed_on_the_server() {
    let place = Place::new();
    let echo = Echo::start(&place, &[]);
    // An address that no machine has: it is reserved for documentation.
    let arguments = [
        "lab",
        "run",
        "--target",
        &echo.url,
        "--rate",
        "9",
        "--duration",
        "1s",
        "--from",
        "192.0.2.1",
    ];

    let ran = place.run(&arguments);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("correct --from"), "{ran:?}");
    assert!(ran.stdout.starts_with("Not judged: the generator was the limit"), "{ran:?}");
}

#[test]
fn an_overloaded_server_is_not_reported_as_keeping_up() {
    let place = Place::new();
    let echo = Echo::start(&place, &["--capacity", "200", "--queue", "10s"]);

    let summary = place.done(&[
        "lab",
        "run",
        "--target",
        &echo.url,
        "--rate",
        "400",
        "--duration",
        "2s",
        "--json",
        "run.json",
    ]);

    let run = read_json(&place, "run.json");
    let goodput = run["stages"][0]["goodput"].as_f64().unwrap();
    assert_eq!(run["requests"]["ok"], 800, "{}", run["outcomes"]);
    assert!((150.0..=205.0).contains(&goodput), "{summary}");
}

#[test]
fn an_interrupted_run_still_writes_its_file() {
    let place = Place::new();
    let echo = Echo::start(&place, &[]);
    let arguments =
        ["lab", "run", "--target", &echo.url, "--rate", "100", "--duration", "10m", "--json", "r"];
    let child =
        place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    eventually("requests come", || echo.counts()["arrived"].as_u64().unwrap() > 20);

    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    let ended = child.wait_with_output().unwrap();

    let run = read_json(&place, "r");
    assert_eq!(ended.status.code(), Some(130));
    assert!(run["requests"]["ok"].as_u64().unwrap() > 20, "{}", run["requests"]);
    assert_eq!(run["requests"]["failed"], 0, "{}", run["outcomes"]);
    // The rate covers the time until then, and the summary says so.
    let goodput = run["stages"][0]["goodput"].as_f64().unwrap();
    assert!((50.0..150.0).contains(&goodput), "{}", run["stages"]);
    let summary = String::from_utf8_lossy(&ended.stdout);
    assert!(summary.starts_with("Interrupted after "), "{summary}");
}

#[test]
fn an_interrupted_search_writes_its_findings() {
    let place = Place::new();
    let echo = Echo::start(&place, &[]);
    let web = format!("web={}", echo.child.id());
    let mut arguments = vec!["lab", "capacity", "--target", &echo.url, "--watch", &web];
    arguments.extend(["--json", "found.json", "--html", "found.html", "--markdown", "found.md"]);
    let child =
        place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // The first trial has 250 requests.
    eventually("a trial is over", || echo.counts()["arrived"].as_u64().unwrap() > 260);

    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    let ended = child.wait_with_output().unwrap();

    assert_eq!(ended.status.code(), Some(130));
    let found = read_json(&place, "found.json");
    assert_eq!(found["verdict"], "INTERRUPTED", "{found}");
    assert!(found["stable"]["low"].as_f64().unwrap() >= 50.0, "{}", found["stable"]);
    let page = std::fs::read_to_string(place.path("found.html")).unwrap();
    assert!(page.contains("web"), "the server was watched");
    assert!(std::fs::read_to_string(place.path("found.md")).unwrap().contains("INTERRUPTED"));
}

#[test]
fn invalid_arguments_are_refused_with_a_hint() {
    let place = Place::new();
    let target = ["lab", "run", "--target", "http://127.0.0.1:1"];
    for (arguments, told) in [
        (&["--stages", "50/s"][..], "write `50/s 5m`"),
        (&["--rate", "1", "--scenario", "none"], "the built-in scenarios are: get, "),
        (&["--rate", "1", "--set", "x=1"], "no `x` to set; it has: path"),
        (&["--rate", "1", "--set", "x"], "--set NAME=VALUE"),
        (&["--rate", "1", "--watch", "postgres"], "has no name"),
        (&["--rate", "1", "--watch", "database=web"], "nothing called web is watched"),
        (&["--rate", "1", "--key", "k"], "HOMEROOM_LAB_SECRET"),
        (&["--rate", "1", "--users", "1"], "cannot be used with"),
        (&["--rate", "-1"], "rate"),
        (&[], "--rate"),
    ] {
        let ran = place.run(&[&target[..], arguments].concat());

        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_missed_goal_exits_with_code_7() {
    let place = Place::new();
    let echo = Echo::start(&place, &["--error-share", "10%"]);
    let run = |goal: &str| {
        place.run(&[
            "lab",
            "run",
            "--target",
            &echo.url,
            "--rate",
            "200",
            "--duration",
            "1s",
            "--json",
            "run.json",
            "--fail-if",
            goal,
        ])
    };

    let (kept, missed) = (run("failed > 50%"), run("failed > 1%"));
    let gate = place.run(&[
        "lab",
        "gate",
        "run.json",
        "--fail-if",
        "failed > 1%",
        "--fail-if",
        "p99 > 600s",
        "--junit",
        "gate.xml",
    ]);
    let wrong = place.run(&["lab", "gate", "run.json", "--fail-if", "failed >"]);

    assert_eq!((kept.code, missed.code, gate.code), (Some(0), Some(7), Some(7)), "{gate:?}");
    assert!(gate.stdout.contains("1 of 2 goals failed"), "{gate:?}");
    let report = std::fs::read_to_string(place.path("gate.xml")).unwrap();
    assert!(report.contains("<testsuite"), "{report}");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn a_run_is_reported_as_a_page_and_as_tables() {
    let place = Place::new();
    let echo = Echo::start(&place, &[]);

    place.done(&[
        "lab",
        "run",
        "--target",
        &echo.url,
        "--stages",
        "50/s 1s, 100/s 1s",
        "--html",
        "r.html",
        "--markdown",
        "r.md",
        "--csv",
        "r.csv",
    ]);

    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(read("r.html").starts_with("<!DOCTYPE html>"));
    assert!(read("r.md").contains("| "));
    let csv = read("r.csv");
    assert!(csv.lines().next().unwrap().contains("Samples"), "{csv}");
    let stages = read("r.stages.csv");
    assert!(stages.starts_with("Stage,Load,Duration,Requests/s,"), "{stages}");
    assert_eq!(stages.lines().count(), 3);
}

#[test]
fn a_lower_bound_in_a_capacity_file_does_not_miss_a_goal() {
    let place = Place::new();
    place.write(
        "capacity.json",
        r#"{"verdict": "GENERATOR-LIMITED",
            "stable": {"rate": 400, "low": 400, "high": null, "found": true},
            "failure": {"rate": 520, "low": 520, "high": null, "found": false}}"#,
    );
    let gate = |goal: &str| place.run(&["lab", "gate", "capacity.json", "--fail-if", goal]);

    let (unknown, kept) = (gate("failure < 600/s"), gate("failure < 500/s"));

    assert_eq!((unknown.code, kept.code), (Some(2), Some(0)), "{unknown:?} {kept:?}");
    let told = "the file only says at least 520.0/s (GENERATOR-LIMITED)";
    assert!(unknown.stderr.contains(told), "{unknown:?}");
    assert!(kept.stdout.starts_with("GENERATOR-LIMITED: The generator was the limit"), "{kept:?}");
}

#[test]
fn two_targets_without_a_correct_answer_are_not_compared() {
    let place = Place::new();
    let echo = Echo::start(&place, &["--error-share", "100%"]);

    let ran = place.run(&[
        "lab",
        "compare",
        "--target",
        &echo.url,
        "--against",
        &echo.url,
        "--rate",
        "50",
        "--duration",
        "200ms",
        "--blocks",
        "2",
        "--markdown",
        "compared.md",
    ]);

    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("neither gave a right answer"), "{ran:?}");
    let written = std::fs::read_to_string(place.path("compared.md")).unwrap();
    assert!(written.starts_with("**Comparison: neither gave a right answer**"), "{written}");
}

#[test]
fn two_targets_are_compared_in_alternating_runs() {
    let place = Place::new();
    let (a, b) = (Echo::start(&place, &[]), Echo::start(&place, &["--delay", "50ms"]));

    let ran = place.run(&[
        "lab",
        "compare",
        "--target",
        &a.url,
        "--against",
        &b.url,
        "--rate",
        "50",
        "--duration",
        "500ms",
        "--blocks",
        "2",
        "--json",
    ]);

    let compared: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &compared["verdict"]), (Some(6), &"worse".into()), "{compared}");
    assert_eq!((&a.counts()["arrived"], &b.counts()["arrived"]), (&100.into(), &100.into()));
}

#[test]
fn a_scenario_for_an_ed_fi_api_is_generated_from_the_target() {
    let place = Place::new();
    let (key, secret) = place.key("FullAccess");
    let server = Server::start(&place);
    let target = format!("http://{}", server.api);

    let ran = place.run(&[
        "lab",
        "run",
        "--target",
        &target,
        "--scenario",
        "edfi-day-to-day",
        "--set",
        "only=schools,localEducationAgencies",
        "--rate",
        "50",
        "--duration",
        "2s",
        "--json",
        "run.json",
        "--key",
        &key,
        "--secret",
        &secret,
    ]);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let run = read_json(&place, "run.json");
    assert_eq!(run["requests"]["ok"], 100, "{} {}", run["outcomes"], ran.stderr);
    assert!(ran.stderr.contains("of 2 resources"), "{ran:?}");
}

#[test]
fn a_terminal_shows_the_progress_of_a_run() {
    let place = Place::new();
    let echo = Echo::start(&place, &[]);
    let program = env!("CARGO_BIN_EXE_homeroom");
    // Runs in a terminal of a known size.
    let line = format!(
        "stty rows 30 cols 72; {program} lab run --target {} --rate 50 --duration 3s --seed 1",
        echo.url
    );
    let ran = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&ran.stdout);

    assert!(ran.status.success(), "{shown}");
    assert!(shown.contains("of 0:03, stage 1 of 1: 50/s 3s"), "{shown}");
    assert!(shown.contains("right/s           50"), "{shown}");
    // The board is redrawn in place, and removed before the summary.
    assert!(shown.contains("\u{1b}[8A") && shown.contains("\u{1b}[2K"), "{shown}");
}
