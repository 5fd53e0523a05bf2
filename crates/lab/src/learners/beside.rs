//! What goes on at the server beside the learners, at rates of its own: reports, imports, further
//! registrations.

use homeroom_load::engine::{Answer, Request, StepFacts};
use homeroom_load::outcome::Outcome;

use super::course::course_zip;
use super::script::Script;

/// A kind of calls beside the learners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BesideKind {
    /// Lists registrations with all their results.
    Reports,
    /// Imports a package.
    Imports,
    /// Creates registrations that nobody launches.
    Registrations,
}

impl BesideKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Reports, Self::Imports, Self::Registrations];

    /// Returns its name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reports => "reports",
            Self::Imports => "imports",
            Self::Registrations => "registrations",
        }
    }

    /// Returns its number.
    pub fn number(self) -> usize {
        self as usize
    }

    pub(super) fn facts(self) -> StepFacts {
        let method = if self == Self::Reports { "GET" } else { "POST" };
        StepFacts {
            name: self.name().into(),
            group: "beside".into(),
            method: method.into(),
            keeps_body: false,
        }
    }
}

/// Calls of a kind at a constant rate.
#[derive(Debug, Clone)]
pub struct Beside {
    /// The kind.
    pub kind: BesideKind,
    /// Calls a second.
    pub per_s: f64,
    /// The package of imports.
    package: Vec<u8>,
}

/// Which call of a kind comes next.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct BesideCall(u32);

impl BesideCall {
    /// Counts a call and returns the number of the next one.
    pub(super) fn next_number(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

/// Fills in the upload of a package under a course's id, as a new version if there is one already.
pub fn upload(script: &Script, course: &str, package: &[u8], request: &mut Request) {
    let path = format!("/courses/importJobs/upload?courseId={course}&mayCreateNewVersion=true");
    script.call(request, &path, None);
    let kind = format!("Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n");
    request.headers.extend_from_slice(kind.as_bytes());
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; \
         filename=\"lab.zip\"\r\nContent-Type: application/zip\r\n\r\n"
    );
    request.body.extend_from_slice(head.as_bytes());
    request.body.extend_from_slice(package);
    request.body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
}

/// The boundary of the parts of an upload.
const BOUNDARY: &str = "homeroom-lab-7d1c4f";
/// The size of each file of an imported package, in bytes.
const FILE_BYTES: usize = 50 * 1024;

impl Beside {
    /// Returns calls of a kind at a rate.
    pub fn new(kind: BesideKind, per_s: f64) -> Self {
        let package = if kind == BesideKind::Imports { course_zip(FILE_BYTES) } else { vec![] };
        Self { kind, per_s, package }
    }

    /// Returns when the call of this number is due, in nanoseconds since the run began.
    pub(super) fn due_ns(&self, number: u32) -> u64 {
        let seconds = (f64::from(number) + 0.5) / self.per_s.max(1e-9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a moment")]
        let due = (seconds * 1e9) as u64;
        due
    }

    pub(super) fn fill(&self, script: &Script, call: BesideCall, request: &mut Request) {
        match self.kind {
            BesideKind::Reports => {
                let path = format!(
                    "/registrations?courseId={}&includeChildResults=true\
                     &includeInteractionsAndObjectives=true&includeRuntime=true",
                    script.course
                );
                script.call(request, &path, None);
            }
            BesideKind::Registrations => {
                let body = script.registering(u32::MAX, call.0);
                script.call(request, "/registrations", Some(&body));
            }
            BesideKind::Imports => {
                let id = format!("lab-{}-import", script.mark);
                upload(script, &id, &self.package, request);
            }
        }
    }

    pub(super) fn is_ok(answer: &Answer<'_>) -> bool {
        matches!(answer.outcome, Outcome::Status(200..=299))
    }
}
