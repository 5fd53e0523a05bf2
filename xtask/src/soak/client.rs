//! A small HTTP client with one kept connection.

use std::io::{BufRead as _, BufReader, Error, Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The path in `Location`, if there was one.
    pub location: Option<String>,
    /// The `Total-Count` header, if there was one.
    pub total: Option<u64>,
    /// The response body.
    pub body: Vec<u8>,
}

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
    /// The bearer token, if any.
    pub token: Option<String>,
}

impl Client {
    /// Returns a client without a token.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, connection: None, token: None }
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

    /// Opens a separate connection.
    pub fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Drops the kept connection, so that the next request opens a new one.
    pub fn leave(&mut self) {
        self.connection = None;
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
        let request = self.request(method, path, body);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => BufReader::new(self.connect()?),
        };
        connection.get_mut().write_all(request.as_bytes())?;
        let (answer, is_kept) = read(&mut connection)?;
        self.connection = is_kept.then_some(connection);
        Ok(answer)
    }
}

/// Reads an answer. Also returns whether the connection can be kept.
fn read(from: &mut BufReader<TcpStream>) -> Result<(Answer, bool)> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Error::other(format!("no status line: {line:?}")))?;
    let mut answer = Answer { status, location: None, total: None, body: vec![] };
    let (mut length, mut is_kept) = (0, true);
    loop {
        line.clear();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(Error::other)?,
            "connection" => is_kept = value != "close",
            "total-count" => answer.total = value.parse().ok(),
            "location" => {
                answer.location = value.splitn(4, '/').nth(3).map(|path| format!("/{path}"));
            }
            _ => {}
        }
    }
    if status != 204 && status != 304 {
        answer.body.resize(length, 0);
        from.read_exact(&mut answer.body)?;
    }
    Ok((answer, is_kept))
}
