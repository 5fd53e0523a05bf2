//! Work that is abandoned half-way, by a client that hangs up or by a fault on this side.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use homeroom_store::{
    Answer, Decide, Decision, KindId, NaturalKey, NewDocument, Options, Plan, References, Refused,
    Sql, Store, StoreError, Uuid, Write,
};
use homeroom_testkit::trial;
use tokio::time::timeout;

use crate::support::{Does, Doing, kinds, plan, with_parameter};

#[test]
fn cancelled_lists_are_stopped_and_leave_no_connections_behind() {
    for options in trial::postgres().unwrap() {
        let name = format!("homeroom-test-{}", Uuid::new());
        let named = with_parameter(&options, &format!("application_name={name}"));
        let named = Options { list_deadline: Duration::from_mins(2), ..named };
        let store = Store::temporary_on(&named, &kinds()).unwrap();
        let other = Store::temporary_on(&options, &[]).unwrap();
        let count = |condition: &str| {
            let text = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = ?1 AND {condition}"
            );
            let text: &'static str = text.leak();
            let rows = other.query_blocking(Sql::new(text, vec![name.as_str().into()])).unwrap();
            rows[0][0].as_integer().unwrap()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut most = 0;

        for _ in 0..30 {
            let sleep = Sql::new("SELECT CAST(pg_sleep(100) AS text)", vec![]);
            let list = store.query(sleep);
            _ = runtime.block_on(async { timeout(Duration::from_millis(60), list).await });
            most = most.max(count("true"));
        }
        let begun = Instant::now();
        while count("state = 'active'") > 0 && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }

        assert!(most <= 10, "{most} connections");
        assert_eq!(count("state = 'active'"), 0);
        assert!(store.query_blocking(Sql::new("SELECT 1", vec![])).is_ok());
    }
}

/// Returns a plan that creates a document and runs statements.
fn with_statements(name: u8, statements: Vec<Sql>) -> Plan<impl Decide<Done = (), Refusal = ()>> {
    let new = NewDocument {
        uuid: Uuid::new(),
        kind: KindId(1),
        key: NaturalKey::of("g", [&[name][..]]),
        alias: None,
        body: "{}".into(),
        references: References::default(),
        ties: vec![],
        modified: 1,
    };
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
        let mut writes = vec![Write::Create(new.clone())];
        writes.extend(statements.iter().cloned().map(Write::Sql));
        Decision::Write(writes, ())
    };
    Plan { ask: vec![], decide }
}

const ADD_KIND: &str = "INSERT INTO kind (id, name) VALUES (?1, ?2)";

fn counts(store: &Store) -> [i64; 2] {
    ["SELECT count(*) FROM doc", "SELECT count(*) FROM kind WHERE id > 100"].map(|text| {
        let rows = store.query_blocking(Sql::new(text, vec![])).unwrap();
        rows[0][0].as_integer().unwrap()
    })
}

#[test]
fn a_value_that_cannot_be_sent_fails_only_its_own_plan() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let plans = [7.into(), "a\0b".into(), "good".into()].map(|value| vec![200.into(), value]);
        let plans = (0..)
            .zip(plans)
            .map(|(name, arguments)| with_statements(name, vec![Sql::new(ADD_KIND, arguments)]));

        let ran = store.run_all_blocking(plans.collect());

        let ran: Vec<_> = ran.iter().map(Result::is_ok).collect();
        assert_eq!(ran, [false, false, true]);
        assert_eq!(counts(&store), [1, 1]);
    }
}

#[test]
fn a_plan_with_more_statements_than_are_kept_prepared_is_atomic() {
    for options in trial::postgres().unwrap() {
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let statement = |id: i64| {
            let text: &'static str = format!("{ADD_KIND} -- {id}").leak();
            Sql::new(text, vec![id.into(), format!("kind {id}").into()])
        };
        let all: Vec<_> = (101..401).map(statement).collect();
        let twice = vec![101.into(), "the same number".into()];
        let broken = all.iter().cloned().chain([Sql::new(ADD_KIND, twice)]).collect();

        let refused = store.run_blocking(with_statements(0, broken));
        let after_refusal = counts(&store);
        let done = store.run_blocking(with_statements(1, all));

        assert!(matches!(refused, Err(Refused::Store(StoreError::Failed(_)))), "{refused:?}");
        assert_eq!(after_refusal, [0, 0]);
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(counts(&store), [1, 300]);
    }
}

/// A plan that cannot be started a second time.
struct Fragile {
    doing: Doing,
    taken_up: Option<Arc<AtomicUsize>>,
}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        if let Some(taken_up) = &self.taken_up {
            assert!(taken_up.fetch_add(1, Ordering::Relaxed) == 0, "it breaks");
        }
        Self { doing: self.doing.clone(), taken_up: self.taken_up.clone() }
    }
}

impl Decide for Fragile {
    type Done = String;
    type Refusal = String;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<String, String> {
        self.doing.decide(found)
    }
}

#[test]
fn plans_committed_before_a_panic_are_reported_as_committed() {
    for options in trial::postgres().unwrap() {
        let options = Options { strict: None, ..options };
        let store = Store::temporary_on(&options, &kinds()).unwrap();
        let fragile = |name: u8, does: Does, taken_up| {
            let Plan { ask, decide } = plan(name.into(), does);
            Plan { ask, decide: Fragile { doing: decide, taken_up } }
        };
        let plans = vec![
            fragile(1, Does::Blind { name: 1 }, None),
            // Makes the writer split the group in two.
            fragile(2, Does::Broken, None),
            fragile(3, Does::Blind { name: 3 }, Some(Arc::default())),
        ];

        let ran = store.run_all_blocking(plans);

        let ran: Vec<_> = ran.iter().map(Result::is_ok).collect();
        assert_eq!(ran, [true, false, false]);
        assert_eq!(counts(&store)[0], 1);
        assert!(store.run_blocking(plan(4, Does::Blind { name: 4 })).is_ok());
    }
}
