//! A client like an integration's: one kept connection, and a token.

use std::io::Result;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{Answer, Wire};

/// A client.
pub struct Client {
    address: SocketAddr,
    wire: Option<Wire>,
    /// The bearer token that is sent, if any.
    pub token: Option<String>,
}

impl Client {
    /// Returns a client without a token.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, wire: None, token: None }
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
        let mut bytes = self.head(method, path, headers, body.map(<[u8]>::len)).into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        let mut wire = match self.wire.take().filter(|wire| !wire.is_closed()) {
            Some(wire) => wire,
            None => Wire::try_open(self.address)?,
        };
        wire.try_send(bytes)?;
        let answer = wire.try_answer(method == "HEAD")?;
        if answer.header("connection") != Some("close") {
            self.wire = Some(wire);
        }
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
