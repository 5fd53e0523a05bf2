//! The source of all modelled learners of one sending thread: whose request is due next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use homeroom_load::engine::{Answer, Reaction, Request, Source, StepFacts};

use super::beside::{Beside, BesideCall, BesideKind};
use super::learner::{Learner, Next};
use super::plan::LearnersPlan;
use super::progress::{Ending, Progress};
use super::script::{LearnerStep, Script, steps};

/// What a test consists of, the same for all threads.
#[derive(Debug)]
struct Test {
    plan: LearnersPlan,
    script: Script,
    beside: Vec<Beside>,
    progress: Arc<Progress>,
}

/// One sending thread's share of the learners.
#[derive(Debug)]
pub struct LearnerSource {
    test: Arc<Test>,
    steps: Vec<StepFacts>,
    learners: Vec<Learner>,
    /// What goes on beside the learners, with the number of its next call.
    beside: Vec<(usize, BesideCall)>,
    /// When the learner or, beyond them, the other call of this number is due.
    due: BinaryHeap<Reverse<(u64, u32)>>,
}

/// What a connection is used for: the number in [`LearnerSource::due`], and the due moment.
#[derive(Debug, Default, Clone, Copy)]
pub struct Serving {
    who: u32,
    due: u64,
}

impl LearnerSource {
    /// Returns a source for each of some threads, which share the learners among them.
    pub fn shared(
        plan: LearnersPlan,
        script: Script,
        beside: Vec<Beside>,
        progress: &Arc<Progress>,
        threads: usize,
    ) -> Vec<Self> {
        let test = Arc::new(Test { plan, script, beside, progress: progress.clone() });
        (0..threads).map(|thread| Self::new(&test, thread, threads)).collect()
    }

    /// Returns the steps of all sources, in the order of their numbers.
    pub fn all_steps() -> Vec<StepFacts> {
        let mut facts = steps();
        facts.extend(BesideKind::ALL.iter().map(|kind| kind.facts()));
        facts
    }

    fn new(test: &Arc<Test>, thread: usize, threads: usize) -> Self {
        let numbers = (0..test.plan.seats()).skip(thread).step_by(threads.max(1));
        let learners: Vec<Learner> = numbers.map(Learner::new).collect();
        let mut due = BinaryHeap::with_capacity(learners.len() + 8);
        for (at, learner) in (0..).zip(&learners) {
            due.push(Reverse((test.plan.begins_ns(learner.number), at)));
        }
        let steps = Self::all_steps();
        let mut source = Self { test: test.clone(), steps, learners, beside: vec![], due };
        // Each kind of other calls is one thread's.
        for (kind, beside) in test.beside.iter().enumerate() {
            if kind % threads.max(1) == thread {
                let who = source.who(source.beside.len());
                source.due.push(Reverse((beside.due_ns(0), who)));
                source.beside.push((kind, BesideCall::default()));
            }
        }
        source
    }

    fn who(&self, beside: usize) -> u32 {
        u32::try_from(self.learners.len() + beside).unwrap_or(u32::MAX)
    }

    /// Drops the learners who are due and may not begin another session.
    fn dismiss(&mut self) {
        while let Some(Reverse((_, who))) = self.due.peek() {
            let Some(learner) = self.learners.get(*who as usize) else { return };
            if !learner.is_outside() || self.test.progress.is_allowed(learner.number) {
                return;
            }
            self.due.pop();
        }
    }
}

impl Source for LearnerSource {
    type Client = Serving;

    fn steps(&self) -> &[StepFacts] {
        &self.steps
    }

    fn client(&mut self, _: u32) -> Serving {
        Serving::default()
    }

    fn due(&mut self) -> Option<u64> {
        self.dismiss();
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    fn next(&mut self, serving: &mut Serving, request: &mut Request) -> usize {
        let Reverse((due, who)) = self.due.pop().expect("the engine asks when one is due");
        *serving = Serving { who, due };
        let test = &self.test;
        let Some(learner) = self.learners.get_mut(who as usize) else {
            let (kind, call) = &mut self.beside[who as usize - self.learners.len()];
            let beside = &test.beside[*kind];
            beside.fill(&test.script, *call, request);
            // The next one is due at its own moment, whether or not this one is answered.
            self.due.push(Reverse((beside.due_ns(call.next_number()), who)));
            return LearnerStep::ALL.len() + beside.kind.number();
        };
        if learner.is_outside() {
            test.progress.begin();
        }
        if !test.progress.is_allowed(learner.number) {
            learner.leave();
        }
        test.progress.sent(due);
        let step = learner.fill(&test.script, request);
        if matches!(LearnerStep::ALL[step], LearnerStep::Results | LearnerStep::Final) {
            test.progress.post(request.body.len());
        }
        step
    }

    fn answered(&mut self, serving: &mut Serving, step: usize, answer: &Answer<'_>) -> Reaction {
        self.answered_at(serving, step, answer, serving.due)
    }

    fn answered_at(
        &mut self,
        serving: &mut Serving,
        _: usize,
        answer: &Answer<'_>,
        now: u64,
    ) -> Reaction {
        let test = &self.test;
        let every = test.plan.every_ns();
        let Some(learner) = self.learners.get_mut(serving.who as usize) else {
            return Reaction { ok: Beside::is_ok(answer), pause: Duration::ZERO };
        };
        let taken = learner.take(&test.script, every, answer, now);
        test.progress.ended(serving.due, now, taken.ok, taken.launched);
        let again = match taken.next {
            Next::At(at) => at,
            Next::Over(ending) => {
                test.progress.end(ending);
                match ending {
                    // Another learner takes the place.
                    Ending::Completed | Ending::Lost => now,
                    // After a pause, so that a server that refuses everything does not get more and
                    // more.
                    Ending::Broken => now.saturating_add(every),
                }
            }
        };
        self.due.push(Reverse((again, serving.who)));
        Reaction { ok: taken.ok, pause: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use homeroom_load::outcome::Outcome;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn plan() -> LearnersPlan {
        LearnersPlan {
            learners: 40,
            ramp: Duration::from_secs(20),
            stay: Duration::from_secs(80),
            hold: Duration::ZERO,
            posts: 3,
            every: Duration::from_secs(20),
            compress: 1,
        }
    }

    /// Runs the learners of some threads in virtual time against a server that answers at once;
    /// returns what was sent by step, until a moment.
    fn run(sources: &mut [LearnerSource], until: u64) -> Vec<u64> {
        let mut sent = vec![0; sources[0].steps().len()];
        loop {
            let of = |source: &mut LearnerSource| source.due().unwrap_or(u64::MAX);
            let (at, due) =
                sources.iter_mut().map(of).enumerate().min_by_key(|(_, due)| *due).unwrap();
            if due >= until {
                return sent;
            }
            let (mut serving, mut request) = (Serving::default(), Request::default());
            let step = sources[at].next(&mut serving, &mut request);
            sent[step] += 1;
            let body: &[u8] = match LearnerStep::ALL.get(step) {
                Some(LearnerStep::Link) => br#"{"launchLink":"/play/x"}"#,
                Some(LearnerStep::Check) => br#"{"registrationCompletion":"COMPLETED"}"#,
                _ => b"",
            };
            let length = body.len() as u64;
            let answer = Answer { outcome: Outcome::Status(200), headers: &[], body, length };
            assert!(sources[at].answered_at(&mut serving, step, &answer, due + 1).ok);
        }
    }

    #[test]
    fn all_threads_together_have_each_learner_once_and_replace_who_is_done() {
        let progress = Arc::new(Progress::new());
        let mut sources = LearnerSource::shared(plan(), Script::made_up(), vec![], &progress, 3);

        let sent = run(&mut sources, 79 * SECOND);

        let of = |step: LearnerStep| sent[step.number()];
        // A session takes 60 s: after 79 s, 38 learners have begun a second one.
        assert_eq!((of(LearnerStep::Launch), of(LearnerStep::Results)), (78, 118));
        let sessions = progress.sessions();
        assert_eq!((sessions.begun, sessions.completed, sessions.checked()), (78, 38, 38));
        assert_eq!(progress.posts().count, 118 + 38 * 3);
        run(&mut sources, 120 * SECOND);
        assert_eq!(progress.sessions().begun, 80);
    }

    #[test]
    fn learners_beyond_the_allowed_number_end_their_sessions_and_begin_no_other() {
        let progress = Arc::new(Progress::new());
        let mut sources = LearnerSource::shared(plan(), Script::made_up(), vec![], &progress, 1);

        run(&mut sources, 30 * SECOND);
        assert_eq!(progress.active(), 40);
        progress.allow(10);
        run(&mut sources, 60 * SECOND);

        assert_eq!((progress.active(), progress.sessions().completed), (10, 30));
        run(&mut sources, 200 * SECOND);
        assert!(progress.active() <= 10);
    }

    #[test]
    fn other_calls_keep_their_rate_beside_the_learners() {
        let progress = Arc::new(Progress::new());
        let beside = vec![
            Beside::new(BesideKind::Reports, 2.0),
            Beside::new(BesideKind::Registrations, 5.0),
        ];
        let mut sources = LearnerSource::shared(plan(), Script::made_up(), beside, &progress, 2);

        let sent = run(&mut sources, 10 * SECOND);

        let of = |kind: BesideKind| sent[LearnerStep::ALL.len() + kind.number()];
        assert_eq!((of(BesideKind::Reports), of(BesideKind::Registrations)), (20, 50));
        assert_eq!(progress.windows()[0].sent, sent[..LearnerStep::ALL.len()].iter().sum::<u64>());
    }
}
