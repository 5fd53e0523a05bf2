//! What all threads of an engine know.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;

use super::connection::Protocol;
use super::target::Target;
use super::transport::Transport;

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct Options {
    /// To whom.
    pub target: Target,
    /// Which form of HTTP is spoken.
    pub protocol: Protocol,
    /// At most so many connections for requests at a rate, over all threads; modelled clients have
    /// one each, whatever stands here.
    pub connections: u32,
    /// After this, a request has failed.
    pub timeout: Duration,
    /// How long answers are waited for, and what is late is sent, after the last stage.
    pub drain: Duration,
    /// How much later than due a request may be sent, so that several can go at a time: it saves
    /// processor time and costs precision. Zero for each at its moment.
    pub slack: Duration,
    /// Sending threads.
    pub threads: usize,
    /// Local addresses that connections go out from, in turn; empty for the system's choice. One
    /// address has room for some 28,000 connections to a server; of the loopback, more are taken
    /// as they are needed.
    pub from: Vec<IpAddr>,
    /// Whether tenths of a second are kept, for trials.
    pub bins: bool,
    /// How TLS trusts, where the target asks for it.
    pub tls: Option<Arc<ClientConfig>>,
}

/// What all threads of an engine know.
#[derive(Debug)]
pub struct Shared {
    /// How requests are sent.
    pub options: Options,
    /// Scheme, name and port.
    pub origin: String,
    /// The header line that all requests have: `Host`.
    pub lines: Vec<u8>,
    /// Tells all threads to end.
    pub stop: Arc<AtomicBool>,
    token: RwLock<Arc<[u8]>>,
    addresses: Vec<SocketAddr>,
    name: Option<ServerName<'static>>,
    opened: AtomicUsize,
}

impl Shared {
    /// Finds the target's addresses.
    ///
    /// # Errors
    ///
    /// It has none, or no name that a certificate could have.
    pub fn new(options: Options, stop: Arc<AtomicBool>) -> Result<Self, super::EngineError> {
        let addresses = options.target.resolve()?;
        let name = match &options.tls {
            Some(_) => {
                let name = options.target.name().to_owned();
                Some(ServerName::try_from(name).map_err(|_| super::EngineError::Name)?)
            }
            None => None,
        };
        let lines = format!("Host: {}\r\n", options.target.authority());
        let scheme = if options.target.secure { "https" } else { "http" };
        Ok(Self {
            origin: format!("{scheme}://{}", options.target.authority()),
            options,
            lines: lines.into_bytes(),
            stop,
            token: RwLock::new(Arc::from(&b""[..])),
            addresses,
            name,
            opened: AtomicUsize::new(0),
        })
    }

    /// The header line with the token; empty without one.
    pub fn token(&self) -> Arc<[u8]> {
        self.token.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// From now on this token goes with requests that ask for one.
    pub fn set_token(&self, token: &str) {
        let line = format!("Authorization: Bearer {token}\r\n");
        *self.token.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Arc::from(line.as_bytes());
    }

    /// Begins a connection: addresses take turns, on both sides.
    ///
    /// # Errors
    ///
    /// There is no socket to be had, or no way to the target.
    pub fn open(&self) -> io::Result<Transport> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let to = self.addresses[number % self.addresses.len()];
        let from = match self.options.from.as_slice() {
            [] => beyond(to, number),
            addresses => Some(addresses[number % addresses.len()]),
        };
        let tls = self.options.tls.as_ref().zip(self.name.clone()).map(|(config, name)| {
            // A session of its own: no modelled client takes up another's.
            let mut config = ClientConfig::clone(config);
            config.resumption = Resumption::in_memory_sessions(1);
            (Arc::new(config), name)
        });
        Transport::open(to, from, tls)
    }
}

/// Connections from one address, below the ports that a system usually has for them.
const PORTS: usize = 20_000;
/// Addresses of the loopback that are taken in turn.
const ADDRESSES: usize = 200;

/// An address of the loopback for a connection to it that one address may have no port for.
fn beyond(to: SocketAddr, number: usize) -> Option<IpAddr> {
    let turn = number / PORTS % ADDRESSES;
    let is_local = to.ip().is_loopback() && to.is_ipv4();
    (is_local && turn > 0).then(|| IpAddr::from([127, 0, 1, u8::try_from(turn).unwrap_or(1)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_the_loopback_take_further_addresses_when_ports_run_out() {
        let local = "127.0.0.1:80".parse().unwrap();
        let far = "192.0.2.1:80".parse().unwrap();

        assert_eq!(beyond(local, PORTS - 1), None);
        assert_eq!(beyond(local, PORTS), Some(IpAddr::from([127, 0, 1, 1])));
        assert_eq!(beyond(local, 2 * PORTS), Some(IpAddr::from([127, 0, 1, 2])));
        assert_eq!(beyond(far, 10 * PORTS), None);
    }
}
