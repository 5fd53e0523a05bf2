//! A server that does nothing, as fast as it can. A run against it measures the generator's own
//! limit.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// The end of a request's head.
const END: &[u8] = b"\r\n\r\n";
const LISTENER: u64 = u64::MAX;

/// A server on a loopback port that answers requests without a body until it is dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Starts listening.
    ///
    /// # Errors
    ///
    /// If the system has no free port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = epoll::EventFlags::IN;
        epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), flags)?;
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = thread::Builder::new()
            .name("lab-null".into())
            .spawn(move || serve(&poll, &listener, &told))?;
        Ok(Self { address, over, thread: Some(thread) })
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

fn serve(poll: &OwnedFd, listener: &TcpListener, over: &AtomicBool) {
    let mut clients: Vec<Option<(TcpStream, usize)>> = vec![];
    let mut room = vec![0; 64 * 1024];
    let mut events = Vec::with_capacity(256);
    let soon = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    while !over.load(Ordering::Relaxed) {
        _ = epoll::wait(poll, spare_capacity(&mut events), Some(&soon));
        for event in events.drain(..) {
            let mark = event.data.u64();
            if mark == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    admit(poll, &mut clients, stream);
                }
            } else if let Ok(at) = usize::try_from(mark)
                && let Some(place) = clients.get_mut(at)
                && let Some((stream, matched)) = place
                && answer(stream, matched, &mut room).is_err()
            {
                *place = None;
            }
        }
    }
}

fn admit(poll: &OwnedFd, clients: &mut Vec<Option<(TcpStream, usize)>>, stream: TcpStream) {
    let ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
    let mark = epoll::EventData::new_u64(clients.len() as u64);
    if ready.is_ok() && epoll::add(poll, stream.as_fd(), mark, epoll::EventFlags::IN).is_ok() {
        clients.push(Some((stream, 0)));
    }
}

/// Reads what has arrived and answers each empty line that ends a request's head. `matched` is how
/// much of such an end has been read.
fn answer(stream: &mut TcpStream, matched: &mut usize, room: &mut [u8]) -> io::Result<()> {
    let length = match stream.read(room) {
        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
        Ok(length) => length,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
        Err(error) => return Err(error),
    };
    for byte in &room[..length] {
        *matched = match (*byte == END[*matched], *byte) {
            (true, _) => *matched + 1,
            (false, b'\r') => 1,
            (false, _) => 0,
        };
        if *matched == END.len() {
            *matched = 0;
            stream.write_all(ANSWER)?;
        }
    }
    Ok(())
}
