//! Tests of reports on a capacity search, a comparison and a gate.

mod made_up;

use homeroom_lab::capacity::{AtLeast, Capacity, Level, Levels, Verdict};
use homeroom_lab::compare::{self, ComparisonSettings, RunFigures};
use homeroom_lab::gate;
use homeroom_lab::report::{
    Paint, Report, comparison, csv, gate as gate_table, html, markdown, samples, summary,
};

#[test]
fn the_terminal_summary_shows_the_three_levels() {
    let (run, capacity) = (made_up::held(), made_up::capacity());
    let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

    let summary = summary(&report, Paint::Plain);

    insta::assert_snapshot!("capacity_summary", summary);
}

#[test]
fn a_level_limited_by_the_generator_is_shown_as_a_lower_bound() {
    let (run, mut capacity) = (made_up::held(), made_up::capacity());
    capacity.verdict = Verdict::GeneratorLimited;
    let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

    let (page, lines) = (html(&report), summary(&report, Paint::Plain));

    assert!(lines.starts_with("Holds at least 391 requests/s\n"), "{lines}");
    assert!(lines.contains("GENERATOR-LIMITED: The generator was the limit"), "{lines}");
    assert!(page.contains("<header class=\"hero not-judged\">"));
    assert!(page.contains("<strong>Generator: The limit</strong>"));
}

#[test]
fn a_level_that_was_not_found_has_no_figure() {
    let (run, mut capacity) = (made_up::held(), made_up::capacity());
    capacity.verdict = Verdict::TargetFailing;
    capacity.levels = Levels::default();
    capacity.trials.clear();
    let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

    let (page, lines) = (html(&report), summary(&report, Paint::Plain));

    assert!(lines.starts_with("No load was held\n"), "{lines}");
    assert_eq!(page.matches("<dd class=\"big\">not found</dd>").count(), 3);
}

#[test]
fn a_comparison_and_a_gate_have_their_sections() {
    let seen = |at: u32, mean_ms: f64| RunFigures {
        goodput: 100.0 + f64::from(at % 3) / 10.0,
        mean_ms: mean_ms + f64::from(at % 2) / 10.0,
        p50_ms: 9.0 + f64::from(at % 3) / 100.0,
        p99_ms: 40.0 + f64::from(at % 2) / 10.0,
        error_share: 0.0,
    };
    let runs = |mean_ms: f64| (0..6).map(|at| seen(at, mean_ms)).collect();
    let compared = compare::judge(
        ["old".into(), "<new>".into()],
        ComparisonSettings::default(),
        runs(12.0),
        runs(6.0),
    );
    let goals = [gate::parse("p99 > 100ms").unwrap()];
    let rows = gate::evaluate(r#"{"response_ms": {"p99": 120.0}}"#, &goals).unwrap();
    let (run, tables) = (made_up::few(), [comparison(&compared), gate_table(&rows)]);
    let report = Report { tables: &tables, ..Report::of(&run) };

    let page = html(&report);

    insta::assert_snapshot!("comparison", tables[0].markdown());
    insta::assert_snapshot!("gate", tables[1].markdown());
    assert!(page.contains("<section id=\"comparison-section\""));
    assert!(page.contains("B: &lt;new&gt;"));
}

#[test]
fn the_files_of_a_search_begin_with_the_answer() {
    let (run, mut capacity) = (made_up::held(), made_up::capacity());
    capacity.trials.truncate(3);
    let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

    let (text, files) = (markdown(&report), csv(&report));

    let until = text.find("**Stages: load").unwrap();
    insta::assert_snapshot!("capacity_markdown", &text[..until]);
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["", "stages", "levels", "trials"]);
    assert_eq!(files[0].1, samples(&run).csv());
    insta::assert_snapshot!("levels_csv", files[2].1.replace("\r\n", "\n"));
    assert_eq!(files[3].1.lines().count(), 4);
}

#[test]
fn the_page_of_a_search_names_the_shown_run_and_the_generators_own_limit() {
    let (run, capacity) = (made_up::held(), made_up::capacity());
    let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

    let page = html(&report);

    assert!(page.contains(">Over time: the run at 300/s</h2>"), "{page}");
    assert!(page.contains(">In the published form: the run at 300/s</h2>"));
    assert!(page.contains("<dt>Sends at most</dt><dd><bdi>52,000/s to a server"));
    assert!(!html(&Report::of(&run)).contains("the run at"));
}

#[test]
fn an_interrupted_search_gives_a_lower_bound_until_a_rate_has_failed() {
    let (run, mut capacity) = (made_up::held(), made_up::capacity());
    capacity.verdict = Verdict::Interrupted;
    let said = |capacity: &Capacity| {
        let report = Report { capacity: Some(capacity), ..Report::of(&run) };
        summary(&report, Paint::Plain)
    };

    let lines = said(&capacity);
    assert!(lines.starts_with("Holds at least 391 requests/s\n"), "{lines}");
    assert!(lines.contains("INTERRUPTED: It was stopped"), "{lines}");
    let stable = Level { high: None, ..capacity.levels.stable() };
    capacity.levels = Levels::new(stable, stable, stable);
    assert!(said(&capacity).starts_with("Holds at least 391 requests/s\n"));
}

#[test]
fn an_unconfirmed_level_is_a_lower_bound_with_its_reason_in_every_form() {
    let (run, mut capacity) = (made_up::held(), made_up::capacity());
    for (why, words) in [
        (AtLeast::Void, "the trials that should confirm it were void"),
        (AtLeast::Short, "it was not held for long enough to confirm it"),
    ] {
        for verdict in [Verdict::OutOfTime, Verdict::HostNoisy, Verdict::TargetUnsteady] {
            capacity.verdict = verdict;
            let stable = capacity.levels.stable().at_least(why);
            capacity.levels =
                Levels::new(stable, capacity.levels.burst(), capacity.levels.failure());
            let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

            let (page, lines, text) =
                (html(&report), summary(&report, Paint::Plain), markdown(&report));

            let headline = format!("Holds at least 391 requests/s: {words}");
            assert!(lines.starts_with(&format!("{headline}\n")), "{lines}");
            assert!(lines.contains("stable       ≥ 391/s"), "{lines}");
            assert!(page.contains(&headline) && page.contains("≥ 391/s"), "{page}");
            assert!(text.contains(&headline) && text.contains(&format!("at least: {words}")));
            assert!(!lines.contains('≈') && !page.contains('≈') && !lines.contains("about"));
        }
    }
}

#[test]
fn levels_are_in_order_in_every_form() {
    let (run, mut capacity) = (made_up::held(), made_up::capacity());
    let found = |rate| Level { rate, low: rate, found: true, ..Level::default() };
    capacity.levels = Levels::new(found(25_600.0), found(21_333.0), found(21_333.0));
    let report = Report { capacity: Some(&capacity), ..Report::of(&run) };

    let (page, lines, files) = (html(&report), summary(&report, Paint::Plain), csv(&report));

    assert!(!page.contains("21,333") && !lines.contains("21,333") && !files[2].1.contains("21333"));
    assert!(lines.contains("burst        ≥ 25,600/s"), "{lines}");
    assert!(lines.contains("failure      ≥ 25,600/s"), "{lines}");
}
