//! Bodies that are larger than the memory that they may take.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::support::{Place, Server, eventually};

/// Bytes that are written or read at a time.
const PART: usize = 256 << 10;
/// Most memory that a body may take on its way, in KiB.
const MEMORY_KIB_MAX: usize = 64 << 10;

/// Returns the bytes of a body: 2 GiB where the run may be long.
fn body_bytes() -> usize {
    if std::env::var_os("HOMEROOM_LONG").is_some() { 2 << 30 } else { 256 << 20 }
}

/// Starts an upstream that counts what it is sent, and answers a GET of `/N` with N bytes.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || while answer(&stream).is_ok() {});
        }
    });
    address
}

fn answer(mut stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(PART, stream);
    let (head, length) = head(&mut reader)?;
    if length > 0 {
        let taken = std::io::copy(&mut reader.take(length), &mut std::io::sink())?.to_string();
        return write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{taken}", taken.len());
    }
    let path = head.split(' ').nth(1).unwrap_or_default();
    let length: usize = path.trim_start_matches('/').parse().unwrap_or(0);
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n")?;
    send(stream, length)
}

/// Reads a head; returns it and the length that it declares.
fn head(reader: &mut impl std::io::BufRead) -> std::io::Result<(String, u64)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Ok((head, length.unwrap_or(0)))
}

fn send(mut stream: &TcpStream, bytes: usize) -> std::io::Result<()> {
    let part = vec![b'0'; PART];
    for begin in (0..bytes).step_by(PART) {
        stream.write_all(&part[..PART.min(bytes - begin)])?;
    }
    Ok(())
}

/// Returns the peak resident memory of a server since it was asked last, in KiB.
fn peak_kib(server: &Server) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    std::fs::write(format!("/proc/{}/clear_refs", server.id()), "5").ok()?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn a_body_of_any_size_passes_a_published_api_both_ways_through_little_memory() {
    let (place, bytes) = (Place::new(), body_bytes());
    let server = Server::start(&place);
    let url = format!("http://{}", upstream());
    place.write(
        "apis.toml",
        format!(
            "[[apis]]\nname = 'large'\ncontext = 'large'\nversion = 'v1'\nsecurity = 'none'\n\
             upstream = ['{url}']\nmax_body = '4GiB'\ntimeout = '60s'\n"
        ),
    );
    place.done(&["gateway", "apply", "apis.toml"]);
    eventually("it is served", || server.client().get("/apis/large/v1/1").status == 200);
    if peak_kib(&server).is_none() {
        println!("skipped: this system does not tell a process's most memory");
        return;
    }
    let idle = peak_kib(&server).unwrap();

    let stream = TcpStream::connect(server.api).unwrap();
    let mut reader = BufReader::with_capacity(PART, &stream);
    let put =
        format!("PUT /apis/large/v1/a HTTP/1.1\r\nhost: a\r\ncontent-length: {bytes}\r\n\r\n");
    (&stream).write_all(put.as_bytes()).unwrap();
    send(&stream, bytes).unwrap();
    let (answer, length) = head(&mut reader).unwrap();
    let mut counted = vec![0; usize::try_from(length).unwrap()];
    reader.read_exact(&mut counted).unwrap();
    let sending = peak_kib(&server).unwrap();
    let get = format!("GET /apis/large/v1/{bytes} HTTP/1.1\r\nhost: a\r\n\r\n");
    (&stream).write_all(get.as_bytes()).unwrap();
    let (got, length) = head(&mut reader).unwrap();
    let read = std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
    let reading = peak_kib(&server).unwrap();

    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(String::from_utf8(counted).unwrap(), bytes.to_string());
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    assert_eq!(read, bytes as u64);
    for (way, peak) in [("in", sending), ("out", reading)] {
        let taken = peak.saturating_sub(idle);
        assert!(taken < MEMORY_KIB_MAX, "{way}: {taken} KiB beyond {idle}");
    }
}
