//! What a reference finds, in repeated look-ups.

use homeroom_store::{Answer, Ask, Decision, DocumentId, KindId, Plan, Store};

use crate::support::{Done, create, delete, document, key, stores};

/// Asks within a plan, as a write does.
fn target(store: &Store, name: &str) -> Option<(DocumentId, KindId)> {
    let (found, has_found) = std::sync::mpsc::channel();
    let plan = Plan {
        ask: vec![Ask::Target(key(name))],
        decide: move |answers: Vec<Answer>| -> Done {
            let Some(Answer::Target(target)) = answers.into_iter().next() else {
                return Decision::Refuse("no target was answered".into());
            };
            found.send(target.map(|(id, _, kind)| (id, kind))).unwrap();
            Decision::Write(vec![], ())
        },
    };
    store.run_blocking(plan).unwrap();
    has_found.recv().unwrap()
}

#[test]
fn a_target_is_found_by_its_own_and_its_base_identity_until_it_is_deleted() {
    for (store, a, b) in stores() {
        let with_alias = |kind| {
            let mut new = document(kind, "own", vec![]);
            new.alias = Some(key("base"));
            new
        };
        create(&store, with_alias(a));
        for _ in 0..2 {
            assert_eq!(target(&store, "own"), Some((DocumentId(1), a)));
            assert_eq!(target(&store, "base"), Some((DocumentId(1), a)));
            assert_eq!(target(&store, "none"), None);
        }

        delete(&store, "own");

        assert_eq!((target(&store, "own"), target(&store, "base")), (None, None));
        create(&store, with_alias(b));
        assert_eq!(target(&store, "own"), Some((DocumentId(2), b)));
        assert_eq!(target(&store, "base"), Some((DocumentId(2), b)));
    }
}
