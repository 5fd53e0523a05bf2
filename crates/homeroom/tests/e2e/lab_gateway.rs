//! Tests of `homeroom lab gateway`, against the echo in the place of a gateway.

use serde_json::{Value, json};

use crate::lab::{Echo, read_json};
use crate::support::Place;

/// The shortest matrix: one size and one number of users in both scenarios.
const SHORT: [&str; 10] =
    ["--users", "4", "--sizes", "1KiB", "--warm-up", "100ms", "--duration", "1s", "--idle", "10ms"];

fn secure(place: &Place) -> Echo {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    place.write("cert.pem", made.cert.pem());
    place.write("key.pem", made.signing_key.serialize_pem());
    Echo::start(place, &["--certificate", "cert.pem", "--private-key", "key.pem"])
}

#[test]
fn a_matrix_is_run_over_https_and_written_as_the_published_table() {
    let place = Place::new();
    let echo = secure(&place);
    place.write("tokens.txt", "one\ntwo\n\nthree\n");
    let target = ["lab", "gateway", "--target", &echo.url, "--ca", "cert.pem"];
    let files = ["--json", "now.json", "--html", "now.html", "--csv", "now.csv"];
    let more = ["--tokens", "tokens.txt", "--process", &echo.id().to_string()];

    let summary = place.done(&[&target[..], &SHORT, &files, &more].concat());

    let file = read_json(&place, "now.json");
    let cells = file["cells"].as_array().unwrap();
    let scenarios: Vec<&Value> = cells.iter().map(|cell| &cell["scenario"]).collect();
    assert_eq!(scenarios, ["passthrough", "transformation"]);
    for cell in cells {
        assert_eq!(cell["outcomes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["200"]);
        assert_eq!((&cell["users"], &cell["size_bytes"]), (&json!(4), &json!(1024)));
        assert_eq!(
            (&cell["error_percent"], &cell["memory_limit"]),
            (&json!(0.0), &json!("not limited"))
        );
        assert!(cell["throughput"].as_f64().unwrap() > 0.0);
        assert!(cell["footprint_mb"].as_f64().unwrap() > 0.0, "{cell}");
        assert!(cell["cpu_us_per_request"].as_f64().unwrap() > 0.0, "{cell}");
        assert_eq!(cell["load_average"].as_array().unwrap().len(), 3);
    }
    assert_eq!((&file["settings"]["tokens"], &file["settings"]["tls"]), (&json!(3), &json!(true)));
    let remark = cells[1]["remark"].as_str().unwrap();
    assert!(remark.contains("nothing was transformed"), "{remark}");
    let csv = std::fs::read_to_string(place.path("now.csv")).unwrap();
    assert!(csv.starts_with("Scenario Name,Heap Size,Concurrent Users,"), "{csv}");
    assert!(summary.contains("Passthrough"), "{summary}");
    assert!(std::fs::read_to_string(place.path("now.html")).unwrap().contains("<html"));
}

#[test]
fn a_gateway_is_started_within_its_limit_and_compared_with_a_baseline() {
    let place = Place::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = format!("http://{free}");
    let program = env!("CARGO_BIN_EXE_homeroom");
    let spawn = format!("{program} lab echo --listen {free}");
    let run = |more: &[&str]| {
        let how = ["lab", "gateway", "--target", &target, "--spawn", &spawn, "--memory", "512M"];
        let one = ["--scenarios", "passthrough"];
        place.run(&[&how[..], &SHORT, &one, more].concat())
    };

    let first = run(&["--json", "first.json"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let mut earlier = read_json(&place, "first.json");
    let cell = &mut earlier["cells"][0];
    assert!(cell["memory_limit"].as_str().unwrap().starts_with("512M"), "{cell}");
    assert!(cell["footprint_mb"].as_f64().unwrap() > 0.0);
    cell["throughput"] = json!(1e9);
    cell["cpu_us_per_request"] = json!(0.001);
    place.write("faster.json", serde_json::to_string(&earlier).unwrap());

    let second = run(&["--baseline", "faster.json", "--json", "second.json"]);

    assert_eq!(second.code, Some(6), "{second:?}");
    let baseline = &read_json(&place, "second.json")["baseline"];
    assert_eq!(baseline["rows"][0]["worse"], true, "{baseline}");
}

#[test]
fn a_gateway_that_refuses_or_is_not_there_ends_the_test_with_the_reason() {
    let place = Place::new();
    let refusing = Echo::start(&place, &["--error-share", "100%", "--status", "401"]);
    let run = |url: &str, more: &[&str]| {
        place.run(&[&["lab", "gateway", "--target", url][..], &SHORT, more].concat())
    };

    let refused = run(&refusing.url, &[]);
    let absent = run("http://127.0.0.1:1", &[]);
    let wrong = run(&refusing.url, &["--sizes", "10B"]);

    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("/apis/echo/1.0.0 answers 401"), "{}", refused.stderr);
    assert_eq!(absent.code, Some(5), "{absent:?}");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn the_back_end_of_the_test_has_the_delay_of_each_cell() {
    let place = Place::new();
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let target = format!("http://{free}");
    let how = ["lab", "gateway", "--target", &target, "--back-end", &free];
    let delays = ["--delays", "0s,200ms", "--scenarios", "passthrough", "--json"];

    let printed = place.done(&[&how[..], &SHORT, &delays].concat());

    let file: Value = serde_json::from_str(&printed).unwrap();
    let means: Vec<f64> = file["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["response_ms"]["mean"].as_f64().unwrap())
        .collect();
    assert!(means[1] >= 200.0 && means[0] < means[1], "{means:?}");
}
