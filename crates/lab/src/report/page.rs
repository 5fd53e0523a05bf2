//! The HTML page: one file, no network, no script.

mod facts;
mod hero;
mod load;
mod outcomes;
mod over_time;
mod resources;
pub mod server;

use super::markup::Markup;
use super::shell::{self, section};
use super::{Report, assessment, levels, published, words};

/// Returns the report as one HTML file.
pub fn html(report: &Report) -> String {
    let assessment = assessment::judge(report.run);
    let headline = report.capacity.map_or(assessment.headline.clone(), levels::headline);
    let title = format!("{headline} – {}", words::name(&report.run.facts.scenario));
    shell::page(
        &title,
        &report.run.facts.generator_version,
        |m| hero::write(m, report, &assessment, &headline),
        |m| sections(m, report, &assessment),
    )
}

fn sections(page: &mut Markup, report: &Report, assessment: &assessment::Assessment) {
    let run = report.run;
    section(page, "load", "Throughput against response time", |m| load::write(m, report));
    // A search has several runs, so each heading says which one is shown.
    let of_run = |heading: &str| match report.capacity {
        Some(_) => format!("{heading}: {}", assessment::shown_run(run)),
        None => heading.to_owned(),
    };
    section(page, "time", &of_run("Over time"), |m| over_time::write(m, "run", "", run));
    section(page, "outcomes", &of_run("How requests ended"), |m| {
        outcomes::chart(m, "run", "", run);
    });
    for (nth, (name, profile)) in report.profiles.iter().enumerate() {
        let id = format!("profile-{}", nth + 1);
        section(page, &id, &format!("Profile: {name}"), |m| {
            let of = format!(" – {}", words::name(name));
            over_time::write(m, &id, &of, profile);
            outcomes::chart(m, &id, &of, profile);
        });
    }
    section(page, "tables", &of_run("In the published form"), |m| {
        published::samples(run).html(m);
        published::transactional(run).html(m);
    });
    for table in report.tables {
        let heading = table.caption.clone();
        section(page, &format!("{}-section", table.id), &heading, |m| table.html(m));
    }
    if !run.steps.is_empty() {
        section(page, "resources", &of_run("Resources and steps"), |m| resources::write(m, run));
    }
    section(page, "server", &of_run("Server"), |m| server::write(m, run));
    section(page, "facts", "How it was made", |m| facts::write(m, report, assessment));
}
