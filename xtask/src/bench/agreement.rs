//! Checks the lab's figures against those of other generators, with a server whose delay is known
//! and with one that freezes for a while.

use serde_json::Value;

use super::echo::Echo;
use super::figures::Figures;
use super::files::text;
use super::generators::{Cost, GeneratorLoad, k6, lab, oha};
use super::options::Options;
use super::server::homeroom;
use crate::house::Done;

/// How long the server holds back each answer.
const DELAY: &str = "20ms";

/// Measures each generator in each round; the first round is a rehearsal.
pub fn run(options: &Options, table: &mut String) -> Done {
    let folder = &options.folder;
    let load = GeneratorLoad { url: Echo::url(), rate: 1_000, connections: 100, seconds: 10 };
    let mut figures = Figures::default();
    for round in 0..=options.rounds {
        let mut found = vec![];
        let mut one = |run: &mut dyn FnMut() -> Result<Option<Cost>, String>| -> Done {
            let _echo = Echo::start(&["--delay", DELAY])?;
            if let Some(cost) = run()? {
                found.push((cost, arrivals(&Echo::counts()?)?));
            }
            Ok(())
        };
        one(&mut || lab(folder, "the lab", &load, &[]).map(Some))?;
        // Even arrivals at one per millisecond are in step with a millisecond timer.
        let unevenly = ["--arrivals", "poisson"];
        one(&mut || lab(folder, "the lab, Poisson arrivals", &load, &unevenly).map(Some))?;
        one(&mut || Ok(oha(folder, &load)))?;
        one(&mut || k6(folder, &load))?;
        let frozen = frozen(options)?;
        if round == 0 {
            continue;
        }
        for (cost, rate) in found {
            let name = |what: &str| row_name(cost.name, what);
            figures.push(&name("arrivals a second, as the server counts"), 1, rate);
            figures.push(&name("mean ms"), 2, cost.mean_ms);
            figures.push(&name("p50 ms"), 2, cost.p50_ms);
            figures.push(&name("p99 ms"), 2, cost.p99_ms);
        }
        let [p99, max, sent, arrived] = frozen;
        let name = "2,000/s for 10 s, frozen for 2 s";
        figures.push(&format!("{name}: p99 ms (1,900 asked)"), 0, p99);
        figures.push(&format!("{name}: greatest ms"), 0, max);
        figures.push(&format!("{name}: requests that the run counts"), 0, sent);
        figures.push(&format!("{name}: requests that arrived"), 0, arrived);
    }
    figures.write(table);
    let lab = "the lab";
    let others = ["oha --latency-correction", "k6"];
    for what in ["arrivals a second, as the server counts", "mean ms"] {
        let of = |tool: &str| figures.median(&row_name(tool, what));
        for other in others {
            let (Some(one), Some(other_one)) = (of(lab), of(other)) else { continue };
            let share = one / other_one - 1.0;
            if share.abs() > 0.03 {
                return Err(format!("{what}: {one:.2} by {lab}, {other_one:.2} by {other}"));
            }
        }
    }
    Ok(())
}

fn row_name(tool: &str, what: &str) -> String {
    format!("1,000/s at a server that waits {DELAY}, {tool}: {what}")
}

/// Returns the arrivals per second, without the first and the last second, which are not complete.
fn arrivals(counts: &Value) -> Result<f64, String> {
    let seconds: Vec<f64> =
        counts["by_second"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    match &seconds[..] {
        [_, whole @ .., _] if !whole.is_empty() => {
            Ok(whole.iter().sum::<f64>() / whole.len() as f64)
        }
        _ => Err("the server saw too little".into()),
    }
}

/// Returns p99, the greatest time, the requests counted and the requests that arrived.
fn frozen(options: &Options) -> Result<[f64; 4], String> {
    let _echo = Echo::start(&["--freeze-at", "4s", "--freeze-for", "2s"])?;
    let file = options.folder.join("frozen.json");
    let target = Echo::url();
    homeroom(&[
        "lab",
        "run",
        "--target",
        &target,
        "--rate",
        "2000",
        "--duration",
        "10s",
        "--json",
        text(&file),
    ])?;
    let run = std::fs::read(&file).map_err(|e| e.to_string())?;
    let run: Value = serde_json::from_slice(&run).map_err(|e| e.to_string())?;
    let of = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let times = &run["response_ms"];
    let arrived = of(&Echo::counts()?["arrived"]);
    Ok([of(&times["p99"]), of(&times["max"]), of(&run["requests"]["total"]), arrived])
}
