//! `homeroom load`, at the command line and by a server.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Place, Server, student};

fn pupil(id: &str) -> String {
    let mut document = student(id, "Ada");
    document["birthDate"] = json!("2014-05-15");
    document.to_string()
}

#[test]
fn a_direct_load_into_a_store_that_is_open_or_has_documents_ends_with_2_and_the_reason() {
    let place = Place::new();
    place.write("students.jsonl", student("1", "Ada").to_string());
    place.done(&["load", "students.jsonl", "--direct"]);

    let filled = place.run(&["load", "students.jsonl", "--direct"]);
    let server = Server::start(&place);
    let served = place.run(&["load", "students.jsonl", "--direct"]);
    let by_server = place.done(&["load", "students.jsonl"]);
    server.stop();

    assert_eq!((filled.code, served.code), (Some(2), Some(2)), "{filled:?} {served:?}");
    assert!(filled.stderr.contains("empty"), "{filled:?}");
    assert!(served.stderr.contains("a server has the store open"), "{served:?}");
    assert!(by_server.contains("1 were already stored"), "{by_server}");
}

#[test]
fn the_items_of_loads_by_a_server_are_metrics_that_equal_the_summaries() {
    let place = Place::new();
    let lines = [student("1", "Ada").to_string(), "{}".into(), student("2", "Bo").to_string()];
    place.write("students.jsonl", lines.join("\n"));
    let server = Server::start(&place);

    let loaded = place.run(&["load", "students.jsonl", "--json", "--results", "results.jsonl"]);
    let again = place.run(&["load", "students.jsonl", "--json", "--results", "results.jsonl"]);
    let back = place.run(&["load", "students.jsonl", "--delete", "--json", "--results", "r.jsonl"]);

    let metrics = server.admin_client().get("/metrics").text();
    let tally = |ran: &crate::support::Ran| -> Value {
        let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
        summary["summary"]["resources"]["ed-fi/students"].clone()
    };
    let sum = |outcome: &str| -> u64 {
        [&loaded, &again, &back].map(|ran| tally(ran)[outcome].as_u64().unwrap()).iter().sum()
    };
    assert_eq!(tally(&loaded)["loaded"], 2, "{loaded:?}");
    assert_eq!(tally(&back)["deleted"], 2, "{back:?}");
    for outcome in ["loaded", "unchanged", "rejected", "deleted"] {
        let line = format!(
            "homeroom_load_items_total{{resource=\"ed-fi/students\",outcome=\"{outcome}\"}} {}\n",
            sum(outcome)
        );
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}

#[test]
fn the_standard_input_may_be_packed() {
    let place = Place::new();
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    write!(packed, "{{\"resource\":\"ed-fi/students\",\"document\":{}}}\n", pupil("1")).unwrap();
    let packed = packed.finish().unwrap();

    for is_served in [false, true] {
        let server = is_served.then(|| Server::start(&place));
        let mut load = place.command(&["load", "-"]);
        let mut load = load
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        load.stdin.take().unwrap().write_all(&packed).unwrap();
        let ended = load.wait_with_output().unwrap();

        let told = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(told.contains("(1 records"), "{told}");
        drop(server);
    }
}
