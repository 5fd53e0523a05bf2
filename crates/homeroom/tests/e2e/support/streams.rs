//! HTTP/2 connections with many open streams that never end, in a thread of their own.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};

/// The request of each stream of [`Streams`].
#[derive(Clone)]
pub struct Stream {
    /// The method of its request.
    pub method: Method,
    /// The path of its request; `{}` is the number of the stream, counted over all connections.
    pub path: String,
    /// The bearer token that is sent, if any.
    pub token: Option<String>,
    /// The declared length of its body, if it declares one.
    pub length: Option<usize>,
    /// The first bytes of a body that never ends; [`None`] for a request without a body.
    pub body: Option<Vec<u8>>,
}

/// Open streams, which end when the value is dropped.
pub struct Streams {
    /// The number of streams that were opened.
    pub begun: usize,
    /// The statuses of answers as they arrive.
    pub statuses: Receiver<StatusCode>,
    _end: tokio::sync::oneshot::Sender<()>,
}

impl Streams {
    /// Opens connections, and on each as many streams as the server allows, at most `streams`.
    /// Reads no byte of an answer's body.
    pub fn open(to: SocketAddr, connections: usize, streams: usize, stream: &Stream) -> Self {
        let (end, ended) = tokio::sync::oneshot::channel();
        let (told, begun) = channel();
        let (status, statuses) = channel();
        let stream = stream.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let mut all = vec![];
                for _ in 0..connections {
                    connection(to, streams, &stream, &mut all, &status).await;
                }
                told.send(all.len()).unwrap();
                _ = ended.await;
            });
        });
        Self { begun: begun.recv().unwrap(), statuses, _end: end }
    }
}

type Body = h2::SendStream<Bytes>;

async fn connection(
    to: SocketAddr,
    streams: usize,
    stream: &Stream,
    all: &mut Vec<(Body, h2::client::SendRequest<Bytes>)>,
    status: &Sender<StatusCode>,
) {
    let tcp = tokio::net::TcpStream::connect(to).await.unwrap();
    let mut builder = h2::client::Builder::new();
    let built = builder.initial_window_size(0).initial_max_send_streams(1).handshake(tcp).await;
    let (mut sender, connection) = built.unwrap();
    tokio::spawn(connection);
    for _ in 0..streams {
        // If the server accepts no more streams, no further ones are tried.
        let Ok(Ok(ready)) = tokio::time::timeout(Duration::from_millis(300), sender.ready()).await
        else {
            return;
        };
        sender = ready;
        let path = stream.path.replace("{}", &all.len().to_string());
        let mut request = Request::builder()
            .method(stream.method.clone())
            .uri(format!("http://{to}{path}"))
            .header("content-type", "application/json");
        if let Some(token) = &stream.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(length) = stream.length {
            request = request.header("content-length", length);
        }
        let ends = stream.body.is_none();
        let Ok((answer, mut body)) = sender.send_request(request.body(()).unwrap(), ends) else {
            return;
        };
        if let Some(bytes) = &stream.body {
            _ = body.send_data(Bytes::from(bytes.clone()), false);
        }
        let status = status.clone();
        tokio::spawn(async move {
            if let Ok(answer) = answer.await {
                _ = status.send(answer.status());
                // The answer's body is kept open and never read.
                std::future::pending::<()>().await;
            }
        });
        all.push((body, sender.clone()));
    }
}
