//! The data API in this process, called as the network would call it: nothing bypasses the front
//! door.
#![allow(dead_code, unused_imports, reason = "each test file uses its part of it")]

pub mod answer;
pub mod document;
pub mod documents;
pub mod failures;
pub mod filled;
pub mod samples;
pub mod spellings;
pub mod world;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use homeroom_access::{Access, AccessConfig, Manage};
use homeroom_data::metadata::{self, Metadata};
use homeroom_data::{Catalog, Composites, DataApi, audit};
use homeroom_gateway::{FrontDoor, Limits, Metrics};
use homeroom_http::{RequestBody, Timestamp};
use homeroom_model::{Model, format, link, shipped, shipped_extension, shipped_seed};
use homeroom_store::{
    Decision, Options, Plan, Snapshot, SnapshotOptions, Sql, Store, StoreUrl, Write, trial,
};
use http::{HeaderName, HeaderValue, Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

pub use answer::Answer;

/// The claim set that grants everything on every resource.
pub const FULL_ACCESS: &str = "FullAccess";

/// What an app serves: a version of the standard and extensions of it, all shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Standard {
    pub version: &'static str,
    pub extensions: &'static [&'static str],
}

/// The standard that is served where nobody says.
pub const USUAL: Standard = Standard { version: "5.2.0", extensions: &[] };

/// The standards that the laws about all resources are tried on; the last has all that the usual one
/// has, and more.
pub const STANDARDS: [Standard; 2] = [
    Standard { version: "4.0.0", extensions: &[] },
    Standard { version: "5.2.0", extensions: &["tpdm", "sample", "homograph"] },
];

/// Models that were linked: the tests of one file share them.
static LINKED: Mutex<Vec<(Standard, Arc<Model>)>> = Mutex::new(vec![]);

impl Standard {
    /// Its model.
    pub fn model(&self) -> Arc<Model> {
        let mut linked = LINKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = linked.iter().find(|(standard, _)| standard == self) {
            return Arc::clone(model);
        }
        let core = [shipped(self.version)].into_iter();
        let extensions = self.extensions.iter().map(|name| shipped_extension(name, self.version));
        let sources: Vec<_> = core
            .chain(extensions)
            .map(|text| format::read(text.expect("the model is shipped")).unwrap())
            .collect();
        let model = Arc::new(link(&sources).unwrap());
        linked.push((*self, Arc::clone(&model)));
        model
    }
}

/// A Homeroom without sockets; clones are the same one.
#[derive(Clone)]
pub struct TestApp {
    /// Name of the kind of store, for messages.
    store: Arc<str>,
    pub standard: Standard,
    pub data: DataApi,
    pub access: Arc<Access>,
    pub front_door: Arc<FrontDoor>,
    pub composites: Arc<Composites>,
}

impl fmt::Display for TestApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standard { version, extensions } = self.standard;
        write!(f, "{} {version} {}", self.store, extensions.join(" "))
    }
}

/// The shipped model.
pub fn model() -> Arc<Model> {
    USUAL.model()
}

impl TestApp {
    /// An app with a new store on each kind of store that there is here.
    pub async fn on_each_store() -> Vec<Self> {
        Self::serving(USUAL).await
    }

    /// The same for each of [`STANDARDS`].
    pub async fn on_each_standard() -> Vec<Self> {
        let mut apps = vec![];
        for standard in STANDARDS {
            apps.extend(Self::serving(standard).await);
        }
        apps
    }

    /// An app of a standard on each kind of store that there is here.
    pub async fn serving(standard: Standard) -> Vec<Self> {
        let mut apps = vec![];
        for (name, store) in trial::on_each(&[]).unwrap() {
            apps.push(Self::on(&name, standard, store).await);
        }
        apps
    }

    async fn on(name: &str, standard: Standard, store: Store) -> Self {
        let (model, now) = (standard.model(), Timestamp::now());
        let catalog = Arc::new(Catalog::bind(Arc::clone(&model), &store).unwrap());
        let data = DataApi::new(Arc::clone(&catalog), store.clone());
        seed(&data, shipped_seed(standard.version).unwrap()).await;
        let access = Access::open(store, Arc::clone(&model), AccessConfig::default(), now);
        let access = access.await.unwrap();
        access.set_education_organizations(Arc::new(data.clone()));
        access.set_documents(Arc::new(data.clone()));
        Self::of(name.into(), standard, data, access)
    }

    fn of(store: Arc<str>, standard: Standard, data: DataApi, access: Arc<Access>) -> Self {
        let composites = Arc::new(Composites::compile(&data.catalog.model, &[]).unwrap());
        Self::with(store, standard, data, access, composites)
    }

    /// The same one, with composites of files beside the shipped ones.
    pub fn with_composites(&self, files: &[(String, String)]) -> Self {
        let composites = Arc::new(Composites::compile(self.model(), files).unwrap());
        let (data, access) = (self.data.clone(), Arc::clone(&self.access));
        Self::with(Arc::clone(&self.store), self.standard, data, access, composites)
    }

    fn with(
        store: Arc<str>,
        standard: Standard,
        data: DataApi,
        access: Arc<Access>,
        composites: Arc<Composites>,
    ) -> Self {
        let model = Arc::clone(&data.catalog.model);
        let metadata = Metadata::new(model).with_composites(Arc::clone(&composites));
        let mut routes = metadata::routes(&metadata);
        routes.extend(homeroom_access::routes(&access));
        routes.extend(homeroom_admin::routes(&access));
        routes.extend(homeroom_data::routes(&data, &access));
        routes.extend(homeroom_data::composites::routes(&data, &access, &composites));
        let metrics = Arc::new(Metrics::new("0.0.0"));
        let door = FrontDoor::new(routes, Arc::clone(&access), metrics, Limits::default()).unwrap();
        Self { store, standard, data, access, front_door: Arc::new(door), composites }
    }

    /// Another node on the same store, which knows of keys and claim sets what there is now, and what
    /// changes from now on only when it looks.
    pub async fn another_node(&self) -> Self {
        let (store, model) = (self.data.store.clone(), Arc::clone(&self.data.catalog.model));
        let data = match store.url() {
            // A file has one process: its nodes share the store.
            StoreUrl::Sqlite(_) => self.data.clone(),
            url @ StoreUrl::Postgres(_) => {
                let store = Store::open(&Options::new(url.clone())).unwrap();
                let catalog = Catalog::bind(Arc::clone(&model), &store).unwrap();
                DataApi::new(Arc::new(catalog), store)
            }
        };
        let config = AccessConfig::default();
        let access = Access::open(data.store.clone(), model, config, Timestamp::now()).await;
        Self::of(Arc::clone(&self.store), self.standard, data, access.unwrap())
    }

    /// The same one, with another time for lists of deletions.
    pub fn hurried(&self, list_deadline: Duration) -> Self {
        let data = DataApi { list_deadline, ..self.data.clone() };
        Self::of(Arc::clone(&self.store), self.standard, data, Arc::clone(&self.access))
    }

    /// Puts JSON lines of `resource` and `document` into the store at once.
    pub async fn seed(&self, lines: &str) {
        seed(&self.data, lines).await;
    }

    pub fn model(&self) -> &Model {
        &self.data.catalog.model
    }

    /// What is wrong with what is derived from the store's documents, in its tables and beside their
    /// texts.
    pub fn wrongly_derived(&self) -> Vec<String> {
        let (url, model) = (self.data.store.url().clone(), Arc::clone(&self.data.catalog.model));
        // A snapshot waits for its reads, which a thread of a runtime may not.
        let looking = std::thread::spawn(move || {
            let mut problems = Store::check(&url).unwrap().problems;
            let snapshot = Snapshot::open(&url, &SnapshotOptions::default()).unwrap();
            let found = audit(&model, &snapshot, &mut |_| {}).unwrap();
            assert_eq!(found.left_out, [""; 0]);
            problems.extend(found.problems);
            problems.extend(found.misfits);
            problems
        });
        looking.join().unwrap()
    }

    /// Changes rows as no part of Homeroom would.
    pub async fn damage(&self, text: &'static str, arguments: Vec<homeroom_store::Value>) {
        let mut writes = Some(vec![Write::Sql(Sql::new(text, arguments))]);
        let plan = Plan {
            ask: vec![],
            decide: move |_: Vec<homeroom_store::Answer>| -> Decision<(), String> {
                Decision::Write(writes.take().unwrap_or_default(), ())
            },
        };
        self.data.store.run(plan).await.map(|_| ()).unwrap();
    }

    /// How many resources its model has.
    pub fn resources(&self) -> usize {
        self.model().resources.len()
    }

    /// A client with a new key of a claim set.
    pub async fn client(&self, claim_set: &str) -> Client {
        self.client_within(claim_set, &[]).await
    }

    /// A client with a new key of a claim set and namespace prefixes.
    pub async fn client_within(&self, claim_set: &str, prefixes: &[&str]) -> Client {
        self.client_with(asked(claim_set, prefixes, &[])).await
    }

    /// A client with a new key of a claim set and education organizations.
    pub async fn client_of(&self, claim_set: &str, organizations: &[i64]) -> Client {
        self.client_with(asked(claim_set, &[], organizations)).await
    }

    /// A client with a new key.
    pub async fn client_with(&self, asked: Manage) -> Client {
        let (key, secret) = self.make_key(asked).await;
        self.client_of_key(&json!({"key": key, "secret": secret})).await
    }

    /// A client of the `key` and `secret` of an object.
    pub async fn client_of_key(&self, made: &Value) -> Client {
        let body = json!({
            "grant_type": "client_credentials",
            "client_id": made["key"],
            "client_secret": made["secret"],
        });
        let headers = [("content-type", "application/json")];
        let answer = self.send(Method::POST, "/oauth/token", &headers, body.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let token = answer.json()["access_token"].as_str().unwrap().to_owned();
        let key = made["key"].as_str().unwrap().to_owned();
        Client { app: self.clone(), key, authorization: format!("Bearer {token}") }
    }

    /// A new key of a claim set and namespace prefixes, and its secret.
    pub async fn key(&self, claim_set: &str, prefixes: &[&str]) -> (String, String) {
        self.make_key(asked(claim_set, prefixes, &[])).await
    }

    async fn make_key(&self, asked: Manage) -> (String, String) {
        let made = self.access.manage(asked, Timestamp::now()).await.unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("key"), text("secret"))
    }

    /// The path below the server's root of a resource's path or a URL.
    fn whole_path(&self, path: &str) -> String {
        let path = path.strip_prefix("http://homeroom.test").unwrap_or(path);
        let first = path.split('/').nth(1).unwrap_or_default();
        let is_schema = self.model().projects.iter().any(|project| project.schema == first);
        if is_schema { format!("/data/v3{path}") } else { path.to_owned() }
    }

    /// Sends a request as it stands.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path).body(()).unwrap();
        request.headers_mut().insert("host", HeaderValue::from_static("homeroom.test"));
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            if name == "host" {
                request.headers_mut().insert(name, value);
            } else {
                request.headers_mut().append(name, value);
            }
        }
        let body = body.into();
        // As the network would: a body whose length nobody tells takes the room of a large one.
        let headers = request.headers_mut();
        if !body.is_empty() && !headers.contains_key("transfer-encoding") {
            headers.entry("content-length").or_insert(body.len().into());
        }
        let (head, ()) = request.into_parts();
        Answer::read(self.front_door.answer(head, RequestBody::Bytes(body)).await).await
    }
}

fn asked(claim_set: &str, prefixes: &[&str], organizations: &[i64]) -> Manage {
    Manage::CreateKey {
        claim_set: Some(claim_set.into()),
        name: Some("a test".into()),
        scopes: vec![],
        education_organizations: organizations.to_vec(),
        namespace_prefixes: prefixes.iter().map(|prefix| (*prefix).into()).collect(),
        ownership_tokens: vec![],
        creator_token: None,
    }
}

async fn seed(data: &DataApi, lines: &str) {
    let (data, lines) = (data.clone(), lines.to_owned());
    let seeded = tokio::task::spawn_blocking(move || {
        homeroom_data::seed(&data.catalog, &data.store, &lines, Timestamp::now())
    });
    seeded.await.unwrap().unwrap();
}

/// A caller with a token.
#[derive(Clone)]
pub struct Client {
    pub app: TestApp,
    pub key: String,
    /// Its `Authorization` header.
    pub authorization: String,
}

impl Client {
    /// GET of `/ed-fi/…`, or of any other path or URL of the server.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[], body.to_string()).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &[], body.to_string()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], "").await
    }

    /// Sends with the token and, where there is a body and no other is given, the content type of
    /// JSON.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let body = body.into();
        let mut all = vec![("authorization", self.authorization.as_str())];
        if !body.is_empty() && headers.iter().all(|(name, _)| *name != "content-type") {
            all.push(("content-type", "application/json"));
        }
        all.extend_from_slice(headers);
        self.app.send(method, &self.app.whole_path(path), &all, body).await
    }

    /// Creates a document that must not be there yet; gives the path of it, `/ed-fi/…/ID`.
    pub async fn create(&self, path: &str, body: &Value) -> String {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{path} {body}: {answer:?}");
        answer.location()
    }

    /// The ids that a list gives.
    pub async fn ids(&self, path: &str) -> Vec<String> {
        self.get(path).await.ids()
    }

    /// The newest change version.
    pub async fn newest(&self) -> i64 {
        let answer = self.get("/changeQueries/v1/availableChangeVersions").await;
        answer.json()["newestChangeVersion"].as_i64().unwrap()
    }
}

/// Percent-encodes a query parameter's value or a path's segment.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
