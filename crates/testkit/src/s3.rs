//! An S3 server for tests: what the published API says of objects, ranges, lists, multipart uploads and
//! conditional puts, with signatures checked. What it has is in memory.
//!
//! It can be told to fail: to answer with a status, to break off an answer, to know no conditional put.
//!
//! Source: Amazon S3 API reference; Authenticating Requests (AWS Signature Version 4).

mod answers;
mod message;
mod objects;
mod signature;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use message::{ACCESS_KEY_ID, BUCKET, REGION, SECRET_ACCESS_KEY};

use message::{Answered, Asked};
use objects::Objects;

/// Most bytes of a line of a head, and of all its lines.
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Most bytes of a body.
const BODY_BYTES_MAX: usize = 64 << 20;

/// How the server fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It answers with this status.
    Status(u16),
    /// It closes the connection without an answer.
    Silence,
    /// It breaks off the body of an answer after so many bytes.
    CutAfter(usize),
}

/// A fault that requests of a method meet whose path or query contains a text.
struct Planned {
    method: String,
    text: String,
    times: usize,
    fault: Fault,
}

#[derive(Default)]
struct State {
    objects: Objects,
    planned: Vec<Planned>,
    /// Each request: its method, path and query.
    seen: Vec<String>,
}

/// The server; it ends with the value.
pub struct S3 {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl S3 {
    /// Starts a server on a free port of this machine.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if Arc::strong_count(&shared) == 1 {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&socket, &shared));
            }
        });
        Self { address, state }
    }

    /// Returns its URL.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the keys of all objects.
    pub fn keys(&self) -> Vec<String> {
        self.lock().objects.keys()
    }

    /// Returns the bytes of an object.
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.lock().objects.bytes(key)
    }

    /// Puts an object there, or other bytes in its place.
    pub fn put(&self, key: &str, bytes: &[u8]) {
        self.lock().objects.put(key, bytes.to_vec());
    }

    /// Takes an object away.
    pub fn take_away(&self, key: &str) {
        self.lock().objects.remove(key);
    }

    /// Begins a multipart upload, which somebody else then completes or not.
    pub fn begin_upload(&self, key: &str) {
        self.lock().objects.begin(key);
    }

    /// Returns the keys of the multipart uploads that are neither completed nor aborted.
    pub fn open_uploads(&self) -> Vec<String> {
        self.lock().objects.open_uploads()
    }

    /// Lets the next requests of a method fail whose path or query contains a text.
    pub fn fail(&self, method: &str, text: &str, times: usize, fault: Fault) {
        let (method, text) = (method.to_owned(), text.to_owned());
        self.lock().planned.push(Planned { method, text, times, fault });
    }

    /// Ends all planned failures.
    pub fn recover(&self) {
        self.lock().planned.clear();
    }

    /// Answers conditional puts with 501, as some stores do.
    pub fn refuse_conditional_puts(&self) {
        self.lock().objects.is_conditional_refused = true;
    }

    /// Puts whatever the condition is, as some stores do.
    pub fn ignore_conditions(&self) {
        self.lock().objects.is_conditional_ignored = true;
    }

    /// Returns the requests so far that contain a text: method, path and query.
    pub fn seen(&self, text: &str) -> Vec<String> {
        self.lock().seen.iter().filter(|seen| seen.contains(text)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.state = Arc::default();
        // A connection wakes the listener's thread, which ends when it holds the last reference to the
        // state.
        _ = TcpStream::connect(self.address);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of a connection until it ends.
fn serve(socket: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(socket);
    while let Some(asked) = read(&mut reader) {
        let fault = {
            let mut state = lock(state);
            let line = format!("{} {}?{}", asked.method, asked.path, asked.query);
            let fault = state.planned.iter_mut().find(|planned| {
                planned.times > 0 && planned.method == asked.method && line.contains(&planned.text)
            });
            let fault = fault.map(|planned| {
                planned.times -= 1;
                planned.fault
            });
            state.seen.push(line);
            fault
        };
        let answered = match fault {
            Some(Fault::Silence) => return,
            Some(Fault::Status(status)) => message::error(status, "InternalError", "as planned"),
            Some(Fault::CutAfter(_)) | None => match signature::check(&asked) {
                Ok(()) => answers::answer(&asked, &mut lock(state).objects),
                Err(refused) => refused,
            },
        };
        if let Some(Fault::CutAfter(most)) = fault {
            _ = write(socket, &asked, &answered, most);
            return;
        }
        if write(socket, &asked, &answered, usize::MAX).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut line = || {
        let mut line = String::new();
        let read = reader.by_ref().take(HEAD_BYTES_MAX).read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = vec![];
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Asked { method, path, query, headers, body: vec![] };
    let length = asked.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
    if length > BODY_BYTES_MAX {
        return None;
    }
    asked.body = vec![0; length];
    reader.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

fn write(
    mut socket: &TcpStream,
    asked: &Asked,
    answered: &Answered,
    most: usize,
) -> std::io::Result<()> {
    use std::fmt::Write as _;
    let mut head = format!("HTTP/1.1 {} Answer\r\n", answered.status);
    for (name, value) in &answered.headers {
        _ = write!(head, "{name}: {value}\r\n");
    }
    if answered.headers.iter().all(|(name, _)| name != "content-length") {
        _ = write!(head, "content-length: {}\r\n", answered.body.len());
    }
    head.push_str("x-amz-request-id: 4442587FB7D0A2F9\r\n\r\n");
    let body: &[u8] = if asked.method == "HEAD" { &[] } else { &answered.body };
    socket.write_all(head.as_bytes())?;
    socket.write_all(&body[..body.len().min(most)])
}
