//! What is published, on each database.

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_apis::{
    Apis, ApisError, ApisRequest, Definition, Published, Subscription, differences, write,
};
use homeroom_store::{Answer, Decision, Plan, Sql, Store, Write};
use homeroom_testkit::trial;
use proptest::prelude::*;

const DOCUMENT: &str = r#"{"openapi": "3.1.0", "paths": {"/a": {"get": {}}}}"#;

fn published(text: &str) -> Published {
    let definition: Definition = toml::from_str(text).unwrap();
    Published { definition, documents: BTreeMap::from([("a.json".into(), DOCUMENT.into())]) }
}

fn pay(timeout: &str) -> Published {
    published(&format!(
        "[[plans]]\nname = 'gold'\nrequests_per_second = 10\nburst = 5\nquota = '100/day'\n\
         [[apis]]\nname = 'pay'\ncontext = 'pay'\nversion = 'v1'\nupstream = ['http://127.0.0.1:1']\n\
         plan = 'gold'\nopenapi = 'a.json'\ntimeout = '{timeout}'\n"
    ))
}

fn with_secret(variable: &str) -> Published {
    let mut published = pay("20s");
    let headers = &mut published.definition.apis[0].request_headers;
    headers.set = BTreeMap::from([("x-key".into(), format!("env:{variable}"))]);
    published
}

async fn exported(apis: &Apis) -> Published {
    serde_json::from_value(apis.manage(ApisRequest::Export {}).await.unwrap()).unwrap()
}

#[tokio::test]
async fn what_is_applied_is_exported_and_shows_no_difference() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let apis = Apis::new(store);

        let first = apis.apply(pay("10s")).await.unwrap();
        let again = apis.apply(pay("10s")).await.unwrap();
        let changed = apis.apply(pay("20s")).await.unwrap();

        assert_eq!(first.len(), 2, "{name}");
        assert!(again.is_empty(), "{name}");
        let fields: Vec<&str> = changed.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(fields, ["apis.pay.timeout"], "{name}");
        assert_eq!((changed[0].old.as_str(), changed[0].new.as_str()), (Some("10s"), Some("20s")));
        assert_eq!(exported(&apis).await, pay("20s"), "{name}");
        let withdrawn = apis.apply(Published::default()).await.unwrap();
        assert_eq!(withdrawn.len(), 2, "{name}");
        assert_eq!(exported(&apis).await, Published::default(), "{name}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_whole_and_changes_nothing() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let apis = Apis::new(store);
        apis.apply(pay("10s")).await.unwrap();
        let mut wrong = pay("20s");
        wrong.definition.apis[0].plan = Some("silver".into());
        wrong.definition.apis[0].upstream = vec!["ftp://a".into()];

        let refused = apis.apply(wrong).await;
        let without_secret = apis.apply(with_secret("HOMEROOM_NO_SUCH_VARIABLE")).await;

        let Err(ApisError::Invalid(found)) = refused else { panic!("{name}: {refused:?}") };
        let paths: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["apis[0].plan", "apis[0].upstream[0]"], "{name}");
        assert!(matches!(without_secret, Err(ApisError::Invalid(_))), "{name}");
        assert_eq!(exported(&apis).await, pay("10s"), "{name}");
    }
}

#[tokio::test]
async fn a_secret_is_stored_as_the_place_where_it_is() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let apis = Apis::new(store);

        apis.apply(with_secret("PATH")).await.unwrap();

        let headers = &exported(&apis).await.definition.apis[0].request_headers;
        assert_eq!(headers.set["x-key"], "env:PATH", "{name}");
    }
}

#[tokio::test]
async fn a_subscription_stays_when_what_is_published_changes() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let apis = Apis::new(store);
        let to = Subscription {
            plan: Some("gold".into()),
            apis: vec!["pay".into()],
            scopes: vec!["read".into()],
        };

        apis.apply(pay("10s")).await.unwrap();
        apis.subscribe("k", &to).await.unwrap();
        apis.apply(Published::default()).await.unwrap();
        let nothing = apis.subscribe("k", &Subscription::default()).await;

        assert_eq!(apis.subscriptions().await.unwrap(), [("k".to_owned(), to)].into(), "{name}");
        assert!(matches!(nothing, Err(ApisError::Subscription(_))), "{name}");
    }
}

#[tokio::test]
async fn a_key_subscribes_to_what_is_published_by_a_plan_that_is_there() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let apis = Apis::new(store);
        apis.apply(pay("10s")).await.unwrap();

        for (plan, api, told) in
            [(Some("nope"), "pay", "there is no plan nope; plans: gold"), (None, "py", "no API py")]
        {
            let to = Subscription {
                plan: plan.map(str::to_owned),
                apis: vec![api.into()],
                scopes: vec![],
            };
            let checked = apis.check_subscription(&to).await.unwrap_err().to_string();
            let refused = apis.subscribe("k", &to).await.unwrap_err().to_string();
            assert!(checked.contains(told), "{name}: {checked}");
            assert_eq!(checked, refused, "{name}");
        }
        let begun =
            |name: &str| Subscription { apis: vec![name.into()], ..Subscription::default() };
        assert!(apis.check_subscription(&begun("pa*")).await.is_ok(), "{name}");
        assert!(apis.check_subscription(&begun("pay-*")).await.is_err(), "{name}");
        let all = Subscription { apis: vec!["*".into()], ..Subscription::default() };
        apis.subscribe("k", &all).await.unwrap();
        let unknown = ApisRequest::Subscribe { key: "nobody".into(), subscription: all };
        let unknown = apis.manage(unknown).await;
        assert!(matches!(unknown, Err(ApisError::Unknown { what: "key", .. })), "{name}");
    }
}

/// Publishes as earlier versions of the program did: everything as one text.
async fn publish_whole(store: &Store, whole: &Published) {
    let text = serde_json::to_string(whole).unwrap();
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
        let write = "UPDATE published SET version = 7, definition = ?1 WHERE id = 1";
        Decision::Write(vec![Write::Part(Sql::new(write, vec![text.clone().into()]))], ())
    };
    store.run(Plan { ask: vec![], decide }).await.unwrap();
}

#[tokio::test]
async fn what_an_earlier_version_has_published_as_one_text_is_carried_over() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        publish_whole(&store, &pay("10s")).await;
        let (here, there) = (Apis::new(store.clone()), Apis::new(store.clone()));

        let (one, other) = tokio::join!(exported(&here), exported(&there));
        let same = here.apply(pay("10s")).await.unwrap();
        let changed = here.apply(pay("20s")).await.unwrap();

        assert_eq!((one, other), (pay("10s"), pay("10s")), "{name}");
        assert_eq!((same.len(), changed.len()), (0, 1), "{name}");
        assert_eq!(exported(&there).await, pay("20s"), "{name}");
        let left = Sql::new("SELECT version, definition FROM published", vec![]);
        let left = store.query(left).await.unwrap();
        assert_eq!(left, [vec![7.into(), "".into()]], "{name}: a node of before sees no change");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_where_several_processes_change_at_the_same_time() {
    let one = |name: &str| {
        let text = format!(
            "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nupstream = ['http://a']\n"
        );
        Published { documents: BTreeMap::new(), ..published(&text) }
    };
    for (name, store) in trial::on_each(&[]).unwrap() {
        let nodes: Vec<_> = (0..3).map(|_| Arc::new(Apis::new(store.clone()))).collect();

        let mut changing = tokio::task::JoinSet::new();
        for (at, node) in nodes.iter().enumerate() {
            for number in 0..8 {
                let (node, new) = (Arc::clone(node), Box::new(one(&format!("a{at}-{number}"))));
                changing.spawn(async move {
                    node.manage(ApisRequest::Apply { new, prune: false }).await.map(drop)
                });
            }
        }
        let ended = changing.join_all().await;

        assert!(ended.iter().all(Result::is_ok), "{name}: {ended:?}");
        for node in &nodes {
            assert_eq!(exported(node).await.definition.apis.len(), 24, "{name}");
        }
        nodes[0].apply(one("a1-1")).await.unwrap();
        for node in &nodes {
            assert_eq!(exported(node).await, one("a1-1"), "{name}");
        }
    }
}

#[tokio::test]
async fn documents_are_found_by_their_names_however_many_there_are() {
    for (name, store) in trial::on_each(&[]).unwrap() {
        let all = (0..40).map(|number| {
            let text = format!("{{\"openapi\": \"3.1.0\", \"paths\": {{\"/{number}\": {{}}}}}}");
            (format!("{number:02}.json"), text)
        });
        let documents: BTreeMap<String, String> = all.collect();
        let api = |(number, document): (usize, &String)| {
            format!(
                "[[apis]]\nname = 'a{number:02}'\ncontext = 'a{number}'\nversion = 'v1'\n\
                 upstream = ['http://a']\nopenapi = '{document}'\n"
            )
        };
        let text: String = documents.keys().enumerate().map(api).collect();
        let new = Published { documents, ..published(&text) };

        Apis::new(store.clone()).apply(new.clone()).await.unwrap();

        assert_eq!(exported(&Apis::new(store)).await, new, "{name}");
    }
}

proptest! {
    #[test]
    fn a_definition_is_written_as_it_is_read(
        seconds in 1_u64..100,
        rate in 1_u32..1_000,
        pick in 0_usize..3,
    ) {
        let security = ["oauth2", "api-key", "none"][pick];
        let mut definition = pay(&format!("{seconds}s")).definition;
        definition.plans[0].requests_per_second = Some(f64::from(rate));
        definition.apis[0].security = serde_json::from_value(security.into()).unwrap();

        let read: Definition = toml::from_str(&write(&definition).unwrap()).unwrap();

        prop_assert_eq!(read, definition);
    }
}

#[test]
fn differences_are_told_by_field() {
    let (old, mut new) = (pay("10s"), pay("10s"));
    new.documents.insert("a.json".into(), DOCUMENT.replace("/a", "/b"));

    let found = differences(&old, &new);

    assert_eq!(found.len(), 1);
    assert_eq!(found[0].field, "apis.pay.openapi");
}
