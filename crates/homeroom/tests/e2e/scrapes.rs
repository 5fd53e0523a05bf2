//! The metrics keep the rules of their formats, and have what an operator needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::{Database, Place, STUDENTS, Server, Upstream, eventually, student};

/// Returns the metrics of a server that has done something, in the form that is asked for.
fn scraped(server: &Server, accept: &str) -> String {
    let headers = [("accept", accept)];
    let answer = server.admin_client().send("GET", "/metrics", &headers, None).unwrap();
    assert_eq!(answer.status, 200);
    answer.text()
}

fn busy(place: &Place) -> Server {
    let server = Server::start_with(place, &[("HOMEROOM_SERVER__CLIENT_RATE", "1000")]);
    let key = place.key("FullAccess");
    let mut client = server.client_of(&key);
    assert_eq!(client.post(STUDENTS, &student("1", "Ada")).status, 201);
    assert_eq!(client.get(STUDENTS).status, 200);
    let upstream = Upstream::echo();
    place.write(
        "apis.toml",
        format!(
            "[[apis]]\nname = 'echo'\ncontext = 'echo'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{}']\n",
            upstream.url()
        ),
    );
    place.done(&["gateway", "apply", "apis.toml"]);
    eventually("the API is served", || client.get("/apis/echo/v1/x").status == 200);
    assert_eq!(client.ask_token(&key.0, "wrong").status, 401);
    server
}

/// A sample: its name, its labels and its value.
struct Sample<'t> {
    name: &'t str,
    labels: &'t str,
    value: f64,
}

fn sample(line: &str) -> Sample<'_> {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
    let (name, labels) = series.split_once('{').map_or((series, ""), |(name, rest)| {
        (name, rest.strip_suffix('}').unwrap_or_else(|| panic!("labels do not end: {line}")))
    });
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    let value = match value {
        "+Inf" => f64::INFINITY,
        value => value.parse().unwrap_or_else(|_| panic!("not a number: {line}")),
    };
    Sample { name, labels, value }
}

/// Returns the metric to which a sample belongs, by what is described.
fn metric_of<'t>(name: &'t str, types: &BTreeMap<&str, &str>, is_open: bool) -> &'t str {
    if types.contains_key(name) {
        return name;
    }
    let suffixes: &[(&str, &str)] =
        if is_open { &[("_total", "counter"), ("_info", "info")] } else { &[] };
    let of_histogram = [("_bucket", "histogram"), ("_sum", "histogram"), ("_count", "histogram")];
    for (suffix, kind) in suffixes.iter().chain(&of_histogram) {
        if let Some(base) = name.strip_suffix(suffix)
            && types.get(base) == Some(kind)
        {
            return base;
        }
    }
    panic!("{name} is not described");
}

/// Checks a text against the rules of its format, and returns the names of its samples.
///
/// Source: Prometheus, Exposition formats, Text-based format; OpenMetrics 1.0 §3-§5; the lint of
/// `promtool check metrics`.
fn checked(text: &str, is_open: bool) -> BTreeSet<String> {
    let (mut types, mut helps) = (BTreeMap::new(), BTreeMap::new());
    let (mut series, mut names, mut closed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut current = "";
    assert!(text.ends_with('\n'));
    assert_eq!(text.ends_with("\n# EOF\n"), is_open);
    for line in text.lines().filter(|line| *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        let metric = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), Some(help)) => {
                assert!(!help.trim().is_empty(), "{line}");
                assert_eq!(helps.insert(name, help), None, "described twice: {line}");
                name
            }
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let known = ["counter", "gauge", "histogram", "info"];
                assert!(known.contains(&kind) && (is_open || kind != "info"), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter" && !is_open, "{line}");
                let units = ["_ms", "_millis", "_milliseconds", "_minutes", "_kb", "_mb", "_kib"];
                assert!(units.iter().all(|unit| !name.ends_with(unit)), "a base unit: {line}");
                assert_eq!(types.insert(name, kind), None, "two types: {line}");
                name
            }
            (Some("#"), Some("UNIT"), Some(name), Some(unit)) if is_open => {
                assert!(name.ends_with(&format!("_{unit}")), "{line}");
                name
            }
            _ => {
                let Sample { name, labels, value } = sample(line);
                assert!(series.insert((name, labels)), "twice: {line}");
                assert!(value >= 0.0, "{line}");
                names.insert(name.to_owned());
                metric_of(name, &types, is_open)
            }
        };
        if metric != current {
            assert!(closed.insert(metric.to_owned()), "{metric} is not in one piece: {line}");
            current = metric;
        }
    }
    assert_eq!(types.keys().collect::<Vec<_>>(), helps.keys().collect::<Vec<_>>());
    names
}

#[test]
fn metrics_keep_the_rules_of_both_formats_and_have_what_an_operator_needs() {
    let place = Place::new();
    let server = busy(&place);

    let older = checked(&scraped(&server, "text/plain"), false);
    let newer = checked(&scraped(&server, "application/openmetrics-text; version=1.0.0"), true);

    assert_eq!(older, newer, "both forms have the same samples");
    for name in [
        "homeroom_store_up",
        "homeroom_store_bytes",
        "homeroom_store_free_bytes",
        "homeroom_store_commits_total",
        "homeroom_store_sync_seconds_total",
        "homeroom_store_forgotten_total",
        "homeroom_store_phase_seconds_bucket",
        "homeroom_store_writes_waiting",
        "homeroom_budget_size",
        "homeroom_budget_used",
        "homeroom_budget_refused_total",
        "homeroom_api_budget_size",
        "homeroom_api_budget_used",
        "homeroom_api_budget_refused_total",
        "homeroom_upstream_healthy",
        "homeroom_upstream_left_alone",
        "homeroom_upstream_ejections_total",
        "homeroom_upstream_open_calls",
        "homeroom_upstream_calls_total",
        "homeroom_upstream_retries_total",
        "homeroom_upstream_answer_duration_seconds_bucket",
        "homeroom_upstream_connections",
        "homeroom_upstream_connections_opened_total",
        "homeroom_jobs_refused_total",
        "homeroom_tokens_refused_total",
        "homeroom_credentials_refused_total",
        "homeroom_client_rate_refused_total",
        "homeroom_runtime_workers",
        "homeroom_runtime_queue_length",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "http_server_request_duration_seconds_count",
    ] {
        assert!(older.contains(name), "{name}: {older:?}");
    }
}

#[test]
fn a_store_in_a_database_has_its_size_and_no_figures_of_a_disk() {
    for database in Database::on_each_server() {
        let server = busy(&Place::with_store(&database.url()));

        let text = scraped(&server, "text/plain");

        let names = checked(&text, false);
        let bytes = text.lines().find_map(|line| line.strip_prefix("homeroom_store_bytes "));
        assert!(bytes.unwrap().parse::<f64>().unwrap() > 1e6, "{bytes:?}");
        for name in ["homeroom_store_free_bytes", "homeroom_store_log_bytes"] {
            assert!(!names.contains(name), "{name}");
        }
    }
}

#[test]
fn promtool_has_nothing_to_say_about_the_metrics() {
    let place = Place::new();
    let server = busy(&place);
    let text = scraped(&server, "*/*");
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut running) = promtool.stderr(Stdio::piped()).spawn() else {
        println!("skipped: promtool is not installed");
        return;
    };

    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();

    let said = running.wait_with_output().unwrap();
    let complaints = [said.stdout, said.stderr].concat();
    assert_eq!(String::from_utf8_lossy(&complaints), "", "{text}");
    assert!(said.status.success());
}

#[test]
#[should_panic(expected = "is not described")]
fn a_sample_without_a_description_is_found() {
    checked("# HELP a What.\n# TYPE a gauge\na 1\nb 1\n", false);
}
