//! All open connections: the address or key that each counts against, and which one is closed when
//! there is no more room.
#![expect(
    clippy::disallowed_methods,
    reason = "the caller that was useful least recently is closed first"
)]

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use homeroom_http::BudgetFigures;

use crate::budget::{Capacity, Holder, Holders, Kind};
use crate::caller::{Caller, Idleness, Leave, Name, Way};
use crate::entrance::Entrance;
use crate::sending::Sending;

/// How many locks the names are spread over.
const SHARDS: usize = 16;

/// Number of names in a shard from which unused ones are swept out.
const SWEEP_MIN: usize = 64;

/// Shortest time between two walks over all connections to find room for new ones.
const IDLE_WALK_PAUSE: Duration = Duration::from_millis(20);

/// The same for walks to find room for answers.
const STALLED_WALK_PAUSE: Duration = Duration::from_millis(100);

/// All connected callers.
#[derive(Debug)]
pub(crate) struct Callers {
    began: Instant,
    next: AtomicU64,
    connected: Mutex<HashMap<u64, Arc<Caller>>>,
    names: [Mutex<Names>; SHARDS],
    spread: RandomState,
    /// Time that a large answer has, whatever its size.
    grace: Duration,
    /// Where their next requests are let in.
    entrance: Arc<Entrance>,
    /// When idle connections, and connections that read too slowly, were last looked for.
    idle_walk: Walk,
    stalled_walk: Walk,
    /// Connections that wait for a place because their address has used up its share, and those that
    /// were closed because others came.
    waiting: AtomicU64,
    sent_away: AtomicU64,
}

/// Counts a connection as waiting until the value is dropped.
#[derive(Debug)]
pub(crate) struct Waits(Arc<Callers>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When all connections were last walked.
#[derive(Debug, Default)]
struct Walk(Mutex<Option<Instant>>);

impl Walk {
    /// Returns whether the last walk is at least `pause` ago, and if so records one now.
    fn is_due(&self, pause: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= pause);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

#[derive(Debug, Default)]
struct Names {
    holders: HashMap<Name, Weak<Holder>>,
    sweep_at: usize,
}

/// Keeps a caller in the list of connected ones until the value is dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    callers: Arc<Callers>,
    number: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.callers.connected().remove(&self.number);
    }
}

impl Callers {
    /// Creates the list with nobody connected. `grace` is the time that every large answer has.
    pub(crate) fn new(grace: Duration, entrance: Arc<Entrance>) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            next: AtomicU64::new(0),
            connected: Mutex::default(),
            names: std::array::from_fn(|_| Mutex::default()),
            spread: RandomState::new(),
            grace,
            entrance,
            idle_walk: Walk::default(),
            stalled_walk: Walk::default(),
            waiting: AtomicU64::new(0),
            sent_away: AtomicU64::new(0),
        })
    }

    /// Counts a connection that waits for a place.
    pub(crate) fn waits(self: &Arc<Self>) -> Waits {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waits(Arc::clone(self))
    }

    /// Counts a connection that was closed because too many wait.
    pub(crate) fn was_sent_away(&self) {
        self.sent_away.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the figures of connections that wait, of which there may be `size`.
    pub(crate) fn waiting(&self, size: usize) -> BudgetFigures {
        let [used, refused] =
            [&self.waiting, &self.sent_away].map(|count| count.load(Ordering::Relaxed));
        BudgetFigures { name: "waiting_connections", size: size as u64, used, refused }
    }

    /// Creates a new caller, which is not in the list yet.
    pub(crate) fn arrived(&self, from: IpAddr, way: Way) -> Arc<Caller> {
        // A listener for both versions of IP names callers of IPv4 by the IPv6 form of their address.
        let from = from.to_canonical();
        let address = self.holder(Name::Address(network(from)));
        let holder = Holder::new(Kind::Connection);
        let sending = Sending::new(self.grace);
        let caller = Caller::new(Some(holder), Some((from, address)), self.began, sending, way);
        Arc::new(caller.with_entrance(&self.entrance))
    }

    /// Adds a caller to the list.
    pub(crate) fn register(self: &Arc<Self>, caller: &Arc<Caller>) -> Registered {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.connected().insert(number, Arc::clone(caller));
        Registered { callers: Arc::clone(self), number }
    }

    /// Returns the holders that a request with a key counts against: its connection and its key.
    pub(crate) fn of_key(&self, caller: &Caller, key: &str) -> Holders {
        let is_it = |name: &Name| matches!(name, Name::Key(known) if known == key);
        self.of(caller, is_it, || Name::Key(key.to_owned()))
    }

    /// Returns the holders of a request that a trusted proxy has passed on for an address.
    pub(crate) fn of_address(&self, caller: &Caller, from: IpAddr) -> Holders {
        let wanted = Name::Address(network(from));
        self.of(caller, |name| *name == wanted, || wanted.clone())
    }

    fn of(
        &self,
        caller: &Caller,
        is_it: impl Fn(&Name) -> bool,
        name: impl Fn() -> Name,
    ) -> Holders {
        let mut last = caller.last.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = match &*last {
            Some((known, holder)) if is_it(known) => Arc::clone(holder),
            _ => {
                let holder = self.holder(name());
                *last = Some((name(), Arc::clone(&holder)));
                holder
            }
        };
        Holders { connection: caller.holder.clone(), owner: Some(owner) }
    }

    /// Returns the holder of a name, which all concurrent users of the name share.
    fn holder(&self, name: Name) -> Arc<Holder> {
        let shard = self.spread.hash_one(&name) % SHARDS as u64;
        let shard = &self.names[usize::try_from(shard).unwrap_or(0)];
        let mut names = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = names.holders.get(&name).and_then(Weak::upgrade) {
            return holder;
        }
        if names.holders.len() >= names.sweep_at.max(SWEEP_MIN) {
            names.holders.retain(|_, holder| holder.strong_count() > 0);
            names.sweep_at = names.holders.len() * 2;
        }
        let holder = Holder::new(match name {
            Name::Address(_) => Kind::Address,
            Name::Key(_) => Kind::Key,
        });
        names.holders.insert(name, Arc::downgrade(&holder));
        holder
    }

    /// Closes at most `count` connections that are not at work and returns how many; 0 when this
    /// was done only a moment ago.
    ///
    /// Connections without a request go first, then those of the address with the most connections,
    /// then those that were useful longest ago. Addresses with fewer than `of_at_least` connections
    /// keep theirs. A connection that has no request now but had one before is closed politely.
    pub(crate) fn close_idle(&self, count: usize, of_at_least: u64) -> usize {
        if !self.idle_walk.is_due(IDLE_WALK_PAUSE) {
            return 0;
        }
        let now = Instant::now();
        let mut idle: Vec<_> = self
            .connected()
            .values()
            .filter_map(|caller| {
                let connections = caller.connections_of_address();
                if connections < of_at_least {
                    return None;
                }
                let useful = caller.useful_ms.load(Ordering::Relaxed);
                let order = (caller.idleness(now)?, u64::MAX - connections, useful);
                Some((order, Arc::clone(caller)))
            })
            .collect();
        idle.sort_unstable_by_key(|(order, _)| *order);
        idle.truncate(count);
        for ((idleness, ..), caller) in &idle {
            // A connection that has never sent a request is not being kept for its next one.
            let is_kept = *idleness == Idleness::Idle && caller.has_asked.load(Ordering::Relaxed);
            caller.tell_to(if is_kept { Leave::Politely } else { Leave::AtOnce });
        }
        idle.len()
    }

    /// Closes connections that hold part of a budget and read too slowly: all of them, or those of
    /// one holder. Returns whether there may be room soon.
    pub(crate) fn close_stalled(&self, capacity: Capacity, of: Option<&Arc<Holder>>) -> bool {
        if !self.stalled_walk.is_due(STALLED_WALK_PAUSE) {
            return true;
        }
        let now = Instant::now();
        let stalled = |caller: &&Arc<Caller>| {
            !caller.shall(Leave::AtOnce)
                && caller.held(capacity) > 0
                && caller.sending.is_stalled(now)
                && of.is_none_or(|owner| caller.is_of(owner))
        };
        let stalled: Vec<_> = self.connected().values().filter(stalled).cloned().collect();
        for caller in &stalled {
            caller.tell_to(Leave::AtOnce);
        }
        !stalled.is_empty()
    }

    fn connected(&self) -> MutexGuard<'_, HashMap<u64, Arc<Caller>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the part of an address that one customer of a network has: all of an IPv4 address, or 64
/// bits of an IPv6 address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Taken};

    fn callers() -> Arc<Callers> {
        Callers::new(Duration::from_secs(75), Arc::new(Entrance::new(64)))
    }

    fn arrived(callers: &Arc<Callers>, from: &str) -> (Arc<Caller>, Registered) {
        let caller = callers.arrived(from.parse().unwrap(), Way::BARE);
        let registered = callers.register(&caller);
        (caller, registered)
    }

    #[test]
    fn a_caller_of_ipv4_has_its_own_address_on_a_listener_for_both_versions() {
        let callers = callers();

        let (caller, _registered) = arrived(&callers, "::ffff:192.0.2.1");

        assert_eq!(caller.from(), Some(IpAddr::from([192, 0, 2, 1])));
    }

    #[test]
    fn a_key_is_one_holder_over_all_connections_and_an_address_too() {
        let callers = callers();
        let (a, _a) = arrived(&callers, "192.0.2.1");
        let (b, _b) = arrived(&callers, "192.0.2.1");
        let (c, _c) = arrived(&callers, "2001:db8::1");
        let (d, _d) = arrived(&callers, "2001:db8::ffff:2");
        let owner = |holders: Holders| Arc::as_ptr(&holders.owner.unwrap());

        assert_eq!(owner(callers.of_key(&a, "k")), owner(callers.of_key(&b, "k")));
        assert_ne!(owner(callers.of_key(&a, "k")), owner(callers.of_key(&a, "l")));
        assert_eq!(owner(a.holders()), owner(b.holders()));
        assert_eq!(owner(c.holders()), owner(d.holders()), "one network");
        assert_ne!(owner(a.holders()), owner(c.holders()));
        let forwarded = callers.of_address(&a, "2001:db8::3".parse().unwrap());
        assert_eq!(owner(forwarded), owner(c.holders()));
    }

    #[test]
    fn names_that_nobody_uses_are_forgotten() {
        let callers = callers();
        let (caller, _registered) = arrived(&callers, "192.0.2.1");

        for number in 0..100_000 {
            callers.of_key(&caller, &number.to_string());
        }

        let names = callers.names.iter().map(|names| names.lock().unwrap().holders.len());
        assert!(names.sum::<usize>() <= SHARDS * (SWEEP_MIN + 2));
    }

    #[test]
    fn those_without_a_request_go_before_those_who_wait_and_nobody_at_work_goes() {
        let callers = callers();
        let budget = Budget::new(Capacity::InFlight, 10, 0);
        let (at_work, _a) = arrived(&callers, "192.0.2.1");
        let _work = Taken::of(Arc::clone(&budget), at_work.holders(), 1).unwrap();
        let (waits, _b) = arrived(&callers, "192.0.2.1");
        let _open = waits.one();
        let (idle, _c) = arrived(&callers, "192.0.2.1");
        let all = [&at_work, &waits, &idle];
        let left = || all.map(|caller| caller.is_leaving());

        assert_eq!(callers.close_idle(1, 0), 1);
        assert_eq!(left(), [false, false, true]);
        assert_eq!(callers.close_idle(5, 0), 0, "it was done just now");
        std::thread::sleep(IDLE_WALK_PAUSE);
        assert_eq!(callers.close_idle(5, 0), 1);
        assert_eq!(left(), [false, true, true]);
    }

    #[test]
    fn who_keeps_a_connection_for_its_next_request_is_asked_politely_and_others_are_not() {
        let callers = callers();
        let (never_asked, _a) = arrived(&callers, "192.0.2.1");
        let (kept, _b) = arrived(&callers, "192.0.2.1");
        drop(kept.one());
        let (waits, _c) = arrived(&callers, "192.0.2.1");
        let _open = waits.one();

        assert_eq!(callers.close_idle(3, 0), 3);

        let at_once = [&never_asked, &kept, &waits].map(|caller| caller.shall(Leave::AtOnce));
        assert_eq!(at_once, [true, false, true]);
        assert!(kept.is_leaving());
    }

    #[test]
    fn the_address_with_most_connections_makes_room() {
        let callers = callers();
        let budget = Budget::new(Capacity::Connections, 100, 0);
        let few = arrived(&callers, "192.0.2.1");
        let _few = Taken::of(Arc::clone(&budget), few.0.holders(), 1).unwrap();
        let many: Vec<_> = (0..3).map(|_| arrived(&callers, "192.0.2.2")).collect();
        let _many: Vec<_> = many
            .iter()
            .map(|(caller, _)| Taken::of(Arc::clone(&budget), caller.holders(), 1).unwrap())
            .collect();

        assert_eq!(callers.close_idle(100, 2), 3, "the other one has fewer than two");

        assert!(!few.0.is_leaving());
        assert!(many.iter().all(|(caller, _)| caller.is_leaving()));
    }

    #[test]
    fn who_has_used_up_a_share_has_nobody_else_s_connections_closed() {
        let callers = callers();
        let budget = Budget::new(Capacity::Answers, 10, 0);
        let deaf = |key: &str| {
            let (caller, registered) = arrived(&callers, "192.0.2.1");
            let holders = callers.of_key(&caller, key);
            let taken = Taken::of(Arc::clone(&budget), holders.clone(), 1).unwrap();
            let answer = homeroom_http::json_response(http::StatusCode::OK, "x".repeat(64 << 10));
            let now = Instant::now();
            let answer = caller.sending.follow(answer, 0, None, now);
            caller.sending.took(1, now + Duration::from_mins(1));
            (caller, holders.owner.unwrap(), (registered, taken, answer))
        };
        let (greedy, other) = (deaf("greedy"), deaf("other"));

        assert!(callers.close_stalled(Capacity::Answers, Some(&greedy.1)));
        assert!(greedy.0.is_leaving() && !other.0.is_leaving());

        std::thread::sleep(STALLED_WALK_PAUSE);
        assert!(callers.close_stalled(Capacity::Answers, None));
        assert!(other.0.is_leaving());
    }
}
