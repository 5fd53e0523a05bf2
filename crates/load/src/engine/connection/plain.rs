//! An HTTP/1.1 connection, with one request at a time.

use std::io::{self, ErrorKind, Read as _, Write as _};

use crate::engine::exchange::{Fixed, Progress};
use crate::engine::http1::{self, HEADERS, Header, Reader};
use crate::engine::source::{Answer, Request};
use crate::engine::transport::Transport;
use crate::outcome::Outcome;

/// An HTTP/1.1 connection.
#[derive(Debug)]
pub struct Http1Connection {
    transport: Transport,
    connected: bool,
    out: Vec<u8>,
    sent: usize,
    reader: Reader,
    answered: u64,
    ends: bool,
}

impl Http1Connection {
    /// Returns a connection over a transport that may still be connecting.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            connected: false,
            out: vec![],
            sent: 0,
            reader: Reader::default(),
            answered: 0,
            ends: false,
        }
    }

    /// Sends as much of a request as the socket takes at once; `room` is the buffer to read into.
    pub fn send(
        &mut self,
        method: &str,
        request: &Request,
        fixed: Fixed<'_>,
        keep: bool,
    ) -> Progress {
        self.out.clear();
        self.sent = 0;
        http1::encode(method, request, fixed, &mut self.out);
        self.reader.begin(method, keep);
        if self.connected { self.flush() } else { Progress::Pending }
    }

    /// Continues after the socket has become ready. `hung_up` says that the server sends nothing
    /// beyond what has arrived.
    pub fn advance(&mut self, hung_up: bool, room: &mut [u8]) -> Progress {
        if !self.connected {
            if self.transport.connect_error().is_some() {
                return Progress::Failed(Outcome::Refused);
            }
            self.connected = true;
        }
        self.ends |= hung_up;
        // A server may answer and close before it has read the whole request.
        let flushed = self.flush();
        match self.receive(room) {
            Progress::Pending => flushed,
            done => done,
        }
    }

    /// Returns whether a failure may come from the server closing an idle connection.
    pub fn may_have_been_idle_closed(&self) -> bool {
        self.answered > 0 && self.reader.is_untouched()
    }

    /// Returns whether another request can be sent after a complete answer.
    pub fn is_reusable(&self) -> bool {
        !self.ends && !self.reader.closes() && self.sent == self.out.len()
    }

    /// Returns the complete answer.
    pub fn answer<'a, 'b: 'a>(&'a self, room: &'b mut [Header<'a>; HEADERS]) -> Answer<'a> {
        Answer {
            outcome: Outcome::Status(self.reader.status()),
            headers: self.reader.headers(room),
            body: self.reader.body(),
            length: self.reader.length(),
        }
    }

    /// Returns the status of the complete answer.
    pub fn status(&self) -> u16 {
        self.reader.status()
    }

    fn flush(&mut self) -> Progress {
        while self.sent < self.out.len() {
            match self.transport.write(&self.out[self.sent..]) {
                Ok(0) => return Progress::Failed(Outcome::Closed),
                Ok(taken) => self.sent += taken,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.trouble(&error),
            }
        }
        match self.transport.flush() {
            Ok(()) => Progress::Pending,
            Err(error) => self.trouble(&error),
        }
    }

    fn receive(&mut self, room: &mut [u8]) -> Progress {
        loop {
            let length = match self.transport.read(room) {
                Ok(0) if self.reader.end() => return self.done(),
                Ok(0) => return Progress::Failed(Outcome::Closed),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.trouble(&error),
            };
            match self.reader.feed(&room[..length]) {
                Ok(true) => return self.done(),
                // The read did not fill the buffer, so the socket is empty and will report new
                // data.
                Ok(false) if length < room.len() && !self.ends && !self.transport.is_secure() => {
                    return Progress::Pending;
                }
                Ok(false) => {}
                Err(http1::Garbled) => return Progress::Failed(Outcome::Garbled),
            }
        }
    }

    fn done(&mut self) -> Progress {
        self.answered += 1;
        Progress::Answered
    }

    fn trouble(&mut self, error: &io::Error) -> Progress {
        match error.kind() {
            ErrorKind::WouldBlock => Progress::Pending,
            ErrorKind::Other if self.answered == 0 => Progress::Failed(Outcome::Refused),
            _ => Progress::Failed(Outcome::Closed),
        }
    }
}
