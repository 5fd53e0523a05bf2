//! Tests of `homeroom lab learners`, against a small course server in the test's process that speaks
//! the contract of courses.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::lab::read_json;
use crate::support::Place;

/// What the server has been told.
#[derive(Default)]
struct Told {
    courses: BTreeSet<String>,
    /// By launch, which is the registration's id: the sequence numbers of its results.
    sequences: BTreeMap<String, Vec<u64>>,
    completed: BTreeSet<String>,
    /// By launch, what was kept of the interactions.
    interactions: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether an answer was lost.
    is_answer_lost: bool,
    /// By launch, the status that was set last.
    status: BTreeMap<String, String>,
    /// The bytes of all results.
    result_bytes: usize,
    registrations: BTreeSet<String>,
    connections: usize,
    ranges: usize,
}

/// What the server acknowledges and loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loses {
    Nothing,
    /// The final results.
    TheEnd,
    /// The first answer of one learner.
    OneAnswer,
}

/// A course server.
struct Courses {
    url: String,
    told: Arc<Mutex<Told>>,
}

impl Courses {
    fn start(loses: Loses) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let told = Arc::new(Mutex::new(Told::default()));
        let (shared, origin) = (told.clone(), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (told, origin) = (shared.clone(), origin.clone());
                told.lock().unwrap().connections += 1;
                std::thread::spawn(
                    move || {
                        while serve(&stream, &told, &origin, loses).is_some() {}
                    },
                );
            }
        });
        Self { url, told }
    }
}

/// Answers a request; returns `None` when no more requests come.
fn serve(mut stream: &TcpStream, told: &Mutex<Told>, origin: &str, loses: Loses) -> Option<()> {
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
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, answer) = answer(&head, &body, &mut told.lock().unwrap(), origin, loses);
    let length = answer.len();
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n").ok()?;
    stream.write_all(&answer).ok()
}

fn answer(head: &str, body: &[u8], told: &mut Told, origin: &str, loses: Loses) -> (u16, Vec<u8>) {
    let mut words = head.split(' ');
    let (method, url) = (words.next().unwrap(), words.next().unwrap());
    let path = url.split('?').next().unwrap();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let read = || serde_json::from_slice::<Value>(body).unwrap();
    let text = |value: &Value| (200, value.to_string().into_bytes());
    // key:secret
    if parts[0] == "learning"
        && !head.to_ascii_lowercase().contains("authorization: basic azpz\r\n")
    {
        return (401, b"no key".to_vec());
    }
    match (method, &parts[..]) {
        ("GET", ["learning", "api", "v2", "courses"]) => {
            text(&json!({"courses": [], "more": null}))
        }
        ("GET", ["learning", "api", "v2", "courses", "importJobs", _]) => {
            text(&json!({"status": "COMPLETE"}))
        }
        ("GET", ["learning", "api", "v2", "courses", id]) => {
            (if told.courses.contains(*id) { 200 } else { 404 }, vec![])
        }
        ("POST", ["learning", "api", "v2", "courses", "importJobs", "upload"]) => {
            assert!(body.windows(4).any(|four| four == b"PK\x05\x06"), "a zip file");
            let query = url.split("courseId=").nth(1).unwrap();
            told.courses.insert(query.split('&').next().unwrap().to_owned());
            text(&json!({"result": "job-1"}))
        }
        ("POST", ["learning", "api", "v2", "registrations"]) => {
            let registration = read();
            assert!(registration["learner"]["id"].is_string(), "{registration}");
            told.registrations.insert(registration["registrationId"].as_str().unwrap().to_owned());
            (204, vec![])
        }
        ("GET", ["learning", "api", "v2", "registrations"]) => text(&json!({"registrations": []})),
        ("POST", ["learning", "api", "v2", "registrations", id, "launchLink"]) => {
            assert!(told.registrations.contains(*id) && read()["expiry"].is_u64());
            text(&json!({"launchLink": format!("{origin}/play/{id}")}))
        }
        ("GET", ["learning", "api", "v2", "registrations", id]) => {
            let word = if told.completed.contains(*id) { "COMPLETED" } else { "INCOMPLETE" };
            let kept = told.interactions.get(*id).cloned().unwrap_or_default();
            let of = |at: usize, member: &str| kept.get(&format!("cmi.interactions.{at}.{member}"));
            let shown = (0..).map_while(|at| Some((of(at, "id")?, of(at, "student_response"))));
            let shown = shown.map(|(id, given)| json!({ "id": id, "learnerResponse": given }));
            let runtime = json!({ "runtimeInteractions": shown.collect::<Vec<_>>() });
            text(&json!({
                "id": id,
                "registrationCompletion": word,
                "activityDetails": { "id": "c", "children": [{ "id": "unit", "runtime": runtime }] },
            }))
        }
        ("GET", ["play", _]) => (200, b"<html>".to_vec()),
        ("GET", ["play", id, "boot"]) => text(&json!({
            "session": format!("page-{id}"),
            "start": "unit",
            "origins": {"main": origin, "content": origin},
            "paths": {"content": format!("/play/{id}/content/")},
        })),
        ("GET", ["play", _, "content", "text.txt"]) => (200, vec![b'x'; 51_200]),
        ("GET", ["play", _, "content", "film.mp4"]) => {
            assert!(head.to_ascii_lowercase().contains("range: bytes="), "{head}");
            told.ranges += 1;
            (206, vec![b'x'; 65_536])
        }
        ("POST", ["play", id, "results"]) => {
            let results = read();
            let sequence = results["sequence"].as_u64().unwrap();
            assert_eq!(
                (&results["session"], &results["activity"]),
                (&json!(format!("page-{id}")), &json!("unit"))
            );
            assert!(results["cmi"].as_object().unwrap().values().all(Value::is_string));
            assert!(results["calls"].as_array().is_some_and(|calls| calls.len() > 2), "{results}");
            for line in ["Sec-Fetch-Mode: cors", &format!("Origin: {origin}"), "Accept: */*"] {
                let line = format!("\r\n{}\r\n", line.to_ascii_lowercase());
                assert!(head.to_ascii_lowercase().contains(&line), "{head}");
            }
            told.result_bytes += body.len();
            told.sequences.entry((*id).to_owned()).or_default().push(sequence);
            if let Some(status) = results["cmi"]["cmi.core.lesson_status"].as_str() {
                told.status.insert((*id).to_owned(), status.to_owned());
            }
            let cmi = results["cmi"].as_object().unwrap().iter();
            let answers = cmi.filter(|(name, _)| name.starts_with("cmi.interactions."));
            let answers: Vec<_> = answers
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect();
            if loses == Loses::OneAnswer && !answers.is_empty() && !told.is_answer_lost {
                told.is_answer_lost = true;
            } else {
                told.interactions.entry((*id).to_owned()).or_default().extend(answers);
            }
            let is_complete = told.status.get(*id).is_some_and(|status| status == "passed");
            if results["final"] == true && is_complete && loses != Loses::TheEnd {
                told.completed.insert((*id).to_owned());
            }
            text(&json!({"sequence": sequence}))
        }
        _ => (404, b"not here".to_vec()),
    }
}

/// Twenty learners whose sessions of four posts take less than a second.
const SHORT: [&str; 12] = [
    "--learners",
    "20",
    "--connections",
    "6",
    "--posts",
    "4",
    "--every",
    "200ms",
    "--ramp",
    "1s",
    "--stay",
    "11s",
];

fn run(place: &Place, url: &str, more: &[&str]) -> crate::support::Ran {
    let how = ["lab", "learners", "--target", url, "--key", "k", "--secret", "s"];
    place.run(&[&how[..], &SHORT, more].concat())
}

#[test]
fn learners_take_a_course_and_the_published_table_is_written() {
    let place = Place::new();
    let courses = Courses::start(Loses::Nothing);
    let more = [
        "--beside",
        "reports=2/s,imports=1/s,registrations=5/s",
        "--content",
        "20",
        "--json",
        "now.json",
        "--html",
        "now.html",
        "--csv",
        "now.csv",
    ];

    let ran = run(&place, &courses.url, &more);

    assert_eq!(ran.code, Some(0), "{ran:?}");
    let file = read_json(&place, "now.json");
    let learners = &file["learners"];
    let sessions = &learners["sessions"];
    assert!(sessions["completed"].as_u64().unwrap() >= 20, "{sessions}");
    assert!(ran.stdout.contains("came to their end and were checked"), "{}", ran.stdout);
    let posts = &learners["posts"];
    let mean = posts["body_bytes"].as_f64().unwrap() / posts["count"].as_f64().unwrap();
    assert!((400.0..900.0).contains(&mean), "{posts}");
    assert_eq!((&sessions["lost"], &sessions["broken"]), (&json!(0), &json!(0)));
    assert_eq!(file["requests"]["failed"], 0, "{}", file["outcomes"]);
    let windows = learners["windows"].as_array().unwrap();
    // One learner takes the place of another, which takes a moment.
    let users = windows[0]["users"].as_u64().unwrap();
    assert!(windows.len() == 1 && (15..=20).contains(&users), "{learners}");
    assert!(windows[0]["launches_per_minute"].as_f64().unwrap() > 0.0);
    assert_eq!(learners["held"][0]["level"], "ideal");
    let steps: BTreeMap<&str, u64> = file["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["name"].as_str().unwrap(), step["requests"]["ok"].as_u64().unwrap()))
        .collect();
    for name in [
        "list courses",
        "boot",
        "final results",
        "reports",
        "imports",
        "registrations",
        "file",
        "film by Range",
    ] {
        assert!(steps.get(name).is_some_and(|ok| *ok > 0), "{name}: {steps:?}");
    }
    let csv = std::fs::read_to_string(place.path("now.csv")).unwrap();
    assert!(csv.starts_with("Level,Time,Users,p99 ms,Launches/min"), "{csv}");
    assert!(std::fs::read_to_string(place.path("now.html")).unwrap().contains("learners-p99"));
    let told = courses.told.lock().unwrap();
    assert!(told.sequences.values().filter(|of| **of == [1, 2, 3, 4, 5, 6, 7]).count() >= 20);
    // Six for the learners, and some before them and for content.
    assert!(told.connections < 6 + 40, "{} connections", told.connections);
    assert!(told.ranges > 0);
}

#[test]
fn results_that_are_acknowledged_and_lost_are_counted() {
    let place = Place::new();
    let courses = Courses::start(Loses::TheEnd);

    let ran = run(&place, &courses.url, &[]);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("check results failed"), "{}", ran.stderr);
}

#[test]
fn an_answer_that_is_acknowledged_and_lost_is_counted_though_the_end_was_kept() {
    let place = Place::new();
    let courses = Courses::start(Loses::OneAnswer);

    // The first learner, who tries everything, comes before the test and posts no answer.
    let printed = run(&place, &courses.url, &["--json", "now.json"]);

    let sessions = &read_json(&place, "now.json")["learners"]["sessions"];
    assert_eq!(sessions["lost"], 1, "{sessions} {printed:?}");
    assert!(sessions["completed"].as_u64().unwrap() >= 20, "{sessions}");
    assert!(printed.stdout.contains(", 1 lost."), "{}", printed.stdout);
}

#[test]
fn a_test_in_which_no_session_can_end_says_so_and_what_lets_sessions_end() {
    let place = Place::new();
    let courses = Courses::start(Loses::Nothing);
    let how = ["lab", "learners", "--target", &courses.url, "--key", "k", "--secret", "s"];
    let plan = ["--learners", "5", "--every", "1s", "--ramp", "1s", "--stay", "2s"];

    let ran = place.run(&[&how[..], &plan].concat());

    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("no session will come to its end: one takes 60s"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("0 came to their end"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--compress 60 lets sessions end"), "{}", ran.stdout);
}

#[test]
fn a_server_that_refuses_the_key_or_has_no_courses_ends_the_test_with_the_reason() {
    let place = Place::new();
    let courses = Courses::start(Loses::Nothing);
    let with = |key: &[&str], url: &str| {
        place.run(&[&["lab", "learners", "--target", url][..], key, &SHORT].concat())
    };

    let refused = with(&["--key", "x", "--secret", "y"], &courses.url);
    let absent = with(&["--key", "k", "--secret", "s"], "http://127.0.0.1:1");
    let keyless = with(&[], &courses.url);

    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("answers 401"), "{}", refused.stderr);
    assert_eq!((absent.code, keyless.code), (Some(5), Some(2)));
}

#[test]
fn compressed_sessions_stand_for_more_learners_and_a_hold_keeps_the_number_found() {
    let place = Place::new();
    let courses = Courses::start(Loses::Nothing);
    let how = ["lab", "learners", "--target", &courses.url, "--key", "k", "--secret", "s"];
    let plan = [
        "--learners",
        "40",
        "--compress",
        "4",
        "--posts",
        "2",
        "--every",
        "2s",
        "--ramp",
        "1s",
        "--stay",
        "15s",
        "--hold",
        "11s",
        "--json",
    ];

    let printed = place.done(&[&how[..], &plan].concat());

    let file: Value = serde_json::from_str(&printed).unwrap();
    let learners = &file["learners"];
    let users = learners["windows"][0]["users"].as_u64().unwrap();
    assert!(users.is_multiple_of(4) && (28..=40).contains(&users), "{learners}");
    let held = &learners["held"][0];
    assert_eq!(
        (&learners["hold"]["learners"], &held["at_least"]),
        (&held["learners"], &json!(true))
    );
    let most = courses.told.lock().unwrap().sequences.len();
    assert!(most > 10, "{most}");
}
