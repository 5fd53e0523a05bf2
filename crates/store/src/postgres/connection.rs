//! One connection: how it is opened, what it has prepared, how it ends.

mod settings;

pub(super) use settings::{LOCK, Role};

use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{
    Client, Config, CopyInSink, CopyOutStream, Row as SqlRow, RowStream, Socket, Statement,
};

use crate::carried::Table;
use crate::dialect::with_dollars;
use crate::error::StoreError;
use crate::postgres::error::{Fault, damaged};
use crate::postgres::pooling::{self, Known, Pooled, Typed};
use crate::postgres::servers::{self, Server};
use crate::postgres::strict;
use crate::postgres::tls::{Stream, Tls, mend, split};
use crate::store::{ESCAPED, PostgresUrl};

/// Longest wait for the network connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time to connect, authenticate and set a session up.
pub(super) const GREETING: Duration = Duration::from_secs(10);
/// Longest silence of the network before a connection counts as lost.
const SILENCE: Duration = Duration::from_secs(15);
/// Longest silence of the server; longer than a wait for another node.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Longest wait until the server has stopped abandoned work.
const STOP: Duration = Duration::from_secs(5);
/// The pause before the cancellation is sent again; it doubles each time.
const STOP_PAUSE: Duration = Duration::from_millis(250);
/// Steps in which the time of a list's statements is limited.
const LIMIT_STEP: Duration = Duration::from_millis(250);
/// How the driver's message about a failed handshake begins.
const HANDSHAKE: &str = "error performing TLS handshake";
/// The columns of a table, and the numbers of their types.
const COLUMNS: &str = "SELECT CAST(attname AS text), CAST(atttypid AS bigint) FROM pg_attribute \
     WHERE attrelid = CAST(CAST(?1 AS text) AS regclass) AND attnum > 0 AND NOT attisdropped";
/// Most prepared statements that a connection keeps, and most of those for many rows of arguments.
const PREPARED_MAX: usize = 256;

/// A connection that nobody drives yet.
type Opened = (Client, tokio_postgres::Connection<Socket, Stream>);

/// Opens connections.
#[derive(Clone)]
pub(super) struct Connector {
    servers: Vec<Server>,
    tls: Tls,
    /// The address without its password.
    shown: String,
    schema: Option<String>,
    deadline: Duration,
    silence_max: Duration,
    is_strict: bool,
    /// What was learnt of statements, where a pooler divides sessions.
    known: Option<Known>,
    refused_for_many: Refused,
}

/// Statements that a server has refused in the form for many rows of arguments; the connections of a store
/// share them.
#[derive(Debug, Clone, Default)]
struct Refused(Arc<Mutex<HashSet<String>>>);

impl Refused {
    fn has(&self, text: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
    }

    fn add(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
    }
}

impl Connector {
    /// Creates a connector; `deadline` applies to reads.
    pub(super) fn new(
        url: &PostgresUrl,
        schema: Option<&str>,
        deadline: Duration,
        is_strict: bool,
    ) -> Result<Self, StoreError> {
        let wrong = |error| StoreError::Unusable(format!("{url}: {error}"));
        url.check().map_err(wrong)?;
        let (address, is_pooled) = pooling::split(url.exposed()).map_err(wrong)?;
        let (address, options) = split(&address).map_err(wrong)?;
        let mut config = Config::from_str(&address).map_err(|error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            StoreError::Unusable(format!(
                "{url} is not a valid address: {}; in a user and a password, {ESCAPED}",
                why.unwrap_or_default()
            ))
        })?;
        let tls = Tls::new(&options)?;
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        if config.get_hosts().iter().all(is_socket) && tls.is_optional() {
            config.ssl_mode(SslMode::Disable);
        } else {
            config.ssl_mode(tls.driver_mode());
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
        let servers = servers::of(&config);
        let (shown, silence_max) = (url.to_string(), SILENCE_MAX);
        let known = is_pooled.then(Known::default);
        let refused_for_many = Refused::default();
        Ok(Self {
            servers,
            tls,
            shown,
            schema,
            deadline,
            silence_max,
            is_strict,
            known,
            refused_for_many,
        })
    }

    /// Sets another longest silence before a connection counts as lost.
    pub(super) fn with_silence_max(self, silence_max: Duration) -> Self {
        Self { silence_max, ..self }
    }

    /// Returns the address without its password.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Opens a connection, driven by the current runtime. A server that accepts it but then stays
    /// silent counts as unreachable.
    pub(super) async fn connect(&self, role: Role) -> Result<Connection, Fault> {
        let made = timeout(GREETING.min(self.silence_max), self.greet(role)).await;
        made.unwrap_or_else(|_| Err(Fault::silent().at(&self.hosts())))
    }

    /// Returns its servers, as errors name them.
    fn hosts(&self) -> String {
        self.servers.iter().map(|server| &*server.shown).collect::<Vec<_>>().join(", ")
    }

    /// Opens a connection to the first server that gives one.
    async fn open(&self) -> Result<Opened, Fault> {
        let mut faults = vec![];
        for server in servers::in_turn(&self.servers) {
            match self.open_at(&server.config).await {
                Ok(opened) => return Ok(opened),
                Err(fault) => faults.push(fault.at(&server.shown)),
            }
        }
        Err(Fault::of_all(faults))
    }

    /// Opens a connection to one server, secured as the URL asks for.
    async fn open_at(&self, config: &Config) -> Result<Opened, Fault> {
        let error = match config.connect(self.tls.clone()).await {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let text = error.to_string();
        if !text.starts_with(HANDSHAKE) {
            return Err(error.into());
        }
        if self.tls.is_optional() {
            // As in libpq: who only prefers TLS does without rather than not at all.
            let mut plain = config.clone();
            plain.ssl_mode(SslMode::Disable);
            return Ok(plain.connect(self.tls.clone()).await?);
        }
        let why = std::error::Error::source(&error).map_or(text, ToString::to_string);
        Err(Fault::Lost(format!("TLS: {why}; {}", mend(&why))))
    }

    async fn greet(&self, role: Role) -> Result<Connection, Fault> {
        let (client, driver) = self.open().await?;
        let task = tokio::spawn(async move {
            // Every statement that waits on the connection gets the connection's error.
            _ = driver.await;
        });
        let connection = Connection {
            client,
            tls: self.tls.clone(),
            statements: Mutex::default(),
            for_many: Mutex::default(),
            refused_for_many: self.refused_for_many.clone(),
            task,
            is_left: AtomicBool::new(false),
            silence_max: self.silence_max,
            is_strict: self.is_strict,
            limit: AtomicU64::new(0),
            pooled: self.known.clone().map(|known| Pooled {
                known,
                settings: settings::of_transaction(role, self.deadline),
            }),
        };
        if connection.is_pooled() {
            return Ok(connection);
        }
        for told in in_order(
            settings::settings(role, self.schema.as_deref(), self.deadline)
                .iter()
                .map(|set| connection.client.batch_execute(set)),
        )
        .await
        {
            match told {
                // Some related databases lack some of the settings.
                Err(error) if error.code().is_some_and(|code| code.code() == "42704") => {}
                told => told?,
            }
        }
        Ok(connection)
    }
}

/// A connection that a task of its own drives; many callers may use it at the same time.
pub(super) struct Connection {
    client: Client,
    tls: Tls,
    statements: Mutex<HashMap<String, Statement>>,
    /// By the text for one row of arguments, the statement for many, if there is one.
    for_many: Mutex<HashMap<String, Option<Ready>>>,
    refused_for_many: Refused,
    task: JoinHandle<()>,
    /// Whether the connection must not be used any more.
    is_left: AtomicBool,
    silence_max: Duration,
    is_strict: bool,
    pooled: Option<Pooled>,
    /// The limit of the time of a list's statements, in milliseconds; 0 before it was set.
    limit: AtomicU64,
}

/// Rewrites a statement whose arguments have these types for many rows of arguments, if it can.
pub(super) type Rewrite = fn(&str, &[Type]) -> Option<String>;

/// A statement that a connection can run.
#[derive(Clone)]
pub(super) enum Ready {
    /// The session has prepared it.
    Here(Statement),
    /// It is sent with its text.
    Anywhere(Arc<Typed>),
}

impl Ready {
    /// Returns the types of its arguments.
    pub(super) fn types(&self) -> &[Type] {
        match self {
            Self::Here(statement) => statement.params(),
            Self::Anywhere(typed) => &typed.arguments,
        }
    }

    /// Fails if that is not the number of its arguments.
    pub(super) fn expect(&self, given: usize) -> Result<(), Fault> {
        let wanted = self.types().len();
        if given == wanted {
            return Ok(());
        }
        Err(Fault::Form(format!("{given} values are given for {wanted} arguments")))
    }
}

impl Connection {
    /// Returns whether a pooler gives each of its transactions another session.
    pub(super) fn is_pooled(&self) -> bool {
        self.pooled.is_some()
    }

    /// Returns whether it is known to be closed, or must not be used any more.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.is_left.load(Ordering::Acquire)
    }

    /// Marks it as not to be used any more.
    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
    }

    /// Ends it at once, whatever is under way on it.
    pub(super) fn abandon(&self) {
        self.task.abort();
    }

    /// Does the same as [`Connection::abandon`] and waits until its socket is closed, which works
    /// even if nothing drives this runtime afterwards.
    pub(super) async fn end(self) {
        self.task.abort();
        _ = self.task.await;
    }

    /// Cancels the server's work on it, waits briefly until that has stopped, and ends it.
    pub(super) async fn stop(&self) {
        self.leave();
        let stopping = async {
            // The server runs this after the statement to be stopped. A cancellation can arrive too
            // early, while that statement is still on its way.
            let mut free = pin!(self.client.batch_execute("ROLLBACK"));
            let mut pause = STOP_PAUSE;
            loop {
                let token = self.client.cancel_token();
                let told = async {
                    _ = token.cancel_query(self.tls.clone()).await;
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

    /// Waits for an answer, but no longer than a server may be silent.
    pub(super) async fn answered<T>(
        &self,
        asking: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        timeout(self.silence_max, asking).await.unwrap_or_else(|_| Err(Fault::silent()))
    }

    /// Runs statements without arguments, separated by semicolons.
    pub(super) async fn simple(&self, text: &str) -> Result<(), Fault> {
        self.look_at(text)?;
        let Some(pooled) = &self.pooled else { return Ok(self.client.batch_execute(text).await?) };
        if text.starts_with("BEGIN") {
            let text = format!("{text}; {}", pooled.settings);
            return Ok(self.client.batch_execute(&text).await?);
        }
        Ok(self.client.batch_execute(text).await?)
    }

    /// Limits the time of the next statements, unless that limit is set already. They may take a little
    /// longer, so that the limit seldom has to be set anew.
    pub(super) async fn limit_to(&self, longest: Duration) {
        let step = u64::try_from(LIMIT_STEP.as_millis()).unwrap_or(u64::MAX);
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let longest = longest.div_ceil(step).max(1).saturating_mul(step);
        if self.limit.swap(longest, Ordering::Relaxed) != longest {
            // Some related databases lack the setting.
            _ = self.simple(&format!("SET statement_timeout = {longest}")).await;
        }
    }

    /// Returns a statement with `?1`, `?2` …, preparing it once.
    pub(super) async fn prepared(&self, text: &str) -> Result<Ready, Fault> {
        if let Some(pooled) = &self.pooled {
            return Ok(Ready::Anywhere(self.learnt(pooled, text).await?));
        }
        if let Some(known) = self.statements().get(text) {
            return Ok(Ready::Here(known.clone()));
        }
        self.look_at(text)?;
        let statement = self.client.prepare(&with_dollars(text)).await?;
        let mut statements = self.statements();
        if statements.len() >= PREPARED_MAX {
            statements.clear();
        }
        statements.insert(text.to_owned(), statement.clone());
        Ok(Ready::Here(statement))
    }

    /// Returns the statement that does for many rows of arguments what another does for one, prepared once;
    /// nothing if `rewrite` does not know the form of that one.
    ///
    /// A statement that the server refuses in the new form is not tried again. As the refusal has also ended
    /// the transaction, that has to be run again.
    pub(super) async fn prepared_for_many(
        &self,
        text: &str,
        rewrite: Rewrite,
    ) -> Result<Option<Ready>, Fault> {
        if self.refused_for_many.has(text) {
            return Ok(None);
        }
        if let Some(known) = self.for_many().get(text) {
            return Ok(known.clone());
        }
        let one = self.prepared(text).await?;
        let ready = match rewrite(text, one.types()) {
            Some(many) => {
                let ready = self.prepared(&many).await;
                Some(ready.map_err(|fault| match fault {
                    fault @ Fault::Own(_) => self.refuse_for_many(text, fault),
                    fault => self.unless_unsupported(text, fault),
                })?)
            }
            None => None,
        };
        let mut for_many = self.for_many();
        if for_many.len() >= PREPARED_MAX {
            for_many.clear();
        }
        for_many.insert(text.to_owned(), ready.clone());
        Ok(ready)
    }

    /// Returns the fault of a statement for many rows. If the server does not support it, it is run row by row
    /// from now on.
    pub(super) fn unless_unsupported(&self, text: &str, fault: Fault) -> Fault {
        if fault.is_unsupported() { self.refuse_for_many(text, fault) } else { fault }
    }

    fn refuse_for_many(&self, text: &str, fault: Fault) -> Fault {
        if self.is_strict {
            // A test must not pass because of what is done instead.
            return Fault::Everybody(StoreError::Failed(format!(
                "refused for many rows: {fault:?}"
            )));
        }
        self.refused_for_many.add(text);
        tracing::warn!(?fault, text, "a statement is run row by row from now on");
        Fault::Again("a statement is refused for many rows".into())
    }

    /// Returns a statement with the types of its arguments, which the server tells once.
    async fn learnt(&self, pooled: &Pooled, text: &str) -> Result<Arc<Typed>, Fault> {
        if let Some(known) = pooled.known.get(text) {
            return Ok(known);
        }
        self.look_at(text)?;
        let text_sent = with_dollars(text);
        let told = self.client.simple_query(&pooling::question(&text_sent)).await?;
        let typed = Arc::new(Typed { arguments: pooling::types(&told)?, text: text_sent });
        pooled.known.put(text, Arc::clone(&typed));
        Ok(typed)
    }

    /// Runs a prepared statement and returns all its rows.
    pub(super) async fn all(
        &self,
        statement: &Ready,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, Fault> {
        statement.expect(arguments.len())?;
        match statement {
            Ready::Here(statement) => Ok(self.client.query(statement, arguments).await?),
            Ready::Anywhere(typed) => {
                let arguments = arguments.iter().copied().zip(typed.arguments.iter().cloned());
                let arguments: Vec<_> = arguments.collect();
                Ok(self.client.query_typed(&typed.text, &arguments).await?)
            }
        }
    }

    /// Runs a prepared statement that returns no rows.
    pub(super) async fn execute(
        &self,
        statement: &Ready,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Fault> {
        match statement {
            Ready::Here(statement) => {
                self.client.execute(statement, arguments).await?;
            }
            Ready::Anywhere(_) => {
                self.all(statement, arguments).await?;
            }
        }
        Ok(())
    }

    /// Prepares and runs a statement, and returns all its rows.
    pub(super) async fn query(
        &self,
        text: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SqlRow>, Fault> {
        let statement = self.prepared(text).await?;
        self.all(&statement, arguments).await
    }

    /// Prepares and runs a statement, and returns its rows as they arrive.
    pub(super) async fn stream<'a>(
        &self,
        text: &str,
        arguments: impl ExactSizeIterator<Item = &'a (dyn ToSql + Sync)>,
    ) -> Result<RowStream, Fault> {
        let statement = self.prepared(text).await?;
        statement.expect(arguments.len())?;
        match statement {
            Ready::Here(statement) => Ok(self.client.query_raw(&statement, arguments).await?),
            Ready::Anywhere(typed) => {
                let arguments = arguments.zip(typed.arguments.iter().cloned());
                Ok(self.client.query_typed_raw(&typed.text, arguments).await?)
            }
        }
    }

    /// Returns the types of a table's columns, in the order given.
    pub(super) async fn types(&self, table: &Table) -> Result<Vec<Type>, Fault> {
        let rows = self.query(COLUMNS, &[&table.name]).await?;
        let mut types = HashMap::new();
        for row in &rows {
            let (name, oid): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
            types.insert(name, u32::try_from(oid).ok().and_then(Type::from_oid));
        }
        let of =
            |name: &String| types.get(name).cloned().flatten().ok_or_else(|| damaged(&table.name));
        table.columns.iter().map(of).collect()
    }

    /// Begins to copy rows out of the database.
    pub(super) async fn copy_out(&self, text: &str) -> Result<CopyOutStream, Fault> {
        self.look_at(text)?;
        Ok(self.client.copy_out(text).await?)
    }

    /// Begins to copy rows into the database.
    pub(super) async fn copy_in(&self, text: &str) -> Result<CopyInSink<Bytes>, Fault> {
        self.look_at(text)?;
        Ok(self.client.copy_in(text).await?)
    }

    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<String, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn for_many(&self) -> std::sync::MutexGuard<'_, HashMap<String, Option<Ready>>> {
        self.for_many.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, text: &str) -> Result<(), Fault> {
        if self.is_strict { strict::check(text).map_err(Fault::Own) } else { Ok(()) }
    }
}

/// A connection that several probes share.
pub(super) type Shared = Arc<Connection>;

/// Waits for all futures, polling each once in order before waiting for any. On one connection,
/// their statements travel in one flight. Returns the results in order.
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
