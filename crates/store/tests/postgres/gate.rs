//! A network link that stalls on command: nothing passes, and neither end is told.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

/// Listens, and forwards data to a server and back while it is open.
pub struct Gate {
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Number of accepted connections.
    count: AtomicUsize,
    /// Whether nothing passes at all.
    is_shut: AtomicBool,
    /// Nothing passes on the connections before this one.
    stalled: AtomicUsize,
    at_commit: AtomicU8,
}

/// Values of `at_commit`: stall when the next commit arrives, before or after it.
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

impl Gate {
    /// Creates an open gate in front of `server`.
    pub fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<State>::default();
        let passing = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let number = passing.count.fetch_add(1, Ordering::SeqCst);
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else {
                    return;
                };
                let pass = |from: &TcpStream, to: &TcpStream, is_forth: bool| {
                    let state = Arc::clone(&passing);
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || state.pass(number, from, to, is_forth));
                };
                pass(&client, &server, true);
                pass(&server, &client, false);
            }
        });
        Self { port, state }
    }

    /// Returns the number of accepted connections.
    pub fn count(&self) -> usize {
        self.state.count.load(Ordering::SeqCst)
    }

    /// Stops all data, including that of new connections.
    pub fn shut(&self) {
        self.state.is_shut.store(true, Ordering::SeqCst);
    }

    /// Releases the data that [`Gate::shut`] holds back.
    pub fn open(&self) {
        self.state.is_shut.store(false, Ordering::SeqCst);
    }

    /// Stops the data of the current connections.
    pub fn stall(&self) {
        self.state.stall();
    }

    /// Does the same as [`Gate::stall`] when the next commit arrives; with `passes`, that one gets
    /// through.
    pub fn stall_at_commit(&self, passes: bool) {
        self.state.at_commit.store(if passes { AFTER } else { BEFORE }, Ordering::SeqCst);
    }
}

impl State {
    fn stall(&self) {
        self.stalled.store(self.count.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    fn holds(&self, number: usize) -> bool {
        self.is_shut.load(Ordering::SeqCst) || number < self.stalled.load(Ordering::SeqCst)
    }

    fn pass(&self, number: usize, mut from: TcpStream, mut to: TcpStream, is_forth: bool) {
        // A simple query: its letter, its length, its text.
        const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let bytes = &buffer[..length];
            let is_commit = is_forth && bytes.windows(COMMIT.len()).any(|window| window == COMMIT);
            match is_commit.then(|| self.at_commit.swap(0, Ordering::SeqCst)) {
                Some(BEFORE) => self.stall(),
                Some(AFTER) => {
                    self.stall();
                    _ = to.write_all(bytes);
                }
                _ => {}
            }
            while self.holds(number) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        _ = to.shutdown(Shutdown::Both);
    }
}
