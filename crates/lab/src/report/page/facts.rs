//! How the figures were obtained: times as three distributions, settings, machine, rules, command.

use super::super::assessment::{self, Assessment};
use super::super::markup::Markup;
use super::super::shell::{self, facts};
use super::super::table::{Cell, Part, Table};
use super::super::{Report, pace, published, words};
use crate::capacity::SelfCheck;
use crate::statistics::{Estimate, quantile_of_times};
use homeroom_load::record::{Times, decoded};
use homeroom_load::run::{Latency, RunFile};
use homeroom_load::stage::Arrivals;

/// Writes the section.
pub fn write(page: &mut Markup, report: &Report, assessment: &Assessment) {
    let run = report.run;
    distributions(run).html(page);
    page.element("div", &[("class", "facts")], |m| {
        facts(m, "Settings", &settings(run));
        facts(m, "Machine of the generator", &machine(run));
        if let Some(check) = report.capacity.and_then(|capacity| capacity.self_check) {
            facts(m, "The generator by itself", &self_check(check));
        }
        facts(m, "The run", &identity(run));
    });
    shell::command(page, &run.facts.command);
    page.leaf("h3", &[], "How it was judged");
    page.leaf("p", &[], &rules());
    let not_held = assessment.stages.iter().enumerate().filter(|(_, stage)| !stage.held());
    let not_held: Vec<String> = not_held
        .take(assessment::STAGES_NAMED_MAX)
        .map(|(at, stage)| {
            format!("Stage {}, {}: {}.", at + 1, stage.load, stage.why_not.join(", "))
        })
        .collect();
    if !not_held.is_empty() {
        page.element("ul", &[], |m| not_held.iter().for_each(|says| m.leaf("li", &[], says)));
    }
}

fn rules() -> String {
    format!(
        "A stage is held if at most {} of its requests fail, all are sent, their mean response \
         time stays below {}, requests wait at most {} longer at its end than at its beginning, and \
         all but {} of what was asked for is answered in it or, as the seconds show, was under way all the time. \
         The generator is the limit if its own lag (p99) exceeds {} or a thread of it needs more \
         than {} of a core; the host is noisy if it takes more than {} of the processor time.",
        words::percent(assessment::FAILED_SHARE_MAX),
        words::time_ms(assessment::MEAN_MS_MAX),
        words::time_ms(assessment::GROWTH_S_MAX * 1e3),
        words::percent(pace::BEHIND_SHARE_MAX),
        words::time_ms(assessment::LAG_MS_MAX),
        words::percent(assessment::GENERATOR_SHARE_MAX),
        words::percent(assessment::STEAL_SHARE_MAX),
    )
}

/// The percentiles that are shown with an interval.
const WITH_INTERVAL: [f64; 4] = [0.5, 0.95, 0.99, 0.999];
/// The confidence of these intervals.
const CONFIDENCE: f64 = 0.95;

fn distributions(run: &RunFile) -> Table {
    let all = run.requests.total;
    let rows = vec![
        distribution("Response", &run.response_ms, all, histogram(run, "response")),
        distribution("Service", &run.service_ms, all, histogram(run, "service")),
        distribution("Send lag", &run.send_lag_ms, all, histogram(run, "send_lag")),
        distribution("Own lag", &run.own_lag_ms, all.saturating_sub(run.requests.late), None),
    ];
    let mut columns = ["ms", "Mean", "Std dev", "Least"].map(String::from).to_vec();
    for (share, name) in PERCENTILES {
        columns.push(name.into());
        if WITH_INTERVAL.contains(&share) {
            columns.push(format!("{name} interval"));
        }
    }
    columns.push("Max".into());
    Table {
        id: "distributions".into(),
        caption: "Response, service and send lag in milliseconds".into(),
        columns,
        parts: vec![Part { heading: String::new(), rows }],
        notes: vec![
            (
                "p50 interval",
                format!(
                    "holds the true percentile at {}, if requests are independent of each other; \
                     the same of p95, p99, p99.9",
                    words::percent(CONFIDENCE)
                ),
            ),
            published::too_few(),
            (
                "Response",
                "from the moment at which a request was due to the end of its answer".into(),
            ),
            (
                "Service",
                "from the moment at which it was sent; hides the wait of a server that stalls"
                    .into(),
            ),
            (
                "Send lag",
                "between the two: waiting for a free connection, and the generator's own lag"
                    .into(),
            ),
            (
                "Own lag",
                "of those for which a connection was free: how late the generator itself was"
                    .into(),
            ),
        ],
    }
}

/// The percentiles of the table, in order.
const PERCENTILES: [(f64, &str); 7] = [
    (0.5, "p50"),
    (0.75, "p75"),
    (0.9, "p90"),
    (0.95, "p95"),
    (0.98, "p98"),
    (0.99, "p99"),
    (0.999, "p99.9"),
];

fn distribution(name: &str, of: &Latency, requests: u64, times: Option<Times>) -> Vec<Cell> {
    let mut row = vec![Cell::Text(name.into())];
    row.extend([of.mean, of.sd, of.min].map(Cell::Figure));
    let values = [of.p50, of.p75, of.p90, of.p95, of.p98, of.p99, of.p99_9];
    for ((share, _), value) in PERCENTILES.into_iter().zip(values) {
        row.push(published::percentile(value, share, requests));
        if WITH_INTERVAL.contains(&share) {
            let found = times.as_ref().and_then(|of| quantile_of_times(of, share, CONFIDENCE));
            row.push(found.map_or(Cell::Nothing, |Estimate { low, high, .. }| {
                Cell::Text(format!("{} to {}", words::figure(low), words::figure(high)))
            }));
        }
    }
    row.push(Cell::Figure(of.max));
    row
}

/// Returns a histogram of the run file.
fn histogram(run: &RunFile, name: &str) -> Option<Times> {
    decoded(run.histograms.get(name)?)
}

fn settings(run: &RunFile) -> Vec<(&'static str, String)> {
    let settings = &run.facts.settings;
    let arrivals = match settings.arrivals {
        Arrivals::Even => "evenly spaced",
        Arrivals::Poisson => "independent of each other (Poisson)",
    };
    vec![
        ("Arrivals", arrivals.into()),
        ("Connections", format!("at most {}", words::count(settings.connections.into()))),
        ("Time-out", words::time_ms(settings.timeout_ms as f64)),
        ("Protocol", settings.protocol.clone()),
        ("Sending threads", settings.threads.to_string()),
        (
            "Slack",
            format!("{} µs late at most, so that several are sent together", settings.slack_us),
        ),
    ]
}

fn machine(run: &RunFile) -> Vec<(&'static str, String)> {
    let (machine, used) = (&run.facts.machine, &run.generator);
    vec![
        ("Processor", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        ("Memory", format!("{} MB", words::count(machine.memory_mb))),
        ("System", machine.system.clone()),
        (
            "Generator used",
            format!(
                "{} of processor time, {} requests for each second of it, {} MB",
                words::duration(used.cpu_s),
                words::figure(used.requests_per_cpu_s),
                words::figure(used.memory_mb)
            ),
        ),
        ("Taken by the host", words::percent(used.steal_share)),
    ]
}

fn self_check(found: SelfCheck) -> Vec<(&'static str, String)> {
    vec![
        (
            "Sends at most",
            format!("{}/s to a server that does nothing", words::figure(found.ceiling)),
        ),
        ("Late (p99)", format!("{} at an easy rate", words::time_ms(found.lag_p99_ms))),
        ("A fixed piece of work", format!("{} rounds/µs", words::figure(found.spin_reference))),
    ]
}

fn identity(run: &RunFile) -> Vec<(&'static str, String)> {
    vec![
        ("Scenario", run.facts.scenario.clone()),
        ("Target", run.facts.target.clone()),
        ("Began", run.facts.started.clone()),
        ("Seed", run.facts.seed.to_string()),
        ("Generator", run.facts.generator_version.clone()),
        ("Format of the run file", run.format.to_string()),
    ]
}
