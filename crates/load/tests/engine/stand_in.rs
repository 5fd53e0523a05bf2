//! A server that behaves as a test needs: one thread per connection, no library.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use homeroom_load::engine::{
    Answer, Options, Protocol, Reaction, Request, Source, StepFacts, Target,
};
use homeroom_load::outcome::Outcome;

/// How the server answers.
#[derive(Debug, Clone)]
pub struct Answering {
    /// The whole answer.
    pub text: &'static str,
    /// How long it waits before answering.
    pub delay: Duration,
    /// Whether it never answers at all.
    pub silent: bool,
    /// Whether it closes the connection after an answer.
    pub closes: bool,
    /// The number of answers after which it is frozen until [`StandIn::thaw`] is called.
    pub freezes_after: Option<u64>,
}

impl Default for Answering {
    fn default() -> Self {
        Self {
            text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            delay: Duration::ZERO,
            silent: false,
            closes: false,
            freezes_after: None,
        }
    }
}

/// A running server, which ends when it is dropped.
pub struct StandIn {
    /// The address that it listens on.
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    over: AtomicBool,
    connections: AtomicU64,
    heard: AtomicU64,
    answered: AtomicU64,
    head: Mutex<String>,
    thawed: Mutex<bool>,
    thaws: Condvar,
}

impl StandIn {
    /// Starts listening.
    pub fn start(answering: Answering) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.over.load(Ordering::Relaxed) {
                    break;
                }
                let (state, answering) = (shared.clone(), answering.clone());
                state.connections.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || serve(&mut stream.unwrap(), &state, &answering));
            }
        });
        Self { address, state }
    }

    /// Returns how many requests it has answered.
    pub fn answered(&self) -> u64 {
        self.state.answered.load(Ordering::Relaxed)
    }

    /// Returns how many connections it has accepted.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Ends a freeze.
    pub fn thaw(&self) {
        *self.state.thawed.lock().unwrap() = true;
        self.state.thaws.notify_all();
    }

    /// Returns the head of the last request.
    pub fn last_head(&self) -> String {
        self.state.head.lock().unwrap().clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        self.thaw();
        // Wakes the accepting thread, which then ends.
        _ = TcpStream::connect(self.address);
        thread::sleep(Duration::from_millis(50));
    }
}

fn serve(stream: &mut TcpStream, state: &State, answering: &Answering) {
    let mut unread = vec![];
    let mut room = [0; 4096];
    loop {
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let asked: Vec<u8> = unread.drain(..end + 4).collect();
            *state.head.lock().unwrap() = String::from_utf8_lossy(&asked).into_owned();
            let heard = state.heard.fetch_add(1, Ordering::Relaxed);
            if answering.freezes_after.is_some_and(|answers| heard >= answers) {
                let thawed = state.thawed.lock().unwrap();
                drop(state.thaws.wait_while(thawed, |thawed| !*thawed).unwrap());
            }
            thread::sleep(answering.delay);
            if answering.silent {
                continue;
            }
            state.answered.fetch_add(1, Ordering::Relaxed);
            if stream.write_all(answering.text.as_bytes()).is_err() || answering.closes {
                return;
            }
        }
        match stream.read(&mut room) {
            Ok(0) | Err(_) => return,
            Ok(length) => unread.extend_from_slice(&room[..length]),
        }
    }
}

/// Returns the options for an engine that sends to this server.
pub fn options(server: &StandIn, connections: u32) -> Options {
    Options {
        target: Target::parse(&format!("http://{}", server.address)).unwrap(),
        protocol: Protocol::Http1,
        connections,
        timeout: Duration::from_secs(5),
        drain: Duration::from_secs(6),
        slack: Duration::ZERO,
        spread: false,
        threads: 1,
        from: vec![],
        bins: false,
        tls: None,
    }
}

/// Requests one path over and over.
pub struct Asking {
    /// Its only step.
    pub steps: Vec<StepFacts>,
    /// How long a client pauses between requests.
    pub pause: Duration,
    /// Whether the token is sent.
    pub auth: bool,
}

impl Default for Asking {
    fn default() -> Self {
        let step = StepFacts {
            name: "ask".into(),
            group: String::new(),
            method: "GET".into(),
            keeps_body: false,
        };
        Self { steps: vec![step], pause: Duration::ZERO, auth: false }
    }
}

impl Source for Asking {
    type Client = ();

    fn steps(&self) -> &[StepFacts] {
        &self.steps
    }

    fn client(&mut self, _: u32) {}

    fn next(&mut self, (): &mut (), request: &mut Request) -> usize {
        request.path.extend_from_slice(b"/asked");
        request.auth = self.auth;
        0
    }

    fn answered(&mut self, (): &mut (), _: usize, answer: &Answer<'_>) -> Reaction {
        Reaction { ok: answer.outcome == Outcome::Status(200), pause: self.pause }
    }
}
