//! The signals by which people and service managers tell a process to stop.

use std::future::Future;

use tokio::signal::unix::SignalKind;

/// How a server leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It stops at once: somebody at a terminal waits for it.
    AtOnce,
    /// It tells balancers first that it will stop.
    WithNotice,
}

/// Resolves when a server is told to stop: with notice by SIGTERM, which service managers send, and at
/// once by SIGINT. Signals are caught from the call on, not from the first poll.
pub fn told_to_leave() -> impl Future<Output = Leave> {
    let (interrupt, terminate) = (heard(SignalKind::interrupt()), heard(SignalKind::terminate()));
    async {
        tokio::select! {
            () = interrupt => Leave::AtOnce,
            () = terminate => Leave::WithNotice,
        }
    }
}

/// Resolves when the process is told to stop (SIGINT, SIGTERM). Signals are caught from the call
/// on, not from the first poll.
pub fn told_to_stop() -> impl Future<Output = ()> {
    let (interrupt, terminate) = (heard(SignalKind::interrupt()), heard(SignalKind::terminate()));
    async {
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
}

/// Resolves when the terminal is closed (SIGHUP).
pub fn hung_up() -> impl Future<Output = ()> {
    heard(SignalKind::hangup())
}

/// Ignores SIGHUP from the call on, within a Tokio runtime: service managers and people send it to make
/// a server read its configuration again.
pub fn ignore_hangups() {
    let Ok(mut signal) = tokio::signal::unix::signal(SignalKind::hangup()) else { return };
    tokio::spawn(async move {
        while signal.recv().await.is_some() {
            tracing::warn!("SIGHUP has no effect: restart the server to change its configuration");
        }
    });
}

fn heard(kind: SignalKind) -> impl Future<Output = ()> {
    let signal = tokio::signal::unix::signal(kind);
    async {
        match signal {
            Ok(mut signal) => _ = signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    }
}
