//! The HTML page: one file, no network, no script.

mod facts;
mod hero;
mod load;
mod outcomes;
mod over_time;
mod resources;
mod server;

use super::markup::Markup;
use super::{Report, assessment, chart, levels, published, words};

/// The page's content security policy: nothing is loaded; styles are inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Returns the report as one HTML file.
pub fn html(report: &Report) -> String {
    let assessment = assessment::judge(report.run);
    let headline = report.capacity.map_or(assessment.headline.clone(), levels::headline);
    let mut page = Markup::default();
    page.ours("<!DOCTYPE html>\n");
    page.element("html", &[("lang", "en")], |m| {
        m.element("head", &[], |m| head(m, report, &headline));
        m.line();
        m.element("body", &[], |m| {
            chart::patterns::write(m);
            m.leaf("a", &[("class", "skip"), ("href", "#main")], "Skip to the figures");
            hero::write(m, report, &assessment, &headline);
            m.element("main", &[("id", "main")], |m| sections(m, report, &assessment));
            m.element("footer", &[], |m| {
                m.text("Made by homeroom lab ");
                m.outside(&words::name(&report.run.facts.generator_version));
                m.text(
                    ". Response times count from the moment at which a request was due, so a \
                        server that stalls cannot hide it.",
                );
            });
        });
    });
    page.line();
    page.finish()
}

fn head(page: &mut Markup, report: &Report, headline: &str) {
    page.void("meta", &[("charset", "utf-8")]);
    let policy = [("http-equiv", "Content-Security-Policy"), ("content", POLICY)];
    page.void("meta", &policy);
    page.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    page.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    page.leaf("title", &[], &format!("{headline} – {}", words::name(&report.run.facts.scenario)));
    page.element("style", &[], |m| m.ours(include_str!("page/style.css")));
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

fn section(page: &mut Markup, id: &str, heading: &str, inside: impl FnOnce(&mut Markup)) {
    let title = format!("{id}-heading");
    page.element("section", &[("id", id), ("aria-labelledby", &title)], |m| {
        m.leaf("h2", &[("id", &title)], &words::name(heading));
        inside(m);
    });
    page.line();
}
