//! A fault affects only the plan that has it.

use homeroom_store::{
    Answer, Ask, Decide, Decision, NewDocument, Plan, Refused, Sql, StoreError, Value, Write,
};

use crate::support::{create, document, key, stores};

/// One of several plans in a transaction.
#[derive(Clone)]
enum Neighbour {
    Create(Option<Box<NewDocument>>),
    Panic,
}

impl Decide for Neighbour {
    type Done = ();
    type Refusal = ();

    fn decide(&mut self, _: Vec<Answer>) -> Decision<(), ()> {
        match self {
            Self::Create(new) => {
                Decision::Write(vec![Write::Create(*new.take().expect("once"))], ())
            }
            Self::Panic => panic!("in a decision"),
        }
    }
}

#[test]
fn a_panicking_decision_fails_only_its_own_plan() {
    for (store, a, _) in stores() {
        let create = |name| Neighbour::Create(Some(Box::new(document(a, name, vec![]))));
        let plans = [create("x"), Neighbour::Panic, create("y")];
        let plans = plans.into_iter().map(|decide| Plan { ask: vec![], decide }).collect();

        let outcomes = store.run_all_blocking(plans);

        assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
        assert!(matches!(outcomes[1], Err(Refused::Store(StoreError::Failed(_)))), "{outcomes:?}");
        assert!(store.document_by_key_blocking(key("x")).unwrap().is_some());
        assert!(store.document_by_key_blocking(key("y")).unwrap().is_some());
    }
}

#[test]
fn an_unanswerable_question_fails_only_its_own_plan() {
    for (store, a, _) in stores() {
        let create = |name| Neighbour::Create(Some(Box::new(document(a, name, vec![]))));
        let wrong = Ask::Sql(Sql::new("SELECT name FROM no_such_table", vec![]));
        let plans = vec![
            Plan { ask: vec![], decide: create("x") },
            Plan { ask: vec![wrong], decide: create("never") },
            Plan { ask: vec![], decide: create("y") },
        ];

        let outcomes = store.run_all_blocking(plans);

        assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
        assert!(matches!(outcomes[1], Err(Refused::Store(StoreError::Failed(_)))), "{outcomes:?}");
        assert!(store.document_by_key_blocking(key("y")).unwrap().is_some());
    }
}

#[test]
fn a_plan_that_writes_no_document_has_no_change_version() {
    for (store, a, _) in stores() {
        create(&store, document(a, "x", vec![]));
        let text = "INSERT INTO kind (id, name) VALUES (?1, ?2)";
        let plan = Plan {
            ask: vec![],
            decide: move |_| -> Decision<(), ()> {
                let arguments = vec![Value::Integer(900), "extra".into()];
                Decision::Write(vec![Write::Sql(Sql::new(text, arguments))], ())
            },
        };

        let ran = store.run_blocking(plan).unwrap();

        assert_eq!(ran.change_version, 0);
    }
}
