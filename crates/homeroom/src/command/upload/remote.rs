//! A server's bulk services, as an uploader calls them.

use std::time::Duration;

use homeroom_client::{
    Client, Error, Method, Phase, Request, Retries, Settings, Trust, Url, WholeAnswer,
};
use serde_json::{Value, json};

use crate::app::chain;
use crate::command::upload::files::Source;
use crate::exit::Failure;

/// Longest time of a request; a chunk may take that long.
const TIME: Duration = Duration::from_mins(30);
/// How often a request is sent again whose connection fails.
const RETRIES: u32 = 4;
/// How long a request is sent again that the server has no room for.
const BUSY_TIME_MAX: Duration = Duration::from_mins(5);
/// Longest pause that a server's Retry-After is followed for.
const BUSY_PAUSE_MAX: u64 = 60;
/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A server, and the token for it.
pub struct Remote {
    client: Client,
    /// The server's address, without a slash at the end.
    base: String,
    key: String,
    secret: String,
    year: u16,
    token_url: String,
    token: String,
}

impl Remote {
    /// Gets a token from a server. `trust` is a PEM text with the authorities to trust.
    ///
    /// # Errors
    ///
    /// [`Failure::Unreachable`], [`Failure::NotAuthorized`], or what is wrong with the address.
    pub async fn open(
        base: &str,
        (key, secret): (&str, &str),
        year: u16,
        trust: Option<Vec<u8>>,
    ) -> Result<Self, Failure> {
        let base = base.trim_end_matches('/').to_owned();
        let mut settings = Settings::for_operator(TIME);
        settings.retries = Retries {
            times: RETRIES,
            methods: vec![Method::GET, Method::POST],
            phases: vec![Phase::Connect, Phase::Tls, Phase::Send, Phase::Answer, Phase::Body],
            ..Retries::default()
        };
        settings.trust = match trust {
            Some(pem) => Trust::Bundle(pem),
            None if base.starts_with("https://") => Trust::Native,
            None => Trust::Nobody,
        };
        let client = Client::new(settings).map_err(|error| failure(&error))?;
        let (key, secret) = (key.to_owned(), secret.to_owned());
        let token_url = format!("{base}/oauth/token");
        let mut remote = Self { client, base, key, secret, year, token_url, token: String::new() };
        remote.discover().await?;
        remote.authenticate().await?;
        Ok(remote)
    }

    /// Finds the address of tokens, if the server names one.
    async fn discover(&mut self) -> Result<(), Failure> {
        let url = url(&format!("{}/", self.base))?;
        let request = Request::get(url).header("accept", "application/json");
        let answer = self.send(request.map_err(|error| failure(&error))?).await?;
        let discovery: Option<Value> = serde_json::from_slice(&answer.body).ok();
        if let Some(token_url) = discovery.as_ref().and_then(|d| d["urls"]["oauth"].as_str()) {
            // A server behind a proxy may name an address that is reached only from its own side.
            let path = token_url.split_once("://").map_or(token_url, |(_, rest)| rest);
            let own = self.base.split_once("://").map_or(&*self.base, |(_, rest)| rest);
            if path.starts_with(own) {
                token_url.clone_into(&mut self.token_url);
            }
        }
        Ok(())
    }

    /// Gets a token.
    async fn authenticate(&mut self) -> Result<(), Failure> {
        let body = json!({
            "grant_type": "client_credentials",
            "client_id": self.key,
            "client_secret": self.secret,
        });
        let request = Request::post(url(&self.token_url)?, body.to_string())
            .repeatable()
            .header("content-type", "application/json")
            .map_err(|error| failure(&error))?;
        let answer = self.send(request).await?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        match body["access_token"].as_str() {
            Some(token) if answer.status == 200 => {
                token.clone_into(&mut self.token);
                Ok(())
            }
            _ => {
                let said = body["error_description"].as_str().or_else(|| body["detail"].as_str());
                let said = said.map_or_else(String::new, |said| format!(": {said}"));
                Err(Failure::NotAuthorized(format!(
                    "no token from {}: it answers {}{said}; check --key and --secret",
                    self.token_url, answer.status
                )))
            }
        }
    }

    async fn send(&self, request: Request) -> Result<WholeAnswer, Failure> {
        let answer = self.client.send(request).await.map_err(|error| failure(&error))?;
        answer.whole(ANSWER_BYTES_MAX).await.map_err(|error| failure(&error))
    }

    /// Sends a request with the token, once more with a new one if it has expired, and again while
    /// the server has no room.
    async fn call(
        &mut self,
        method: &Method,
        path: &str,
        (media, body): (&str, bytes::Bytes),
    ) -> Result<WholeAnswer, Failure> {
        let url = url(&format!("{}/api/v2.0/{}/{path}", self.base, self.year))?;
        let (mut is_renewed, mut waited) = (false, Duration::ZERO);
        loop {
            let authorization = format!("Bearer {}", self.token);
            let request = Request::new(method.clone(), url.clone())
                .body(body.clone())
                .repeatable()
                .header("authorization", &authorization)
                .and_then(|request| request.header("content-type", media))
                .map_err(|error| failure(&error))?;
            let answer = self.send(request).await?;
            match answer.status.as_u16() {
                401 if !is_renewed => {
                    is_renewed = true;
                    self.authenticate().await?;
                }
                429 | 503 => {
                    let told = answer.headers.get("retry-after").and_then(|v| v.to_str().ok());
                    let Some(pause) = pause(told, waited) else { return Ok(answer) };
                    if waited.is_zero() {
                        let (status, said) = (answer.status.as_u16(), said(&answer));
                        let minutes = BUSY_TIME_MAX.as_secs() / 60;
                        crate::exit::say_aside!(
                            "the server says that it is busy ({status}): {said}\nasking again every \
                             {} seconds for at most {minutes} minutes",
                            pause.as_secs()
                        );
                    }
                    waited += pause;
                    tokio::time::sleep(pause).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    /// Reads JSON from the server.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn get(&mut self, path: &str) -> Result<Value, Failure> {
        let answer =
            self.call(&Method::GET, path, ("application/json", bytes::Bytes::new())).await?;
        expect(&answer, 200, path)?;
        serde_json::from_slice(&answer.body)
            .map_err(|error| Failure::because("reading the server's answer", error))
    }

    /// Finds the newest operation with a fingerprint.
    ///
    /// # Errors
    ///
    /// As [`Remote::get`].
    pub async fn find(&mut self, fingerprint: &str) -> Result<Option<Value>, Failure> {
        let found = self.get(&format!("bulkOperations?fingerprint={fingerprint}")).await?;
        Ok(found.as_array().and_then(|all| all.first()).cloned())
    }

    /// Creates an operation, or returns the files for which the server has none, with the reason.
    ///
    /// # Errors
    ///
    /// Why the server does not take it.
    pub async fn create(
        &mut self,
        sources: &[Source],
        fingerprint: &str,
    ) -> Result<Result<Value, Vec<(usize, String)>>, Failure> {
        let files: Vec<Value> = sources
            .iter()
            .map(|source| {
                json!({
                    "format": source.format,
                    "interchangeType": source.interchange,
                    "size": source.bytes,
                })
            })
            .collect();
        let body = json!({ "uploadFiles": files, "fingerprint": fingerprint }).to_string();
        let sent = ("application/json", body.into());
        let answer = self.call(&Method::POST, "bulkOperations", sent).await?;
        if answer.status == 400
            && let Some(refused) = refused_files(&answer.body, sources.len())
        {
            return Ok(Err(refused));
        }
        expect(&answer, 201, "creating the operation")?;
        serde_json::from_slice(&answer.body)
            .map(Ok)
            .map_err(|error| Failure::because("reading the server's answer", error))
    }

    /// Uploads a part of a file.
    ///
    /// # Errors
    ///
    /// Why the server does not take it.
    pub async fn chunk(
        &mut self,
        id: &str,
        offset: u64,
        bytes: bytes::Bytes,
    ) -> Result<(), Failure> {
        let path = format!("uploads/{id}/chunk?offset={offset}&size={}", bytes.len());
        let answer = self.call(&Method::POST, &path, ("application/octet-stream", bytes)).await?;
        expect(&answer, 201, "uploading a part of a file")
    }

    /// Ends the upload of a file.
    ///
    /// # Errors
    ///
    /// Why the server does not take it.
    pub async fn commit(&mut self, id: &str) -> Result<(), Failure> {
        let sent = ("application/json", bytes::Bytes::new());
        let answer = self.call(&Method::POST, &format!("uploads/{id}/commit"), sent).await?;
        expect(&answer, 202, "ending the upload of a file")
    }
}

fn url(text: &str) -> Result<Url, Failure> {
    Url::parse(text).map_err(|error| Failure::Usage(format!("--server: {error}")))
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::Url(_) | Error::Header { .. } | Error::Trust { .. } | Error::Identity { .. } => {
            Failure::Usage(chain(error))
        }
        _ => Failure::Unreachable(chain(error)),
    }
}

/// Returns how long to wait before a request is sent again that the server has no room for, unless it
/// has waited long enough. `told` is what the server says.
fn pause(told: Option<&str>, waited: Duration) -> Option<Duration> {
    let seconds = told.and_then(|text| text.parse().ok()).unwrap_or(1);
    let pause = Duration::from_secs(seconds.clamp(1, BUSY_PAUSE_MAX));
    (waited + pause <= BUSY_TIME_MAX).then_some(pause)
}

/// Reads which files an answer refuses, and why, if it says nothing else.
fn refused_files(body: &[u8], files: usize) -> Option<Vec<(usize, String)>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let errors = body["errors"].as_array().filter(|errors| !errors.is_empty())?;
    let refused = errors.iter().map(|error| {
        let (at, why) = error.as_str()?.strip_prefix("uploadFiles[")?.split_once("]: ")?;
        let at = at.parse().ok().filter(|at| *at < files)?;
        Some((at, why.to_owned()))
    });
    refused.collect()
}

/// Returns what an answer says.
fn said(answer: &WholeAnswer) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let first = body["errors"][0].as_str().or_else(|| body["detail"].as_str());
    first.unwrap_or("it gives no reason").to_owned()
}

/// Refuses an answer with another status.
fn expect(answer: &WholeAnswer, status: u16, doing: &str) -> Result<(), Failure> {
    if answer.status == status {
        return Ok(());
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let first = body["errors"][0].as_str().or_else(|| body["detail"].as_str()).unwrap_or("");
    let text = format!("{doing}: the server answers {}: {first}", answer.status);
    Err(match answer.status.as_u16() {
        401 | 403 => Failure::NotAuthorized(text),
        429 | 502..=504 => Failure::Unreachable(text),
        _ => Failure::Failed(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_stays_busy_is_asked_again_for_minutes_and_not_for_hours() {
        for (told, times) in [(Some("60"), 5), (Some("3600"), 5), (Some("1"), 300), (None, 300)] {
            let (mut waited, mut asked) = (Duration::ZERO, 0);
            while let Some(pause) = pause(told, waited) {
                waited += pause;
                asked += 1;
            }
            assert_eq!((asked, waited), (times, BUSY_TIME_MAX), "{told:?}");
        }
    }

    #[test]
    fn the_files_that_a_server_refuses_are_known_if_it_refuses_nothing_else() {
        let answer = |errors: Value| json!({ "errors": errors }).to_string();
        let refused = |errors: Value| refused_files(answer(errors).as_bytes(), 2);

        assert_eq!(
            refused(json!(["uploadFiles[1]: there is no resource x"])),
            Some(vec![(1, "there is no resource x".to_owned())])
        );
        for other in [
            json!([]),
            json!(["no"]),
            json!(["uploadFiles[0]: a", "no"]),
            json!(["uploadFiles[2]: a"]),
        ] {
            assert_eq!(refused(other.clone()), None, "{other}");
        }
    }
}
