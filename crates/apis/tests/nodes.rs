//! What a node serves after another one has changed it, on each database.
#![expect(clippy::disallowed_methods, reason = "a node starts at a moment")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use homeroom_access::ApiClient;
use homeroom_apis::{Apis, ApisRequest, Published, Security, Subscription};
use homeroom_gateway::Router;
use homeroom_http::Timestamp;
use homeroom_store::{Answer, Decision, Plan, Sql, Store, Value, Write};
use homeroom_testkit::{Folder, TestApp};
use serde_json::json;
use tokio::time::timeout;

/// APIs of these names, contexts and documents; each document has one operation.
fn published(apis: &[(&str, &str, Option<&str>)], operation: &str) -> Published {
    let document = json!({"openapi": "3.1.0", "paths": {operation: {"get": {}}}}).to_string();
    let api = |(name, context, document): &(&str, &str, Option<&str>)| {
        let mut api = json!({"name": name, "context": context, "version": "v1",
            "upstream": ["http://127.0.0.1:1"]});
        if let Some(document) = document {
            api["openapi"] = json!(document);
        }
        api
    };
    let names = apis.iter().filter_map(|(.., document)| *document);
    let documents: BTreeMap<_, _> = names.map(|name| (name, document.clone())).collect();
    let apis: Vec<_> = apis.iter().map(api).collect();
    let all = json!({"definition": {"apis": apis}, "documents": documents});
    serde_json::from_value(all).unwrap()
}

/// Two nodes, of which one serves.
struct Nodes {
    app: TestApp,
    here: Apis,
    there: Apis,
}

impl Nodes {
    async fn on(app: TestApp) -> Self {
        let node = || Apis::new(app.data.store.clone());
        let (here, there) = (node(), node());
        here.serve_at(&app.front_door, Timestamp::now()).await.unwrap();
        Self { app, here, there }
    }

    /// Lets the other node publish exactly this, and this one notice.
    async fn apply(&self, new: Published) {
        self.there.apply(new).await.unwrap();
        self.here.follow().await.unwrap();
    }

    /// Returns the status of a call.
    async fn answer(&self, context: &str) -> u16 {
        let path = format!("/apis/{context}/v1/x");
        self.app.send(http::Method::GET, &path, &[], "").await.status
    }

    fn at(&self, context: &str) -> Option<Arc<Router<ApiClient>>> {
        self.app.front_door.live().router_of(&format!("/apis/{context}/v1/x"))
    }
}

fn is_same(one: Option<&Arc<Router<ApiClient>>>, other: Option<&Arc<Router<ApiClient>>>) -> bool {
    one.zip(other).is_some_and(|(one, other)| Arc::ptr_eq(one, other))
}

#[tokio::test]
async fn what_comes_changes_moves_and_goes_is_served_so_and_the_rest_stays_as_it_is() {
    for app in TestApp::empty_on_each_store().await {
        let nodes = Nodes::on(app).await;
        nodes.apply(published(&[("a", "a", None), ("b", "b", None), ("c", "c", None)], "/x")).await;
        let before = ["a", "b", "c"].map(|context| nodes.at(context));
        assert!(before.iter().all(Option::is_some), "{}", nodes.app);

        // One moves, one goes, and one comes to where another was.
        nodes.apply(published(&[("a", "a", None), ("b", "m", None), ("d", "b", None)], "/x")).await;

        assert!(is_same(before[0].as_ref(), nodes.at("a").as_ref()), "{}", nodes.app);
        assert!(nodes.at("m").is_some() && nodes.at("c").is_none(), "{}", nodes.app);
        assert!(nodes.at("b").is_some(), "{}", nodes.app);
        assert!(!is_same(before[1].as_ref(), nodes.at("b").as_ref()), "{}", nodes.app);
        nodes.apply(Published::default()).await;
        assert!(nodes.app.front_door.live().is_empty(), "{}", nodes.app);
    }
}

#[tokio::test]
async fn a_document_that_changes_changes_all_who_name_it_and_nobody_else() {
    let all =
        [("a", "a", Some("d")), ("b", "b", Some("d")), ("c", "c", Some("e")), ("x", "x", None)];
    for app in TestApp::empty_on_each_store().await {
        let nodes = Nodes::on(app).await;
        nodes.apply(published(&all, "/old")).await;
        let before = all.map(|(_, context, _)| nodes.at(context));

        let new = Box::new(published(&all[..2], "/new"));
        nodes.there.manage(ApisRequest::Apply { new, prune: false }).await.unwrap();
        nodes.here.follow().await.unwrap();

        let stayed = all.iter().zip(&before);
        let stayed =
            stayed.map(|((_, c, _), before)| is_same(before.as_ref(), nodes.at(c).as_ref()));
        assert_eq!(stayed.collect::<Vec<_>>(), [false, false, true, true], "{}", nodes.app);
        let documents = nodes.here.published().await.unwrap().documents;
        assert!(
            documents["d"].contains("/new") && documents["e"].contains("/old"),
            "{documents:?}"
        );
    }
}

async fn run(store: &Store, text: &'static str, arguments: Vec<Value>) {
    let decide = move |_: Vec<Answer>| -> Decision<(), ()> {
        Decision::Write(vec![Write::Part(Sql::new(text, arguments.clone()))], ())
    };
    store.run(Plan { ask: vec![], decide }).await.unwrap();
}

/// Stores an API of the next version that cannot be read.
async fn damage(store: &Store) {
    let version = Sql::new("SELECT version FROM published_state WHERE id = 1", vec![]);
    let version = store.query(version).await.unwrap()[0][0].as_integer().unwrap();
    let row = "INSERT INTO published_item (kind, name, place, version, definition) \
               VALUES (?1, ?2, 0, ?3, ?4)";
    run(store, row, vec!["api".into(), "damaged".into(), (version + 1).into(), "{".into()]).await;
}

async fn mend(store: &Store) {
    run(store, "DELETE FROM published_item WHERE name = ?1", vec!["damaged".into()]).await;
}

#[tokio::test]
async fn a_change_that_is_stored_is_told_as_made_and_served_once_it_can_be_read() {
    for app in TestApp::empty_on_each_store().await {
        let nodes = Nodes::on(app).await;
        let store = &nodes.app.data.store;
        let new = Box::new(published(&[("a", "a", None)], "/x"));
        let to = Subscription { apis: vec!["a".into()], ..Subscription::default() };

        damage(store).await;
        let applied = nodes.here.manage(ApisRequest::Apply { new, prune: false }).await;
        let early = nodes.at("a").is_some();
        mend(store).await;
        nodes.here.follow().await.unwrap();
        let served = nodes.at("a").is_some();
        damage(store).await;
        let subscribed = nodes.here.subscribe("k", &to).await;
        mend(store).await;

        assert!(applied.is_ok(), "{}: {applied:?}", nodes.app);
        assert_eq!((early, served), (false, true), "{}", nodes.app);
        assert!(subscribed.is_ok(), "{}: {subscribed:?}", nodes.app);
        assert_eq!(nodes.here.subscription("k").as_deref(), Some(&to), "{}", nodes.app);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_does_not_answer_keeps_nobody_waiting() {
    for app in TestApp::empty_on_each_store().await {
        let nodes = Arc::new(Nodes::on(app).await);
        let folder = Folder::new();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "first").unwrap();
        let mut new = published(&[("a", "a", None)], "/x");
        let header = ("x-secret".to_owned(), format!("file:{}", secret.display()));
        new.definition.apis[0].request_headers.set = [header].into();
        nodes.apply(new).await;
        let before = nodes.at("a");

        // Whoever reads it waits for somebody who writes.
        std::fs::remove_file(&secret).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(&secret).status();
        assert!(pipe.unwrap().success());
        let following = Arc::clone(&nodes);
        let following = tokio::spawn(async move { following.here.follow().await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let read = timeout(Duration::from_secs(5), nodes.here.published()).await;
        let followed = timeout(Duration::from_secs(5), following).await;
        let stayed = is_same(before.as_ref(), nodes.at("a").as_ref());
        drop(std::fs::File::options().read(true).write(true).open(&secret).unwrap());
        std::fs::remove_file(&secret).unwrap();
        std::fs::write(&secret, "second").unwrap();

        assert!(read.is_ok() && followed.is_ok() && stayed, "{}", nodes.app);
        for _ in 0..50 {
            nodes.here.follow().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!is_same(before.as_ref(), nodes.at("a").as_ref()), "{}", nodes.app);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_of_what_another_node_publishes_keeps_nobody_waiting_either() {
    for app in TestApp::empty_on_each_store().await {
        let nodes = Nodes::on(app).await;
        let folder = Folder::new();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "first").unwrap();
        let mut new = published(&[("a", "a", None), ("b", "b", None)], "/x");
        let header = ("x-secret".to_owned(), format!("file:{}", secret.display()));
        new.definition.apis[0].request_headers.set = [header].into();
        for api in &mut new.definition.apis {
            (api.upstream, api.part) = (vec![], Some("metadata".into()));
            api.security = Security::None;
        }
        nodes.there.apply(new).await.unwrap();
        // Where this node looks, whoever reads the file waits for somebody who writes.
        std::fs::remove_file(&secret).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&secret).status().unwrap().success());

        let followed = timeout(Duration::from_secs(5), nodes.here.follow()).await;
        let read = timeout(Duration::from_secs(5), nodes.here.published()).await;
        let answers = [nodes.answer("a").await, nodes.answer("b").await];
        drop(std::fs::File::options().read(true).write(true).open(&secret).unwrap());
        std::fs::remove_file(&secret).unwrap();
        std::fs::write(&secret, "second").unwrap();

        assert!(followed.is_ok() && read.is_ok(), "{}", nodes.app);
        assert_eq!(answers, [503, 404], "{}: the part has nothing there", nodes.app);
        for _ in 0..50 {
            nodes.here.follow().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(nodes.answer("a").await, 404, "{}", nodes.app);
    }
}
