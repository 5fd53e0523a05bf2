use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::*;

/// Sends requests over one connection and reads all answers until it is closed.
fn exchange(echo: &Echo, requests: &str) -> String {
    let mut stream = TcpStream::connect(echo.address()).unwrap();
    stream.write_all(requests.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    answers
}

fn post(body: &str, last: bool) -> String {
    let close = if last { "Connection: close\r\n" } else { "" };
    let length = body.len();
    format!(
        "POST /x HTTP/1.1\r\nHost: x\r\n{close}Content-Type: a/b\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn posts(many: usize) -> String {
    (1..=many).map(|number| post("hello", number == many)).collect()
}

fn statuses(answers: &str) -> Vec<&str> {
    answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
}

#[test]
fn a_posted_body_is_echoed_and_counted() {
    let echo = Echo::start(EchoOptions { by_millisecond: true, ..EchoOptions::plain() }).unwrap();

    let answers = exchange(&echo, &posts(2));

    assert_eq!(statuses(&answers), ["200", "200"]);
    assert_eq!(answers.matches("hello").count(), 2);
    assert!(answers.contains("content-type: a/b"), "{answers}");
    let counts = echo.counts();
    assert_eq!((&counts["arrived"], &counts["answered"]), (&2.into(), &2.into()));
    let sum = |name: &str| {
        counts[name].as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).sum::<u64>()
    };
    assert_eq!((sum("by_second"), sum("by_millisecond")), (2, 2));
    let told = exchange(&echo, "GET /_lab/counts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(told.ends_with(&counts.to_string()), "{told}");
}

#[test]
fn a_fixed_body_has_the_requested_length() {
    let echo = Echo::start(EchoOptions { body_bytes: Some(1024), ..EchoOptions::plain() }).unwrap();

    let answers = exchange(&echo, &post("hello", true));

    assert!(answers.ends_with(&format!("\r\n\r\n{}", "x".repeat(1024))), "{answers}");
}

#[test]
fn the_share_of_errors_is_exact() {
    let echo =
        Echo::start(EchoOptions { errors: Some((0.25, 418)), ..EchoOptions::plain() }).unwrap();

    let answers = exchange(&echo, &posts(40));

    let failed = statuses(&answers).iter().filter(|status| **status == "418").count();
    assert_eq!((failed, &echo.counts()["failed"]), (10, &10.into()));
}

#[test]
fn requests_beyond_capacity_are_shed_with_retry_after() {
    let capacity =
        PlantedCapacity { rate: 1.0, workers: 1, spread: 0.0, queue: Duration::ZERO, seed: 1 };
    let echo =
        Echo::start(EchoOptions { capacity: Some(capacity), ..EchoOptions::plain() }).unwrap();
    let first = TcpStream::connect(echo.address()).unwrap();
    (&first).write_all(post("hello", true).as_bytes()).unwrap();
    while echo.counts()["arrived"] != 1 {
        std::thread::yield_now();
    }

    let second = exchange(&echo, &post("hello", true));
    let mut answer = String::new();
    (&first).read_to_string(&mut answer).unwrap();

    assert!(
        second.starts_with("HTTP/1.1 503") && second.contains("retry-after: 1\r\n"),
        "{second}"
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(echo.counts()["shed"], 1);
}

#[test]
fn a_freeze_ends_and_loses_no_answer() {
    let freeze = Some((Duration::ZERO, Duration::from_millis(50)));
    let echo = Echo::start(EchoOptions { freeze, ..EchoOptions::plain() }).unwrap();

    // The first request starts the freeze; its answer and the second request wait until it ends.
    let answers = exchange(&echo, &posts(2));

    assert_eq!(statuses(&answers), ["200", "200"]);
}
