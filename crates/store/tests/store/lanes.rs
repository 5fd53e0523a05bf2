//! Lanes: what a part's rows leave alone, and what they share with documents.

use homeroom_store::{
    Answer, Ask, Decision, Lane, Plan, Ran, Refused, Sql, Store, StoreError, Value, Write,
};

use crate::support::{create, document, key, stores};

const TURNS: Lane = Lane::new("job");
/// A lane whose plans may take the other one, too.
const EARLIER: Lane = Lane::new("course");
const READ: &str = "SELECT taken FROM job_turn WHERE kind = 'k' AND owner = ?1";
const PUT: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES ('k', ?1, ?2) \
     ON CONFLICT (kind, owner) DO UPDATE SET taken = excluded.taken";
const ADD: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES ('k', ?1, 0)";

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
