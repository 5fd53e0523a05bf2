//! A client like an integration's: one kept connection, and a token.

use std::io::{Error, Result};
use std::net::SocketAddr;

use homeroom_client::{BlockingClient, Method, Request, Settings, Url};
use serde_json::{Value, json};

use super::{Answer, PATIENCE};

/// The largest answer in bytes.
const BODY_MAX: usize = 256 << 20;

/// A client.
pub struct Client {
    address: SocketAddr,
    kept: BlockingClient,
    /// The bearer token that is sent, if any.
    pub token: Option<String>,
}

impl Client {
    /// Returns a client without a token.
    pub fn new(address: SocketAddr) -> Self {
        let kept = BlockingClient::new(Settings::trusted(PATIENCE)).unwrap();
        Self { address, kept, token: None }
    }

    /// Requests a token with key and secret, and uses it from then on.
    pub fn authorize(&mut self, key: &str, secret: &str) {
        let answer = self.ask_token(key, secret);
        assert_eq!(answer.status, 200, "{answer:?}");
        self.token = Some(answer.json()["access_token"].as_str().unwrap().to_owned());
    }

    /// Requests a token.
    pub fn ask_token(&mut self, key: &str, secret: &str) -> Answer {
        self.token = None;
        let asked = json!({
            "grant_type": "client_credentials", "client_id": key, "client_secret": secret,
        });
        self.post("/oauth/token", &asked)
    }

    /// Sends a GET request.
    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], None).unwrap()
    }

    /// Sends JSON with POST.
    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.try_json("POST", path, body).unwrap()
    }

    /// Sends JSON with any method; returns an error if the connection breaks.
    pub fn try_json(&mut self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        let header = [("content-type", "application/json")];
        self.send(method, path, &header, Some(body.to_string().as_bytes()))
    }

    /// Sends any request.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer> {
        let url = Url::parse(&format!("http://{}{path}", self.address)).unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = Request::new(method, url).body(body.unwrap_or_default().to_vec());
        let token = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let token = token.as_deref().map(|token| ("authorization", token));
        for (name, value) in token.into_iter().chain(headers.iter().copied()) {
            request = request.header(name, value).unwrap();
        }
        let answer = self.kept.send(request, BODY_MAX);
        let answer = answer.map_err(|error| Error::other(error.with_causes()))?;
        let headers = answer.headers.iter();
        let answer = Answer {
            status: answer.status.as_u16(),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                .collect(),
            body: answer.body.to_vec(),
        };
        assert_eq!(answer.header("transfer-encoding"), None, "answers have a known length");
        Ok(answer)
    }

    /// Returns the head of a request, with the token and the length of the body if there is one.
    pub fn head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: Option<usize>,
    ) -> String {
        let mut lines =
            vec![format!("{method} {path} HTTP/1.1"), format!("host: {}", self.address)];
        lines.extend(self.token.iter().map(|token| format!("authorization: Bearer {token}")));
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.extend(length.map(|length| format!("content-length: {length}")));
        lines.join("\r\n") + "\r\n\r\n"
    }
}
