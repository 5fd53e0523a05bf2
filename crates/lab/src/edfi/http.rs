//! A small client for the set-up: one connection, one request at a time.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::api::{Access, Api, ApiError, Ask, Reply};

/// Longest wait for a connection, and for each part of an answer.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The greatest answer: the description of a large model has 10 MB.
const BODY_MAX: u64 = 64 << 20;
/// The longest line of an answer's head.
const LINE_MAX: u64 = 32 << 10;
/// The most lines of it.
const LINES_MAX: usize = 200;

/// A client of one target.
pub struct Client {
    access: Access,
    host: String,
    /// Host and port, as the header `Host` has them.
    authority: String,
    port: u16,
    tls: Option<Arc<ClientConfig>>,
    open: Option<BufReader<Wire>>,
}

enum Wire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Client {
    /// A client of the target with this address, such as `https://ods.example.org/v7.3`. It
    /// connects with its first request.
    ///
    /// # Errors
    ///
    /// If the address is none.
    pub fn new(url: &str, key: &str, secret: &str) -> Result<Self, ApiError> {
        let wrong = |why: &str| ApiError::Address { url: url.to_owned(), why: why.to_owned() };
        let (rest, is_tls) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
            _ => return Err(wrong("it begins neither with http:// nor with https://")),
        };
        let (authority, root) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let root = root.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| wrong("its port is no number"))?)
            }
            _ => (authority, if is_tls { 443 } else { 80 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || authority.contains(|c: char| c == '@' || c <= ' ') {
            return Err(wrong("it names no host"));
        }
        Ok(Self {
            access: Access { root: root.into(), key: key.into(), secret: secret.into() },
            host: host.to_owned(),
            authority: authority.to_owned(),
            port,
            tls: is_tls.then(trusting_the_system),
            open: None,
        })
    }

    /// The same, trusting as this says instead of as the system does.
    #[must_use]
    pub fn trusting(mut self, config: &ClientConfig) -> Self {
        let mut config = config.clone();
        // Whatever the run speaks, this is HTTP/1.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        self.tls = self.tls.map(|_| Arc::new(config));
        self
    }

    fn connect(&self) -> std::io::Result<BufReader<Wire>> {
        let mut last = std::io::Error::other("the name has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => return self.wire(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn wire(&self, stream: TcpStream) -> std::io::Result<BufReader<Wire>> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let Some(tls) = &self.tls else { return Ok(BufReader::new(Wire::Plain(stream))) };
        let name = ServerName::try_from(self.host.clone()).map_err(std::io::Error::other)?;
        let session = ClientConnection::new(tls.clone(), name).map_err(std::io::Error::other)?;
        Ok(BufReader::new(Wire::Tls(Box::new(StreamOwned::new(session, stream)))))
    }

    fn head(&self, ask: &Ask<'_>) -> String {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n",
            ask.method, ask.path, self.authority
        );
        let lines = [("Authorization", ask.authorization), ("Content-Type", ask.content_type)];
        for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
            _ = write!(head, "{name}: {value}\r\n");
        }
        if !matches!(ask.method, "GET" | "DELETE") {
            _ = write!(head, "Content-Length: {}\r\n", ask.body.len());
        }
        head + "\r\n"
    }

    fn exchange(&mut self, ask: &Ask<'_>) -> std::io::Result<Reply> {
        let mut wire = match self.open.take() {
            Some(wire) => wire,
            None => self.connect()?,
        };
        let mut bytes = self.head(ask).into_bytes();
        bytes.extend_from_slice(ask.body);
        wire.get_mut().write_all(&bytes)?;
        wire.get_mut().flush()?;
        let (reply, stays_open) = read_reply(&mut wire)?;
        self.open = stays_open.then_some(wire);
        Ok(reply)
    }
}

impl Api for Client {
    fn access(&self) -> &Access {
        &self.access
    }

    fn send(&mut self, ask: &Ask<'_>) -> Result<Reply, ApiError> {
        if ask.path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            let why = "is of no use: it names a path with blanks".into();
            return Err(ApiError::Strange { path: ask.path.to_owned(), why });
        }
        // A connection that was open may have been closed meanwhile; all requests here may be sent
        // twice.
        let was_open = self.open.is_some();
        let mut reply = self.exchange(ask);
        if reply.is_err() && was_open {
            self.open = None;
            reply = self.exchange(ask);
        }
        reply.map_err(|error| ApiError::Unanswered {
            method: ask.method.to_owned(),
            path: ask.path.to_owned(),
            why: error.to_string(),
        })
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

fn trusting_the_system() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

/// Reads an answer, and whether the connection can take another request.
fn read_reply(from: &mut impl BufRead) -> std::io::Result<(Reply, bool)> {
    loop {
        let (reply, length, stays_open) = read_head(from)?;
        if reply.status < 200 {
            continue;
        }
        return read_body(from, reply, length, stays_open);
    }
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Bytes(u64),
    Chunks,
    Closed,
}

fn read_head(from: &mut impl BufRead) -> std::io::Result<(Reply, Length, bool)> {
    let status_line = read_line(from)?;
    let mut words = status_line.split(' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or_else(|| std::io::Error::other("what came is no HTTP"))?;
    let mut reply = Reply { status, ..Reply::default() };
    let has_no_body = status < 200 || status == 204 || status == 304;
    let mut length = if has_no_body { Length::Bytes(0) } else { Length::Closed };
    let mut stays_open = version == "HTTP/1.1";
    for _ in 0..LINES_MAX {
        let line = read_line(from)?;
        if line.is_empty() {
            return Ok((reply, length, stays_open && length != Length::Closed));
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "location" => reply.location = Some(value.to_owned()),
            "retry-after" => reply.retry_after_s = value.parse().ok(),
            "connection" if value.eq_ignore_ascii_case("close") => stays_open = false,
            "content-length" if length == Length::Closed => {
                let bytes = value.parse().map_err(std::io::Error::other)?;
                length = Length::Bytes(bytes);
            }
            "transfer-encoding"
                if !has_no_body && value.to_ascii_lowercase().ends_with("chunked") =>
            {
                length = Length::Chunks;
            }
            _ => {}
        }
    }
    Err(std::io::Error::other("the head of the answer has too many lines"))
}

fn read_body(
    from: &mut impl BufRead,
    mut reply: Reply,
    length: Length,
    stays_open: bool,
) -> std::io::Result<(Reply, bool)> {
    match length {
        Length::Bytes(bytes) => append(from, bytes, &mut reply.body)?,
        Length::Closed => {
            from.take(BODY_MAX + 1).read_to_end(&mut reply.body)?;
            append(from, 0, &mut reply.body)?;
        }
        Length::Chunks => loop {
            let line = read_line(from)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(std::io::Error::other)?;
            if size == 0 {
                while !read_line(from)?.is_empty() {}
                break;
            }
            append(from, size, &mut reply.body)?;
            read_line(from)?;
        },
    }
    Ok((reply, stays_open))
}

/// Reads so many bytes more, all of them.
fn append(from: &mut impl BufRead, bytes: u64, body: &mut Vec<u8>) -> std::io::Result<()> {
    if body.len() as u64 + bytes > BODY_MAX {
        return Err(std::io::Error::other(format!("the answer has more than {BODY_MAX} bytes")));
    }
    let read = from.take(bytes).read_to_end(body)?;
    let is_whole = read as u64 == bytes;
    is_whole.then_some(()).ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}

fn read_line(from: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = vec![];
    from.take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(bytes: &str) -> std::io::Result<(Reply, bool)> {
        read_reply(&mut bytes.as_bytes())
    }

    #[test]
    fn a_body_ends_by_length_by_chunks_or_by_the_end() {
        let by_length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP";
        let by_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        let by_end = "HTTP/1.1 200 OK\r\n\r\nabc";

        let found = [by_length, by_chunks, by_end].map(|bytes| reply(bytes).unwrap());

        let bodies = found.each_ref().map(|(reply, _)| reply.body.as_slice());
        assert_eq!(bodies, [b"abc", b"abc", b"abc"]);
        assert_eq!(found.map(|(_, stays_open)| stays_open), [true, true, false]);
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error() {
        let cut =
            ["HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"];

        for bytes in cut {
            assert!(reply(bytes).is_err(), "{bytes}");
        }
    }

    #[test]
    fn an_answer_to_a_create_tells_the_id() {
        let head = "HTTP/1.1 201 Created\r\nlocation: https://x/data/v3/ed-fi/schools/12ab\r\n";

        let (reply, stays_open) = reply(&format!("{head}content-length: 0\r\n\r\n")).unwrap();

        assert_eq!(reply.id().as_deref(), Some("12ab"));
        assert!(stays_open);
    }

    #[test]
    fn an_address_is_taken_apart_or_refused() {
        let client = Client::new("https://[::1]:8443/WebApi/v7.3/", "k", "s").unwrap();

        assert_eq!((client.host.as_str(), client.port), ("::1", 8443));
        assert_eq!(client.access.root, "/WebApi/v7.3");
        for wrong in ["ods.example.org", "ftp://x", "http://", "http://x:port/", "http://u@x/"] {
            assert!(Client::new(wrong, "k", "s").is_err(), "{wrong}");
        }
    }
}
