//! What a learner posts: the bodies of commits as the player sends them while the sample course is played.
//!
//! A post carries what was set since the last one that was acknowledged, and the trace of the calls of the
//! run-time's API. Bytes of a body when the sample course was played in Chromium (`recorded.json`; a suite of the
//! browser compares it with the player as it is), and of a session of 60 posts as modelled here:
//!
//! | | recorded | modelled |
//! |---|---|---|
//! | the course begins | 423 | 426 |
//! | a page is turned | 453 to 546 | 453 to 1,012 |
//! | a question is answered | 1,109 and 1,135 | 1,109 to 1,613 |
//! | the last page, with the score | 971 | 1,437 |
//! | the values on the way out | 503 | 969 |
//! | the end | 376 | 375 |
//! | all 63 | | 59 KB |
//!
//! They grow with the answers, which the course keeps in its suspend data.

use std::fmt::Write as _;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::person::{GIVEN_NAME, family_name};
use super::script::Script;

/// The posts that end a session: the last page with the score, the values on the way out, and the end.
pub const CLOSING_POSTS: u32 = 3;

/// Every how many posts after the first a question is answered; the others turn a page.
const ANSWER_EVERY: u32 = 3;
/// The longest argument of a call in a trace, in bytes; the values here are ASCII.
const TRACED_MAX: usize = 250;

/// Where a learner is in a session.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The page's id among those of its launch, which the server gives.
    pub session: &'a str,
    /// The activity that is played.
    pub activity: &'a str,
    /// The learner's number.
    pub learner: u32,
    /// When the launch was complete, in milliseconds since 1970.
    pub launched_ms: u64,
}

/// What happens before a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The page is turned or a question answered for the post of this number, from 1; with the first the course
    /// begins.
    At(u32),
    /// The closing post of this number, from 1, after so many others.
    Closing(u32, u32),
}

impl Moment {
    /// Returns the moments of a session after `acknowledged` of `posts` and closing posts, up to the current one.
    pub fn since(acknowledged: u32, posts: u32, closing: u32) -> impl Iterator<Item = Self> {
        (acknowledged + 1..=posts + closing).map(move |number| match number.checked_sub(posts) {
            None | Some(0) => Self::At(number),
            Some(closing) => Self::Closing(closing, posts),
        })
    }
}

/// A call of the run-time's API: when, function, two arguments, result, error code.
#[derive(Debug, Serialize)]
struct Call(u64, &'static str, String, String, String, u16);

/// Values by the names of their elements, in the order in which they were set.
#[derive(Debug, Default)]
struct Cmi(Vec<(String, String)>);

impl Serialize for Cmi {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A commit, with its members in the player's order.
#[derive(Debug, Serialize)]
struct Commit<'a> {
    session: &'a str,
    sequence: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    activity: &'a str,
    cmi: Cmi,
    exit: bool,
    #[serde(rename = "final", skip_serializing_if = "std::ops::Not::not")]
    is_final: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended: Option<&'a str>,
    calls: Vec<Call>,
}

/// Writes the body of a commit with what was set and called at some moments.
pub fn write(
    script: &Script,
    standing: Standing<'_>,
    sequence: u32,
    moments: impl Iterator<Item = Moment>,
    body: &mut Vec<u8>,
) {
    let Standing { session, activity, learner, launched_ms } = standing;
    let commit = Commit {
        session,
        sequence,
        activity,
        cmi: Cmi::default(),
        exit: false,
        is_final: false,
        suspended: None,
        calls: vec![],
    };
    let mut said = Said { commit, every_s: script.every_s, at_ms: launched_ms };
    for moment in moments {
        match moment {
            Moment::At(number) => {
                said.at_ms = launched_ms + u64::from(number) * script.every_s * 1_000;
                said.moment(number, learner);
            }
            Moment::Closing(number, posts) => {
                said.at_ms = launched_ms + u64::from(posts + 1) * script.every_s * 1_000;
                said.close(number, posts, activity);
            }
        }
    }
    _ = serde_json::to_writer(body, &said.commit);
}

/// Returns the answers that a session of so many posts before the closing ones has given: each interaction's id, and
/// the response.
pub fn answers(posts: u32) -> impl Iterator<Item = (String, String)> {
    (1..=questions(posts)).map(|question| (format!("q{question}"), answer(question).to_string()))
}

/// Returns how many questions were answered up to the post of this number.
fn questions(number: u32) -> u32 {
    number.saturating_sub(1) / ANSWER_EVERY
}

/// A commit to which more is added.
struct Said<'a> {
    commit: Commit<'a>,
    every_s: u64,
    at_ms: u64,
}

impl Said<'_> {
    fn moment(&mut self, number: u32, learner: u32) {
        if number == 1 {
            self.call("LMSInitialize", "", "", "true");
            self.call("LMSGetValue", "cmi.suspend_data", "", "");
            self.set("cmi.core.lesson_status", "incomplete");
            self.call("LMSGetValue", "cmi.core.student_name", "", &student_name(learner));
            self.commit.suspended = Some(self.commit.activity).filter(|id| !id.is_empty());
            return;
        }
        if number > 2 {
            self.committed();
        }
        if (number - 1).is_multiple_of(ANSWER_EVERY) {
            let question = questions(number);
            let prefix = format!("cmi.interactions.{}.", question - 1);
            let given = answer(question).to_string();
            self.set(&format!("{prefix}id"), &format!("q{question}"));
            self.set(&format!("{prefix}type"), "choice");
            self.set(&format!("{prefix}student_response"), &given);
            self.set(&format!("{prefix}correct_responses.0.pattern"), &given);
            self.set(&format!("{prefix}result"), "correct");
        }
        self.save(number);
    }

    fn close(&mut self, closing: u32, posts: u32, activity: &str) {
        match closing {
            1 => {
                if posts > 1 {
                    self.committed();
                }
                self.set("cmi.core.score.min", "0");
                self.set("cmi.core.score.max", "100");
                self.set("cmi.core.score.raw", "100");
                self.set("cmi.core.lesson_status", "passed");
                self.save(posts);
                self.committed();
            }
            2 => self.save(posts),
            _ => {
                self.committed();
                self.call("LMSGetValue", "cmi.core.lesson_status", "", "passed");
                self.set("cmi.core.exit", "");
                self.call("LMSFinish", "", "", "true");
                (self.commit.exit, self.commit.is_final) = (true, true);
                self.commit.suspended = Some(self.commit.activity).filter(|_| !activity.is_empty());
            }
        }
    }

    /// Sets what the course keeps with every step. Its commit is traced with the next post, which it precedes.
    fn save(&mut self, number: u32) {
        let answers = questions(number);
        let page = number.saturating_sub(1) - answers;
        let mut suspended = format!("{{\"page\":{page},\"given\":{{");
        for question in 1..=answers {
            let comma = if question > 1 { "," } else { "" };
            _ = write!(suspended, "{comma}\"q{question}\":\"{}\"", answer(question));
        }
        suspended += "}}";
        let seconds = u64::from(number) * self.every_s;
        let time = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
        self.set("cmi.suspend_data", &suspended);
        self.set("cmi.core.lesson_location", &page.to_string());
        self.set("cmi.core.session_time", &time);
    }

    fn committed(&mut self) {
        self.call("LMSCommit", "", "", "true");
    }

    fn set(&mut self, element: &str, value: &str) {
        let cmi = &mut self.commit.cmi.0;
        match cmi.iter_mut().find(|(name, _)| name == element) {
            Some((_, old)) => value.clone_into(old),
            None => cmi.push((element.into(), value.into())),
        }
        let traced = match value.get(..TRACED_MAX) {
            Some(head) if value.len() > TRACED_MAX => format!("{head}\u{2026} ({})", value.len()),
            _ => value.to_owned(),
        };
        self.call("LMSSetValue", element, &traced, "true");
    }

    fn call(&mut self, function: &'static str, first: &str, second: &str, result: &str) {
        let (first, second, result) = (first.into(), second.into(), result.into());
        self.commit.calls.push(Call(self.at_ms, function, first, second, result, 0));
    }
}

/// Returns the answer that everybody gives to a question: the right one.
fn answer(question: u32) -> char {
    ['a', 'b', 'c'][(question % 3) as usize]
}

/// Returns a learner's name as content gets it.
fn student_name(learner: u32) -> String {
    format!("{}, {GIVEN_NAME}", family_name(learner))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// What the player posted while the sample course was played: a beginning, pages, answers and the end.
    const RECORDED: &str = include_str!("recorded.json");

    fn script() -> Script {
        Script { posts: 60, ..Script::made_up() }
    }

    fn body(moments: impl Iterator<Item = Moment>, sequence: u32) -> String {
        let standing = Standing {
            session: "01a2168b68d67d7aa4fa31dc8a8fe351",
            activity: "lesson",
            learner: 7,
            launched_ms: 1_795_674_564_899,
        };
        let mut body = vec![];
        write(&script(), standing, sequence, moments, &mut body);
        String::from_utf8(body).unwrap()
    }

    /// The members of a body in their order, the elements, and the calls with what they are about.
    fn shape(body: &str) -> Vec<String> {
        let value: Value = serde_json::from_str(body).unwrap();
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort_by_key(|name| body.find(&format!("\"{name}\":")).unwrap());
        let mut elements: Vec<String> = value["cmi"].as_object().unwrap().keys().cloned().collect();
        elements.sort_by_key(|name| body.find(&format!("\"{name}\":")).unwrap());
        let calls = value["calls"].as_array().unwrap().iter();
        let calls = calls.map(|call| format!("{} {} {} {}", call[1], call[2], call[4], call[5]));
        let name = |call: String| call.replace("Last, First", "Learner 7, Lab");
        [names, elements, calls.map(name).collect()].concat()
    }

    #[test]
    fn posts_have_the_members_the_calls_and_the_size_of_the_players() {
        let recorded: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
        let recorded: Vec<&str> = recorded.iter().map(|body| body.as_str().unwrap()).collect();
        let at = |number| body([Moment::At(number)].into_iter(), number);
        let close = |closing| body([Moment::Closing(closing, 7)].into_iter(), 7 + closing);

        // The recorded course asks its second question a page earlier.
        let pairs = [
            (0, at(1)),
            (1, at(2)),
            (2, at(3)),
            (3, at(4)),
            (4, at(5)),
            (7, close(1)),
            (8, close(2)),
            (9, close(3)),
        ];

        for (number, modelled) in pairs {
            let real = recorded[number];
            assert_eq!(shape(&modelled), shape(real), "{modelled}");
            let (modelled, real) = (modelled.len(), real.len());
            assert!(modelled.abs_diff(real) <= 4, "{number}: {modelled} bytes instead of {real}");
        }
    }

    #[test]
    fn the_sizes_of_a_session_are_those_of_the_table() {
        let of = |moments: &mut dyn Iterator<Item = Moment>| -> Vec<usize> {
            moments.map(|moment| body([moment].into_iter(), 9).len()).collect()
        };
        let range =
            |sizes: Vec<usize>| (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
        let is_answer = |number: &u32| *number > 1 && (number - 1).is_multiple_of(ANSWER_EVERY);

        let begin = of(&mut [Moment::At(1)].into_iter());
        let turns = of(&mut (2..=60).filter(|number| !is_answer(number)).map(Moment::At));
        let answers = of(&mut (2..=60).filter(is_answer).map(Moment::At));
        let closing = of(&mut (1..=3).map(|closing| Moment::Closing(closing, 60)));

        let all =
            [&begin, &turns, &answers, &closing].iter().flat_map(|of| of.iter()).sum::<usize>();
        assert_eq!(
            (begin[0], range(turns), range(answers), &closing[..], all),
            (426, (453, 1_012), (1_109, 1_613), &[1_437, 969, 375][..], 58_949)
        );
    }

    #[test]
    fn the_answers_of_a_session_are_those_that_its_posts_carry() {
        let whole: Value = serde_json::from_str(&body((1..=60).map(Moment::At), 9)).unwrap();
        let said = |question: usize, member: &str| {
            whole["cmi"][format!("cmi.interactions.{question}.{member}")].as_str().unwrap()
        };

        let answers: Vec<_> = answers(60).collect();

        assert_eq!(answers.len(), 19);
        for (at, (id, given)) in answers.iter().enumerate() {
            assert_eq!((&**id, &**given), (said(at, "id"), said(at, "student_response")));
        }
        assert!(whole["cmi"]["cmi.interactions.19.id"].is_null());
        assert_eq!([0, 1, 3, 4].map(questions), [0, 0, 0, 1]);
    }

    #[test]
    fn what_was_not_acknowledged_goes_with_the_next_post() {
        let moments: Vec<Moment> = Moment::since(2, 3, 1).collect();
        assert_eq!(moments, [Moment::At(3), Moment::Closing(1, 3)]);

        let merged = body(Moment::since(1, 4, 0), 9);

        let value: Value = serde_json::from_str(&merged).unwrap();
        assert_eq!(value["cmi"]["cmi.core.lesson_location"], "2");
        assert_eq!(value["cmi"]["cmi.interactions.0.id"], "q1");
        assert_eq!(value["calls"].as_array().unwrap().len(), 3 + 4 + 9);
    }

    #[test]
    fn a_long_value_is_cut_in_the_trace_but_not_among_the_values() {
        let merged = body([Moment::At(100)].into_iter(), 9);

        let value: Value = serde_json::from_str(&merged).unwrap();
        let whole = value["cmi"]["cmi.suspend_data"].as_str().unwrap();
        let calls = value["calls"].as_array().unwrap();
        let cut = calls.iter().find(|call| call[2] == "cmi.suspend_data").unwrap()[3].as_str();
        assert_eq!(cut.unwrap(), format!("{}\u{2026} ({})", &whole[..TRACED_MAX], whole.len()));
    }
}
