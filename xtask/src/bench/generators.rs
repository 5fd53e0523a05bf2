//! Compares what load generators cost at a constant rate: the lab, k6 and oha against nginx.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::figures::Figures;
use super::files::{text, write};
use super::options::Options;
use super::server::BINARY;
use super::server::Nginx;
use crate::house::Done;

/// The load that every generator sends.
pub struct GeneratorLoad {
    pub url: String,
    /// The requests per second.
    pub rate: u32,
    pub connections: u32,
    pub seconds: u32,
}

/// A scenario with variables, an id that is carried over, and a check.
const SCENARIO: &str = r#"name = "values"
[[steps]]
name = "first"
path = "/doc.json?n=${serial}&r=${random:1..1000}"
headers = { "X-Client" = "${client}" }
take = { id = "header:etag" }
check = ["header:content-type == application/json"]
expect = 200
[[steps]]
name = "second"
path = "/doc.json?after=${id}&n=${serial}"
check = ["header:etag"]
expect = 200
"#;

/// Measures every installed generator in each round, one after the other; the first round is a
/// rehearsal.
pub fn run(options: &Options, table: &mut String) -> Done {
    let folder = &options.folder;
    let nginx = Nginx::start(folder, r#"{"hello":"world"}"#)?;
    let url = Nginx::url("/doc.json");
    let load = GeneratorLoad { url, rate: 5_000, connections: 50, seconds: 10 };
    let values = folder.join("values.toml");
    write(&values, SCENARIO)?;
    let mut figures = Figures::default();
    for round in 0..=options.rounds {
        let mut found = vec![
            lab(folder, "the lab, each request at its moment", &load, &[])?,
            lab(folder, "the lab, --slack 1ms", &load, &["--slack", "1ms"])?,
            lab(folder, "the lab, --slack 2ms", &load, &["--slack", "2ms"])?,
        ];
        let whole = GeneratorLoad { url: Nginx::url(""), ..load };
        for (name, more) in [
            ("the lab with variables, ids and checks", &[][..]),
            ("the lab with variables, ids and checks, --slack 1ms", &["--slack", "1ms"][..]),
        ] {
            let arguments = [&["--scenario", text(&values)], more].concat();
            found.push(lab(folder, name, &whole, &arguments)?);
        }
        found.extend(oha(folder, &load));
        found.extend(k6(folder, &load)?);
        if round == 0 {
            continue;
        }
        for cost in found {
            let name = cost.name;
            figures.push(&format!("{name}, requests per CPU-second"), 0, cost.per_cpu_second);
            figures.push(&format!("{name}, p50 ms"), 3, cost.p50_ms);
            figures.push(&format!("{name}, p99 ms"), 3, cost.p99_ms);
            if let Some(lag) = cost.lag_p99_ms {
                figures.push(&format!("{name}, send lag p99 ms"), 3, lag);
            }
        }
    }
    drop(nginx);
    for peer in ["k6", "oha"] {
        if !is_here(peer) {
            println!("{peer} is not on the path: its rows are missing.\n");
        }
    }
    figures.write(table);
    Ok(())
}

/// The cost of a run, and the figures that its generator reports.
pub struct Cost {
    pub name: &'static str,
    per_cpu_second: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    lag_p99_ms: Option<f64>,
}

/// Runs the lab.
pub fn lab(
    folder: &Path,
    name: &'static str,
    load: &GeneratorLoad,
    more: &[&str],
) -> Result<Cost, String> {
    let file = folder.join("lab.json");
    let GeneratorLoad { url, rate, connections, seconds } = load;
    let (rate, connections) = (rate.to_string(), connections.to_string());
    let seconds = format!("{seconds}s");
    let mut arguments = vec!["lab", "run", "--target", url, "--rate", &rate];
    arguments.extend(["--duration", &seconds, "--connections", &connections]);
    arguments.extend(["--json", text(&file)]);
    arguments.extend(more);
    let cpu = cpu_of(BINARY, &arguments)?;
    let run = read(&file)?;
    let total = run["requests"]["total"].as_f64().ok_or("the run file has no total")?;
    if run["requests"]["failed"] != 0 {
        return Err(format!("{name}: {}", run["outcomes"]));
    }
    let ms = |name: &str| run["response_ms"][name].as_f64().unwrap_or(f64::NAN);
    Ok(Cost {
        name,
        per_cpu_second: total / cpu,
        mean_ms: ms("mean"),
        p50_ms: ms("p50"),
        p99_ms: ms("p99"),
        lag_p99_ms: run["send_lag_ms"]["p99"].as_f64(),
    })
}

/// Runs oha, if it is installed.
pub fn oha(folder: &Path, load: &GeneratorLoad) -> Option<Cost> {
    let file = folder.join("oha.json");
    let GeneratorLoad { url, rate, connections, seconds } = load;
    let (each, many, time) = (rate.to_string(), connections.to_string(), format!("{seconds}s"));
    let mut arguments = vec!["-q", &each, "-z", &time, "-c", &many, "--latency-correction"];
    arguments.extend(["--no-tui", "--output-format", "json", "--output", text(&file), url]);
    let cpu = cpu_of("oha", &arguments).ok()?;
    let found = read(&file).ok()?;
    let ms = |of: &Value| of.as_f64().map_or(f64::NAN, |seconds| seconds * 1e3);
    Some(Cost {
        name: "oha --latency-correction",
        per_cpu_second: f64::from(rate * seconds) / cpu,
        mean_ms: ms(&found["summary"]["average"]),
        p50_ms: ms(&found["latencyPercentiles"]["p50"]),
        p99_ms: ms(&found["latencyPercentiles"]["p99"]),
        lag_p99_ms: None,
    })
}

/// Runs k6, if it is installed.
pub fn k6(folder: &Path, load: &GeneratorLoad) -> Result<Option<Cost>, String> {
    let (file, script) = (folder.join("k6.json"), folder.join("k6.js"));
    write(&script, &k6_script(load))?;
    let export = format!("--summary-export={}", text(&file));
    let arguments = ["run", "--quiet", "--no-usage-report", &export, text(&script)];
    let Ok(cpu) = cpu_of("k6", &arguments) else { return Ok(None) };
    let found = read(&file)?;
    let metrics = &found["metrics"];
    let requests = metrics["http_reqs"]["count"].as_f64().ok_or("k6 counts no requests")?;
    let ms = |name: &str| metrics["http_req_duration"][name].as_f64().unwrap_or(f64::NAN);
    Ok(Some(Cost {
        name: "k6",
        per_cpu_second: requests / cpu,
        mean_ms: ms("avg"),
        p50_ms: ms("med"),
        p99_ms: ms("p(99)"),
        lag_p99_ms: None,
    }))
}

fn k6_script(load: &GeneratorLoad) -> String {
    let GeneratorLoad { url, rate, connections, seconds } = load;
    format!(
        r#"import http from "k6/http";
export const options = {{
  summaryTrendStats: ["avg", "med", "p(99)", "max"],
  scenarios: {{ constant: {{
    executor: "constant-arrival-rate", rate: {rate}, timeUnit: "1s", duration: "{seconds}s",
    preAllocatedVUs: {connections}, maxVUs: {connections},
  }} }},
}};
export default function () {{ http.get("{url}"); }}
"#
    )
}

fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Runs a program. Returns its processor time, user and system, including that of its children.
fn cpu_of(program: &str, arguments: &[&str]) -> Result<f64, String> {
    let run = Command::new("bash")
        .args(["-c", "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null 2>/dev/null", "bash", program])
        .args(arguments)
        .output()
        .map_err(|e| e.to_string())?;
    if !run.status.success() {
        return Err(format!("{program} failed"));
    }
    let times = String::from_utf8_lossy(&run.stderr);
    let seconds: Vec<f64> = times.split_whitespace().filter_map(|text| text.parse().ok()).collect();
    match seconds[..] {
        [user, system] => Ok(user + system),
        _ => Err(format!("{program}: no times in {times:?}")),
    }
}

fn read(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
}
