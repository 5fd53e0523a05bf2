//! Several lists on one state of the store, and lists that are confined to named documents or to who
//! refers to some.

use std::sync::Arc;

use homeroom_store::{Among, Busy, Condition, DocumentId, KindId, ListQuery, Store, StoreError};

use crate::support::{create, create_all, delete, document, key, names, stores};

/// Two targets of the second kind, and documents of the first that refer to one, the other or both.
fn family(store: &Store, a: KindId, b: KindId) -> [DocumentId; 2] {
    create_all(store, vec![document(b, "t1", vec![]), document(b, "t2", vec![])]);
    let id = |name: &str| store.document_by_key_blocking(key(name)).unwrap().unwrap().id;
    let targets = [id("t1"), id("t2")];
    for (name, others) in [
        ("both", targets.to_vec()),
        ("first", vec![targets[0]]),
        ("none", vec![]),
        ("second", vec![targets[1]]),
    ] {
        create(store, document(a, name, others));
    }
    targets
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_can_be_restricted_to_documents_or_to_their_referrers() {
    for (store, a, b) in stores() {
        let [t1, t2] = tokio::task::block_in_place(|| family(&store, a, b));
        let all = store.list(ListQuery::all(a)).await.unwrap().rows;
        let ids: Vec<DocumentId> = all.iter().map(|row| row.id).collect();
        let named = |some: &[DocumentId]| Some(Among::Documents(some.into()));
        let referring = |some: &[DocumentId]| Some(Among::Referrers(some.into()));
        let name = |text: &str| Condition::Text {
            paths: vec!["$.name".into()],
            value: text.into(),
            fold: false,
        };
        for (what, query, expected) in [
            ("none", ListQuery { among: named(&[]), ..ListQuery::all(a) }, vec![]),
            ("of another kind", ListQuery { among: named(&[t1]), ..ListQuery::all(a) }, vec![]),
            (
                "named, in order of creation",
                ListQuery { among: named(&[ids[3], ids[0]]), ..ListQuery::all(a) },
                vec!["both", "second"],
            ),
            ("no target", ListQuery { among: referring(&[]), ..ListQuery::all(a) }, vec![]),
            (
                "each once",
                ListQuery { among: referring(&[t1, t2]), ..ListQuery::all(a) },
                vec!["both", "first", "second"],
            ),
            (
                "of another kind's",
                ListQuery { among: referring(&[t1]), ..ListQuery::all(b) },
                vec![],
            ),
            (
                "and of a target",
                ListQuery { among: referring(&[t1]), targets: vec![t2], ..ListQuery::all(a) },
                vec!["both"],
            ),
            (
                "and by the text",
                ListQuery {
                    among: referring(&[t1, t2]),
                    conditions: vec![name("first")],
                    ..ListQuery::all(a)
                },
                vec!["first"],
            ),
            (
                "and by the identity",
                ListQuery {
                    among: referring(&[t1]),
                    conditions: vec![Condition::Key(key("second"))],
                    ..ListQuery::all(a)
                },
                vec![],
            ),
            (
                "a page",
                ListQuery { among: referring(&[t1, t2]), skip: 1, limit: 1, ..ListQuery::all(a) },
                vec!["first"],
            ),
            (
                "what comes after",
                ListQuery { among: referring(&[t1, t2]), after: ids[1], ..ListQuery::all(a) },
                vec!["second"],
            ),
        ] {
            let page = store.list(query.clone()).await.unwrap();

            assert_eq!(names(&page.rows), expected, "{what} on {store:?}");
            let whole = ListQuery { skip: 0, limit: u32::MAX, ..query };
            let count = store.count(whole.clone()).await.unwrap();
            let listed = store.list(whole).await.unwrap().rows.len() as u64;
            assert_eq!(count, listed, "{what} on {store:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_lists_of_one_moment_see_the_same_state() {
    for (store, a, _) in stores() {
        let both = vec![document(a, "x", vec![]), document(a, "y", vec![])];
        tokio::task::block_in_place(|| create_all(&store, both));
        let store = Arc::new(store);
        for is_long in [false, true] {
            let seen = store
                .at_one_moment(is_long, |moment| async {
                    let moment = moment;
                    let first = moment.list(ListQuery::all(a)).await.unwrap();
                    let writer = Arc::clone(&store);
                    let changing = tokio::task::spawn_blocking(move || {
                        delete(&writer, "x");
                        create(&writer, document(a, "x", vec![]));
                        create(&writer, document(a, if is_long { "w" } else { "z" }, vec![]));
                    });
                    changing.await.unwrap();
                    let count = moment.count(ListQuery::all(a)).await.unwrap();
                    (first, moment.list(ListQuery::all(a)).await.unwrap(), count)
                })
                .await
                .unwrap();

            assert_eq!(seen.0, seen.1, "{store:?}");
            assert_eq!(seen.2, seen.0.rows.len() as u64);
            let now = store.list(ListQuery::all(a)).await.unwrap();
            assert_eq!(now.rows.len(), seen.0.rows.len() + 1, "{store:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_or_failed_work_at_one_moment_leaks_no_capacity() {
    for (store, a, _) in stores() {
        tokio::task::block_in_place(|| create(&store, document(a, "x", vec![])));
        for _ in 0..20 {
            let nothing = store.at_one_moment(false, |_| async { 7 }).await;
            assert_eq!(nothing.unwrap(), 7);
            let given_up = store.at_one_moment(false, |moment| async move {
                moment.list(ListQuery::all(a)).await?;
                Err::<(), StoreError>(StoreError::Busy(Busy::Changing))
            });
            assert!(matches!(given_up.await.unwrap(), Err(StoreError::Busy(Busy::Changing))));
            let hung_up = store.at_one_moment(false, |moment| async move {
                moment.list(ListQuery::all(a)).await.unwrap();
                std::future::pending::<()>().await;
            });
            let time = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(time, hung_up).await.is_err());
        }

        assert_eq!(names(&store.list(ListQuery::all(a)).await.unwrap().rows), ["x"]);
    }
}
