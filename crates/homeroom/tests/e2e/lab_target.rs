//! Tests with targets that need a trusted certificate, and with targets that need a token.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Echo, read_json};
use crate::support::Place;

#[test]
fn the_command_line_decides_whether_a_tls_target_is_trusted() {
    let place = Place::new();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    place.write("cert.pem", made.cert.pem());
    place.write("key.pem", made.signing_key.serialize_pem());
    let echo = Echo::start(&place, &["--certificate", "cert.pem", "--private-key", "key.pem"]);
    assert!(echo.url.starts_with("https://"), "{}", echo.url);
    let run = |trust: &[&str]| {
        let load = ["--rate", "50", "--duration", "1s", "--json", "run.json"];
        let target = ["lab", "run", "--target", &echo.url];
        place.run(&[&target[..], &load, trust].concat())
    };

    for trust in [&["--ca", "cert.pem"][..], &["--insecure"], &["--insecure", "--http2"]] {
        let ran = run(trust);
        assert_eq!(ran.code, Some(0), "{trust:?}: {}", ran.stderr);
        let file = read_json(&place, "run.json");
        assert_eq!(file["outcomes"], json!({"200": 50}), "{trust:?}");
        let protocol = if trust.contains(&"--http2") { "HTTP/2" } else { "HTTP/1.1" };
        assert_eq!(file["settings"]["protocol"], protocol);
    }
    let ran = run(&[]);
    assert_eq!(ran.code, Some(5), "nobody has signed it: {}", ran.stderr);
    let ran = run(&["--ca", "none.pem"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("none.pem"), "{}", ran.stderr);
}

/// Starts a server whose tokens are valid for three seconds. Returns its URL and when it issued
/// each token.
fn short_tokens() -> (String, Arc<Mutex<Vec<Instant>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let given = Arc::new(Mutex::new(vec![]));
    let tokens = given.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tokens = tokens.clone();
            std::thread::spawn(move || while serve_one(&stream, &tokens).is_some() {});
        }
    });
    (url, given)
}

/// Answers a request; returns `None` when no more requests come.
fn serve_one(mut stream: &TcpStream, tokens: &Mutex<Vec<Instant>>) -> Option<()> {
    let mut reader = BufReader::with_capacity(1, stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        (reader.read_line(&mut line).ok()? > 0).then_some(())?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head += &line;
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let (status, body) = if head.starts_with("POST /oauth/token ") {
        let mut tokens = tokens.lock().unwrap();
        tokens.push(Instant::now());
        (200, json!({"access_token": format!("t{}", tokens.len() - 1), "expires_in": 3}))
    } else {
        let number = head
            .split_once("Bearer t")
            .and_then(|(_, rest)| rest.split("\r\n").next()?.parse::<usize>().ok());
        let given = number.and_then(|number| tokens.lock().unwrap().get(number).copied());
        let is_good = given.is_some_and(|given| given.elapsed() < Duration::from_secs(3));
        (if is_good { 200 } else { 401 }, Value::Null)
    };
    let body = body.to_string();
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}").ok()
}

#[test]
fn a_token_is_renewed_before_it_ends() {
    let place = Place::new();
    let (url, given) = short_tokens();

    let target = format!("{url}/anything");
    place.done(&[
        "lab",
        "run",
        "--target",
        &target,
        "--key",
        "k",
        "--secret",
        "s",
        "--rate",
        "40",
        "--duration",
        "7s",
        "--json",
        "run.json",
    ]);

    let file = read_json(&place, "run.json");
    assert_eq!(file["outcomes"], json!({"200": 280}), "{file}");
    assert!(given.lock().unwrap().len() >= 3);
    assert!(!file["command"].to_string().contains("\"s\""), "{}", file["command"]);
}
