//! The report of the published test of course engines.

use std::fmt::Write as _;

use super::chart::{Across, Axis, Frame, Line, Lines, Mark};
use super::markup::Markup;
use super::page::server;
use super::published;
use super::shell;
use super::table::{Cell, Part, Table};
use super::thin::{self, Slice};
use super::words;
use crate::learners::{Crossing, Held, Hold, LearnersFile, LearnersResult, Level, WindowRow};

/// Writes the report of a test of learners.
#[derive(Debug)]
pub struct LearnersReport<'a>(pub &'a LearnersFile);

impl LearnersReport<'_> {
    /// Returns the published table: a row where the server crossed a threshold.
    pub fn published(&self) -> Table {
        let rows = self.0.learners.crossings.iter().map(crossing_row);
        let columns = ["Level", "Time", "Users", "p99 ms", "Launches/min", "Requests", "Error %"];
        Table {
            id: "learners".into(),
            caption: format!("Learners: {}", self.headline()),
            columns: columns.map(String::from).to_vec(),
            parts: vec![Part { heading: String::new(), rows: rows.collect() }],
            notes: vec![
                (
                    "Level",
                    "Ideal below 1,200 ms, Acceptable below 2,000 ms, Frustrating below 5,000 ms, \
                     Unacceptable from there on; a row is the first of two windows of ten seconds in \
                     a row at its level or a worse one"
                        .into(),
                ),
                ("Users", "modelled learners with a session at the end of the window".into()),
                (
                    "p99 ms",
                    "of all requests that were due in the window, from the moment at which they were \
                     due; – if more than one in a hundred has no answer at all"
                        .into(),
                ),
            ],
        }
    }

    /// Returns how many learners each level held.
    pub fn held(&self) -> Table {
        let rows = self.0.learners.held.iter().map(|held| {
            let sign = if held.at_least { "≥ " } else { "" };
            let most = format!("{sign}{}", words::count(held.learners.into()));
            vec![Cell::Text(held.level.name().into()), Cell::Text(most)]
        });
        Table {
            id: "held".into(),
            caption: "The most learners at each level".into(),
            columns: ["Level", "Learners"].map(String::from).to_vec(),
            parts: vec![Part { heading: String::new(), rows: rows.collect() }],
            notes: vec![("≥", "the level was never left: the server may hold more".into())],
        }
    }

    /// Returns what became of the sessions.
    pub fn sessions(&self) -> Table {
        let LearnersResult { sessions, posts, .. } = &self.0.learners;
        let rows = [
            ("Begun", sessions.begun),
            ("Launched", sessions.launched),
            (
                "Checked at the end: final results accepted, and the report asked for",
                sessions.checked(),
            ),
            ("Completed, and the report has every answer", sessions.completed),
            ("All results accepted, but not all in the report: lost", sessions.lost),
            ("Ended by an error", sessions.broken),
            ("Under way when the test ended", sessions.under_way()),
            ("Requests beyond 60 s: given up", sessions.given_up),
            ("Posts of results", posts.count),
            ("Bytes of a post's body on average", posts.body_bytes / posts.count.max(1)),
        ];
        let row = |(name, count): (&str, u64)| vec![Cell::Text(name.into()), Cell::Count(count)];
        Table {
            id: "sessions".into(),
            caption: "Sessions".into(),
            columns: ["What became of them", "Count"].map(String::from).to_vec(),
            parts: vec![Part { heading: String::new(), rows: rows.map(row).to_vec() }],
            notes: vec![(
                "Given up",
                "requests have no time-out unless one is asked for, as in the published test; a \
                 person would not wait longer than a minute"
                    .into(),
            )],
        }
    }

    fn tables(&self) -> Vec<Table> {
        vec![self.published(), self.held(), self.sessions(), published::samples(&self.0.run)]
    }

    /// Returns the answer in a sentence.
    pub fn headline(&self) -> String {
        let learners = &self.0.learners;
        let Some(Held { learners: most, at_least, .. }) =
            learners.held.iter().find(|held| held.level == Level::Ideal)
        else {
            return "No window was measured".into();
        };
        let sign = if *at_least { "at least " } else { "" };
        format!("{sign}{} learners at an ideal level", words::count(u64::from(*most)))
    }

    fn lead(&self) -> String {
        let LearnersFile { run, learners } = self.0;
        let plan = learners.plan;
        let mut lead = format!(
            "Up to {} learners within {}, each posting results every {} and {} times a session: {} \
             posts a second at the end.",
            words::count(plan.learners.into()),
            words::duration(plan.ramp.as_secs_f64()),
            words::duration(plan.every.as_secs_f64()),
            plan.posts,
            words::figure(plan.posts_per_s()),
        );
        if plan.compress > 1 {
            _ = write!(
                lead,
                " Sessions were compressed {} times: {} simulated learners stood for them, with the \
                 same posts and launches a second.",
                plan.compress,
                words::count(plan.seats().into())
            );
        }
        if let Some(hold) = &learners.hold {
            lead += " ";
            lead += &held_for(hold);
        }
        if run.interrupted_s.is_some() {
            lead += " The test was interrupted.";
        }
        lead += " ";
        lead += &self.ended();
        lead
    }

    /// Returns how many sessions there were and what came of them, in sentences.
    fn ended(&self) -> String {
        let LearnersResult { sessions, posts, plan, .. } = &self.0.learners;
        let mut said = format!(
            "{} sessions were begun and {} launched; {} came to their end and were checked: {} completed, \
             {} lost. {} were under way when the test ended.",
            words::count(sessions.begun),
            words::count(sessions.launched),
            words::count(sessions.checked()),
            words::count(sessions.completed),
            words::count(sessions.lost),
            words::count(sessions.under_way()),
        );
        let length = plan.length() + plan.hold;
        if sessions.checked() == 0 && plan.session() >= length {
            _ = write!(
                said,
                " None could end: a session takes {} and the test {}; --compress {} lets sessions end.",
                words::duration(plan.session().as_secs_f64()),
                words::duration(length.as_secs_f64()),
                plan.compress_to_end(),
            );
        }
        _ = write!(said, " A post had {} bytes on average.", words::figure(posts.mean_bytes()));
        said
    }

    /// Returns the page.
    pub fn html(&self) -> String {
        let LearnersFile { run, learners } = self.0;
        let headline = self.headline();
        let lost = learners.sessions.lost > 0;
        let look = match (learners.windows.is_empty(), learners.crossings.is_empty() && !lost) {
            (true, _) => "not-judged",
            (_, true) => "held",
            (_, false) => "partly",
        };
        shell::page(
            &format!("{headline} – learners"),
            &run.facts.generator_version,
            |m| {
                let facts = &run.facts;
                let kicker = ["The published test of learners", &facts.target, &facts.started];
                let headline = upper(&headline);
                shell::banner(m, look, kicker, &headline, &self.lead());
            },
            |m| {
                shell::section(m, "time", "Over time", |m| self.charts(m));
                shell::section(m, "tables", "In the published form", |m| {
                    self.tables().iter().for_each(|table| table.html(m));
                });
                shell::section(m, "server", "Server", |m| server::write(m, run));
                shell::section(m, "facts", "How it was made", |m| self.facts(m));
            },
        )
    }

    fn charts(&self, page: &mut Markup) {
        let windows = &self.0.learners.windows;
        if windows.is_empty() {
            page.leaf("p", &[], "No window was measured.");
            return;
        }
        let limits = Level::ALL.iter().filter_map(|level| {
            let at = Across::Y(level.below_ms()?);
            Some(Mark { at, name: level.name().into(), look: "limit" })
        });
        chart(
            windows,
            "p99",
            ("99th percentile of response times", "milliseconds"),
            "In windows of ten seconds; the lines are the thresholds above which a level ends.",
            |row| row.p99_ms,
            limits.collect(),
        )
        .figure(page);
        chart(
            windows,
            "users",
            ("Learners", "modelled learners"),
            "Learners with a session.",
            |row| Some(f64::from(row.users)),
            vec![],
        )
        .figure(page);
        chart(
            windows,
            "launches",
            ("Launches", "launches a minute"),
            "Sessions launched in each window, a minute.",
            |row| Some(row.launches_per_minute),
            vec![],
        )
        .figure(page);
    }

    fn facts(&self, page: &mut Markup) {
        let run = &self.0.run;
        page.element("div", &[("class", "facts")], |m| {
            let settings = [
                (
                    "Connections",
                    format!("at most {}", words::count(run.facts.settings.connections.into())),
                ),
                ("Sending threads", run.facts.settings.threads.to_string()),
                ("Protocol", run.facts.settings.protocol.clone()),
                ("Seed", run.facts.seed.to_string()),
            ];
            shell::facts(m, "Settings", &settings);
            let used = [
                ("Processor", run.facts.machine.cpu.clone()),
                ("Cores", run.facts.machine.cores.to_string()),
                ("Memory", format!("{} MB", words::count(run.facts.machine.memory_mb))),
                ("System", run.facts.machine.system.clone()),
                ("Generator used", words::duration(run.generator.cpu_s)),
                ("Busiest thread", words::percent(run.generator.cpu_share_max)),
                ("Taken by the host", words::percent(run.generator.steal_share)),
            ];
            shell::facts(m, "Machine of the generator", &used);
        });
        shell::command(page, &run.facts.command);
    }

    /// Returns all tables as Markdown.
    pub fn markdown(&self) -> String {
        let tables: Vec<String> = self.tables().iter().map(Table::markdown).collect();
        tables.join("\n")
    }

    /// Returns the summary for a terminal.
    pub fn summary(&self) -> String {
        let learners = &self.0.learners;
        let mut out = format!("{}\n{}\n\n", upper(&self.headline()), self.lead());
        if learners.crossings.is_empty() {
            out += "no threshold was crossed\n";
        } else {
            let head = ["level", "time", "users", "p99", "launches/min"].map(String::from);
            let rows = learners.crossings.iter().map(|crossing| {
                let Crossing { level, window, .. } = crossing;
                [
                    level.name().into(),
                    words::clock(window.at_s),
                    words::count(window.users.into()),
                    window.p99_ms.map_or(words::NOTHING.into(), words::time_ms),
                    words::figure(window.launches_per_minute),
                ]
            });
            let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
            out += &words::columns(&rows);
        }
        let sessions = learners.sessions;
        let run = &self.0.run;
        _ = writeln!(
            out,
            "requests {}, failed {}, p99 {}; sessions begun {}, checked {}, completed {}, lost {}, \
             broken {}, given up {}; posts {}, {} bytes each",
            words::count(run.requests.total),
            words::count(run.requests.failed),
            words::time_ms(run.response_ms.p99),
            words::count(sessions.begun),
            words::count(sessions.checked()),
            words::count(sessions.completed),
            words::count(sessions.lost),
            words::count(sessions.broken),
            words::count(sessions.given_up),
            words::count(learners.posts.count),
            words::figure(learners.posts.mean_bytes()),
        );
        out
    }
}

fn upper(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn held_for(hold: &Hold) -> String {
    format!(
        "{} learners were then held for {}: {} of {} windows were ideal, the worst had p99 {}.",
        words::count(hold.learners.into()),
        words::duration(hold.windows as f64 * 10.0),
        words::count(hold.ideal),
        words::count(hold.windows),
        hold.worst_p99_ms.map_or("without an answer".into(), words::time_ms),
    )
}

fn crossing_row(crossing: &Crossing) -> Vec<Cell> {
    let Crossing { level, window, .. } = crossing;
    vec![
        Cell::Text(level.name().into()),
        Cell::Text(words::clock(window.at_s)),
        Cell::Count(window.users.into()),
        window.p99_ms.map_or(Cell::Nothing, Cell::Figure),
        Cell::Figure(window.launches_per_minute),
        Cell::Count(window.requests),
        Cell::Percent(words::share(window.failed, window.requests)),
    ]
}

/// Returns a chart over the windows.
fn chart(
    windows: &[WindowRow],
    id: &str,
    (title, unit): (&str, &str),
    says: &str,
    value: impl Fn(&WindowRow) -> Option<f64>,
    marks: Vec<Mark>,
) -> Lines {
    let slices = thin::slices(windows.len(), thin::SLICES_MAX);
    let mut at: Vec<f64> = slices.iter().map(|slice| windows[slice.start].at_s).collect();
    let end = windows.last().map_or(0.0, |last| last.at_s + 10.0);
    at.push(end);
    let values: Vec<Option<Slice>> = slices
        .into_iter()
        .map(|slice| {
            let each = windows[slice].iter().filter_map(&value).map(|value| (value, 1.0));
            thin::slice(each)
        })
        .collect();
    let greatest = values.iter().flatten().map(|slice| slice.greatest).fold(0.0, f64::max);
    let y = Axis::from_zero(unit, greatest);
    // A threshold that lies above everything would be drawn at the edge.
    let within = |mark: &Mark| matches!(mark.at, Across::Y(value) if value <= y.high());
    let frame = Frame {
        id: format!("learners-{id}"),
        title: title.into(),
        says: says.into(),
        x: Axis::clock(end),
        marks: marks.into_iter().filter(within).collect(),
        y,
        small: false,
    };
    let series = vec![Line { name: title.into(), values }];
    Lines { frame, at, series, shown: words::figure }
}
