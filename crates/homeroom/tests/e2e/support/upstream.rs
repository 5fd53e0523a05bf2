//! A server behind published APIs that reports exactly which bytes it has received, and answers with any.

use std::io::{BufRead, BufReader, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The request line and the header lines, each with its CRLF, and the empty line.
    pub head: String,
    /// The body, without the framing of chunks.
    pub body: Vec<u8>,
}

impl Seen {
    /// Returns method and target.
    pub fn line(&self) -> &str {
        self.head.split(" HTTP/").next().unwrap()
    }

    /// Returns the values of a header.
    pub fn values(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

/// What is sent to answer a request; the connection is closed behind [`Answered::Last`].
pub enum Answered {
    /// These bytes.
    With(Vec<u8>),
    /// These bytes, and nothing more.
    Last(Vec<u8>),
    /// These bytes again and again, until nobody takes them.
    Endless(Vec<u8>, Vec<u8>),
}

/// A server in threads of this process.
pub struct Upstream {
    /// Its address.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    /// Starts a server that answers each request with what it has received.
    pub fn echo() -> Self {
        Self::answering(|seen| {
            let body = [seen.head.as_bytes(), &seen.body].concat();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            Answered::With([head.as_bytes(), &body].concat())
        })
    }

    /// Starts a server with answers of any kind.
    pub fn answering(answer: impl Fn(&Seen) -> Answered + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, answer) = (Arc::default(), Arc::new(answer));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(&stream, &seen, &*answer));
            }
        });
        Self { address, seen }
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests that have arrived whole since it was asked the last time.
    pub fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn serve(stream: &TcpStream, seen: &Mutex<Vec<Seen>>, answer: &dyn Fn(&Seen) -> Answered) {
    let mut reader = BufReader::new(stream);
    while let Ok(request) = read(&mut reader) {
        seen.lock().unwrap().push(request.clone());
        let mut out = stream;
        let sent = match answer(&request) {
            Answered::With(bytes) => out.write_all(&bytes),
            Answered::Last(bytes) => {
                _ = out.write_all(&bytes);
                return;
            }
            Answered::Endless(first, again) => {
                let again = again.repeat(1 + 16_384 / again.len());
                let mut sent = out.write_all(&first);
                while sent.is_ok() {
                    sent = out.write_all(&again);
                }
                sent
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Reads a request strictly: any doubt about its end ends the connection.
fn read(reader: &mut impl BufRead) -> Result<Seen> {
    let wrong = |what: &str| std::io::Error::other(what.to_owned());
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head)? == 0 {
            return Err(wrong("it ends"));
        }
    }
    let head: String = head.into_iter().map(char::from).collect();
    let values = |name: &str| -> Vec<String> {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let lines = lines.filter(|(n, _)| n.eq_ignore_ascii_case(name));
        lines.map(|(_, value)| value.trim().to_owned()).collect()
    };
    let mut body = vec![];
    match (&values("content-length")[..], &values("transfer-encoding")[..]) {
        ([], []) => {}
        ([length], []) => {
            body.resize(length.parse().map_err(|_| wrong("a length"))?, 0);
            reader.read_exact(&mut body)?;
        }
        ([], [coding]) if coding == "chunked" => loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = line.strip_suffix("\r\n").ok_or_else(|| wrong("a chunk's line"))?;
            let size = usize::from_str_radix(size, 16).map_err(|_| wrong("a chunk's size"))?;
            let begin = body.len();
            body.resize(begin + size, 0);
            reader.read_exact(&mut body[begin..])?;
            let mut end = [0; 2];
            reader.read_exact(&mut end)?;
            if end != *b"\r\n" {
                return Err(wrong("a chunk's end"));
            }
            if size == 0 {
                break;
            }
        },
        _ => panic!("a request with a doubtful end was passed on: {head}"),
    }
    Ok(Seen { head, body })
}
