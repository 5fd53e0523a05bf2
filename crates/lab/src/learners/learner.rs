//! One modelled learner: a pure state machine that fills in the next request and reads its answer.

use std::collections::BTreeSet;

use serde::Deserialize;

use homeroom_load::engine::{Answer, Request};
use homeroom_load::outcome::Outcome;

use super::posts::{self, CLOSING_POSTS, Moment, Standing};
use super::progress::Ending;
use super::script::{LearnerStep, Script};

/// The most redirects that a launch follows.
const REDIRECTS_MAX: u32 = 3;

/// A modelled learner.
#[derive(Debug, Clone)]
pub struct Learner {
    /// Its number, unique in a test.
    pub number: u32,
    session: u32,
    step: LearnerStep,
    /// The path of the launch, without the target's prefix.
    launch: String,
    redirects: u32,
    booted: usize,
    /// What the server calls this page, and the activity to begin with.
    page: Page,
    /// When the launch was complete, in nanoseconds since the run began.
    launched: u64,
    sequence: u32,
    /// The posts of results so far.
    posted: u32,
    /// The final posts that were acknowledged.
    closing: u32,
    /// Up to which post all is acknowledged, final ones included.
    acknowledged: u32,
    /// Whether this session is to end at the next opportunity.
    leaving: bool,
}

/// What a learner reads of what the player boots from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Page {
    session: String,
    start: Option<String>,
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Whether the answer is what the step expects.
    pub ok: bool,
    /// Whether the launch succeeded with it.
    pub launched: bool,
    /// What comes next.
    pub next: Next,
}

/// What comes next for a learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another request, due at this moment.
    At(u64),
    /// The session is over.
    Over(Ending),
}

impl Learner {
    /// Returns a learner before the first session.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            session: 0,
            step: LearnerStep::List,
            launch: String::new(),
            redirects: 0,
            booted: 0,
            page: Page::default(),
            launched: 0,
            sequence: 0,
            posted: 0,
            closing: 0,
            acknowledged: 0,
            leaving: false,
        }
    }

    /// Returns the same learner before another session.
    pub fn again(of: &Self) -> Self {
        Self { session: of.session + 1, ..Self::new(of.number) }
    }

    /// Returns whether the next request begins a session.
    pub fn is_outside(&self) -> bool {
        self.step == LearnerStep::List
    }

    /// Makes the learner end the session with final results as soon as possible.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Fills in the next request; returns the number of its step.
    pub fn fill(&mut self, script: &Script, request: &mut Request) -> usize {
        if self.leaving && self.step == LearnerStep::Results {
            self.step = LearnerStep::Final;
        }
        let id = || script.registration(self.number, self.session);
        match self.step {
            LearnerStep::List => script.call(request, "/courses", None),
            LearnerStep::Register => {
                let body = script.registering(self.number, self.session);
                script.call(request, "/registrations", Some(&body));
            }
            LearnerStep::Link => {
                let path = format!("/registrations/{}/launchLink", id());
                script.call(request, &path, Some(&Script::linking()));
            }
            LearnerStep::Launch => {
                request.path.extend_from_slice(self.launch.as_bytes());
                request.headers.extend_from_slice(b"Accept: text/html\r\n");
            }
            LearnerStep::Boot => {
                request.path.extend_from_slice(without_query(&self.launch).as_bytes());
                let below = script.boot.get(self.booted).map_or("", String::as_str);
                request.path.extend_from_slice(below.as_bytes());
            }
            LearnerStep::Results | LearnerStep::Final => {
                request.path.extend_from_slice(without_query(&self.launch).as_bytes());
                request.path.extend_from_slice(b"/results");
                script.post(request);
                let moments = match self.step {
                    LearnerStep::Final => {
                        Moment::since(self.acknowledged, self.posted, self.closing + 1)
                    }
                    _ => Moment::since(self.acknowledged, self.posted + 1, 0),
                };
                let own = id();
                let standing = Standing {
                    // A server that names no page: the session is the only one of its registration.
                    session: Some(&*self.page.session).filter(|id| !id.is_empty()).unwrap_or(&own),
                    activity: self.page.start.as_deref().unwrap_or_default(),
                    learner: self.number,
                    launched_ms: script.begun_ms + self.launched / 1_000_000,
                };
                posts::write(script, standing, self.sequence + 1, moments, &mut request.body);
            }
            LearnerStep::Check => {
                let query = "includeChildResults=true&includeInteractionsAndObjectives=true\
                             &includeRuntime=true";
                script.call(request, &format!("/registrations/{}?{query}", id()), None);
            }
        }
        self.step.number()
    }

    /// Takes the answer to the request that was filled in last. `every_ns` is the simulated time
    /// between posts.
    pub fn take(&mut self, script: &Script, every_ns: u64, answer: &Answer<'_>, now: u64) -> Taken {
        let status = match answer.outcome {
            Outcome::Status(status) => status,
            _ => 0,
        };
        let mut ok = (200..300).contains(&status);
        let mut launched = false;
        let next = match self.step {
            LearnerStep::List if ok => self.go(LearnerStep::Register, now),
            LearnerStep::Register if ok => self.go(LearnerStep::Link, now),
            LearnerStep::Link if ok => match linked(answer.body, &script.prefix) {
                Some(path) => {
                    self.launch = path;
                    self.go(LearnerStep::Launch, now)
                }
                None => {
                    ok = false;
                    self.over(Ending::Broken)
                }
            },
            LearnerStep::Launch if ok => {
                launched = script.boot.is_empty();
                self.launch_done(script, every_ns, now)
            }
            LearnerStep::Launch if matches!(status, 301..=303 | 307 | 308) => {
                ok = self.redirect(answer, &script.prefix);
                if ok { Next::At(now) } else { self.over(Ending::Broken) }
            }
            LearnerStep::Boot if ok => {
                if self.booted == 0 {
                    self.page = serde_json::from_slice(answer.body).unwrap_or_default();
                }
                self.booted += 1;
                launched = self.booted == script.boot.len();
                self.launch_done(script, every_ns, now)
            }
            LearnerStep::Results => {
                // A post that failed is made up for by the next, which contains all that was set since.
                self.sequence += 1;
                self.posted += 1;
                if ok {
                    self.acknowledged = self.posted;
                }
                self.next_post(script, every_ns, now)
            }
            LearnerStep::Final if ok => {
                self.sequence += 1;
                self.closing += 1;
                self.acknowledged = self.posted + self.closing;
                let is_last = self.closing == CLOSING_POSTS;
                self.go(if is_last { LearnerStep::Check } else { LearnerStep::Final }, now)
            }
            LearnerStep::Check if ok => {
                ok = is_whole(answer.body, self.posted);
                let ending = if ok { Ending::Completed } else { Ending::Lost };
                self.over(ending)
            }
            _ => self.over(Ending::Broken),
        };
        Taken { ok, launched, next }
    }

    fn go(&mut self, step: LearnerStep, due: u64) -> Next {
        self.step = step;
        Next::At(due)
    }

    fn launch_done(&mut self, script: &Script, every_ns: u64, now: u64) -> Next {
        if self.booted < script.boot.len() {
            return self.go(LearnerStep::Boot, now);
        }
        self.launched = now;
        self.next_post(script, every_ns, now)
    }

    /// Returns when the next post is due: at the pace of the player, whatever the server's is.
    fn next_post(&mut self, script: &Script, every_ns: u64, now: u64) -> Next {
        if self.posted >= script.posts || self.leaving {
            return self.go(LearnerStep::Final, now);
        }
        let due = self.launched.saturating_add(every_ns * u64::from(self.posted + 1));
        self.go(LearnerStep::Results, due)
    }

    fn redirect(&mut self, answer: &Answer<'_>, prefix: &str) -> bool {
        self.redirects += 1;
        let to = answer.header("location").and_then(|value| std::str::from_utf8(value).ok());
        match to.and_then(|url| path_of(url, prefix)) {
            Some(path) if self.redirects <= REDIRECTS_MAX => {
                self.launch = path;
                true
            }
            _ => false,
        }
    }

    fn over(&mut self, ending: Ending) -> Next {
        let session = self.session + 1;
        *self = Self { session, leaving: self.leaving, ..Self::new(self.number) };
        Next::Over(ending)
    }
}

fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

/// Returns the path of a launch link.
fn linked(body: &[u8], prefix: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Linked {
        launch_link: String,
    }

    let linked: Linked = serde_json::from_slice(body).ok()?;
    path_of(&linked.launch_link, prefix)
}

/// Returns the path and query of a URL or path, without the target's prefix.
fn path_of(url: &str, prefix: &str) -> Option<String> {
    let path = match url.split_once("://") {
        None => url,
        Some((_, rest)) => &rest[rest.find('/')?..],
    };
    let path = path.strip_prefix(prefix).unwrap_or(path);
    let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    is_path.then(|| path.to_owned())
}

/// What a learner reads of a registration's report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    registration_completion: Option<String>,
    activity_details: Option<Played>,
}

/// An activity of a report, with those below it.
#[derive(Debug, Deserialize)]
struct Played {
    runtime: Option<Runtime>,
    children: Option<Vec<Played>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Runtime {
    runtime_interactions: Option<Vec<Interaction>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interaction {
    id: String,
    learner_response: Option<String>,
}

impl Played {
    /// Notes the interactions of the activity and of those below it.
    fn note(self, all: &mut BTreeSet<Interaction>) {
        all.extend(
            self.runtime.and_then(|runtime| runtime.runtime_interactions).into_iter().flatten(),
        );
        for child in self.children.into_iter().flatten() {
            child.note(all);
        }
    }
}

/// Returns whether a report says that the registration is completed, and has every answer of a session of so many posts:
/// each was in a post that was acknowledged, and only its own post carried it.
fn is_whole(body: &[u8], posted: u32) -> bool {
    let Ok(report) = serde_json::from_slice::<Report>(body) else { return false };
    let told = report.registration_completion.unwrap_or_default();
    let mut kept = BTreeSet::new();
    if let Some(details) = report.activity_details {
        details.note(&mut kept);
    }
    let is_kept = |(id, given)| kept.contains(&Interaction { id, learner_response: Some(given) });
    told.eq_ignore_ascii_case("COMPLETED") && posts::answers(posted).all(is_kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const EVERY: u64 = 20;

    fn script() -> Script {
        Script { prefix: "/p".into(), boot: vec!["/boot".into()], posts: 2, ..Script::made_up() }
    }

    fn answer(status: u16, body: &str) -> Answer<'_> {
        let length = body.len() as u64;
        Answer { outcome: Outcome::Status(status), headers: &[], body: body.as_bytes(), length }
    }

    /// Lets a learner run through a session; returns the paths and due moments, and the end.
    fn session(learner: &mut Learner, done: &str) -> (Vec<(String, u64)>, Ending) {
        let (mut due, mut seen) = (0, vec![]);
        loop {
            let mut request = Request::default();
            let step = learner.fill(&script(), &mut request);
            seen.push((String::from_utf8(request.path).unwrap(), due));
            let body = match LearnerStep::ALL[step] {
                LearnerStep::Link => r#"{"launchLink":"http://h:1/p/play/abc?x=1"}"#,
                LearnerStep::Boot => r#"{"session":"page-1","start":"lesson","tree":{}}"#,
                LearnerStep::Check => done,
                _ => "",
            };
            let taken = learner.take(&script(), EVERY, &answer(200, body), due + 1);
            match taken.next {
                Next::At(at) => due = at,
                Next::Over(ending) => return (seen, ending),
            }
        }
    }

    #[test]
    fn a_session_goes_through_all_steps_at_the_pace_of_the_player() {
        let mut learner = Learner::new(3);

        let (seen, ending) = session(&mut learner, r#"{"registrationCompletion":"COMPLETED"}"#);

        let expected = [
            ("/learning/api/v2/courses", 0),
            ("/learning/api/v2/registrations", 1),
            ("/learning/api/v2/registrations/lab-7-3-0/launchLink", 2),
            ("/play/abc?x=1", 3),
            ("/play/abc/boot", 4),
            ("/play/abc/results", 25),
            ("/play/abc/results", 45),
            ("/play/abc/results", 46),
            ("/play/abc/results", 47),
            ("/play/abc/results", 48),
        ];
        let paths: Vec<(&str, u64)> = seen.iter().map(|(path, due)| (&**path, *due)).collect();
        assert_eq!(paths[..10], expected);
        assert!(paths[10].0.starts_with("/learning/api/v2/registrations/lab-7-3-0?include"));
        assert_eq!((paths.len(), ending), (11, Ending::Completed));
        assert!(learner.is_outside());
        let (again, _) = session(&mut learner, "{}");
        assert!(again[2].0.contains("lab-7-3-1"), "a new registration: {}", again[2].0);
    }

    #[test]
    fn results_that_the_report_does_not_show_are_lost() {
        let mut learner = Learner::new(0);

        let (_, ending) = session(&mut learner, r#"{"registrationCompletion":"INCOMPLETE"}"#);

        assert_eq!(ending, Ending::Lost);
    }

    #[test]
    fn an_answer_that_was_acknowledged_and_is_not_in_the_report_is_lost() {
        let kept = |answers: &[(&str, &str)]| {
            let shown =
                answers.iter().map(|(id, given)| json!({ "id": id, "learnerResponse": given }));
            let runtime = json!({ "runtimeInteractions": shown.collect::<Vec<_>>() });
            json!({
                "registrationCompletion": "COMPLETED",
                "activityDetails": { "children": [{ "runtime": runtime, "children": null }] },
            })
        };
        for (report, ending) in [
            (kept(&[("q1", "b"), ("q2", "c")]), Ending::Completed),
            (kept(&[("q2", "c"), ("q1", "b"), ("q3", "a")]), Ending::Completed),
            (kept(&[("q2", "c")]), Ending::Lost),
            (kept(&[("q1", "b"), ("q1", "b")]), Ending::Lost),
            (kept(&[("q1", "b"), ("q2", "a")]), Ending::Lost),
            (json!({ "registrationCompletion": "COMPLETED" }), Ending::Lost),
        ] {
            let mut learner = Learner::new(0);
            (learner.step, learner.posted) = (LearnerStep::Check, 7);

            let taken = learner.take(&script(), EVERY, &answer(200, &report.to_string()), 9);

            assert_eq!(
                (taken.ok, taken.next),
                (ending == Ending::Completed, Next::Over(ending)),
                "{report}"
            );
        }
    }

    #[test]
    fn a_failed_registration_ends_the_session_but_a_failed_post_does_not() {
        let mut learner = Learner::new(0);
        learner.step = LearnerStep::Register;
        let refused = learner.take(&script(), EVERY, &answer(503, ""), 9);
        learner.step = LearnerStep::Results;
        let post = learner.take(&script(), EVERY, &answer(503, ""), 9);

        assert_eq!((refused.ok, refused.next), (false, Next::Over(Ending::Broken)));
        assert_eq!((post.ok, post.next), (false, Next::At(2 * EVERY)));
    }

    #[test]
    fn posts_are_those_of_the_page_and_carry_what_was_not_acknowledged() {
        let mut learner = Learner::new(3);
        learner.step = LearnerStep::Boot;
        let boot = r#"{"session":"page-1","start":"lesson"}"#;
        learner.take(&script(), EVERY, &answer(200, boot), 9);

        let mut bodies = vec![];
        for status in [503, 200, 200, 200, 200] {
            let mut request = Request::default();
            learner.fill(&script(), &mut request);
            bodies.push(serde_json::from_slice::<serde_json::Value>(&request.body).unwrap());
            learner.take(&script(), EVERY, &answer(status, ""), 9);
        }

        for (body, number) in bodies.iter().zip(1..) {
            assert_eq!((&body["session"], &body["activity"]), (&"page-1".into(), &"lesson".into()));
            assert_eq!(body["sequence"], number);
        }
        let calls: Vec<usize> =
            bodies.iter().map(|body| body["calls"].as_array().unwrap().len()).collect();
        // The second post repeats the first one, which failed.
        assert_eq!(calls, [4, 4 + 3, 9, 3, 4]);
        assert_eq!(
            (&bodies[1]["final"], &bodies[4]["final"]),
            (&serde_json::Value::Null, &true.into())
        );
    }

    #[test]
    fn a_redirected_launch_is_followed_a_few_times() {
        let mut learner = Learner::new(0);
        learner.step = LearnerStep::Launch;
        let value = homeroom_load::engine::Header { name: "Location", value: b"/p/play/next" };
        let headers = [value];
        let redirect = Answer { headers: &headers, ..answer(302, "") };

        let taken: Vec<bool> =
            (0..3).map(|_| learner.take(&script(), EVERY, &redirect, 1).ok).collect();

        assert_eq!(taken, [true; 3]);
        assert_eq!(learner.launch, "/play/next");
        assert!(!learner.take(&script(), EVERY, &redirect, 1).ok);
    }

    #[test]
    fn a_learner_who_leaves_sends_final_results() {
        let mut learner = Learner::new(0);
        learner.step = LearnerStep::Results;
        learner.leave();

        let step = learner.fill(&script(), &mut Request::default());

        assert_eq!(step, LearnerStep::Final.number());
    }
}
