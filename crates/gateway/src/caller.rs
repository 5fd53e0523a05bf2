//! The caller at the other end of a connection: what it is doing, and whether it is to leave.
#![expect(clippy::disallowed_methods, reason = "a caller begins at the present moment")]

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Context;
use std::time::{Duration, Instant};

use homeroom_http::{Fingerprint, Site};
use tokio::sync::Notify;

use crate::budget::{Capacity, Holder, Holders};
use crate::entrance::{Entered, Entrance, Waiting};
use crate::sending::Sending;

/// Requests that a connection may give up before they are answered, unless it also has that many answered.
const GIVEN_UP_MAX: u32 = 256;

/// The name by which a holder is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    Address(IpAddr),
    Key(String),
}

/// The way by which a connection came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The site of its listener.
    pub(crate) site: Site,
    /// Whether it is within TLS.
    pub(crate) is_secure: bool,
}

impl Way {
    /// To the API, without TLS.
    pub(crate) const BARE: Self = Self { site: Site::Api, is_secure: false };
}

/// The caller at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) holder: Option<Arc<Holder>>,
    address: Option<Arc<Holder>>,
    /// The address that the connection came from; none for a request that came over no connection.
    from: Option<IpAddr>,
    /// The key or address of the connection's last request; the next one usually has the same.
    pub(crate) last: Mutex<Option<(Name, Arc<Holder>)>>,
    /// Number of requests that are not answered yet.
    open: AtomicU32,
    /// Number of requests that were answered, and of those that were given up before.
    answered: AtomicU32,
    given_up: AtomicU32,
    /// When a request last arrived, made progress or was answered: milliseconds since the callers
    /// began.
    pub(crate) useful_ms: AtomicU64,
    began: Instant,
    /// Its large answers on their way.
    pub(crate) sending: Sending,
    /// Whether the connection has sent a request.
    pub(crate) has_asked: AtomicBool,
    pub(crate) way: Way,
    /// The certificate that its client has shown.
    certificate: OnceLock<Fingerprint>,
    /// Whether the connection has changed to another protocol, such as WebSocket.
    other_protocol: AtomicBool,
    /// Where its next request is let in, if it comes over a connection.
    entrance: Option<Arc<Entrance>>,
    /// Whether it was let in and has not left.
    is_inside: AtomicBool,
    /// Whether it waits to be let in, and its wait.
    is_outside: AtomicBool,
    waiting: Mutex<Option<Arc<Waiting>>>,
    /// A [`Leave`], or 0 while it may stay.
    leave: AtomicU8,
    told: Notify,
}

/// How a connection is closed to make room for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leave {
    /// The caller is told first, and a request that it has just sent is answered.
    Politely = 1,
    /// The connection is cut, whatever is under way on it.
    AtOnce = 2,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(entrance) = &self.entrance {
            entrance.has_gone();
        }
    }
}

impl Caller {
    /// Creates a caller that comes over no connection.
    pub(crate) fn inside() -> Self {
        Self::new(None, None, Instant::now(), Sending::new(Duration::ZERO), Way::BARE)
    }

    /// Creates a caller who holds what its connection and its address hold.
    pub(crate) fn new(
        holder: Option<Arc<Holder>>,
        address: Option<(IpAddr, Arc<Holder>)>,
        began: Instant,
        sending: Sending,
        way: Way,
    ) -> Self {
        let (from, address) = address.unzip();
        Self {
            holder,
            address,
            from,
            last: Mutex::default(),
            open: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            given_up: AtomicU32::new(0),
            useful_ms: AtomicU64::new(elapsed_ms(began)),
            began,
            sending,
            has_asked: AtomicBool::new(false),
            way,
            certificate: OnceLock::new(),
            other_protocol: AtomicBool::new(false),
            entrance: None,
            is_inside: AtomicBool::new(false),
            is_outside: AtomicBool::new(false),
            waiting: Mutex::default(),
            leave: AtomicU8::new(0),
            told: Notify::new(),
        }
    }

    /// Returns the same caller, whose requests are let in there.
    #[must_use]
    pub(crate) fn with_entrance(mut self, entrance: &Arc<Entrance>) -> Self {
        entrance.has_come();
        self.entrance = Some(Arc::clone(entrance));
        self
    }

    /// Notes the owner of a request that the connection has sent.
    pub(crate) fn acts_for(&self, owner: u64) {
        if let Some(entrance) = &self.entrance {
            entrance.notes(owner);
        }
    }

    /// Notes a request without a known owner.
    pub(crate) fn acts_for_its_address(&self) {
        if let Some(address) = &self.address {
            self.acts_for(address.number());
        }
    }

    /// Returns whether it may go on with its next request; otherwise its task is woken when it may. The last
    /// request's owner counts, since this one is not read yet.
    pub(crate) fn is_let_in(&self, cx: &Context<'_>) -> bool {
        let Some(entrance) = &self.entrance else { return true };
        if self.is_outside() {
            let mut waiting = self.waiting();
            let is_in = waiting.as_ref().is_none_or(|waiting| waiting.is_let_in(cx));
            if is_in {
                self.was_let_in(&mut waiting);
            }
            return is_in;
        }
        if !entrance.takes_turns() || self.is_inside.load(Ordering::Acquire) {
            return true;
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = last.as_ref().map(|(_, holder)| holder).or(self.address.as_ref());
        let owner = owner.map_or(0, |holder| holder.number());
        drop(last);
        match entrance.enter(owner, cx) {
            Entered::Open => true,
            Entered::Inside => {
                self.is_inside.store(true, Ordering::Release);
                true
            }
            Entered::Waits(waiting) => {
                *self.waiting() = Some(waiting);
                self.is_outside.store(true, Ordering::Release);
                false
            }
        }
    }

    /// Records that its connection is polled: where it was let in, it uses that now.
    pub(crate) fn is_polled(&self) {
        if self.is_outside() {
            let mut waiting = self.waiting();
            if waiting.as_ref().is_some_and(|waiting| waiting.has_turn()) {
                self.was_let_in(&mut waiting);
            }
        }
    }

    fn was_let_in(&self, waiting: &mut Option<Arc<Waiting>>) {
        *waiting = None;
        self.is_inside.store(true, Ordering::Release);
        self.is_outside.store(false, Ordering::Release);
    }

    /// Returns whether nothing is read of it, or its request is not worked on, because others are let in first.
    pub(crate) fn is_outside(&self) -> bool {
        self.is_outside.load(Ordering::Acquire)
    }

    /// Leaves, if it was let in: its request is answered, or it waits for something else than the processor.
    pub(crate) fn leaves(&self) {
        if self.is_inside.load(Ordering::Acquire)
            && self.is_inside.swap(false, Ordering::AcqRel)
            && let Some(entrance) = &self.entrance
        {
            entrance.leave();
        }
    }

    /// Leaves for good, also where it waits to be let in.
    pub(crate) fn goes(&self) {
        self.leaves();
        if let Some(waiting) = self.waiting().take()
            && let Some(entrance) = &self.entrance
        {
            self.is_outside.store(false, Ordering::Release);
            entrance.give_up(&waiting);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Arc<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns its connection and the address that it came from.
    pub(crate) fn holders(&self) -> Holders {
        Holders { connection: self.holder.clone(), owner: self.address.clone() }
    }

    /// Returns the address that the connection came from.
    pub(crate) fn from(&self) -> Option<IpAddr> {
        self.from
    }

    /// Counts a request as open until the returned value is dropped, and as given up unless it was answered
    /// then. A connection that gives up most of many requests is cut: each has cost more than it has to send.
    ///
    /// Source: RFC 9113 §10.5 (denial of service by streams that are reset).
    pub(crate) fn one(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.has_asked.store(true, Ordering::Relaxed);
        self.is_useful();
        Open { caller: Arc::clone(self), is_answered: false }
    }

    /// Records the certificate that its client has shown, and that its connection has verified.
    pub(crate) fn has_shown(&self, certificate: Fingerprint) {
        _ = self.certificate.set(certificate);
    }

    /// Returns the certificate that its client has shown.
    pub(crate) fn certificate(&self) -> Option<Fingerprint> {
        self.certificate.get().copied()
    }

    /// Records that what follows on the connection is another protocol than HTTP.
    pub(crate) fn changed_protocol(&self) {
        self.other_protocol.store(true, Ordering::Release);
    }

    /// Returns whether the connection has changed to another protocol than HTTP.
    pub(crate) fn has_other_protocol(&self) -> bool {
        self.other_protocol.load(Ordering::Acquire)
    }

    /// Returns whether it has requests that are not answered yet.
    pub(crate) fn has_requests(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Records that a request made progress.
    pub(crate) fn is_useful(&self) {
        self.useful_ms.store(elapsed_ms(self.began), Ordering::Relaxed);
    }

    /// Completes when the connection is to be closed in this way or a harder one.
    pub(crate) async fn told_to(&self, leave: Leave) {
        loop {
            // Created before the check, so that no later notification is missed.
            let told = self.told.notified();
            if self.shall(leave) {
                return;
            }
            told.await;
        }
    }

    /// Returns whether the connection is to be closed in this way or a harder one.
    pub(crate) fn shall(&self, leave: Leave) -> bool {
        self.leave.load(Ordering::Acquire) >= leave as u8
    }

    /// Returns whether the connection is to be closed to make room.
    pub(crate) fn is_leaving(&self) -> bool {
        self.shall(Leave::Politely)
    }

    pub(crate) fn tell_to(&self, leave: Leave) {
        self.leave.fetch_max(leave as u8, Ordering::AcqRel);
        self.told.notify_waiters();
    }

    /// Returns whether the server is working on one of its requests.
    pub(crate) fn is_at_work(&self) -> bool {
        self.held(Capacity::InFlight) > 0
    }

    pub(crate) fn held(&self, capacity: Capacity) -> u64 {
        self.holder.as_ref().map_or(0, |holder| holder.held(capacity))
    }

    /// Returns how many connections its address has.
    pub(crate) fn connections_of_address(&self) -> u64 {
        self.address.as_ref().map_or(0, |address| address.held(Capacity::Connections))
    }

    /// Returns whether its last request was for a holder, or the connection came from it.
    pub(crate) fn is_of(&self, owner: &Arc<Holder>) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let of_last = last.as_ref().is_some_and(|(_, holder)| Arc::ptr_eq(holder, owner));
        of_last || self.address.as_ref().is_some_and(|address| Arc::ptr_eq(address, owner))
    }

    /// Returns how idle it is; [`None`] for a connection that is at work.
    pub(crate) fn idleness(&self, now: Instant) -> Option<Idleness> {
        if self.is_leaving() || self.is_at_work() {
            return None;
        }
        if self.sending.is_under_way() {
            return self.sending.is_stalled(now).then_some(Idleness::Waits);
        }
        let is_idle =
            !self.has_requests() && !self.is_outside() && self.held(Capacity::Streams) == 0;
        Some(if is_idle { Idleness::Idle } else { Idleness::Waits })
    }
}

/// State of a connection that is not at work. The first variant is closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idleness {
    /// It has no request.
    Idle,
    /// It has a request that waits for the caller, or to be let in.
    Waits,
}

/// A request that is not answered yet.
#[derive(Debug)]
pub(crate) struct Open {
    caller: Arc<Caller>,
    is_answered: bool,
}

impl Open {
    /// Records that the request was answered.
    pub(crate) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let caller = &self.caller;
        caller.open.fetch_sub(1, Ordering::Relaxed);
        caller.is_useful();
        if self.is_answered {
            caller.answered.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let given_up = caller.given_up.fetch_add(1, Ordering::Relaxed) + 1;
        if given_up > GIVEN_UP_MAX.max(caller.answered.load(Ordering::Relaxed)) {
            tracing::debug!("a connection that gives up its requests was cut");
            caller.tell_to(Leave::AtOnce);
        }
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_gives_up_most_of_many_requests_is_cut() {
        let (given_up, some) = (Arc::new(Caller::inside()), Arc::new(Caller::inside()));

        for _ in 0..GIVEN_UP_MAX {
            drop(given_up.one());
            drop(some.one());
            some.one().answered();
        }
        assert!(!given_up.is_leaving());
        some.one().answered();
        drop(given_up.one());
        drop(some.one());

        assert!(given_up.shall(Leave::AtOnce));
        assert!(!some.is_leaving(), "it has as many that were answered");
    }
}
