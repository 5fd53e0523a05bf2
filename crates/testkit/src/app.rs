//! The data API in this process, called as the network would call it; every request passes through
//! the front door.

mod stored;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use homeroom_access::{Access, AccessConfig, Author, Explain, Manage, ManageError};
use homeroom_apis::Apis;
use homeroom_blobs::{BlobPlace, Blobs, Limits as BlobLimits};
use homeroom_bulk_api::BulkService;
use homeroom_data::metadata::{self, Metadata};
use homeroom_data::{Composites, DataApi};
use homeroom_document::Catalog;
use homeroom_gateway::{FrontDoor, Limits, Metrics};
use homeroom_http::{RequestBody, Timestamp};
use homeroom_jobs::{Jobs, Limits as JobLimits};
use homeroom_model::{Model, shipped_seed};
use homeroom_store::{Options, Store, StoreUrl};
use http::{HeaderName, HeaderValue, Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::folder::Folder;
use crate::standard::{STANDARDS, Standard, USUAL};
use crate::trial;

/// The claim set that grants everything on every resource.
pub const FULL_ACCESS: &str = "FullAccess";

/// A Homeroom server without sockets; clones share the same server.
#[derive(Clone)]
pub struct TestApp {
    /// Name of the kind of store in messages.
    store: Arc<str>,
    /// The standard that it serves.
    pub standard: Standard,
    /// Its data API.
    pub data: DataApi,
    /// Its registry of keys and claim sets.
    pub access: Arc<Access>,
    /// The front door, through which every request goes.
    pub front_door: Arc<FrontDoor>,
    /// The composites that it serves.
    pub composites: Arc<Composites>,
    /// What clients upload to be loaded; its jobs are done by whoever starts a runner.
    pub bulk: BulkService,
    _folder: Arc<Folder>,
}

impl fmt::Display for TestApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standard { version, extensions } = self.standard;
        write!(f, "{} {version} {}", self.store, extensions.join(" "))
    }
}

impl TestApp {
    /// Makes an app with a new store on each available kind of store.
    pub async fn on_each_store() -> Vec<Self> {
        Self::serving(USUAL).await
    }

    /// Makes such apps without any descriptor, where no document is sent.
    pub async fn empty_on_each_store() -> Vec<Self> {
        let mut apps = vec![];
        for (name, store) in trial::on_each(&[]).unwrap() {
            apps.push(Self::on(&name, USUAL, store).await);
        }
        apps
    }

    /// Makes such apps for each of [`STANDARDS`].
    pub async fn on_each_standard() -> Vec<Self> {
        let mut apps = vec![];
        for standard in STANDARDS {
            apps.extend(Self::serving(standard).await);
        }
        apps
    }

    /// Makes an app for a standard on each available kind of store.
    pub async fn serving(standard: Standard) -> Vec<Self> {
        let mut apps = vec![];
        for (name, store) in trial::on_each(&[]).unwrap() {
            let app = Self::on(&name, standard, store).await;
            app.seed(shipped_seed(standard.version).unwrap()).await;
            apps.push(app);
        }
        apps
    }

    /// Makes an app on a store as it is.
    pub async fn on(name: &str, standard: Standard, store: Store) -> Self {
        let (model, now) = (standard.model(), Timestamp::now());
        let catalog = Arc::new(Catalog::bind(Arc::clone(&model), &store).unwrap());
        let data = DataApi::new(Arc::clone(&catalog), store.clone());
        let access = Access::open(store, Arc::clone(&model), AccessConfig::default(), now);
        let access = access.await.unwrap();
        Self::of(name.into(), standard, data, access)
    }

    fn of(store: Arc<str>, standard: Standard, data: DataApi, access: Arc<Access>) -> Self {
        let composites = Arc::new(Composites::compile(&data.catalog.model, &[]).unwrap());
        Self::with(store, standard, data, access, composites)
    }

    /// The same one, with composites of files beside the shipped ones.
    #[must_use]
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
        let metadata =
            Metadata::new(model).with_composites(Arc::clone(&composites)).with_others(&[
                homeroom_admin::OPENAPI,
                homeroom_apis::OPENAPI,
                homeroom_bulk_api::OPENAPI,
            ]);
        let folder = Arc::new(Folder::new());
        let place = BlobPlace::folder(&folder.path().join("blobs"));
        let blobs = Blobs::new(place, data.store.clone(), BlobLimits::default());
        let jobs = Jobs::new(data.store.clone(), JobLimits::default());
        let spool = folder.path().join("spool");
        let bulk = BulkService::new(&access, data.documents(), blobs, jobs, &spool);
        let mut routes = metadata::routes(&metadata);
        routes.extend(homeroom_access::routes(&access));
        routes.extend(homeroom_admin::routes(&access));
        let apis = Arc::new(Apis::new(data.store.clone()));
        routes.extend(homeroom_apis::routes(&apis, &access));
        routes.extend(homeroom_bulk_api::routes(&bulk));
        routes.extend(homeroom_data::routes(&data, &access));
        routes.extend(homeroom_data::composites::routes(&data, &access, &composites));
        let metrics = Arc::new(Metrics::new("0.0.0"));
        let door = FrontDoor::new(routes, Arc::clone(&access), metrics, Limits::default()).unwrap();
        let front_door = Arc::new(door);
        Self { store, standard, data, access, front_door, composites, bulk, _folder: folder }
    }

    /// Explains what a key may do, as `homeroom keys explain` does.
    pub async fn explain(&self, asked: Explain) -> Result<serde_json::Value, ManageError> {
        let (asked, now) = (Manage::Explain(asked), Timestamp::now());
        homeroom_data::manage(&self.data, &self.access, asked, Author::default(), now).await
    }

    /// Makes another node on the same store. It reads the current keys and claim sets now, and
    /// later changes only when it checks for them.
    pub async fn another_node(&self) -> Self {
        let (store, model) = (self.data.store.clone(), Arc::clone(&self.data.catalog.model));
        let data = match store.url() {
            // Only one process can open the file, so its nodes share the store.
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

    /// Returns the same app with another time limit for lists of deletions.
    #[must_use]
    pub fn hurried(&self, list_deadline: Duration) -> Self {
        let data = DataApi { list_deadline, ..self.data.clone() };
        Self::of(Arc::clone(&self.store), self.standard, data, Arc::clone(&self.access))
    }

    /// Returns its model.
    pub fn model(&self) -> &Model {
        &self.data.catalog.model
    }

    /// Number of resources in its model.
    pub fn resources(&self) -> usize {
        self.model().resources.len()
    }

    /// Makes a client with a new key for a claim set.
    pub async fn client(&self, claim_set: &str) -> Client {
        self.client_within(claim_set, &[]).await
    }

    /// Makes a client with a new key for a claim set and namespace prefixes.
    pub async fn client_within(&self, claim_set: &str, prefixes: &[&str]) -> Client {
        self.client_with(asked(claim_set, prefixes, &[])).await
    }

    /// Makes a client with a new key for a claim set and education organizations.
    pub async fn client_of(&self, claim_set: &str, organizations: &[i64]) -> Client {
        self.client_with(asked(claim_set, &[], organizations)).await
    }

    /// Makes a client with a new key.
    pub async fn client_with(&self, asked: Manage) -> Client {
        let (key, secret) = self.make_key(asked).await;
        self.client_of_key(&json!({"key": key, "secret": secret})).await
    }

    /// Makes a client from the `key` and `secret` in an object.
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

    /// Makes a new key for a claim set and namespace prefixes; returns it with its secret.
    pub async fn key(&self, claim_set: &str, prefixes: &[&str]) -> (String, String) {
        self.make_key(asked(claim_set, prefixes, &[])).await
    }

    /// Makes a key as the command does, for scopes and perhaps with a claim set; returns it with its
    /// secret.
    pub async fn key_for(&self, claim_set: Option<&str>, scopes: &[&str]) -> (String, String) {
        self.make_key(Manage::CreateKey {
            claim_set: claim_set.map(String::from),
            name: Some("by command".into()),
            scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
            education_organizations: vec![1, 2],
            namespace_prefixes: vec!["uri://command".into()],
            ownership_tokens: vec![],
            creator_token: None,
        })
        .await
    }

    /// Requests a token at a path with a form, to which `more` is appended.
    pub async fn ask_token(&self, path: &str, key: &str, secret: &str, more: &str) -> Answer {
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let body =
            format!("grant_type=client_credentials&client_id={key}&client_secret={secret}{more}");
        self.send(Method::POST, path, &form, body).await
    }

    async fn make_key(&self, asked: Manage) -> (String, String) {
        let made = self.access.manage(asked, Timestamp::now()).await.unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("key"), text("secret"))
    }

    /// Returns the path below the server's root, from a resource's path or a URL.
    fn whole_path(&self, path: &str) -> String {
        let path = path.strip_prefix("http://homeroom.test").unwrap_or(path);
        let first = path.split('/').nth(1).unwrap_or_default();
        let is_schema = self.model().projects.iter().any(|project| project.schema == first);
        if is_schema { format!("/data/v3{path}") } else { path.to_owned() }
    }

    /// Sends a request unchanged.
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
        // As on the network: a body of unknown length is counted as a large one.
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

/// A client with a token.
#[derive(Clone)]
pub struct Client {
    /// The app that it calls.
    pub app: TestApp,
    /// Its key.
    pub key: String,
    /// Its `Authorization` header.
    pub authorization: String,
}

impl Client {
    /// Sends a GET to `/ed-fi/…`, or to any other path or URL of the server.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    /// Sends a POST with JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[], body.to_string()).await
    }

    /// Sends a PUT with JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &[], body.to_string()).await
    }

    /// Sends a DELETE.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], "").await
    }

    /// Sends a request with the token and, if there is a body and no other content type is given,
    /// the content type of JSON.
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

    /// Creates a document that must not exist yet; returns its path, `/ed-fi/…/ID`.
    pub async fn create(&self, path: &str, body: &Value) -> String {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{path} {body}: {answer:?}");
        answer.location()
    }

    /// Returns the ids in a list.
    pub async fn ids(&self, path: &str) -> Vec<String> {
        self.get(path).await.ids()
    }

    /// Returns the newest change version.
    pub async fn newest(&self) -> i64 {
        let answer = self.get("/changeQueries/v1/availableChangeVersions").await;
        answer.json()["newestChangeVersion"].as_i64().unwrap()
    }
}

/// Percent-encodes a query parameter's value or a path's segment.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
