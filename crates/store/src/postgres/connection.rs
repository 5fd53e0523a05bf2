//! One connection: how it is made, what it has prepared, how it ends.

mod settings;

pub(super) use settings::Role;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row as SqlRow, RowStream, Statement};

use crate::dialect::with_dollars;
use crate::error::StoreError;
use crate::postgres::error::Fault;
use crate::postgres::strict;
use crate::store::PostgresUrl;

/// Longest wait for a new connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time for a connection to be made, let in and set up.
pub(super) const GREETING: Duration = Duration::from_secs(10);
/// Longest silence of the network that is taken for alive.
const SILENCE: Duration = Duration::from_secs(15);
/// Longest silence of the server; longer than a wait for another node.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Longest wait for another node's transaction.
pub(super) const LOCK: Duration = Duration::from_secs(15);
/// Longest wait until the server has stopped what nobody waits for any more.
const STOP: Duration = Duration::from_secs(5);
/// The pause after which it is told so once more, and twice as long each time.
const STOP_PAUSE: Duration = Duration::from_millis(250);
/// Most statements that a connection keeps prepared.
const PREPARED_MAX: usize = 256;

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    /// Without its password.
    shown: String,
    schema: Option<String>,
    deadline: Duration,
    silence_max: Duration,
    is_strict: bool,
}

impl Connector {
    /// `deadline` is that of a read.
    pub(super) fn new(
        url: &PostgresUrl,
        schema: Option<&str>,
        deadline: Duration,
        is_strict: bool,
    ) -> Result<Self, StoreError> {
        let no_tls = || {
            StoreError::Unusable(format!(
                "{url}: this Homeroom does not speak TLS to PostgreSQL; reach the server by a \
                 socket, a private network or a tunnel, without sslmode"
            ))
        };
        // The driver does not know these two.
        if url.exposed().contains("sslmode=verify-") {
            return Err(no_tls());
        }
        let mut config = Config::from_str(url.exposed()).map_err(|error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            StoreError::Unusable(format!("{url} is no address: {}", why.unwrap_or_default()))
        })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(no_tls());
        }
        if config.get_application_name().is_none() {
            config.application_name("homeroom");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE / 3);
        config.keepalives_interval(SILENCE / 3).keepalives_retries(3);
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let schema = schema.map(str::to_owned);
        let (shown, silence_max) = (url.to_string(), SILENCE_MAX);
        Ok(Self { config, shown, schema, deadline, silence_max, is_strict })
    }

    /// With another longest silence before a connection is taken for lost.
    pub(super) fn with_silence_max(self, silence_max: Duration) -> Self {
        Self { silence_max, ..self }
    }

    /// The address, without its password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Makes a connection, driven by the runtime that this is called on. A server that takes it on
    /// and then says nothing is as good as none.
    pub(super) async fn connect(&self, role: Role) -> Result<Connection, Fault> {
        let made = timeout(GREETING.min(self.silence_max), self.greet(role)).await;
        made.unwrap_or_else(|_| Err(Fault::silent()))
    }

    async fn greet(&self, role: Role) -> Result<Connection, Fault> {
        let (client, driver) = self.config.connect(NoTls).await?;
        let task = tokio::spawn(async move {
            // An error of the connection is told to each statement that waits on it.
            _ = driver.await;
        });
        let connection = Connection {
            client,
            statements: Mutex::default(),
            task,
            is_left: AtomicBool::new(false),
            silence_max: self.silence_max,
            is_strict: self.is_strict,
        };
        for told in
            in_order(self.settings(role).iter().map(|set| connection.client.batch_execute(set)))
                .await
        {
            match told {
                // Not every related database has every setting.
                Err(error) if error.code().is_some_and(|code| code.code() == "42704") => {}
                told => told?,
            }
        }
        Ok(connection)
    }
}

/// A connection that is driven by a task of its own; many may use it at the same time.
pub(super) struct Connection {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    task: JoinHandle<()>,
    /// Whether nobody shall use it any more.
    is_left: AtomicBool,
    silence_max: Duration,
    is_strict: bool,
}

impl Connection {
    /// Whether it is known to be gone, or shall not be used any more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.is_left.load(Ordering::Acquire)
    }

    /// Says that nobody shall use it any more.
    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
    }

    /// Ends it at once, whatever is still under way on it.
    pub(super) fn abandon(&self) {
        self.task.abort();
    }

    /// As [`Connection::abandon`]; comes back when its socket is closed, also where nothing drives
    /// this runtime afterwards.
    pub(super) async fn end(self) {
        self.task.abort();
        _ = self.task.await;
    }

    /// Has the server stop what it does on it, waits a moment until it has, and ends it.
    pub(super) async fn stop(&self) {
        self.leave();
        let stopping = async {
            // Comes after what is stopped. A cancellation may come too early: what it shall stop is
            // still on its way.
            let mut free = pin!(self.client.batch_execute("ROLLBACK"));
            let mut pause = STOP_PAUSE;
            loop {
                let token = self.client.cancel_token();
                let told = async {
                    _ = token.cancel_query(NoTls).await;
                    tokio::time::sleep(pause).await;
                };
                if tokio::select! { _ = &mut free => true, () = told => false } {
                    break;
                }
                pause *= 2;
            }
        };
        _ = timeout(STOP, stopping).await;
        self.abandon();
    }

    /// Waits for an answer as long as a server may be silent.
    pub(super) async fn answered<T>(
        &self,
        asking: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        timeout(self.silence_max, asking).await.unwrap_or_else(|_| Err(Fault::silent()))
    }

    /// Runs statements without arguments, divided by semicolons.
    pub(super) async fn simple(&self, text: &str) -> Result<(), Fault> {
        self.look_at(text)?;
        Ok(self.client.batch_execute(text).await?)
    }

    /// A statement with `?1`, `?2` …, prepared once.
    pub(super) async fn prepared(&self, text: &str) -> Result<Statement, Fault> {
        if let Some(known) = self.statements().get(text) {
            return Ok(known.clone());
        }
        self.look_at(text)?;
        let statement = self.client.prepare(&with_dollars(text)).await?;
        let mut statements = self.statements();
        if statements.len() >= PREPARED_MAX {
            statements.clear();
        }
        statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs a prepared statement and gives all its rows.
    pub(super) async fn all(
        &self,
        statement: &Statement,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, Fault> {
        Ok(self.client.query(statement, arguments).await?)
    }

    /// Runs a prepared statement that gives no rows.
    pub(super) async fn execute(
        &self,
        statement: &Statement,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Fault> {
        self.client.execute(statement, arguments).await?;
        Ok(())
    }

    /// Prepares, runs, and gives all rows.
    pub(super) async fn query(
        &self,
        text: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, Fault> {
        let statement = self.prepared(text).await?;
        self.all(&statement, arguments).await
    }

    /// Prepares, runs, and gives the rows as they come.
    pub(super) async fn stream<'a>(
        &self,
        text: &str,
        arguments: impl ExactSizeIterator<Item = &'a (dyn ToSql + Sync)>,
    ) -> Result<RowStream, Fault> {
        let statement = self.prepared(text).await?;
        Ok(self.client.query_raw(&statement, arguments).await?)
    }

    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<String, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, text: &str) -> Result<(), Fault> {
        if self.is_strict { strict::check(text).map_err(Fault::Own) } else { Ok(()) }
    }
}

/// A connection that several probes share.
pub(super) type Shared = Arc<Connection>;

/// Waits for all, each begun in turn before any is waited for: on a connection, statements in one
/// flight. Gives what came of them in their order.
pub(super) async fn in_order<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_ready = true;
        for (future, output) in all.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(value) => *output = Some(value),
                Poll::Pending => is_ready = false,
            }
        }
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, output)| output).collect()
}
