//! A network link that breaks when a commit passes.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Listens, and forwards data to a server and back.
pub struct Proxy {
    pub port: u16,
    pub commits: Arc<AtomicUsize>,
}

/// Returns whether a commit is cut, and if so whether it arrives: every third one, alternately.
fn is_cut(commit: usize) -> Option<bool> {
    commit.is_multiple_of(3).then_some(commit.is_multiple_of(2))
}

impl Proxy {
    /// Creates a proxy in front of `server`. Every third commit is the last that its connection
    /// forwards: alternately, the commit arrives but its answer does not, or the commit itself is
    /// lost.
    pub fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let commits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&commits);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else {
                    return;
                };
                let counted = Arc::clone(&counted);
                let (back_from, back_to) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || back(back_from, back_to));
                std::thread::spawn(move || forth(client, server, &counted));
            }
        });
        Self { port, commits }
    }
}

fn forth(mut from: TcpStream, mut to: TcpStream, commits: &AtomicUsize) {
    // A simple query: its letter, its length, its text.
    const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..length];
        if let Some(at) = bytes.windows(COMMIT.len()).position(|window| window == COMMIT) {
            let commit = commits.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(arrives) = is_cut(commit) {
                // The way back is closed first: the answer must not pass.
                _ = from.shutdown(Shutdown::Both);
                _ = to.write_all(if arrives { bytes } else { &bytes[..at] });
                std::thread::sleep(std::time::Duration::from_millis(20));
                _ = to.shutdown(Shutdown::Both);
                return;
            }
        }
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    _ = to.shutdown(Shutdown::Both);
}

fn back(mut from: TcpStream, mut to: TcpStream) {
    _ = std::io::copy(&mut from, &mut to);
    _ = to.shutdown(Shutdown::Both);
}
