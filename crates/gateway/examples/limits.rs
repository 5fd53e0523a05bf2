//! Compares ways to limit the calls to an upstream, by simulation: none, a fixed number, a gradient of
//! the response times, and the limit of this crate; with one line for all clients, and with turns.
//!
//! `cargo run --release -p homeroom-gateway --example limits`

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an example counts"
)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

use homeroom_gateway::Limit;
use homeroom_store::Lanes;

const SECOND: u64 = 1_000_000;
const LAST: u64 = 30 * SECOND;
/// What is counted: the first seconds are for the limit to find its place.
const COUNTED_FROM: u64 = 15 * SECOND;
/// Longest wait in front of the upstream.
const WAIT: u64 = SECOND / 2;

/// What answers: how many calls it works on at a time, and how long one takes, in microseconds.
struct Upstream {
    name: &'static str,
    workers: usize,
    takes: fn(u64) -> u64,
    /// Calls a second of the flood.
    flood: u64,
}

const UPSTREAMS: [Upstream; 3] = [
    Upstream { name: "2 workers, 5 ms", workers: 2, takes: |_| 5_000, flood: 4_000 },
    Upstream {
        name: "64 workers, 2 ms, each tenth 400 ms",
        workers: 64,
        takes: |number| if number.is_multiple_of(10) { 400_000 } else { 2_000 },
        flood: 16_000,
    },
    Upstream {
        name: "far away: 1 s, no flood",
        workers: usize::MAX,
        takes: |_| SECOND,
        flood: 800,
    },
];

enum Policy {
    Fixed(usize),
    /// TCP Vegas' idea as gateways use it: the limit follows the ratio of the shortest to the present
    /// response time.
    Gradient {
        limit: f64,
        shortest: f64,
    },
    Own(Box<Limit>),
}

impl Policy {
    fn current(&self) -> usize {
        match self {
            Self::Fixed(limit) => *limit,
            Self::Gradient { limit, .. } => *limit as usize,
            Self::Own(limit) => limit.current(),
        }
    }

    fn answered(&mut self, took: u64, open: usize, now: u64) {
        match self {
            Self::Fixed(_) => {}
            Self::Gradient { limit, shortest } => {
                let took = took as f64;
                *shortest = shortest.min(took);
                let gradient = (*shortest / took).clamp(0.5, 1.0);
                let next = *limit * gradient + limit.sqrt();
                *limit = (*limit * 0.95 + next * 0.05).clamp(2.0, 4_096.0);
            }
            Self::Own(limit) => {
                limit.answered(Duration::from_micros(took), open, Duration::from_micros(now));
            }
        }
    }

    fn waits(&mut self) {
        if let Self::Own(limit) = self {
            limit.waits();
        }
    }
}

fn main() {
    println!(
        "| upstream | limit | waiting | goodput/s | refused % | client of 20/s, p99 ms | calls at a time |"
    );
    println!("|---|---|---|---|---|---|---|");
    for upstream in &UPSTREAMS {
        for (name, policy) in [
            ("none", (|| Policy::Fixed(4_096)) as fn() -> Policy),
            ("64", || Policy::Fixed(64)),
            ("gradient", || Policy::Gradient { limit: 64.0, shortest: f64::MAX }),
            ("own", || Policy::Own(Box::new(Limit::new(4_096)))),
        ] {
            for in_turn in [false, true] {
                let row = simulate(upstream, policy(), in_turn);
                let waiting = if in_turn { "in turn" } else { "one line" };
                println!("| {} | {name} | {waiting} | {row} |", upstream.name);
            }
        }
    }
}

/// Runs the flood and a client that calls twenty times a second.
fn simulate(upstream: &Upstream, mut policy: Policy, in_turn: bool) -> String {
    const FLOOD: u64 = 1;
    const CLIENT: u64 = 2;
    let mut arrivals: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for at in (0..LAST).step_by(usize::try_from(SECOND / upstream.flood).unwrap_or(1)) {
        arrivals.insert((at, FLOOD), FLOOD);
    }
    for at in (777..LAST).step_by(50_000) {
        arrivals.insert((at, CLIENT), CLIENT);
    }
    let mut arrivals = arrivals.into_iter().map(|((at, _), client)| (at, client)).peekable();
    let mut waiting: Lanes<(u64, u64)> = Lanes::default();
    let (mut queue, mut working) = (VecDeque::new(), BinaryHeap::new());
    let (mut open, mut number, mut good, mut refused, mut all) = (0, 0, 0_u64, 0_u64, 0_u64);
    let mut times: Vec<u64> = vec![];
    loop {
        let next_end =
            working.peek().map(|Reverse((end, ..)): &Reverse<(u64, u64, u64, u64)>| *end);
        let next_arrival = arrivals.peek().map(|(at, _)| *at);
        let now = match (next_end, next_arrival) {
            (None, None) => break,
            (end, arrival) => end.unwrap_or(u64::MAX).min(arrival.unwrap_or(u64::MAX)),
        };
        let is_counted = now >= COUNTED_FROM;
        if next_end == Some(now)
            && let Some(Reverse((_, client, arrived, sent))) = working.pop()
        {
            open -= 1;
            policy.answered(now - sent, open, now);
            good += u64::from(is_counted);
            if client == CLIENT && is_counted {
                times.push(now - arrived);
            }
        } else if let Some((_, client)) = arrivals.next() {
            all += u64::from(is_counted);
            let lane = if in_turn { client } else { 0 };
            // A line that is longer than what is answered within the wait is refused at once.
            if waiting.count_of(lane) as u64 >= 200 {
                refused += u64::from(is_counted);
            } else {
                waiting.add(lane, (client, now));
            }
        }
        while open < policy.current()
            && let Some((client, arrived)) = waiting.take()
        {
            if now - arrived > WAIT {
                refused += u64::from(is_counted);
                continue;
            }
            open += 1;
            queue.push_back((client, arrived, now));
        }
        if waiting.count() > 0 {
            policy.waits();
        }
        while working.len() < upstream.workers
            && let Some((client, arrived, sent)) = queue.pop_front()
        {
            number += 1;
            working.push(Reverse((now + (upstream.takes)(number), client, arrived, sent)));
        }
        if now > LAST {
            break;
        }
    }
    times.sort_unstable();
    let p99 = times.get((times.len() * 99).div_ceil(100).saturating_sub(1)).copied();
    let seconds = (LAST - COUNTED_FROM) as f64 / SECOND as f64;
    format!(
        "{:.0} | {:.0} | {} | {}",
        good as f64 / seconds,
        100.0 * refused as f64 / all.max(1) as f64,
        p99.map_or("none answered".into(), |p99| format!("{:.0}", p99 as f64 / 1e3)),
        policy.current()
    )
}
