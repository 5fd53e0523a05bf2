//! Servers that do as a test says, and clients of them.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use homeroom_client::{Client, Error, Request, Settings, Url};
use hyper::body::{Body, Frame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The time limit where nothing should be late.
pub const LONG: Duration = Duration::from_secs(30);
/// The time limit of a phase that stalls.
pub const SHORT: Duration = Duration::from_millis(100);

/// A server whose connections are handled by a function.
pub struct Server {
    pub address: SocketAddr,
    accepted: Arc<AtomicUsize>,
}

impl Server {
    /// Serves each connection with a function, which also gets the number of earlier connections.
    pub async fn start<F, D>(handle: F) -> Self
    where
        F: Fn(usize, TcpStream) -> D + Send + Sync + 'static,
        D: Future<Output = ()> + Send + 'static,
    {
        Self::start_at("127.0.0.1:0", handle).await
    }

    /// Serves connections to an address.
    pub async fn start_at<F, D>(address: &str, handle: F) -> Self
    where
        F: Fn(usize, TcpStream) -> D + Send + Sync + 'static,
        D: Future<Output = ()> + Send + 'static,
    {
        Self::start_on(TcpListener::bind(address).await.unwrap(), handle)
    }

    /// Serves the connections of a listener.
    pub fn start_on<F, D>(listener: TcpListener, handle: F) -> Self
    where
        F: Fn(usize, TcpStream) -> D + Send + Sync + 'static,
        D: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(handle(count.fetch_add(1, Ordering::SeqCst), stream));
            }
        });
        Self { address, accepted }
    }

    /// Answers the requests of all connections by a function of their number and their text.
    pub async fn answering<F>(answer: F) -> Self
    where
        F: Fn(usize, &str) -> String + Send + Sync + 'static,
    {
        let answer = Arc::new(answer);
        let number = Arc::new(AtomicUsize::new(0));
        Self::start(move |_, mut stream| {
            let (answer, number) = (Arc::clone(&answer), Arc::clone(&number));
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    let text = answer(number.fetch_add(1, Ordering::SeqCst), &request);
                    if text.is_empty() || stream.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }

    /// Returns how many connections were accepted.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// Returns a GET request of the root.
    pub fn get(&self) -> Request {
        Request::get(self.url("/"))
    }
}

/// Reads a request with a body whose length is declared; `None` if the connection ends.
pub async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        text.push(char::from(stream.read_u8().await.ok()?));
    }
    let length = text.to_ascii_lowercase();
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some(text + &String::from_utf8_lossy(&body))
}

/// Returns an answer as text.
pub fn answer(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

/// Returns the settings for servers of this machine, with long time limits.
pub fn settings() -> Settings {
    Settings::trusted(LONG)
}

/// Returns a client with changed settings.
pub fn client(change: impl FnOnce(&mut Settings)) -> Client {
    let mut settings = settings();
    change(&mut settings);
    Client::new(settings).unwrap()
}

/// Sends a request. Returns the status and body of its answer.
pub async fn send(client: &Client, request: Request) -> Result<(u16, String), Error> {
    let answer = client.send(request).await?.whole(1 << 20).await?;
    Ok((answer.status.as_u16(), String::from_utf8(answer.body.to_vec()).unwrap()))
}

/// A body whose parts come from a channel.
pub struct Channel(mpsc::Receiver<Result<Bytes, std::io::Error>>);

/// Returns a body, and the end of a channel that it takes its parts from.
pub fn channel() -> (mpsc::Sender<Result<Bytes, std::io::Error>>, Channel) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, Channel(receiver))
}

/// Sends parts of a body until nobody takes them any more.
pub async fn endless(sender: mpsc::Sender<Result<Bytes, std::io::Error>>) {
    let part = Bytes::from(vec![b'a'; 64 << 10]);
    while sender.send(Ok(part.clone())).await.is_ok() {}
}

impl Body for Channel {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| part.map(Frame::data)))
    }
}
