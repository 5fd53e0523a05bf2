//! Sessions: the pages that launches were opened in, each with numbers of its own for its commits.

use std::collections::BTreeMap;

use homeroom_store::Uuid;

use super::begin::Resets;
use super::state::{Held, LaunchState, Partial, Progress, Session};
use crate::package::Standard;

/// Most sessions of an instance whose numbers are kept. A session that is forgotten is refused.
pub(crate) const SESSIONS_MAX: usize = 50;

/// What a commit says about its place among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place<'a> {
    /// The launch.
    pub(crate) launch: &'a str,
    /// When its link was made.
    pub(crate) created: i64,
    /// The session; empty if the player sends none.
    pub(crate) session: &'a str,
    /// The number of the commit within the session.
    pub(crate) sequence: i64,
    /// Which part of it this is, and how many there are.
    pub(crate) part: (u16, u16),
    /// Whether the commit comes from the journal of a page that is gone; its values were set after the commit of
    /// this number.
    pub(crate) is_left: bool,
}

/// What is to be done with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is applied, as one of the session of this number.
    New(u32),
    /// It was saved before and changes nothing. Every commit of its session up to this number was saved.
    Known(i64),
}

/// The session is so old that its numbers are no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forgotten;

impl Progress {
    /// Takes a commit's place: whether its session is known, and whether it is new there.
    ///
    /// # Errors
    ///
    /// [`Forgotten`]: it cannot be told whether the commit was saved.
    pub(crate) fn turn(&mut self, place: Place<'_>, now: i64) -> Result<Turn, Forgotten> {
        self.settle();
        let is_it = |one: &Session| one.launch == place.launch && one.id == place.session;
        let found = self.sessions.iter().find(|(_, one)| is_it(one)).map(|(number, _)| *number);
        let number = if let Some(number) = found {
            number
        } else {
            let opened = opened(place, now);
            if self.forgotten.is_some_and(|until| opened <= until) {
                return Err(Forgotten);
            }
            self.begun = self.begun.saturating_add(1);
            let (launch, id) = (place.launch.to_owned(), place.session.to_owned());
            let resumes = self.resumes().map(str::to_owned);
            let session = Session { launch, id, opened, resumes, ..Session::default() };
            self.sessions.insert(self.begun, session);
            self.begun
        };
        let session = self.sessions.entry(number).or_default();
        if session.take(place) { Ok(Turn::New(number)) } else { Ok(Turn::Known(session.sequence)) }
    }

    /// Returns the activity at which the learner has left the course to go on there later: the last page
    /// has said goodbye, and that the course is suspended.
    pub(crate) fn resumes(&self) -> Option<&str> {
        let teller = self.sessions.get(&self.told_by);
        let was_left = match teller.map(|session| self.launches.get(&session.launch)) {
            None => self.told_by == 0,
            Some(launch) => launch.is_some_and(|launch| launch.is_ended && !launch.is_timed_out),
        };
        self.suspended.as_deref().filter(|_| was_left)
    }

    /// Gives the launches of an older Homeroom, which had one number each, a session.
    fn settle(&mut self) {
        let old: Vec<(String, i64, i64)> = self
            .launches
            .iter_mut()
            .filter(|(_, launch)| launch.sequence > 0)
            .map(|(id, launch)| (id.clone(), std::mem::take(&mut launch.sequence), launch.first))
            .collect();
        if old.len() >= SESSIONS_MAX {
            // There may have been others before these.
            self.forgotten = old.iter().map(|(_, _, first)| *first).min();
        }
        for (launch, sequence, opened) in old {
            self.begun = self.begun.saturating_add(1);
            let session = Session { launch, sequence, opened, ..Session::default() };
            self.sessions.insert(self.begun, session);
        }
    }

    /// Returns the greatest number that was saved of the commits of a launch without a session's id.
    pub(crate) fn sequence_of(&self, launch: &str) -> i64 {
        let old = self.launches.get(launch).map_or(0, |launch| launch.sequence);
        let own = self.sessions.values().find(|one| one.launch == launch && one.id.is_empty());
        own.map_or(old, |one| one.sequence)
    }

    /// Forgets the sessions that were opened first, beyond a number, but not the current one. Returns the
    /// launches that have no session any more, with what came of them.
    pub(crate) fn trim(&mut self, current: u32) -> Vec<(String, LaunchState)> {
        let mut gone = vec![];
        while self.sessions.len() > SESSIONS_MAX {
            let others = self.sessions.iter().filter(|(number, _)| **number != current);
            let oldest = others.min_by_key(|(number, one)| (one.opened, **number));
            let Some(number) = oldest.map(|(number, _)| *number) else { break };
            let Some(session) = self.sessions.remove(&number) else { break };
            self.forgotten = self.forgotten.max(Some(session.opened));
            if self.sessions.values().all(|one| one.launch != session.launch)
                && let Some(launch) = self.launches.remove(&session.launch)
            {
                gone.push((session.launch, launch));
            }
        }
        gone
    }
}

impl Session {
    /// Takes a commit's number. Returns whether the commit has something new.
    ///
    /// What a page has left counts if nothing came after the number that it was left at; it takes no number
    /// away from a page that is there after all.
    fn take(&mut self, place: Place<'_>) -> bool {
        let Place { sequence, part: (part, parts), .. } = place;
        if place.is_left {
            return self.sequence <= sequence;
        }
        let greatest = self.partial.as_ref().map_or(self.sequence, |partial| partial.sequence);
        if sequence < greatest || (sequence == greatest && self.partial.is_none()) {
            return false;
        }
        let known = self
            .partial
            .take()
            .filter(|known| known.sequence == sequence && known.parts == parts && parts > 1);
        let mut got = known.map(|known| known.got).unwrap_or_default();
        let is_new = !got.contains(&part);
        if is_new {
            got.push(part);
        }
        if got.len() >= usize::from(parts) {
            self.sequence = sequence;
        } else {
            self.partial = Some(Partial { sequence, parts, got });
        }
        is_new
    }
}

/// Returns when the page of a session was opened: the server's ids say it. Of other sessions it is only known
/// that it was not before the link was made.
fn opened(place: Place<'_>, now: i64) -> i64 {
    let said = Uuid::read(place.session).filter(|id| id.0[6] >> 4 == 7).map(|id| {
        let millis = id.0[..6].iter().fold(0_i64, |all, byte| all << 8 | i64::from(*byte));
        millis.saturating_mul(1_000)
    });
    said.unwrap_or(place.created).min(now).max(place.created)
}

/// The session of a commit among the others of its instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'a> {
    /// Its number.
    pub(crate) number: u32,
    /// All sessions whose numbers are kept.
    pub(crate) sessions: &'a BTreeMap<u32, Session>,
    /// Whether the commit comes from the journal of a page that is gone.
    pub(crate) is_left: bool,
    /// Whether this is the page's last word: it is going, or gone.
    pub(crate) is_closing: bool,
    /// The activity that the commit is about.
    pub(crate) activity: &'a str,
    /// The standard of the course.
    pub(crate) standard: Standard,
    /// When the values of that activity begin again.
    pub(crate) resets: Resets,
    /// How many attempts at it may begin.
    pub(crate) limit: Option<f64>,
    /// How many bytes its values may have.
    pub(crate) room: usize,
}

impl Own<'_> {
    /// Returns whether another session is later than this one, so that what it has set stays.
    ///
    /// Pages of one launch that are both open count as one: what comes last holds. A page that goes is not
    /// open any more, so what it says on its way comes before all that later pages say.
    pub(crate) fn is_before(&self, other: u32) -> bool {
        let (Some(own), Some(it)) = (self.sessions.get(&self.number), self.sessions.get(&other))
        else {
            return false;
        };
        if own.launch == it.launch && !self.is_left && !self.is_closing {
            return false;
        }
        (it.opened, other) > (own.opened, self.number)
    }

    /// Returns its launch.
    pub(crate) fn launch(&self) -> &str {
        self.sessions.get(&self.number).map_or("", |own| &own.launch)
    }

    /// Returns when its page was opened.
    pub(crate) fn opened(&self) -> i64 {
        self.sessions.get(&self.number).map_or(i64::MAX, |own| own.opened)
    }

    /// Returns whether the learner had left the course at its activity, to go on there, when its page was opened.
    pub(crate) fn resumes(&self) -> bool {
        let resumes = self.sessions.get(&self.number).and_then(|own| own.resumes.as_deref());
        resumes == Some(self.activity)
    }

    /// Returns what its page has said of its activity before content has set anything.
    pub(crate) fn held(&self) -> Option<&Held> {
        self.sessions.get(&self.number)?.held.get(self.activity)
    }

    /// Returns the session of a launch whose player sends no id.
    pub(crate) fn nameless(&self, launch: &str) -> Option<u32> {
        let mut all = self.sessions.iter();
        let found = all.find(|(_, one)| one.launch == launch && one.id.is_empty());
        found.map(|(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Place<'_> = Place {
        launch: "l",
        created: 1_000,
        session: "",
        sequence: 1,
        part: (0, 1),
        is_left: false,
    };

    fn at(session: &str, sequence: i64) -> Place<'_> {
        Place { session, sequence, ..BASE }
    }

    #[test]
    fn each_session_has_numbers_of_its_own() {
        let mut progress = Progress::default();
        let mut turn = |place| progress.turn(place, 2_000);

        assert_eq!(turn(at("a", 5)), Ok(Turn::New(1)));
        assert_eq!(turn(at("b", 1)), Ok(Turn::New(2)));
        assert_eq!(turn(at("a", 5)), Ok(Turn::Known(5)));
        assert_eq!(turn(at("a", 4)), Ok(Turn::Known(5)));
        assert_eq!(turn(at("b", 2)), Ok(Turn::New(2)));
        let other = Place { launch: "m", ..at("b", 1) };
        assert_eq!(turn(other), Ok(Turn::New(3)));
    }

    #[test]
    fn the_parts_of_a_commit_come_in_any_order_and_it_is_saved_when_all_have_come() {
        let mut progress = Progress::default();
        let mut turn =
            |sequence, part| progress.turn(Place { sequence, part, ..at("a", 0) }, 2_000);

        assert_eq!(turn(1, (0, 1)), Ok(Turn::New(1)));
        assert_eq!(turn(3, (2, 3)), Ok(Turn::New(1)));
        assert_eq!(turn(3, (2, 3)), Ok(Turn::Known(1)));
        assert_eq!(turn(3, (0, 3)), Ok(Turn::New(1)));
        assert_eq!(turn(2, (0, 1)), Ok(Turn::Known(1)), "it is not known to be saved");
        assert_eq!(turn(3, (1, 3)), Ok(Turn::New(1)));
        assert_eq!(turn(3, (1, 3)), Ok(Turn::Known(3)));
        assert_eq!(turn(5, (1, 2)), Ok(Turn::New(1)));
        assert_eq!(turn(6, (0, 1)), Ok(Turn::New(1)));
        assert_eq!(turn(5, (0, 2)), Ok(Turn::Known(6)), "the later one has it all");
    }

    #[test]
    fn what_a_page_has_left_counts_unless_something_came_later_and_takes_no_number() {
        let mut progress = Progress::default();
        let mut turn =
            |sequence, is_left| progress.turn(Place { is_left, ..at("a", sequence) }, 2_000);

        assert_eq!(turn(0, true), Ok(Turn::New(1)));
        assert_eq!(turn(1, false), Ok(Turn::New(1)));
        assert_eq!(turn(0, true), Ok(Turn::Known(1)));
        assert_eq!(turn(1, true), Ok(Turn::New(1)));
        assert_eq!(turn(2, false), Ok(Turn::New(1)));
    }

    #[test]
    fn a_session_that_is_forgotten_is_refused_and_its_launch_handed_over() {
        let mut progress = Progress::default();
        let names: Vec<String> = (0..=SESSIONS_MAX).map(|at| format!("l{at}")).collect();
        for (at, launch) in names.iter().enumerate() {
            let created = i64::try_from(at).unwrap() * 10;
            let place = Place { launch, created, ..BASE };
            let Ok(Turn::New(number)) = progress.turn(place, created + 5) else { panic!() };
            progress.launches.insert(launch.clone(), LaunchState::default());
            let gone = progress.trim(number);
            let expected = if at == SESSIONS_MAX { vec!["l0"] } else { vec![] };
            assert_eq!(gone.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), expected);
        }

        let first = Place { launch: "l0", created: 0, ..BASE };
        assert_eq!(progress.turn(first, 10_000), Err(Forgotten));
        assert_eq!(progress.turn(Place { sequence: 9, ..first }, 10_000), Err(Forgotten));
        let second = Place { launch: "l1", created: 10, ..BASE };
        assert_eq!(progress.turn(second, 10_000), Ok(Turn::Known(1)));
    }

    #[test]
    fn the_launches_of_an_older_version_keep_their_numbers() {
        let text = r#"{"launches":{"l":{"sequence":7,"first":5,"last":6}}}"#;
        let mut progress: Progress = serde_json::from_str(text).unwrap();

        assert_eq!(progress.sequence_of("l"), 7);
        assert_eq!(progress.turn(at("", 7), 2_000), Ok(Turn::Known(7)));
        assert_eq!(progress.turn(at("", 8), 2_000), Ok(Turn::New(1)));
        assert_eq!(progress.turn(at("a", 1), 2_000), Ok(Turn::New(2)));
        assert_eq!(progress.sequence_of("l"), 8);
    }

    #[test]
    fn the_servers_own_ids_say_when_a_page_was_opened() {
        let id = Uuid::new().to_string();
        let place = Place { session: &id, created: 5, ..BASE };
        let far = i64::MAX;

        assert!(opened(place, far) > 1_600_000_000_000_000);
        assert_eq!(opened(place, 7), 7, "no page was opened later than now");
        assert_eq!(opened(Place { created: far, ..place }, far), far);
        assert_eq!(opened(Place { session: "x", ..place }, far), 5);
    }
}
