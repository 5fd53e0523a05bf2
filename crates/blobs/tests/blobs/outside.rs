//! A bucket of another server, which `HOMEROOM_TEST_S3` names by its URL: all tests then run there. The
//! server must have the bucket, key and region of [`homeroom_testkit::s3`], and allow requests that are
//! not signed, by which the tests damage what is there.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use homeroom_testkit::s3::BUCKET;

pub struct Outside {
    host: String,
}

impl Outside {
    /// Returns the server that the environment names.
    pub fn named() -> Option<Self> {
        let url = std::env::var("HOMEROOM_TEST_S3").ok()?;
        let host = url.strip_prefix("http://").expect("a URL with http://");
        Some(Self { host: host.trim_end_matches('/').to_owned() })
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.host)
    }

    pub fn put(&self, key: &str, bytes: &[u8]) {
        self.ask("PUT", &format!("/{key}"), bytes);
    }

    pub fn take_away(&self, key: &str) {
        self.ask("DELETE", &format!("/{key}"), b"");
    }

    /// Returns the names of at most 1,000 objects.
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let query = format!("?list-type=2&prefix={}", prefix.replace('/', "%2F"));
        let text = self.ask("GET", &query, b"");
        let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split_once('<'));
        keys.map(|(key, _)| key.to_owned()).collect()
    }

    fn ask(&self, method: &str, target: &str, body: &[u8]) -> String {
        let mut socket = TcpStream::connect(&self.host).unwrap();
        let (host, length) = (&self.host, body.len());
        let head = format!(
            "{method} /{BUCKET}{target} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(body).unwrap();
        let mut answer = vec![];
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 2"), "{method} {target}: {answer}");
        answer
    }
}
