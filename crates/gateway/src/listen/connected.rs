//! For tests: a connection that a server has accepted, without the server.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use super::connection::{Connection, Place, Times};
use super::wire::Wire;
use crate::budget::{Budget, Capacity, Taken};
use crate::caller::{Caller, Way};
use crate::callers::Callers;
use crate::entrance::Entrance;

/// Long enough for a loaded machine; no test waits this long.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Both ends of a connection without TLS.
pub(super) struct Connected {
    pub(super) client: TcpStream,
    pub(super) connection: Connection,
    pub(super) caller: Arc<Caller>,
    pub(super) callers: Arc<Callers>,
}

/// Connects to a server whose entrance lets everybody in.
pub(super) async fn connected(times: Times) -> Connected {
    connected_by(&Arc::new(Entrance::new(64)), times).await
}

/// Connects to a server with this entrance.
pub(super) async fn connected_by(entrance: &Arc<Entrance>, times: Times) -> Connected {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let callers = Callers::new(PATIENCE, Arc::clone(entrance));
    let caller = callers.arrived([127, 0, 0, 1].into(), Way::BARE);
    let connections = Budget::new(Capacity::Connections, 1, 0);
    let taken = Taken::of(connections, caller.holders(), 1).unwrap();
    let place = Place { _taken: taken, _registered: callers.register(&caller) };
    let connection = Connection::new(Wire::Bare(stream), place, Arc::clone(&caller), times);
    Connected { client, connection, caller, callers }
}
