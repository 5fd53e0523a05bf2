//! Requests beside the load test, such as for a token, for an exporter's text, or to create
//! documents beforehand. They are sent one at a time, within limits of time and size.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use homeroom_client::{
    BackOff, BlockingClient, Error, Method, Phase, Request, Retries, Settings, Tried, Trust, Url,
    Versions, WholeAnswer,
};
use rustls::ClientConfig;

use crate::engine::Target;

/// The largest answer in bytes: the description of a large model has 10 MB.
const BODY_MAX: usize = 64 << 20;

/// The server that requests are sent to, and their time limit.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The server to call.
    pub target: Target,
    /// The TLS configuration, where the target uses TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// The longest time that a request may take in total.
    pub timeout: Duration,
}

/// A client whose connection stays open between requests.
#[derive(Debug)]
pub struct Kept {
    caller: Caller,
    client: Option<BlockingClient>,
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer's status.
    pub status: u16,
    /// The `Location` header, if there is one.
    pub location: Option<String>,
    /// The `Retry-After` header in seconds, if there is one.
    pub retry_after_s: Option<u64>,
    /// The answer's body.
    pub body: Vec<u8>,
}

impl Caller {
    /// Sends a request on a connection of its own.
    ///
    /// # Errors
    ///
    /// Why there is no complete answer.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Reply, Error> {
        let request = self.request(method, path, headers, body)?;
        self.client(Retries::default())?.send(request, BODY_MAX).map(Reply::from)
    }

    /// Returns a client that keeps its connection; it connects at its first request.
    pub fn keep(self) -> Kept {
        Kept { caller: self, client: None }
    }

    /// Connects without sending anything.
    ///
    /// # Errors
    ///
    /// If nothing listens there.
    pub fn reach(&self) -> Result<(), Error> {
        let tried = Tried::new(&Method::GET, &self.url("/")?);
        let failed = |phase, error: io::Error| Error::Failed {
            tried: tried.clone(),
            phase,
            cause: Arc::new(error),
        };
        let resolved = self.target.resolve();
        let addresses =
            resolved.map_err(|error| failed(Phase::Resolve, io::Error::other(error)))?;
        let mut last = io::Error::other("the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, self.timeout) {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(failed(Phase::Connect, last))
    }

    fn client(&self, retries: Retries) -> Result<BlockingClient, Error> {
        let trust = match &self.tls {
            Some(config) if self.target.secure => Trust::Config(Arc::clone(config)),
            _ => Trust::Nobody,
        };
        // Whatever protocol the run uses, this client uses HTTP/1.1.
        let versions = Versions::Http1;
        let settings = Settings { trust, versions, retries, ..Settings::trusted(self.timeout) };
        BlockingClient::new(settings)
    }

    fn url(&self, path: &str) -> Result<Url, Error> {
        let scheme = if self.target.secure { "https" } else { "http" };
        Ok(Url::parse(&format!("{scheme}://{}{path}", self.target.authority()))?)
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Request, Error> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Error::Method { method: method.to_owned() })?;
        let mut request = Request::new(method, self.url(path)?).body(body.to_vec());
        for (name, value) in headers {
            request = request.header(name, value)?;
        }
        Ok(request)
    }
}

impl Kept {
    /// Returns the caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Sends a request, and repeats it once, immediately, if the connection breaks. Use it only for
    /// requests that may arrive twice.
    ///
    /// # Errors
    ///
    /// Why there is no complete answer.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Reply, Error> {
        let request = self.caller.request(method, path, headers, body)?.repeatable();
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(self.caller.client(once_more())?),
        };
        client.send(request, BODY_MAX).map(Reply::from)
    }
}

/// Returns the policy that sends a request a second time if its connection broke.
fn once_more() -> Retries {
    Retries {
        times: 1,
        phases: vec![Phase::Send, Phase::Answer],
        statuses: vec![],
        back_off: BackOff { first: Duration::ZERO, most: Duration::ZERO },
        ..Retries::few()
    }
}

impl From<WholeAnswer> for Reply {
    fn from(answer: WholeAnswer) -> Self {
        Self {
            status: answer.status.as_u16(),
            location: answer.header("location").map(str::to_owned),
            retry_after_s: answer.header("retry-after").and_then(|value| value.parse().ok()),
            body: answer.body.into(),
        }
    }
}

/// Describes briefly what went wrong, for a sentence that names the target.
pub fn words(error: &Error) -> String {
    let parse = error.find::<hyper::Error>().is_some_and(hyper::Error::is_parse);
    let cut = error.find::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message);
    match (error, error.io()) {
        (Error::TimedOut { .. }, _) | (_, Some(io::ErrorKind::TimedOut)) => {
            "it did not answer in time".into()
        }
        (_, Some(io::ErrorKind::ConnectionRefused)) => "nothing listens there".into(),
        (_, Some(io::ErrorKind::UnexpectedEof)) => "its answer was cut short".into(),
        _ if cut => "its answer was cut short".into(),
        _ if parse => "its answer is not HTTP".into(),
        _ => error.root(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn caller(listener: &TcpListener) -> Caller {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = Target::parse(&url).unwrap();
        Caller { target, tls: None, timeout: Duration::from_secs(20) }
    }

    fn read_request(stream: &mut TcpStream) -> String {
        let mut request = [0; 1024];
        let mut many = 0;
        while !request[..many].ends_with(b"hello") {
            many += stream.read(&mut request[many..]).unwrap();
        }
        String::from_utf8_lossy(&request[..many]).into_owned()
    }

    fn answered(answer: &'static [u8]) -> Result<Reply, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = caller(&listener);
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&mut stream);
            stream.write_all(answer).unwrap();
            request
        });
        let reply = caller.send("POST", "/x?y=z", &[("A", "b")], b"hello");
        let request = server.join().unwrap();
        assert!(request.starts_with("POST /x?y=z HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nhost: 127.0.0.1:"), "{request}");
        assert!(request.contains("\r\na: b\r\n"), "{request}");
        assert!(request.contains("\r\ncontent-length: 5\r\n"), "{request}");
        reply
    }

    #[test]
    fn an_answer_has_status_body_location_and_retry_after() {
        let whole = b"HTTP/1.0 201 Created\r\nLocation: /a\r\nRetry-After: 3\r\n\r\na 1\n";

        let reply = answered(whole).unwrap();

        let (location, retry_after_s) = (Some("/a".to_owned()), Some(3));
        assert_eq!(reply, Reply { status: 201, location, retry_after_s, body: b"a 1\n".to_vec() });
    }

    #[test]
    fn an_incomplete_answer_is_an_error() {
        let short = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").unwrap_err();

        assert_eq!(words(&short), "its answer was cut short");
        assert_eq!(words(&answered(b"hello\n\n\n").unwrap_err()), "its answer is not HTTP");
        assert_eq!(words(&answered(b"").unwrap_err()), "its answer was cut short");
    }

    #[test]
    fn an_address_where_nothing_listens_is_reported() {
        let unused = caller(&TcpListener::bind("127.0.0.1:0").unwrap());

        let sent = unused.send("GET", "/", &[], b"").unwrap_err();

        assert_eq!(words(&sent), "nothing listens there");
        assert_eq!(words(&unused.reach().unwrap_err()), "nothing listens there");
    }

    #[test]
    fn a_kept_connection_is_reused_and_renewed_if_it_was_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut kept = caller(&listener).keep();
        let server = thread::spawn(move || {
            let mut served = vec![];
            for requests in [2, 1] {
                let (mut stream, _) = listener.accept().unwrap();
                for _ in 0..requests {
                    read_request(&mut stream);
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na").unwrap();
                }
                served.push(requests);
            }
            served
        });

        for _ in 0..3 {
            assert_eq!(kept.send("POST", "/", &[], b"hello").unwrap().body, b"a");
        }

        assert_eq!(server.join().unwrap(), [2, 1]);
    }
}
