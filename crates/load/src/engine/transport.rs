//! A non-blocking socket, with or without TLS.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::outcome::Outcome;

/// A connection to a server, which may still be connecting.
#[derive(Debug)]
pub struct Transport {
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    /// Starts connecting, from a local address if one is given.
    ///
    /// # Errors
    ///
    /// [`Outcome::NoRoom`] where this machine has no socket, port or such address;
    /// [`Outcome::Refused`] where the server cannot be reached at all.
    pub fn open(
        to: SocketAddr,
        from: Option<IpAddr>,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    ) -> Result<Self, Outcome> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket =
            socket_with(family, SocketType::STREAM, flags, None).map_err(|_| Outcome::NoRoom)?;
        if let Some(from) = from {
            bind(&socket, &SocketAddr::new(from, 0)).map_err(|_| Outcome::NoRoom)?;
        }
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE | Errno::NOBUFS | Errno::NOMEM) => {
                return Err(Outcome::NoRoom);
            }
            Err(_) => return Err(Outcome::Refused),
        }
        let socket = TcpStream::from(socket);
        socket.set_nodelay(true).map_err(|_| Outcome::Refused)?;
        let tls = tls.map(|(config, name)| ClientConnection::new(config, name).map(Box::new));
        let tls = tls.transpose().map_err(|_| Outcome::Refused)?;
        Ok(Self { socket, tls })
    }

    /// Returns whether the connection uses TLS.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns why connecting failed, once the socket is ready; `None` if it succeeded.
    pub fn connect_error(&self) -> Option<io::Error> {
        self.socket.take_error().unwrap_or_else(Some)
    }
}

/// Sends what TLS has ready, as far as the socket takes it.
fn flush(tls: &mut ClientConnection, socket: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Read for Transport {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Self { socket, tls: Some(tls) } = self else { return self.socket.read(room) };
        loop {
            match tls.reader().read(room) {
                // A close without a TLS alert counts as the end; a truncated answer is noticed by
                // its length.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            tls.read_tls(socket)?;
            let understood = tls.process_new_packets();
            // There may be an alert to send even after an error.
            flush(tls, socket)?;
            understood.map_err(io::Error::other)?;
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) => {
                flush(tls, &mut self.socket)?;
                let taken = tls.writer().write(bytes)?;
                flush(tls, &mut self.socket)?;
                if taken == 0 && !bytes.is_empty() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => flush(tls, &mut self.socket),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
