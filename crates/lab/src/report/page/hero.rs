//! The top of the page: the answer, its figures, and whether it can be relied on.

use super::super::assessment::{self, Assessment, Finding, Judgement, StageVerdict};
use super::super::markup::Markup;
use super::super::{Report, levels, words};
use crate::capacity::{Capacity, Level};
use crate::statistics::has_tail;
use homeroom_load::run::RunFile;

/// The most stages that the top of the page lists individually.
const STAGES_SHOWN_MAX: usize = 12;

/// The most reasons that are shown.
const REASONS_MAX: usize = 12;
/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 600;

const CHECK: &str = "M5 13l5 5L20 7";
const CROSS: &str = "M6 6l12 12M18 6L6 18";
const PARTLY: &str = "M5 12h14";
const QUESTION: &str = "M8 9a4 4 0 1 1 5.5 3.7c-1 .5-1.5 1.1-1.5 2.3M12 19v.5";

/// Writes the banner.
pub fn write(page: &mut Markup, report: &Report, assessment: &Assessment, headline: &str) {
    let run = report.run;
    let (look, sign, word) =
        judged(report.capacity.map_or(assessment.judgement, levels::judgement));
    page.element("header", &[("class", &format!("hero {look}"))], |m| {
        m.element("p", &[("class", "kicker")], |m| {
            m.outside(&words::name(&run.facts.scenario));
            m.text(" against ");
            m.outside(&words::name(&run.facts.target));
            m.text(", ");
            m.outside(&words::name(&run.facts.started));
        });
        m.element("h1", &[], |m| {
            icon(m, sign, word);
            m.text(" ");
            m.leaf("span", &[], headline);
        });
        if let Some(capacity) = report.capacity {
            m.leaf("p", &[("class", "lead")], &levels::lead(capacity));
            levels(m, capacity);
        } else {
            m.leaf("p", &[("class", "lead")], &lead(run, assessment));
            if let Some(says) = assessment::interruption(run) {
                m.leaf("p", &[("class", "lead")], &format!("Interrupted: {says}."));
            }
            stages(m, run, &assessment.stages);
            tiles(m, run);
        }
        m.element("ul", &[("class", "findings"), ("aria-label", "Whether to rely on it")], |m| {
            if let Some(capacity) = report.capacity {
                for (name, of) in &levels::findings(capacity) {
                    finding(m, name, of);
                }
            } else {
                finding(m, "Generator", &assessment.generator);
                finding(m, "Host", &assessment.host);
                finding(m, "Connections", &assessment.connections);
                finding(m, "Requests", &assessment.samples);
            }
        });
        contents(m, report);
    });
    page.line();
}

fn judged(judgement: Judgement) -> (&'static str, &'static str, &'static str) {
    match judgement {
        Judgement::Held => ("held", CHECK, "Held:"),
        Judgement::Partly => ("partly", PARTLY, "Partly held:"),
        Judgement::NotHeld => ("not-held", CROSS, "Not held:"),
        Judgement::NotJudged => ("not-judged", QUESTION, "Not judged:"),
    }
}

fn lead(run: &RunFile, assessment: &Assessment) -> String {
    if run.requests.total == 0 {
        return "No request was due; there is nothing to judge.".into();
    }
    let why: Vec<String> = (assessment.stages.iter().filter(|stage| !stage.held()))
        .take(2)
        .map(|stage| format!("At {}: {}.", stage.load, stage.why_not.join(", ")))
        .collect();
    if why.is_empty() {
        let times = &run.response_ms;
        format!(
            "Mean response {}; 99 % of {} were answered within {}.",
            words::time_ms(times.mean),
            words::some(run.requests.total, "request"),
            words::time_ms(times.p99)
        )
    } else {
        why.join(" ")
    }
}

fn tiles(page: &mut Markup, run: &RunFile) {
    let (seconds, rate) = (run.seconds(), run.answered_per_s());
    let failed = words::share(run.requests.failed, run.requests.total);
    let times = &run.response_ms;
    let tail = |value, share| {
        let is_known = has_tail(run.requests.total, share);
        if is_known { words::time_ms(value) } else { words::NOTHING.into() }
    };
    let shown = [
        ("Requests", words::count(run.requests.total), words::duration(seconds.round())),
        ("Responses", format!("{}/s", words::figure(rate)), "mean of the run".into()),
        ("Failed", words::percent(failed), words::some(run.requests.failed, "request")),
        ("Mean", words::time_ms(times.mean), format!("median {}", words::time_ms(times.p50))),
        ("p99", tail(times.p99, 0.99), format!("p95 {}", tail(times.p95, 0.95))),
        ("Greatest", words::time_ms(times.max), format!("p99.9 {}", tail(times.p99_9, 0.999))),
    ];
    page.element("dl", &[("class", "tiles")], |m| {
        for (name, value, more) in shown {
            m.element("div", &[], |m| {
                m.leaf("dt", &[], name);
                m.leaf("dd", &[("class", "big")], &value);
                m.leaf("dd", &[], &more);
            });
        }
    });
}

fn stages(page: &mut Markup, run: &RunFile, stage_verdicts: &[StageVerdict]) {
    if stage_verdicts.len() < 2 {
        return;
    }
    if stage_verdicts.len() > STAGES_SHOWN_MAX {
        let held = stage_verdicts.iter().filter(|assessment| assessment.held()).count();
        let says =
            format!("{held} of {} stages were held; each has a row below.", stage_verdicts.len());
        page.leaf("p", &[("class", "lead")], &says);
        return;
    }
    page.element("ol", &[("class", "stages"), ("aria-label", "Stages")], |m| {
        for (stage, assessment) in run.stages.iter().zip(stage_verdicts) {
            let (look, sign, word) =
                judged(if assessment.held() { Judgement::Held } else { Judgement::NotHeld });
            m.element("li", &[("class", look)], |m| {
                m.element("span", &[("class", "load")], |m| {
                    icon(m, sign, word);
                    m.text(" ");
                    m.text(&assessment::short_load(&stage.stage.load));
                });
                let mean = words::time_ms(stage.response_ms.mean);
                let says = if assessment.held() {
                    format!("mean {mean}")
                } else {
                    assessment.why_not.join(", ")
                };
                m.leaf("span", &[], &says);
            });
        }
    });
}

fn levels(page: &mut Markup, capacity: &Capacity) {
    let levels = levels::named(capacity);
    let top = levels.iter().map(|of| of.level.high.unwrap_or(0.0).max(of.level.rate));
    let top = top.fold(0.0, f64::max);
    page.element("dl", &[("class", "levels")], |m| {
        for of in &levels {
            m.element("div", &[("class", of.look)], |m| {
                m.leaf("dt", &[], of.name);
                m.leaf("dd", &[("class", "big")], &of.value());
                if of.level.rate > 0.0 {
                    m.element("dd", &[("class", "interval")], |m| {
                        m.text(&of.interval());
                        gauge(m, of.level, top);
                    });
                }
                m.leaf("dd", &[], &of.meaning);
            });
        }
    });
    if !capacity.reasons.is_empty() {
        page.element("ul", &[("class", "reasons")], |m| {
            for reason in capacity.reasons.iter().take(REASONS_MAX) {
                m.element("li", &[], |m| m.outside(&words::cut(reason, REASON_CHARS_MAX)));
            }
        });
    }
}

/// Writes a bar from zero to the rate, with its interval, on the common scale of all levels.
fn gauge(page: &mut Markup, level: Level, top: f64) {
    let place = |rate: f64| 300.0 * (rate / top.max(1e-9)).clamp(0.0, 1.0);
    let text = |value: f64| format!("{value:.1}");
    let svg = [("viewBox", "0 0 300 14"), ("aria-hidden", "true"), ("class", "gauge")];
    page.element("svg", &svg, |m| {
        let whole = [("class", "rail"), ("y", "5"), ("width", "300"), ("height", "4")];
        m.void("rect", &whole);
        let width = text(place(level.rate));
        m.void("rect", &[("class", "bar"), ("y", "3"), ("width", &width), ("height", "8")]);
        let (low, high) = (place(level.low), place(level.high.unwrap_or(top)));
        let (x, width) = (text(low), text((high - low).max(2.0)));
        let range = [("class", "range"), ("x", x.as_str()), ("y", "0"), ("width", &width)];
        m.element("rect", &[&range[..], &[("height", "14")]].concat(), |_| {});
    });
}

fn finding(page: &mut Markup, name: &str, finding: &Finding) {
    let look = if finding.good { "good" } else { "bad" };
    page.element("li", &[("class", look)], |m| {
        let (sign, word) = if finding.good { (CHECK, "Good:") } else { (CROSS, "Attention:") };
        icon(m, sign, word);
        m.element("span", &[], |m| {
            m.leaf("strong", &[], &format!("{name}: {}", finding.says));
            m.leaf("span", &[("class", "because")], &finding.because);
        });
    });
}

fn contents(page: &mut Markup, report: &Report) {
    let mut parts: Vec<(String, String)> =
        [("load", "Throughput"), ("time", "Over time"), ("outcomes", "Outcomes")]
            .map(|(id, name)| (id.into(), name.into()))
            .to_vec();
    let profiles = report.profiles.iter().enumerate();
    parts.extend(
        profiles.map(|(nth, (name, _))| (format!("profile-{}", nth + 1), words::name(name))),
    );
    parts.push(("tables".into(), "Tables".into()));
    let tables = report.tables.iter();
    parts
        .extend(tables.map(|table| (format!("{}-section", table.id), words::name(&table.caption))));
    if !report.run.steps.is_empty() {
        parts.push(("resources".into(), "Resources".into()));
    }
    parts.extend(
        [("server", "Server"), ("facts", "How it was made")]
            .map(|(id, name)| (id.to_owned(), name.to_owned())),
    );
    page.element("nav", &[("aria-label", "Contents")], |m| {
        m.element("ul", &[], |m| {
            for (id, name) in &parts {
                m.element("li", &[], |m| m.leaf("a", &[("href", &format!("#{id}"))], name));
            }
        });
    });
}

/// Writes an icon, with a word for readers who do not see it.
fn icon(page: &mut Markup, path: &str, word: &str) {
    let svg = [("viewBox", "0 0 24 24"), ("class", "icon"), ("aria-hidden", "true")];
    page.element("svg", &svg, |m| m.void("path", &[("d", path)]));
    page.leaf("span", &[("class", "unseen")], word);
}
