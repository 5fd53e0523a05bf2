//! Tests of the report on the published gateway test.

mod made_up;

use homeroom_lab::gateway::GatewayFile;
use homeroom_lab::report::GatewayReport;

#[test]
fn the_published_table_has_the_published_columns() {
    let file = made_up::gateway();
    let report = GatewayReport(&file);

    let table = report.published();

    let published = "Scenario Name, Heap Size, Concurrent Users, Message Size (Bytes), Back-end \
                     Service Delay (ms), Error %, Throughput (Requests/sec), Average Response Time \
                     (ms), Standard Deviation of Response Time (ms), 99th Percentile of Response \
                     Time (ms), GC Throughput (%), Average Memory Footprint After Full GC (M)";
    assert_eq!(table.columns[..12].join(", "), published);
    assert!(table.rows().all(|row| row.len() == table.columns.len()));
    insta::assert_snapshot!("gateway_csv", table.csv().replace("\r\n", "\n"));
}

#[test]
fn the_tables_and_the_summary_say_what_was_measured_and_what_became_worse() {
    let file = made_up::gateway();
    let report = GatewayReport(&file);

    insta::assert_snapshot!("gateway_markdown", report.markdown());
    insta::assert_snapshot!("gateway_summary", report.summary());
}

#[test]
fn a_page_has_its_charts_and_tables_and_a_file_survives_a_round_trip() {
    let file = made_up::gateway();

    let page = GatewayReport(&file).html();
    let text = serde_json::to_string(&file).unwrap();
    let read: GatewayFile = serde_json::from_str(&text).unwrap();

    for id in ["passthrough-throughput", "transformation-p99", "gateway", "beside", "baseline"] {
        assert!(page.contains(&format!("id=\"{id}")), "{id}");
    }
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    let kept = |of: &GatewayFile| -> Vec<_> {
        of.cells.iter().map(|cell| (cell.plan, cell.requests, cell.outcomes.clone())).collect()
    };
    assert_eq!((kept(&read), read.settings), (kept(&file), file.settings.clone()));
    assert!(read.baseline.unwrap().is_worse());
}
