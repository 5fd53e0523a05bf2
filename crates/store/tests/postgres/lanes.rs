//! Lanes beside each other and beside documents.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use homeroom_store::{
    Answer, Ask, Decide, Decision, Lane, Options, Plan, Sql, Store, Value, Write,
};
use homeroom_testkit::trial;

use crate::support::{Does, in_time, kinds, plan, same_schema};

const COURSE: Lane = Lane::new("course");
const JOB: Lane = Lane::new("job");
const TURN: &str = "INSERT INTO job_turn (kind, owner, taken) VALUES ('k', ?1, 1)";

fn put(owner: &str) -> Vec<Write> {
    vec![Write::Rows(JOB.rows(owner), Sql::new(TURN, vec![owner.into()]))]
}

/// Returns a plan that reads a lane, tells that it has, and waits until it may end.
fn slow(
    lane: Lane,
    has_begun: std::sync::mpsc::Sender<()>,
    may_end: Receiver<()>,
) -> Plan<impl Decide<Done = (), Refusal = ()>> {
    let may_end = Arc::new(Mutex::new(may_end));
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
        has_begun.send(()).unwrap();
        _ = may_end.lock().unwrap().recv();
        Decision::Write(vec![], ())
    };
    Plan { ask: vec![Ask::Rows(lane.all(), Sql::new("SELECT 1", vec![]))], decide }
}

fn quick(writes: Vec<Write>) -> Plan<impl Decide<Done = (), Refusal = ()>> {
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> { Decision::Write(writes.clone(), ()) };
    Plan { ask: vec![], decide }
}

#[test]
fn plans_of_two_lanes_and_documents_are_written_side_by_side() {
    for options in trial::postgres().unwrap() {
        let options = Options { strict: None, ..options };
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let other = Store::open(&same_schema(&store, &options)).unwrap();
        let (begun, has_begun) = channel();
        let (end, may_end) = channel();
        let busy = store.submit_in(COURSE, vec![slow(COURSE, begun, may_end)]);
        has_begun.recv().unwrap();

        let ended = in_time(move || {
            let rows = store.submit_in(JOB, vec![quick(put("a")), quick(put("b"))]).wait();
            let document = store.run_blocking(plan(1, Does::Blind { name: 1 }));
            let elsewhere = other.run_blocking(plan(2, Does::Blind { name: 2 }));
            (rows.iter().all(Result::is_ok), document.is_ok(), elsewhere.is_ok(), store)
        });

        assert!(ended.0 && ended.1 && ended.2);
        drop(end);
        assert!(busy.wait()[0].is_ok());
        let turns = ended.3.query_blocking(Sql::new("SELECT count(*) FROM job_turn", vec![]));
        assert_eq!(turns.unwrap()[0][0], Value::Integer(2));
    }
}

#[test]
fn a_plan_of_documents_that_needs_a_lane_waits_for_its_turn() {
    for options in trial::postgres().unwrap() {
        let options = Options { strict: None, ..options };
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let (begun, has_begun) = channel();
        let (end, may_end) = channel();
        let busy = store.submit_in(JOB, vec![slow(JOB, begun, may_end)]);
        has_begun.recv().unwrap();
        let among = [put("a"), vec![Write::Part(Sql::new(TURN, vec!["b".into()]))]];

        let waiting = store.submit(among.map(quick).into());
        std::thread::sleep(std::time::Duration::from_millis(200));
        let early = store.query_blocking(Sql::new("SELECT owner FROM job_turn", vec![])).unwrap();
        drop(end);

        assert!(early.is_empty(), "the lane is held");
        assert!(busy.wait()[0].is_ok());
        assert!(waiting.wait().iter().all(Result::is_ok));
    }
}

#[test]
fn a_lane_without_its_row_writes_nothing() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let nobody = Lane::new("nobody");
        let sql = Sql::new(TURN, vec!["a".into()]);

        let outcome = store.submit_in(nobody, vec![quick(vec![Write::Rows(nobody.all(), sql)])]);

        assert!(outcome.wait()[0].is_err());
        let turns = store.query_blocking(Sql::new("SELECT count(*) FROM job_turn", vec![]));
        assert_eq!(turns.unwrap()[0][0], Value::Integer(0));
    }
}

#[test]
fn a_form_that_the_server_refuses_for_many_rows_is_run_for_each() {
    // `DEFAULT` is a value of `VALUES`, but not of a `SELECT`.
    const ADD: &str = "INSERT INTO course_registration (id, instance, course, version, learner, created, \
         updated, first_access, progress, settings, tags, postback) \
         VALUES (?1, 0, 'c', 0, 'l', 0, 0, DEFAULT, '{}', '{}', '[]', '')";
    const COUNT: &str = "SELECT count(*) FROM course_registration WHERE first_access IS NULL";
    for options in trial::postgres().unwrap() {
        // Otherwise it would be an error.
        let options = Options { strict: None, ..options };
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        for round in ["a", "b"] {
            let add = |id: String| Write::Rows(COURSE.rows(&id), Sql::new(ADD, vec![id.into()]));
            let adds = (0..5).map(|n| quick(vec![add(format!("{round}{n}"))]));
            // One plan with several such statements, which cannot be divided.
            let several = ["x", "y", "z"].map(|id| add(format!("{round}{id}")));
            let plans = adds.chain([quick(several.into())]).collect();

            for outcome in store.submit_in(COURSE, plans).wait() {
                outcome.unwrap();
            }
        }

        let rows = store.query_blocking(Sql::new(COUNT, vec![])).unwrap();
        assert_eq!(rows, [[Value::Integer(16)]]);
    }
}

#[test]
fn values_that_cannot_be_sent_fail_their_own_plans_only() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let of = |owner: &str, arguments: Vec<Value>| {
            quick(vec![Write::Rows(JOB.rows(owner), Sql::new(TURN, arguments))])
        };
        let plans = vec![
            of("a", vec!["a".into()]),
            of("b", vec!["b\0".into()]),
            of("c", vec!["c".into()]),
            of("d", vec![]),
            of("e", vec!["e".into(), "more".into()]),
            of("f", vec![Value::Integer(1)]),
            of("g", vec!["g".into()]),
        ];

        let outcomes = store.submit_in(JOB, plans).wait();

        let are_done: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(are_done, [true, false, true, false, false, false, true], "{outcomes:?}");
        let owners = "SELECT owner FROM job_turn ORDER BY owner";
        let rows = store.query_blocking(Sql::new(owners, vec![])).unwrap();
        assert_eq!(rows, [["a".into()], ["c".into()], ["g".into()]]);
    }
}
