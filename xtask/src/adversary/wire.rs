//! Bare connections from a local address that the caller chooses.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

/// The longest time for connecting.
const CONNECT: Duration = Duration::from_secs(1);
/// The longest time for a write that the server does not read.
const WRITE: Duration = Duration::from_millis(50);

/// A bare connection: it sends bytes, and may or may not read what comes.
pub struct Wire(TcpStream);

impl Wire {
    /// Connects from an address of this machine.
    pub fn open(from: IpAddr, to: SocketAddr) -> Option<Self> {
        let fd = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
        bind(&fd, &SocketAddr::new(from, 0)).ok()?;
        // A server that accepts no more connections must not block this thread.
        set_socket_timeout(&fd, Timeout::Send, Some(CONNECT)).ok()?;
        connect(&fd, &to).ok()?;
        let stream = TcpStream::from(fd);
        stream.set_nodelay(true).ok()?;
        stream.set_write_timeout(Some(WRITE)).ok()?;
        stream.set_read_timeout(Some(WRITE)).ok()?;
        Some(Self(stream))
    }

    /// Sends bytes. Returns whether the connection still accepts any.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        match self.0.write_all(bytes) {
            Ok(()) => true,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// Returns whether the server has not closed the connection. Consumes no received bytes.
    pub fn is_open(&self) -> bool {
        _ = self.0.set_nonblocking(true);
        let is_open = match self.0.peek(&mut [0]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        _ = self.0.set_nonblocking(false);
        is_open
    }

    /// Reads and discards what has arrived. Returns whether the connection is still open.
    pub fn drain(&mut self) -> bool {
        let mut bytes = [0; 16 << 10];
        _ = self.0.set_nonblocking(true);
        let is_there = loop {
            match self.0.read(&mut bytes) {
                Ok(0) => break false,
                Ok(_) => {}
                Err(error) => break error.kind() == ErrorKind::WouldBlock,
            }
        };
        _ = self.0.set_nonblocking(false);
        is_there
    }
}
