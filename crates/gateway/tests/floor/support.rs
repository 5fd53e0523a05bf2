//! A server with the part, and clients of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use homeroom_access::ApiClient;
use homeroom_client::{Client, Request, Settings, Trust, Url, Versions, WholeAnswer};
use homeroom_gateway::{FrontDoor, Limits, Listener, Metrics, Times, Tls};
use homeroom_http::{Route, Site};
use homeroom_testkit::{FULL_ACCESS, TestApp};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::part::{self, Seen};

/// The time limit where nothing should be late.
pub const LONG: Duration = Duration::from_mins(1);

/// A server with the part, until it is dropped.
pub struct Server {
    pub app: TestApp,
    pub door: Arc<FrontDoor>,
    pub seen: Arc<Seen>,
    pub address: SocketAddr,
    /// The address of content.
    pub content: SocketAddr,
    pub metrics: Arc<Metrics>,
    stop: Option<watch::Sender<()>>,
    serving: Vec<JoinHandle<()>>,
}

/// A key and its secret.
pub struct Credentials {
    pub key: String,
    pub secret: String,
    /// A token for it, as an `Authorization` header has it.
    pub bearer: String,
}

impl Server {
    /// Starts a server on an empty store of the first kind.
    pub async fn start() -> Self {
        Self::start_with(|door| door, None).await
    }

    /// Starts such a server with other settings.
    pub async fn start_with(set: impl Fn(FrontDoor) -> FrontDoor, tls: Option<Tls>) -> Self {
        let app = TestApp::empty_on_each_store().await.swap_remove(0);
        Self::on(app, set, tls)
    }

    /// Starts a server on each kind of store.
    pub async fn on_each_store() -> Vec<Self> {
        let apps = TestApp::empty_on_each_store().await;
        apps.into_iter().map(|app| Self::on(app, |door| door, None)).collect()
    }

    /// Starts a server for an app.
    pub fn on(app: TestApp, set: impl Fn(FrontDoor) -> FrontDoor, tls: Option<Tls>) -> Self {
        Self::within(app, Limits::default(), set, tls)
    }

    /// Starts a server for an app that has these routes, too.
    pub fn offering(app: TestApp, more: Vec<Route<ApiClient>>) -> Self {
        Self::with_all(app, more, Limits::default(), |door| door, None)
    }

    /// Starts a server for an app within other limits.
    pub fn within(
        app: TestApp,
        limits: Limits,
        set: impl Fn(FrontDoor) -> FrontDoor,
        tls: Option<Tls>,
    ) -> Self {
        Self::with_all(app, vec![], limits, set, tls)
    }

    fn with_all(
        app: TestApp,
        more: Vec<Route<ApiClient>>,
        limits: Limits,
        set: impl Fn(FrontDoor) -> FrontDoor,
        tls: Option<Tls>,
    ) -> Self {
        let seen = Arc::new(Seen::default());
        let metrics = Arc::new(Metrics::new("0.0.0"));
        let mut routes = homeroom_access::routes(&app.access);
        routes.extend(part::routes(&seen, &app.access));
        routes.extend(more);
        let door = FrontDoor::new(routes, Arc::clone(&app.access), Arc::clone(&metrics), limits);
        let door = Arc::new(set(door.unwrap()));
        let bound = || Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (mut listener, content) = (bound(), bound().of(Site::Content));
        if let Some(tls) = tls {
            listener = listener.with_tls(tls);
        }
        let addresses = (listener.address(), content.address());
        let (stop, stopped) = watch::channel(());
        let times = Times { header: LONG, drain: LONG };
        let serve = |listener: Listener| {
            let mut stopped = stopped.clone();
            let stopped = async move { _ = stopped.changed().await };
            tokio::spawn(listener.serve(Arc::clone(&door), stopped, times))
        };
        let serving = vec![serve(listener), serve(content)];
        let (address, content) = addresses;
        Self { app, door, seen, address, content, metrics, stop: Some(stop), serving }
    }

    /// Stops it, and waits until nothing is under way.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        for serving in &mut self.serving {
            serving.await.unwrap();
        }
    }

    /// Makes a key with every right.
    pub async fn key(&self) -> Credentials {
        let (key, secret) = self.app.key_for(Some(FULL_ACCESS), &["data"]).await;
        let bearer = self.bearer(&key, &secret).await;
        Credentials { key, secret, bearer }
    }

    /// Gets a token, as an `Authorization` header has it.
    pub async fn bearer(&self, key: &str, secret: &str) -> String {
        let form = format!("grant_type=client_credentials&client_id={key}&client_secret={secret}");
        let media = [("content-type", "application/x-www-form-urlencoded")];
        let answer = self.send(Method::POST, "/oauth/token", &media, &form).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        format!("Bearer {}", answer["access_token"].as_str().unwrap())
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// Returns a request with these headers.
    pub fn request(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Request {
        headers.iter().fold(Request::new(method, self.url(path)), |request, (name, value)| {
            request.header(name, value).unwrap()
        })
    }

    /// Sends a request over a connection of its own; returns its answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> WholeAnswer {
        let request = self.request(method, path, headers).body(body.to_owned());
        client().send(request).await.unwrap().whole(1 << 20).await.unwrap()
    }

    /// Sends bytes over a connection of its own, and returns the connection.
    pub async fn connect(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Returns a metric's value.
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.text();
        let line = text.lines().find(|line| line.starts_with(name));
        let value =
            line.and_then(|line| line.rsplit(' ').next()).unwrap_or_else(|| panic!("{text}"));
        value.parse().unwrap()
    }
}

/// A client that has no connection yet.
pub fn client() -> Client {
    Client::new(Settings::trusted(LONG)).unwrap()
}

/// A client that trusts a certificate, and speaks these versions.
pub fn tls_client(pem: &str, versions: Versions) -> Client {
    let trust = Trust::Bundle(pem.as_bytes().to_vec());
    Client::new(Settings { trust, versions, ..Settings::for_operator(LONG) }).unwrap()
}

/// Reads the head of an answer.
pub async fn head(stream: &mut TcpStream) -> String {
    let mut text = vec![];
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}
