//! Sends progress to a command, even if the command does not read it.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Write};

/// Sends progress and the result to a command. A command that reads nothing for the stream's write
/// timeout, such as a suspended one, gets no more progress until the result, so that its load
/// continues. A closed connection is noticed.
pub(super) struct Told<W> {
    stream: RefCell<W>,
    /// The rest of a line that was only partly written.
    rest: RefCell<Vec<u8>>,
    is_deaf: Cell<bool>,
    is_gone: Cell<bool>,
}

impl<W: Write> Told<W> {
    /// Returns a sender that has sent nothing yet.
    pub(super) fn new(stream: W) -> Self {
        let rest = RefCell::default();
        Self { stream: stream.into(), rest, is_deaf: Cell::default(), is_gone: Cell::default() }
    }

    /// Returns whether the connection is closed.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.get()
    }

    /// Sends a line, unless the command does not read.
    pub(super) fn progress(&self, line: &[u8]) {
        if !self.is_deaf.get() {
            self.write(line);
        }
    }

    /// Sends the last line in full, after the rest of the previous one.
    pub(super) fn last(&self, line: &[u8]) {
        let mut all = self.rest.take();
        all.extend_from_slice(line);
        self.write(&all);
    }

    fn write(&self, mut line: &[u8]) {
        let mut stream = self.stream.borrow_mut();
        while !line.is_empty() && !self.is_gone.get() {
            match stream.write(line) {
                Ok(0) => self.is_gone.set(true),
                Ok(taken) => line = &line[taken..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    self.is_deaf.set(true);
                    self.rest.replace(line.to_vec());
                    return;
                }
                Err(_) => self.is_gone.set(true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_command_that_stops_reading_still_gets_the_result_in_whole_lines() {
        let (stream, mut command) = UnixStream::pair().unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        let told = Told::new(stream);
        while !told.is_deaf.get() {
            told.progress(b"progress\n");
        }
        told.progress(b"never told\n");
        let mut some = vec![0; 1 << 15];
        let taken = command.read(&mut some).unwrap();

        told.last(b"done\n");

        assert!(!told.is_gone());
        drop(told);
        some.truncate(taken);
        command.read_to_end(&mut some).unwrap();
        let text = String::from_utf8(some).unwrap();
        let (lines, last) = text.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(last, "done");
        assert!(lines.lines().all(|line| line == "progress"));
    }

    #[test]
    fn a_command_that_has_gone_is_noticed() {
        let (stream, command) = UnixStream::pair().unwrap();
        let told = Told::new(stream);
        drop(command);

        told.progress(b"progress\n");

        assert!(told.is_gone());
    }
}
