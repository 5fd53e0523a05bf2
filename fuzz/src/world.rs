//! A Homeroom without sockets, made once a process: a small district in a store of its own.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use homeroom_access::{Access, AccessConfig, Manage};
use homeroom_data::DataApi;
use homeroom_district::{DistrictPlan, documents};
use homeroom_document::Catalog;
use homeroom_gateway::{FrontDoor, Limits, Metrics};
use homeroom_http::{RequestBody, Timestamp};
use homeroom_model::{Model, format, link, shipped};
use homeroom_store::{ChangedAt, Store};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// School years and the like, which a new store holds.
const SEED: &str = include_str!("../../models/ed-fi/5.2.0/seed.jsonl");

/// How long a token is used.
const RENEWED: Duration = Duration::from_mins(10);

/// Students of the district.
const STUDENTS: usize = 2;

/// The state that all targets share.
pub struct World {
    /// Catalog and store.
    pub data: DataApi,
    /// Keys and tokens.
    pub access: Arc<Access>,
    /// Key and secret of a client that may do everything.
    key: Value,
    /// Its token, and when it was issued.
    token: Mutex<Option<(Instant, String)>>,
    door: FrontDoor,
    runtime: Runtime,
}

static WORLD: LazyLock<World> = LazyLock::new(World::new);

impl World {
    /// The one world.
    pub fn get() -> &'static Self {
        &WORLD
    }

    /// The district that the store holds, and that the seeds of the corpus are made from.
    pub fn district() -> DistrictPlan {
        DistrictPlan::new(STUDENTS, 1, 2026).expect("a small district can be planned")
    }

    /// The shipped model.
    pub fn model(&self) -> &Model {
        &self.data.catalog.model
    }

    fn new() -> Self {
        let runtime = Runtime::new().expect("threads can be had");
        let now = Timestamp::now();
        let text = shipped("5.2.0").expect("the model is shipped");
        let model = Arc::new(link(&[format::read(text).unwrap()]).unwrap());
        let store = Store::temporary(&[]).unwrap();
        let catalog = Catalog::bind(Arc::clone(&model), &store).unwrap();
        let data = DataApi::new(Arc::new(catalog), store.clone());
        homeroom_document::seed(&data.catalog, &data.store, SEED, ChangedAt(now.0)).unwrap();
        let all = documents(&Self::district()).map(|one| (one.resource, one.json));
        let loaded = homeroom_bulk::load_documents(&data.documents(), all).unwrap();
        assert_eq!(loaded.rejected, 0, "the district is loaded whole");
        let config = AccessConfig::default();
        let access =
            runtime.block_on(Access::open(store, Arc::clone(&model), config, now)).unwrap();
        let mut routes = homeroom_access::routes(&access);
        routes.extend(homeroom_data::routes(&data, &access));
        let metrics = Arc::new(Metrics::new("0.0.0"));
        let door = FrontDoor::new(routes, Arc::clone(&access), metrics, Limits::default()).unwrap();
        let asked = Manage::CreateKey {
            claim_set: Some("FullAccess".into()),
            name: Some("fuzz".into()),
            scopes: vec![],
            education_organizations: vec![],
            namespace_prefixes: vec![],
            ownership_tokens: vec![],
            creator_token: None,
        };
        let key = runtime.block_on(access.manage(asked, now)).unwrap();
        Self { data, access, key, token: Mutex::default(), door, runtime }
    }

    /// `Bearer TOKEN` of a client that may do everything: a run may last longer than a token.
    pub fn authorization(&self) -> String {
        let mut token = self.token.lock().unwrap();
        if let Some((got, token)) = &*token
            && got.elapsed() < RENEWED
        {
            return token.clone();
        }
        let body = json!({
            "grant_type": "client_credentials",
            "client_id": self.key["key"],
            "client_secret": self.key["secret"],
        });
        let uri = Uri::from_static("/oauth/token");
        let (status, body) = self.exchange(Method::POST, uri, body.to_string(), "");
        assert_eq!(status, 200);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let new = format!("Bearer {}", answer["access_token"].as_str().unwrap());
        *token = Some((Instant::now(), new.clone()));
        new
    }

    /// Sends a request through the front door, with a token.
    pub fn send(&self, method: Method, uri: Uri, body: impl Into<Bytes>) -> (StatusCode, Bytes) {
        self.exchange(method, uri, body, &self.authorization())
    }

    fn exchange(
        &self,
        method: Method,
        uri: Uri,
        body: impl Into<Bytes>,
        authorization: &str,
    ) -> (StatusCode, Bytes) {
        let mut request = Request::builder().method(method).uri(uri).header("host", "fuzz");
        request = request.header("content-type", "application/json");
        if !authorization.is_empty() {
            request = request.header("authorization", authorization);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let body = RequestBody::Bytes(body.into());
        let (head, body) = self.runtime.block_on(self.door.answer(head, body)).into_parts();
        let body = self.runtime.block_on(body.collect()).unwrap().to_bytes();
        (head.status, body)
    }
}
