//! The first learner, before the test: tries everything once, so that a refusal is told with its
//! reason, and finds out where the course's files are.
#![expect(clippy::disallowed_methods, reason = "an import is awaited, and posts tell the time")]

use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use homeroom_lab::learners::{
    API, FILM, Learner, LearnerStep, LearnersPlan, Next, Script, TEXT, course_zip, upload,
};
use homeroom_load::client::{Caller, Reply, words};
use homeroom_load::engine::{Answer, Header, Request};
use homeroom_load::outcome::Outcome;
use homeroom_load::token::Key;
use serde_json::Value;

use crate::exit::Failure;

/// The course of the lab's own.
const OWN_COURSE: &str = "homeroom-lab";
/// The size of its text in bytes, as published; its film has twenty times as many.
const TEXT_BYTES: usize = 50 * 1024;
/// How long an import may take.
const IMPORT_WITHIN: Duration = Duration::from_mins(2);
/// The time between looks at an import.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The most characters of a refusal that are shown.
const REFUSAL_CHARS_MAX: usize = 300;
/// The number of the first learner, beyond those of the test.
const FIRST: u32 = u32::MAX - 1;

/// What is known before the test.
pub struct Prepared {
    /// What learners send.
    pub script: Script,
    /// The URL below which the course's files are, if the server says so.
    pub content: Option<String>,
}

/// Tries everything once.
pub fn prepare(
    caller: &Caller,
    key: &Key,
    course: Option<&str>,
    plan: &LearnersPlan,
    seed: u64,
) -> Result<Prepared, Failure> {
    let mut script = Script {
        course: course.unwrap_or(OWN_COURSE).to_owned(),
        authorization: key.basic(),
        mark: format!("{seed:x}"),
        prefix: caller.target.prefix.clone(),
        boot: vec!["/boot".into()],
        posts: 1,
        every_s: plan.every.as_secs().max(1),
        origin: caller.target.origin(),
        begun_ms: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0)),
    };
    if course.is_none() {
        own_course(caller, &script)?;
    }
    let content = try_session(caller, &mut script)?;
    script.posts = plan.posts;
    Ok(Prepared { script, content })
}

/// Imports the lab's own course, unless it is there.
fn own_course(caller: &Caller, script: &Script) -> Result<(), Failure> {
    let mut asked = Request::default();
    script.call(&mut asked, &format!("/courses/{OWN_COURSE}"), None);
    if send(caller, "GET", &asked)?.status == 200 {
        return Ok(());
    }
    eprintln!("importing a course of the lab's own: {OWN_COURSE}");
    let mut request = Request::default();
    upload(script, OWN_COURSE, &course_zip(TEXT_BYTES), &mut request);
    let reply = send(caller, "POST", &request)?;
    let job = read(&reply)["result"].as_str().map(str::to_owned);
    let Some(job) = job.filter(|_| reply.status == 200) else {
        return Err(refused("the import of a course", &request, &reply));
    };
    let begun = Instant::now();
    loop {
        let mut request = Request::default();
        script.call(&mut request, &format!("/courses/importJobs/{job}"), None);
        let reply = send(caller, "GET", &request)?;
        let told = read(&reply);
        match told["status"].as_str() {
            Some("COMPLETE") => return Ok(()),
            Some("RUNNING" | "QUEUED") if begun.elapsed() < IMPORT_WITHIN => sleep(LOOK_EVERY),
            _ => return Err(refused("the import of a course", &request, &reply)),
        }
    }
}

/// Goes through one session without pauses. Returns where the course's files are. A server without
/// boot data gets no requests for them.
fn try_session(caller: &Caller, script: &mut Script) -> Result<Option<String>, Failure> {
    let mut learner = Learner::new(FIRST);
    let mut content = None;
    loop {
        let mut request = Request::default();
        let step = LearnerStep::ALL[learner.fill(script, &mut request)];
        let reply = send(caller, step.method(), &request)?;
        if step == LearnerStep::Boot && reply.status == 404 {
            script.boot.clear();
            learner = Learner::again(&learner);
            continue;
        }
        if step == LearnerStep::Boot {
            content = content_of(&read(&reply));
        }
        let location = reply.location.as_deref().unwrap_or_default().as_bytes();
        let headers = [Header { name: "Location", value: location }];
        let answer = Answer {
            outcome: Outcome::Status(reply.status),
            headers: &headers,
            body: &reply.body,
            length: reply.body.len() as u64,
        };
        let taken = learner.take(script, 0, &answer, 0);
        if !taken.ok {
            return Err(refused(step.name(), &request, &reply));
        }
        if let Next::Over(_) = taken.next {
            return Ok(content);
        }
    }
}

/// Returns the URL below which the course's files are, from what the player boots from.
fn content_of(boot: &Value) -> Option<String> {
    let origin = boot["origins"]["content"].as_str()?;
    let path = boot["paths"]["content"].as_str()?;
    let url = if path.contains("://") { path.to_owned() } else { format!("{origin}{path}") };
    Some(url.trim_end_matches('/').to_owned())
}

/// Returns the names of the files that content requests get: the text, the film.
pub fn files() -> [&'static str; 2] {
    [TEXT, FILM]
}

fn send(caller: &Caller, method: &str, request: &Request) -> Result<Reply, Failure> {
    let text = String::from_utf8_lossy(&request.headers);
    let headers: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.split_once(": ")).collect();
    let path = String::from_utf8_lossy(&request.path);
    let path = format!("{}{path}", caller.target.prefix);
    caller.send(method, &path, &headers, &request.body).map_err(|error| {
        let origin = caller.target.url();
        Failure::Unreachable(format!("{origin} gave no answer: {}", words(&error)))
    })
}

fn read(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_default()
}

fn refused(what: &str, request: &Request, reply: &Reply) -> Failure {
    let text = String::from_utf8_lossy(&reply.body);
    let shown: String = text.chars().filter(|c| !c.is_control()).take(REFUSAL_CHARS_MAX).collect();
    // The path of a launch is a secret.
    let path = String::from_utf8_lossy(&request.path);
    let place =
        if path.starts_with(API) { path.split('?').next().unwrap_or(API) } else { "/play/…" };
    let status = reply.status;
    let text =
        format!("{what} failed, so there is nothing to measure: {place} answers {status}: {shown}");
    match status {
        401 | 403 => Failure::NotAuthorized(text),
        _ => Failure::Failed(text),
    }
}
