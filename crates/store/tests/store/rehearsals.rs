//! Plans that are rehearsed: they tell what they would do, and write nothing.

use homeroom_store::{
    Answer, Ask, Decide, Decision, KindId, Plan, Refused, Rehearsal, Sql, Value, Write,
};

use crate::support::{Done, create, document, key, stores};

/// Creates a document if the target that it names is there.
fn creation(
    kind: KindId,
    name: &str,
    target: &str,
) -> Plan<impl Decide<Done = (), Refusal = String>> {
    let (target, new) = (target.to_owned(), document(kind, name, vec![]));
    Plan {
        ask: vec![Ask::Document(new.key), Ask::Target(key(&target))],
        decide: move |found: Vec<Answer>| -> Done {
            match found.last() {
                Some(Answer::Target(Some(_))) => {
                    Decision::Write(vec![Write::Create(new.clone())], ())
                }
                _ => Decision::Refuse(format!("no {target}")),
            }
        },
    }
}

#[test]
fn a_rehearsed_plan_sees_documents_of_earlier_ones_and_writes_nothing() {
    for (store, a, _) in stores() {
        let version = create(&store, document(a, "stored", vec![]));
        let rehearsal = Rehearsal::default();
        // The second is of one batch with the first, the last of another batch.
        let batches = [
            vec![("x", "stored"), ("y", "x"), ("z", "later"), ("later", "y")],
            vec![("x", "stored"), ("w", "later")],
        ];

        let outcomes = batches.map(|batch| {
            let plans = batch.into_iter().map(|(name, to)| rehearsal.plan(creation(a, name, to)));
            let outcomes = store.run_all_blocking(plans.collect()).into_iter();
            let told = outcomes.map(|outcome| match outcome {
                Ok(ran) => Ok(ran.value.1),
                Err(Refused::Decision(message)) => Err(message),
                Err(Refused::Store(error)) => panic!("{error}"),
            });
            told.collect::<Vec<_>>()
        });

        assert_eq!(outcomes[0], [Ok(false), Ok(false), Err("no later".to_owned()), Ok(false)]);
        assert_eq!(outcomes[1], [Ok(true), Ok(false)], "the first of them is there already");
        assert!(rehearsal.has(key("w")) && !rehearsal.has(key("z")));
        assert_eq!(store.newest_change_version_blocking().unwrap(), version);
        let rows = store.query_blocking(Sql::new("SELECT count(*) FROM doc", vec![])).unwrap();
        assert_eq!(rows, [[Value::Integer(1)]]);
    }
}
