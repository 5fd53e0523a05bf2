//! Lanes: what a part's rows leave alone, and what they share with documents.

use homeroom_store::{
    Answer, Ask, Decision, Lane, Plan, Ran, Refused, Sql, Store, StoreError, Value, Write,
};

use std::collections::BTreeMap;

use crate::dice::Dice;
use crate::support::{create, document, key, stores};

const TURNS: Lane = Lane::new("job");
/// A lane whose plans may take the other one, too.
const EARLIER: Lane = Lane::new("course");
const READ: &str = "SELECT taken FROM job_turn WHERE kind = 'k' AND owner = ?1";
const PUT: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES ('k', ?1, ?2) \
     ON CONFLICT (kind, owner) DO UPDATE SET taken = excluded.taken";
const ADD: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES ('k', ?1, 0)";
const RAISE: &str =
    "UPDATE job_turn SET taken = (taken * 3 + ?2) % 1000 WHERE kind = 'k' AND owner = ?1";
const RAISE_ALL: &str = "UPDATE job_turn SET taken = (taken * 3 + ?1) % 1000 WHERE kind = 'k'";
const REMOVE: &str = "DELETE FROM job_turn WHERE kind = 'k' AND owner = ?1";
const REMOVE_ALL: &str = "DELETE FROM job_turn WHERE kind = 'k' AND taken > ?1";

/// Returns a plan that adds one to an owner's number.
fn increment(owner: &'static str) -> Plan<impl homeroom_store::Decide<Done = i64, Refusal = ()>> {
    let ask = vec![Ask::Rows(TURNS.rows(owner), Sql::new(READ, vec![owner.into()]))];
    let decide = move |found: Vec<Answer>| -> Decision<i64, ()> {
        let Some(Answer::Rows(rows)) = found.into_iter().next() else {
            return Decision::Refuse(());
        };
        let next = rows.first().and_then(|row| row[0].as_integer()).unwrap_or(0) + 1;
        let put = Sql::new(PUT, vec![owner.into(), next.into()]);
        Decision::Write(vec![Write::Rows(TURNS.rows(owner), put)], next)
    };
    Plan { ask, decide }
}

fn add(owner: &'static str) -> Plan<impl homeroom_store::Decide<Done = (), Refusal = ()>> {
    let write = Write::Rows(TURNS.rows(owner), Sql::new(ADD, vec![owner.into()]));
    let decide =
        move |_: Vec<Answer>| -> Decision<(), ()> { Decision::Write(vec![write.clone()], ()) };
    Plan { ask: vec![], decide }
}

fn number(store: &Store, owner: &'static str) -> Option<i64> {
    let rows = store.query_blocking(Sql::new(READ, vec![owner.into()])).unwrap();
    rows.first().and_then(|row| row[0].as_integer())
}

fn values<T>(ran: Vec<Result<Ran<T>, Refused<()>>>) -> Vec<T> {
    ran.into_iter().map(|ran| ran.unwrap().value).collect()
}

#[test]
fn plans_of_a_lane_see_each_other_in_order() {
    for (store, ..) in stores() {
        let owners = ["a", "b", "a", "c", "a", "b"];

        let first = store.submit_in(TURNS, owners.map(increment).into());
        let second = store.submit_in(TURNS, owners.map(increment).into());

        assert_eq!(values(first.wait()), [1, 1, 2, 1, 3, 2]);
        assert_eq!(values(second.wait()), [4, 3, 5, 2, 6, 4]);
        assert_eq!(["a", "b", "c"].map(|owner| number(&store, owner)), [Some(6), Some(4), Some(2)]);
    }
}

const OWNERS: [&str; 5] = ["a", "b", "it's ?1", "", "ä"];

#[derive(Debug, Clone, Copy)]
enum Change {
    Put(&'static str, i64),
    Raise(&'static str, i64),
    Remove(&'static str),
    RaiseAll(i64),
    RemoveAll(i64),
}

impl Change {
    fn drawn(dice: &mut Dice) -> Self {
        let (owner, by) = (OWNERS[dice.below(OWNERS.len())], i64::try_from(dice.below(9)).unwrap());
        match dice.below(40) {
            0 => Self::RaiseAll(by),
            1 => Self::RemoveAll(by * 40),
            2..10 => Self::Remove(owner),
            10..25 => Self::Put(owner, by),
            _ => Self::Raise(owner, by),
        }
    }

    fn done(self, taken: &mut BTreeMap<&'static str, i64>) {
        let raise = |taken: &mut i64, by| *taken = (*taken * 3 + by) % 1_000;
        match self {
            Self::Put(owner, to) => _ = taken.insert(owner, to),
            Self::Raise(owner, by) => taken.get_mut(owner).into_iter().for_each(|n| raise(n, by)),
            Self::Remove(owner) => _ = taken.remove(owner),
            Self::RaiseAll(by) => taken.values_mut().for_each(|n| raise(n, by)),
            Self::RemoveAll(more) => taken.retain(|_, n| *n <= more),
        }
    }

    fn write(self) -> Write {
        let of = |owner: &str, text, more: Option<i64>| {
            let first = [Value::from(owner)].into_iter();
            let arguments = first.chain(more.map(Value::from)).collect();
            Write::Rows(TURNS.rows(owner), Sql::new(text, arguments))
        };
        let of_all = |text, by: i64| Write::Rows(TURNS.all(), Sql::new(text, vec![by.into()]));
        match self {
            Self::Put(owner, to) => of(owner, PUT, Some(to)),
            Self::Raise(owner, by) => of(owner, RAISE, Some(by)),
            Self::Remove(owner) => of(owner, REMOVE, None),
            Self::RaiseAll(by) => of_all(RAISE_ALL, by),
            Self::RemoveAll(more) => of_all(REMOVE_ALL, more),
        }
    }
}

/// Returns a plan that reads the numbers of some owners, and makes changes.
fn changing(
    read: Vec<&'static str>,
    changes: Vec<Change>,
) -> Plan<impl homeroom_store::Decide<Done = Vec<Option<i64>>, Refusal = ()>> {
    let ask = |owner: &&'static str| {
        Ask::Rows(TURNS.rows(*owner), Sql::new(READ, vec![Value::from(*owner)]))
    };
    let decide = move |found: Vec<Answer>| -> Decision<Vec<Option<i64>>, ()> {
        let number = |answer| match answer {
            Answer::Rows(rows) => rows.first().and_then(|row: &Vec<Value>| row[0].as_integer()),
            _ => None,
        };
        let writes = changes.iter().map(|change| change.write()).collect();
        Decision::Write(writes, found.into_iter().map(number).collect())
    };
    Plan { ask: read.iter().map(ask).collect(), decide }
}

#[test]
fn plans_that_go_together_do_what_they_do_one_after_the_other() {
    for (store, ..) in stores() {
        let mut taken = BTreeMap::new();
        for seed in 0..60 {
            let mut dice = Dice(seed);
            let (mut plans, mut wanted) = (vec![], vec![]);
            for _ in 0..=dice.below(30) {
                let owners: Vec<_> =
                    (0..dice.below(3)).map(|_| OWNERS[dice.below(OWNERS.len())]).collect();
                let changes: Vec<_> =
                    (0..dice.below(4)).map(|_| Change::drawn(&mut dice)).collect();
                wanted
                    .push(owners.iter().map(|owner| taken.get(owner).copied()).collect::<Vec<_>>());
                for change in &changes {
                    change.done(&mut taken);
                }
                plans.push(changing(owners, changes));
            }

            let found = values(store.submit_in(TURNS, plans).wait());

            assert_eq!(found, wanted, "seed {seed}");
            for owner in OWNERS {
                assert_eq!(number(&store, owner), taken.get(owner).copied(), "seed {seed}");
            }
        }
    }
}

const REGISTER: &str = "INSERT INTO course_registration (id, instance, course, version, learner, created, \
     updated, first_access, progress, settings, tags, postback) \
     VALUES (?1, ?2, 'c, ''(?1)''', ?2, ?3, -1, 0, ?4, '{}', '{}', '[]', '')";
const REGISTERED: &str = "SELECT learner, first_access, course FROM course_registration \
     WHERE id = ?1 AND instance = ?2";
/// A question and writes that are in no form of which many go together.
const LAST: &str =
    "SELECT learner FROM course_registration WHERE id = ?1 ORDER BY instance DESC LIMIT 1";
const COPY: &str = "INSERT INTO course_registration (id, instance, course, version, learner, created, \
     updated, progress, settings, tags, postback) \
     SELECT id, instance + 1, course, version, ?2, created, updated, progress, settings, tags, postback \
     FROM course_registration WHERE id = ?1 AND instance = 7";

/// Returns a plan with one question about and one write of the rows of a key.
fn one_each(
    key: &str,
    ask: Option<Sql>,
    write: Option<Sql>,
) -> Plan<impl homeroom_store::Decide<Done = Vec<Vec<Value>>, Refusal = ()> + use<>> {
    let rows = EARLIER.rows(key);
    let writes: Vec<_> = write.map(|sql| Write::Rows(rows, sql)).into_iter().collect();
    let decide = move |found: Vec<Answer>| -> Decision<Vec<Vec<Value>>, ()> {
        let found = match found.into_iter().next() {
            Some(Answer::Rows(rows)) => rows,
            _ => vec![],
        };
        Decision::Write(writes.clone(), found)
    };
    Plan { ask: ask.map(|sql| Ask::Rows(rows, sql)).into_iter().collect(), decide }
}

#[test]
fn values_of_every_kind_reach_their_own_rows() {
    let learners = ["a", "it''s ?1 $2", "", "\u{1f600} \\ \"", "NULL", "{a,b}"];
    let access = [None, Some(i64::MIN), Some(0), Some(i64::MAX), None, Some(-5)];
    let ids = ["1", "2", "3", "4", "5", "6"];
    let all = || ids.into_iter().zip(learners).zip(access);
    let of = |id: &str| vec![Value::from(id), 7.into()];
    for (store, ..) in stores() {
        let register = all().map(|((id, learner), access)| {
            let more = [Value::from(learner), access.into()];
            let arguments = of(id).into_iter().chain(more).collect();
            one_each(id, None, Some(Sql::new(REGISTER, arguments)))
        });
        values(store.submit_in(EARLIER, register.collect()).wait());
        let read = ["9"].into_iter().chain(ids).map(|id| {
            let copy = Sql::new(COPY, vec![Value::from(id), format!("copy {id}").into()]);
            one_each(id, Some(Sql::new(REGISTERED, of(id))), Some(copy))
        });

        let found = values(store.submit_in(EARLIER, read.collect()).wait());

        let course = || Value::from("c, '(?1)'");
        let wanted =
            all().map(|((_, learner), access)| vec![vec![learner.into(), access.into(), course()]]);
        let wanted: Vec<Vec<Vec<Value>>> = [vec![]].into_iter().chain(wanted).collect();
        assert_eq!(found, wanted);
        let last = ids.map(|id| one_each(id, Some(Sql::new(LAST, vec![id.into()])), None));
        let found = values(store.submit_in(EARLIER, last.into()).wait());
        assert_eq!(found, ids.map(|id| vec![vec![Value::from(format!("copy {id}"))]]));
    }
}

#[test]
fn a_statement_that_fails_among_others_fails_its_own_plan_only() {
    let owners = ["a", "b", "c", "d", "e"];
    for (store, ..) in stores() {
        values(store.submit_in(TURNS, vec![add("c")]).wait());

        let outcomes = store.submit_in(TURNS, owners.map(add).into()).wait();

        let are_done: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(are_done, [true, true, false, true, true]);
        assert_eq!(owners.map(|owner| number(&store, owner)), [Some(0); 5]);
    }
}

#[test]
fn a_lane_an_earlier_one_and_documents_never_lose_each_others_rows() {
    for (store, ..) in stores() {
        let both = || vec![increment("a"), increment("b")];
        let in_lane = |lane| values(store.submit_in(lane, both()).wait()).len();
        let among_documents = || values(store.run_all_blocking(both())).len();
        let done: usize = std::thread::scope(|scope| {
            let own = scope.spawn(|| (0..50).map(|_| in_lane(TURNS)).sum::<usize>());
            let earlier = scope.spawn(|| (0..50).map(|_| in_lane(EARLIER)).sum::<usize>());
            let among = scope.spawn(|| (0..50).map(|_| among_documents()).sum::<usize>());
            [own, earlier, among].map(|thread| thread.join().unwrap()).iter().sum()
        });

        assert_eq!(done, 300);
        assert_eq!(["a", "b"].map(|owner| number(&store, owner)), [Some(150); 2]);
    }
}

#[test]
fn rows_of_parts_leave_what_the_writer_remembers() {
    for (store, a, _) in stores() {
        create(&store, document(a, "x", vec![]));
        let before = store.load().forgotten;

        values(store.submit_in(TURNS, vec![increment("a"), increment("b")]).wait());
        values(store.run_all_blocking(vec![increment("a")]));
        let twice = store.submit_in(TURNS, vec![add("c"), add("c"), add("d")]).wait();

        assert!(twice[0].is_ok() && twice[1].is_err() && twice[2].is_ok(), "{twice:?}");
        assert_eq!(store.load().forgotten, before);
        // Plain SQL may have changed anything.
        let plain = Write::Sql(Sql::new(PUT, vec!["a".into(), Value::Integer(9)]));
        let decide =
            move |_: Vec<Answer>| -> Decision<(), ()> { Decision::Write(vec![plain.clone()], ()) };
        store.run_blocking(Plan { ask: vec![], decide }).unwrap();
        assert!(store.load().forgotten > before);
        assert_eq!(number(&store, "a"), Some(9));
    }
}

#[test]
fn a_plan_that_leaves_its_lane_is_refused_and_writes_nothing() {
    for (store, a, _) in stores() {
        let put = || Sql::new(PUT, vec!["a".into(), Value::Integer(1)]);
        let outside = [
            Write::Create(document(a, "x", vec![])),
            Write::Rows(EARLIER.all(), put()),
            Write::Part(put()),
            Write::Sql(put()),
        ];
        let plans = outside.map(|write| {
            let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
                Decision::Write(vec![Write::Rows(TURNS.all(), put()), write.clone()], ())
            };
            Plan { ask: vec![], decide }
        });
        let asks = |found: Vec<Answer>| -> Decision<(), ()> {
            if found.is_empty() {
                Decision::Ask(vec![Ask::Document(key("x"))])
            } else {
                Decision::Write(vec![], ())
            }
        };
        let at_once = Plan { ask: vec![Ask::Document(key("x"))], decide: asks };

        let mut outcomes = store.submit_in(TURNS, plans.into()).wait();
        outcomes.extend(store.submit_in(TURNS, vec![Plan { ask: vec![], decide: asks }]).wait());
        outcomes.extend(store.submit_in(TURNS, vec![at_once]).wait());

        assert_eq!(outcomes.len(), 6);
        for outcome in outcomes {
            assert!(matches!(outcome, Err(Refused::Store(StoreError::Failed(_)))), "{outcome:?}");
        }
        assert_eq!(number(&store, "a"), None);
        assert!(store.document_by_key_blocking(key("x")).unwrap().is_none());
    }
}

#[test]
fn a_closed_store_takes_no_plans_of_lanes() {
    for (store, ..) in stores() {
        values(store.submit_in(TURNS, vec![increment("a")]).wait());
        store.close();

        let outcome = store.submit_in(TURNS, vec![increment("a")]).wait().pop().unwrap();

        assert!(matches!(outcome, Err(Refused::Store(StoreError::Closed))), "{outcome:?}");
    }
}
