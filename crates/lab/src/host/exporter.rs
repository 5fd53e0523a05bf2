//! Asks an exporter, within limits of time and size.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// The longest that one asking takes.
const TIME_MAX: Duration = Duration::from_secs(2);

/// The longest answer.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Gets an exporter's text.
///
/// HTTP/1.0, since then the answer ends with the connection and is in one piece.
///
/// # Errors
///
/// Says in words why there is none.
pub fn get(authority: &str, path: &str) -> Result<String, String> {
    let until = Instant::now() + TIME_MAX;
    let answer = ask(authority, path, until).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not answer in time".into(),
        _ => error.to_string(),
    })?;
    text_of(&answer)
}

fn ask(authority: &str, path: &str, until: Instant) -> io::Result<Vec<u8>> {
    let left = || {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let address = authority
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::other("its name has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {authority}\r\nAccept: text/plain\r\n\r\n")?;
    let mut answer = vec![];
    let mut piece = vec![0; 64 * 1024];
    loop {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut piece)? {
            0 => return Ok(answer),
            many => answer.extend_from_slice(&piece[..many]),
        }
        if answer.len() > BYTES_MAX {
            return Err(io::Error::other(format!("its answer is longer than {BYTES_MAX} bytes")));
        }
    }
}

fn text_of(answer: &[u8]) -> Result<String, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(length)) = head.parse(answer) else {
        return Err("its answer is no HTTP".into());
    };
    match head.code {
        Some(200) => Ok(String::from_utf8_lossy(&answer[length..]).into_owned()),
        Some(status) => Err(format!("it answers {status}")),
        None => Err("its answer has no status".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn answered(answer: &'static [u8]) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let many = stream.read(&mut request).unwrap();
            stream.write_all(answer).unwrap();
            String::from_utf8_lossy(&request[..many]).into_owned()
        });
        let found = get(&authority, "/metrics?x=y");
        assert!(server.join().unwrap().starts_with("GET /metrics?x=y HTTP/1.0\r\n"));
        found
    }

    #[test]
    fn the_text_is_what_comes_after_the_head() {
        let found = answered(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\nb 2\n");

        assert_eq!(found.as_deref(), Ok("a 1\nb 2\n"));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        assert_eq!(answered(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err(), "it answers 404");
        assert_eq!(answered(b"hello").unwrap_err(), "its answer is no HTTP");
        assert!(get("127.0.0.1:1", "/").is_err());
    }
}
