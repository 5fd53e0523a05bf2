//! Tests of reports on made-up runs: what people and programs read, and that no text breaks out of
//! its place.

mod made_up;

use std::collections::HashSet;

use homeroom_lab::report::{
    Cell, Paint, Report, SAMPLES_COLUMNS, csv, html, markdown, samples, summary, transactional,
};
use homeroom_load::record::{encoded, times};
use homeroom_load::run::{RunFile, Watched};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The largest page for a run of 48 hours over 350 resources, in bytes.
const PAGE_BYTES_MAX: usize = 2_000_000;

/// The names, attributes and texts of all elements, in order. Reading fails if the page is not
/// well-formed.
struct Page {
    elements: Vec<(String, Vec<(String, String)>)>,
    text: String,
}

impl Page {
    fn read(html: &str) -> Self {
        let mut reader = Reader::from_str(html);
        let mut page = Self { elements: vec![], text: String::new() };
        loop {
            match reader.read_event().expect("the page is well-formed") {
                Event::Start(of) | Event::Empty(of) => page.elements.push(element(&of)),
                Event::Text(text) => page.text += &text,
                Event::GeneralRef(of) => {
                    page.text += match &*of {
                        "amp" => "&",
                        "lt" => "<",
                        "gt" => ">",
                        "quot" => "\"",
                        "#39" => "'",
                        other => panic!("an entity that XML does not know: {other}"),
                    };
                }
                Event::Eof => return page,
                _ => {}
            }
        }
    }

    fn all<'a>(&'a self, attribute: &'a str) -> impl Iterator<Item = &'a str> {
        let attributes = self.elements.iter().flat_map(|(_, attributes)| attributes);
        attributes.filter(move |(name, _)| name == attribute).map(|(_, value)| value.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.elements.iter().any(|(of, _)| of == name)
    }
}

fn element(of: &BytesStart) -> (String, Vec<(String, String)>) {
    let name = of.name().as_ref().to_owned();
    let attributes = of.attributes().map(|attribute| {
        let attribute = attribute.expect("attributes are quoted and unique");
        let key = attribute.key.as_ref().to_owned();
        (key, quick_xml::escape::unescape(&attribute.value).unwrap().into_owned())
    });
    (name, attributes.collect())
}

fn made_up() -> Vec<RunFile> {
    vec![made_up::few(), made_up::held(), made_up::stages(), made_up::hostile()]
}

#[test]
fn a_page_is_well_formed_and_every_internal_reference_resolves() {
    for run in made_up() {
        let page = Page::read(&html(&Report::of(&run)));

        let ids: Vec<&str> = page.all("id").collect();
        let known: HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(known.len(), ids.len(), "an id stands twice");
        let named = page.all("aria-labelledby").flat_map(str::split_whitespace);
        let linked = page.all("href").map(|href| href.strip_prefix('#').unwrap());
        for id in named.chain(linked) {
            assert!(known.contains(id), "nothing is called {id}");
        }
    }
}

#[test]
fn a_page_has_no_script_and_loads_nothing() {
    for run in made_up() {
        let page = Page::read(&html(&Report::of(&run)));

        for name in ["script", "img", "link", "iframe", "object", "use", "foreignObject", "b"] {
            assert!(!page.has(name), "{name}");
        }
        for (_, attributes) in &page.elements {
            for (name, _) in attributes {
                assert!(!name.starts_with("on") && name != "src" && name != "style", "{name}");
            }
        }
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        assert!(page.all("content").any(|content| content == policy));
    }
}

#[test]
fn headings_go_down_one_step_at_a_time() {
    for run in made_up() {
        let page = Page::read(&html(&Report::of(&run)));

        let levels: Vec<u32> = (page.elements.iter())
            .filter_map(|(name, _)| name.strip_prefix('h')?.parse().ok())
            .collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
        assert_eq!(levels[0], 1);
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    }
}

#[test]
fn hostile_names_are_shown_verbatim() {
    let run = made_up::hostile();

    let page = Page::read(&html(&Report::of(&run)));

    for text in [made_up::HOSTILE[0], made_up::HOSTILE[1], made_up::HOSTILE[2], "学校 🏫"] {
        assert!(page.text.contains(text), "{text}");
    }
    assert!(!page.text.contains(['\u{1b}', '\u{202e}', '\0']));
}

#[test]
fn the_page_of_a_two_day_run_over_350_resources_has_a_limited_size() {
    let run = made_up::long();

    let html = html(&Report::of(&run));

    assert_eq!((run.intervals.len(), run.steps.len()), (172_800, 1_400));
    assert!(html.len() < PAGE_BYTES_MAX, "{} bytes", html.len());
    assert!(html.contains("studentEducationOrganizationAssociations349"));
}

#[test]
fn skipped_steps_are_listed_below_the_table() {
    let mut run = made_up::stages();
    (run.steps[0].skipped, run.steps[2].skipped, run.steps[1].untaken) = (3, 1_200, 7);
    run.steps[3].is_used_up = true;

    let page = html(&Report::of(&run));

    assert!(page.contains("PUT students × 1,200, POST students × 3: because a value"), "{page}");
    assert!(page.contains("GET students × 7: right answers that lacked"), "{page}");
    assert!(page.contains("because every combination of its values had been used"), "{page}");
    let none = html(&Report::of(&made_up::stages()));
    assert!(!none.contains("right answers that lacked"));
}

#[test]
fn hostile_names_are_plain_text_in_spreadsheet_and_terminal() {
    let run = made_up::hostile();

    let csv = samples(&run).csv();
    let terminal = summary(&Report::of(&run), Paint::Plain);

    assert!(!csv.split(['\n', ',']).any(|field| field.starts_with(['=', '@'])), "{csv}");
    assert!(!(csv + &terminal).contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[test]
fn the_table_of_samples_has_exactly_the_published_columns() {
    let table = samples(&made_up::stages());

    let published =
        "Samples, Error %, Throughput, Average, Std dev, p75, p90, p95, p98, p99, p99.9";
    assert_eq!(SAMPLES_COLUMNS.join(", "), published);
    assert_eq!(table.columns[1..].join(", "), published);
    assert!(table.rows().all(|row| row.len() == table.columns.len()));
}

#[test]
fn tables_are_written_as_markdown_and_csv() {
    let run = made_up::stages();

    let (samples, transactional) = (samples(&run), transactional(&run));

    insta::assert_snapshot!("samples_markdown", samples.markdown());
    insta::assert_snapshot!("samples_csv", samples.csv().replace("\r\n", "\n"));
    insta::assert_snapshot!("transactional_markdown", transactional.markdown());
    insta::assert_snapshot!("transactional_csv", transactional.csv().replace("\r\n", "\n"));
}

#[test]
fn the_terminal_summary_has_a_dozen_lines_with_the_answer_first() {
    let run = made_up::stages();

    let plain = summary(&Report::of(&run), Paint::Plain);

    insta::assert_snapshot!("summary", plain);
    let colour = summary(&Report::of(&run), Paint::Colour);
    assert!(colour.starts_with("\u{1b}[1;31mHeld 300 requests/s, not 420\u{1b}[0m\n"), "{colour}");
}

#[test]
fn the_files_of_a_run_have_the_answer_and_both_tables() {
    let run = made_up::stages();
    let report = Report::of(&run);

    let (text, files) = (markdown(&report), csv(&report));

    let answer = "**Held 300 requests/s, not 420.**\n\n- At 420 requests/s: 6.3 % failed, ";
    assert!(text.starts_with(answer), "{text}");
    assert!(text.contains(&transactional(&run).markdown()));
    assert!(text.ends_with(&samples(&run).markdown()));
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["", "stages"]);
    assert_eq!(files[1].1, transactional(&run).csv());
}

#[test]
fn a_percentile_of_too_few_requests_is_left_empty() {
    let mut run = made_up::few();
    run.requests.total = 499;
    run.steps[0].requests.total = 5_000;

    let table = samples(&run);

    let rows: Vec<&Vec<Cell>> = table.rows().collect();
    // The 98th percentile needs 250 requests, the 99th 500, the 99.9th 5,000.
    assert!(matches!(rows[0][9..], [Cell::Figure(_), Cell::Nothing, Cell::Nothing]), "{rows:?}");
    assert!(rows[1][6..].iter().all(|cell| *cell == Cell::Nothing), "{rows:?}");
    assert!(!rows.last().unwrap().contains(&Cell::Nothing), "{rows:?}");
    assert!(table.csv().lines().nth(1).unwrap().ends_with(",,"));
    assert!(table.markdown().contains("fewer than 5 requests lie beyond it"));
    assert_eq!(transactional(&run).rows().next().unwrap()[6], Cell::Nothing);
    run.requests.total = 4_999;
    let page = html(&Report::of(&run));
    assert!(page.contains("<dd>p99.9 –</dd>") && !page.contains("<dd>p95 –</dd>"), "{page}");
}

#[test]
fn percentiles_have_the_interval_that_the_histograms_give() {
    let mut run = made_up::held();
    let mut response = times();
    for us in 1..=10_000 {
        response.record(us * 10).unwrap();
    }
    run.histograms.insert("response".into(), encoded(&response));

    let page = Page::read(&html(&Report::of(&run)));

    // Ranks 4,902 to 5,099 of 10,000, and about 9,980 to 9,996.
    assert!(page.text.contains("49 to 51"), "{}", page.text);
    assert!(page.text.contains("99.8 to 100") || page.text.contains("99.9 to 100"));
}

#[test]
fn the_database_is_in_process_only_if_stated() {
    let cells = |run: &RunFile| transactional(run).rows().next().unwrap()[24..].to_vec();
    let note = |run: &RunFile| transactional(run).notes.last().unwrap().1.clone();
    let mut run = made_up::held();

    assert!(matches!(cells(&run)[..], [_, _, Cell::Nothing, Cell::Nothing]), "{:?}", cells(&run));
    assert!(note(&run).ends_with("; database: not watched"), "{}", note(&run));

    run.server.push(Watched { within: "web".into(), ..Watched::called("database") });
    let text = Cell::Text("in process".into());
    assert_eq!(cells(&run)[2..], [text.clone(), text]);
    assert!(note(&run).ends_with("runs in the web server's process"), "{}", note(&run));

    run.server = vec![Watched { name: "cache".into(), ..run.server[0].clone() }];
    assert_eq!(cells(&run), [const { Cell::Nothing }; 4], "a cache is no web server");
    assert_eq!(note(&run), "neither was watched");
}
