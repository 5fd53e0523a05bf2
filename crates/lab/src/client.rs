//! A small client for what a run needs besides its load: a token, an exporter's text. One request,
//! one connection, within limits of time and size.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::engine::Target;

/// The longest answer.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most header lines of an answer.
const HEADERS_MAX: usize = 128;

/// Whom a request goes to, and how long it may take.
#[derive(Debug, Clone)]
pub struct Caller {
    /// To whom.
    pub target: Target,
    /// How TLS trusts, where the target asks for it.
    pub tls: Option<Arc<ClientConfig>>,
    /// The longest that a request takes, all together.
    pub timeout: Duration,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

impl Caller {
    /// Sends a request; `head` are further header lines, each with CR LF.
    ///
    /// HTTP/1.0, since then the answer ends with the connection and is in one piece.
    ///
    /// # Errors
    ///
    /// Why there is no whole answer.
    pub fn send(&self, method: &str, path: &str, head: &str, body: &[u8]) -> io::Result<Reply> {
        let until = Instant::now() + self.timeout;
        let mut request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\n{head}Content-Length: {}\r\n\r\n",
            self.target.authority(),
            body.len(),
        )
        .into_bytes();
        request.extend_from_slice(body);
        let stream = self.connect(until)?;
        let Some(tls) = &self.tls else { return exchange(stream, &request) };
        let name = ServerName::try_from(self.target.name().to_owned()).map_err(io::Error::other)?;
        let mut config = ClientConfig::clone(tls);
        // Whatever the run speaks, this is HTTP/1.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        exchange(StreamOwned::new(session, stream), &request)
    }

    /// Connects and sends nothing.
    ///
    /// # Errors
    ///
    /// Nothing listens there.
    pub fn reach(&self) -> io::Result<()> {
        self.connect(Instant::now() + self.timeout).map(|_| ())
    }

    fn connect(&self, until: Instant) -> io::Result<Bounded> {
        let addresses = self.target.resolve().map_err(io::Error::other)?;
        let mut last = io::Error::other("its name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, left(until)?) {
                Ok(stream) => return Ok(Bounded { stream, until }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// What went wrong, in words.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not answer in time".into(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        _ => error.to_string(),
    }
}

/// A connection that is over at a moment, however much comes.
struct Bounded {
    stream: TcpStream,
    until: Instant,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        self.stream.read(into)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Reply> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut answer = vec![];
    let mut piece = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(many) => answer.extend_from_slice(&piece[..many]),
            // Not every server says good-bye before it closes a connection with TLS.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        if answer.len() > BYTES_MAX {
            return Err(io::Error::other(format!("its answer is longer than {BYTES_MAX} bytes")));
        }
    }
    parse(&answer)
}

fn parse(answer: &[u8]) -> io::Result<Reply> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(at)) = head.parse(answer) else {
        return Err(io::Error::other("its answer is no HTTP"));
    };
    let body = &answer[at..];
    let length = head.headers.iter().find(|of| of.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|of| std::str::from_utf8(of.value).ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| body.len() < length) {
        return Err(io::Error::other("its answer ends in the middle"));
    }
    Ok(Reply { status: head.code.unwrap_or(0), body: body.to_vec() })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn answered(answer: &'static [u8]) -> io::Result<Reply> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let mut many = 0;
            while !request[..many].ends_with(b"hello") {
                many += stream.read(&mut request[many..]).unwrap();
            }
            stream.write_all(answer).unwrap();
            String::from_utf8_lossy(&request[..many]).into_owned()
        });
        let target = Target::parse(&url).unwrap();
        let caller = Caller { target, tls: None, timeout: Duration::from_secs(20) };
        let reply = caller.send("POST", "/x?y=z", "A: b\r\n", b"hello");
        let request = server.join().unwrap();
        assert!(request.starts_with("POST /x?y=z HTTP/1.0\r\nHost: 127.0.0.1:"), "{request}");
        assert!(request.ends_with("A: b\r\nContent-Length: 5\r\n\r\nhello"), "{request}");
        reply
    }

    #[test]
    fn an_answer_is_its_status_and_what_comes_after_the_head() {
        let reply =
            answered(b"HTTP/1.0 201 Created\r\nContent-Type: text/plain\r\n\r\na 1\n").unwrap();

        assert_eq!(reply, Reply { status: 201, body: b"a 1\n".to_vec() });
    }

    #[test]
    fn what_is_no_whole_answer_is_an_error() {
        let short = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap_err();

        assert_eq!(words(&short), "its answer ends in the middle");
        assert_eq!(words(&answered(b"hello").unwrap_err()), "its answer is no HTTP");
    }
}
