//! Runs beside the sending: signals, and the renewal of a token before it expires.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use homeroom_load::client::{Caller, words};
use homeroom_load::engine::{Options, TokenSetter};
use homeroom_load::token::{self, Key, Token, TokenError};

use crate::exit::Failure;
use crate::signals::told_to_stop;

/// The longest wait for an answer to a request that is not part of the load.
const ANSWER_MAX: Duration = Duration::from_mins(1);

/// The time between a failed renewal and the next attempt.
const AGAIN: Duration = Duration::from_secs(5);

/// Returns a flag that is set when the process is told to stop. A second signal ends the process at
/// once.
pub fn stop_when_told() -> Result<Arc<AtomicBool>, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = stopped.clone();
    let failed = |error| Failure::because("waiting for signals", error);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let first = {
        let _entered = runtime.enter();
        told_to_stop()
    };
    let wait = move || {
        runtime.block_on(async {
            first.await;
            flag.store(true, Ordering::Relaxed);
            told_to_stop().await;
        });
        std::process::exit(130);
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map_err(failed)?;
    Ok(stopped)
}

/// Returns a client of the target for requests beside the load.
pub fn caller(options: &Options) -> Caller {
    Caller { target: options.target.clone(), tls: options.tls.clone(), timeout: ANSWER_MAX }
}

/// Checks that something listens there, without sending anything: a server that counts requests
/// sees only those of the run.
pub fn reach(caller: &Caller) -> Result<(), Failure> {
    caller.reach().map_err(|error| {
        let why = words(&error);
        Failure::Unreachable(format!("{} cannot be reached: {why}", caller.target.url()))
    })
}

/// Requests the run's first token.
pub fn first_token(caller: &Caller, path: &str, key: &Key) -> Result<Token, Failure> {
    token::get(caller, path, key).map_err(|error| match error {
        TokenError::Unreachable { .. } => Failure::Unreachable(error.to_string()),
        TokenError::NotAuthorized { .. } => Failure::NotAuthorized(error.to_string()),
        TokenError::Refused { .. } => Failure::Failed(error.to_string()),
    })
}

/// Renews a token until it is dropped.
pub struct Renewal {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    /// Starts renewing a token that was just issued.
    pub fn start(
        caller: Caller,
        path: String,
        key: Key,
        token: &Token,
        setter: TokenSetter,
    ) -> Result<Self, Failure> {
        let (over, told) = mpsc::channel();
        let mut wait = token.renew_after();
        let renew = move || {
            while told.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                match token::get(&caller, &path, &key) {
                    Ok(token) => {
                        setter.set(&token.text);
                        wait = token.renew_after();
                    }
                    Err(error) => {
                        eprintln!("homeroom: the token could not be renewed: {error}");
                        wait = AGAIN;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("lab-token".into()).spawn(renew);
        let thread = thread.map_err(|error| Failure::because("renewing the token", error))?;
        Ok(Self { over: Some(over), thread: Some(thread) })
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}
