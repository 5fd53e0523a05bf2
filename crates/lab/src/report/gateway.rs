//! The report of the published test of API gateways.

use std::fmt::Write as _;

use super::chart::{Axis, Dot, Dots, Frame, Scatter, Shape};
use super::markup::Markup;
use super::shell;
use super::table::{Cell, Part, Table};
use super::words;
use crate::gateway::{Baseline, CellResult, GatewayFile, GatewayScenario};

/// The columns of the published table, then those of its file of all figures.
const COLUMNS: [&str; 15] = [
    "Scenario Name",
    "Heap Size",
    "Concurrent Users",
    "Message Size (Bytes)",
    "Back-end Service Delay (ms)",
    "Error %",
    "Throughput (Requests/sec)",
    "Average Response Time (ms)",
    "Standard Deviation of Response Time (ms)",
    "99th Percentile of Response Time (ms)",
    "GC Throughput (%)",
    "Average Memory Footprint After Full GC (M)",
    "Load Average - Last 1 minute",
    "Load Average - Last 5 minutes",
    "Load Average - Last 15 minutes",
];

/// Writes the report of a matrix.
#[derive(Debug)]
pub struct GatewayReport<'a>(pub &'a GatewayFile);

impl GatewayReport<'_> {
    /// Returns the published table: one row a cell.
    pub fn published(&self) -> Table {
        let rows = self.0.cells.iter().map(published_row);
        Table {
            id: "gateway".into(),
            caption: "Gateway: the published test".into(),
            columns: COLUMNS.map(String::from).to_vec(),
            parts: vec![Part { heading: String::new(), rows: rows.collect() }],
            notes: self.published_notes(),
        }
    }

    fn published_notes(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Heap Size", "the limit on the gateway's memory, and what enforces it".into()),
            (
                "Error %",
                "requests without an answer, with another status than 2xx, or with a body of \
                 another length than the first answer"
                    .into(),
            ),
            ("Throughput, response times", "of the measured part; the warm-up is left out".into()),
            (
                "GC Throughput",
                "the share of time outside garbage collection; none for a gateway without one"
                    .into(),
            ),
            (
                "Average Memory Footprint After Full GC",
                format!(
                    "resident memory after {} without load",
                    words::duration(self.0.settings.timing.idle.as_secs_f64())
                ),
            ),
            ("Load Average", "of the machine of the generator, when the cell ended".into()),
        ]
    }

    /// Returns what is not in the published table: what the gateway and the generator used.
    pub fn beside(&self) -> Table {
        let rows = self.0.cells.iter().map(|cell| {
            let mut row = vec![Cell::Text(cell.plan.shown()), Cell::Count(cell.requests.total)];
            row.push(cell.cpu_us_per_request.map_or(Cell::Nothing, Cell::Figure));
            row.extend([cell.response_ms.p50, cell.response_ms.p99_9].map(Cell::Figure));
            row.extend([cell.generator_share, cell.steal_share].map(Cell::Percent));
            row.push(Cell::Figure(cell.spin));
            row.push(Cell::Text(cell.remark.clone()));
            row
        });
        let columns = [
            "Cell",
            "Requests",
            "Gateway CPU µs/request",
            "p50 ms",
            "p99.9 ms",
            "Generator %",
            "Steal %",
            "Spin",
            "Remark",
        ];
        Table {
            id: "beside".into(),
            caption: "Beside the published columns".into(),
            columns: columns.map(String::from).to_vec(),
            parts: vec![Part { heading: String::new(), rows: rows.collect() }],
            notes: vec![
                (
                    "Gateway CPU",
                    "user and system time of the gateway and its descendants; it drifts less than \
                     throughput does"
                        .into(),
                ),
                ("Generator %", "the share of a core that the busiest sending thread used".into()),
                (
                    "Spin",
                    "a fixed piece of work before the cell, in rounds per microsecond: the \
                     machine's own speed"
                        .into(),
                ),
            ],
        }
    }

    /// Returns the comparison with the earlier run.
    pub fn compared(&self) -> Option<Table> {
        self.0.baseline.as_ref().map(compared)
    }

    /// Returns the tables in order.
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.published(), self.beside()];
        tables.extend(self.compared());
        tables
    }

    /// Returns the answer in a sentence.
    pub fn headline(&self) -> String {
        let best = |scenario: GatewayScenario| {
            let of = self.0.cells.iter().filter(|cell| cell.plan.scenario == scenario);
            of.max_by(|a, b| a.throughput.total_cmp(&b.throughput))
        };
        let parts = GatewayScenario::ALL.into_iter().filter_map(|scenario| {
            let cell = best(scenario)?;
            let rate = words::figure(cell.throughput);
            Some(format!("{} up to {rate} requests/s", scenario.name()))
        });
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { "No cell was measured".into() } else { parts.join(", ") }
    }

    fn lead(&self) -> String {
        let GatewayFile { settings, cells, interrupted, .. } = self.0;
        let timing = settings.timing;
        let seconds = |time: std::time::Duration| words::duration(time.as_secs_f64());
        let mut lead = format!(
            "{} of {} each after a warm-up of {}{}, over {}{}.",
            words::some(cells.len() as u64, "cell"),
            seconds(timing.measured),
            seconds(timing.warm_up),
            if settings.published { " as published" } else { ", shorter than published" },
            settings.protocol,
            if settings.tls { " with TLS" } else { " without TLS, unlike the published test" },
        );
        if settings.own_back_end {
            lead += " The back end ran in the process of the generator.";
        }
        if *interrupted {
            lead += " The test was interrupted: later cells are missing.";
        }
        lead
    }

    /// Returns the page.
    pub fn html(&self) -> String {
        let of = self.0;
        let headline = self.headline();
        let failed = of.cells.iter().any(|cell| cell.error_percent > 0.0);
        let look = match (of.cells.is_empty(), failed) {
            (true, _) => "not-judged",
            (_, true) => "partly",
            (_, false) => "held",
        };
        shell::page(
            &format!("{headline} – gateway"),
            &of.generator_version,
            |m| {
                let kicker = ["The published gateway test", &of.target, &of.started];
                shell::banner(m, look, kicker, &headline, &self.lead());
            },
            |m| {
                shell::section(m, "charts", "By the number of users", |m| self.charts(m));
                shell::section(m, "tables", "In the published form", |m| {
                    self.tables().iter().for_each(|table| table.html(m));
                });
                shell::section(m, "facts", "How it was made", |m| self.facts(m));
            },
        )
    }

    /// Draws throughput and 99th percentile against the number of users, a chart for each scenario.
    fn charts(&self, page: &mut Markup) {
        for scenario in GatewayScenario::ALL {
            let cells = self.0.cells.iter().filter(|cell| cell.plan.scenario == scenario);
            // Other delays would only repeat the picture, nearer to zero.
            let least = cells.clone().map(|cell| cell.plan.delay_ms).min();
            let cells: Vec<&CellResult> =
                cells.filter(|cell| Some(cell.plan.delay_ms) == least).collect();
            if cells.is_empty() {
                continue;
            }
            chart(scenario, "throughput", &cells, |cell| cell.throughput).figure(page);
            chart(scenario, "p99", &cells, |cell| cell.response_ms.p99).figure(page);
        }
    }

    fn facts(&self, page: &mut Markup) {
        let of = self.0;
        let settings = &of.settings;
        page.element("div", &[("class", "facts")], |m| {
            let how = [
                ("Tokens", words::count(settings.tokens)),
                ("Protocol", settings.protocol.clone()),
                ("Sending threads", settings.threads.to_string()),
                (
                    "Gateway",
                    if settings.fresh {
                        "started afresh before each cell"
                    } else {
                        "ran all the time"
                    }
                    .into(),
                ),
            ];
            shell::facts(m, "Settings", &how);
            let machine = [
                ("Processor", of.machine.cpu.clone()),
                ("Cores", of.machine.cores.to_string()),
                ("Memory", format!("{} MB", words::count(of.machine.memory_mb))),
                ("System", of.machine.system.clone()),
            ];
            shell::facts(m, "Machine of the generator", &machine);
        });
        shell::command(page, &of.command);
    }

    /// Returns all tables as Markdown.
    pub fn markdown(&self) -> String {
        let tables: Vec<String> = self.tables().iter().map(Table::markdown).collect();
        tables.join("\n")
    }

    /// Returns the summary for a terminal: the answer, and a line for each cell.
    pub fn summary(&self) -> String {
        let mut out = format!("{}\n{}\n\n", self.headline(), self.lead());
        let head = [
            "scenario",
            "users",
            "bytes",
            "delay",
            "error %",
            "per second",
            "average",
            "p99",
            "µs CPU",
            "memory",
        ];
        let mut rows = vec![head.map(String::from)];
        rows.extend(self.0.cells.iter().map(|cell| {
            let some = |value: Option<f64>| value.map_or(words::NOTHING.into(), words::figure);
            [
                cell.plan.scenario.name().into(),
                words::count(cell.plan.users.into()),
                words::count(cell.plan.size_bytes.into()),
                format!("{} ms", cell.plan.delay_ms),
                words::figure(cell.error_percent),
                words::figure(cell.throughput),
                words::time_ms(cell.response_ms.mean),
                words::time_ms(cell.response_ms.p99),
                some(cell.cpu_us_per_request),
                cell.footprint_mb
                    .map_or(words::NOTHING.into(), |mb| format!("{} MB", words::figure(mb))),
            ]
        }));
        out += &words::columns(&rows);
        for cell in self.0.cells.iter().filter(|cell| !cell.remark.is_empty()) {
            _ = writeln!(out, "{}: {}", cell.plan.shown(), words::cut(&cell.remark, 300));
        }
        if let Some(baseline) = &self.0.baseline {
            _ = writeln!(out, "{}", verdict(baseline));
        }
        out
    }
}

/// The shapes of up to as many message sizes.
const SHAPES: [Shape; 4] = [Shape::Circle, Shape::Triangle, Shape::Diamond, Shape::Speck];

/// Returns the chart of a figure: a line for each message size.
fn chart(
    scenario: GatewayScenario,
    figure: &str,
    cells: &[&CellResult],
    value: impl Fn(&CellResult) -> f64,
) -> Scatter {
    let mut sizes: Vec<u32> = cells.iter().map(|cell| cell.plan.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let dots = sizes.iter().enumerate().map(|(at, size)| {
        let of_size = cells.iter().filter(|cell| cell.plan.size_bytes == *size);
        let each = of_size.map(|cell| Dot {
            name: cell.plan.shown(),
            label: String::new(),
            x: cell.plan.users.into(),
            y: value(cell),
        });
        Dots {
            name: format!("{} B", words::count(u64::from(*size))),
            shape: SHAPES[at % SHAPES.len()],
            joined: true,
            each: each.collect(),
        }
    });
    let users = cells.iter().map(|cell| f64::from(cell.plan.users)).fold(0.0, f64::max);
    let greatest = cells.iter().map(|cell| value(cell)).fold(0.0, f64::max);
    let is_rate = figure == "throughput";
    let (title, unit) = if is_rate {
        ("throughput", "requests a second")
    } else {
        ("99th percentile of response times", "milliseconds")
    };
    let frame = Frame {
        id: format!("{}-{figure}", scenario.name().to_lowercase()),
        title: format!("{}: {title}", scenario.name()),
        says: "One point a cell, one line a message size.".into(),
        x: Axis::from_zero("users", users),
        y: Axis::from_zero(unit, greatest),
        marks: vec![],
        small: false,
    };
    let headings = ["Cell", "Users", unit].map(String::from);
    Scatter { frame, dots: dots.collect(), headings }
}

fn published_row(cell: &CellResult) -> Vec<Cell> {
    let plan = cell.plan;
    let mut row = vec![
        Cell::Text(plan.scenario.name().into()),
        Cell::Text(cell.memory_limit.clone()),
        Cell::Count(plan.users.into()),
        Cell::Count(plan.size_bytes.into()),
        Cell::Count(plan.delay_ms),
        Cell::Percent(cell.error_percent / 100.0),
        Cell::Figure(cell.throughput),
    ];
    row.extend(
        [cell.response_ms.mean, cell.response_ms.sd, cell.response_ms.p99].map(Cell::Figure),
    );
    row.push(Cell::Text(cell.gc.clone()));
    row.push(cell.footprint_mb.map_or(Cell::Nothing, Cell::Figure));
    let load =
        cell.load_average.map_or([const { Cell::Nothing }; 3], |load| load.map(Cell::Figure));
    row.extend(load);
    row
}

fn verdict(of: &Baseline) -> String {
    let worse = of.rows.iter().filter(|row| row.worse).count() as u64;
    format!(
        "{} of {} worse than on {}",
        worse,
        words::some(of.rows.len() as u64, "cell"),
        words::name(&of.started)
    )
}

fn compared(of: &Baseline) -> Table {
    let rows = of.rows.iter().map(|row| {
        let change = row.throughput[1] / row.throughput[0].max(1e-9) - 1.0;
        let mut cells = vec![Cell::Text(row.plan.shown())];
        cells.extend(row.throughput.map(Cell::Figure));
        cells.push(Cell::Figure(change * 100.0));
        cells.extend(row.p99_ms.map(Cell::Figure));
        cells.extend(row.error_percent.map(|percent| Cell::Percent(percent / 100.0)));
        cells.extend(match row.cpu_us_per_request {
            Some(pair) => pair.map(Cell::Figure),
            None => [Cell::Nothing, Cell::Nothing],
        });
        cells.push(Cell::Figure(row.machine));
        cells.push(Cell::Text(if row.worse { "worse" } else { "kept" }.into()));
        cells
    });
    let columns = [
        "Cell",
        "Throughput then",
        "Throughput now",
        "Change %",
        "p99 ms then",
        "p99 ms now",
        "Error % then",
        "Error % now",
        "CPU µs then",
        "CPU µs now",
        "Machine",
        "Verdict",
    ];
    Table {
        id: "baseline".into(),
        caption: format!("Baseline: {}", verdict(of)),
        columns: columns.map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: vec![
            (
                "Verdict",
                format!(
                    "worse: it lost more than {} of the requests for the same processor time (of its throughput \
                     where that is not known), or fails more by 0.1 points",
                    words::percent(of.tolerance)
                ),
            ),
            (
                "Machine",
                "the machine's own speed now over that of then; far from 1, the runs cannot be \
                 compared"
                    .into(),
            ),
        ],
    }
}
