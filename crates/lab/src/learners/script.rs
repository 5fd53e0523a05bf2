//! What all learners send: the texts of their requests.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::json;

use homeroom_load::engine::{Request, StepFacts};

/// A request of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LearnerStep {
    /// Lists the courses.
    List,
    /// Creates the registration.
    Register,
    /// Asks for a launch link.
    Link,
    /// Gets the page of the launch.
    Launch,
    /// Gets what the player boots from.
    Boot,
    /// Posts results.
    Results,
    /// Posts the final results.
    Final,
    /// Asks whether the registration is completed.
    Check,
}

impl LearnerStep {
    /// All steps, in their order.
    pub const ALL: [Self; 8] = [
        Self::List,
        Self::Register,
        Self::Link,
        Self::Launch,
        Self::Boot,
        Self::Results,
        Self::Final,
        Self::Check,
    ];

    /// Returns its name in reports, its method, and whether its answer is read.
    fn facts(self) -> (&'static str, &'static str, bool) {
        match self {
            Self::List => ("list courses", "GET", false),
            Self::Register => ("create registration", "POST", false),
            Self::Link => ("launch link", "POST", true),
            Self::Launch => ("launch", "GET", false),
            Self::Boot => ("boot", "GET", false),
            Self::Results => ("results", "POST", false),
            Self::Final => ("final results", "POST", false),
            Self::Check => ("check completion", "GET", true),
        }
    }

    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Returns its HTTP method.
    pub fn method(self) -> &'static str {
        self.facts().1
    }

    /// Returns its number.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// Returns the steps of a session for reports.
pub fn steps() -> Vec<StepFacts> {
    let facts = LearnerStep::ALL.iter().map(|step| {
        let (name, method, keeps_body) = step.facts();
        let group = "learner".into();
        StepFacts { name: name.into(), group, method: method.into(), keeps_body }
    });
    facts.collect()
}

/// The path of the API below the target.
pub const API: &str = "/learning/api/v2";

/// What is the same for all learners of a test.
#[derive(Debug, Clone)]
pub struct Script {
    /// The course that everybody takes.
    pub course: String,
    /// The value of `Authorization` for calls of the API.
    pub authorization: String,
    /// Distinguishes the ids of this test from those of others.
    pub mark: String,
    /// The prefix of the target's paths, which launch links contain.
    pub prefix: String,
    /// What the player gets after the page, as paths below the launch.
    pub boot: Vec<String>,
    /// The posts of results in a session before the final one.
    pub posts: u32,
    /// The time between posts in whole seconds, as learners have it.
    pub every_s: u64,
}

/// How long a launch link may be used, in seconds: longer than any session takes to begin.
const LINK_EXPIRY_S: u32 = 7_200;

impl Script {
    /// Returns the id of a registration.
    pub fn registration(&self, number: u32, session: u32) -> String {
        format!("lab-{}-{number}-{session}", self.mark)
    }

    /// Fills in a call of the API; `path` is below it.
    pub fn call(&self, request: &mut Request, path: &str, body: Option<&serde_json::Value>) {
        request.path.extend_from_slice(API.as_bytes());
        request.path.extend_from_slice(path.as_bytes());
        _ = write!(request.headers, "Authorization: {}\r\n", self.authorization);
        request.headers.extend_from_slice(b"Accept: application/json\r\n");
        if let Some(body) = body {
            request.headers.extend_from_slice(b"Content-Type: application/json\r\n");
            _ = serde_json::to_writer(&mut request.body, body);
        }
    }

    /// Returns the body that creates a registration.
    pub fn registering(&self, number: u32, session: u32) -> serde_json::Value {
        let id = self.registration(number, session);
        json!({
            "registrationId": id,
            "courseId": self.course,
            "learner": {
                "id": id,
                "firstName": "Lab",
                "lastName": format!("Learner {number}"),
                "email": format!("{id}@example.org"),
            },
        })
    }

    /// Returns the body that asks for a launch link.
    pub fn linking() -> serde_json::Value {
        json!({
            "redirectOnExitUrl": "http://localhost/",
            "expiry": LINK_EXPIRY_S,
            "tracking": true,
        })
    }

    /// Returns the body of results as the player posts them: what has been set so far in a session,
    /// `post` counting from 1. The final one completes the course. `page` is the id of the learner's page.
    pub fn results(
        &self,
        page: &str,
        sequence: u32,
        post: u32,
        is_final: bool,
    ) -> serde_json::Value {
        let seconds = u64::from(post) * self.every_s;
        let time =
            format!("{:04}:{:02}:{:02}.00", seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let score = (50 + post).min(95);
        let mut suspended = String::with_capacity(700);
        for page in 0..post.min(60) {
            _ = write!(suspended, "p{page}=1;q{page}=a");
            suspended.push('|');
        }
        let mut cmi = json!({
            "cmi.core.lesson_location": format!("page-{post}"),
            "cmi.core.lesson_status": if is_final { "completed" } else { "incomplete" },
            "cmi.core.exit": if is_final { "" } else { "suspend" },
            "cmi.core.session_time": time,
            "cmi.suspend_data": suspended,
        });
        if is_final {
            cmi["cmi.core.score.raw"] = json!(score.to_string());
            cmi["cmi.core.score.min"] = json!("0");
            cmi["cmi.core.score.max"] = json!("100");
        }
        json!({
            "session": page,
            "sequence": sequence,
            "cmi": cmi,
            "exit": is_final,
            "final": is_final,
        })
    }
}
