//! Measures what many published APIs cost: time and memory until they are ready, and what changes of
//! one of them do to requests meanwhile.
//!
//! `cargo run --release -p homeroom-gateway --example live_routes -- [APIS] [OPERATIONS]`
#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use homeroom_gateway::{LiveRoutes, RouteError};
use homeroom_http::{Guard, Handler, Route, empty_response, handler};
use http::{Method, StatusCode};

/// How long look-ups are measured.
const MEASURED: Duration = Duration::from_secs(5);
/// Changes per second while look-ups are measured.
const CHANGES: u32 = 50;

fn main() -> Result<(), RouteError> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let apis: usize = arguments.next().unwrap_or(10_000);
    let operations: usize = arguments.next().unwrap_or(10);
    let answer = handler(&(), |(), _| async { Ok(empty_response(StatusCode::OK)) });
    let before = resident();
    let begun = Instant::now();
    let live = Arc::new(LiveRoutes::default());
    for number in 0..apis {
        live.publish(api(number, operations, &answer))?;
    }
    println!("| APIs of {operations} operations | {apis} |");
    println!("|---|---|");
    println!("| ready after, s | {:.2} |", begun.elapsed().as_secs_f64());
    println!("| memory, MiB | {} |", (resident() - before) >> 20);
    println!("| p99 of a look-up, ns | {} |", p99(&live, apis, operations));
    let is_over = Arc::new(AtomicBool::new(false));
    let changing = {
        let (live, answer, is_over) = (Arc::clone(&live), answer, Arc::clone(&is_over));
        std::thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                live.publish(api(7, operations, &answer)).expect("it was published before");
                longest = longest.max(begun.elapsed());
                std::thread::sleep(Duration::from_secs(1) / CHANGES);
            }
            longest
        })
    };
    let changed = p99(&live, apis, operations);
    is_over.store(true, Ordering::Relaxed);
    let longest = changing.join().expect("it does not panic");
    println!("| p99 of a look-up with {CHANGES} changes a second, ns | {changed} |");
    println!("| longest change, ms | {:.2} |", longest.as_secs_f64() * 1e3);
    Ok(())
}

fn api(number: usize, operations: usize, answer: &Handler<()>) -> Vec<Route<()>> {
    (0..operations)
        .map(|operation| {
            let template = format!("/apis/api{number}/v1/things{operation}/{{id}}");
            Route::new(Method::GET, template, Guard::Public, Arc::clone(answer))
        })
        .collect()
}

fn p99(live: &LiveRoutes<()>, apis: usize, operations: usize) -> u128 {
    let mut times = vec![];
    let begun = Instant::now();
    let mut number = 0;
    while begun.elapsed() < MEASURED {
        number += 7_919;
        let path = format!("/apis/api{}/v1/things{}/42", number % apis, number % operations);
        let asked = Instant::now();
        let router = live.router_of(&path).expect("it is published");
        let found = router.find(&Method::GET, &path).expect("it has this route");
        assert_eq!(found.params.get("id"), "42");
        times.push(asked.elapsed().as_nanos());
    }
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let state = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = state.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0);
    pages * 4_096
}
