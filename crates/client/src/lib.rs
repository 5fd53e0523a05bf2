//! The HTTP client that Homeroom, its lab and its tasks use for every request that they send, except
//! for the load that the lab measures.
//!
//! A [`Client`] has a pool of connections and speaks HTTP/1.1 and HTTP/2. Its [`Settings`] are values:
//! a time-out for each [`Phase`], [`Retries`], [`Redirects`], an [`AddressPolicy`] against server-side
//! request forgery. Code that needs other settings creates a client of its own.
//!
//! ```
//! # use std::io::{Read as _, Write as _};
//! use std::time::Duration;
//!
//! use homeroom_client::{Client, Error, Request, Settings, Url};
//!
//! # let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
//! # let address = listener.local_addr().unwrap();
//! # std::thread::spawn(move || {
//! #     let (mut stream, _) = listener.accept().unwrap();
//! #     let _ = stream.read(&mut [0; 4096]).unwrap();
//! #     stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
//! # });
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # runtime.block_on(async {
//! let url = Url::parse(&format!("http://{address}/greeting"))?;
//!
//! // A URL that somebody else has chosen does not lead to this machine.
//! let guarded = Client::new(Settings::default())?;
//! let refused = guarded.send(Request::get(url.clone())).await;
//! assert!(matches!(refused, Err(Error::Refused { .. })));
//!
//! // A URL that the operator has set may.
//! let trusted = Client::new(Settings::trusted(Duration::from_secs(10)))?;
//! let answer = trusted.send(Request::get(url).header("accept", "text/plain")?).await?;
//! assert_eq!(answer.status(), 200);
//! assert_eq!(&answer.whole(1024).await?.body[..], b"hello");
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```

mod address;
mod answer;
mod blocking;
mod client;
mod connect;
mod connections;
mod driven;
mod error;
mod outgoing;
mod permits;
mod quiet;
mod redirect;
mod request;
mod resolver;
mod retry;
mod secret;
mod settings;
mod stall;
mod times;
mod tls;
mod url;

pub use address::{AddressPolicy, Exceptions, Network, NetworkError, Range};
pub use answer::{Answer, AnswerBody, WholeAnswer};
pub use blocking::BlockingClient;
pub use client::Client;
pub use connections::Connections;
pub use error::{Cause, Error, Phase, Tried};
pub use http::Method;
pub use redirect::Redirects;
pub use request::{OWN_HEADERS, Request, Stream};
pub use resolver::Resolver;
pub use retry::{Attempt, BackOff, Ended, Retries};
pub use secret::{is_place, reveal};
pub use settings::{Pool, Settings};
pub use times::Times;
pub use tls::{Identity, Trust, Versions};
pub use url::{Origin, Url, UrlError};
