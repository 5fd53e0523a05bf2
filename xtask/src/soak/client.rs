//! A client with one kept connection, and bare connections for those that misbehave.

use std::io::{Error, Result};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use homeroom_client::{BlockingClient, Method, Request, Settings, Url, WholeAnswer};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer in bytes.
const BODY_MAX: usize = 256 << 20;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The path in `Location`, if there was one.
    pub location: Option<String>,
    /// The `Total-Count` header, if there was one.
    pub total: Option<u64>,
    /// The token of the page that follows in a list, if there is one.
    pub next: Option<String>,
    /// The response body.
    pub body: Vec<u8>,
}

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    /// Keeps the connection; none before the first request.
    kept: Option<BlockingClient>,
    /// The bearer token, if any.
    pub token: Option<String>,
}

impl Client {
    /// Returns a client without a token.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, kept: None, token: None }
    }

    /// Returns a request as text.
    pub fn request(&self, method: &str, path: &str, body: Option<&str>) -> String {
        let token = self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n"));
        let length = body.map(|body| {
            format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
        });
        format!(
            "{method} {path} HTTP/1.1\r\nhost: soak\r\n{}{}\r\n{}",
            token.unwrap_or_default(),
            length.unwrap_or_default(),
            body.unwrap_or_default()
        )
    }

    /// Opens a separate connection, for bytes that no client would send.
    pub fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Drops the kept connection, so that the next request opens a new one.
    pub fn leave(&mut self) {
        self.kept = None;
    }

    /// Requests a token without sending the present one, on the same connection.
    pub fn ask_for_token(&mut self, request: &str) -> Result<Answer> {
        let token = self.token.take();
        let answer = self.send("POST", "/oauth/token", Some(request));
        self.token = token;
        answer
    }

    /// Sends a request and reads its answer.
    pub fn send(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<Answer> {
        let token = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers: Vec<(&str, &str)> = vec![];
        headers.extend(token.as_deref().map(|token| ("authorization", token)));
        headers.extend(body.map(|_| ("content-type", "application/json")));
        let request = request(self.address, method, path, &headers, body.unwrap_or_default());
        let client = match self.kept.take() {
            Some(client) => client,
            None => client()?,
        };
        let answer = request.and_then(|request| client.send(request, BODY_MAX).map_err(said));
        self.kept = Some(client);
        let answer = answer?;
        let location = answer.header("location").and_then(|url| url.splitn(4, '/').nth(3));
        Ok(Answer {
            status: answer.status.as_u16(),
            location: location.map(|path| format!("/{path}")),
            total: answer.header("total-count").and_then(|value| value.parse().ok()),
            next: answer.header("next-page-token").map(str::to_owned),
            body: answer.body.into(),
        })
    }
}

/// Sends one request on a connection of its own.
///
/// # Errors
///
/// Why there is no complete answer.
pub fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<WholeAnswer> {
    client()?.send(request(address, method, path, headers, body)?, BODY_MAX).map_err(said)
}

fn client() -> Result<BlockingClient> {
    BlockingClient::new(Settings::trusted(PATIENCE)).map_err(said)
}

fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Request> {
    let url = Url::parse(&format!("http://{address}{path}")).map_err(Error::other)?;
    let method = Method::from_bytes(method.as_bytes()).map_err(Error::other)?;
    let mut request = Request::new(method, url).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(name, value).map_err(said)?;
    }
    Ok(request)
}

fn said(error: homeroom_client::Error) -> Error {
    Error::other(error.with_causes())
}
