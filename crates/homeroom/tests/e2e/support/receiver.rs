//! A server that receives what is posted to it, serves files, and answers as a test wants.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::eventually;

/// A request that was received.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method and the path.
    pub line: String,
    headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Received {
    /// Returns the value of a header, whose name is in lower case.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// A server that receives what is posted to it.
pub struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    statuses: Arc<Mutex<VecDeque<u16>>>,
}

impl Receiver {
    /// Starts one that answers with these statuses, and then with 200 and this body.
    pub fn start(statuses: &[u16], body: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
            statuses: Arc::new(Mutex::new(statuses.iter().copied().collect())),
        };
        let (requests, statuses) = (Arc::clone(&receiver.received), Arc::clone(&receiver.statuses));
        let body = body.to_vec();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let Some(request) = read(&stream) else { continue };
                let status = statuses.lock().unwrap().pop_front().unwrap_or(200);
                requests.lock().unwrap().push(request);
                answer(stream, status, &body);
            }
        });
        receiver
    }

    /// Returns its URL with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all that it has received.
    pub fn all(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits for as many requests, and returns the last of them.
    pub fn nth(&self, count: usize) -> Received {
        eventually("something is posted", || self.all().len() >= count);
        self.all()[count - 1].clone()
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = vec![];
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = line.trim().strip_suffix(" HTTP/1.1")?.to_owned();
    Some(Received { line, headers, body: String::from_utf8(body).ok()? })
}

fn answer(mut stream: TcpStream, status: u16, body: &[u8]) {
    let body = if status == 200 { body } else { b"" };
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}
