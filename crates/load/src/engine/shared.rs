//! The state that all threads of an engine share.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;

use super::connection::Protocol;
use super::error::EngineError;
use super::target::{Target, TargetError};
use super::transport::Transport;
use crate::outcome::Outcome;

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server to send to.
    pub target: Target,
    /// The version of HTTP to use.
    pub protocol: Protocol,
    /// The most connections for requests at a rate, over all threads. Modelled clients have one
    /// each, whatever the value.
    pub connections: u32,
    /// The time after which a request has failed.
    pub timeout: Duration,
    /// How long after the last stage answers are awaited and late requests are still sent.
    pub drain: Duration,
    /// How much later than due a request may be sent, so that several can be sent together. This
    /// saves processor time and costs precision; zero sends each at its own moment.
    pub slack: Duration,
    /// Whether all connections are opened and used in turn. Otherwise a request is sent over the
    /// connection that was used last, and no more are opened than are needed at a time.
    pub spread: bool,
    /// The number of sending threads.
    pub threads: usize,
    /// The local addresses of outgoing connections, in turn; empty for the system's choice. One
    /// address has room for some 28,000 connections to a server; on the loopback interface, more
    /// addresses are used as needed.
    pub from: Vec<IpAddr>,
    /// Whether figures are kept for each tenth of a second, as trials need them.
    pub bins: bool,
    /// The TLS configuration, where the target uses TLS.
    pub tls: Option<Arc<ClientConfig>>,
}

/// The state that all threads of an engine share.
#[derive(Debug)]
pub struct Shared {
    /// How requests are sent.
    pub options: Options,
    /// The origin: scheme, name and port.
    pub origin: String,
    /// The header line that all requests have: `Host`.
    pub lines: Vec<u8>,
    /// Tells all threads to end.
    pub stop: Arc<AtomicBool>,
    token: RwLock<Arc<[u8]>>,
    /// The remote address and local address of connections, used in turn.
    ways: Vec<(SocketAddr, Option<IpAddr>)>,
    name: Option<ServerName<'static>>,
    opened: AtomicUsize,
}

impl Shared {
    /// Resolves the target's addresses. If there are several, those at which something listens are
    /// used.
    ///
    /// # Errors
    ///
    /// If the target has no address, none that the given local addresses can reach, or a name that
    /// is not valid in a certificate.
    pub fn new(options: Options, stop: Arc<AtomicBool>) -> Result<Self, EngineError> {
        let ways = ways(options.target.resolve()?, &options.from);
        if ways.is_empty() {
            let why = "it has no address of the same family as the local addresses".into();
            return Err(TargetError::NoAddress { host: options.target.host, why }.into());
        }
        let name = match &options.tls {
            Some(_) => {
                let name = options.target.name().to_owned();
                Some(ServerName::try_from(name).map_err(|_| EngineError::Name)?)
            }
            None => None,
        };
        let lines = format!("Host: {}\r\n", options.target.authority());
        Ok(Self {
            origin: options.target.origin(),
            options,
            lines: lines.into_bytes(),
            stop,
            token: RwLock::new(Arc::from(&b""[..])),
            ways,
            name,
            opened: AtomicUsize::new(0),
        })
    }

    /// Returns the header line with the token; empty without a token.
    pub fn token(&self) -> Arc<[u8]> {
        self.token.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Sends this token from now on with requests that need one.
    pub fn set_token(&self, token: &str) {
        let line = format!("Authorization: Bearer {token}\r\n");
        *self.token.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Arc::from(line.as_bytes());
    }

    /// Opens a connection, using remote and local addresses in turn.
    ///
    /// # Errors
    ///
    /// If no socket is available, or the target cannot be reached.
    pub fn open(&self) -> Result<Transport, Outcome> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let (to, from) = self.ways[number % self.ways.len()];
        let from = from.or_else(|| beyond(to, number));
        let tls = self.options.tls.as_ref().zip(self.name.clone()).map(|(config, name)| {
            // Each connection has its own TLS session store, so no client resumes another's
            // session.
            let mut config = ClientConfig::clone(config);
            config.resumption = Resumption::in_memory_sessions(1);
            (Arc::new(config), name)
        });
        Transport::open(to, from, tls)
    }
}

/// The time within which one of several addresses must accept a connection to be used.
const REACHED_WITHIN: Duration = Duration::from_secs(2);

/// Pairs each remote address with a local one. Without given local addresses the system chooses.
fn ways(to: Vec<SocketAddr>, from: &[IpAddr]) -> Vec<(SocketAddr, Option<IpAddr>)> {
    if from.is_empty() {
        return reached(to).into_iter().map(|to| (to, None)).collect();
    }
    let fits = |to: &SocketAddr, from: &IpAddr| to.is_ipv4() == from.is_ipv4();
    let to = to.into_iter().filter(|to| from.iter().any(|from| fits(to, from))).collect();
    let to = reached(to);
    let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (*to, *from)));
    pairs.filter(|(to, from)| fits(to, from)).map(|(to, from)| (to, Some(from))).collect()
}

/// Returns the addresses at which something listens, or all of them if nothing listens anywhere. A
/// single address is not tried.
fn reached(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    if addresses.len() < 2 {
        return addresses;
    }
    let is_there = |to: &SocketAddr| TcpStream::connect_timeout(to, REACHED_WITHIN).is_ok();
    let found: Vec<bool> = thread::scope(|scope| {
        let trying: Vec<_> = addresses.iter().map(|to| scope.spawn(move || is_there(to))).collect();
        trying.into_iter().map(|one| one.join().unwrap_or(false)).collect()
    });
    if !found.contains(&true) {
        return addresses;
    }
    addresses.into_iter().zip(found).filter(|(_, there)| *there).map(|(to, _)| to).collect()
}

/// The most connections from one address. A system has more ports than that, and a server with 16,384 places
/// leaves that many to each of five addresses.
const CONNECTIONS_PER_ADDRESS: usize = 3_000;
/// The number of loopback addresses that are used in turn.
const ADDRESSES: usize = 200;

/// Returns another loopback address for a connection that one address may have no port for.
fn beyond(to: SocketAddr, number: usize) -> Option<IpAddr> {
    let turn = number / CONNECTIONS_PER_ADDRESS % ADDRESSES;
    let is_local = to.ip().is_loopback() && to.is_ipv4();
    (is_local && turn > 0).then(|| IpAddr::from([127, 0, 1, u8::try_from(turn).unwrap_or(1)]))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn only_addresses_where_something_listens_are_used() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let alive = listener.local_addr().unwrap();
        let dead = [2, 3].map(|last| SocketAddr::from(([127, 0, 0, last], alive.port())));

        assert_eq!(ways(vec![dead[0], alive], &[]), [(alive, None)]);
        assert_eq!(ways(dead.to_vec(), &[]), dead.map(|to| (to, None)));
    }

    #[test]
    fn local_addresses_have_the_family_of_the_target() {
        let four: SocketAddr = "192.0.2.1:80".parse().unwrap();
        let six: SocketAddr = "[2001:db8::1]:80".parse().unwrap();
        let own = ["127.0.0.1", "127.0.0.2"].map(|text| text.parse::<IpAddr>().unwrap());

        assert_eq!(ways(vec![six, four], &own), own.map(|from| (four, Some(from))));
        assert_eq!(ways(vec![six], &own), []);
    }

    #[test]
    fn loopback_connections_use_further_addresses_before_ports_and_shares_run_out() {
        let local = "127.0.0.1:80".parse().unwrap();
        let far = "192.0.2.1:80".parse().unwrap();

        assert_eq!(beyond(local, CONNECTIONS_PER_ADDRESS - 1), None);
        assert_eq!(beyond(local, CONNECTIONS_PER_ADDRESS), Some(IpAddr::from([127, 0, 1, 1])));
        assert_eq!(beyond(local, 2 * CONNECTIONS_PER_ADDRESS), Some(IpAddr::from([127, 0, 1, 2])));
        assert_eq!(beyond(far, 10 * CONNECTIONS_PER_ADDRESS), None);
        let addresses: std::collections::BTreeSet<_> =
            (0..50_000).map(|number| beyond(local, number)).collect();
        assert_eq!(addresses.len(), 17, "50,000 connections");
    }
}
