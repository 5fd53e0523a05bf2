//! Tests of the report on the published test of learners.

mod made_up;

use homeroom_lab::report::LearnersReport;

#[test]
fn the_published_table_has_a_row_where_the_server_crossed_a_threshold() {
    let file = made_up::learners();
    let report = LearnersReport(&file);

    insta::assert_snapshot!("learners_csv", report.published().csv().replace("\r\n", "\n"));
    insta::assert_snapshot!("learners_summary", report.summary());
}

#[test]
fn a_page_has_charts_of_levels_learners_and_launches_and_of_the_server() {
    let file = made_up::learners();

    let page = LearnersReport(&file).html();
    let markdown = LearnersReport(&file).markdown();

    for id in ["learners-p99", "learners-users", "learners-launches", "held", "sessions", "samples"]
    {
        assert!(page.contains(&format!("id=\"{id}")), "{id}");
    }
    for level in ["Ideal", "Acceptable", "Frustrating"] {
        assert!(page.contains(level), "{level}");
    }
    assert!(page.contains("id=\"server-1"), "what the server used");
    assert!(markdown.starts_with("**Learners: "), "{markdown}");
}
