//! What all learners send: the texts of their requests.

use std::io::Write as _;

use serde_json::json;

use homeroom_load::engine::{Request, StepFacts};

use super::person::{GIVEN_NAME, HEADERS, family_name};

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
    /// Posts the final results, in several posts as the player does.
    Final,
    /// Asks whether the registration is completed and has every answer.
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
            Self::Boot => ("boot", "GET", true),
            Self::Results => ("results", "POST", false),
            Self::Final => ("final results", "POST", false),
            Self::Check => ("check results", "GET", true),
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
    /// The origin of the pages that post.
    pub origin: String,
    /// When the run began, in milliseconds since 1970.
    pub begun_ms: u64,
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
                "firstName": GIVEN_NAME,
                "lastName": family_name(number),
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

    /// Fills in the header of a post of the player, whose body `posts` writes.
    pub fn post(&self, request: &mut Request) {
        request.headers.extend_from_slice(HEADERS.as_bytes());
        _ = write!(request.headers, "Origin: {}\r\n", self.origin);
    }

    /// Returns a script for tests.
    #[cfg(test)]
    pub fn made_up() -> Self {
        Self {
            course: "c".into(),
            authorization: "Basic x".into(),
            mark: "7".into(),
            prefix: String::new(),
            boot: vec![],
            posts: 3,
            every_s: 20,
            origin: "http://h:1".into(),
            begun_ms: 1_795_674_500_000,
        }
    }
}
