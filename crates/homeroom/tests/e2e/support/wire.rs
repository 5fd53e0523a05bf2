//! A bare connection that sends bytes and reads answers.

use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::Value;

use super::PATIENCE;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header lines, with the names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the value of a header, if present.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns the path in `Location`, which may be relative.
    pub fn location(&self) -> String {
        let location = self.header("location").unwrap_or_else(|| panic!("{self:?}"));
        if location.starts_with('/') {
            return location.to_owned();
        }
        location.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap()
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A connection.
pub struct Wire(BufReader<TcpStream>);

impl Wire {
    /// Opens a connection.
    pub fn open(address: SocketAddr) -> Self {
        Self::try_open(address).unwrap()
    }

    /// Opens a connection, or returns why it cannot.
    pub fn try_open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).unwrap();
    }

    /// Sends bytes; returns an error if the server no longer accepts them.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.0.get_mut().write_all(bytes.as_ref())
    }

    /// Closes the sending side.
    pub fn finish(&mut self) {
        self.0.get_mut().shutdown(Shutdown::Write).unwrap();
    }

    /// Reads an answer to any method but HEAD.
    pub fn answer(&mut self) -> Answer {
        self.try_answer(false).unwrap()
    }

    /// Reads an answer; an answer to HEAD has no body.
    pub fn try_answer(&mut self, is_head: bool) -> Result<Answer> {
        let first = self.line()?;
        let status: u16 = first
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| first.strip_prefix("HTTP/1.0 "))
            .and_then(|rest| rest.get(..3)?.parse().ok())
            .ok_or_else(|| std::io::Error::other(format!("no status line: {first:?}")))?;
        let mut headers = vec![];
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: vec![] };
        if status == 100 {
            return self.try_answer(is_head);
        }
        assert_eq!(answer.header("transfer-encoding"), None, "answers have a known length");
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        if !is_head && status != 204 && status != 304 {
            answer.body.resize(length, 0);
            self.0.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// Fills the buffer.
    pub fn read_exactly(&mut self, bytes: &mut [u8]) {
        self.0.read_exact(bytes).unwrap();
    }

    /// Reads so many bytes; [`None`] if the connection ends before. A server that neither sends nor closes
    /// fails the test.
    pub fn try_exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        match self.0.read_exact(&mut bytes) {
            Ok(()) => Some(bytes),
            Err(error) if is_end(&error) => None,
            Err(error) => panic!("the other side neither sends nor closes: {error}"),
        }
    }

    /// Reads until the server closes the connection, and returns what was read. A broken connection
    /// counts as closed.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = vec![];
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(error) if is_end(&error) => rest,
            Err(error) => panic!("the other side does not close: {error}"),
        }
    }

    /// Returns whether the server has closed this connection, on which no answer is due.
    pub fn is_closed(&self) -> bool {
        let stream = self.0.get_ref();
        stream.set_nonblocking(true).unwrap();
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        match peeked {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Returns whether there are unread bytes.
    pub fn has_answer(&self) -> bool {
        let stream = self.0.get_ref();
        stream.set_nonblocking(true).unwrap();
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        matches!(peeked, Ok(1))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// Returns whether an error of reading means that the connection has ended.
fn is_end(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}
