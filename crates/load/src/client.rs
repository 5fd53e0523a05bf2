//! A small HTTP client for requests beside the load: a token, an exporter's text, the documents of
//! a set-up. It sends one request at a time, within limits of time and size.

mod reply;

use std::fmt::Write as _;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::engine::Target;
pub use reply::Reply;

/// The server of a request, and how long a request may take.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The server to call.
    pub target: Target,
    /// The TLS configuration, where the target uses TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// The longest time that a request may take in total.
    pub timeout: Duration,
}

/// A client whose connection stays open between requests.
pub struct Kept {
    caller: Caller,
    open: Option<Line>,
}

impl Caller {
    /// Sends a request on a connection of its own; `head` contains further header lines, each with
    /// CR LF.
    ///
    /// # Errors
    ///
    /// Why there is no complete answer.
    pub fn send(&self, method: &str, path: &str, head: &str, body: &[u8]) -> io::Result<Reply> {
        let head = format!("Connection: close\r\n{head}");
        let request = self.request(method, path, &head, body);
        let mut line = self.open(Instant::now() + self.timeout)?;
        line.exchange(&request).map(|(reply, _)| reply)
    }

    /// Returns a client that keeps its connection; it connects at its first request.
    pub fn keep(self) -> Kept {
        Kept { caller: self, open: None }
    }

    /// Connects without sending anything.
    ///
    /// # Errors
    ///
    /// If nothing listens there.
    pub fn reach(&self) -> io::Result<()> {
        self.connect(Instant::now() + self.timeout).map(|_| ())
    }

    fn request(&self, method: &str, path: &str, head: &str, body: &[u8]) -> Vec<u8> {
        let authority = self.target.authority();
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\n{head}");
        if !body.is_empty() || !matches!(method, "GET" | "DELETE") {
            _ = write!(request, "Content-Length: {}\r\n", body.len());
        }
        request += "\r\n";
        let mut request = request.into_bytes();
        request.extend_from_slice(body);
        request
    }

    fn open(&self, until: Instant) -> io::Result<Line> {
        let stream = self.connect(until)?;
        let Some(tls) = &self.tls else { return Ok(Line::Plain(BufReader::new(stream))) };
        let name = ServerName::try_from(self.target.name().to_owned()).map_err(io::Error::other)?;
        let mut config = ClientConfig::clone(tls);
        // Whatever protocol the run uses, this client uses HTTP/1.1.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
        Ok(Line::Tls(BufReader::new(Box::new(StreamOwned::new(session, stream)))))
    }

    fn connect(&self, until: Instant) -> io::Result<Bounded> {
        let addresses = self.target.resolve().map_err(io::Error::other)?;
        let mut last = io::Error::other("its name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, left(until)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Bounded { stream, until });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Kept {
    /// Returns the caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Sends a request, and repeats it if the open connection may have been closed in the meantime.
    /// So it is only for requests that may arrive twice. `head` is as in [`Caller::send`].
    ///
    /// # Errors
    ///
    /// Why there is no complete answer.
    pub fn send(&mut self, method: &str, path: &str, head: &str, body: &[u8]) -> io::Result<Reply> {
        let request = self.caller.request(method, path, head, body);
        let was_open = self.open.is_some();
        match self.exchange(&request) {
            Err(_) if was_open => self.exchange(&request),
            done => done,
        }
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<Reply> {
        let until = Instant::now() + self.caller.timeout;
        let mut line = match self.open.take() {
            Some(mut line) => {
                line.socket().until = until;
                line
            }
            None => self.caller.open(until)?,
        };
        let (reply, stays_open) = line.exchange(request)?;
        self.open = stays_open.then_some(line);
        Ok(reply)
    }
}

/// Describes what went wrong.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not answer in time".into(),
        io::ErrorKind::ConnectionRefused => "nothing listens there".into(),
        io::ErrorKind::UnexpectedEof => "its answer ends in the middle".into(),
        _ => error.to_string(),
    }
}

/// A connection, with or without TLS.
enum Line {
    Plain(BufReader<Bounded>),
    Tls(BufReader<Box<StreamOwned<ClientConnection, Bounded>>>),
}

impl Line {
    fn socket(&mut self) -> &mut Bounded {
        match self {
            Self::Plain(line) => line.get_mut(),
            Self::Tls(line) => line.get_mut().get_mut(),
        }
    }

    /// Sends a request. Returns its answer, and whether the connection can be used again.
    fn exchange(&mut self, request: &[u8]) -> io::Result<(Reply, bool)> {
        match self {
            Self::Plain(line) => exchange(line, request),
            Self::Tls(line) => exchange(line, request),
        }
    }
}

fn exchange<S: Read + Write>(line: &mut BufReader<S>, request: &[u8]) -> io::Result<(Reply, bool)> {
    line.get_mut().write_all(request)?;
    line.get_mut().flush()?;
    reply::read(line)
}

/// A connection with a deadline for each request, however much data arrives.
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn caller(listener: &TcpListener) -> Caller {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = Target::parse(&url).unwrap();
        Caller { target, tls: None, timeout: Duration::from_secs(20) }
    }

    fn read_request(stream: &mut TcpStream) -> String {
        let mut request = [0; 1024];
        let mut many = 0;
        while !request[..many].ends_with(b"hello") {
            many += stream.read(&mut request[many..]).unwrap();
        }
        String::from_utf8_lossy(&request[..many]).into_owned()
    }

    fn answered(answer: &'static [u8]) -> io::Result<Reply> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = caller(&listener);
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&mut stream);
            stream.write_all(answer).unwrap();
            request
        });
        let reply = caller.send("POST", "/x?y=z", "A: b\r\n", b"hello");
        let request = server.join().unwrap();
        assert!(request.starts_with("POST /x?y=z HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        assert!(request.contains("\r\nConnection: close\r\n"), "{request}");
        assert!(request.ends_with("A: b\r\nContent-Length: 5\r\n\r\nhello"), "{request}");
        reply
    }

    #[test]
    fn an_answer_is_its_status_and_what_comes_after_the_head() {
        let reply =
            answered(b"HTTP/1.0 201 Created\r\nContent-Type: text/plain\r\n\r\na 1\n").unwrap();

        assert_eq!((reply.status, &*reply.body), (201, &b"a 1\n"[..]));
    }

    #[test]
    fn what_is_no_whole_answer_is_an_error() {
        let short = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap_err();

        assert_eq!(words(&short), "its answer ends in the middle");
        assert_eq!(words(&answered(b"hello\n").unwrap_err()), "its answer is no HTTP");
    }

    #[test]
    fn a_kept_connection_serves_again_and_is_renewed_where_it_was_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut kept = caller(&listener).keep();
        let server = thread::spawn(move || {
            let mut served = vec![];
            for requests in [2, 1] {
                let (mut stream, _) = listener.accept().unwrap();
                for _ in 0..requests {
                    read_request(&mut stream);
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na").unwrap();
                }
                served.push(requests);
            }
            served
        });

        for _ in 0..3 {
            assert_eq!(kept.send("POST", "/", "", b"hello").unwrap().body, b"a");
        }

        assert_eq!(server.join().unwrap(), [2, 1]);
    }
}
