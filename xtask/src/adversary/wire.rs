//! Bare connections from an address of the caller's choice.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// Longest wait of a write that the other side does not take.
const WRITE: Duration = Duration::from_millis(50);

/// A connection that is nobody's client: it sends bytes, and may or may not look at what comes.
pub struct Wire(TcpStream);

impl Wire {
    /// Connects from an address of this machine.
    pub fn open(from: IpAddr, to: SocketAddr) -> Option<Self> {
        let fd = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
        bind(&fd, &SocketAddr::new(from, 0)).ok()?;
        // A server that takes no more connections must not keep this thread waiting.
        set_socket_timeout(&fd, Timeout::Send, Some(CONNECT)).ok()?;
        connect(&fd, &to).ok()?;
        let stream = TcpStream::from(fd);
        stream.set_nodelay(true).ok()?;
        stream.set_write_timeout(Some(WRITE)).ok()?;
        stream.set_read_timeout(Some(WRITE)).ok()?;
        Some(Self(stream))
    }

    /// Sends bytes; gives whether the connection still takes any.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        match self.0.write_all(bytes) {
            Ok(()) => true,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// Whether the other side has not closed the connection. Of what has come nothing is taken.
    pub fn is_open(&self) -> bool {
        _ = self.0.set_nonblocking(true);
        let is_open = match self.0.peek(&mut [0]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        _ = self.0.set_nonblocking(false);
        is_open
    }

    /// Takes what has come; gives whether the connection is still there.
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
