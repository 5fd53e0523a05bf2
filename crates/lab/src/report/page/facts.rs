//! How the figures came about: times as three distributions, settings, machine, rules, command.

use super::super::markup::Markup;
use super::super::table::{Cell, Part, Table};
use super::super::verdict::{self, Verdict};
use super::super::words;
use crate::run::{Latency, RunFile};
use crate::stage::Arrivals;

/// Longest command line that is shown.
const COMMAND_CHARS_MAX: usize = 4_000;

/// Writes the section.
pub fn write(page: &mut Markup, run: &RunFile, verdict: &Verdict) {
    distributions(run).html(page);
    page.element("div", &[("class", "facts")], |m| {
        facts(m, "Settings", &settings(run));
        facts(m, "Machine of the generator", &machine(run));
        facts(m, "The run", &identity(run));
    });
    page.leaf("h3", &[("id", "command-name")], "The command that repeats it");
    let area = [
        ("class", "scroll command"),
        ("role", "region"),
        ("tabindex", "0"),
        ("aria-labelledby", "command-name"),
    ];
    page.element("pre", &area, |m| m.leaf("code", &[], &command(&run.facts.command)));
    page.leaf("h3", &[], "How it was judged");
    page.leaf("p", &[], &rules());
    let not_held = verdict.stages.iter().enumerate().filter(|(_, stage)| !stage.held());
    let not_held: Vec<String> = not_held
        .take(STAGES_NAMED_MAX)
        .map(|(at, stage)| {
            format!("Stage {}, {}: {}.", at + 1, stage.load, stage.why_not.join(", "))
        })
        .collect();
    if !not_held.is_empty() {
        page.element("ul", &[], |m| not_held.iter().for_each(|says| m.leaf("li", &[], says)));
    }
}

/// Most stages that are named for not having been held.
const STAGES_NAMED_MAX: usize = 40;

fn rules() -> String {
    format!(
        "A stage is held if at most {} of its requests fail, all are sent, their mean response \
         time stays below {}, and requests wait at most {} longer at its end than at its beginning. \
         The generator is the limit if its own lag (p99) exceeds {} or a thread of it needs more \
         than {} of a core; the host is noisy if it takes more than {} of the processor time.",
        words::percent(verdict::FAILED_SHARE_MAX),
        words::time_ms(verdict::MEAN_MS_MAX),
        words::time_ms(verdict::GROWTH_S_MAX * 1e3),
        words::time_ms(verdict::LAG_MS_MAX),
        words::percent(verdict::GENERATOR_SHARE_MAX),
        words::percent(verdict::STEAL_SHARE_MAX),
    )
}

fn distributions(run: &RunFile) -> Table {
    let row = |name: &str, times: &Latency| {
        let Latency { mean, sd, min, p50, p75, p90, p95, p98, p99, p99_9, max } = *times;
        let mut row = vec![Cell::Text(name.into())];
        row.extend([mean, sd, min, p50, p75, p90, p95, p98, p99, p99_9, max].map(Cell::Figure));
        row
    };
    let rows = vec![
        row("Response", &run.response_ms),
        row("Service", &run.service_ms),
        row("Send lag", &run.send_lag_ms),
        row("Own lag", &run.own_lag_ms),
    ];
    let columns = [
        "ms", "Mean", "Std dev", "Least", "p50", "p75", "p90", "p95", "p98", "p99", "p99.9", "Max",
    ];
    Table {
        id: "distributions".into(),
        caption: "Response, service and send lag in milliseconds".into(),
        columns: columns.map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows }],
        notes: vec![
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

fn settings(run: &RunFile) -> Vec<(&'static str, String)> {
    let settings = &run.facts.settings;
    let arrivals = match settings.arrivals {
        Arrivals::Even => "even: each at its place",
        Arrivals::Poisson => "independent of each other (Poisson)",
    };
    vec![
        ("Arrivals", arrivals.into()),
        ("Connections", format!("at most {}", words::count(settings.connections.into()))),
        ("Time-out", words::time_ms(settings.timeout_ms as f64)),
        ("Protocol", settings.protocol.clone()),
        ("Sending threads", settings.threads.to_string()),
        ("Slack", format!("{} µs late at most, so that several go at a time", settings.slack_us)),
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

fn identity(run: &RunFile) -> Vec<(&'static str, String)> {
    vec![
        ("Scenario", run.facts.scenario.clone()),
        ("Target", run.facts.target.clone()),
        ("Began", run.facts.started.clone()),
        ("Seed", run.facts.seed.to_string()),
        ("Generator", run.facts.generator_version.clone()),
        ("Form of the run file", run.format.to_string()),
    ]
}

fn facts(page: &mut Markup, heading: &str, facts: &[(&str, String)]) {
    page.element("div", &[], |m| {
        m.leaf("h3", &[], heading);
        m.element("dl", &[], |m| {
            for (name, value) in facts {
                m.element("div", &[], |m| {
                    m.leaf("dt", &[], name);
                    m.element("dd", &[], |m| m.outside(&words::name(value)));
                });
            }
        });
    });
}

/// The command line, quoted for a shell where it must be.
fn command(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    words::cut(&quoted.collect::<Vec<_>>().join(" "), COMMAND_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_as_it_was() {
        let words = ["lab", "run", "--name", "it's $(here)", ""].map(String::from);

        let shown = command(&words);

        assert_eq!(shown, r"lab run --name 'it'\''s $(here)' ''");
    }
}
