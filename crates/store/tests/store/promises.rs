//! Documents, lists, files: the everyday promises.

use std::sync::Arc;

use homeroom_store::{
    Answer, Ask, Bounds, Condition, Decision, KindId, ListQuery, MarkTest, Options, Phase, Plan,
    Refused, Sql, StandardName, Store, StoreError, StoreUrl, Uuid, Value, Write,
};
use homeroom_testkit::trial;

use crate::support::{Done, Place, create, create_all, delete, document, key, names, stores};

#[test]
fn a_document_is_found_by_id_and_by_identity() {
    for (store, a, _) in stores() {
        let new = document(a, "x", vec![]);

        let version = create(&store, new.clone());

        let row = store.document_blocking(new.uuid).unwrap().unwrap();
        assert_eq!(
            (row.body.as_str(), row.change_version, row.modified),
            (new.body.as_str(), version, 7)
        );
        assert_eq!(store.document_by_key_blocking(key("x")).unwrap(), Some(row));
        assert_eq!(store.newest_change_version_blocking().unwrap(), version);
        assert_eq!(store.document_blocking(Uuid::new()).unwrap(), None);
    }
}

#[test]
fn the_phases_of_each_transaction_that_is_written_are_timed() {
    for (store, a, _) in stores() {
        let counts = || {
            let of = |phase| store.phases().into_iter().find(|times| times.phase == phase);
            [Phase::Plans, Phase::Commit].map(|phase| of(phase).unwrap().count())
        };
        let [plans, commits] = counts();

        create_all(&store, (0..3).map(|n| document(a, &n.to_string(), vec![])).collect());

        let [more_plans, more_commits] = counts();
        assert_eq!(more_commits, store.load().commits);
        assert!(more_plans > plans && more_commits > commits);
        assert!(store.phases().iter().all(|times| times.count() > 0 || times.sum.is_zero()));
    }
}

#[test]
fn a_store_keeps_the_standard_of_its_first_opening() {
    let standard = |version: &str| StandardName { schema: "ed-fi".into(), version: version.into() };
    for (store, ..) in stores() {
        let first = store.keep_standard(standard("5.2.0"), false).unwrap();
        let same = store.keep_standard(standard("5.2.0"), false).unwrap();
        let other = store.keep_standard(standard("4.0.0"), false).unwrap();
        let replaced = store.keep_standard(standard("4.0.0"), true).unwrap();
        let before = store.keep_standard(standard("5.2.0"), false).unwrap();

        assert_eq!((first, same, replaced), (None, None, None));
        assert_eq!(other, Some(standard("5.2.0")));
        assert_eq!(before, Some(standard("4.0.0")));
    }
}

#[test]
fn a_refused_plan_writes_nothing_and_fails_no_other() {
    for (store, a, _) in stores() {
        create(&store, document(a, "x", vec![]));
        let twice = document(a, "x", vec![]);
        let plans = [document(a, "y", vec![]), twice, document(a, "z", vec![])]
            .into_iter()
            .map(|new| {
                let mut new = Some(new);
                Plan {
                    ask: vec![],
                    decide: move |_| -> Done {
                        let extra = Write::Sql(Sql::new(
                            "INSERT INTO kind (id, name) VALUES (?1, ?2)",
                            vec![Value::Integer(900), "extra".into()],
                        ));
                        let new = new.take().expect("once");
                        let writes = if new.key == key("x") {
                            vec![extra, Write::Create(new)]
                        } else {
                            vec![Write::Create(new)]
                        };
                        Decision::Write(writes, ())
                    },
                }
            })
            .collect();

        let outcomes = store.run_all_blocking(plans);

        assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
        assert!(matches!(outcomes[1], Err(Refused::Store(StoreError::Failed(_)))));
        assert!(store.document_by_key_blocking(key("z")).unwrap().is_some());
        let extra =
            store.query_blocking(Sql::new("SELECT 1 FROM kind WHERE id = 900", vec![])).unwrap();
        assert!(extra.is_empty());
    }
}

#[tokio::test]
async fn lists_are_in_order_of_creation_and_counts_are_exact_at_any_depth() {
    for (store, a, b) in stores() {
        for at in 0..9_000 {
            let kind = if at % 3 == 0 { b } else { a };
            create(&store, document(kind, &format!("n{at}"), vec![]));
        }
        for at in [1, 4_000, 8_999] {
            delete(&store, &format!("n{at}"));
        }
        let expected: Vec<String> = (0..9_000)
            .filter(|at| at % 3 != 0 && ![1, 4_000].contains(at))
            .filter(|at| *at != 8_999)
            .map(|at| format!("n{at}"))
            .collect();

        for skip in [0, 1, 2_731, 4_096, 5_990, expected.len() - 1, expected.len(), 10_000] {
            let page = store
                .list(ListQuery { skip: skip as u64, limit: 5, ..ListQuery::all(a) })
                .await
                .unwrap();
            let want: Vec<String> = expected.iter().skip(skip).take(5).cloned().collect();
            assert_eq!(names(&page.rows), want, "skip {skip}");
        }
        assert_eq!(store.count(ListQuery::all(a)).await.unwrap(), expected.len() as u64);
        let cuts = store.cuts(ListQuery::all(a), 4, 100).await.unwrap().unwrap();
        assert_eq!(cuts.len(), 3);
    }
}

#[tokio::test]
async fn filters_windows_and_targets_agree_with_a_full_scan() {
    for (store, a, b) in stores() {
        create(&store, document(b, "t1", vec![]));
        create(&store, document(b, "t2", vec![]));
        let target = |name: &str| store.target_blocking(key(name)).unwrap().unwrap().0;
        let (t1, t2) = (target("t1"), target("t2"));
        for at in 0..60 {
            let mut others = vec![];
            if at % 2 == 0 {
                others.push(t1);
            }
            if at % 3 == 0 {
                others.push(t2);
            }
            create(&store, document(a, &format!("n{at}"), others));
        }

        let list = |query: ListQuery| {
            let store = store.clone();
            async move { names(&store.list(query).await.unwrap().rows) }
        };
        let both =
            list(ListQuery { targets: vec![t1, t2], limit: 4, skip: 1, ..ListQuery::all(a) }).await;
        assert_eq!(both, ["n6", "n12", "n18", "n24"]);
        let window = list(ListQuery { changed: Some((10, 12)), ..ListQuery::all(a) }).await;
        assert_eq!(window, ["n7", "n8", "n9"]);
        let numbered = Condition::StartsWith { path: "$.name".into(), prefixes: vec!["n1".into()] };
        for query in [
            ListQuery { conditions: vec![numbered.clone()], ..ListQuery::all(a) },
            ListQuery { changed: Some((10, 40)), ..ListQuery::all(a) },
            ListQuery { targets: vec![t1], ..ListQuery::all(a) },
            ListQuery { targets: vec![t1], conditions: vec![numbered], ..ListQuery::all(a) },
        ] {
            let rows = store.list(query.clone()).await.unwrap().rows;
            let run = rows.len().div_ceil(3);
            let cuts = store.cuts(query, 3, 1).await.unwrap();
            assert_eq!(cuts, Some(vec![rows[run - 1].id, rows[2 * run - 1].id]));
        }
        let nothing = ListQuery { conditions: vec![Condition::Never], ..ListQuery::all(a) };
        let never_changed = ListQuery { changed: Some((1 << 40, 1 << 41)), ..ListQuery::all(a) };
        let of_no_kind = ListQuery::all(KindId(9_999));
        for query in [nothing, never_changed, of_no_kind] {
            assert_eq!(store.cuts(query, 3, 1).await.unwrap(), None);
        }
        let text = Condition::Text { paths: vec!["$.name".into()], value: "N8".into(), fold: true };
        assert_eq!(list(ListQuery { conditions: vec![text], ..ListQuery::all(a) }).await, ["n8"]);
        let by_key = ListQuery { conditions: vec![Condition::Key(key("n5"))], ..ListQuery::all(a) };
        assert_eq!(list(by_key.clone()).await, ["n5"]);
        assert!(list(ListQuery { kind: b, ..by_key.clone() }).await.is_empty());
        assert!(list(ListQuery { targets: vec![t1], ..by_key.clone() }).await.is_empty());
        assert_eq!(list(ListQuery { changed: Some((8, 8)), ..by_key }).await, ["n5"]);
        let late = ListQuery { targets: vec![t1], changed: Some((10, 14)), ..ListQuery::all(a) };
        assert_eq!(list(late.clone()).await, ["n8", "n10"]);
        assert_eq!(store.count(late).await.unwrap(), 2);
        let referrers = ListQuery { targets: vec![t1, t2], ..ListQuery::all(a) };
        assert_eq!(store.count(referrers).await.unwrap(), 10);
        let prefix = Condition::StartsWith { path: "$.name".into(), prefixes: vec!["n5".into()] };
        let query = ListQuery { conditions: vec![prefix], ..ListQuery::all(a) };
        assert_eq!(store.count(query).await.unwrap(), 11);
    }
}

#[test]
fn edges_follow_a_replaced_document() {
    for (store, a, b) in stores() {
        for name in ["t1", "t2"] {
            create(&store, document(b, name, vec![]));
        }
        let target = |name: &str| store.target_blocking(key(name)).unwrap().unwrap().0;
        let (t1, t2) = (target("t1"), target("t2"));
        create(&store, document(a, "x", vec![t1]));
        let referrers = |id| {
            let plan = Plan {
                ask: vec![Ask::Referrers(id)],
                decide: |found: Vec<Answer>| -> Decision<Vec<Answer>, ()> {
                    Decision::Write(vec![], found)
                },
            };
            match store.run_blocking(plan).unwrap().value.remove(0) {
                Answer::Referrers(kinds) => kinds,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((referrers(t1), referrers(t2)), (vec![a], vec![]));
        let old = store.document_by_key_blocking(key("x")).unwrap().unwrap();

        let mut new = Some(document(a, "x", vec![t2]));
        let plan = Plan {
            ask: vec![],
            decide: move |_| -> Done {
                Decision::Write(
                    vec![Write::Replace {
                        old: old.id,
                        old_references: old.references.clone(),
                        old_ties: vec![],
                        new: new.take().expect("once"),
                    }],
                    (),
                )
            },
        };
        store.run_blocking(plan).unwrap();

        assert_eq!((referrers(t1), referrers(t2)), (vec![], vec![a]));
        delete(&store, "x");
        assert_eq!(referrers(t2), vec![]);
    }
}

#[test]
fn a_reopened_store_continues_where_it_was_and_is_exclusive() {
    let folder = std::env::temp_dir().join(format!("homeroom-reopen-{}", Uuid::new()));
    let options = Options::for_file(folder.join("homeroom.db"));
    let store = Store::open(&options).unwrap();
    let kinds = store.kinds(&["a".to_owned()]).unwrap();
    let version = create(&store, document(kinds[0], "x", vec![]));

    let second = Store::open(&options);
    assert!(matches!(second, Err(StoreError::InUse(_))), "{second:?}");
    drop(store);
    let store = Store::open(&options).unwrap();

    assert_eq!(store.newest_change_version_blocking().unwrap(), version);
    assert_eq!(store.kinds(&["b".to_owned(), "a".to_owned()]).unwrap(), [KindId(2), KindId(1)]);
    assert!(create(&store, document(kinds[0], "y", vec![])) > version);
    let copy = folder.join("copy.db");
    store.backup(&copy).unwrap();
    assert!(Store::check(&StoreUrl::Sqlite(copy)).unwrap().problems.is_empty());
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn another_programs_file_and_a_store_from_the_future_are_refused() {
    let folder = std::env::temp_dir().join(format!("homeroom-foreign-{}", Uuid::new()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("text.db"), "this is no database, it is a text of some length")
        .unwrap();
    let text = Store::open(&Options::for_file(folder.join("text.db")));
    assert!(matches!(text, Err(StoreError::Unusable(_))), "{text:?}");
    let path = folder.join("future.db");
    drop(Store::open(&Options::for_file(&path)).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 10_000).unwrap();
    drop(connection);

    let future = Store::open(&Options::for_file(&path));

    assert!(matches!(future, Err(StoreError::FromTheFuture { found: 10_000, .. })), "{future:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_prerelease_store_with_documents_is_refused_and_an_empty_one_is_migrated() {
    for is_empty in [false, true] {
        let place = Place::new();
        let (store, a) = place.open();
        if !is_empty {
            create(&store, document(a, "x", vec![]));
        }
        drop(store);
        let connection = rusqlite::Connection::open(place.file()).unwrap();
        let as_before = "DROP TABLE identity; DROP TABLE recent; CREATE UNIQUE INDEX doc_key ON doc (key); \
             DROP TABLE bulk_chunk; DROP TABLE bulk_file; DROP TABLE bulk_operation; \
             DROP TABLE quota_use; DROP TABLE published; DROP TABLE published_item; DROP TABLE published_state; \
             DROP TABLE subscription; DROP TABLE course; \
             DROP TABLE course_version; DROP TABLE course_file; DROP TABLE course_learner; \
             DROP TABLE course_registration; DROP TABLE course_activity; \
             DROP TABLE course_launch; DROP TABLE course_trace; DROP TABLE course_level; \
             DROP TABLE course_subscription; DROP TABLE course_notice; DROP TABLE course_session; \
             DROP TABLE course_attempt; DROP TABLE course_interaction; \
             DROP TABLE course_objective; DROP TABLE course_carry; DROP TABLE revoked_token; DROP TABLE revocation; \
             DROP TABLE job; DROP TABLE job_turn; DROP TABLE blob; \
             DROP TABLE blob_store; \
             DROP TABLE place; DROP TABLE passed_over; DROP TABLE gone; \
             ALTER TABLE tomb DROP COLUMN number; \
             DROP TABLE tie; DROP TABLE past_tie; ALTER TABLE tomb DROP COLUMN marks; \
             ALTER TABLE api_client DROP COLUMN ownership_tokens; \
             ALTER TABLE api_client DROP COLUMN creator_token; \
             ALTER TABLE api_client DROP COLUMN suspended; PRAGMA user_version = 4;";
        connection.execute_batch(as_before).unwrap();
        drop(connection);

        let opened = Store::open(&place.options());

        match opened {
            Ok(_) => assert!(is_empty),
            Err(StoreError::Unusable(why)) => {
                assert!(!is_empty && why.contains("load them into a new store"), "{why}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_store_of_the_first_release_is_migrated_with_its_counts() {
    let place = Place::new();
    let (store, a) = place.open();
    for name in ["x", "y"] {
        create(&store, document(a, name, vec![]));
    }
    delete(&store, "y");
    drop(store);
    let as_before = "DROP TABLE identity; DROP TABLE recent; CREATE UNIQUE INDEX doc_key ON doc (key); \
             DROP TABLE bulk_chunk; DROP TABLE bulk_file; DROP TABLE bulk_operation; \
             DROP TABLE quota_use; DROP TABLE published; DROP TABLE published_item; DROP TABLE published_state; \
             DROP TABLE subscription; DROP TABLE course; \
             DROP TABLE course_version; DROP TABLE course_file; DROP TABLE course_learner; \
             DROP TABLE course_registration; DROP TABLE course_activity; \
             DROP TABLE course_launch; DROP TABLE course_trace; DROP TABLE course_level; \
             DROP TABLE course_subscription; DROP TABLE course_notice; DROP TABLE course_session; \
             DROP TABLE course_attempt; DROP TABLE course_interaction; \
             DROP TABLE course_objective; DROP TABLE course_carry; DROP TABLE revoked_token; DROP TABLE revocation; \
             DROP TABLE job; DROP TABLE job_turn; DROP TABLE blob; \
         DROP TABLE blob_store; DROP TABLE place; DROP TABLE passed_over; DROP TABLE gone; \
         ALTER TABLE tomb DROP COLUMN number; \
         ALTER TABLE api_client DROP COLUMN suspended; PRAGMA user_version = 6;";
    rusqlite::Connection::open(place.file()).unwrap().execute_batch(as_before).unwrap();

    let (store, a) = place.open();

    assert_eq!(Store::check(store.url()).unwrap().problems, [""; 0]);
    assert!(store.document_by_key_blocking(key("x")).unwrap().is_some());
    assert!(store.document_by_key_blocking(key("y")).unwrap().is_none());
    assert_eq!(create(&store, document(a, "z", vec![])), 4, "it is no copy");
    delete(&store, "x");
    assert_eq!(Store::check(store.url()).unwrap().problems, [""; 0]);
}

#[tokio::test]
async fn a_read_that_takes_too_long_is_interrupted() {
    let place = Place::new();
    let mut all = trial::databases().unwrap();
    all.push(place.options());
    for mut options in all {
        options.list_deadline = std::time::Duration::from_millis(100);
        let store = Store::temporary_on(&options, &[]).unwrap();

        let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        let found = store.query(Sql::new(endless, vec![])).await;

        assert!(matches!(found, Err(StoreError::Deadline(_))), "{found:?}");
        assert_eq!(store.query(Sql::new("SELECT 5", vec![])).await.unwrap(), [[Value::Integer(5)]]);
    }
}

#[tokio::test]
async fn a_bounded_list_is_interrupted_at_any_offset() {
    let place = Place::new();
    let (store, kind) = place.open();
    let documents = (0..20_000).map(|at| document(kind, &format!("n{at}"), vec![]));
    create_all(&store, documents.collect());
    drop(store);
    let mut options = place.options();
    options.list_deadline = std::time::Duration::from_millis(1);
    let store = Store::open(&options).unwrap();
    let one_of = MarkTest::OneOf { mark: 0, numbers: Arc::new([1]) };
    let bounds = Bounds(vec![vec![vec![one_of]]]);
    for skip in [0, 10_000, u64::MAX] {
        let query = ListQuery { bounds: bounds.clone(), skip, limit: 1, ..ListQuery::all(kind) };

        let found = store.list(query.clone()).await;
        let counted = store.count(query).await;

        assert!(matches!(found, Err(StoreError::Deadline(_))), "{skip}: {found:?}");
        assert!(matches!(counted, Err(StoreError::Deadline(_))), "{skip}: {counted:?}");
    }
}
