//! A fault affects only the plan that has it.

use homeroom_store::{
    Answer, Ask, Decide, Decision, NewDocument, Plan, Refused, Sql, StoreError, Value, Write,
};
use homeroom_testkit::edges;

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

#[test]
fn a_write_that_fails_fails_only_its_own_plan() {
    for (store, a, b) in stores() {
        create(&store, document(b, "t", vec![]));
        let target = store.target_blocking(key("t")).unwrap().unwrap().0;
        let mut base = document(a, "base", vec![]);
        base.alias = Some(key("alias"));
        create(&store, base);
        let mut same_alias = document(a, "same alias", vec![target]);
        same_alias.alias = Some(key("alias"));
        let documents = [
            document(a, "x", vec![target]),
            document(a, "t", vec![]),
            document(a, "y", vec![target]),
            same_alias,
            document(a, "z", vec![]),
        ];
        let plans = documents
            .into_iter()
            .map(|new| Plan { ask: vec![], decide: Neighbour::Create(Some(Box::new(new))) });

        let submitted = store.submit(plans.collect());
        let outcomes = submitted.wait();

        let versions: Vec<_> =
            outcomes.iter().map(|ran| ran.as_ref().ok().map(|ran| ran.change_version)).collect();
        let last = store.newest_change_version_blocking().unwrap();
        assert_eq!(versions, [Some(last - 2), None, Some(last - 1), None, Some(last)]);
        let x = store.document_by_key_blocking(key("x")).unwrap().unwrap();
        let z = store.document_by_key_blocking(key("z")).unwrap().unwrap();
        assert_eq!(z.id.0, x.id.0 + 2);
        let edges = edges(&store).unwrap().len();
        let counted = store.query_blocking(Sql::new("SELECT sum(n) FROM tally", vec![])).unwrap();
        assert_eq!(edges, 2);
        assert_eq!(store.target_blocking(key("t")).unwrap().unwrap().0, target);
        assert!(store.document_by_key_blocking(key("same alias")).unwrap().is_none());
        assert!(format!("{:?}", counted[0][0]).contains('5'), "{counted:?}");
    }
}
