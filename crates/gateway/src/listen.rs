//! Listening: connections with limits on time and size, and a drain at the end.
#![expect(
    clippy::disallowed_methods,
    reason = "it measures the time until a request's header was complete"
)]

#[cfg(test)]
mod connected;
mod connection;
mod conversation;
mod farewell;
mod framing;
mod head;
mod lent;
mod seldom;
mod wire;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use h2::Reason;
use homeroom_http::{Fingerprint, RequestBody, Response, Site};
use http::header::CONNECTION;
use http::{HeaderValue, Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{oneshot, watch};

use crate::answer_room::SMALL_ANSWER;
use crate::budget::{Capacity, Refused};
use crate::caller::{Caller, Leave, Way};
use crate::front_door::FrontDoor;
use crate::tls::Tls;
use connection::{Connection, Place};
use conversation::{Versions, converse};
use head::malformed;
use wire::Wire;

/// Most new connections that the system keeps until they are accepted; it may have a lower limit. When
/// the queue is full, a client notices nothing and asks again after one second, then after two more.
const BACKLOG: u32 = 4_096;
/// How long a connection is idle before it gives back what HTTP needs of memory.
const REST_AFTER: Duration = Duration::from_secs(2);
/// Pause before a connection that finds no place asks again.
const PLACE_PAUSE: Duration = Duration::from_millis(5);
/// Longest wait for the place of a connection.
const CONNECTION_WAIT_MAX: Duration = Duration::from_secs(1);
/// The fraction of all connections, or of one address's, that is closed at once to make room: 1 in
/// this many.
const CLOSED_FOR_ROOM: u64 = 128;

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process listens there.
    #[error("{0} is in use; stop what listens there or choose another address")]
    InUse(SocketAddr),
    /// The address cannot be used for another reason.
    #[error("cannot listen on {0}: {1}")]
    Unusable(SocketAddr, std::io::Error),
}

/// Time limits of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Longest time for a request's header to arrive, from its first byte.
    pub header: Duration,
    /// Longest wait for open requests when the server stops.
    pub drain: Duration,
}

/// Pause between two looks at the files of certificates.
const CERTIFICATES_PAUSE: Duration = Duration::from_secs(1);

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    site: Site,
}

impl Listener {
    /// Binds an address. Must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ListenError`] says what to do.
    pub fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let socket = bound(address).map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => ListenError::InUse(address),
            _ => ListenError::Unusable(address, error),
        })?;
        let address = socket.local_addr().map_err(|error| ListenError::Unusable(address, error))?;
        Ok(Self { socket, address, tls: None, site: Site::Api })
    }

    /// Returns the same listener, whose connections are all within TLS. Certificates are read again
    /// when their files change.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// Returns the same listener, which serves the routes of another site than the API.
    #[must_use]
    pub fn of(self, site: Site) -> Self {
        Self { site, ..self }
    }

    /// Returns the address, with the port that was chosen for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` completes, then drains.
    pub async fn serve(self, door: Arc<FrontDoor>, stop: impl Future<Output = ()>, times: Times) {
        let versions = Arc::new(Versions::new());
        let mut over_share: VecDeque<oneshot::Sender<()>> = VecDeque::new();
        let quiet = door.limits().quiet;
        let limits = connection::Times { header: times.header, quiet, rest: REST_AFTER };
        let (drain, _) = watch::channel(());
        let refreshing = self.tls.clone().map(|tls| tokio::spawn(refresh(tls)));
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut stop => break,
            };
            let (connection, from) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // When no file descriptors are left, idle connections are closed to free some.
                    close_idle(&door, 0);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let way = Way { site: self.site, is_secure: self.tls.is_some() };
            let caller = door.callers().arrived(from.ip(), way);
            let place = match take_place(&door, &caller) {
                // Every connection has to wait, so no new one is accepted meanwhile.
                Err(refused) if refused.share_of().is_none() => tokio::select! {
                    place = place_of(&door, &caller) => place.map(Ok),
                    () = &mut stop => break,
                },
                // Only this address has to wait; others are let in.
                Err(_) => {
                    over_share.retain(|waits| !waits.is_closed());
                    if over_share.len() >= door.limits().waiting_connections {
                        drop(over_share.pop_front());
                        door.callers().was_sent_away();
                    }
                    let (waits, sent_away) = oneshot::channel();
                    over_share.push_back(waits);
                    Some(Err(sent_away))
                }
                Ok(place) => Some(Ok(place)),
            };
            let Some(place) = place else {
                tracing::trace!("a connection was closed for lack of a place");
                continue;
            };
            _ = connection.set_nodelay(true);
            let (versions, door, tls) =
                (Arc::clone(&versions), Arc::clone(&door), self.tls.clone());
            let draining = drain.subscribe();
            tokio::spawn(async move {
                // What is needed only now is freed before the connection may be idle for long.
                let begun = Box::pin(begin(connection, place, tls, &door, &caller, limits.header));
                let Some((wire, place)) = begun.await else { return };
                let connection = Connection::new(wire, place, Arc::clone(&caller), limits);
                // Of its own, since all connections would count at that of the door.
                let desk = Arc::new(Desk { door, caller: Arc::clone(&caller) });
                let service = service_fn(move |request| answer(Arc::clone(&desk), request));
                converse(Box::new(connection), service, versions, caller, draining).await;
            });
        }
        drop(self.socket);
        if let Some(refreshing) = refreshing {
            refreshing.abort();
        }
        _ = drain.send(());
        if tokio::time::timeout(times.drain, drain.closed()).await.is_err() {
            tracing::warn!("connections were still open after the drain time");
        }
    }
}

/// A socket on which the system keeps up to [`BACKLOG`] new connections.
fn bound(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Reads certificates again whenever their files change.
async fn refresh(tls: Tls) {
    loop {
        tokio::time::sleep(CERTIFICATES_PAUSE).await;
        let reading = tls.clone();
        match tokio::task::spawn_blocking(move || reading.refresh()).await {
            Ok(Ok(true)) => tracing::info!("certificates have changed and were read again"),
            Ok(Err(error)) => {
                tracing::error!(%error, "a changed file of TLS cannot be used; what was read before stays");
            }
            Ok(Ok(false)) | Err(_) => {}
        }
    }
}

/// Waits for the place of a connection that has none yet, and begins TLS where the listener has it.
/// Returns [`None`] for a connection that is closed.
async fn begin(
    stream: TcpStream,
    place: Result<Place, oneshot::Receiver<()>>,
    tls: Option<Tls>,
    door: &FrontDoor,
    caller: &Arc<Caller>,
    time_max: Duration,
) -> Option<(Wire, Place)> {
    let place = match place {
        Ok(place) => place,
        Err(sent_away) => {
            let _waits = door.callers().waits();
            tokio::select! {
                place = place_of(door, caller) => place?,
                _ = sent_away => {
                    door.budgets().of(Capacity::Connections).count_refused();
                    return None;
                }
            }
        }
    };
    let wire = match tls {
        None => Wire::Bare(stream),
        Some(tls) => within(&tls, stream, caller, time_max).await?,
    };
    Some((wire, place))
}

/// Begins TLS on a connection. Returns [`None`] for a client that does not, or not in time.
async fn within(tls: &Tls, stream: TcpStream, caller: &Caller, time_max: Duration) -> Option<Wire> {
    let begun = tokio::select! {
        begun = tokio::time::timeout(time_max, tls.acceptor().accept(stream)) => begun,
        () = caller.told_to(Leave::Politely) => return None,
    };
    match begun {
        Ok(Ok(stream)) => {
            if let Some([certificate, ..]) = stream.get_ref().1.peer_certificates() {
                caller.has_shown(Fingerprint::of(certificate));
            }
            Some(Wire::Tls(Box::new(stream)))
        }
        Ok(Err(error)) => {
            tracing::trace!(%error, "a connection did not begin TLS");
            None
        }
        Err(_) => None,
    }
}

/// Takes the place of a new connection, which counts as refused only once it is closed for lack of one.
fn take_place(door: &FrontDoor, caller: &Arc<Caller>) -> Result<Place, Refused> {
    let taken = door.budgets().attempt(Capacity::Connections, &caller.holders(), 1)?;
    Ok(Place { _taken: taken, _registered: door.callers().register(caller) })
}

/// Waits for the place of a new connection and closes idle ones to make room. When only the new
/// connection's address has used up its share, only addresses with as many connections lose some.
/// Returns [`None`] after [`CONNECTION_WAIT_MAX`].
async fn place_of(door: &FrontDoor, caller: &Arc<Caller>) -> Option<Place> {
    let begun = Instant::now();
    loop {
        match take_place(door, caller) {
            Ok(place) => return Some(place),
            Err(_) if begun.elapsed() >= CONNECTION_WAIT_MAX => {
                door.budgets().of(Capacity::Connections).count_refused();
                return None;
            }
            Err(refused) => {
                let is_of_all = refused.share_of().is_none();
                close_idle(door, if is_of_all { 0 } else { caller.connections_of_address() });
            }
        }
        tokio::time::sleep(PLACE_PAUSE).await;
    }
}

/// Closes some connections that are not at work, of addresses that have at least `of_at_least`.
fn close_idle(door: &FrontDoor, of_at_least: u64) {
    let size = door.budgets().of(Capacity::Connections).size();
    let all = if of_at_least == 0 { size } else { of_at_least };
    let count = usize::try_from(all.div_ceil(CLOSED_FOR_ROOM)).unwrap_or(1);
    door.callers().close_idle(count, of_at_least);
}

/// Where the requests of a connection are answered.
struct Desk {
    door: Arc<FrontDoor>,
    caller: Arc<Caller>,
}

/// Answers one request of a connection.
///
/// # Errors
///
/// `REFUSED_STREAM` for an HTTP/2 request for which there is no room: it can be sent again (RFC
/// 9113 §8.7), and no answer has to be kept for a caller that may not read it.
async fn answer(desk: Arc<Desk>, request: Request<Incoming>) -> Result<Response, h2::Error> {
    let Desk { door, caller } = &*desk;
    let one = caller.one();
    let (head, body) = request.into_parts();
    if head.version <= Version::HTTP_11 {
        // It may have been read in pieces, or with the one before.
        poll_fn(|cx| if caller.is_let_in(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
    // Each HTTP/2 answer waits for the caller's flow control on its own.
    let (small, place) = match head.version {
        Version::HTTP_2 => match door.stream(caller, &head) {
            Ok(place) => (0, Some(place)),
            Err(_) => {
                one.answered();
                return Err(Reason::REFUSED_STREAM.into());
            }
        },
        _ => (SMALL_ANSWER, None),
    };
    let is_last = (door.is_leaving() || caller.is_leaving()) && head.version <= Version::HTTP_11;
    let mut answer = match malformed(&head) {
        Some(fault) => FrontDoor::refuse(&head, fault),
        None => door.answer_to(caller, head, RequestBody::from(body)).await,
    };
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        caller.changed_protocol();
    } else if is_last {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    one.answered();
    caller.leaves();
    let is_followed = answer.body().as_whole().is_none_or(|bytes| bytes.len() as u64 > small);
    if place.is_none() && !is_followed {
        return Ok(answer);
    }
    Ok(caller.sending.follow(answer, small, place, Instant::now()))
}
